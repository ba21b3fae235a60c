package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"placementsync/internal/backup"
	"placementsync/internal/cli"
	"placementsync/internal/config"
	"placementsync/internal/humanize"
	"placementsync/internal/ledger"
	"placementsync/internal/query"
	"placementsync/internal/repair"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

type rebuildOptions struct {
	skipDamaged bool
	acceptLoss  bool
	series      bool
	from        string
	older       bool
}

func rebuildCommand(g *globals) *cobra.Command {
	var o rebuildOptions
	cmd := &cobra.Command{
		Use:   "rebuild",
		Short: "Build the catalog with its history again from the Parquet series",
		Long: "Build the catalog again from parquet/ and publish it: current rows from the newest day, closed\n" +
			"rows and meta from the recorded changes of each run. For runs of an earlier release that did\n" +
			"not record closed rows, the history is computed by comparing days. Use rebuild if the catalog\n" +
			"is lost, or if this program cannot read the catalog of another release. Every file is compared\n" +
			"with its checksum. A needed file that is damaged or missing ends the command; --skip-damaged\n" +
			"leaves out such a file, moves it to damaged/ and records it in meta.runs.\n\n" +
			"Before the command publishes, it compares days, runs and closed rows with the current catalog.\n" +
			"If any of these would be lost, it publishes only with --accept-loss.\n\n" +
			"--series works in the other direction: it restores damaged or missing files of the series and\n" +
			"of versions from copies or from the history in the newest intact catalog. If the whole series\n" +
			"is lost, it writes the days that retention keeps.\n\n" +
			"--from s3://bucket/prefix first restores parquet/ and state/ from a backup into a folder\n" +
			"without a warehouse. Every file is compared with its checksum before it becomes visible. Until\n" +
			"the restore is finished, nights and rebuilds in the folder end with an error; run the command\n" +
			"again to continue. Files that are missing or damaged in the bucket are listed and skipped, and\n" +
			"the command ends with 3. If the newest backup cannot be read, the command fails; --older\n" +
			"restores the newest readable backup.\n\n" + exitCodes(),
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runRebuild(cmd.Context(), g, o) },
	}
	cmd.Flags().BoolVar(&o.skipDamaged, "skip-damaged", false, "skip damaged files, and list them")
	cmd.Flags().BoolVar(&o.acceptLoss, "accept-loss", false, "publish even if data of the current catalog is lost")
	cmd.Flags().BoolVar(&o.series, "series", false, "restore damaged or missing files of the Parquet series from copies or the catalog; publish nothing")
	cmd.Flags().StringVar(&o.from, "from", "", "restore the backup at this `address` first, such as s3://bucket/prefix")
	cmd.Flags().BoolVar(&o.older, "older", false, "with --from: restore an older backup if the newest backup cannot be read")
	return cmd
}

func runRebuild(ctx context.Context, g *globals, o rebuildOptions) error {
	switch {
	case o.older && o.from == "":
		return cli.UsageErr("--older needs --from")
	case o.series && (o.skipDamaged || o.acceptLoss || o.from != ""):
		return cli.UsageErr("--series cannot be combined with --skip-damaged, --accept-loss or --from")
	}
	sections := []string{"warehouse", "retention"}
	if o.from != "" {
		sections = append(sections, "s3")
	}
	cfg, err := g.loadConfig(sections...)
	if err != nil {
		return err
	}
	isIncomplete := false // files of the backup are missing
	if o.from != "" {
		if isIncomplete, err = restoreBackup(ctx, g, cfg, o); err != nil {
			return err
		}
	}
	c := repair.Config{Warehouse: g.warehouseConfig(cfg), Streams: stream.AllWithEvents(), Now: g.Now, Log: g.newLogger(),
		AcceptLoss: o.acceptLoss}
	if o.series {
		bar := g.showWork("restore", "file")
		c.Progress, c.Log = bar.set, bar.newLogger(g)
		restored, err := repair.RestoreSeries(ctx, c, warehouse.Retention(cfg.Retention))
		bar.stop()
		for _, file := range restored {
			fmt.Fprintln(g.stdout, "restored", file)
		}
		if err == nil && len(restored) == 0 {
			fmt.Fprintln(g.stdout, "no file of the series is damaged")
		}
		return err
	}
	bar := g.showWork("rebuild", "table")
	c.Progress, c.Log = bar.set, bar.newLogger(g)
	// After an incomplete restore, missing files are skipped: the new folder has no other copy of them.
	r, err := repair.Rebuild(ctx, c, o.skipDamaged || isIncomplete)
	bar.stop()
	if err != nil {
		return err
	}
	if err := showRebuilt(g, r); err != nil {
		return err
	}
	if isIncomplete || len(r.Skipped) > 0 || r.LostRun != "" {
		return cli.EndWith(ledger.Partial, nil)
	}
	return nil
}

