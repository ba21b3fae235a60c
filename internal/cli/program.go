// Package cli has the parts that the programs in cmd share: the flags of every
// command, errors and exit codes, signals, the log, and functions that convert the configuration
// to the options of other packages. It must not depend on any command.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"placementsync/internal/bucket"
	"placementsync/internal/config"
	"placementsync/internal/ledger"
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
	if len(sections) > 0 && errors.As(err, &problems) {
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
	cmd, err := root.ExecuteContextC(ctx)
	if cmd.Name() == "help" { // its own help does not list the commands
		cmd = root
	}
	if err != nil && !f.checked {
		err = UsageErr("%w\nsee %s --help", joinSuggestions(err), cmd.CommandPath())
	}
	code := OutcomeOf(ctx, err).ExitCode()
	err = nameCause(ctx, addAdvice(err))
	switch {
	case err == nil || err.Error() == "": // no error, or EndWith without an error
	case f.checked && f.LogFormat == "json": // log collectors expect JSON for the error too
		log := f.NewLogger(stderr)
		log.Error("command failed", "command", cmd.Name(), "exit_code", code, "error", err)
	default:
		text := fmt.Sprintf("%s: %s\n", root.Name(), query.EscapeLines(err.Error()))
		if f.Journal {
			text = prefixLines(slog.LevelError, text)
		}
		_, _ = io.WriteString(stderr, text)
	}
	return code
}

// nameCause replaces "context canceled" at the end of an error with the signal that stopped the command.
func nameCause(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	action, ok := strings.CutSuffix(err.Error(), context.Canceled.Error())
	if !ok {
		return err
	}
	return fmt.Errorf("%s%w", action, context.Cause(ctx))
}

// NoArguments returns an error if a command gets arguments. cobra.NoArgs would call the argument an unknown command.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%s takes no arguments and got %q", cmd.Name(), args[0])
}

// explainUnknown adds suggestions to the errors of misspelt flags. With it, an unknown subcommand, help topic or
// shell is an error, like an unknown command. The usage of "completion" names the shells.
func explainUnknown(root *cobra.Command) {
	root.SetFlagErrorFunc(explainFlag)
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
	if err != nil || len(rest) == 0 {
		return err
	}
	if err = topic.ValidateArgs(rest); err != nil && !topic.HasSubCommands() {
		return fmt.Errorf("unknown command %q for %q", rest[0], topic.CommandPath())
	}
	return err
}

// explainFlag leaves out the name of the parsing function from the error of an invalid value.
func explainFlag(cmd *cobra.Command, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		flag := invalid.GetFlag()
		want := map[string]string{"bool": "true or false", "int": "a whole number", "uint64": "a whole number, 0 or more",
			"duration": "a duration such as 30s or 5m"}[flag.Value.Type()]
		if want == "" {
			return err
		}
		return fmt.Errorf("--%s is %q: use %s", flag.Name, invalid.GetValue(), want)
	}
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

// AddGroup adds commands to a program. The help lists them below the title. Of commands in no group, the help
// shows only the names.
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

// gracePeriod is the time between the first signal and the end of the program, if the work does
// not end earlier. The documentation promises 5 s.
const gracePeriod = 4 * time.Second

// RunInterruptible runs work and returns its exit code. SIGINT and SIGTERM cancel the
// context of the work. RunInterruptible then waits until the work ends, until the grace period
// is over, or until a second signal. In the last two cases it prints abandonMessage,
// and returns the exit code of an interruption while the work is still running. That is safe
// because the program can be killed at any instruction without losing data. Work that can need
// longer to end calls removeStopTimeLimit when it begins: then only a second signal ends the wait early.
func RunInterruptible(stderr io.Writer, abandonMessage string, work func(ctx context.Context, removeStopTimeLimit func()) int) int {
	// A crash ends the program by SIGABRT. By default Go exits with code 2 after a panic, out of memory, or
	// an abort in C code. Code 2 means a wrong configuration, after which a supervisor does not restart the
	// program. Core dumps are disabled because the memory contains secrets. If the call fails, the system's
	// limit applies.
	debug.SetTraceback("crash")
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	// net/http writes received bytes to the global log, for example the end of a body that is longer than its
	// stated length. They can contain private values.
	log.SetOutput(io.Discard)
	var isStopTimeLimitRemoved atomic.Bool
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	done := make(chan int, 1)
	go func() { done <- work(ctx, func() { isStopTimeLimitRemoved.Store(true) }) }()
	select {
	case code := <-done:
		return code
	case s := <-signals:
		cancel(signalError{s})
	}
	var graceEnded <-chan time.Time // nil means that only a second signal ends the wait
	if !isStopTimeLimitRemoved.Load() {
		graceEnded = time.After(gracePeriod)
	}
	select {
	case code := <-done:
		return code
	case <-signals:
	case <-graceEnded:
	}
	fmt.Fprintln(stderr, abandonMessage)
	return ledger.Interrupted.ExitCode()
}

// signalError is the cause with which a signal cancels a context.
type signalError struct{ signal os.Signal }

func (e signalError) Error() string {
	if e.signal == os.Interrupt {
		return "stopped by an interrupt (SIGINT)"
	}
	return "stopped by a request to terminate (SIGTERM)"
}

// Unwrap makes errors.Is(err, context.Canceled) true.
func (signalError) Unwrap() error { return context.Canceled }

// FeedsJournal reports whether stderr is the stream to journald. It compares device and inode
// with JOURNAL_STREAM, because a child inherits the variable even if its stderr is
// redirected.
func FeedsJournal(stderr io.Writer, lookupEnv func(string) (string, bool)) bool {
	journalID, _ := lookupEnv("JOURNAL_STREAM")
	f, isFile := stderr.(*os.File)
	if !isFile {
		return false
	}
	info, err := f.Stat()
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && journalID == fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
}

// LogWriter returns a writer of log lines to w. If stderr is connected to journald, the writer puts
// the priority of each line before the line.
func (f *Flags) LogWriter(w io.Writer) io.Writer {
	if f.Journal {
		return journalWriter{w}
	}
	return w
}

type journalWriter struct{ w io.Writer }

// levelOfLine matches the beginning of a line in either format of the log.
var levelOfLine = regexp.MustCompile(`^(?:time=\S+ )?level=(\w+)|^\{(?:"time":"[^"]*",)?"level":"(\w+)"`)

// Write writes priority and line in one call, so that no other output comes between them.
func (j journalWriter) Write(line []byte) (int, error) {
	level := slog.LevelInfo
	if match := levelOfLine.FindStringSubmatch(string(line)); match != nil {
		name := cmp.Or(match[1], match[2])    // of the text format, or of the JSON format
		_ = level.UnmarshalText([]byte(name)) // after an error the level is still info
	}
	if _, err := io.WriteString(j.w, prefixLines(level, string(line))); err != nil {
		return 0, err
	}
	return len(line), nil
}

// prefixLines puts the priority of a level before each line of a text, as described in
// sd-daemon(3). journald strips the prefix and stores the priority for "journalctl -p".
func prefixLines(level slog.Level, text string) string {
	priority := "<7>"
	switch {
	case level >= slog.LevelError:
		priority = "<3>"
	case level >= slog.LevelWarn:
		priority = "<4>"
	case level >= slog.LevelInfo:
		priority = "<6>"
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(priority + line)
	}
	return b.String()
}
