package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"placementsync/internal/command"
	"placementsync/internal/config"
	"placementsync/internal/ledger"
)

// lakeProgram publishes to the lake. Iceberg brings more code than all the rest, so this
// program knows only how to start it and what it prints.
const lakeProgram = "placementsync-lake"

func lakeCommand(*globals) *cobra.Command {
	return &cobra.Command{
		Use:   "lake publish|status|verify|expire|check|views [FLAG ...]",
		Short: "Publish nights as Apache Iceberg tables, and look after them",
		Long: "Run the program placementsync-lake, which publishes nights as Apache Iceberg tables into the\n" +
			"catalog of the section lake of the configuration. It has to stand beside this program or in\n" +
			"PATH; make lake builds it. run and serve start it after each night. lake --help lists its\n" +
			"commands, and lake COMMAND --help their flags. Its exit codes are those of this program.",
		// All flags are those of the other program, and it has the global ones too.
		DisableFlagParsing: true,
		ValidArgs:          []string{"publish", "status", "verify", "expire", "check", "views"},
		RunE:               command.MarkWork(func(_ *cobra.Command, args []string) error { return becomeLake(args) }),
	}
}

// becomeLake replaces this process by the other program: input, output, signals and the
// exit code are then its own.
func becomeLake(args []string) error {
	path, err := findLake()
	if err != nil {
		return err
	}
	err = os.Setenv(versionVar, version)
	if err == nil {
		err = syscall.Exec(path, append([]string{path}, args...), os.Environ())
	}
	return fmt.Errorf("start %s: %w", path, err)
}

// findLake looks for the program beside this one, which comes from the same build, then
// in PATH.
func findLake() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find %s: %w", lakeProgram, err)
	}
	if path, err := exec.LookPath(filepath.Join(filepath.Dir(self), lakeProgram)); err == nil {
		return path, nil
	}
	path, err := exec.LookPath(lakeProgram)
	if err != nil {
		return "", command.UsageErr("find %s: it is neither in %s nor in PATH: \"make lake\" builds it; put it beside placementsync",
			lakeProgram, filepath.Dir(self))
	}
	return path, nil
}

// lakePatience is how long the program may take to end after a signal, less than grace.
// Killed in the middle it leaves all of a night or nothing.
const lakePatience = 3 * time.Second

// lakeBound is how long the program may take: a catalog that does not answer must not
// hold up what follows a night without end.
const lakeBound = 30 * time.Minute

// versionVar tells the program which version started it: both must be of one.
const versionVar = "PLACEMENTSYNC_VERSION"

// runLake runs the program to its end and returns what it printed. Its log joins the log
// of this one.
func (g *globals) runLake(ctx context.Context, args ...string) ([]byte, error) {
	path, err := findLake()
	if err != nil {
		return nil, command.UsageErr("%w, or remove lake.catalog from the configuration", err)
	}
	flags := []string{"--config", g.Config}
	if g.LogFormat != "" {
		flags = append(flags, "--log-format", g.LogFormat)
	}
	if g.Quiet {
		flags = append(flags, "--quiet")
	}
	if g.Verbose {
		flags = append(flags, "--verbose")
	}
	bound := g.lakeBound
	if bound == 0 {
		bound = lakeBound
	}
	bounded, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	cmd := exec.CommandContext(bounded, path, append(flags, args...)...)
	cmd.Env = append(os.Environ(), versionVar+"="+version)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = lakePatience
	var out bytes.Buffer
	log := &lakeLog{to: g.stderr, journal: g.Journal}
	cmd.Stdout, cmd.Stderr = &out, log
	err = cmd.Run()
	problem := log.end()
	switch {
	case err == nil:
	case bounded.Err() != nil && ctx.Err() == nil:
		err = fmt.Errorf("%s %s did not end within %s and was stopped: look whether the catalog and the bucket answer; "+
			"\"placementsync lake %[2]s\" may take longer", path, args[0], bound)
	case problem != "" && cmd.ProcessState.ExitCode() == ledger.Misused.ExitCode():
		err = command.UsageErr("%s", problem)
	case problem != "":
		err = errors.New(problem)
	default:
		err = fmt.Errorf("%s %s ended without saying why: %w", path, args[0], err)
	}
	return out.Bytes(), err
}

