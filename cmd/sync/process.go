package main

import (
	"io"
	"log/slog"
	"os"
	"time"

	"golang.org/x/term"

	"placementsync/internal/command"
)

// process is what a command uses of the world around it; tests pass their own.
type process struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	lookupEnv      func(string) (string, bool)
	now            func() time.Time
	// width is that of the terminal on stdout, stderrWidth that on stderr; 0: it is
	// not a terminal.
	width, stderrWidth int
	// journal says that stderr leads to journald.
	journal bool
	// lakeBound is how long the program of the lake may take; 0: the constant.
	lakeBound time.Duration
	// step is called around each change of the disk; nil: none.
	step func(name string) error
	// patient is called by a command that may take longer than grace to stop after
	// the first signal; the second still ends it at once. nil: no command may.
	patient func()
	// ask asks the person at the terminal; nil: stdin is none.
	ask asker
}

func hostProcess() process {
	p := process{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, lookupEnv: os.LookupEnv, now: time.Now}
	p.journal = command.FeedsJournal(os.Stderr, p.lookupEnv)
	if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		p.width = w
	}
	if w, _, err := term.GetSize(int(os.Stderr.Fd())); err == nil {
		p.stderrWidth = w
	}
	p.ask = hostAsker()
	return p
}

// globals are the flags of every command.
type globals struct {
	process
	command.Flags
}

func (g *globals) newLogger() *slog.Logger { return g.NewLogger(g.stderr) }
