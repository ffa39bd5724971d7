package agent

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// What models write is read where the meaning is plain, else the error says
// what to mend.
func TestReadPlan(t *testing.T) {
	many := strings.TrimSuffix(strings.Repeat(`"do it",`, 50), ",")
	for name, c := range map[string]struct{ args, want, err string }{
		"as the schema has it":       {args: `{"steps":[{"id":"a","title":"A","task":"Do a.","dependsOn":[]},{"id":"b","title":"B","task":"Do b.","dependsOn":["a"]}]}`, want: "a|A|Do a.| b|B|Do b.|a"},
		"ids as numbers":             {args: `{"steps":[{"id":1,"title":"A","task":"Do a.","dependsOn":[]},{"id":2,"title":"B","task":"Do b.","dependsOn":[1]}]}`, want: "1|A|Do a.| 2|B|Do b.|1"},
		"no ids":                     {args: `{"steps":[{"title":"A","task":"Do a."},{"title":"B","task":"Do b.","dependsOn":["1"]}]}`, want: "1|A|Do a.| 2|B|Do b.|1"},
		"an id that is a place":      {args: `{"steps":[{"title":"A"},{"id":"1","title":"B"}]}`, want: "1'|A|A| 1|B|B|"},
		"steps as texts":             {args: `{"steps":["Read the parser.\nAll of it.","Mend it."]}`, want: "1|Read the parser.|Read the parser.\nAll of it.| 2|Mend it.|Mend it.|"},
		"steps as one text":          {args: `{"steps":"[{\"id\":\"a\",\"task\":\"Do a.\"}]"}`, want: "a|Do a.|Do a.|"},
		"under plan":                 {args: `{"plan":{"steps":[{"id":"a","title":"A"}]}}`, want: "a|A|A|"},
		"a plan that is a list":      {args: `{"plan":[{"id":"a","title":"A"}]}`, want: "a|A|A|"},
		"other names":                {args: `{"steps":[{"id":"a","name":"A","description":"Do a.","depends_on":null},{"id":"b","name":"B","description":"Do b.","dependencies":["a"]}]}`, want: "a|A|Do a.| b|B|Do b.|a"},
		"titles as needs":            {args: `{"steps":[{"id":"x1","title":"Read it","task":"Read."},{"id":"x2","title":"Mend it","task":"Mend.","dependsOn":["read it"]}]}`, want: "x1|Read it|Read.| x2|Mend it|Mend.|x1"},
		"places as needs":            {args: `{"steps":[{"id":"read","title":"A"},{"id":"mend","title":"B","dependsOn":["step 1"]},{"id":"test","title":"C","dependsOn":[2,1,2]}]}`, want: "read|A|A| mend|B|B|read test|C|C|read,mend"},
		"step_ before an id":         {args: `{"steps":[{"id":"1","title":"A"},{"id":"2","title":"B","dependsOn":["step_1"]}]}`, want: "1|A|A| 2|B|B|1"},
		"needs as a text":            {args: `{"steps":[{"id":"a","title":"A","dependsOn":""},{"id":"b","title":"B","dependsOn":"a"},{"id":"c","title":"C","dependsOn":"[\"a\",\"b\"]"},{"id":"d","title":"D","dependsOn":"none"}]}`, want: "a|A|A| b|B|B|a c|C|C|a,b d|D|D|"},
		"ids in another case":        {args: `{"steps":[{"id":"A","title":"x"},{"id":"B","title":"y","dependsOn":["a"]}]}`, want: "A|x|x| B|y|y|A"},
		"a later step is needed":     {args: `{"steps":[{"id":"a","title":"A","dependsOn":["b"]},{"id":"b","title":"B"}]}`, want: "a|A|A|b b|B|B|"},
		"a status from elsewhere":    {args: `{"steps":[{"id":"a","title":"A","status":"completed"}]}`, want: "a|A|A|"},
		"a title of two lines":       {args: `{"steps":[{"id":"a","title":"A\nB\u202e","task":"Do it."}]}`, want: "a|A B|Do it.|"},
		"no steps":                   {args: `{"steps":[]}`, err: "the plan has no steps"},
		"nothing":                    {args: `{}`, err: "the argument steps must be a list of steps: it is missing"},
		"an object":                  {args: `{"steps":{"a":"b"}}`, err: "the argument steps must be a list of steps"},
		"fifty":                      {args: `{"steps":[` + many + `]}`, err: "the plan has 50 steps, at most 20 are taken: join what belongs together"},
		"a step that is a number":    {args: `{"steps":[7]}`, err: "step 1: "},
		"a task that is none":        {args: `{"steps":[{"id":"a","title":" ","task":"\n"}]}`, err: "step 1: it has no task: say in whole sentences what is to be done"},
		"two of one id":              {args: `{"steps":[{"id":"a","title":"A"},{"id":"b","title":"B"},{"id":"a","title":"C"}]}`, err: `the steps 1 and 3 have the same id "a"`},
		"an unknown need":            {args: `{"steps":[{"id":"a","title":"A","dependsOn":["z"]},{"id":"b","title":"B"}]}`, err: `the step "a" depends on "z", which is no step of the plan: its steps have the ids a, b`},
		"a place beyond":             {args: `{"steps":[{"id":"a","title":"A","dependsOn":["3"]},{"id":"b","title":"B"}]}`, err: `depends on "3", which is no step`},
		"a title of two":             {args: `{"steps":[{"id":"a","title":"X"},{"id":"b","title":"X"},{"id":"c","title":"C","dependsOn":["x"]}]}`, err: `depends on "x", which is no step`},
		"itself":                     {args: `{"steps":[{"id":"a","title":"A","dependsOn":["a"]}]}`, err: `the step "a" depends on itself`},
		"a circle":                   {args: `{"steps":[{"id":"z","title":"Z"},{"id":"a","title":"A","dependsOn":["c"]},{"id":"b","title":"B","dependsOn":["a","z"]},{"id":"c","title":"C","dependsOn":["b"]}]}`, err: "the steps depend on each other in a circle: a → c → b → a"},
		"needs of an odd type":       {args: `{"steps":[{"id":"a","title":"A","dependsOn":[{"id":"b"}]}]}`, err: "step 1: its dependsOn must be a list of ids"},
		"an id of an odd type":       {args: `{"steps":[{"id":["a"],"title":"A"}]}`, err: "step 1: its id must be a text"},
		"a title of an odd type":     {args: `{"steps":[{"id":"a","title":7}]}`, err: `step 1: the argument "title" must be of type string, not number`},
		"an id that is a sentence":   {args: `{"steps":[{"id":"` + strings.Repeat("a b ", 20) + `","title":"A"}]}`, err: "is no short word: write one of at most 64 characters"},
		"a task that quotes a file":  {args: `{"steps":[{"id":"a","title":"A","task":"` + strings.Repeat("x", 20001) + `"}]}`, err: "step 1: its task has 20001 bytes, at most 20000 are taken: name files instead of quoting them"},
		"steps that are too deep":    {args: `{"plan":{"plan":{"steps":["a"]}}}`, err: "the argument steps must be a list of steps: it is missing"}, // 10,000 levels took 7 s
		"a plan in a plan in a plan": {args: `{"plan":{"plan":{"plan":7}}}`, err: "the argument steps must be a list of steps"},
	} {
		t.Run(name, func(t *testing.T) {
			steps, err := readPlan(json.RawMessage(c.args))
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%+v %v", steps, err)
				}
				return
			}
			var got []string
			for _, s := range steps {
				got = append(got, strings.Join([]string{s.ID, s.Title, s.Task, strings.Join(s.DependsOn, ",")}, "|"))
			}
			if err != nil || strings.Join(got, " ") != c.want {
				t.Errorf("%q %v", got, err)
			}
		})
	}
}

