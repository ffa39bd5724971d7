package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// errNotChosen: the input ended before a person chose.
var errNotChosen = errors.New("nothing was chosen and nothing was written; run agentls init again when you want to")

// pickerPage is how many lines of a long list are shown at once.
const pickerPage = 20

// picker lets a person at a console choose one of many.
type picker struct {
	console console
	ask     string   // what is asked for: "Which model"
	names   []string // what can be typed whole
	lines   []string // what is shown of each, fit to be shown
	usual   int      // what Enter chooses; -1: nothing

	view []int  // those that are shown, by their place in names
	from int    // the first of the page, in view
	part string // what narrows the view
}

// pick shows the list and asks until one is chosen, and gives its place in
// names.
func (p *picker) pick(ctx context.Context) (int, error) {
	p.narrow("")
	p.show()
	for {
		prompt := p.ask
		if p.usual >= 0 {
			prompt += " [" + oneLine(p.names[p.usual], 100) + "]"
		}
		fmt.Fprint(p.console, prompt+": ")
		line, err := p.console.readLine(ctx)
		switch {
		case err != nil:
			return -1, err
		case line == "":
			return -1, errNotChosen
		}
		if i, chosen := p.take(strings.TrimSpace(line)); chosen {
			return i, nil
		}
	}
}

// take does what was typed: a number of the list or a whole name chooses, + and -
// turn the page, * shows all, anything else narrows the list.
func (p *picker) take(typed string) (i int, chosen bool) {
	if n, err := strconv.Atoi(typed); err == nil && typed[0] != '+' && slices.Contains(p.view, n-1) {
		return n - 1, true
	}
	if i := slices.IndexFunc(p.names, func(name string) bool { return strings.EqualFold(name, typed) }); i >= 0 {
		return i, true
	}
	switch typed {
	case "":
		if p.usual >= 0 {
			return p.usual, true
		}
	case "+":
		if p.from += pickerPage; p.from >= len(p.view) {
			p.from = 0
		}
	case "-":
		if p.from -= pickerPage; p.from < 0 {
			p.from = (len(p.view) - 1) / pickerPage * pickerPage
		}
	case "*":
		p.narrow("")
	default:
		if !p.narrow(typed) {
			fmt.Fprintf(p.console, "  None has %q in its name.\n", oneLine(typed, 100))
			return -1, false
		}
	}
	p.show()
	return -1, false
}

// narrow leaves those that have each word of part in their line. It does
// nothing where none has.
func (p *picker) narrow(part string) bool {
	var view []int
	for i, line := range p.lines {
		low := strings.ToLower(line)
		if !slices.ContainsFunc(strings.Fields(strings.ToLower(part)), func(w string) bool { return !strings.Contains(low, w) }) {
			view = append(view, i)
		}
	}
	if len(view) == 0 {
		return false
	}
	p.view, p.from, p.part = view, 0, part
	if part != "" {
		p.usual = view[0]
	}
	return true
}

func (p *picker) show() {
	wide := len(strconv.Itoa(len(p.names)))
	end := min(p.from+pickerPage, len(p.view))
	for _, i := range p.view[p.from:end] {
		fmt.Fprintf(p.console, "  %*d  %s\n", wide, i+1, p.lines[i])
	}
	if len(p.view) <= pickerPage && p.part == "" {
		return
	}
	about := fmt.Sprintf("  %d to %d of %d", p.from+1, end, len(p.view))
	if p.part != "" {
		about += fmt.Sprintf(" with %q", oneLine(p.part, 100))
	}
	var keys []string
	if len(p.view) > pickerPage {
		keys = append(keys, "+ and - turn the page", "part of a name narrows the list")
	}
	if p.part != "" {
		keys = append(keys, "* shows all")
	}
	fmt.Fprintln(p.console, about+"; "+strings.Join(keys, ", "))
}
