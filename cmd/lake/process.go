package main

import (
	"io"
	"log/slog"
	"os"
	"time"

	"placementsync/internal/command"
	"placementsync/internal/config"
)

// process is the environment of a command. Tests pass their own.
type process struct {
	stdout, stderr io.Writer
	lookupEnv      func(string) (string, bool)
	now            func() time.Time
	// journal is true if stderr is connected to journald.
	journal bool
	// step, if set, is called before and after each change of the storage.
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
	// cfg is the configuration after loadConfig.
	cfg config.Config
}

func (g *globals) newLogger() *slog.Logger { return g.NewLogger(g.stderr) }
