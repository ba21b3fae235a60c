package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"placementsync/internal/cli"
	"placementsync/internal/config"
	"placementsync/internal/daemon"
	"placementsync/internal/humanize"
	"placementsync/internal/ledger"
	"placementsync/internal/notify"
	"placementsync/internal/pipeline"
	"placementsync/internal/repair"
	"placementsync/internal/warehouse"
)

// jobs implements daemon.Jobs for one configuration.
type jobs struct {
	*daemon.Inspector
	s     *serveProgram
	cfg   config.Config
	night pipeline.Config
}

var _ daemon.Jobs = (*jobs)(nil)

func (s *serveProgram) newJobs(cfg config.Config, night pipeline.Config) *jobs {
	inspector := &daemon.Inspector{Warehouse: s.g.newWarehouse(cfg), WatchNames: watchNames(cfg.Watch), Receiver: s.hooks.receiver, Now: s.g.Now}
	if !strings.Contains(cfg.Lake.Warehouse, "://") {
		inspector.LakeDir = cfg.Lake.Warehouse
	}
	return &jobs{inspector, s, cfg, night}
}

// Night also prunes the warehouse, because no other program may be able to: systemd can run "serve" as a
// user that exists only as long as "serve" (DynamicUser). A failure that the next attempt may overcome is not
// reported.
func (j *jobs) Night(ctx context.Context, willRetry func() bool) (ledger.Run, error) {
	var res pipeline.Result
	err := j.s.hooks.runInTurn(ctx, func() (err error) {
		res, err = pipeline.Run(ctx, j.night)
		isRetried := isTransient(res.Run, err) && willRetry()
		if !isRetried {
			notifyOfNight(ctx, j.cfg, j.night, res.Run, j.s.g.Now(), err)
		}
		if err == nil {
			j.pruneWarehouse() // before the turn ends: a later refresh could take the lock
		}
		return err
	})
	if err == nil {
		j.writeReport(ctx)
	}
	run := res.Run
	if run.Outcome == "" { // the night did not start
		run.Outcome = ledger.Failed
		if errors.Is(err, context.Canceled) { // the daemon stopped while the night waited for its turn
			run.Outcome = ledger.Interrupted
		}
	}
	if err != nil {
		run.Error = err.Error()
	}
	return run, err
}

func (j *jobs) pruneWarehouse() {
	removed, err := j.s.g.pruneAfterNight(j.cfg, j.s.g.Now())
	if err != nil {
		j.s.log.Warn("prune failed; the next night tries again", "error", err)
		return
	}
	var bytes int64
	for _, p := range removed {
		bytes += p.Bytes
	}
	j.s.log.Debug("pruned", "removed", len(removed), "bytes", bytes)
}

func (j *jobs) writeReport(ctx context.Context) {
	file := reportFile(j.cfg.Warehouse.Dir)
	err := runReport(ctx, j.s.g.silent(), reportOptions{file: file, queryPages: "/explore/questions/"})
	if mode := j.cfg.Warehouse.Mode(); err == nil && mode != 0 {
		err = os.Chmod(file, mode)
	}
	if ctx.Err() != nil {
		return // the daemon stops
	}
	if err != nil {
		j.s.log.Warn("report not written; the previous report is still served", "error", err)
		return
	}
	j.s.log.Debug("report written")
}

func (j *jobs) FollowUp(ctx context.Context) {
	startedAt := time.Now()
	err := j.s.g.runFollowUps(ctx, j.cfg) // runFollowUps logs errors
	if err == nil && j.cfg.Lake.Catalog != "" {
		if _, err := j.s.g.runLake(ctx, "expire", "--format", "json"); err != nil && ctx.Err() == nil {
			j.s.log.Warn("old nights of the lake not removed; the next night tries again", "error", err)
		}
	}
	j.s.log.Debug("follow-ups ended", "took", time.Since(startedAt))
}

// verifyReadsData means that the daemon compares every byte with the checksums, and not only the sizes of files.
const verifyReadsData = true

// Verify sends no alert if it cannot start because the warehouse is locked.
func (j *jobs) Verify(ctx context.Context) (repair.VerifyRecord, error) {
	startedAt := j.s.g.Now()
	var verifyReport repair.Report
	err := j.s.hooks.runInTurn(ctx, func() (err error) {
		c := repair.Config{Warehouse: j.night.Warehouse, Streams: j.night.Streams, Now: j.night.Now, Log: j.night.Log}
		verifyReport, err = repair.Verify(ctx, c, verifyReadsData)
		return err
	})
	switch {
	case ctx.Err() != nil:
		return repair.VerifyRecord{}, ctx.Err()
	case errors.As(err, new(*warehouse.LockedError)):
		return repair.VerifyRecord{}, err
	}
	record := verifyReport.Record(startedAt)
	if err != nil {
		return j.recordFailure(ctx, record, err), nil
	}
	if err := repair.SaveRecord(j.Warehouse.Folder, record); err != nil {
		j.s.log.Warn("result of verify not stored", "error", err)
	}
	if record.Result != repair.Whole {
		j.alert(ctx, damageAlert(record))
	}
	return record, nil
}

// recordFailure keeps the result of the last successful verification. record contains the damage that was
// found before the failure.
func (j *jobs) recordFailure(ctx context.Context, record repair.VerifyRecord, cause error) repair.VerifyRecord {
	stored, err := repair.SaveFailure(j.Warehouse.Folder, verifyReadsData, record.At, cause)
	if err != nil {
		j.s.log.Warn("result of verify not stored", "error", err)
	}
	alert := notify.Alert{Event: notify.Unverified, ExitCode: ledger.Failed.ExitCode(), Error: cause.Error(),
		StartedAt: record.At, EndedAt: j.s.g.Now().UTC(), Program: version}
	if len(record.DamagedFiles) > 0 {
		record.Error = cause.Error()
		alert = damageAlert(record)
	}
	j.alert(ctx, alert)
	return stored
}

func (j *jobs) alert(ctx context.Context, a notify.Alert) {
	cli.NewNotifier(j.cfg.Notify, version, j.s.log).Alert(context.WithoutCancel(ctx), a)
}

func damageAlert(record repair.VerifyRecord) notify.Alert {
	a := notify.Alert{Event: notify.Damaged, ExitCode: ledger.Failed.ExitCode(), Error: record.Error, StartedAt: record.At,
		EndedAt: record.At.Add(time.Duration(record.Seconds * float64(time.Second))), Program: version}
	if record.Result == repair.Rebuildable {
		a.ExitCode = ledger.Partial.ExitCode()
	}
	if n := len(record.DamagedFiles); n > 0 {
		if a.Error != "" {
			a.Error += "; "
		}
		a.Error += humanize.Count(n, "file") + ": " + strings.Join(record.DamagedFiles, ", ")
	}
	return a
}
