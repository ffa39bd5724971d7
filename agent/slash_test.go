package agent

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestParseSlash(t *testing.T) {
	arg := func(name, value string, start, end, at int) SlashArg {
		return SlashArg{Name: name, Value: value, Start: start, End: end, At: at}
	}
	for _, c := range []struct {
		line string
		want SlashLine
	}{
		{"/help", SlashLine{Name: "help", End: 5}},
		{"/help \t\r\n", SlashLine{Name: "help", End: 5}},
		{"/x?!", SlashLine{Name: "x?!", End: 4}},
		{"/帮助", SlashLine{Name: "帮助", End: 7}},
		{"/_x", SlashLine{Name: "_x", End: 3}},
		{"/mcp  restart\u00a0files ", SlashLine{Name: "mcp", Rest: "restart\u00a0files", End: 4, Args: []SlashArg{
			arg("", "restart", 6, 13, 6), arg("", "files", 15, 20, 15),
		}}},
		{"/srv:", SlashLine{Name: "srv:", Server: "srv", End: 5}},
		{"/-s.1_:p", SlashLine{Name: "-s.1_:p", Server: "-s.1_", Prompt: "p", End: 8}},
		{"/s:a/b:c x", SlashLine{Name: "s:a/b:c", Server: "s", Prompt: "a/b:c", Rest: "x", End: 8, Args: []SlashArg{arg("", "x", 9, 10, 9)}}},
		{`/s:"two words" a=b`, SlashLine{Name: "s:two words", Server: "s", Prompt: "two words", Rest: "a=b", End: 14, Args: []SlashArg{
			arg("a", "b", 15, 18, 17),
		}}},
		{`/s:p name=value other="two words"`, SlashLine{Name: "s:p", Server: "s", Prompt: "p", Rest: `name=value other="two words"`, End: 4, Args: []SlashArg{
			arg("name", "value", 5, 15, 10), arg("other", "two words", 16, 33, 22),
		}}},
		{`/s:p "a b" c= "d e"=f don't 5" "q"r`, SlashLine{Name: "s:p", Server: "s", Prompt: "p", Rest: `"a b" c= "d e"=f don't 5" "q"r`, End: 4, Args: []SlashArg{
			arg("", "a b", 5, 10, 5), arg("c", "", 11, 13, 13), arg("d e", "f", 14, 21, 20), arg("", "don't", 22, 27, 22), arg("", `5"`, 28, 30, 28), arg("", "qr", 31, 35, 31),
		}}},
		{`/s:p a="b c`, SlashLine{Name: "s:p", Server: "s", Prompt: "p", Rest: `a="b c`, End: 4, Args: []SlashArg{
			{Name: "a", Value: "b c", Start: 5, End: 11, At: 7, Open: true},
		}}},
		{`/s:p "C:\new dir" "C:\d d\\" "\\srv\x y" "say \"hi\"" u=https://h?x=y https://h?x=y`, SlashLine{
			Name: "s:p", Server: "s", Prompt: "p", Rest: `"C:\new dir" "C:\d d\\" "\\srv\x y" "say \"hi\"" u=https://h?x=y https://h?x=y`, End: 4,
			Args: []SlashArg{
				arg("", `C:\new dir`, 5, 17, 5), arg("", `C:\d d\`, 18, 28, 18), arg("", `\\srv\x y`, 29, 40, 29), arg("", `say "hi"`, 41, 53, 41),
				arg("u", "https://h?x=y", 54, 69, 56), arg("", "https://h?x=y", 70, 83, 70),
			},
		}},
	} {
		got, ok := ParseSlash(c.line)
		if !ok || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: got %v %+v\nwant %+v", c.line, ok, got, c.want)
		}
	}
}

// A line that only looks like a command is text for the model.
func TestNoSlashLine(t *testing.T) {
	for _, line := range []string{
		"", "/", "//", "// comment", "/ x", "/\thelp", " /help", "\t/help", "/usr/bin/env", "/help/", "/a/b:c", "/c:/dir", "/http://host/x",
		"/* comment */", "/.git", "/-v", "/...", "/:p", "help", "./x", "`/help`", "／help",
	} {
		if got, ok := ParseSlash(line); ok {
			t.Errorf("%q is taken for %+v", line, got)
		}
	}
}

// Every command has its row, and each mode that there is its command.
func TestSlashCommands(t *testing.T) {
	var names []string
	for _, c := range SlashCommands() {
		names = append(names, c.Name)
		if l, ok := ParseSlash("/" + c.Name); !ok || l.Name != c.Name || c.About == "" {
			t.Errorf("%+v cannot be typed or says nothing", c)
		}
		for _, p := range c.Params {
			if p.Kind == SlashWord && len(p.Words) == 0 {
				t.Errorf("/%s: no words", c.Name)
			}
		}
	}
	want := []string{"help", "cancel", "clear", "compact", "context", "model", "mcp", "audit", "undo"}
	for _, m := range Modes() {
		if c, ok := SlashCommandNamed(m.Command); ok && c.Mode == m.Mode {
			want = append(want, m.Command)
		} else if m.Mode != ModeReAct {
			t.Errorf("no line starts a run in the mode %s", m.Mode)
		}
	}
	if !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
}

// What is written is read as it was meant.
func FuzzSlash(f *testing.F) {
	for _, line := range []string{
		"/help", "/mcp list", `/s:p a="b c" d "e\\"`, `/s:"x y" "a b"=c`, "/usr/bin", "/c:/x", `/s:p a="\"`, "/s:p \u2028x=\xff", `/s:"`, `/s:""x y`, `/s:p "a"="b"c`,
	} {
		f.Add(line, "value", "name")
	}
	f.Fuzz(func(t *testing.T, line, value, name string) {
		if l, ok := ParseSlash(line); ok {
			last := l.End
			for _, a := range l.Args {
				if a.Start < last || a.At < a.Start || a.End < a.At || a.End > len(line) || a.End == a.Start {
					t.Fatalf("%q: %+v lies elsewhere", line, a)
				}
				last = a.End
			}
			if l.Server == "" && (l.Prompt != "" || strings.ContainsAny(l.Name, "/ \t\n")) {
				t.Fatalf("%q: %+v", line, l)
			}
		}
		command, ok1 := SlashPromptName("srv", name)
		key, ok2 := SlashArgName(name)
		text, ok3 := QuoteSlash(value)
		if !ok1 || !ok2 || !ok3 {
			if !strings.ContainsAny(name+value, "\r\n") && name != "" {
				t.Fatalf("%q, %q cannot be written", name, value)
			}
			return
		}
		whole := command + " " + key + text + " " + text
		l, ok := ParseSlash(whole)
		if !ok || l.Server != "srv" || l.Prompt != name || len(l.Args) != 2 || l.Args[0].Open || l.Args[1].Open ||
			l.Args[0].Name != name || l.Args[0].Value != value || l.Args[1].Name != "" || l.Args[1].Value != value {
			t.Fatalf("%q is read as %v %+v", whole, ok, l)
		}
	})
}
