// Package command is what the programs below cmd have in common: flags of every command,
// errors and exit codes, signals, the log, and the mapping of the configuration to what
// both of them open. It must not know any command.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"placementsync/internal/query"
)

// DefaultConfig is the configuration file when no flag names one.
const DefaultConfig = "config.yaml"

// Flags are those of every command.
type Flags struct {
	// Config is the configuration file.
	Config string
	// LogFormat is text or json; Quiet leaves only warnings and errors in the log.
	LogFormat string
	Quiet     bool
}

// AddTo adds the flags to a program.
func (f *Flags) AddTo(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.StringVar(&f.Config, "config", DefaultConfig, "configuration `file`")
	flags.StringVar(&f.LogFormat, "log-format", "text", "format of the log on stderr: text or json")
	flags.BoolVar(&f.Quiet, "quiet", false, "log warnings and errors only")
}

// Check refuses values that mean nothing.
func (f *Flags) Check() error {
	if f.LogFormat != "text" && f.LogFormat != "json" {
		return UsageErr("--log-format is %q: use text or json", f.LogFormat)
	}
	return nil
}

// NewLogger returns a logger that writes structured lines: constant messages, typed keys.
func (f *Flags) NewLogger(w io.Writer) *slog.Logger {
	if f.Quiet {
		return f.NewLoggerOf(slog.LevelWarn, w)
	}
	return f.NewLoggerOf(slog.LevelInfo, w)
}

// NewLoggerOf is NewLogger with the least level of its lines.
func (f *Flags) NewLoggerOf(least slog.Level, w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: least}
	if f.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// Execute runs one command of a program and returns the exit code: results go to stdout,
// everything else to stderr. An error may quote what a service or a catalog answered, so
// it is made fit for a terminal.
func (f *Flags) Execute(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	explainUnknown(root)
	err := joinSuggestions(root.ExecuteContext(ctx))
	code := OutcomeOf(ctx, err).ExitCode()
	isWork := errors.As(err, new(*workError))
	switch {
	case err == nil || err.Error() == "": // all has been said
	case isWork && f.LogFormat == "json": // whoever collects the lines gets this one too
		name := ""
		if cmd, _, err := root.Find(args); err == nil {
			name = cmd.Name()
		}
		f.NewLogger(stderr).Error("command failed", "command", name, "exit_code", code, "error", err)
	case isWork:
		fmt.Fprintf(stderr, "%s: %s\n", root.Name(), query.OnScreen(err.Error()))
	default:
		fmt.Fprintf(stderr, "%s: %s\nsee %[1]s --help\n", root.Name(), query.OnScreen(err.Error()))
	}
	return code
}
