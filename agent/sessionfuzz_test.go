package agent_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"agentls/agent"
)

// Whatever stands in a session's file: it loads, or the error says why and the
// file is as it was; what loads a provider takes; and what is added to it is
// there when it is loaded again.
func FuzzSessionFile(f *testing.F) {
	dir := f.TempDir()
	a := keeper(dir)
	d, err := a.Begin("/f", "s")
	if err != nil {
		f.Fatal(err)
	}
	rich(d)
	if err := d.Finish(); err != nil {
		f.Fatal(err)
	}
	path := a.SessionPath("/f", "s")
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	f.Add(whole)
	f.Add(whole[:len(whole)-9])
	f.Add(append(bytes.Clone(lines[0]), `{"t":"calls","message":{"role":"tool","toolCalls":[{"id":""},{"id":"a"},{"id":"a","name":"x y"}]}}`...))
	f.Add(append(bytes.Clone(lines[0]), "{\"t\":\"anew\",\"turn\":-3}\n{\"t\":\"add\",\"entries\":[{}]}\n{\"t\":\"prompt\",\"message\":{}}\n{\"t\":\"text\",\"text\":7}\n"...))
	f.Add([]byte(`{"version":1`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
			t.Fatal(err)
		}
		a := keeper(dir)
		list, err := a.Sessions(t.Context(), []string{"/f"})
		if err != nil || len(list) > 1 {
			t.Errorf("listed %v, %v", list, err)
		}
		d, err := a.Begin("/f", "s")
		if err != nil {
			pe, ok := errors.AsType[*agent.ProviderError](err)
			if now, err := os.ReadFile(path); !ok || pe.Message == "" || err != nil || !bytes.Equal(now, data) {
				t.Errorf("%v; the file: %v", pe, err)
			}
			return
		}
		checkValid(t, d)
		d.Ask("go on", "go on")
		checkValid(t, d)
		d.Call("", call("z", "read_file", "{}"))
		if err := d.Finish(); err != nil || len(d.Told) > 0 {
			t.Errorf("%v, told %v", err, d.Told)
		}
		if got, err := keeper(dir).StateOnDisk("/f", "s"); err != nil || got != d.State() {
			t.Errorf("%v: after going on the file says\n%s\nthe memory\n%s", err, got, d.State())
		}
		if _, err := a.ShowSession(t.Context(), []string{"/f"}, "s"); err != nil {
			t.Error(err)
		}
	})
}
