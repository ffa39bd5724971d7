package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// maxFile bounds every file that is read, in bytes.
const maxFile = 1 << 20

// What makes a file unfit to be read.
var (
	errIrregular = errors.New("is no regular file")
	errLarge     = fmt.Errorf("is larger than %d bytes", maxFile)
)

// readFile reads a regular file of at most maxFile bytes. A device or a pipe
// would block for ever or never end, and a project that nobody trusts yet
// names files as well. Errors name the file.
func readFile(name string) ([]byte, error) {
	f, err := openFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: name, Err: errIrregular}
	}
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = &fs.PathError{Op: "read", Path: name, Err: errLarge}
	}
	return text, err
}
