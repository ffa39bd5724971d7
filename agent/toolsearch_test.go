package agent

import (
	"slices"
	"testing"
)

func TestSearchWords(t *testing.T) {
	for text, want := range map[string][]string{
		"createIssue":              {"creat", "issu"},
		"Creating an issue":        {"creat", "issu"},
		"issues_created":           {"issu", "creat"},
		"The user's queries, HTTP": {"user", "query", "http"},
		"日本 files":                 {"日本", "fil"},
		"查询天气API":                  {"查询", "询天", "天气", "api"},
		"परियोजना बनाएँ":           {"परियोजना", "बनाएँ"},
		"a of to":                  nil,
		"":                         nil,
	} {
		if got := searchWords(text); !slices.Equal(got, want) {
			t.Errorf("%q gives %v, want %v", text, got, want)
		}
	}
}

// The best stands first: in the name rather than in a description, a rare word
// rather than one that all have.
func TestSearchTools(t *testing.T) {
	var tools []*tool
	for name, description := range map[string]string{
		"list_issues": "List the issues of a repository", "list_branches": "List the branches of a repository", "get_file": "Get a file of a repository, as an issue may name it",
		"create_issue": "Open a new issue", "merge": "Merge a pull request of a repository",
	} {
		one := &tool{server: "git", name: name, description: description, schema: []byte(`{"properties":{"repo":{},"shaOfCommit":{}}}`)}
		one.words = func() toolWords { return wordsOfTool(one) }
		tools = append(tools, one)
	}
	for query, want := range map[string]string{
		"create an issue": "create_issue", "which issues does it list": "list_issues", "merging": "merge", "show me the branch of the repository": "list_branches",
	} {
		got := searchTools(tools, query)
		if len(got) == 0 {
			t.Errorf("%q finds nothing", query)
		} else if name := got[0].name; name != want {
			t.Errorf("%q finds %s", query, name)
		}
	}
	weather := &tool{server: "cn", name: "tq", description: "查询一个城市的天气预报", schema: []byte(`{}`)}
	weather.words = func() toolWords { return wordsOfTool(weather) }
	if got := searchTools(append(tools, weather), "明天上海的天气怎么样？"); len(got) != 1 || got[0].name != "tq" {
		t.Errorf("found %v", got)
	}
	if got := searchTools(tools, "the sha"); len(got) != len(tools) { // an argument of all
		t.Errorf("found %v", got)
	}
	if got := searchTools(tools, "weather"); got != nil {
		t.Errorf("found %v", got)
	}
}
