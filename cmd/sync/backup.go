package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"placementsync/internal/backup"
	"placementsync/internal/bucket"
	"placementsync/internal/cli"
	"placementsync/internal/config"
	"placementsync/internal/durable"
	"placementsync/internal/humanize"
	"placementsync/internal/ledger"
	"placementsync/internal/query"
	"placementsync/internal/repair"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

type backupOptions struct {
	verify, readData, older, rehearse bool
}

func backupCommand(g *globals) *cobra.Command {
	var o backupOptions
	cmd := &cobra.Command{
		Use:   "backup",
		Short: "Bring the backup in object storage up to date, or check it",
		Long: "Mirror parquet/ and state/ to the bucket that the key \"backup\" of the configuration names. Only\n" +
			"missing objects are sent. The previous backup is kept until the new backup is complete. The commands\n" +
			"\"run\" and \"serve\" make a backup after each night. \"rebuild --from\" restores a backup.\n\n" +
			"--verify compares the objects of the newest backup with its manifest: their sizes, and with\n" +
			"--read-data every byte. It changes nothing. If the newest manifest cannot be read,\n" +
			"the command fails; --older checks the newest readable backup.\n\n" +
			"--rehearse restores the newest backup into a folder beside the warehouse, builds its catalog,\n" +
			"compares every row of main and past with the published version, and removes the folder. It\n" +
			"needs free space for a second warehouse. Run it monthly.\n\n" +
			cli.Meanings{Complete: "the backup is complete, or no damage was found",
				Failed:  "the backup failed and the previous backup was kept, or damage was found",
				Partial: "complete except for damaged files of the warehouse", Locked: "another backup is running"}.Table(),
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runBackup(cmd.Context(), g, o) },
	}
	cmd.Flags().BoolVar(&o.verify, "verify", false, "check the backup; send nothing")
	cmd.Flags().BoolVar(&o.readData, "read-data", false, "with --verify: read every byte, not only names and sizes")
	cmd.Flags().BoolVar(&o.rehearse, "rehearse", false, "restore the newest backup beside the warehouse and compare its rows with the published version; send nothing")
	cmd.Flags().BoolVar(&o.older, "older", false, "with --verify: check an older backup if the newest manifest cannot be read")
	return cmd
}

func runBackup(ctx context.Context, g *globals, o backupOptions) error {
	cfg, err := g.loadConfig("backup", "warehouse", "retention", "s3")
	switch {
	case err != nil:
		return err
	case cfg.Backup == "":
		return cli.UsageErr("no bucket is configured: add the line \"backup: s3://bucket/prefix\" to %s", g.Config)
	case o.readData && !o.verify:
		return cli.UsageErr("--read-data needs --verify")
	case o.older && !o.verify:
		return cli.UsageErr("--older needs --verify")
	case o.verify && o.rehearse:
		return cli.UsageErr("--verify and --rehearse cannot be combined: run one after the other")
	case o.verify:
		return verifyBackup(ctx, g, cfg, o)
	case o.rehearse:
		return runRehearsal(ctx, g, cfg)
	}
	bar := g.showWork("backup", "")
	entry, err := g.backUp(ctx, cfg, bar.set)
	bar.stop()
	if !errors.As(err, new(*warehouse.LockedError)) {
		err = errors.Join(err, g.recordFollowUp(ctx, cfg, entry))
	}
	if err == nil || entry.Outcome == ledger.Partial {
		fmt.Fprintf(g.stdout, "backed up %s to %s: %s sent\n", entry.Version, cfg.Backup, humanize.FormatBytes(entry.Bytes))
	}
	if entry.Outcome == ledger.Partial {
		return cli.EndWith(ledger.Partial, err)
	}
	return err
}

func openBucket(ctx context.Context, cfg config.Config, address string) (*bucket.Bucket, error) {
	name, prefix, err := config.ParseBucket(address)
	if err != nil {
		return nil, cli.UsageErr("the address of the bucket %v", err)
	}
	storage, err := cli.BucketConfig(cfg.S3)
	if err != nil {
		return nil, err
	}
	return bucket.Open(ctx, storage, name, prefix)
}

func (g *globals) backupConfig(ctx context.Context, cfg config.Config, address string) (backup.Config, error) {
	c := backup.Config{Warehouse: g.newWarehouse(cfg), Program: version, Now: g.Now, Log: g.newLogger()}
	var err error
	c.Bucket, err = openBucket(ctx, cfg, address)
	return c, err
}

// backUp calls progress, unless it is nil, see [backup.Config].
func (g *globals) backUp(ctx context.Context, cfg config.Config, progress func(done, total int64)) (ledger.Run, error) {
	entry := ledger.BeginFollowUp(ledger.Backup, version, g.Now())
	c, err := g.backupConfig(ctx, cfg, cfg.Backup)
	var res backup.Result
	if err == nil {
		c.Progress = progress
		res, err = backup.Run(ctx, c)
	}
	entry.Version, entry.Bytes = res.Run, res.SentBytes
	if err != nil {
		return entry.EndFollowUp(ctx, g.Now(), err), err
	}
	entry = entry.EndFollowUp(ctx, g.Now(), nil)
	if len(res.LeftOut) > 0 {
		first := res.LeftOut[0]
		err = fmt.Errorf("back up to %s: the warehouse has %s, such as %s (%s), which the backup does not contain; all other files are backed up: run placementsync verify --read-data, which prints the repair",
			cfg.Backup, humanize.Count(len(res.LeftOut), "damaged file"), first.File, first.Problem)
		entry.Outcome, entry.ExitCode, entry.Error = ledger.Partial, ledger.Partial.ExitCode(), err.Error()
		return entry, err
	}
	c.Log.Debug("backed up", "run", res.Run, "objects", res.Sent, "bytes", res.SentBytes, "removed", res.Removed)
	return entry, nil
}

