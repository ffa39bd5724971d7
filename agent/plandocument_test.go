package agent

import (
	"reflect"
	"strings"
	"testing"
)

func shownAsIs(text string) string { return text }

// planOf makes a plan of steps "id: title: task: on, on".
func planOf(steps ...string) PlanState {
	p := PlanState{Plan: 1}
	for _, text := range steps {
		part := strings.Split(text, ": ")
		s := PlanStep{ID: part[0], Title: part[1], Task: part[2], DependsOn: []string{}, Status: StepPending}
		if len(part) > 3 {
			s.DependsOn = strings.Split(part[3], ", ")
		}
		p.Steps = append(p.Steps, s)
	}
	return p
}

func documentOf(steps ...string) PlanDocument {
	return PlanDocument{Plan: planOf(steps...), How: []string{"Do what you like."}, Line: shownAsIs, Lines: shownAsIs}
}

// shortSteps are steps as planOf takes them.
func shortSteps(steps []PlanStep) (list []string) {
	for _, s := range steps {
		text := strings.Join([]string{s.ID, s.Title, s.Task}, ": ")
		if len(s.DependsOn) > 0 {
			text += ": " + strings.Join(s.DependsOn, ", ")
		}
		list = append(list, text)
	}
	return list
}

func TestPlanDocument(t *testing.T) {
	d := documentOf("read: Read it: Read a.go\nwhole", "fix: Fix it: Fix a.go: read", "test: Test it: Run go test: read, fix")
	text := d.Text()
	want := "# Plan: 3 steps\n\nDo what you like.\n\n" + planFormat + `

## ` + "`read`" + ` Read it

After: nothing

Read a.go
whole

## ` + "`fix`" + ` Fix it

After: read

Fix a.go

## ` + "`test`" + ` Test it

After: read, fix

Run go test

## Note

`
	if text != want {
		t.Fatal(text)
	}
	for name, c := range map[string]struct {
		old, now string
		steps    []string // nil: as asked
		note     string
		fails    string
	}{
		"as it is":         {},
		"other line ends":  {"\n", "\r\n", nil, "", ""},
		"another title":    {"Fix it\n", "Mend it\n", []string{"read: Read it: Read a.go\nwhole", "fix: Mend it: Fix a.go: read", "test: Test it: Run go test: read, fix"}, "", ""},
		"another task":     {"Fix a.go", "Fix b.go\n\n- and c.go", []string{"read: Read it: Read a.go\nwhole", "fix: Fix it: Fix b.go\n\n- and c.go: read", "test: Test it: Run go test: read, fix"}, "", ""},
		"a step is gone":   {"## `fix` Fix it\n\nAfter: read\n\nFix a.go\n", "", []string{"read: Read it: Read a.go\nwhole", "test: Test it: Run go test: read"}, "", ""},
		"the first gone":   {"## `read` Read it\n\nAfter: nothing\n\nRead a.go\nwhole\n", "", []string{"fix: Fix it: Fix a.go", "test: Test it: Run go test: fix"}, "", ""},
		"a new step":       {"## Note", "## Commit it\nafter: `test`.\n## Note", []string{"read: Read it: Read a.go\nwhole", "fix: Fix it: Fix a.go: read", "test: Test it: Run go test: read, fix", "new-1: Commit it: Commit it: test"}, "", ""},
		"a named step":     {"## Note", "## `c` Commit it\n\nwith a message\n## Note", []string{"read: Read it: Read a.go\nwhole", "fix: Fix it: Fix a.go: read", "test: Test it: Run go test: read, fix", "c: Commit it: with a message"}, "", ""},
		"another order":    {"After: read, fix", "After: -", []string{"read: Read it: Read a.go\nwhole", "fix: Fix it: Fix a.go: read", "test: Test it: Run go test"}, "", ""},
		"a heading inside": {"Fix a.go", "Write:\n\\## a\n# b\n### c", []string{"read: Read it: Read a.go\nwhole", "fix: Fix it: Write:\n## a\n# b\n### c: read", "test: Test it: Run go test: read, fix"}, "", ""},
		"a note":           {"## Note\n", "## note\n\nNo tests,\nplease.\n", nil, "No tests,\nplease.", ""},
		"behind the note":  {"## Note\n", "## Note\nShort.\n## `z` Last\nAfter: test\n", []string{"read: Read it: Read a.go\nwhole", "fix: Fix it: Fix a.go: read", "test: Test it: Run go test: read, fix", "z: Last: Last: test"}, "Short.", ""},

		"nothing is left": {text, "## Note\nno", nil, "no", "there is no step left"},
		"empty":           {text, "", nil, "", "there is no step left"},
		"unknown":         {"After: read", "After: raed", nil, "", "line 16: the step `fix` is to come after `raed`, but there is no such step"},
		"double":          {"`fix`", "`read`", nil, "", "line 14: there is a step `read` already, in line 7"},
		"no title":        {"## `fix` Fix it", "## `fix`", nil, "", "line 14: the step has no title"},
		"no name":         {"## `fix` Fix it", "##", nil, "", "line 14: the step has no title"},
		"open name":       {"## `fix` Fix it", "## `fix Fix it", nil, "", "line 14: the name of the step has no backtick"},
		"odd name":        {"## `fix` Fix it", "## `fix,it` Fix it", nil, "", "line 14: the name of a step is letters"},
		"circle":          {"After: nothing", "After: test", nil, "", "read"},
	} {
		now := text
		if c.old != "" {
			now = strings.ReplaceAll(text, c.old, c.now)
		}
		steps, note, err := d.Read(now)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: %v", name, err)
			}
		} else if err != nil || !reflect.DeepEqual(shortSteps(steps), c.steps) {
			t.Errorf("%s: %q %v", name, shortSteps(steps), err)
		}
		if note != c.note {
			t.Errorf("%s: note %q", name, note)
		}
	}
}

