// Package cli has the parts that the programs in cmd share: the flags of every
// command, errors and exit codes, signals, the log, and functions that convert the configuration
// to the options of other packages. It must not depend on any command.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"placementsync/internal/bucket"
	"placementsync/internal/config"
	"placementsync/internal/nearest"
	"placementsync/internal/notify"
	"placementsync/internal/query"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// Host contains the functions that tests of both programs replace.
type Host struct {
	LookupEnv func(name string) (string, bool) // os.LookupEnv, except in tests
	Now       func() time.Time                 // time.Now, except in tests
	// Step, if set, is called before and after each change of the storage.
	Step func(name, path string) error
}

// DefaultConfig is the default of the flag --config.
const DefaultConfig = "config.yaml"

// Flags are the flags of every command.
type Flags struct {
	Config    string // path of the configuration file
	LogFormat string // text or json
	// Quiet logs only warnings and errors. Verbose also logs debug lines.
	Quiet, Verbose bool
	// Journal means that stderr is connected to journald, see [FeedsJournal]. It is not a
	// flag; the caller sets it.
	Journal bool

	// checked is set by Check. Earlier errors are about the command line.
	checked bool
}

// AddTo adds the flags to the root command, which checks them before the work of each command.
func (f *Flags) AddTo(root *cobra.Command) {
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return f.Check() }
	flags := root.PersistentFlags()
	flags.StringVar(&f.Config, "config", DefaultConfig, "configuration `file`")
	flags.StringVar(&f.LogFormat, "log-format", "text", "format of the log on stderr: text or json")
	flags.BoolVar(&f.Quiet, "quiet", false, "log warnings and errors only")
	flags.BoolVar(&f.Verbose, "verbose", false, "log details too, such as each repeated request")
}

// Check returns a usage error for invalid or conflicting flags.
func (f *Flags) Check() error {
	if f.LogFormat != "text" && f.LogFormat != "json" {
		return UsageErr("--log-format is %q: use text or json", f.LogFormat)
	}
	if f.Quiet && f.Verbose {
		return UsageErr("--quiet and --verbose exclude each other: use one of them")
	}
	f.checked = true
	return nil
}

// LoadConfig reads the configuration. If sections are given, problems of other sections are
// ignored. For example, a command that needs no token runs even if the variable of the token is
// not set.
func (f *Flags) LoadConfig(lookupEnv func(string) (string, bool), sections ...string) (config.Config, error) {
	cfg, err := config.Load(f.Config, lookupEnv, refuseUnknownNames)
	var problems *config.Error
	if len(sections) > 0 && errors.As(err, &problems) && !errors.Is(err, fs.ErrNotExist) {
		err = problems.Within(sections...)
	}
	return cfg, err
}

// NewLogger returns a logger with the level of the flags --quiet and --verbose.
func (f *Flags) NewLogger(w io.Writer) *slog.Logger {
	switch {
	case f.Quiet:
		return f.NewLoggerAt(slog.LevelWarn, w)
	case f.Verbose:
		return f.NewLoggerAt(slog.LevelDebug, w)
	}
	return f.NewLoggerAt(slog.LevelInfo, w)
}

// NewLoggerAt returns a logger that omits lines below the given level.
func (f *Flags) NewLoggerAt(level slog.Level, w io.Writer) *slog.Logger {
	w = f.LogWriter(w)
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr { return f.formatAttr(a) }}
	if f.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// formatAttr omits empty attributes and rounds durations to milliseconds. In JSON, a duration is a
// number of seconds. Text lines for the journal have no time, because journald records it.
func (f *Flags) formatAttr(a slog.Attr) slog.Attr {
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
			return slog.Float64(a.Key, float64(d.Milliseconds())/1000) // d.Seconds() can have rounding errors
		}
		return slog.Duration(a.Key, d)
	}
	return a
}

// Execute runs one command of a program and returns the exit code. Results go to stdout,
// everything else to stderr. An error may quote a response of the service or of a REST
// catalog, so the control characters of the error are escaped.
func (f *Flags) Execute(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	explainUnknown(root)
	err := root.ExecuteContext(ctx)
	if err != nil && !f.checked {
		err = UsageErr("%w\nsee %s --help", joinSuggestions(err), root.Name())
	}
	err = addAdvice(err)
	code := OutcomeOf(ctx, err).ExitCode()
	switch {
	case err == nil || err.Error() == "": // no error, or EndWith without an error
	case f.checked && f.LogFormat == "json": // log collectors expect JSON for the error too
		name := ""
		if cmd, _, err := root.Find(args); err == nil {
			name = cmd.Name()
		}
		log := f.NewLogger(stderr)
		log.Error("command failed", "command", name, "exit_code", code, "error", err)
	default:
		text := fmt.Sprintf("%s: %s\n", root.Name(), query.EscapeLines(err.Error()))
		if f.Journal {
			text = prefixLines(slog.LevelError, text)
		}
		_, _ = io.WriteString(stderr, text)
	}
	return code
}

