package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"placementsync/internal/config"
	"placementsync/internal/lake"
	"placementsync/internal/ledger"
	"placementsync/internal/object"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// executeArgs runs one command and returns the exit code: results on stdout, everything
// else on stderr.
func executeArgs(ctx context.Context, args []string, p process) int {
	g := &globals{process: p}
	root := newRoot(g)
	root.SetArgs(args)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	err := root.ExecuteContext(ctx)
	code := outcomeOf(ctx, err).ExitCode()
	switch isWork := errors.As(err, new(*workError)); {
	case err == nil || err.Error() == "": // all has been said
	case isWork && g.logFormat == "json":
		g.newLogger().Error("command failed", "exit_code", code, "error", err)
	case isWork:
		fmt.Fprintln(p.stderr, "placementsync-lake:", err)
	default:
		fmt.Fprintf(p.stderr, "placementsync-lake: %v\nsee placementsync-lake --help\n", err)
	}
	return code
}

func newRoot(g *globals) *cobra.Command {
	root := &cobra.Command{
		Use:   "placementsync-lake",
		Short: "Publish nights as Apache Iceberg tables",
		Long: "placementsync-lake publishes the nights of a warehouse as Apache Iceberg tables, into the\n" +
			"catalog of the section lake of the configuration. \"placementsync lake\" runs it.\n\n" +
			"Exit codes:\n  0    complete\n  1    failed, nothing of the night is visible\n  2    usage or configuration\n" +
			"  3    done, but not all of it\n  130  interrupted",
		SilenceUsage: true, SilenceErrors: true,
	}
	flags := root.PersistentFlags()
	flags.StringVar(&g.config, "config", "config.yaml", "configuration `file`")
	flags.StringVar(&g.logFormat, "log-format", "text", "format of the log on stderr: text or json")
	flags.BoolVar(&g.quiet, "quiet", false, "log warnings and errors only")
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if g.logFormat != "text" && g.logFormat != "json" {
			return usageErr("--log-format is %q: use text or json", g.logFormat)
		}
		return g.checkCaller()
	}
	root.AddCommand(publishCommand(g), statusCommand(g), verifyCommand(g), expireCommand(g), checkCommand(g),
		viewsCommand(g), versionCommand(g))
	return root
}

// checkCaller refuses to work for a program of another version, whose questions and answers
// may be others. placementsync names its own.
func (g *globals) checkCaller() error {
	if caller, ok := g.lookupEnv("PLACEMENTSYNC_VERSION"); ok && caller != version {
		return usageErr("placementsync-lake is version %s, and placementsync version %s: install both of one version", version, caller)
	}
	return nil
}

func versionCommand(g *globals) *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the version", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		_, err := fmt.Fprintln(g.stdout, version)
		return err
	}}
}

// workError is an error of a command's work, not of its command line.
type workError struct{ error }

func (e *workError) Unwrap() error { return e.error }

// usageError is a wrong use that cobra does not see.
type usageError struct{ error }

func usageErr(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// partialError ends the program with the outcome partial. Its text may be empty: the
// command has said everything.
type partialError struct{ text string }

func (e *partialError) Error() string { return e.text }

// outcomeOf is the one place where an error becomes an exit code.
func outcomeOf(ctx context.Context, err error) ledger.Outcome {
	switch {
	case err == nil:
		return ledger.Complete
	case errors.As(err, new(*partialError)):
		return ledger.Partial
	case errors.As(err, new(*usageError)), errors.As(err, new(*config.Error)), !errors.As(err, new(*workError)):
		return ledger.Misused
	case ctx.Err() != nil:
		return ledger.Interrupted
	}
	return ledger.Failed
}

func markWork(run func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := run(cmd, args); err != nil {
			return &workError{err}
		}
		return nil
	}
}

// load reads the configuration. Problems elsewhere in the file, such as a token that only
// the operator's environment has, do not matter.
func (g *globals) load() (config.Config, error) {
	cfg, err := config.Load(g.config, g.lookupEnv)
	var bad *config.Error
	if errors.As(err, &bad) && !errors.Is(err, os.ErrNotExist) {
		err = bad.Within("warehouse", "lake", "s3")
	}
	return cfg, err
}

// open reads the configuration, and opens the warehouse and the lake. It returns the
// warehouse also where the lake cannot be opened.
func (g *globals) open(ctx context.Context) (*warehouse.Warehouse, *lake.Lake, error) {
	cfg, err := g.load()
	if err != nil {
		return nil, nil, err
	}
	if cfg.Lake.Catalog == "" {
		return nil, nil, usageErr("there is no lake: set lake.catalog and lake.warehouse in %s, see docs/lake.md", g.config)
	}
	wh, err := warehouse.Open(warehouse.Config{Dir: cfg.Warehouse.Dir, KeepVersions: cfg.Warehouse.KeepVersions,
		MemoryLimit: cfg.Warehouse.MemoryLimit, Threads: cfg.Warehouse.Threads, Program: version, Tables: stream.Tables(stream.Known())})
	if err != nil {
		return nil, nil, err
	}
	g.keepNights = cfg.Lake.KeepNights
	c, err := g.lakeConfig(cfg)
	if err != nil {
		return wh, nil, err
	}
	l, err := lake.Open(ctx, c)
	return wh, l, err
}

// lakeConfig maps the configuration to that of the lake.
func (g *globals) lakeConfig(cfg config.Config) (lake.Config, error) {
	c := lake.Config{Catalog: cfg.Lake.Catalog, Name: cfg.Lake.Name, Warehouse: cfg.Lake.Warehouse, Namespace: cfg.Lake.Namespace,
		Program: version, Step: g.step, Now: g.now,
		Password: reveal(cfg.Lake.ReadPassword),
		REST: lake.REST{URI: cfg.Lake.REST.URI, Warehouse: cfg.Lake.REST.Warehouse, OAuthURI: cfg.Lake.REST.OAuthURI, Scope: cfg.Lake.REST.Scope,
			Token: reveal(cfg.Lake.REST.ReadToken), Credential: reveal(cfg.Lake.REST.ReadCredential),
			SigningName: cfg.Lake.REST.SigningName, SigningRegion: cfg.Lake.REST.SigningRegion}}
	access, secret, err := cfg.S3.ReadKeys(os.ReadFile)
	if err != nil {
		return c, err
	}
	c.S3 = object.Config{Endpoint: cfg.S3.Endpoint, Region: cfg.S3.Region, PathStyle: cfg.S3.PathStyle,
		AccessKey: access.Reveal(), SecretKey: secret.Reveal()}
	if c.Warehouse != "" && isFolder(c.Warehouse) {
		c.Warehouse, err = filepath.Abs(c.Warehouse)
	}
	return c, err
}

func reveal(read func(func(string) ([]byte, error)) (config.Secret, error)) func() (string, error) {
	return func() (string, error) {
		secret, err := read(os.ReadFile)
		return secret.Reveal(), err
	}
}