// restoreBackup restores a backup, and prints the files that are missing.
func restoreBackup(ctx context.Context, g *globals, cfg config.Config, o rebuildOptions) (isIncomplete bool, err error) {
	c, err := g.backupConfig(ctx, cfg, o.from)
	if err != nil {
		return false, err
	}
	bar := g.showWork("restore", "")
	c.UseOlder, c.Progress, c.Log = o.older, bar.set, bar.newLogger(g)
	res, err := backup.Restore(ctx, c)
	bar.stop()
	if err != nil && res.Fetched > 0 {
		err = fmt.Errorf("%w; %s restored so far: run the same command again to continue", err, humanize.Count(res.Fetched, "file"))
	}
	if err != nil {
		return false, err
	}
	for _, p := range res.LeftOut {
		fmt.Fprintf(g.stdout, "not in the backup: %s: %s\n", query.EscapeLines(p.File), query.EscapeLines(p.Problem))
	}
	for _, p := range res.Damaged {
		fmt.Fprintf(g.stdout, "not restored: %s: %s\n", query.EscapeLines(p.File), query.EscapeLines(p.Problem))
	}
	_, err = fmt.Fprintf(g.stdout, "restored %s of %s: %s, %d of them fetched, %s\n", query.EscapeLines(res.Run), res.At.Format(time.DateTime),
		humanize.Count(len(res.Files)-len(res.Damaged), "file"), res.Fetched, humanize.FormatBytes(res.Bytes))
	return len(res.LeftOut)+len(res.Damaged) > 0, err
}

func showRebuilt(g *globals, r repair.RebuildResult) error {
	if r.RestoredRuns > 0 {
		fmt.Fprintf(g.stdout, "published %s: current rows of %s, history of %s\n", r.Manifest.RunID,
			r.Last.Format(time.DateTime), humanize.Count(r.RestoredRuns, "run"))
	} else {
		fmt.Fprintf(g.stdout, "published %s from %s of %s to %s\n", r.Manifest.RunID, humanize.Count(r.Snapshots, "snapshot"),
			r.First.Format(time.DateOnly), r.Last.Format(time.DateOnly))
	}
	if r.SnapshotsWithoutDay > 0 {
		fmt.Fprintf(g.stdout, "not in the series: %s of this period; row versions that existed only between two kept days are missing in history\n", humanize.Count(r.SnapshotsWithoutDay, "snapshot"))
	}
	if !r.HasMeta {
		fmt.Fprintln(g.stdout, "meta is empty: all files with its changes are damaged or missing; runs and grades before this rebuild are lost")
	}
	if r.LostRun != "" {
		fmt.Fprintf(g.stdout, "lost: the snapshot of run %s, which was published last: the series has no complete day of it\n", query.EscapeLines(r.LostRun))
	}
	for _, d := range r.Unused {
		fmt.Fprintf(g.stdout, "not needed, and still damaged: %s: %s; placementsync rebuild --series restores it\n", query.EscapeLines(d.File), query.EscapeLines(d.Problem))
	}
	for _, d := range r.Skipped {
		fmt.Fprintf(g.stdout, "skipped %s: %s; lost: %s\n", query.EscapeLines(d.File), query.EscapeLines(d.Problem), d.Affected)
	}
	if len(r.Skipped) > 0 {
		_, err := fmt.Fprintf(g.stdout, "the damaged files are in damaged/%s of the warehouse\n", r.Manifest.RunID)
		return err
	}
	return nil
}
