package agent

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSearchCode(t *testing.T) {
	b := newBench(t)
	search := searchCodeTool()
	b.check(search, fields{"query": "one"}, "a.txt:1: one\n", "src/sub/util.ts:1: export const one = 1\n", "NOT vendor", "NOT SECRET", "NOT id_rsa", "NOT .git", "NOT bin.dat")
	b.check(search, fields{"query": "o.e"}, "[nothing found]")
	b.check(search, fields{"query": "O.E", "regex": true}, "[nothing found]")
	b.check(search, fields{"query": "(?i)^O.E$", "regex": true}, "a.txt:1: one\n", "NOT util.ts")
	b.check(search, fields{"query": "main(", "regex": true}, "no regular expression", "src/main.go:3: func main() {}")
	b.check(search, fields{"query": "one", "glob": "*.ts"}, "util.ts", "NOT a.txt")
	b.check(search, fields{"query": "one", "glob": "src/**"}, "util.ts", "NOT a.txt")
	b.check(search, fields{"query": "one", "glob": "[z-a]"}, "error: the glob")
	b.check(search, fields{}, "error: ", "query is missing")
	b.check(search, fields{"query": "one", "limit": "many"}, "error: ", `"limit" must be of type integer`)
	b.write("ws/lines", strings.Repeat("hit "+strings.Repeat("x", 500)+"\n", 2000))
	b.check(search, fields{"query": "hit", "limit": 3}, "lines:3: hit", "NOT lines:4:", "[more than these 3 lines match", "x…\n", "NOT "+strings.Repeat("x", 301))
	b.check(search, fields{"query": "hit"}, "lines:100:", "NOT lines:101:")
	text, _ := b.use(search, fields{"query": "hit", "limit": 1 << 30})
	if len(text) > b.env.limit {
		t.Errorf("%d bytes", len(text))
	}
	f, err := os.Create(filepath.Join(b.dir, "huge.log"))
	if err != nil || f.Truncate(searchedFile+1) != nil || f.Close() != nil {
		t.Fatal(err)
	}
	b.check(search, fields{"query": "nothing like it"}, "[1 files over 2 MiB were not searched]")
}

func TestSearchEndsWithItsContext(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrCancelled)
	if _, err := searchCode(ctx, b.env, json.RawMessage(`{"query":"one"}`)); !errors.Is(err, ErrCancelled) {
		t.Error(err)
	}
}
