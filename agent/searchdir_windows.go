package agent

import (
	"io/fs"
	"os"
)

// dirHandle is an open folder. What is opened in it stays inside.
type dirHandle struct{ root *os.Root }

func openDir(path string) (*dirHandle, error) {
	root, err := os.OpenRoot(path)
	return &dirHandle{root}, err
}

// dir opens a folder inside.
func (d *dirHandle) dir(name string) (*dirHandle, error) {
	root, err := d.root.OpenRoot(name)
	return &dirHandle{root}, err
}

func (d *dirHandle) list() ([]fs.DirEntry, error) {
	f, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read from
	return f.ReadDir(-1)
}

func (d *dirHandle) close() { _ = d.root.Close() } // only read from

// read reads a regular file of at most most bytes; a larger one is errLarge.
func (d *dirHandle) read(name string, most int64, room *[]byte) ([]byte, error) {
	at := place{real: name, root: ".", shown: name}
	f, err := at.openIn(d.root, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read from
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.Size() > most:
		return nil, errLarge
	}
	return readInto(info.Size(), room, f.Read), nil
}