// lakeLog passes the log of the program on and holds its last words back: they are the
// error, which is reported once.
type lakeLog struct {
	to io.Writer
	// journal says that the lines go on to journald.
	journal bool
	rest    []byte // a line that has begun
	problem strings.Builder
	crashed bool
}

// Write implements io.Writer.
func (l *lakeLog) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		end := bytes.IndexByte(l.rest, '\n') + 1
		if end == 0 {
			return len(p), nil
		}
		l.addLine(l.rest[:end])
		l.rest = l.rest[end:]
	}
}

func (l *lakeLog) addLine(line []byte) {
	var logged struct{ Level, Msg, Error string }
	if json.Unmarshal(line, &logged) != nil { // it is text
		if found := loggedLevel.FindSubmatch(line); found != nil {
			logged.Level = string(found[1])
		}
	}
	switch {
	case logged.Msg == "command failed" && logged.Error != "": // with --log-format json
		l.problem.WriteString(logged.Error)
	case l.crashed:
		_, _ = l.to.Write(line) // the stack says where it was
	case bytes.HasPrefix(line, []byte("panic: ")), bytes.HasPrefix(line, []byte("fatal error: ")), bytes.HasPrefix(line, []byte("SIGABRT: ")):
		l.crashed = true
		l.problem.Write(line)
	case l.problem.Len() > 0, bytes.HasPrefix(line, []byte(lakeProgram+": ")):
		l.problem.Write(line)
	default:
		if l.journal {
			var level slog.Level
			_ = level.UnmarshalText([]byte(logged.Level)) // without a level it is information
			line = []byte(command.PrefixLines(level, string(line)))
		}
		_, _ = l.to.Write(line) // a log that cannot be written stops no work
	}
}

var loggedLevel = regexp.MustCompile(`^time=\S+ level=(\w+) `)

// end returns the error of the program; empty: it named none.
func (l *lakeLog) end() string {
	if len(l.rest) > 0 {
		l.addLine(append(l.rest, '\n'))
	}
	return strings.TrimSpace(strings.TrimPrefix(l.problem.String(), lakeProgram+": "))
}

// lakePublished is the answer of publish.
type lakePublished struct {
	Published []struct {
		Run         string `json:"run_id"`
		Rows        int64  `json:"rows_written"`
		Bytes       int64  `json:"bytes_written"`
		TagsDropped bool   `json:"tags_dropped"`
	} `json:"published"`
}

// publishToLake commits the nights that the lake lacks.
func (g *globals) publishToLake(ctx context.Context, _ config.Config) (ledger.Run, error) {
	entry := ledger.BeginFollow(ledger.Lake, version, g.now())
	out, err := g.runLake(ctx, "publish", "--all", "--unrecorded", "--format", "json")
	var answer lakePublished
	read := json.Unmarshal(out, &answer)
	for _, p := range answer.Published {
		entry.Version, entry.Rows, entry.Bytes = p.Run, entry.Rows+p.Rows, entry.Bytes+p.Bytes
		if p.TagsDropped {
			g.newLogger().Warn("the catalog of the lake does not keep tags: readers cannot ask for earlier nights", "run", p.Run)
		}
	}
	switch {
	case err != nil:
	case read != nil:
		err = fmt.Errorf("read the answer of %s: %w", lakeProgram, read)
	case entry.Version == "":
		err = fmt.Errorf("%s published nothing and named no night that the lake shows: look with \"placementsync lake status\"", lakeProgram)
	}
	if err != nil {
		err = fmt.Errorf("publish to the lake: %w", err)
	}
	return entry.EndFollow(ctx, g.now(), err), err
}

// expireLake removes what lake.keep_nights no longer keeps.
func (g *globals) expireLake(ctx context.Context) error {
	_, err := g.runLake(ctx, "expire", "--format", "json")
	return err
}

// checkLake writes to the lake and takes it back.
func (g *globals) checkLake(ctx context.Context, cfg config.Config) error {
	if cfg.Lake.Catalog == "" {
		return nil
	}
	if _, err := g.runLake(ctx, "check", "--format", "json"); err != nil {
		return err
	}
	_, err := fmt.Fprintln(g.stdout, "lake           a write was taken back")
	return err
}
