package repair

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"placementsync/internal/fetch"
	"placementsync/internal/humanize"
	"placementsync/internal/ledger"
	"placementsync/internal/warehouse"
	"placementsync/internal/webhook"
)

// VerifyReport contains the findings of Verify.
type VerifyReport struct {
	// ReadData is set if every byte was read.
	ReadData bool
	Took     time.Duration
	Report
}

// Result returns Whole, DataLost or Rebuildable.
func (v VerifyReport) Result() string {
	switch {
	case len(v.Damage) == 0:
		return Whole
	case slices.ContainsFunc(v.Damage, func(d Damage) bool { return d.Lost }):
		return DataLost
	}
	return Rebuildable
}

// Record returns the stored form of the report.
func (v VerifyReport) Record(at time.Time) VerifyRecord {
	record := VerifyRecord{At: at.UTC(), ReadData: v.ReadData, Seconds: v.Took.Seconds(), Result: v.Result()}
	for _, d := range v.Damage {
		record.DamagedFiles = append(record.DamagedFiles, d.File)
	}
	return record
}

// Verify checks links, ledger, manifests and sizes in the whole warehouse. With readData it reads every
// byte of versions, series, landed responses and the inbox, and compares the catalog with its Parquet
// files. It holds the lock, so that no run changes files meanwhile. A warehouse that cannot be written is
// checked without the lock. Verify itself changes no files except the lock.
func Verify(ctx context.Context, cfg Config, readData bool) (v VerifyReport, err error) {
	v.ReadData = readData
	wh := warehouse.New(cfg.Warehouse)
	startedAt := time.Now()
	lock, err := wh.LockExisting("verify", cfg.Now())
	switch {
	case errors.As(err, new(*warehouse.FolderError)): // a read-only warehouse can be verified
	case err != nil:
		return v, err
	default:
		defer func() { err = errors.Join(err, lock.Release()) }()
	}
	if err := wh.Folder.CheckExists(); err != nil {
		return v, err
	}
	landed, err := wh.Folder.LandedRuns()
	if err != nil {
		return v, err
	}
	runs, err := wh.RunLog.Runs()
	if err != nil {
		return v, err
	}
	for _, run := range landed {
		if err := ctx.Err(); err != nil {
			return v, err
		}
		v.checkLanding(wh, run, ledger.Find(runs, run).Responses)
		v.checkEvents(wh, wh.Folder.EventsPath(run), "webhook events of run "+run)
	}
	v.checkEvents(wh, wh.Folder.InboxPath(), "webhook events that no night has read yet")
	report, err := Check(ctx, wh, readData, StoredResponses(wh, v.Damage))
	if err != nil {
		return v, err
	}
	v.Damage = append(report.Damage, v.Damage...)
	v.Notes, v.Files, v.Bytes = report.Notes, v.Files+report.Files, v.Bytes+report.Bytes
	v.Took = time.Since(startedAt)
	return v, nil
}

// StoredResponses returns a function that reports whether a run can be replayed from its landed responses.
// damage is the damage of landed responses.
func StoredResponses(wh *warehouse.Warehouse, damage []Damage) func(run string) bool {
	return func(run string) bool {
		dir := wh.Folder.RawPath(run)
		isUnneeded, err := wh.Pruner.IsLandingUnneeded(run)
		if _, statErr := os.Stat(filepath.Join(dir, "journal.jsonl")); err != nil || isUnneeded || statErr != nil {
			return false
		}
		isDamaged := func(d Damage) bool { return strings.HasPrefix(d.File+"/", wh.Folder.Relative(dir)+"/") }
		return !slices.ContainsFunc(damage, isDamaged)
	}
}

// checkLanding checks the landed responses of a run. Without ReadData it only looks for the journal.
// stored is the number of responses that the run stored, or 0 if it is unknown.
func (v *VerifyReport) checkLanding(wh *warehouse.Warehouse, run string, stored int) {
	v.Files++
	dir, problem := wh.Folder.RawPath(run), ""
	if v.ReadData {
		c, err := fetch.VerifyLanding(dir, stored)
		v.Bytes += c.Bytes
		switch entries, _ := os.ReadDir(dir); {
		case errors.Is(err, fs.ErrNotExist) && len(entries) == 0: // a run that landed nothing
		case err != nil:
			problem = err.Error()
		case c.Lost > 0:
			problem = describeLost(c, stored)
		}
	} else if _, err := os.Stat(filepath.Join(dir, "journal.jsonl")); errors.Is(err, fs.ErrNotExist) && len(wh.Folder.Glob(filepath.Join(dir, "[0-9]*"))) > 0 {
		problem = "the file journal.jsonl is missing"
	}
	if problem != "" {
		affected := "the stored responses of run " + run + " and a replay of the run; readers lose nothing; a later prune removes the responses (retention.raw_days)"
		v.Damage = append(v.Damage, Damage{File: wh.Folder.Relative(dir), Affected: affected, Problem: problem,
			Repair: Step{Kind: NoRepair}, Lost: true})
	}
}

func describeLost(c fetch.LandingCounts, stored int) string {
	return fmt.Sprintf("%d of %d stored responses are missing or damaged", c.Lost, max(stored, c.Responses, c.Lost))
}

func (v *VerifyReport) checkEvents(wh *warehouse.Warehouse, folder, affected string) {
	if !v.ReadData {
		return
	}
	events, damaged, err := webhook.CountEvents(folder)
	v.Files += min(1, events+damaged)
	if err == nil && damaged == 0 {
		return
	}
	damage := Damage{File: wh.Folder.Relative(folder), Affected: affected + "; the records that they name are read again within streams.recheck nights",
		Problem: humanize.Count(damaged, "damaged event"), Repair: Step{Kind: RunNight}, Lost: true}
	if err != nil {
		damage.Problem = err.Error()
	}
	v.Damage = append(v.Damage, damage)
}
