package main

import (
	"io"
	"log/slog"
	"os"
	"time"

	"golang.org/x/term"
)

// process is what a command may touch of the world around it, so that tests
// can hand in another one.
type process struct {
	stdout, stderr io.Writer
	lookupEnv      func(string) (string, bool)
	now            func() time.Time
	// width is that of the terminal on stdout; 0: stdout is none.
	width int
	// step is told of every step of a night that changes what is on the disk;
	// nil: nobody is.
	step func(name string)
}

func hostProcess() process {
	p := process{stdout: os.Stdout, stderr: os.Stderr, lookupEnv: os.LookupEnv, now: time.Now}
	if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		p.width = w
	}
	return p
}

// globals are the flags of every command.
type globals struct {
	process
	config    string
	logFormat string
	quiet     bool
}

// logger writes structured lines to stderr: constant messages, typed keys.
func (g *globals) logger() *slog.Logger {
	options := &slog.HandlerOptions{Level: slog.LevelInfo}
	if g.quiet {
		options.Level = slog.LevelWarn
	}
	if g.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(g.stderr, options))
	}
	return slog.New(slog.NewTextHandler(g.stderr, options))
}
