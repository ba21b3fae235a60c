package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"placementsync/internal/cli"
	"placementsync/internal/config"
	"placementsync/internal/humanize"
	"placementsync/internal/pipeline"
	"placementsync/internal/query"
	"placementsync/internal/sim"
)

type demoOptions struct {
	dir    string
	nights int
	seed   uint64
	keep   bool
	// strange means a service that uses every form that the spec allows.
	strange bool
}

// demoToken is the token of the demo service. It is not a secret.
const demoToken = "pc_demo"

func demoCommand(g *globals) *cobra.Command {
	var o demoOptions
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Sync several simulated nights from the embedded demo service",
		Long: "Start the embedded demo service on a loopback address, sync several simulated nights into\n" +
			"a new warehouse, and show the result.",
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), g, o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.dir, "dir", "demo", "`folder` for the demo's configuration and warehouse; an earlier demo there is replaced")
	f.IntVar(&o.nights, "nights", 14, "simulated nights")
	f.Uint64Var(&o.seed, "seed", 1, "seed of the simulated world")
	f.BoolVar(&o.strange, "strange", false, "let the service use every form that the specification allows, with unusual names and values")
	f.BoolVar(&o.keep, "keep-serving", false, "keep the demo service running afterwards, until you interrupt it")
	return cmd
}

func runDemo(ctx context.Context, g *globals, o demoOptions) error {
	if o.nights < 1 {
		return cli.UsageErr("--nights is %d: use 1 or more", o.nights)
	}
	service := sim.New(sim.Options{Seed: o.seed, Realistic: !o.strange, Token: demoToken, Encodings: []string{"zstd", "gzip"}})
	baseURL, stop, err := service.Serve()
	if err != nil {
		return fmt.Errorf("start the demo service: %w", err)
	}
	defer stop()
	if err := prepareDemo(o.dir, baseURL); err != nil {
		return err
	}
	g.Config = filepath.Join(o.dir, "config.yaml")
	cfg, err := g.loadConfig()
	if err != nil {
		return err
	}
	fmt.Fprintf(g.stdout, "demo service at %s, %s into %s\n\n", baseURL, humanize.Count(o.nights, "night"), cfg.Warehouse.Dir)
	last, err := runDemoNights(ctx, g, o.nights, service, cfg)
	if ctx.Err() != nil {
		return fmt.Errorf("run the demo: %w: a further demo begins anew", context.Cause(ctx))
	}
	if err != nil {
		return err
	}
	if err := showDemo(ctx, g, last, o.keep); err != nil {
		return err
	}
	if o.keep {
		fmt.Fprintf(g.stdout, "\nthe demo service keeps running at %s until you interrupt it\n", baseURL)
		<-ctx.Done()
	}
	return nil
}

// demoMark is the first line of the configuration of a demo. A folder with another
// configuration is not replaced.
const demoMark = "# written by placementsync demo\n"

func prepareDemo(dir, baseURL string) error {
	path := filepath.Join(dir, "config.yaml")
	old, err := os.ReadFile(path)
	if err == nil && !bytes.HasPrefix(old, []byte(demoMark)) {
		return cli.UsageErr("%s is not from a demo: choose another folder with --dir", path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the configuration of the demo: %w", err)
	}
	if err := errors.Join(os.RemoveAll(filepath.Join(dir, "warehouse")), os.MkdirAll(dir, 0o755)); err != nil {
		return fmt.Errorf("create the demo folder: %w", err)
	}
	text := demoMark + fmt.Sprintf("api:\n  base_url: %s\n  token: %s\n  requests_per_second: 0 # the demo service has no limit\nwarehouse:\n  dir: ./warehouse\n  threads: 1 # more threads are slower for such a small warehouse\n", baseURL, demoToken)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write the demo configuration: %w", err)
	}
	return nil
}

