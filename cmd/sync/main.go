// Command placementsync is the nightly job: it reads the service, checks each list for missing
// records, and publishes one snapshot as DuckDB and Parquet. Most commands have their own file in
// this package. The packages below internal/ do the work. This package only connects them.
package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"placementsync/internal/cli"
	"placementsync/internal/config"
	"placementsync/internal/warehouse"
)

// version and commit are set by the build. Go finds the commit of a build in a repository. A tarball
// contains no repository, so its build must set the variable commit.
var (
	version = "dev"
	commit  = ""
)

// abandonedMessage is printed if a signal ends the program before its work has ended.
const abandonedMessage = "placementsync: stopped before its work was complete; readers see a complete snapshot, and stored responses are kept: repeat the command; the next run resumes an interrupted night"

func main() {
	p := hostProcess()
	os.Exit(cli.RunInterruptible(p.stderr, abandonedMessage, func(ctx context.Context, removeStopTimeLimit func()) int {
		p.removeStopTimeLimit = removeStopTimeLimit
		return executeArgs(ctx, os.Args[1:], p)
	}))
}

func executeArgs(ctx context.Context, args []string, p process) int {
	g := &globals{process: p, Flags: cli.Flags{Journal: cli.FeedsJournal(p.stderr, p.LookupEnv)}}
	return g.Execute(ctx, newRoot(g), args, p.stdout, p.stderr)
}

func exitCodes() string {
	return cli.Meanings{Complete: "complete", Failed: "failed", Partial: "published but partial",
		Locked: "another run holds the lock"}.Table()
}

func newRoot(g *globals) *cobra.Command {
	root := &cobra.Command{
		Use:   "placementsync",
		Short: "Sync a media placement marketplace into DuckDB and Parquet",
		Long: "placementsync reads every endpoint of the service, checks each list for missing records,\n" +
			"and publishes one consistent snapshot as a DuckDB file and as Parquet. To begin, run \"init\".\n" +
			"\"demo\" needs no account.\n\n" + exitCodes(),
	}
	g.AddTo(root)
	cli.AddGroup(root, "Nights", runCommand(g), serveCommand(g), runsCommand(g), checkCommand(g))
	cli.AddGroup(root, "Ask", queryCommand(g), diffCommand(g), reportCommand(g), exportCommand(g), exploreCommand(g))
	cli.AddGroup(root, "Keep", backupCommand(g), verifyCommand(g), rebuildCommand(g), rollbackCommand(g), pruneCommand(g), auditCommand(g), publishCommand(g), discardCommand(g))
	root.AddCommand(demoCommand(g), initCommand(g), lakeCommand(g), mcpCommand(g), rawCommand(g), replayCommand(g), schemaCommand(g), watchCommand(g), statementCommand(g))
	cli.AddManual(root, manual())
	cli.AddVersion(root, version, commit)
	return root
}

func manual() cli.Manual {
	return cli.Manual{
		Version: version,
		Examples: []cli.ManualEntry{
			{Name: "placementsync init --base-url https://api.example.com --token-file token", Meaning: "Write a configuration in the current folder, and check it."},
			{Name: "placementsync check --config /etc/placementsync/config.yaml", Meaning: "Show the scopes of the token, the plan of a night, and the free disk space."},
			{Name: "runuser -u placementsync -- placementsync run --config /etc/placementsync/config.yaml", Meaning: "Run one night by hand, as the user that a package created."},
			{Name: "placementsync query --list", Meaning: "List the named queries."},
			{Name: "placementsync query headline", Meaning: "Run the query \"headline\" on the newest snapshot."},
			{Name: "placementsync demo", Meaning: "Sync several nights of a demo service, without an account."},
		},
		Environment: append(cli.Environment(),
			cli.ManualEntry{Name: config.HashKeyVar, Meaning: "The secret key with which privacy.hash hashes values."},
			cli.ManualEntry{Name: "PAGER", Meaning: "The program that shows long tables on a terminal; empty means none. Defaults to less."},
			cli.ManualEntry{Name: "LESS", Meaning: "Options of less. Defaults to FRX."},
			cli.ManualEntry{Name: "NOTIFY_SOCKET, WATCHDOG_USEC", Meaning: "Set by systemd; serve reports that it is ready and running."}),
		Files: []cli.ManualEntry{
			{Name: cli.DefaultConfig, Meaning: "The configuration, unless --config names another file."},
			{Name: "/etc/placementsync/config.yaml", Meaning: "The configuration that a package installs and the systemd units use."},
			{Name: "/etc/placementsync/token", Meaning: "The token, if a package is installed. The user placementsync can read it."},
			{Name: "/var/lib/placementsync/warehouse", Meaning: "The warehouse, if a package is installed. The names below are within warehouse.dir."},
			{Name: warehouse.CatalogFile, Meaning: "The newest snapshot, for DuckDB: current rows, history and evidence."},
			{Name: "latest/", Meaning: "The newest snapshot as one Parquet file for each table, with manifest.json."},
			{Name: "parquet/", Meaning: "One Parquet file for each table and day."},
			{Name: "versions/", Meaning: "The kept snapshots. latest/ is a link to the newest."},
			{Name: "raw/", Meaning: "The stored responses of the service; not readable by other users."},
			{Name: "state/", Meaning: "The ledger, the lock and the webhook inbox; not readable by other users."},
		},
	}
}

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