// A plan that is taken is sound, and is read the same way again.
func FuzzReadPlan(f *testing.F) {
	for _, s := range []string{`{"steps":["a","b"]}`, `{"steps":[{"id":1,"title":"a","dependsOn":"2"},{"id":2,"title":"b"}]}`, `{"plan":{"steps":[{"title":"a"},{"id":"1","title":"b","dependsOn":["step 1","1'"]}]}}`, `{"steps":"[1]"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, args string) {
		steps, err := readPlan(json.RawMessage(args))
		if err != nil {
			return
		}
		at := map[string]bool{}
		for _, s := range steps {
			if at[s.ID] || s.ID == "" || s.Title == "" || s.Task == "" || s.DependsOn == nil || s.Status != "" {
				t.Fatalf("%+v", steps)
			}
			at[s.ID] = true
		}
		for done := map[string]bool{}; len(done) < len(steps); {
			before := len(done)
			for _, s := range steps {
				ready := true
				for _, on := range s.DependsOn {
					ready = ready && done[on]
					if !at[on] {
						t.Fatalf("%+v", steps)
					}
				}
				if ready {
					done[s.ID] = true
				}
			}
			if len(done) == before {
				t.Fatalf("a circle: %+v", steps)
			}
		}
		again, err := readPlan(planArguments(steps))
		if err != nil || !reflect.DeepEqual(again, steps) {
			t.Fatalf("%+v\n%+v %v", steps, again, err)
		}
	})
}

func TestPlanInText(t *testing.T) {
	plan := `{"steps":[{"id":"a","title":"A","task":"Do a."},{"id":"b","title":"B","task":"Do b.","dependsOn":["a"]}]}`
	list := `[{"id":"a","title":"A"},{"id":"b","title":"B"}]`
	for text, want := range map[string]bool{
		plan: true, "Here:\n```json\n" + plan + "\n```\nOk?": true, "```\n" + list + "\n```": true, list: true,
		`{"name":"submit_plan","arguments":` + plan + `}`:               true,
		"<tool_call>\n" + plan + "\n</tool_call>":                       false,
		"The file has `" + plan + "` in it.":                            false,
		"```json\n{\"steps\":7}\n```":                                   false,
		"```json\n{\"name\":\"x\",\"scripts\":{}}\n```":                 false,
		"```yaml\nsteps:\n- a\n```":                                     false,
		"An example:\n```json\n{\"steps\":[\"go build ./...\"]}\n```\n": false, // one step is as likely a workflow
	} {
		args, ok := planInText(text)
		if ok != want {
			t.Errorf("%q: %v", text, ok)
		}
		if ok {
			if _, err := readPlan(json.RawMessage(args)); err != nil {
				t.Errorf("%q: %v", text, err)
			}
		}
	}
	r := &run{}
	for text, want := range map[string]bool{
		"My plan:\n1. Read the parser\n2. Mend it":                true,
		"## Plan\n\n**Step 1**: read\n\n**Step 2**: mend":         true,
		"Der Plan:\n\n1) Lesen\n2) Flicken":                       true,
		"The parser is in `a.go`. It has two faults:\n1. x\n2. y": false,
		"I plan to read it.":                                      false,
		"The plan is simple:\n1. all at once":                     false,
	} {
		if got := r.remindOfPlan(text) != ""; got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// An answer's second plan is not run, whichever can be read.
func TestAlone(t *testing.T) {
	submit := (&run{}).submitPlanTool()
	set := toolset{byName: map[string]*tool{submitPlanName: submit}}
	good, bad := ToolCall{Name: submitPlanName, Arguments: `{"steps":["a"]}`}, ToolCall{Name: submitPlanName, Arguments: `{"steps":[]}`}
	for _, c := range []struct {
		calls []ToolCall
		runs  int
	}{
		{[]ToolCall{good, good}, 0}, {[]ToolCall{bad, good, good}, 1}, {[]ToolCall{bad, bad}, 0}, {[]ToolCall{{Name: "read_file"}, good}, 1},
	} {
		for i, one := range alone(set, c.calls) {
			has := one.byName[submitPlanName] != nil
			if c.calls[i].Name == submitPlanName && has != (i == c.runs) {
				t.Errorf("%+v: call %d: %v", c.calls, i, has)
			}
		}
	}
}
