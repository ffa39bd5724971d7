package agent

import (
	"bytes"
	"errors"
	"io"
	"os"
)

// longestLine is the longest line that linesBackward gives; longer ones are
// passed over.
const longestLine = 1 << 20

// linesBackward gives the lines of a file to f from the last to the first,
// until f wants no more or budget bytes are read, which it counts down.
func linesBackward(path string, budget *int64, f func(line []byte) (more bool)) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read from
	info, err := file.Stat()
	if err != nil {
		return err
	}
	var rest []byte // the end of a line whose start is not read yet
	tooLong := false
	chunk := make([]byte, 64<<10)
	for at := info.Size(); at > 0 && *budget > 0; {
		n := min(int64(len(chunk)), at)
		at -= n
		*budget -= n
		if _, err := file.ReadAt(chunk[:n], at); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		part := chunk[:n]
		for {
			i := bytes.LastIndexByte(part, '\n')
			if i < 0 {
				break
			}
			line := append(bytes.Clone(part[i+1:]), rest...)
			part, rest = part[:i], nil
			if !tooLong && len(line) > 0 && !f(line) {
				return nil
			}
			tooLong = false
		}
		if rest = append(bytes.Clone(part), rest...); len(rest) > longestLine {
			rest, tooLong = nil, true
		}
		if at == 0 && !tooLong && len(rest) > 0 {
			f(rest)
		}
	}
	return nil
}
