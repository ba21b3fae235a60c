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
	latest, hasLink, err := l.versions.Latest()
	if err != nil {
		return nil, err
	}
	var missing []ledger.Run
	// The ledger may contain only an earlier attempt of the published run, which published nothing.
	recorded := ledger.Find(runs, latest).Outcome
	if hasLink && recorded != ledger.Complete && recorded != ledger.Partial {
		if r, ok := l.readCopy(l.folder.VersionPath(latest), latest); ok {
			missing = append(missing, r)
		}
	}
	for _, path := range []string{l.ResumableRunPath(), l.UnresumableRunPath()} {
		u, ok, err := l.readUnfinished(path)
		if err != nil {
			return nil, err
		}
		isRecorded := ledger.Find(runs, u.Run).Attempts >= u.Attempt
		if !ok || isRecorded || u.Run == latest {
			continue
		}
		if u.Kind == ledger.Rollback && u.Version == latest { // killed after it switched the link "latest"
			missing = append(missing, l.completedRollback(u))
			continue
		}
		missing = append(missing, ledger.Run{ID: u.Run, Kind: u.Kind, StartedAt: u.StartedAt, Program: u.Program,
			Outcome: ledger.Killed, ExitCode: ledger.Killed.ExitCode(),
			Error: "the run was killed, or the machine went down; the run published nothing"})
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

func (l *RunLog) completedRollback(u UnfinishedRun) ledger.Run {
	r := ledger.Run{ID: u.Run, Kind: ledger.Rollback, Version: u.Version, StartedAt: u.StartedAt, EndedAt: u.StartedAt,
		Outcome: ledger.Complete, Program: l.program}
	if m, err := l.versions.ReadManifest(u.Version); err == nil {
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

// UnfinishedRun is the content of an unfinished-run file. The run in this file is running, or was killed,
// interrupted or failed. Folder.RawPath contains the responses of the service that the run has stored.
type UnfinishedRun struct {
	Run       string    `json:"run_id"`
	StartedAt time.Time `json:"started_at"`
	// Source is the base URL of the service. If the URL changed, the stored responses are not used.
	Source string `json:"source"`
	// Rights describes the rights of the token, because a token with other rights may get other
	// responses. It is empty until the service has reported the rights.
	Rights string `json:"access,omitempty"`
	// Attempt is the number of times that the run was started.
	Attempt int `json:"attempt"`
	// Program is the version of the program that started the run.
	Program string `json:"program_version"`
	// Kind is ledger.Run.Kind.
	Kind string `json:"kind,omitempty"`
	// Version is ledger.Run.Version.
	Version string `json:"version,omitempty"`
}

// ResumableRunPath is the unfinished-run file that WriteResumableRun writes.
func (l *RunLog) ResumableRunPath() string { return l.folder.Path(StateDir, "unfinished.json") }

// UnresumableRunPath is the unfinished-run file that WriteUnresumableRun writes. Both files can exist at the
// same time.
func (l *RunLog) UnresumableRunPath() string { return l.folder.Path(StateDir, "aside.json") }

// WriteResumableRun writes the unfinished-run file of a run that can be resumed. The caller must have the Lock.
//
// If the file contains an earlier run, the earlier run is abandoned. If readers do not see the version of
// the abandoned run, WriteResumableRun removes this version, because it would look like a published version.
func (l *RunLog) WriteResumableRun(u UnfinishedRun) error {
	earlier, ok, err := l.readUnfinished(l.ResumableRunPath())
	if err != nil {
		return err
	}
	if ok && earlier.Run != u.Run {
		latest, _, err := l.versions.Latest()
		if err != nil {
			return err
		}
		if earlier.Run != latest {
			err := l.folder.disk.Discard(l.folder.VersionPath(earlier.Run))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("remove the unpublished version of the interrupted run %s: %w", earlier.Run, err)
			}
		}
	}
	return StateFile{l.folder, l.ResumableRunPath()}.Write(u)
}

// WriteUnresumableRun writes the unfinished-run file of a run that is never resumed. If the run is
// killed, Recover records it in the ledger. The caller must have the Lock.
func (l *RunLog) WriteUnresumableRun(u UnfinishedRun) error {
	return StateFile{l.folder, l.UnresumableRunPath()}.Write(u)
}

func (l *RunLog) RemoveResumableRun() error { return l.removeUnfinished(l.ResumableRunPath()) }

// RemoveUnresumableRun removes the file that WriteUnresumableRun wrote. The run must be in the ledger.
func (l *RunLog) RemoveUnresumableRun() error { return l.removeUnfinished(l.UnresumableRunPath()) }

func (l *RunLog) removeUnfinished(path string) error {
	if err := l.folder.disk.Remove(path); err != nil {
		return fmt.Errorf("remove the file of the unfinished run: %w", err)
	}
	return nil
}

// ResumableRun returns the run that can be resumed. ok is false if there is no such run. A run
// cannot be resumed if it was killed after it was published, or if its stored responses are missing.
func (l *RunLog) ResumableRun() (u UnfinishedRun, ok bool, err error) {
	if u, ok, err = l.readUnfinished(l.ResumableRunPath()); err != nil || !ok {
		return u, false, err
	}
	latest, _, err := l.versions.Latest()
	if err != nil {
		return u, false, err
	}
	_, statErr := os.Stat(l.folder.RawPath(u.Run))
	return u, latest != u.Run && statErr == nil, nil
}

// readUnfinished reads an unfinished-run file. ok is false if the file is missing or damaged. A run with
// a damaged file is not resumed: the next run requests everything again.
func (l *RunLog) readUnfinished(path string) (u UnfinishedRun, ok bool, err error) {
	ok, err = StateFile{l.folder, path}.Read(&u)
	if errors.As(err, new(*DamagedError)) {
		return UnfinishedRun{}, false, nil
	}
	return u, ok, err
}

// KilledRollback returns a rollback that was killed. ok is false if no rollback was killed.
func (l *RunLog) KilledRollback() (u UnfinishedRun, ok bool, err error) {
	u, ok, err = l.readUnfinished(l.UnresumableRunPath())
	return u, ok && u.Kind == ledger.Rollback, err
}

// removeFileOfPublishedRun removes the unfinished-run file of a run that was killed after its publish.
func (l *RunLog) removeFileOfPublishedRun() error {
	u, ok, err := l.readUnfinished(l.ResumableRunPath())
	if err != nil || !ok {
		return err
	}
	if latest, _, err := l.versions.Latest(); err != nil || latest != u.Run {
		return err
	}
	return l.RemoveResumableRun()
}
