package lsp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"go.lsp.dev/uri"

	"agentls/agent"
	"agentls/mcp"
)

// Bounds on the copies of resources that editors open.
const (
	copyMax   = 16 << 20  // bytes of one
	copiesMax = 200       // files
	copiesAll = 128 << 20 // bytes of all
)

// copyResource puts what a server has of a resource now into a file that an
// editor can open, <state>/resources/<name>-<hash>.<suffix>, mode 0400. The
// oldest copies give way.
func (s *Server) copyResource(ctx context.Context, of linkData) (file string, err error) {
	contents, err := s.peek(ctx, of.Server, of.URI)
	if err != nil {
		return "", err
	}
	body, mime, binary, err := copyBody(contents)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(s.o.StateDir, "resources")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	file = filepath.Join(dir, copyName(of, mime, binary))
	s.copying.Lock()
	defer s.copying.Unlock()
	if err := putCopy(file, body); err != nil {
		return "", err
	}
	return file, s.dropCopies(dir, file)
}

// putCopy writes a copy, if it is not there already.
func putCopy(file string, body []byte) error {
	now := time.Now()
	if old, err := os.ReadFile(file); err == nil && bytes.Equal(old, body) {
		return os.Chtimes(file, now, now)
	}
	_ = os.Chmod(file, 0o600) // Windows replaces no read-only file; it may not be there
	if err := agent.ReplaceFile(file, body); err != nil {
		return err
	}
	return os.Chmod(file, 0o400)
}

// dropCopies removes the copies that were not used for longest, so that the
// bounds hold. What the editor has open stays, and does not count.
func (s *Server) dropCopies(dir, keep string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var all []os.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			all = append(all, info)
		}
	}
	slices.SortFunc(all, func(a, b os.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	n, size := 0, int64(0)
	for _, info := range all {
		file := filepath.Join(dir, info.Name())
		if _, open := s.docs.identity(string(uri.File(file))); open {
			continue
		}
		if n, size = n+1, size+info.Size(); file == keep || n <= copiesMax && size <= copiesAll {
			continue
		}
		n, size = n-1, size-info.Size()
		_ = os.Chmod(file, 0o600)   // as in putCopy
		if os.Remove(file) != nil { // another process may have removed it, or holds it open
			n, size = n+1, size+info.Size()
		}
	}
	return nil
}

// copyBody is what stands in a copy: the bytes of one content, else the texts
// of all, each behind a line that names it.
func copyBody(contents []mcp.Content) (body []byte, mime string, binary bool, err error) {
	if size := bodySize(contents); size > copyMax {
		return nil, "", false, fmt.Errorf("it is too large to be copied: %s, %s are allowed", byteCount(size), byteCount(copyMax))
	}
	if len(contents) == 1 {
		c := contents[0]
		if c.Blob == "" {
			return []byte(c.Text), c.MIMEType, false, nil
		}
		if body, err = base64.StdEncoding.DecodeString(c.Blob); err != nil {
			return nil, "", false, errors.New("the server sent bytes that are no base64")
		}
		return body, c.MIMEType, true, nil
	}
	var b strings.Builder
	for _, c := range contents {
		fmt.Fprintf(&b, "=== %s (%s)\n", clean(c.URI), clean(c.MIMEType))
		if c.Blob != "" {
			fmt.Fprintf(&b, "[%s]\n", byteCount(bodySize([]mcp.Content{c})))
		} else {
			b.WriteString(strings.TrimSuffix(c.Text, "\n") + "\n")
		}
	}
	return []byte(b.String()), "text/plain", false, nil
}

// copyName names a copy so that a person knows it, that no two resources share
// it, and that no system runs it or shows it as a page when it is opened.
func copyName(of linkData, mime string, binary bool) string {
	name, _, _ := strings.Cut(of.URI, "?")
	name = path.Base(strings.TrimRight(name, "/"))
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain
	}
	stem, ext := name, ""
	if dotted := strings.ToLower(path.Ext(name)); len(dotted) > 1 && len(dotted) <= 11 && !strings.ContainsFunc(dotted[1:], isOddRune) {
		stem, ext = name[:len(name)-len(dotted)], dotted[1:]
	}
	plain := "txt"
	if binary {
		plain = "bin"
	}
	switch {
	case ext == "":
		ext = cmp.Or(suffixOf(mime), plain)
	case !safeSuffix(ext): // x.html becomes x.html.txt
		ext += "." + plain
	}
	stem = strings.Map(func(r rune) rune {
		if isOddRune(r) {
			return '-'
		}
		return r
	}, stem)
	if stem = strings.Trim(stem[:min(len(stem), 40)], "-"); stem == "" {
		stem = "resource"
	}
	sum := sha256.Sum256([]byte(of.Server + "\x00" + of.URI))
	return stem + "-" + hex.EncodeToString(sum[:8]) + "." + ext
}

// isOddRune reports what not every file system takes in a name.
func isOddRune(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
}

// safeSuffix reports a suffix of files that systems show, and run nowhere. A
// link may be opened by the system instead of by the editor.
func safeSuffix(ext string) bool {
	const anywhere = " txt md markdown rst adoc org json jsonl yaml yml toml ini csv tsv log diff patch sql go mod rs c h cc cpp hpp cs java kt swift scala lua zig ex erl hs ml clj r jl dart ts tsx jsx css scss proto graphql tf " +
		"png jpg jpeg gif webp bmp pdf mp3 wav ogg mp4 webm "
	const scripts = " py rb pl js mjs sh bash zsh fish php " // which Windows and macOS may run
	shown := anywhere
	if runtime.GOOS != "windows" && runtime.GOOS != "darwin" {
		shown += scripts
	}
	return ext != "" && !strings.Contains(ext, " ") && strings.Contains(shown, " "+ext+" ")
}

// suffixOf is the suffix of a type's files, "" if we know none.
func suffixOf(mime string) string {
	mime, _, _ = strings.Cut(strings.ToLower(mime), ";")
	switch mime = strings.TrimSpace(mime); mime {
	case "text/markdown", "text/x-markdown":
		return "md"
	case "text/x-diff", "text/x-patch":
		return "diff"
	case "image/jpeg":
		return "jpg"
	}
	if _, kind, _ := strings.Cut(mime, "/"); safeSuffix(strings.TrimPrefix(kind, "x-")) {
		return strings.TrimPrefix(kind, "x-")
	}
	return ""
}