func verifyBackup(ctx context.Context, g *globals, cfg config.Config, o backupOptions) error {
	c, err := g.backupConfig(ctx, cfg, cfg.Backup)
	if err != nil {
		return err
	}
	c.UseOlder = o.older
	v, err := backup.Verify(ctx, c, o.readData)
	if err != nil {
		return err
	}
	for _, p := range v.LeftOut {
		fmt.Fprintf(g.stdout, "note: the backup does not contain %s, which was damaged when the backup was made: %s\n", query.EscapeLines(p.File), query.EscapeLines(p.Problem))
	}
	for _, p := range v.Damaged {
		fmt.Fprintf(g.stdout, "%s: %s\n", query.EscapeLines(p.File), query.EscapeLines(p.Problem))
	}
	extent := "names and sizes; --read-data reads every byte"
	if o.readData {
		extent = humanize.FormatBytes(v.Bytes) + " read"
	}
	result := "intact"
	if len(v.Damaged) > 0 {
		result = "damaged"
	}
	fmt.Fprintf(g.stdout, "%s: %s of %s (%s, %s)\n", result, query.EscapeLines(v.Run), v.At.Format("2006-01-02 15:04:05"), humanize.Count(len(v.Files), "file"), extent)
	if len(v.Damaged) > 0 {
		return cli.EndWith(ledger.Failed, nil)
	}
	return nil
}

// runRehearsal restores the newest backup beside the warehouse and records the result in the
// ledger. It takes no lock of the warehouse, so nights can run at the same time.
func runRehearsal(ctx context.Context, g *globals, cfg config.Config) error {
	wh := g.newWarehouse(cfg)
	if err := wh.Folder.CheckExists(); err != nil {
		return err
	}
	entry := ledger.BeginFollowUp(ledger.Rehearsal, version, g.Now())
	res, err := g.rehearse(ctx, cfg, wh)
	if err != nil {
		err = fmt.Errorf("rehearse the restore: %w", err)
	}
	entry.Version, entry.Bytes = res.Run, res.Bytes
	entry = entry.EndFollowUp(ctx, g.Now(), err)
	if err == nil {
		fmt.Fprintf(g.stdout, "%s of %s can be restored: %s, %s, every row equal\n", query.EscapeLines(res.Run), res.At.Format(time.DateTime),
			humanize.Count(len(res.Files), "file"), humanize.FormatBytes(res.Bytes))
	}
	return errors.Join(err, g.recordFollowUp(ctx, cfg, entry))
}

// rehearse removes the restored copy. If it is killed, the next rehearsal removes the copy.
func (g *globals) rehearse(ctx context.Context, cfg config.Config, wh *warehouse.Warehouse) (res backup.Restored, err error) {
	dir, err := filepath.Abs(cfg.Warehouse.Dir)
	if err != nil {
		return res, err
	}
	scratch, err := durable.MakeScratch(filepath.Dir(dir), "."+filepath.Base(dir)+".rehearsal.")
	if err != nil {
		return res, fmt.Errorf("make a folder beside the warehouse: %w", err)
	}
	defer func() { err = errors.Join(err, scratch.Remove()) }()
	cfg.Warehouse.Dir = filepath.Join(scratch.Dir, "warehouse")
	c, err := g.backupConfig(ctx, cfg, cfg.Backup)
	if err != nil {
		return res, err
	}
	if res, err = backup.Restore(ctx, c); err != nil {
		return res, err
	}
	if len(res.LeftOut) > 0 {
		return res, fmt.Errorf("the backup lacks %s, such as %s (%s): run placementsync verify --read-data, which prints the repair",
			humanize.Count(len(res.LeftOut), "file"), res.LeftOut[0].File, res.LeftOut[0].Problem)
	}
	if len(res.Damaged) > 0 {
		return res, fmt.Errorf("%s of the backup cannot be restored, such as %s (%s); the warehouse was not changed: run placementsync backup --verify --read-data",
			humanize.Count(len(res.Damaged), "file"), res.Damaged[0].File, res.Damaged[0].Problem)
	}
	rebuilt, err := repair.Rebuild(ctx, repair.Config{Warehouse: g.warehouseConfig(cfg), Streams: stream.AllWithEvents(),
		Now: g.Now, Log: g.newLogger()}, false) // no damaged file is skipped
	if damaged, ok := errors.AsType[*repair.SeriesError](err); ok {
		// The advice of this error is for a warehouse, not for the restored copy.
		return res, fmt.Errorf("rebuild the restored copy: %s of the Parquet series are damaged in the backup, such as %s (%s); the warehouse was not changed: "+
			"run placementsync backup --verify --read-data", humanize.Count(len(damaged.Damage), "file"), damaged.Damage[0].File, damaged.Damage[0].Problem)
	}
	if err != nil {
		return res, fmt.Errorf("rebuild the restored copy: %w", err)
	}
	differences, err := repair.CompareVersions(ctx, c.Warehouse, rebuilt.Manifest.RunID, wh, res.Run)
	if err != nil {
		return res, fmt.Errorf("compare with version %s: %w; if a later night replaced this version, run placementsync backup, then repeat the rehearsal", res.Run, err)
	}
	if len(differences) > 0 {
		return res, fmt.Errorf("the restored warehouse differs from version %s: %s; the restored copy was removed: keep the backup and the warehouse as they are, and run placementsync verify --read-data",
			res.Run, strings.Join(differences, "; "))
	}
	return res, nil
}
