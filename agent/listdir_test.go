package agent

import (
	"fmt"
	"testing"
)

func TestListDir(t *testing.T) {
	b := newBench(t)
	b.link("a.txt", "z")
	text, err := b.use(listDirTool(), fields{})
	if want := ".env (11 bytes)\na.txt (14 bytes)\nbin.dat (7 bytes)\nempty (0 bytes)\nid_rsa (8 bytes)\nsrc/\nz (symbolic link)"; text != want || err != nil {
		t.Errorf("%s\n%v", text, err)
	}
	b.check(listDirTool(), fields{"path": "src/sub"}, "util.ts (21 bytes)")
	b.check(listDirTool(), fields{"path": "a.txt"}, "error: ", "is a file; read_file reads it")
	b.check(listDirTool(), fields{"path": "nosuch"}, "error: there is no")
	for i := range maxEntries + 5 {
		b.write(fmt.Sprintf("ws/many/f%05d", i), "")
	}
	b.check(listDirTool(), fields{"path": "many"}, "f00000 (0 bytes)", "[5 more;", "NOT f01004")
}
