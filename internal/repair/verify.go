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

// Result returns Whole, DataLost or Rebuildable.
func (r Report) Result() string {
	switch {
	case len(r.Damage) == 0:
		return Whole
	case slices.ContainsFunc(r.Damage, func(d Damage) bool { return d.Lost }):
		return DataLost
	}
	return Rebuildable
}

// Record returns the stored form of the report.
func (r Report) Record(at time.Time) VerifyRecord {
	record := VerifyRecord{At: at.UTC(), ReadData: r.ReadData, Seconds: r.Took.Seconds(), Result: r.Result()}
	for _, d := range r.Damage {
		record.DamagedFiles = append(record.DamagedFiles, d.File)
	}
	return record
}

// Verify checks links, ledger, manifests and sizes in the whole warehouse. With readData it reads every
// byte of versions, series, stored responses and the inbox, and compares the catalog with its Parquet
// files. It holds the lock, so that no run changes files meanwhile. A warehouse that cannot be written is
// checked without the lock. Verify itself changes no files except the lock.
func Verify(ctx context.Context, cfg Config, readData bool) (r Report, err error) {
	r.ReadData = readData
	wh := warehouse.New(cfg.Warehouse)
	startedAt := time.Now()
	lock, err := wh.LockExisting("verify", cfg.Now())
	switch {
	case errors.As(err, new(*warehouse.FolderError)): // a read-only warehouse can be verified
	case err != nil:
		return r, err
	default:
		defer func() { err = errors.Join(err, lock.Release()) }()
	}
	if err := wh.Folder.CheckExists(); err != nil {
		return r, err
	}
	stored, err := wh.Folder.RunsWithResponses()
	if err != nil {
		return r, err
	}
	runs, err := wh.RunLog.Runs()
	if err != nil {
		return r, err
	}
	for _, run := range stored {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		r.checkResponses(wh, lineOf(runs, run))
		r.checkEvents(wh, wh.Folder.EventsPath(run), "webhook events of run "+run)
	}
	r.checkEvents(wh, wh.Folder.InboxPath(), "webhook events that no night has read yet")
	report, err := check(ctx, wh, readData, r.Damage)
	report.Damage = append(report.Damage, r.Damage...)
	report.Files += r.Files
	report.Bytes += r.Bytes
	report.Took = time.Since(startedAt)
	return report, err
}

// hasResponses reports whether a run can be replayed from its stored responses. damage is the damage of stored
// responses.
func hasResponses(wh *warehouse.Warehouse, run string, damage []Damage) bool {
	dir := wh.Folder.RawPath(run)
	isUnneeded, err := wh.Pruner.AreResponsesUnneeded(run)
	if _, statErr := os.Stat(filepath.Join(dir, "journal.jsonl")); err != nil || isUnneeded || statErr != nil {
		return false
	}
	isDamaged := func(d Damage) bool { return strings.HasPrefix(d.File+"/", wh.Folder.Relative(dir)+"/") }
	return !slices.ContainsFunc(damage, isDamaged)
}

// checkResponses checks the stored responses of a run. Without ReadData it only looks for the journal.
func (r *Report) checkResponses(wh *warehouse.Warehouse, run ledger.Run) {
	r.Files++
	dir, problem := wh.Folder.RawPath(run.ID), ""
	if r.ReadData {
		var bytes int64
		problem, bytes = lostResponses(wh, run)
		r.Bytes += bytes
	} else if _, err := os.Stat(filepath.Join(dir, "journal.jsonl")); errors.Is(err, fs.ErrNotExist) && len(wh.Folder.Glob(filepath.Join(dir, "[0-9]*"))) > 0 {
		problem = "the file journal.jsonl is missing"
	}
	if problem == "" {
		return
	}
	affected := "the stored responses of run " + run.ID + " and a replay of the run; readers lose nothing; a later prune removes the responses (retention.raw_days)"
	r.Damage = append(r.Damage, Damage{File: wh.Folder.Relative(dir), Affected: affected, Problem: problem, Repair: Step{Kind: NoRepair}, Lost: true})
}

