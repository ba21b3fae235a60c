package main

import (
	"io"
	"log/slog"
	"os"
	"time"

	"golang.org/x/term"

	"placementsync/internal/cli"
)

// process is the environment of a command. Tests replace it.
type process struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	cli.Host
	// width and stderrWidth are the widths of the terminals on stdout and stderr. Zero means that
	// the stream is not a terminal.
	width, stderrWidth int
	// height is the number of lines of the terminal on stdout.
	height int
	// executable is the path of this program. "explore" and "mcp" start it as a child process to run SQL
	// that a user or an assistant typed. If the path is empty, they accept no SQL.
	executable string
	// lakeTimeout is the time limit of the lake program. Zero means defaultLakeTimeout.
	lakeTimeout time.Duration
	// removeStopTimeLimit is called by a command that may need more time to stop after the first signal
	// than other commands. A second signal still ends the command at once.
	removeStopTimeLimit func()
	// ask is nil if stdin is not a terminal.
	ask asker
}

func hostProcess() process {
	p := process{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		Host: cli.Host{LookupEnv: os.LookupEnv, Now: time.Now}}
	if w, h, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		p.width, p.height = w, h
	}
	if w, _, err := term.GetSize(int(os.Stderr.Fd())); err == nil {
		p.stderrWidth = w
	}
	p.ask = hostAsker()
	p.executable, _ = os.Executable()
	return p
}

// globals are the environment and the global flags of every command.
type globals struct {
	process
	cli.Flags
	// held is the flag --held: the command shows the held night instead of the newest snapshot.
	held bool
}

func (g *globals) silent() *globals {
	mute := *g
	mute.stdout, mute.stderr, mute.Quiet = io.Discard, io.Discard, true
	return &mute
}

func (g *globals) newLogger() *slog.Logger { return g.NewLogger(g.stderr) }
