package warehouse

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"placementsync/internal/checksum"
	"placementsync/internal/ledger"
)

// RunLog is the list of runs in state/runs.jsonl, and the unfinished-run files, which describe runs
// that have not ended.
type RunLog struct {
	folder   *Folder
	versions *Versions
	program  string // as in Config.Program
}

// Path is the file with the list of runs.
func (l *RunLog) Path() string { return l.folder.Path(StateDir, "runs.jsonl") }

// Record adds a line for a run, or for a follow-up, such as a backup. A second line with the id of a run is
// another attempt of the run. A follow-up gets a new id if its id is already in the ledger.
func (l *RunLog) Record(r ledger.Run) error {
	if r.IsFollowUp() {
		runs, err := l.RunsAndFollowUps()
		if err != nil {
			return fmt.Errorf("record %s: %w", r.ID, err)
		}
		baseID := r.ID
		for i := 2; ledger.Find(runs, r.ID).ID != ""; i++ {
			r.ID = fmt.Sprintf("%s-%d", baseID, i)
		}
	}
	line, err := checksum.SealLine(r)
	if err != nil {
		return fmt.Errorf("record run %s: %w", r.ID, err)
	}
	return l.folder.disk.AppendLine(l.Path(), line, privateFile)
}

// runFile is the file in a version with a copy of the run's ledger line. If the run was killed after its
// publish and before the ledger was written, Recover reads this file.
const runFile = "run.json"

// WriteCopy writes a copy of a run's ledger line into the folder of its version or draft, and returns the
// checksum of the file.
func (l *RunLog) WriteCopy(dir string, r ledger.Run) (checksum.FileSum, error) {
	line, err := checksum.SealLine(r)
	if err != nil {
		return checksum.FileSum{}, fmt.Errorf("write the ledger line of run %s: %w", r.ID, err)
	}
	line = append(line, '\n')
	return checksum.SumText(runFile, line), l.folder.disk.WriteFile(filepath.Join(dir, runFile), line, privateFile)
}

// removeDamagedLines moves damaged and incomplete lines to a file with the suffix ".damaged".
func (l *RunLog) removeDamagedLines() error {
	data, err := os.ReadFile(l.Path())
	if err != nil {
		return nil // Runs reports the error
	}
	_, damaged := ParseRunLog(data)
	if len(damaged) == 0 {
		return nil
	}
	for _, line := range damaged {
		if err := l.folder.disk.AppendLine(l.Path()+".damaged", line, privateFile); err != nil {
			return err
		}
	}
	intact := slices.DeleteFunc(bytes.SplitAfter(data, []byte("\n")), func(line []byte) bool {
		return slices.ContainsFunc(damaged, func(d []byte) bool { return bytes.Equal(d, bytes.TrimRight(line, "\r\n")) })
	})
	return l.folder.disk.WriteFile(l.Path(), bytes.Join(intact, nil), privateFile)
}

// missingRuns returns the killed runs that the ledger does not contain. If a run was killed after its
// publish, its version contains the ledger line. Other runs are read from unfinished-run files.
func (l *RunLog) missingRuns() ([]ledger.Run, error) {
	runs, err := l.Runs()
	if err != nil {
		return nil, err
	}
	latest, ok, err := l.versions.Latest()
	if err != nil {
		return nil, err
	}
	var missing []ledger.Run
	// The ledger may contain an earlier, failed attempt of the published run.
	latestRun := ledger.Find(runs, latest)
	if ok && (latestRun.ID == "" || latestRun.Outcome == ledger.Failed || latestRun.Outcome == ledger.Interrupted || latestRun.Outcome == ledger.Killed) {
		if r, ok := l.readCopy(l.folder.VersionPath(latest), latest); ok {
			missing = append(missing, r)
		}
	}
	for _, path := range []string{l.ResumableRunPath(), l.UnresumableRunPath()} {
		u, ok, err := l.readUnfinished(path)
		if err != nil {
			return nil, err
		}
		switch {
		case !ok || u.Run == latest || ledger.Find(runs, u.Run).Attempts >= u.Attempt:
		case u.Kind == ledger.Rollback && u.Version == latest: // killed after it switched the link "latest"
			missing = append(missing, l.completedRollback(u.Run, u.Version, u.StartedAt))
		default:
			missing = append(missing, ledger.Run{ID: u.Run, Kind: u.Kind, StartedAt: u.StartedAt, Program: u.Program,
				Outcome: ledger.Killed, ExitCode: ledger.Killed.ExitCode(),
				Error: "the run was killed, or the machine went down; the run published nothing"})
		}
	}
	return missing, nil
}

