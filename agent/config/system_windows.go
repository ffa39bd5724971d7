package config

import (
	"os"
	"os/exec"
)

// openFile opens for reading.
func openFile(name string) (*os.File, error) { return os.Open(name) }

// alone does nothing here: the shell alone is ended.
func alone(*exec.Cmd) {}
