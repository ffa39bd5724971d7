package main

import (
	"os"
	"path/filepath"
	"runtime"
)

// paths are the folders of one user (CONTRACT §1).
type paths struct {
	home, config, state string
}

func (p program) paths() paths {
	get := func(name string) string { v, _ := p.getenv(name); return v }
	home := get("HOME")
	if home == "" {
		home, _ = os.UserHomeDir()
	}
	// pick takes the XDG variable where it is absolute, as its specification
	// demands, else the platform's own place.
	pick := func(xdg, unix, mac, windows string) string {
		if v := get(xdg); filepath.IsAbs(v) {
			return filepath.Join(v, "agentls")
		}
		switch {
		case runtime.GOOS == "darwin":
			return filepath.Join(home, mac, "agentls")
		case runtime.GOOS == "windows" && get(windows) != "":
			return filepath.Join(get(windows), "agentls")
		default:
			return filepath.Join(home, unix, "agentls")
		}
	}
	return paths{
		home:   home,
		config: pick("XDG_CONFIG_HOME", ".config", "Library/Application Support", "APPDATA"),
		state:  pick("XDG_STATE_HOME", ".local/state", "Library/Application Support", "LOCALAPPDATA"),
	}
}
