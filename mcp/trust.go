package mcp

import (
	"errors"
	"fmt"
	"time"

	"agentls/mcp/statefile"
)

// trustVersion is the version of trust.json that we write.
const trustVersion = 1

// trustStore remembers which folders the user trusts, and which project
// servers may start, by the fingerprint of all that was shown (CONTRACT §2 and
// §8).
type trustStore struct {
	file string
}

type trustFile struct {
	Version int                   `json:"version"`
	Servers map[string]trustEntry `json:"servers"` // by fingerprint
	Folders map[string]time.Time  `json:"folders"` // by absolute path: since when
}

// trustEntry is for a person who reads the file; nothing depends on it.
type trustEntry struct {
	Name   string    `json:"name"`
	Source string    `json:"source"`
	Folder string    `json:"folder"`
	Time   time.Time `json:"time"`
}

func (t trustStore) state() statefile.File {
	return statefile.File{Path: t.file, Version: trustVersion}
}

// load reads the file; one that is not there, or not usable, trusts nobody.
func (t trustStore) load() (trustFile, error) {
	var f trustFile
	err := t.state().Read(&f)
	if err != nil {
		f = trustFile{}
	}
	f.Version = trustVersion
	if f.Servers == nil {
		f.Servers = map[string]trustEntry{}
	}
	if f.Folders == nil {
		f.Folders = map[string]time.Time{}
	}
	return f, err
}

// set stores the user's word about a server.
func (t trustStore) set(c ServerConfig, trust bool) error {
	if c.Fingerprint == "" {
		return fmt.Errorf("server %q has no fingerprint to trust", c.Name)
	}
	return t.change(func(f *trustFile) {
		if trust {
			f.Servers[c.Fingerprint] = trustEntry{Name: c.Name, Source: c.Source, Folder: c.Folder, Time: now()}
		} else {
			delete(f.Servers, c.Fingerprint)
		}
	})
}

// setFolder stores that the user trusts a folder.
func (t trustStore) setFolder(path string) error {
	return t.change(func(f *trustFile) { f.Folders[path] = now() })
}

func now() time.Time { return time.Now().UTC().Truncate(time.Second) }

// change rewrites the file under its lock.
func (t trustStore) change(f func(*trustFile)) error {
	if t.file == "" {
		return errors.New("there is no file to remember trust in")
	}
	return t.state().Locked(func() error {
		file, err := t.load()
		if err != nil {
			return err
		}
		f(&file)
		return t.state().Write(file)
	})
}
