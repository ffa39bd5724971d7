package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// row is one line of the table.
type row struct {
	what, goal, figure string
	met                bool
}

// notMeasured begins the figure of a row whose means are missing here.
const notMeasured = "not measured: "

// took is a sample of durations.
type took []time.Duration

// at is a quantile; none of nothing.
func (t took) at(q float64) time.Duration {
	if len(t) == 0 {
		return 0
	}
	t = slices.Sorted(slices.Values(t))
	return t[min(len(t)-1, int(q*float64(len(t))))]
}

func (t took) p50() time.Duration { return t.at(0.5) }
func (t took) p99() time.Duration { return t.at(0.99) }

// ms is a duration in milliseconds, three digits of it.
func ms(d time.Duration) string { return fmt.Sprintf("%.3g ms", d.Seconds()*1000) }

func ratio(a, b float64) string { return fmt.Sprintf("%.2g×", a/b) }

// facts are about the machine and the run.
type facts struct {
	date, version, system, cpu string
	cores                      int
	loadBefore, loadAfter      string
}

func newFacts(ctx context.Context, binary string) facts {
	f := facts{
		date: time.Now().UTC().Format("2006-01-02 15:04 UTC"), cores: runtime.NumCPU(), cpu: cpuModel(),
		system: runtime.GOOS + "/" + runtime.GOARCH, loadBefore: loadAverage(),
	}
	out, err := exec.CommandContext(ctx, binary, "version").Output()
	if err != nil {
		out = []byte("of an unknown version")
	}
	f.version = strings.Join(strings.Fields(string(out)), " ")
	return f
}

var cpuLine = regexp.MustCompile(`(?m)^model name\s*:\s*(.+)$`)

func cpuModel() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	if m := cpuLine.FindSubmatch(data); m != nil {
		return string(m[1])
	}
	return "unknown processor"
}

// loadAverage is that of the last minute.
func loadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	one, _, _ := strings.Cut(string(data), " ")
	return one
}

func (f facts) lines() []string {
	return []string{
		f.version,
		fmt.Sprintf("%s, %d cores (%s)", f.system, f.cores, f.cpu),
		fmt.Sprintf("%s, load average %s before and %s after", f.date, f.loadBefore, f.loadAfter),
	}
}

type report struct {
	facts facts
	rows  []row
}

func (r row) verdict() string {
	switch {
	case strings.HasPrefix(r.figure, notMeasured):
		return "not measured"
	case r.met:
		return "met"
	}
	return "**missed**"
}

// print shows the table at a terminal.
func (r report) print(out io.Writer) {
	for _, l := range r.facts.lines() {
		fmt.Fprintln(out, "# "+l)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range r.rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", strings.Trim(row.verdict(), "*"), row.what, row.goal, row.figure)
	}
	_ = w.Flush()
}

//go:embed preface.md
var preface string

// markdown is the page.
func (r report) markdown() []byte {
	var b bytes.Buffer
	b.WriteString(preface)
	for _, l := range r.facts.lines() {
		fmt.Fprintf(&b, "* %s\n", l)
	}
	b.WriteString("\n| what | must be | is | |\n| --- | --- | --- | --- |\n")
	for _, row := range r.rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", row.what, row.goal, row.figure, row.verdict())
	}
	return b.Bytes()
}
