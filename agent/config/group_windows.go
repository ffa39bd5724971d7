package config

import "os/exec"

// alone does nothing here: the shell alone is ended.
func alone(*exec.Cmd) {}
