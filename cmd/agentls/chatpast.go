package main

import (
	"log/slog"
	"path/filepath"
	"slices"

	"agentls/agent"
	"agentls/mcp/statefile"
)

// past are the prompts that were typed before, here and in other dialogues; it
// is in <state>/chat.json.
type past struct {
	file statefile.File
	log  *slog.Logger
	list []string // the newest last
	at   int      // len(list): what is typed now
	now  string   // what was typed before the past was looked at
}

// The bounds of what is kept.
const (
	pastMost  = 500
	pastChars = 4000 // bytes of one prompt; a longer one is not kept
)

type pastFile struct {
	Version int      `json:"version"`
	Prompts []string `json:"prompts"`
}

const pastVersion = 1

func loadPast(state string, log *slog.Logger) past {
	p := past{file: statefile.File{Path: filepath.Join(state, "chat.json"), Version: pastVersion}, log: log}
	var f pastFile
	if err := p.file.Read(&f); err != nil {
		log.Warn("what was typed before is not known", "error", err)
	}
	p.list = f.Prompts
	p.leave()
	return p
}

// add keeps a prompt that was sent: as it was typed, with its pastes where they
// are short enough.
func (p *past) add(typed, whole string) {
	if len(whole) <= pastChars {
		typed = whole
	}
	if l, ok := agent.ParseSlash(typed); len(typed) > pastChars || ok && l.Name == "mcp" && len(l.Args) > 2 { // a login's address
		p.leave()
		return
	}
	p.list = kept(p.list, typed)
	p.leave()
	err := p.file.Locked(func() error {
		f := pastFile{}
		if err := p.file.Read(&f); err != nil {
			return err
		}
		return p.file.Write(pastFile{pastVersion, kept(f.Prompts, typed)})
	})
	if err != nil {
		p.log.Warn("what was typed is not kept for the next dialogue", "error", err)
	}
}

// kept puts a prompt at the end of a list, where it stands once.
func kept(list []string, prompt string) []string {
	list = append(slices.DeleteFunc(slices.Clone(list), func(other string) bool { return other == prompt }), prompt)
	return list[max(0, len(list)-pastMost):]
}

// leave goes back to the present.
func (p *past) leave() { p.at = len(p.list) }

// back gives the prompt before; typed is what stands there now.
func (p *past) back(typed string) (string, bool) {
	if p.at == 0 {
		return "", false
	}
	if p.at == len(p.list) {
		p.now = typed
	}
	p.at--
	return p.list[p.at], true
}

// forward gives the one after, at last what was typed.
func (p *past) forward() (string, bool) {
	if p.at >= len(p.list) {
		return "", false
	}
	if p.at++; p.at == len(p.list) {
		return p.now, true
	}
	return p.list[p.at], true
}