// What a person leaves as it is shown stays what the model wrote, whatever had
// to be done to show it.
func TestPlanDocumentKeepsWhatIsNotTouched(t *testing.T) {
	d := documentOf("a b: Use the key sk-1: Say sk-1\n## `x` boo\n\\## c", "none: Two: b: a b", "step-2: Three: After: none: a b, none")
	hide := func(text string) string { return strings.ReplaceAll(text, "sk-1", "[hidden]") }
	d.Line, d.Lines = hide, hide
	d.Plan.Steps[2].Task, d.Plan.Steps[2].DependsOn = "After: none", []string{"a b", "none"}
	text := d.Text()
	if strings.Contains(text, "sk-1") {
		t.Error(text)
	}
	if steps, note, err := d.Read(text); steps != nil || note != "" || err != nil {
		t.Errorf("%q %q %v\n%s", shortSteps(steps), note, err, text)
	}
	steps, _, err := d.Read(strings.Replace(text, "Two", "Zwei", 1))
	if err != nil || len(steps) != 3 || steps[0].Task != d.Plan.Steps[0].Task || steps[0].Title != "Use the key sk-1" || steps[1].Title != "Zwei" ||
		steps[1].ID != "none" || !reflect.DeepEqual(steps[2].DependsOn, []string{"a b", "none"}) || steps[2].Task != "After: none" {
		t.Errorf("%q %v\n%s", shortSteps(steps), err, text)
	}
}

func TestDropSteps(t *testing.T) {
	p := planOf("a: A: x", "b: B: x: a", "c: C: x: b", "d: D: x: b, c")
	steps, err := p.Drop(2, 3)
	if err != nil || !reflect.DeepEqual(shortSteps(steps), []string{"a: A: x", "d: D: x: a"}) {
		t.Errorf("%q %v", shortSteps(steps), err)
	}
	if !reflect.DeepEqual(p, planOf("a: A: x", "b: B: x: a", "c: C: x: b", "d: D: x: b, c")) {
		t.Error("the plan itself was changed")
	}
	for _, places := range [][]int{{1, 2, 3, 4}, {0}, {5}, {-1}} {
		if steps, err := p.Drop(places...); err == nil {
			t.Errorf("%v: %q", places, shortSteps(steps))
		}
	}
}

func FuzzPlanDocument(f *testing.F) {
	f.Add("Read", "## `x` y\nAfter: z", "a")
	f.Add("`", "\\\\## n\n\n", "nothing")
	f.Fuzz(func(t *testing.T, title, task, id string) {
		line := func(s string) string { return strings.Join(strings.Fields(s), " ") }
		lines := func(s string) string { return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s) }
		d := PlanDocument{Plan: PlanState{Plan: 1, Steps: []PlanStep{
			{ID: id, Title: title, Task: task, DependsOn: []string{}},
			{ID: id + "2", Title: "t" + title, Task: "t" + task, DependsOn: []string{id}},
		}}, Line: line, Lines: lines}
		var bad error
		if d.Plan.Steps, bad = FitPlan(d.Plan.Steps); bad != nil {
			return
		}
		steps, note, err := d.Read(d.Text())
		if steps != nil || note != "" || err != nil {
			t.Errorf("%+v %q %v\n%s", steps, note, err, d.Text())
		}
		_, _, _ = d.Read(task)
	})
}
