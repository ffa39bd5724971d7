package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func (w *world) lock() string { return filepath.Join(w.t.TempDir(), "state", "lock") }

func TestWriteChoice(t *testing.T) {
	w := newWorld(t)
	w.source.Dir = filepath.Join(w.source.Dir, "not", "there")
	w.env["DEEPSEEK_API_KEY"] = "sk-deep-secret"
	written, err := w.source.Write(Choice{Name: "deepseek", BaseURL: "https://api.deepseek.com/v1", KeyVariable: "DEEPSEEK_API_KEY", Model: "deepseek-chat"}, w.lock())
	if err != nil {
		t.Fatal(err)
	}
	onDisk, err := os.ReadFile(w.source.File())
	if err != nil || string(onDisk) != string(written.After) || written.Before != nil || strings.Contains(string(onDisk), "sk-deep-secret") {
		t.Errorf("%v\n%s", err, onDisk)
	}
	if info, err := os.Stat(w.source.File()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	c := w.load()
	problems(t, c)
	if p := c.Provider; p.Name != "deepseek" || p.Err != "" || p.APIKey != "sk-deep-secret" || p.Model != "deepseek-chat" || c.Unset {
		t.Errorf("%+v", p)
	}
	// Another choice keeps the first, and what a person wrote into it.
	w.user(strings.Replace(string(onDisk), `"model"`, `"contextWindow": 5000, "model"`, 1))
	if _, err := w.source.Write(Choice{Name: "ollama", BaseURL: "http://127.0.0.1:11434/v1", Model: "a"}, w.lock()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.source.Write(Choice{Name: "deepseek", BaseURL: "http://elsewhere/v1", KeyVariable: "OTHER_KEY", Model: "deepseek-reasoner"}, w.lock()); err != nil {
		t.Fatal(err)
	}
	c = w.load()
	problems(t, c)
	if p := c.Provider; p.Name != "deepseek" || p.ContextWindow != 5000 || p.APIKey != "sk-deep-secret" || p.BaseURL != "https://api.deepseek.com/v1" || p.Model != "deepseek-reasoner" || c.Providers["ollama"].Model != "a" {
		t.Errorf("%+v", c.Providers)
	}
}

// A tool that writes the file anew loses the comments in it: here all of it
// stays, and a link to a dotfile repository stays a link.
func TestWriteKeepsTheRest(t *testing.T) {
	w := newWorld(t)
	dotfiles := filepath.Join(t.TempDir(), "dot.json")
	const before = "\ufeff{\r\n\t// mine\r\n\t\"limits\": {\"steps\": 7}, // few\r\n\t\"unknownToUs\": [1, 2,],\r\n}\r\n// end\r\n"
	w.write(dotfiles, before)
	if err := os.Symlink(dotfiles, w.source.File()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.source.Write(Choice{Name: "o", BaseURL: "http://127.0.0.1:1/v1", Model: "m"}, w.lock()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(dotfiles)
	const added = "\t\"provider\": \"o\",\r\n\t\"providers\": {\r\n\t\t\"o\": {\r\n\t\t\t\"baseURL\": \"http://127.0.0.1:1/v1\",\r\n\t\t\t\"model\": \"m\"\r\n\t\t}\r\n\t},\r\n"
	if want := strings.Replace(before, "}\r\n// end", added+"}\r\n// end", 1); err != nil || string(text) != want {
		t.Errorf("%v\n%q, want\n%q", err, text, want)
	}
	if info, err := os.Lstat(w.source.File()); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
}

func TestWriteRefuses(t *testing.T) {
	w := newWorld(t)
	choice := Choice{Name: "o", BaseURL: "http://127.0.0.1:1/v1", Model: "m"}
	for before, want := range map[string]string{
		"{\n \"limits\": {\n}": "config.json:3:2: is no JSON", `{"providers": []}`: "providers: must be an object, not a list", `{"providers": {"o": 5}}`: "providers.o: must be an object",
	} {
		w.user(before)
		_, err := w.source.Write(choice, w.lock())
		if e, ok := errors.AsType[*FileError](err); !ok || !strings.Contains(e.Error(), want) || e.Problem.Line == 0 {
			t.Errorf("%s: %v, want %s", before, err, want)
		}
		if exists, err := w.source.CheckFile(); !exists || (err != nil) != strings.Contains(want, "JSON") {
			t.Errorf("%s: %v, %v", before, exists, err)
		}
		if text, _ := os.ReadFile(w.source.File()); string(text) != before {
			t.Errorf("%s became %s", before, text)
		}
	}
	// What a foreign list of models calls a model would be run, or read.
	w.user("{}")
	for _, c := range []Choice{{Name: "o", Model: "${cmd:touch PWNED}"}, {Name: "${HOME}", Model: "m"}, {Name: "o", BaseURL: "http://${HOST}/v1"}, {Name: "o", Model: "a\u202eb"}, {Name: "o", Model: "a\nb"}, {Name: "o", KeyVariable: "KEY} ${cmd:x"}} {
		if _, err := w.source.Write(c, w.lock()); err == nil {
			t.Errorf("%+v was written", c)
		}
	}
	if text, _ := os.ReadFile(w.source.File()); string(text) != "{}" {
		t.Errorf("%s", text)
	}
	// A place that takes no directory, as one that is read-only to its user.
	w.write(filepath.Join(w.folder, "file"), "")
	w.source.Dir = filepath.Join(w.folder, "file", "agentls")
	_, err := w.source.Write(choice, w.lock())
	if _, ok := errors.AsType[*fs.PathError](err); !ok || !strings.Contains(err.Error(), "let yourself write into "+w.folder) {
		t.Error(err)
	}
	if _, err := w.source.WriteTemplate(); err == nil || !strings.Contains(err.Error(), "XDG_CONFIG_HOME") {
		t.Error(err)
	}
}

// editor-code-assistant/eca#558: two processes that write at once lose nothing of each other.
func TestWritesBesideEachOther(t *testing.T) {
	w := newWorld(t)
	w.user("{\n  // kept\n}\n")
	lock := w.lock()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if _, err := w.source.Write(Choice{Name: fmt.Sprint("p", i), BaseURL: "http://127.0.0.1:1/v1", Model: "m"}, lock); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	c := w.load()
	problems(t, c)
	text, err := os.ReadFile(w.source.File())
	if err != nil || len(c.Providers) != 8 || !strings.Contains(string(text), "// kept\n") {
		t.Errorf("%v, %d providers\n%s", err, len(c.Providers), text)
	}
	if left, err := filepath.Glob(filepath.Join(w.source.Dir, "*")); err != nil || len(left) != 1 {
		t.Errorf("files left behind: %q, %v", left, err)
	}
}

func TestTemplate(t *testing.T) {
	w := newWorld(t)
	if made, err := w.source.WriteTemplate(); err != nil || !made {
		t.Fatal(made, err)
	}
	c := w.load()
	if problems(t, c); !c.Unset {
		t.Errorf("%+v", c.Provider)
	}
	// What is in its comments is right as it stands.
	lines := strings.Split(template, "\n")
	for i, line := range lines {
		if rest, ok := strings.CutPrefix(strings.TrimLeft(line, " "), "// "); ok && strings.Contains(rest, `"`) || ok && strings.Trim(rest, " },") == "" {
			lines[i] = rest
		}
	}
	w.user(strings.ReplaceAll(strings.Join(lines, "\n"), `"${file:~/.config/agentls/key}"`, `"k"`))
	c = w.load()
	problems(t, c)
	if c.Provider.Name != "ollama" || c.Provider.Err != "" || len(c.Providers) != 4 || len(c.Servers) != 1 {
		t.Errorf("%+v, %d servers", c.Providers, len(c.Servers))
	}
	// A file that is there is kept, and a choice goes into it.
	w.user("{ /* mine */ }")
	if made, err := w.source.WriteTemplate(); err != nil || made {
		t.Error(made, err)
	}
	if text, _ := os.ReadFile(w.source.File()); string(text) != "{ /* mine */ }" {
		t.Errorf("%s", text)
	}
}
