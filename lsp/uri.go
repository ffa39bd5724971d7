package lsp

import (
	"path"
	"runtime"
	"strings"
)

// canonical gives the spellings of a file URI that mean one file one form, and
// the file's path. Others are taken byte for byte and have no path: an MCP
// server's URI, or one of a file system inside the editor, would not survive
// being parsed and written again.
func canonical(u string) (key, path string) { return canonicalOn(runtime.GOOS, u) }

// canonicalOn is canonical by the rules of an operating system. On Windows
// letters of either case name one file, `\` parts names as / does, and a host
// is that of a share; elsewhere a host is another machine, whose files have no
// path here. A file URI that names no path keeps its spelling as key.
func canonicalOn(system, u string) (key, path string) {
	spelled := u
	if system == "windows" {
		spelled = strings.ReplaceAll(u, `\`, "/")
	}
	host, names, ok := splitFileURI(spelled)
	if !ok || strings.Contains(names, "\x00") {
		return u, ""
	}
	if system == "windows" {
		if path = windowsPath(host, names); path == "" {
			return u, ""
		}
		return fileURIOn(system, strings.ToLower(path)), path
	}
	if host != "" || !strings.HasPrefix(names, "/") {
		return u, ""
	}
	path = cleanPath(names)
	if len(path) > 2 && path[2] == ':' && isDrive(path[1], ':') {
		// No such directory is in use; an editor on Windows talks to a server elsewhere.
		path = "/" + strings.ToLower(path[1:2]) + path[2:]
	}
	return fileURIOn(system, path), path
}

// splitFileURI takes a file URI apart (RFC 8089): its host, "" for this
// machine, and its decoded path. A query or a fragment is no part of the path.
func splitFileURI(u string) (host, path string, ok bool) {
	const scheme = "file:"
	if len(u) < len(scheme) || !strings.EqualFold(u[:len(scheme)], scheme) {
		return "", "", false
	}
	rest := u[len(scheme):]
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		rest = rest[:i]
	}
	if after, has := strings.CutPrefix(rest, "//"); has {
		n := strings.IndexByte(after, '/')
		if n < 0 {
			n = len(after)
		}
		host, rest = percentDecoded(after[:n]), after[n:]
		if strings.EqualFold(host, "localhost") {
			host = ""
		}
	}
	return host, percentDecoded(rest), true
}

// percentDecoded reads percent-encoded bytes, in either case; a % that begins
// none stands for itself: some clients do not write %25.
func percentDecoded(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			hi, lo := unhex(s[i+1]), unhex(s[i+2])
			if hi >= 0 && lo >= 0 {
				b = append(b, byte(hi<<4|lo))
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

func unhex(c byte) int {
	return strings.IndexByte("0123456789abcdef", c|0x20)
}

// windowsPath is a path of Windows: C:\x, or \\host\share\x; "" where none is
// meant.
func windowsPath(host, names string) string {
	names = strings.ReplaceAll(names, `\`, "/")
	if strings.HasPrefix(names, "//") && host == "" { // file:////host/share
		host, names, _ = strings.Cut(strings.TrimLeft(names, "/"), "/")
		names = "/" + names
	}
	if len(host) == 2 && isDrive(host[0], host[1]) { // file://c:/x
		host, names = "", "/"+host+names
	}
	if host != "" {
		if strings.ContainsAny(host, `/\?*:|`) || host == "." || host == ".." {
			return ""
		}
		share, below, _ := strings.Cut(strings.TrimPrefix(names, "/"), "/")
		if share == "" || share == "." || share == ".." {
			return ""
		}
		return strings.TrimSuffix(`\\`+host+`\`+share+strings.ReplaceAll(cleanPath("/"+below), "/", `\`), `\`)
	}
	names = strings.TrimPrefix(names, "/")
	if len(names) < 2 || !isDrive(names[0], names[1]) || len(names) > 2 && names[2] != '/' {
		return ""
	}
	return strings.ToUpper(names[:1]) + ":" + strings.ReplaceAll(cleanPath("/"+names[2:]), "/", `\`)
}

// isDrive reports whether two characters are a drive; file:///c|/x is from
// before RFC 8089, which lists it.
func isDrive(letter, colon byte) bool {
	letter |= 0x20
	return 'a' <= letter && letter <= 'z' && (colon == ':' || colon == '|')
}

// cleanPath drops what a rooted path has too much of: `.`, `..`, and slashes
// that double or end it.
func cleanPath(p string) string { return path.Clean(p) }

// fileURI writes a path as a URI.
func fileURI(path string) string { return fileURIOn(runtime.GOOS, path) }

// fileURIOn writes a path as a URI, as VS Code does: all but letters, digits
// and -._~/ is encoded.
func fileURIOn(system, path string) string {
	start := "file://"
	if system == "windows" {
		path = strings.ReplaceAll(path, `\`, "/")
		if shared, ok := strings.CutPrefix(path, "//"); ok {
			path = shared
		} else {
			path = "/" + path
		}
	}
	const hex = "0123456789ABCDEF"
	b := []byte(start)
	for i := range len(path) {
		switch c := path[i]; {
		case 'a' <= c|0x20 && c|0x20 <= 'z', '0' <= c && c <= '9', strings.IndexByte("-._~/", c) >= 0:
			b = append(b, c)
		default:
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(b)
}