// readCopy reads the copy that WriteCopy wrote. ok is false if it is missing or damaged.
func (l *RunLog) readCopy(dir, run string) (r ledger.Run, ok bool) {
	data, err := os.ReadFile(filepath.Join(dir, runFile))
	if err == nil {
		err = checksum.UnsealLine(bytes.TrimSuffix(data, []byte("\n")), &r)
	}
	return r, err == nil && r.ID == run
}

// Runs returns the runs of the ledger, oldest first. A run with several attempts has several lines. Runs
// returns only the last attempt. It skips damaged and incomplete lines.
func (l *RunLog) Runs() ([]ledger.Run, error) {
	runs, err := l.RunsAndFollowUps()
	return slices.DeleteFunc(runs, ledger.Run.IsFollowUp), err
}

// RunsAndFollowUps returns the runs like Runs, and also the follow-ups, such as backups.
func (l *RunLog) RunsAndFollowUps() ([]ledger.Run, error) {
	data, err := os.ReadFile(l.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	runs, _ := ParseRunLog(data)
	return runs, nil
}

// ParseRunLog returns the runs of a ledger, and its damaged and incomplete lines.
func ParseRunLog(data []byte) (runs []ledger.Run, damaged [][]byte) {
	for line := range bytes.Lines(data) {
		line = bytes.TrimRight(line, "\r\n")
		var r ledger.Run
		if checksum.UnsealLine(line, &r) == nil {
			runs = mergeRun(runs, r)
		} else if len(line) > 0 {
			damaged = append(damaged, line)
		}
	}
	return runs, damaged
}

// AllRuns returns RunsAndFollowUps and the killed runs that the next Recover will record. While a run has
// the lock, AllRuns leaves out the killed runs.
func (l *RunLog) AllRuns() ([]ledger.Run, error) {
	lockErr := l.folder.CheckUnlocked()
	isLocked := errors.As(lockErr, new(*LockedError))
	if lockErr != nil && !isLocked {
		return nil, lockErr
	}
	runs, err := l.RunsAndFollowUps()
	if err != nil || isLocked {
		return runs, err
	}
	missing, err := l.missingRuns()
	for _, r := range missing {
		runs = mergeRun(runs, r)
	}
	return runs, err
}

// mergeRun adds r, the run of the next line, to runs. It replaces an earlier attempt, and counts it in Attempts.
func mergeRun(runs []ledger.Run, r ledger.Run) []ledger.Run {
	r.Attempts = 1 + ledger.Find(runs, r.ID).Attempts
	runs = slices.DeleteFunc(runs, func(other ledger.Run) bool { return other.ID == r.ID })
	return append(runs, r)
}

func (l *RunLog) completedRollback(id, version string, at time.Time) ledger.Run {
	r := ledger.Run{ID: id, Kind: ledger.Rollback, Version: version, StartedAt: at, EndedAt: at, Outcome: ledger.Complete, Program: l.program}
	if m, err := l.versions.ReadManifest(version); err == nil {
		r.SnapshotAt = m.SnapshotAt
		for _, t := range m.Tables {
			r.Rows += t.Rows
		}
	}
	return r
}

// NewRunID returns an unused id for a run that begins at a time: the time in UTC, followed by a number if
// the id of another run contains the same second. The caller must have the Lock, because otherwise another
// process may use the same id.
func (l *RunLog) NewRunID(at time.Time) (string, error) {
	runs, err := l.Runs()
	if err != nil {
		return "", err
	}
	for _, path := range []string{l.ResumableRunPath(), l.UnresumableRunPath()} {
		u, ok, err := l.readUnfinished(path)
		if err != nil {
			return "", err
		}
		if ok {
			runs = append(runs, ledger.Run{ID: u.Run})
		}
	}
	baseID := at.UTC().Format("20060102T150405Z")
	id := baseID
	for i := 2; ; i++ {
		isUsed := ledger.Find(runs, id).ID != ""
		for _, path := range []string{l.folder.RawPath(id), l.folder.VersionPath(id)} {
			_, err := os.Lstat(path)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", &FolderError{l.folder.dir, err}
			}
			isUsed = isUsed || err == nil
		}
		if !isUsed {
			return id, nil
		}
		id = fmt.Sprintf("%s-%d", baseID, i)
	}
}
