package main

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"placementsync/internal/command"
	"placementsync/internal/config"
	"placementsync/internal/daemon"
	"placementsync/internal/warehouse"
)

// docsCommand returns the hidden command "docs", which writes the generated pages of docs/. Only
// "make docs" and the test of these pages use this command.
func docsCommand(g *globals) *cobra.Command {
	docs := &cobra.Command{Use: "docs", Short: "Write the generated pages of docs/", Hidden: true, Args: cobra.NoArgs}
	docs.AddCommand(&cobra.Command{
		Use:   "cli",
		Short: "Write the reference of all commands as markdown",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cliMarkdown(g.stdout, cmd.Root()) },
	})
	docs.AddCommand(&cobra.Command{
		Use:   "metrics",
		Short: "Write the reference of all metrics as markdown",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return metricsMarkdown(g) },
	})
	docs.AddCommand(command.ManualCommand(manual()))
	return docs
}

func cliMarkdown(w io.Writer, root *cobra.Command) error {
	const head = "# Commands\n\nThis page contains the help of every command. `make docs` generates it from the program.\n"
	var b strings.Builder
	b.WriteString(head)
	for _, cmd := range append([]*cobra.Command{root}, root.Commands()...) {
		if cmd != root && (!cmd.IsAvailableCommand() || cmd.Name() == "completion") {
			continue
		}
		// Cobra adds --help only to the executed command.
		cmd.InitDefaultHelpFlag()
		fmt.Fprintf(&b, "\n## %s\n\n```text\n%s\n\n%s```\n", cmd.CommandPath(), cmp.Or(cmd.Long, cmd.Short), cmd.UsageString())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// metricsMarkdown writes the descriptions that the daemon registers. It parses the text of
// prometheus.Desc, because that type has no exported fields.
func metricsMarkdown(g *globals) error {
	const head = "# Metrics\n\nThis page lists the metrics of `/metrics`. `make docs` generates it from the program. " +
		"[Operations](operations.md#metrics) explains how to read them and which alerts use them.\n\n" +
		"| metric | labels | meaning |\n|---|---|---|\n"
	registry := prometheus.NewRegistry()
	daemon.New(daemon.Config{Program: &serveProgram{}, Metrics: registry, Log: g.newLogger(), Now: g.Now}, daemon.Settings{})
	described := make(chan *prometheus.Desc, 1000)
	registry.Describe(described)
	close(described)
	pattern := regexp.MustCompile(`fqName: "(placementsync_[a-z_]+)", help: "(.*?)",.* variableLabels: \{([^}]*)\}`)
	var rows []string
	for d := range described {
		if m := pattern.FindStringSubmatch(d.String()); m != nil {
			rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |\n", m[1], strings.ReplaceAll(m[3], ",", ", "), m[2]))
		}
	}
	slices.Sort(rows)
	_, err := io.WriteString(g.stdout, head+strings.Join(rows, ""))
	return err
}

// manual returns the content of the manual page besides the help of the commands. Tests compare
// it with the code.
func manual() command.Manual {
	return command.Manual{
		Version: version,
		Examples: []command.Fact{
			{Name: "placementsync init --base-url https://api.example.com --token-file token", Meaning: "Write a configuration here, and check it."},
			{Name: "placementsync check --config /etc/placementsync/config.yaml", Meaning: "Show the scopes of the token, the plan of a night, and the free disk space."},
			{Name: "runuser -u placementsync -- placementsync run --config /etc/placementsync/config.yaml", Meaning: "Run one night by hand, as the user of a package."},
			{Name: "placementsync query --list", Meaning: "List the named queries."},
			{Name: "placementsync query headline", Meaning: "Run the query \"headline\" on the newest snapshot."},
			{Name: "placementsync demo", Meaning: "Sync several nights of a demo service, without an account."},
		},
		Environment: append(command.Environment(),
			command.Fact{Name: config.HashKeyVar, Meaning: "The key of the hashes of privacy.hash."},
			command.Fact{Name: "NOTIFY_SOCKET, WATCHDOG_USEC", Meaning: "Set by systemd; serve reports that it is ready and running."}),
		Files: []command.Fact{
			{Name: command.DefaultConfig, Meaning: "The configuration, unless --config names another file."},
			{Name: "/etc/placementsync/config.yaml", Meaning: "The configuration of a package and of the units of systemd."},
			{Name: "/etc/placementsync/token", Meaning: "The token of a package; the user placementsync may read it."},
			{Name: "/var/lib/placementsync/warehouse", Meaning: "The warehouse of a package. The names below are within warehouse.dir."},
			{Name: warehouse.CatalogFile, Meaning: "The newest snapshot, for DuckDB: current rows, history and evidence."},
			{Name: "latest/", Meaning: "The same as one Parquet file for each table, with manifest.json."},
			{Name: "parquet/", Meaning: "One Parquet file for each table and day."},
			{Name: "versions/", Meaning: "The kept snapshots. latest/ is a link to the newest."},
			{Name: "raw/", Meaning: "The unchanged responses of the service; not readable by other users."},
			{Name: "state/", Meaning: "The ledger, the lock and the webhook inbox; not readable by other users."},
		},
	}
}
