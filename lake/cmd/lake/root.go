package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"placementsync/internal/cli"
	"placementsync/internal/query"
	"placementsync/internal/warehouse"
	"placementsync/lake/internal/lake"
)

func executeArgs(ctx context.Context, args []string, p process) int {
	g := &globals{process: p, Flags: cli.Flags{Journal: cli.FeedsJournal(p.stderr, p.LookupEnv)}}
	return g.Execute(ctx, newRoot(g), args, p.stdout, p.stderr)
}

func newRoot(g *globals) *cobra.Command {
	root := &cobra.Command{
		Use:   "placementsync-lake",
		Short: "Publish nights as Apache Iceberg tables",
		Long: "placementsync-lake publishes the nights of a warehouse as Apache Iceberg tables, into the\n" +
			"catalog in the section \"lake\" of the configuration. \"placementsync lake\" runs this program.\n\n" +
			cli.Meanings{Complete: "complete", Failed: "failed, readers see no part of the night", Partial: "done in part"}.Table(),
	}
	g.AddTo(root)
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		// Different versions may have different flags and output.
		if caller, ok := g.LookupEnv("PLACEMENTSYNC_VERSION"); ok && caller != version {
			return cli.UsageErr("placementsync-lake has version %s and placementsync has version %s: install the same version of both", version, caller)
		}
		return g.Check()
	}
	root.AddCommand(publishCommand(g), statusCommand(g), verifyCommand(g), expireCommand(g), checkCommand(g),
		viewsCommand(g))
	cli.AddManual(root, manual())
	cli.AddVersion(root, version, commit)
	return root
}

// result is the result of a command: a value, which is printed as JSON, and a text.
type result struct {
	value any
	text  string
}

// showResult prints a result. It escapes control characters in the text, which may contain names from a catalog.
func (g *globals) showResult(format string, r result) error {
	if format == "json" {
		return cli.WriteJSON(g.stdout, r.value)
	}
	_, err := io.WriteString(g.stdout, query.EscapeLines(r.text))
	return err
}

// lakeCommand adds the flag --format and the function RunE to a command. RunE opens the warehouse
// and the lake, calls run and prints the result. run may return both a result and an error.
func (g *globals) lakeCommand(cmd *cobra.Command, run func(ctx context.Context, wh *warehouse.Warehouse, l *lake.Lake, args []string) (result, error)) *cobra.Command {
	var format string
	cli.AddFormat(cmd, &format, "table", "json")
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		wh, l, err := g.open(cmd.Context())
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, l.Close()) }()
		r, err := run(cmd.Context(), wh, l, args)
		if r.value == nil {
			return err
		}
		return errors.Join(err, g.showResult(format, r))
	}
	return cmd
}

// loadConfig reads the sections of the configuration that this program needs.
func (g *globals) loadConfig() (err error) {
	g.cfg, err = g.LoadConfig(g.LookupEnv, "warehouse", "lake", "s3")
	return err
}

// open reads the configuration, and opens the warehouse and the lake. If only the lake cannot
// be opened, it returns the warehouse and the error.
func (g *globals) open(ctx context.Context) (*warehouse.Warehouse, *lake.Lake, error) {
	if err := g.loadConfig(); err != nil {
		return nil, nil, err
	}
	if g.cfg.Lake.Catalog == "" {
		return nil, nil, cli.UsageErr("no lake is configured: set lake.catalog and lake.warehouse in %s, see docs/lake.md", g.Config)
	}
	wh := warehouse.New(cli.WarehouseConfig(g.cfg, version))
	c, err := g.lakeConfig()
	if err != nil {
		return wh, nil, err
	}
	l, err := lake.Open(ctx, c)
	return wh, l, err
}

// lakeConfig returns the configuration of the lake, with the secrets from their files.
func (g *globals) lakeConfig() (lake.Config, error) {
	cfg := g.cfg.Lake
	password, passwordErr := cfg.ReadPassword()
	token, tokenErr := cfg.REST.ReadToken()
	credential, credentialErr := cfg.REST.ReadCredential()
	if err := errors.Join(passwordErr, tokenErr, credentialErr); err != nil {
		return lake.Config{}, fmt.Errorf("read the secrets of the lake: %w", err)
	}
	c := lake.Config{Catalog: cfg.Catalog, Name: cfg.Name, Warehouse: cfg.Warehouse, Namespace: cfg.Namespace,
		KeepNights: cfg.KeepNights, Mode: g.cfg.Warehouse.Mode(),
		Program: version, Step: g.Step, Now: g.Now, Password: password.Reveal(),
		REST: lake.REST{URI: cfg.REST.URI, Warehouse: cfg.REST.Warehouse, OAuthURI: cfg.REST.OAuthURI, Scope: cfg.REST.Scope,
			Token: token.Reveal(), Credential: credential.Reveal(), SigningName: cfg.REST.SigningName, SigningRegion: cfg.REST.SigningRegion}}
	var err error
	if c.S3, err = cli.BucketConfig(g.cfg.S3); err != nil {
		return c, err
	}
	if isFolder := c.Warehouse != "" && !strings.Contains(c.Warehouse, "://"); isFolder {
		c.Warehouse, err = filepath.Abs(c.Warehouse)
	}
	return c, err
}

func manual() cli.Manual {
	return cli.Manual{
		Version: version,
		Examples: []cli.ManualEntry{
			{Name: "placementsync-lake status", Meaning: "Show the nights of the lake, and whether it is behind the warehouse."},
			{Name: "placementsync-lake publish --all", Meaning: "Commit each kept night of the warehouse that is later than the newest night in the lake, as \"placementsync run\" and \"placementsync serve\" do after each night."},
		},
		Environment: append(cli.Environment(),
			cli.ManualEntry{Name: "PGPASSWORD", Meaning: "The password of a Postgres catalog, unless lake.postgres_password_file is set."},
			cli.ManualEntry{Name: "PLACEMENTSYNC_VERSION", Meaning: "Set by placementsync. Both programs must have the same version."}),
		Files: []cli.ManualEntry{{Name: cli.DefaultConfig, Meaning: "The configuration, unless --config names another file."}},
	}
}
