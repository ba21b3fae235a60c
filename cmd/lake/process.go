package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"placementsync/internal/ledger"
)

// process is what a command uses of the world around it; tests pass their own.
type process struct {
	stdout, stderr io.Writer
	lookupEnv      func(string) (string, bool)
	now            func() time.Time
	// step is called around each change of what is stored; nil: none.
	step func(name string) error
}

func hostProcess() process {
	return process{stdout: os.Stdout, stderr: os.Stderr, lookupEnv: os.LookupEnv, now: time.Now}
}

// globals are the flags of every command.
type globals struct {
	process
	config    string
	logFormat string
	quiet     bool
	// keepNights is that of the configuration, once it is read.
	keepNights int
}

// newLogger writes structured lines to stderr.
func (g *globals) newLogger() *slog.Logger {
	options := &slog.HandlerOptions{Level: slog.LevelInfo}
	if g.quiet {
		options.Level = slog.LevelWarn
	}
	if g.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(g.stderr, options))
	}
	return slog.New(slog.NewTextHandler(g.stderr, options))
}

// grace is how long a command may take to end in order after the first signal.
const grace = 4 * time.Second

// runInterruptible runs a command's work and returns its exit code. A signal ends the
// context of the work; a second one, or the end of grace, the process. It may be killed
// at any instruction: what is visible is all of a night or nothing.
func runInterruptible(stderr io.Writer, work func(ctx context.Context) int) int {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan int, 1)
	go func() { done <- work(ctx) }()
	select {
	case code := <-done:
		return code
	case <-signals:
		cancel()
	}
	select {
	case code := <-done:
		return code
	case <-signals:
	case <-time.After(grace):
	}
	fmt.Fprintln(stderr, "placementsync-lake: stopped in the middle of its work: the lake shows all of a night or nothing of it, run again to continue")
	return ledger.Interrupted.ExitCode()
}