// explainUnknown adds suggestions to the errors of misspelt flags. It makes unknown subcommands and
// help topics errors, like unknown commands.
func explainUnknown(root *cobra.Command) {
	root.SetFlagErrorFunc(suggestFlag)
	root.InitDefaultHelpCmd()
	commands := root.Commands()
	if i := slices.IndexFunc(commands, func(cmd *cobra.Command) bool { return cmd.Name() == "help" }); i >= 0 {
		commands[i].Args = checkTopic
	}
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.HasSubCommands() && !cmd.Runnable() {
			cmd.Args, cmd.RunE = checkSubcommand, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
		if cmd.Name() == "completion" && cmd.HasSubCommands() {
			cmd.Use, cmd.DisableFlagsInUseLine = "completion bash|zsh|fish|powershell", true
		}
	}
}

// checkSubcommand is needed because cobra succeeds for an unknown subcommand, and prints the help of its parent.
func checkSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var known []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			known = append(known, sub.Name())
		}
	}
	hint := "use one of " + strings.Join(known, ", ")
	cmd.SuggestionsMinimumDistance = 2 // cobra's default for the root command
	if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
		hint = "did you mean " + strings.Join(similar, " or ") + "?"
	}
	return fmt.Errorf("unknown command %q for %q: %s", args[0], cmd.CommandPath(), hint)
}

func checkTopic(help *cobra.Command, args []string) error {
	topic, rest, err := help.Root().Find(args)
	if err == nil && len(rest) > 0 {
		err = topic.ValidateArgs(rest)
	}
	return err
}

func suggestFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return err
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	similar := nearest.FindSuggestions(known, unknown.GetSpecifiedName())
	if len(similar) == 0 {
		return err
	}
	return fmt.Errorf("%w: did you mean --%s?", err, strings.Join(similar, " or --"))
}

// joinSuggestions puts cobra's suggestions for an unknown command on one line, like all other suggestions.
func joinSuggestions(err error) error {
	text, similar, ok := strings.Cut(err.Error(), "\n\nDid you mean this?\n")
	if !ok {
		return err
	}
	return fmt.Errorf("%s: did you mean %s?", text, strings.Join(strings.Fields(similar), " or "))
}

// AddGroup adds commands to a program, which its help lists below a title. The help lists only the names of the
// commands that are in no group.
func AddGroup(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title + ":"})
	for _, cmd := range commands {
		cmd.GroupID = title
	}
	root.AddCommand(commands...)
	root.SetUsageTemplate(listNames(root.UsageTemplate()))
}

// listNames changes the list of the commands without a group in the usage template of cobra.
func listNames(template string) string {
	const descriptions = "Additional Commands:{{range $cmds}}{{if (and (eq .GroupID \"\") (or .IsAvailableCommand (eq .Name \"help\")))}}\n  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}"
	const names = "More:\n {{range $cmds}}{{if (and (eq .GroupID \"\") .IsAvailableCommand)}} {{.Name}}{{end}}{{end}}"
	return strings.Replace(template, descriptions, names, 1)
}

// WarehouseConfig returns the options of [warehouse.New] for a program of the given version.
func WarehouseConfig(c config.Config, version string) warehouse.Config {
	var statuses []warehouse.Status
	for _, s := range c.Statuses.List() {
		statuses = append(statuses, warehouse.Status(s))
	}
	return warehouse.Config{Dir: c.Warehouse.Dir, KeepVersions: c.Warehouse.KeepVersions,
		MemoryLimit: c.Warehouse.MemoryLimit, Threads: c.Warehouse.Threads, Program: version,
		PublishedMode: c.Warehouse.Mode(), DiscardRaw: c.Privacy.Raw == config.RawDiscard,
		Tables: stream.Tables(stream.AllWithEvents()), Statuses: statuses}
}

// BucketConfig returns the options of object storage. It reads the key files.
func BucketConfig(s3 config.S3) (bucket.Config, error) {
	access, secret, err := s3.ReadKeys()
	return bucket.Config{Endpoint: s3.Endpoint, Region: s3.Region, PathStyle: s3.PathStyle,
		AccessKey: access.Reveal(), SecretKey: secret.Reveal()}, err
}

// NewNotifier returns a notifier for the configured addresses. The notifier uses the proxy that the
// environment variables name.
func NewNotifier(c config.Notify, version string, log *slog.Logger) *notify.Notifier {
	return notify.New(notify.Config{FailureURL: c.FailureURL.Reveal(), HeartbeatURL: c.HeartbeatURL.Reveal(),
		UserAgent: "placementsync/" + version, Proxy: http.ProxyFromEnvironment}, log)
}
