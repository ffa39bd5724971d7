package workspace

import "os"

// openFile opens for reading with open, which may be a Root's.
func openFile(open func(string, int, os.FileMode) (*os.File, error), name string) (*os.File, error) {
	return open(name, os.O_RDONLY, 0)
}
