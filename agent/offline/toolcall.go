package offline

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"agentls/agent"
)

// maxCalls bounds the calls of one prompt.
const maxCalls = 8

// named is a tool's name found in a prompt.
type named struct {
	tool       agent.ToolSpec
	start, end int // in the prompt
	args       json.RawMessage
	after      int // where the arguments end, if they are JSON
}

var (
	word = regexp.MustCompile(`[A-Za-z0-9_-]+`)
	// A short name that is a plain word, such as echo, counts only where the
	// sentence treats it as a tool.
	verb   = regexp.MustCompile(`(?i)(^|\n)\s*$|\b(call|use|run|invoke|try)(\s+the)?\s+$|` + "`$")
	isTool = regexp.MustCompile("(?i)^`?\\s+tool\\b|^`")
)

// toolCalls are the calls that the prompt names, after before calls in the
// conversation so far.
func (t *turn) toolCalls(before int) []agent.ToolCall {
	found := t.find()
	var out []agent.ToolCall
	for i, n := range found {
		end := len(t.prompt)
		if i+1 < len(found) {
			end = found[i+1].start
		}
		args := n.args
		if args == nil {
			args = n.fill(t.prompt[n.end:end])
		}
		out = append(out, agent.ToolCall{ID: fmt.Sprintf("offline_%d", before+i+1), Name: n.tool.Name, Arguments: string(args)})
	}
	return out
}

// find returns the tools that the prompt names, in order, outside of each
// other's arguments.
func (t *turn) find() []named {
	byName := names(t.tools)
	var out []named
	for pos := 0; pos < len(t.prompt) && len(out) < maxCalls; {
		at := word.FindStringIndex(t.prompt[pos:])
		if at == nil {
			break
		}
		n := named{start: pos + at[0], end: pos + at[1]}
		pos = n.end
		tool, ok := byName[t.prompt[n.start:n.end]]
		if !ok {
			continue
		}
		n.tool = tool
		n.args, n.after = object(t.prompt, n.end)
		if n.args == nil && !t.meant(n) {
			continue
		}
		if n.args != nil {
			pos = n.after
		}
		out = append(out, n)
	}
	return out
}

// names maps what a tool may be called by to the tool: its name, and without
// its server where no other tool has that name.
func names(tools []agent.ToolSpec) map[string]agent.ToolSpec {
	out, short := map[string]agent.ToolSpec{}, map[string]int{}
	for _, t := range tools {
		_, s := serverOf(t.Name)
		short[s]++
		out[t.Name] = t
	}
	for _, t := range tools {
		if _, s := serverOf(t.Name); short[s] == 1 {
			out[s] = t
		}
	}
	return out
}

// meant reports whether a name in the prompt is meant as a tool.
func (t *turn) meant(n named) bool {
	name, before, after := t.prompt[n.start:n.end], t.prompt[:n.start], t.prompt[n.end:]
	if strings.HasSuffix(before, "/") || strings.HasSuffix(before, ".") || strings.HasPrefix(after, "/") ||
		len(after) > 1 && after[0] == '.' && word.MatchString(after[1:2]) {
		return false // a part of a path or URI
	}
	return strings.ContainsAny(name, "_-0123456789") || verb.MatchString(before) || isTool.MatchString(after)
}

// object reads a JSON object at pos of the prompt; nil: there is none.
func object(prompt string, pos int) (json.RawMessage, int) {
	rest := strings.TrimLeft(prompt[pos:], "` :\t\n")
	if !strings.HasPrefix(rest, "{") {
		return nil, 0
	}
	var raw json.RawMessage
	d := json.NewDecoder(strings.NewReader(rest))
	if d.Decode(&raw) != nil {
		return nil, 0
	}
	return raw, len(prompt) - len(rest) + int(d.InputOffset())
}

// fill makes arguments of the words behind a tool's name: they become the
// first required string.
func (n named) fill(words string) json.RawMessage {
	key, single := n.parameter()
	if key == "" {
		return json.RawMessage("{}")
	}
	value := firstValue(words, single)
	if value == "" && key == "path" {
		value = "."
	}
	if value == "" {
		return json.RawMessage("{}")
	}
	out, err := json.Marshal(map[string]string{key: value})
	if err != nil {
		return json.RawMessage("{}")
	}
	return out
}

// parameter is the first required string argument, else the only string;
// single tells that its value is one word, such as a path.
func (n named) parameter() (key string, single bool) {
	var s struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if json.Unmarshal(n.tool.Schema, &s) != nil {
		return "", false
	}
	for _, k := range s.Required {
		if s.Properties[k].Type == "string" {
			return k, oneWord(k)
		}
	}
	var all []string
	for k, p := range s.Properties {
		if p.Type == "string" {
			all = append(all, k)
		}
	}
	if len(all) != 1 || len(s.Required) > 0 {
		return "", false
	}
	return all[0], oneWord(all[0])
}

func oneWord(key string) bool {
	key = strings.ToLower(key)
	return slices.ContainsFunc([]string{"path", "uri", "url", "file", "dir", "name", "id"}, func(s string) bool { return strings.HasSuffix(key, s) })
}

var (
	filler = regexp.MustCompile("(?i)^[`:]?\\s*(tool\\b)?\\s*(with|on|for|of)?\\s+")
	joint  = regexp.MustCompile(`(?i)([\s,;]+(and|then|also|call|use|run|please))*[\s,;]*$`)
)

// firstValue is the value in the words behind a tool's name: what is quoted,
// else the first word or the rest of the line.
func firstValue(words string, single bool) string {
	words = filler.ReplaceAllString(words, "")
	words, _, _ = strings.Cut(words, "\n")
	words = strings.TrimSpace(words)
	for _, q := range []string{`"`, "`", "'"} {
		if rest, ok := strings.CutPrefix(words, q); ok {
			if inner, _, ok := strings.Cut(rest, q); ok {
				return inner
			}
		}
	}
	words = joint.ReplaceAllString(words, "")
	if single {
		words, _, _ = strings.Cut(words, " ")
		words = strings.TrimRight(words, `)"'`)
	}
	if short := strings.TrimRight(words, "`.,;:!?"); short != "" {
		return short
	}
	return words
}
