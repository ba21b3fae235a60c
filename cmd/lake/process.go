package main

import (
	"io"
	"log/slog"
	"os"
	"time"

	"placementsync/internal/command"
	"placementsync/internal/config"
)

// process is what a command uses of the world around it; tests pass their own.
type process struct {
	stdout, stderr io.Writer
	lookupEnv      func(string) (string, bool)
	now            func() time.Time
	// journal says that stderr leads to journald.
	journal bool
	// step is called around each change of what is stored; nil: none.
	step func(name string) error
}

func hostProcess() process {
	return process{stdout: os.Stdout, stderr: os.Stderr, lookupEnv: os.LookupEnv, now: time.Now,
		journal: command.FeedsJournal(os.Stderr, os.LookupEnv)}
}

// globals are the flags of every command.
type globals struct {
	process
	command.Flags
	// cfg is the configuration, once it is read.
	cfg config.Config
}

func (g *globals) newLogger() *slog.Logger { return g.NewLogger(g.stderr) }
