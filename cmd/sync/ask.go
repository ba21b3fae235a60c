package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"placementsync/internal/cli"
	"placementsync/internal/ledger"
)

// asker asks a person and returns the answer. The answer to a secret question is not echoed.
type asker func(ctx context.Context, question string, isSecret bool) (string, error)

// hostAsker returns nil if stdin is not a terminal.
func hostAsker() asker {
	fd := int(os.Stdin.Fd())
	if !term.IsTerminal(fd) {
		return nil
	}
	return newAsker(os.Stdin, os.Stderr, func() (restore func(), err error) {
		savedMode, err := term.MakeRaw(fd)
		// An error of Restore is ignored, because the program could not correct it.
		return func() { _ = term.Restore(fd, savedMode) }, err
	})
}

// newAsker returns an asker that keeps the terminal in raw mode while it waits for an answer, to control
// the echo. It restores the earlier mode afterwards, even after a signal.
func newAsker(in io.Reader, out io.Writer, makeRaw func() (restore func(), err error)) asker {
	lineReader := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{in, out}, "")
	return func(ctx context.Context, question string, isSecret bool) (string, error) {
		restore, err := makeRaw()
		if err != nil {
			return "", err
		}
		defer restore()
		type answer struct {
			text string
			err  error
		}
		answered := make(chan answer, 1)
		go func() {
			var a answer
			if isSecret {
				a.text, a.err = lineReader.ReadPassword(question)
			} else {
				lineReader.SetPrompt(question)
				a.text, a.err = lineReader.ReadLine()
			}
			answered <- a
		}()
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case a := <-answered:
			if errors.Is(a.err, io.EOF) { // also after Ctrl-C, which sends no signal in raw mode
				fmt.Fprint(out, "\r\n")
				return "", cli.EndWith(ledger.Interrupted, errors.New("init was ended before all questions were answered; nothing was written"))
			}
			return a.text, a.err
		}
	}
}
