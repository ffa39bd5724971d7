package main

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// What a tree holds beside ordinary text.
const (
	filesInFolder = 20  // about so many
	needles       = 180 // lines with the needle in files that are searched
	needle        = "frobnicateWidget"
	largest       = 1 << 20
)

// tree makes a folder of n files as repositories have them: most of some
// kilobytes, few large, some binary, some ignored. The same n gives the same
// tree.
func tree(dir string, n int) error {
	rnd := rand.New(rand.NewPCG(uint64(n), 7)) //nolint:gosec // a made-up tree
	words := vocabulary(rnd)
	if err := os.MkdirAll(filepath.Join(dir, ".git", "info"), 0o700); err != nil { // for the ignore rules to count
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("node_modules/\n/out\n*.log\n!keep.log\n**/gen/*.pb.go\n"), 0o600); err != nil {
		return err
	}
	every := max(n/needles, 1)
	var text bytes.Buffer
	for i := 0; i < n; {
		folder := folderName(rnd, i/filesInFolder)
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			return err
		}
		for range 1 + rnd.IntN(2*filesInFolder) {
			if i == n {
				break
			}
			name := fileName(rnd, i)
			prose(&text, rnd, words, int(min(2200*math.Exp(1.2*rnd.NormFloat64()), largest)))
			switch {
			case i%every == 0 && text.Len() > 0:
				fmt.Fprintf(&text, "\treturn %s(%d)\n", needle, i)
			case rnd.IntN(20) == 0: // a picture or so
				text.WriteString(needle)
				name += ".png"
				copy(text.Bytes(), "\x89PNG\r\n\x1a\n\x00\x00\x00")
			}
			if err := os.WriteFile(filepath.Join(dir, folder, name), text.Bytes(), 0o600); err != nil {
				return err
			}
			i++
		}
	}
	return nil
}

// vocabulary is what the text is made of.
func vocabulary(rnd *rand.Rand) []string {
	words := []string{"func", "return", "if", "else", "for", "range", "err", "nil", "{", "}", ":=", "==", "!=", "(", ")", "ctx", "string", "int"}
	for len(words) < 3000 {
		b := make([]byte, 2+rnd.IntN(12))
		for i := range b {
			b[i] = "etaoinshrdlucmfwypvbgkjqxz"[rnd.IntN(1+rnd.IntN(26))]
		}
		words = append(words, string(b))
	}
	return words
}

// prose fills text with lines of words, size bytes of them.
func prose(text *bytes.Buffer, rnd *rand.Rand, words []string, size int) {
	text.Reset()
	for text.Len() < size {
		for range rnd.IntN(5) {
			text.WriteByte('\t')
		}
		for range rnd.IntN(10) {
			text.WriteString(words[rnd.IntN(1+rnd.IntN(len(words)))])
			text.WriteByte(' ')
		}
		text.WriteByte('\n')
	}
}

func folderName(rnd *rand.Rand, i int) string {
	parts := []string{fmt.Sprint("pkg", i%13), fmt.Sprint("module", i%101), fmt.Sprint("part", i)}
	switch rnd.IntN(25) {
	case 0:
		parts = append(parts[:1], "node_modules", parts[2])
	case 1:
		parts = append(parts, "gen")
	}
	return filepath.Join(parts[:max(1, len(parts)-rnd.IntN(2))]...)
}

func fileName(rnd *rand.Rand, i int) string {
	kinds := []string{".go", ".go", ".ts", ".md", ".json", ".pb.go", ".txt", ".log"}
	return fmt.Sprintf("file%d%s", i, kinds[rnd.IntN(len(kinds))])
}
