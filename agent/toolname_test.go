package agent

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func named(tools ...*tool) []string {
	nameTools(tools)
	var out []string
	for _, t := range tools {
		out = append(out, t.model)
	}
	return out
}

// microsoft/vscode#243602 (names over 64), google-gemini/gemini-cli#20987
// (characters), eca CHANGELOG 326 (the same name on two servers).
func TestToolNames(t *testing.T) {
	long := strings.Repeat("s", 40)
	for _, c := range []struct {
		name  string
		tools []*tool
		want  []string // with ######## for the digits
	}{
		{"plain", []*tool{{server: "a", name: "x"}, {server: "b", name: "x"}, {name: "read_file"}}, []string{"mcp__a__x", "mcp__b__x", "read_file"}},
		{"illegal characters", []*tool{{server: "go.sdk", name: "greet (with Icons)"}}, []string{"mcp__go_sdk__greet__with_Icons_"}},
		{"as long as allowed", []*tool{{server: long, name: strings.Repeat("t", 17)}}, []string{"mcp__" + long + "__" + strings.Repeat("t", 17)}},
		{"too long", []*tool{{server: long, name: "linear_rotateManagedOAuthApplicationWebhookSecret"}}, []string{"mcp__" + long + "__linear_r_########"}},
		{"colliding", []*tool{{server: "a", name: "x y"}, {server: "a", name: "x_y"}}, []string{"mcp__a__x_y_########", "mcp__a__x_y_########"}},
		{"colliding across servers", []*tool{{server: "a__b", name: "c"}, {server: "a", name: "b__c"}}, []string{"mcp__a__b__c_########", "mcp__a__b__c_########"}},
		{"virtual keeps its name", []*tool{{server: "a", name: "read_resource"}, {server: "a", name: "read_resource", virtual: true}}, []string{"mcp__a__read_resource_########", "mcp__a__read_resource"}},
		{"two virtual", []*tool{{server: "a.b", name: "read_resource", virtual: true}, {server: "a-b", name: "read_resource", virtual: true}}, []string{"mcp__a_b__read_resource", "mcp__a-b__read_resource"}},
		{"of go-sdk", []*tool{{server: "gosdk", name: "greet (structured)"}, {server: "gosdk", name: "greet_(structured)"}, {server: "gosdk", name: "elicit (url)"}}, []string{"mcp__gosdk__greet__structured__########", "mcp__gosdk__greet__structured__########", "mcp__gosdk__elicit__url_"}},
		{"of 62 characters", []*tool{{server: "linear", name: "linear_rotateManagedOAuthApplicationWebhookSecret"}}, []string{"mcp__linear__linear_rotateManagedOAuthApplicationWebhookSecret"}},
		{"of 64 and 65", []*tool{{server: "s", name: strings.Repeat("x", 56)}, {server: "s", name: strings.Repeat("x", 57)}}, []string{"mcp__s__" + strings.Repeat("x", 56), "mcp__s__" + strings.Repeat("x", 47) + "_########"}},
		{"a shortened name that another has", []*tool{{server: "s", name: strings.Repeat("x", 80)}, {server: "s", name: strings.Repeat("x", 81)}}, []string{"mcp__s__" + strings.Repeat("x", 47) + "_########", "mcp__s__" + strings.Repeat("x", 47) + "_########"}},
		{"only case differs", []*tool{{server: "s", name: "Get"}, {server: "s", name: "get"}}, []string{"mcp__s__Get", "mcp__s__get"}},
		{"not ASCII", []*tool{{server: "日本", name: "語"}}, []string{"mcp______" + "_"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := named(c.tools...)
			for i := range got {
				want, digits := strings.CutSuffix(c.want[i], "########")
				if digits && (len(got[i]) != len(want)+8 || !strings.HasPrefix(got[i], want)) || !digits && got[i] != want {
					t.Errorf("got %v, want %v", got, c.want)
				}
			}
			slices.Reverse(c.tools)
			again := named(c.tools...)
			slices.Reverse(again)
			if !slices.Equal(got, again) {
				t.Errorf("names depend on the order: %v, %v", got, again)
			}
		})
	}
}

