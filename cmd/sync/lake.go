package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"placementsync/internal/cli"
	"placementsync/internal/config"
	"placementsync/internal/ledger"
)

const lakeProgram = "placementsync-lake"

func lakeCommand(*globals) *cobra.Command {
	return &cobra.Command{
		Use:   "lake publish|status|verify|expire|check|views [FLAG ...]",
		Short: "Publish nights as Apache Iceberg tables, and maintain them",
		Long: "Run the program placementsync-lake. It publishes nights as Apache Iceberg tables to the\n" +
			"catalog that is configured under \"lake\". placementsync-lake must be in the folder of\n" +
			"placementsync or in PATH; \"make lake\" builds it. The commands \"run\" and \"serve\" start it after\n" +
			"each night. \"lake --help\" lists its commands, and \"lake COMMAND --help\" lists the flags of a\n" +
			"command. Both programs have the same exit codes.",
		// The lake program parses all flags, even the global flags.
		DisableFlagParsing: true,
		ValidArgs:          []string{"publish", "status", "verify", "expire", "check", "views"},
		RunE:               func(_ *cobra.Command, args []string) error { return execLake(args) },
	}
}

// execLake replaces this process, so that the lake program receives the signals and sets the exit code.
func execLake(args []string) error {
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

// findLake prefers a program in the same folder, which comes from the same build.
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
		return "", cli.UsageErr("find %s: it is neither in %s nor in PATH: install it beside placementsync (from source: make lake)",
			lakeProgram, filepath.Dir(self))
	}
	return path, nil
}

// lakeStopTime is how long the lake program may take to end after a signal. After that it is killed.
// This is safe, because a night is committed as a whole or not at all.
const lakeStopTime = 3 * time.Second

// defaultLakeTimeout limits the time of the lake program, so that a catalog that does not respond does
// not block the next follow-up.
const defaultLakeTimeout = 30 * time.Minute

// versionVar passes the version of this program to the lake program.
const versionVar = "PLACEMENTSYNC_VERSION"

// runLake returns the standard output of the lake program, and copies its log to the log of this program.
func (g *globals) runLake(ctx context.Context, args ...string) ([]byte, error) {
	path, err := findLake()
	if err != nil {
		return nil, cli.UsageErr("%w, or remove lake.catalog from the configuration", err)
	}
	flags := []string{"--config", g.Config, "--log-format", cmp.Or(g.LogFormat, "text")}
	if g.Quiet {
		flags = append(flags, "--quiet")
	}
	if g.Verbose {
		flags = append(flags, "--verbose")
	}
	timeout := cmp.Or(g.lakeTimeout, defaultLakeTimeout)
	limitedCtx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(limitedCtx, path, append(flags, args...)...)
	cmd.Env = append(os.Environ(), versionVar+"="+version)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = lakeStopTime
	var out bytes.Buffer
	log := &lakeLog{out: g.LogWriter(g.stderr)}
	cmd.Stdout, cmd.Stderr = &out, log
	err = cmd.Run()
	message := log.errorMessage()
	switch {
	case err == nil:
	case limitedCtx.Err() != nil && ctx.Err() == nil:
		advised := args[0]
		if advised == "publish" {
			advised += " --all" // without it, the nights before the newest could never be committed
		}
		err = fmt.Errorf("run %s %s: it did not end within %s and was stopped: check that the catalog and the bucket respond, "+
			"or run \"placementsync lake %s\", which has no time limit", path, args[0], timeout, advised)
	case message != "" && cmd.ProcessState.ExitCode() == ledger.Misused.ExitCode():
		err = cli.UsageErr("%s", message)
	case message != "":
		err = errors.New(message)
	default:
		err = fmt.Errorf("%s %s failed without an error message: %w", path, args[0], err)
	}
	return out.Bytes(), err
}

// lakeLog copies the log of the lake program. It does not copy the final error, because
// placementsync reports this error itself.
type lakeLog struct {
	out     io.Writer
	partial []byte          // an incomplete line
	message strings.Builder // the final error
	crashed bool
}

func (l *lakeLog) Write(p []byte) (int, error) {
	l.partial = append(l.partial, p...)
	for {
		end := bytes.IndexByte(l.partial, '\n') + 1
		if end == 0 {
			return len(p), nil
		}
		l.addLine(l.partial[:end])
		l.partial = l.partial[end:]
	}
}

func (l *lakeLog) addLine(line []byte) {
	var logged struct{ Msg, Error string }
	isJSON := json.Unmarshal(line, &logged) == nil
	switch {
	case isJSON && logged.Msg == "command failed":
		l.message.WriteString(logged.Error)
	case l.crashed:
		_, _ = l.out.Write(line) // the stack trace
	case bytes.HasPrefix(line, []byte("panic: ")), bytes.HasPrefix(line, []byte("fatal error: ")), bytes.HasPrefix(line, []byte("SIGABRT: ")):
		l.crashed = true
		l.message.Write(line)
	case l.message.Len() > 0, bytes.HasPrefix(line, []byte(lakeProgram+": ")):
		l.message.Write(line)
	default:
		_, _ = l.out.Write(line) // a failed write must not stop the work
	}
}

// errorMessage returns the final error of the lake program, or "". It is called after the last Write.
func (l *lakeLog) errorMessage() string {
	if len(l.partial) > 0 {
		l.addLine(append(l.partial, '\n'))
	}
	return strings.TrimSpace(strings.TrimPrefix(l.message.String(), lakeProgram+": "))
}

func (g *globals) publishToLake(ctx context.Context) (ledger.Run, error) {
	entry := ledger.BeginFollowUp(ledger.Lake, version, g.Now())
	// The result is recorded here, so the lake program must not record it.
	out, err := g.runLake(ctx, "publish", "--all", "--unrecorded", "--format", "json")
	var result struct {
		Published []struct {
			Run         string `json:"run_id"`
			Rows        int64  `json:"rows_written"`
			Bytes       int64  `json:"bytes_written"`
			TagsDropped bool   `json:"tags_dropped"`
		} `json:"published"`
	}
	readErr := json.Unmarshal(out, &result)
	for _, p := range result.Published {
		entry.Version, entry.Rows, entry.Bytes = p.Run, entry.Rows+p.Rows, entry.Bytes+p.Bytes
		if p.TagsDropped {
			g.newLogger().Warn("the catalog of the lake does not keep tags: readers cannot select earlier nights", "run", p.Run)
		}
	}
	switch {
	case err != nil:
	case readErr != nil:
		err = fmt.Errorf("read the output of %s: %w", lakeProgram, readErr)
	case entry.Version == "":
		err = fmt.Errorf("%s reported no night: check with \"placementsync lake status\"", lakeProgram)
	}
	if err != nil {
		err = fmt.Errorf("publish to the lake: %w", err)
	}
	return entry.EndFollowUp(ctx, g.Now(), err), err
}

func (g *globals) checkLake(ctx context.Context, cfg config.Config) error {
	if cfg.Lake.Catalog == "" {
		return nil
	}
	if _, err := g.runLake(ctx, "check", "--format", "json"); err != nil {
		return err
	}
	_, err := fmt.Fprintln(g.stdout, "lake           can be written")
	return err
}
