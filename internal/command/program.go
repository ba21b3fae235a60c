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
	"time"

	"github.com/spf13/cobra"

	"placementsync/internal/query"
)

// DefaultConfig is the configuration file when no flag names one.
const DefaultConfig = "config.yaml"

// Flags are those of every command.
type Flags struct {
	// Config is the configuration file.
	Config string
	// LogFormat is text or json; Quiet leaves only warnings and errors in the log, Verbose
	// adds what only matters when something is looked into.
	LogFormat      string
	Quiet, Verbose bool
	// Journal says that stderr leads to journald, see FeedsJournal. It is no flag.
	Journal bool
}

// AddTo adds the flags to a program.
func (f *Flags) AddTo(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.StringVar(&f.Config, "config", DefaultConfig, "configuration `file`")
	flags.StringVar(&f.LogFormat, "log-format", "text", "format of the log on stderr: text or json")
	flags.BoolVar(&f.Quiet, "quiet", false, "log warnings and errors only")
	flags.BoolVar(&f.Verbose, "verbose", false, "log details too, such as each repeated request")
}

// Check refuses values that mean nothing.
func (f *Flags) Check() error {
	if f.LogFormat != "text" && f.LogFormat != "json" {
		return UsageErr("--log-format is %q: use text or json", f.LogFormat)
	}
	if f.Quiet && f.Verbose {
		return UsageErr("--quiet and --verbose exclude each other")
	}
	return nil
}

// NewLogger returns a logger that writes structured lines: constant messages, typed keys.
func (f *Flags) NewLogger(w io.Writer) *slog.Logger {
	switch {
	case f.Quiet:
		return f.NewLoggerOf(slog.LevelWarn, w)
	case f.Verbose:
		return f.NewLoggerOf(slog.LevelDebug, w)
	}
	return f.NewLoggerOf(slog.LevelInfo, w)
}

// NewLoggerOf is NewLogger with the least level of its lines.
func (f *Flags) NewLoggerOf(least slog.Level, w io.Writer) *slog.Logger {
	line := &journalLine{to: w}
	if f.Journal {
		w = line
	}
	options := &slog.HandlerOptions{Level: least, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr { return f.shapeAttr(a) }}
	var handler slog.Handler = slog.NewTextHandler(w, options)
	if f.LogFormat == "json" {
		handler = slog.NewJSONHandler(w, options)
	}
	if f.Journal {
		handler = journalHandler{handler, line}
	}
	return slog.New(handler)
}

// shapeAttr leaves out what is empty, rounds durations to milliseconds, which are seconds
// in JSON, and leaves the time of a text to journald.
func (f *Flags) shapeAttr(a slog.Attr) slog.Attr {
	none := slog.Attr{}
	isJSON := f.LogFormat == "json"
	switch a.Value.Kind() {
	case slog.KindTime:
		if a.Key == slog.TimeKey && f.Journal && !isJSON {
			return none
		}
	case slog.KindString:
		if a.Value.String() == "" {
			return none
		}
	case slog.KindAny:
		if a.Value.Any() == nil {
			return none
		}
	case slog.KindDuration:
		d := a.Value.Duration().Round(time.Millisecond)
		if isJSON {
			return slog.Float64(a.Key, float64(d.Milliseconds())/1000) // digits of a decimal, not of a sum
		}
		return slog.Duration(a.Key, d)
	}
	return a
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
	err := advise(joinSuggestions(root.ExecuteContext(ctx)))
	code := OutcomeOf(ctx, err).ExitCode()
	isWork := errors.As(err, new(*workError))
	switch {
	case err == nil || err.Error() == "": // all has been said
	case isWork && f.LogFormat == "json": // whoever collects the lines gets this one too
		name := ""
		if cmd, _, err := root.Find(args); err == nil {
			name = cmd.Name()
		}
		log := f.NewLogger(stderr)
		log.Error("command failed", "command", name, "exit_code", code, "error", err)
	default:
		text := fmt.Sprintf("%s: %s\n", root.Name(), query.OnScreen(err.Error()))
		if !isWork {
			text += fmt.Sprintf("see %s --help\n", root.Name())
		}
		if f.Journal {
			text = PrefixLines(slog.LevelError, text)
		}
		_, _ = io.WriteString(stderr, text)
	}
	return code
}
