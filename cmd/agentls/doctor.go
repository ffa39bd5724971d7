package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"agentls/agent/config"
)

func doctorCommand(p program) *cobra.Command {
	var asJSON, try bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check everything that agentls would use here, and say what to fix",
		Long: `doctor checks what agentls would use in the current folder and prints a line for
each thing, which begins with
  ok    it is as it should be
  --    it is not there, and need not be
  warn  it works, but not as well as it could
  fix   it does not work, and the line says what to do
It starts no server that is not trusted, and asks the model nothing without --try.
It exits with 1 when something is to be fixed.`,
		Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			folder, err := workingFolder()
			if err != nil {
				return err
			}
			parts := newParts(p, false)
			defer parts.close()
			d := &doctor{parts: parts, out: cmd.OutOrStdout(), quiet: asJSON}
			// Events are not shown: each server gets its line.
			defer parts.relay(&terminal{out: io.Discard, notes: io.Discard, secrets: parts.secrets}, nil)()
			d.examine(cmd.Context(), folder, try)
			if cmd.Context().Err() != nil {
				return exitError(exitCancelled)
			}
			if asJSON {
				if err := writeJSON(d.out, d.report()); err != nil {
					return err
				}
			}
			if d.bad() {
				return exitError(exitFailed)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&try, "try", false, "send the model one small prompt with a tool, and see whether it calls that")
	return cmd
}

// doctor looks at one thing after the other.
type doctor struct {
	parts    *parts
	out      io.Writer
	quiet    bool // findings are only kept
	findings []finding
}

// finding is what doctor says of one thing.
type finding struct {
	Status status `json:"status"`
	About  string `json:"about"`          // the kind of thing
	Name   string `json:"name,omitempty"` // which one
	Text   string `json:"text"`
}

// status begins a line.
type status string

const (
	good   status = "ok"
	absent status = "--" // not there, and need not be
	poor   status = "warn"
	tooBad status = "fix"
)

// doctorReport is what --json prints.
type doctorReport struct {
	Version  string    `json:"version"`
	OK       bool      `json:"ok"` // nothing is to be fixed
	Config   string    `json:"config"`
	State    string    `json:"state"`
	Findings []finding `json:"findings"`
}

func (d *doctor) report() doctorReport {
	return doctorReport{version, !d.bad(), d.parts.paths.config, d.parts.paths.state, d.findings}
}

func (d *doctor) bad() bool {
	return slices.ContainsFunc(d.findings, func(f finding) bool { return f.Status == tooBad })
}

// say notes a finding about a thing, which may have a name.
func (d *doctor) say(s status, about, name, format string, args ...any) {
	fit := func(text string) string { return oneLine(d.parts.secrets.Redact(text), 1000) }
	f := finding{s, about, fit(name), fit(fmt.Sprintf(format, args...))}
	d.findings = append(d.findings, f)
	if d.quiet {
		return
	}
	if f.Name != "" {
		about += " " + f.Name
	}
	fmt.Fprintf(d.out, "%-4s  %s: %s\n", s, about, f.Text)
}

func (d *doctor) examine(ctx context.Context, folder string, try bool) {
	d.say(good, "agentls", "", "%s; configuration in %s, state in %s", version, d.parts.paths.config, d.parts.paths.state)
	d.program()
	d.environment()
	began := time.Now()
	cfg := d.parts.openFolder(ctx, folder) // the servers start meanwhile
	d.configuration(cfg)
	d.folder(folder)
	d.provider(ctx, cfg, try)
	d.servers(ctx, began)
	d.state()
	d.records(ctx, folder)
	d.editors()
}

func (d *doctor) environment() {
	_, faults := d.parts.network()
	for _, f := range faults {
		d.say(tooBad, "environment", "", "%s", f)
	}
}

// folder says whether what comes with the folder counts.
func (d *doctor) folder(folder string) {
	if d.parts.manager.FolderTrusted(folder) {
		d.say(good, "folder", "", "%s is trusted: its AGENTS.md and git count", folder)
		return
	}
	d.say(absent, "folder", "", "%s is not trusted: its AGENTS.md and git do not count; `agentls mcp trust` trusts it", folder)
}

// configuration names the files that count, and what is wrong with them.
func (d *doctor) configuration(cfg config.Config) {
	faulty := map[string]bool{}
	for _, p := range cfg.Problems {
		if p.Elsewhere { // a server's or the provider's own line tells it
			continue
		}
		faulty[p.File] = true
		d.say(tooBad, "configuration", "", "%s", p)
	}
	none := true
	for _, file := range d.parts.files.Names() {
		if _, err := os.Stat(file); err != nil {
			continue
		}
		none = false
		if !faulty[file] {
			d.say(good, "configuration", "", "%s: nothing wrong", file)
		}
	}
	if none {
		d.say(absent, "configuration", "", "there is no file yet; `agentls init` writes one")
	}
}