// Each name is one that providers take, and leads back to its tool alone.
func FuzzToolNamesLeadBack(f *testing.F) {
	f.Add("a", "x", "a", "x_")
	f.Add("a__b", "c", "a", "b__c")
	f.Add("a", "read_resource", "a", "mcp__a__read_resource")
	f.Add("日", "本", "", "语\x00")
	f.Add("s", strings.Repeat("t", 80), "s", strings.Repeat("t", 81))
	f.Fuzz(func(t *testing.T, s1, t1, s2, t2 string) {
		var tools []*tool
		seen := map[string]bool{}
		add := func(x *tool) {
			if key := fmt.Sprintf("%q %q %v", x.server, x.name, x.virtual); !seen[key] {
				seen[key] = true
				tools = append(tools, x)
			}
		}
		for _, pair := range [][2]string{{s1, t1}, {s2, t2}, {s1, t2}, {s2, t1}, {s1, "read_resource"}, {s1, "x_deadbeef"}} {
			if pair[0] == "" {
				continue // no server has an empty name
			}
			add(&tool{server: pair[0], name: pair[1]})
		}
		add(&tool{server: "w", name: "read_resource", virtual: true})
		add(&tool{name: "read_file"})
		set := choose(nil, tools, wish{room: DefaultWindow, of: &offering{}})
		if len(set.byName) != len(tools) {
			t.Fatalf("%d names for %d tools", len(set.byName), len(tools))
		}
		for _, x := range tools {
			if !validName(x.model) || set.byName[x.model] != x {
				t.Errorf("%q/%q has the name %q", x.server, x.name, x.model)
			}
		}
	})
}

// Names are valid and unique, depend on no order, and never pass from one tool to
// another because others came or went.
func TestToolNamesAtRandom(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	piece := func() string {
		pieces := []string{"a", "b", "_", "__", "-", ".", " ", "é", "日", "get", "Get", strings.Repeat("long", 8+r.IntN(10))}
		var b strings.Builder
		for range 1 + r.IntN(4) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		return b.String()
	}
	for range 20 {
		all := map[string]*tool{}
		for range 300 {
			one := &tool{server: piece(), name: piece(), definition: "d"}
			if r.IntN(20) == 0 {
				one.name, one.virtual = "read_resource", true
			}
			all[fmt.Sprintf("%q %q %v", one.server, one.name, one.virtual)] = one
		}
		keys := slices.Sorted(maps.Keys(all))
		var first []string
		owner := map[string]*tool{} // of each name
		for range 2 {
			r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
			tools := make([]*tool, len(keys))
			for i, k := range keys {
				tools[i] = all[k]
			}
			nameTools(tools)
			var names []string
			for k, x := range all {
				if !validName(x.model) {
					t.Errorf("seed %d: %s has the name %q", seed, k, x.model)
				}
				if other := owner[x.model]; other != nil && other != x {
					t.Errorf("seed %d: %q is of %s and of another", seed, x.model, k)
				}
				owner[x.model] = x
				names = append(names, k+" "+x.model)
			}
			slices.Sort(names)
			if first != nil && !slices.Equal(first, names) {
				t.Errorf("seed %d: the names depend on the order", seed)
			}
			first = names
		}
		var some []*tool
		for _, k := range keys[:200] { // the others are gone
			some = append(some, all[k])
		}
		nameTools(some)
		for _, x := range some {
			if other := owner[x.model]; other != nil && other != x {
				t.Errorf("seed %d: %q passes from %q/%q to %q/%q", seed, x.model, other.server, other.name, x.server, x.name)
			}
		}
	}
}

func TestNearNames(t *testing.T) {
	names := []string{"mcp__files__read", "mcp__fake__echo", "mcp__fake__sleep", "read_file", "list_dir"}
	for name, want := range map[string]string{"mcp__fake__ecko": "mcp__fake__echo", "echo": "mcp__fake__echo", "readfile": "read_file", "mcp__other__sleep": "mcp__fake__sleep"} {
		if got := nearNames(name, names, 2); got[0] != want {
			t.Errorf("near %s: %v", name, got)
		}
	}
	if got := nearNames(strings.Repeat("x", 1<<20), names, 9); len(got) != len(names) {
		t.Errorf("got %v", got)
	}
}

// A built-in tool that rules do not know could be named by none.
func TestEveryBuiltinHasItsRules(t *testing.T) {
	for _, b := range append(builtins(), (&run{}).submitPlanTool(), failStepTool(nil), submitReviewTool(nil)) {
		if _, known := argumentTools[b.name]; !known {
			t.Errorf("%s has no row in argumentTools", b.name)
		}
		if why := CheckRule(b.name, true, nil); why != "" {
			t.Errorf("the rule %s %s", b.name, why)
		}
	}
}

func TestRulesOfServersWithSlashes(t *testing.T) {
	servers := []string{"a", "a/b"}
	m := subject{server: "a", tool: "b/c", servers: servers}
	if _, ok := m.allowedBy([]string{"a/b/c"}); ok {
		t.Error("a server took the allowance of another by its tool's name")
	}
	if _, how := m.restricts([]string{"a/b/c"}); how != matchYes {
		t.Error("a denial was read in one way only")
	}
	if _, ok := (&subject{server: "a/b", tool: "c", servers: servers}).allowedBy([]string{"a/b/c"}); !ok {
		t.Error("the rule does not match its tool")
	}
}
