package config

import (
	"errors"
	"fmt"
	"io"
)

// maxFile bounds a file that is read, in bytes.
const maxFile = 1 << 20

var (
	errIrregular = errors.New("is no regular file")
	errLarge     = fmt.Errorf("is larger than %d bytes", maxFile)
)

// readFile reads a file whole. A project names files before anybody trusts it:
// a pipe would block, a device or a huge file fill the memory.
func readFile(name string) ([]byte, error) {
	f, err := openFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, errIrregular
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		return nil, errLarge
	}
	return text, err
}
