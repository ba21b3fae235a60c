package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"placementsync/internal/cli"
	"placementsync/internal/durable"
	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
)

type runOptions struct {
	full            bool
	streams         string
	dryRun          bool
	allowMassDelete bool
	fresh           bool
	newWarehouse    bool
}

func runCommand(g *globals) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run one night: extract, prove, load, publish",
		Long: "Run one night. The new snapshot becomes visible in one step at the end. If the night fails\n" +
			"before this step, readers keep the last snapshot.\n\n" +
			"If the folder contains no warehouse, for example because its disk is not mounted, run ends with\n" +
			"exit code 2. init, demo and --new create a warehouse.\n\n" + exitCodes(),
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runNight(cmd.Context(), g, o) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.full, "full", false, "read the details of all records again, even of unchanged records")
	f.StringVar(&o.streams, "streams", "", "read only these streams, `names` separated by commas; other streams keep their rows")
	completeFlag(cmd, "streams", completeStreams)
	f.BoolVar(&o.dryRun, "dry-run", false, "extract and check, publish nothing")
	f.BoolVar(&o.allowMassDelete, "allow-mass-delete", false, "publish a night in which much of a table was deleted, if a second reading of its lists confirms the deletion")
	f.BoolVar(&o.fresh, "fresh", false, "start a new run; do not resume an interrupted run")
	f.BoolVar(&o.newWarehouse, "new", false, "create the warehouse, for its first night")
	return cmd
}

func runNight(ctx context.Context, g *globals, o runOptions) error {
	cfg, err := g.loadConfig()
	if err != nil {
		return err
	}
	if o.streams != "" {
		cfg.Streams.Include = strings.Split(o.streams, ",")
	}
	night, err := g.nightConfig(cfg)
	if err == nil && len(cfg.Watch) > 0 {
		err = durable.CheckTemp() // the queries of watches need temporary files
	}
	if err != nil {
		return err
	}
	if o.full {
		night.Details = pipeline.AllDetails
	}
	latest, isPublished, latestErr := g.newWarehouse(cfg).Versions.Latest()
	if o.newWarehouse && latestErr != nil { // without --new, the night itself reports this error
		return latestErr
	}
	if o.newWarehouse && isPublished {
		return cli.UsageErr("create the warehouse: %q already has a snapshot, %s; nothing was changed: leave out --new", cfg.Warehouse.Dir, latest)
	}
	night.DryRun, night.NewWarehouse = o.dryRun, o.newWarehouse
	night.AllowMassDelete, night.Fresh = o.allowMassDelete, o.fresh
	night.Progress = &pipeline.ProgressTracker{}
	log, stop := g.showProgress(night.Progress, !isPublished)
	night.Log = log
	res, err := pipeline.Run(ctx, night)
	stop()
	if !o.dryRun {
		notifyOfNight(ctx, cfg, night, res.Run, g.Now(), err)
	}
	if res.Run.ID != "" && !g.showsBars() { // a terminal with bars needs only the summary
		res.Run.LogEnd(log, nil) // the command itself prints the error
	}
	err = g.endNight(res, err, o.dryRun)
	if !res.Run.IsPublished() { // a dry run publishes nothing
		return err
	}
	return joinFollowUpError(ctx, err, g.runFollowUps(ctx, cfg))
}

func (g *globals) endNight(res pipeline.Result, err error, dryRun bool) error {
	if len(res.Run.Streams) > 0 {
		if showErr := showNight(g, res, dryRun); showErr != nil && err == nil {
			err = showErr
		}
	}
	if outcome := res.Run.Outcome; outcome != "" && outcome != ledger.Complete {
		return cli.EndWith(outcome, err)
	}
	return err
}
