package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"placementsync/internal/command"
	"placementsync/internal/ledger"
)

// asker asks a person and returns the answer. An answer to a secret question is not shown
// while it is typed.
type asker func(ctx context.Context, question string, secret bool) (string, error)

// hostAsker asks on the terminal that is standard input, and writes the questions to
// standard error; nil: standard input is no terminal.
func hostAsker() asker {
	fd := int(os.Stdin.Fd())
	if !term.IsTerminal(fd) {
		return nil
	}
	return newAsker(os.Stdin, os.Stderr, func() (restore func(), err error) {
		before, err := term.MakeRaw(fd)
		// Without its state a terminal stays raw, which only its owner can mend.
		return func() { _ = term.Restore(fd, before) }, err
	})
}

// newAsker reads the answers from one place and writes the questions to another. While it
// waits, the terminal is raw: it shows what is typed only where the asker writes it. The
// terminal is as before at the end, also when a signal comes.
func newAsker(in io.Reader, out io.Writer, makeRaw func() (restore func(), err error)) asker {
	lines := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{in, out}, "")
	return func(ctx context.Context, question string, secret bool) (string, error) {
		restore, err := makeRaw()
		if err != nil {
			return "", err
		}
		defer restore()
		type answer struct {
			text string
			err  error
		}
		given := make(chan answer, 1)
		go func() {
			var a answer
			if secret {
				a.text, a.err = lines.ReadPassword(question)
			} else {
				lines.SetPrompt(question)
				a.text, a.err = lines.ReadLine()
			}
			given <- a
		}()
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case a := <-given:
			if errors.Is(a.err, io.EOF) { // also Ctrl-C, which is no signal on a raw terminal
				fmt.Fprint(out, "\r\n")
				return "", command.EndWith(ledger.Interrupted, errors.New("no answer was given: nothing was written"))
			}
			return a.text, a.err
		}
	}
}
