package warehouse

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"placementsync/internal/ledger"
)

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
		if latest != earlier.Run {
			err = l.folder.disk.Discard(l.folder.VersionPath(earlier.Run))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the unpublished version of the interrupted run %s: %w", earlier.Run, err)
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
