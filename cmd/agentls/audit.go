package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"golang.org/x/text/width"

	"agentls/agent"
)

func auditCommand(p program) *cobra.Command {
	var f agent.AuditFilter
	var asJSON bool
	cmd := &cobra.Command{
		Use: "audit", Short: "Show which tools were called, and who decided", Args: exactly(0),
		Long: `audit shows the last calls of tools and reads of resources, the oldest first:
when, which tool, how it ended, who decided, why, and with which arguments.
Secrets are taken out when a line is written, not when it is shown.`,
		RunE: func(c *cobra.Command, _ []string) error {
			if f.Limit < 1 || f.Limit > agent.AuditMost {
				return fmt.Errorf("--limit is %d, must be 1 to %d", f.Limit, agent.AuditMost)
			}
			// It has nothing to write, so nothing to log or to hide.
			audit := agent.NewAudit(filepath.Join(p.paths().state, "audit"), nil, slog.New(slog.DiscardHandler))
			entries, err := audit.Read(f)
			if err != nil {
				return fmt.Errorf("the audit log cannot be read (%w): look whether its files are yours", err)
			}
			out := c.OutOrStdout()
			if asJSON {
				return writeJSON(out, entries)
			}
			if len(entries) == 0 {
				_, err := fmt.Fprintln(c.ErrOrStderr(), "Nothing is recorded that fits.")
				return err
			}
			return writeAudit(out, entries, columns(out))
		},
	}
	cmd.Flags().IntVar(&f.Limit, "limit", 10, "how many lines, the `number` is at most 1000")
	cmd.Flags().StringVar(&f.Tool, "tool", "", "only calls of this tool, by its `name` or server/name")
	cmd.Flags().StringVar(&f.RunID, "run", "", "only calls of the run with this `id`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// columns is the width of the terminal; 0: it is none.
func columns(out io.Writer) int {
	if f, ok := out.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil {
			return n
		}
	}
	return 0
}

// writeAudit writes a table of one line each, most columns wide; 0: as wide as
// it is. The last column takes what the others leave.
func writeAudit(out io.Writer, entries []agent.AuditEntry, most int) error {
	rows := [][]string{{"TIME", "TOOL", "OUTCOME", "BY", "REASON", "ARGUMENTS"}}
	for _, e := range entries {
		tool := e.Tool
		if e.Server != "" {
			tool = e.Server + "/" + tool
		}
		rows = append(rows, []string{
			e.Time.Local().Format(time.DateTime), oneLine(tool, 40), oneLine(string(e.Outcome), 12), oneLine(e.DecidedBy, 40), oneLine(e.Reason, 60),
			oneLine(string(e.Arguments), 2000),
		})
	}
	last := len(rows[0]) - 1
	wide := make([]int, last)
	for _, row := range rows {
		for i, cell := range row[:last] {
			wide[i] = max(wide[i], cells(cell))
		}
	}
	var b bytes.Buffer
	for _, row := range rows {
		line := ""
		for i, cell := range row[:last] {
			line += cell + strings.Repeat(" ", wide[i]-cells(cell)+2)
		}
		if line = strings.TrimRight(line+row[last], " "); most > 0 {
			line = cutCells(line, most)
		}
		b.WriteString(line + "\n")
	}
	_, err := out.Write(b.Bytes())
	return err
}

// cells is how many columns of a terminal a printable text takes.
func cells(s string) (n int) {
	for _, r := range s {
		n += runeCells(r)
	}
	return n
}

func runeCells(r rune) int {
	if unicode.Is(unicode.Mn, r) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// cutCells cuts a text to a number of columns.
func cutCells(s string, most int) string {
	if cells(s) <= most {
		return s
	}
	n := 1 // for the mark
	for i, r := range s {
		if n += runeCells(r); n > most {
			return s[:i] + "…"
		}
	}
	return s
}

// writeJSON writes JSON in which nothing could drive a terminal: what is
// unseen or a control character is escaped.
func writeJSON(out io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	var safe strings.Builder
	for _, r := range b.String() {
		if r > '~' && agent.Unseen(r) {
			for _, unit := range utf16.AppendRune(nil, r) {
				fmt.Fprintf(&safe, `\u%04x`, unit)
			}
			continue
		}
		safe.WriteRune(r)
	}
	_, err := io.WriteString(out, safe.String())
	return err
}
