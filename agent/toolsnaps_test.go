package agent

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the snapshots anew")

// Golden snapshots: what the model sees of a built-in tool changes on purpose
// only (go test ./agent -run Toolsnaps -update).
func TestToolsnaps(t *testing.T) {
	all := builtins()
	all = append(all, (&run{}).submitPlanTool(), failStepTool(nil), submitReviewTool(nil))
	a := &Agent{}
	for _, virtual := range a.resourceTools("example") {
		virtual.name = "mcp__example__" + virtual.name
		all = append(all, virtual)
	}
	all = append(all, submitReviewTool(nil))
	for _, tool := range all {
		data, err := json.MarshalIndent(map[string]any{"name": tool.name, "description": tool.description, "schema": tool.schema}, "", "  ")
		if err != nil {
			t.Fatalf("%s: %v", tool.name, err)
		}
		if fit := fitSchema(tool.schema); fit.rule != "" || fit.names != nil || !sameJSON(string(fit.schema), string(tool.schema)) {
			t.Errorf("%s: providers want the schema as %s", tool.name, fit.schema)
		}
		file := filepath.Join("testdata", "toolsnaps", tool.name+".snap")
		if *update {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, append(data, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || string(want) != string(data)+"\n" {
			t.Errorf("%s is not as in %s (%v):\n%s", tool.name, file, err, data)
		}
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && string(marshal(x)) == string(marshal(y))
}