func runDemoNights(ctx context.Context, g *globals, nights int, service *sim.Service, cfg config.Config) (pipeline.Result, error) {
	night, err := g.nightConfig(cfg)
	if err != nil {
		return pipeline.Result{}, err
	}
	night.NewWarehouse, night.Log = true, slog.New(slog.DiscardHandler)
	const line = "%-16v  %-8v  %7v  %7v  %7v  %5v  %8v  %9v  %7v\n"
	var last pipeline.Result
	bar := g.showWork("nights", "night")
	defer bar.stop()
	var out io.Writer = g.stdout
	if g.width > 0 { // stdout is the terminal of the bar
		out = bar
	}
	fmt.Fprintf(out, line, "night", "outcome", "rows", "new", "changed", "gone", "requests", "received", "took")
	for i := range nights {
		bar.set(int64(i), int64(nights))
		service.Advance(1)
		night.Now = clockFrom(service.Now().Add(2 * time.Hour)) // 02:00 of the simulated day
		if last, err = pipeline.Run(ctx, night); err != nil {
			return last, err
		}
		if _, err = g.pruneAfterNight(cfg, night.Now()); err != nil { // as "serve" does
			return last, err
		}
		r := last.Run
		_, err = fmt.Fprintf(out, line, r.StartedAt.Format("2006-01-02 15:04"), r.Outcome, r.Rows, r.New, r.Changed, r.Gone,
			r.Requests, humanize.FormatBytes(r.Bytes), r.Took().Round(time.Millisecond))
		if err != nil {
			return last, err
		}
	}
	return last, nil
}

// clockFrom returns a clock whose first reading is the simulated time, so that each night starts exactly
// at its simulated time.
func clockFrom(simulated time.Time) func() time.Time {
	startTime := sync.OnceValue(time.Now)
	return func() time.Time { return simulated.Add(time.Since(startTime()).Truncate(time.Millisecond)) }
}

// showDemo shows the last night and commands to try next. keep means that the service keeps running.
func showDemo(ctx context.Context, g *globals, last pipeline.Result, keep bool) error {
	fmt.Fprintln(g.stdout, "\nThe last night, stream by stream:")
	if err := showNight(g, last, false); err != nil {
		return err
	}
	db, err := openCatalog(ctx, g, query.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	for _, name := range []string{"article_cycle_time", "commissions_by_month", "price_by_segment"} { // "query --list" lists the others
		q, err := query.Resolve(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(g.stdout, "\n%s (first rows of placementsync query %s)\n", q.Title, q.Name)
		const rows = 6
		w, err := query.NewWriter(query.Output{Format: query.Table, EnumWords: true}, g.stdout, query.Screen{Terminal: true, Width: g.width, Rows: rows})
		if err != nil {
			return err
		}
		if _, err := db.Run(ctx, q, nil, w); err != nil {
			return err
		}
	}
	return showCommands(g, keep)
}

func showCommands(g *globals, keep bool) error {
	const text = `
What to try next:
  bin/placementsync query --config %[1]s --format json "select count(*) from product_listings"
  bin/placementsync query --config %[1]s price_by_segment --param currency=USD
  bin/placementsync query --config %[1]s "from history.product_listing_prices where valid_to is not null limit 5"
  bin/placementsync query --list
  bin/placementsync report --config %[1]s
  bin/placementsync runs --config %[1]s
  bin/placementsync schema product_listings
or in the browser: bin/placementsync explore --config %[1]s
%[5]s
  bin/placementsync check --config %[1]s
Any DuckDB reads %[2]s, any Parquet tool %[3]s.
A further demo replaces the warehouse in %[4]s.
`
	dir := filepath.Join(filepath.Dir(g.Config), "warehouse")
	checkText := "or, to use check, keep a demo service running and open a second terminal:\n  bin/placementsync demo --keep-serving"
	if keep {
		checkText = "or, in a second terminal, while the demo service runs:"
	}
	_, err := fmt.Fprintf(g.stdout, text, config.QuoteWord(g.Config),
		filepath.Join(dir, "catalog.duckdb"), filepath.Join(dir, "latest", "*.parquet"), filepath.Dir(g.Config), checkText)
	return err
}