// lostResponses returns the problem of the stored responses of a run, or "", and the number of bytes that it read. A
// power cut can lose the last responses of a run before they are synced, and keep their lines in the journal. Such
// responses of a killed run were never read: the run requests them again.
func lostResponses(wh *warehouse.Warehouse, run ledger.Run) (problem string, bytes int64) {
	dir := wh.Folder.RawPath(run.ID)
	c, err := fetch.VerifyResponses(dir, run.Responses)
	if err != nil {
		entries, _ := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) && len(entries) == 0 { // a run that stored nothing
			return "", c.Bytes
		}
		return err.Error(), c.Bytes
	}
	if c.Lost == 0 || wasKilled(wh, run) {
		return "", c.Bytes
	}
	return fmt.Sprintf("%d of %d stored responses are missing or damaged", c.Lost, max(run.Responses, c.Responses, c.Lost)), c.Bytes
}

// wasKilled reports whether a run ended before it could sync its responses. The ledger may have lost the line of a
// published run, whose manifest then shows the end of the run.
func wasKilled(wh *warehouse.Warehouse, run ledger.Run) bool {
	if run.Outcome != "" {
		return run.Outcome == ledger.Killed
	}
	at, _ := warehouse.RunTime(run.ID)
	return !slices.ContainsFunc(wh.Folder.ManifestPaths(run.ID, warehouse.DayOf(at)), func(path string) bool {
		_, err := wh.Versions.ReadManifestFile(path, run.ID)
		return err == nil
	})
}

// lineOf returns the line of a run in the ledger. Without a line, only its id is set.
func lineOf(runs []ledger.Run, run string) ledger.Run {
	line := ledger.Find(runs, run)
	line.ID = run
	return line
}

func (r *Report) checkEvents(wh *warehouse.Warehouse, folder, affected string) {
	if !r.ReadData {
		return
	}
	events, damaged, err := webhook.CountEvents(folder)
	if events+damaged > 0 {
		r.Files++ // the files of a folder count as one
	}
	if err == nil && damaged == 0 {
		return
	}
	damage := Damage{File: wh.Folder.Relative(folder), Affected: affected + "; the records that they name are read again within streams.recheck nights",
		Problem: humanize.Count(damaged, "damaged event"), Repair: Step{Kind: RunNight}, Lost: true}
	if err != nil {
		damage.Problem = err.Error()
	}
	r.Damage = append(r.Damage, damage)
}

// Results of the command verify.
const (
	// Whole means that no file is damaged.
	Whole = "whole"
	// Rebuildable means that all damage can be repaired from intact copies or a catalog.
	Rebuildable = "rebuildable"
	// DataLost means that some data is lost.
	DataLost = "damaged"
)

// VerifyRecord is the stored result of the last verify.
type VerifyRecord struct {
	// At is the time of the verify. Seconds is its duration.
	At time.Time `json:"at"`
	// ReadData means that every byte was read, not only names and sizes.
	ReadData     bool     `json:"read_data"`
	Seconds      float64  `json:"seconds"`
	Result       string   `json:"result"`
	DamagedFiles []string `json:"damaged"`
	// Error is the error of a later verify that failed, at FailedAt. The other fields are from
	// the last verify that did not fail.
	Error    string    `json:"error,omitempty"`
	FailedAt time.Time `json:"failed_at,omitzero"`
}

// recordFile returns the file of a record. Records with and without readData have different files, so
// that a verify of names and sizes does not replace the result of a verify of every byte.
func recordFile(f *warehouse.Folder, readData bool) warehouse.StateFile {
	if readData {
		return f.StateFile("verified.json")
	}
	return f.StateFile("verified-structure.json")
}

// SaveRecord stores the result of a verify. It stores a verify of every byte in both files, because
// this verify also compares names and sizes.
func SaveRecord(f *warehouse.Folder, v VerifyRecord) error {
	err := recordFile(f, v.ReadData).Write(v)
	if err == nil && v.ReadData {
		v.ReadData = false
		err = recordFile(f, false).Write(v)
	}
	return err
}

// SaveFailure adds the error of a failed verify to the last record, and returns the record.
func SaveFailure(f *warehouse.Folder, readData bool, at time.Time, cause error) (VerifyRecord, error) {
	v, _, err := LastRecord(f, readData)
	v.ReadData, v.FailedAt, v.Error = readData, at, cause.Error()
	if err == nil {
		err = f.CheckExists()
	}
	if err == nil {
		err = recordFile(f, readData).Write(v)
	}
	return v, err
}

// LastRecord returns the stored result of the last verify with or without readData. It returns a
// *warehouse.DamagedError if the record is damaged.
func LastRecord(f *warehouse.Folder, readData bool) (v VerifyRecord, ok bool, err error) {
	ok, err = recordFile(f, readData).Read(&v)
	return v, ok, err
}
