package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/term"
)

// console is where a person is asked. What was written last, without its line's
// end, stands before what is typed.
type console interface {
	io.Writer
	// readLine reads one line with its end, or gives up when ctx ends. Empty: the
	// input has ended.
	readLine(ctx context.Context) (string, error)
	// readPassword reads a line that is not shown, without its end.
	readPassword(ctx context.Context) (string, error)
	// lend gives the terminal to a program, and takes it back at its end.
	lend(cmd *exec.Cmd) error
}

// tty is the console of a command that ends with its answer.
type tty struct {
	file   *os.File
	typing typing
}

func (t *tty) Write(p []byte) (int, error) { return t.file.Write(p) }

func (t *tty) readLine(ctx context.Context) (string, error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	lines := t.typing.next(false, func() typed {
		line, _ := bufio.NewReader(t.file).ReadString('\n')
		return typed{line: line}
	})
	select {
	case got := <-lines:
		return got.line, got.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// readPassword leaves the terminal as it was.
func (t *tty) readPassword(ctx context.Context) (string, error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	fd := int(t.file.Fd()) //nolint:gosec // a file descriptor fits
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("the terminal cannot hide what is typed (%w): set the value as a variable, and name it as ${VARIABLE} in the file", err)
	}
	lines := t.typing.next(true, func() typed { // it is this read that hides what is typed
		line, err := term.ReadPassword(fd)
		return typed{string(line) + "\n", err}
	})
	select {
	case got := <-lines:
		fmt.Fprintln(t.file) // the line's end was not shown either
		return strings.TrimRight(got.line, "\r\n"), errors.Join(got.err, term.Restore(fd, before))
	case <-ctx.Done():
		return "", errors.Join(context.Cause(ctx), term.Restore(fd, before))
	}
}

func (t *tty) lend(cmd *exec.Cmd) error {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = t.file, t.file, t.file
	return cmd.Run()
}
