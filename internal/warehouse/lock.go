package warehouse

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/gofrs/flock"
)

// LockedError means that another process has locked the warehouse or, if Job is not empty, the job of this
// name. Run is the run id or the command of that process. If the process is unknown, PID, Run and Since are empty.
type LockedError struct {
	Job   string    `json:"-"`
	PID   int       `json:"pid"`
	Run   string    `json:"run"`
	Since time.Time `json:"since"`
}

func (e *LockedError) Error() string {
	if e.Job != "" {
		return fmt.Sprintf("lock the job %q: another placementsync process holds this lock; nothing in the warehouse was changed: wait until that process ends", e.Job)
	}
	if e.PID == 0 {
		return "lock the warehouse: another placementsync process holds this lock; nothing in the warehouse was changed: wait until that process ends"
	}
	return fmt.Sprintf("lock the warehouse: process %d has held the lock since %s (%s); nothing in the warehouse was changed: wait until that process ends",
		e.PID, e.Since.Format(time.RFC3339), e.Run)
}

// Lock is the right to write to the warehouse. The operating system releases it when the process
// ends or is killed.
type Lock struct{ file *flock.Flock }

// Lock creates the folders of the warehouse and locks the warehouse for a run. It then finishes a killed
// rollback and a killed publish of a held night. It returns a *LockedError if another run has the lock,
// a *NewerError if a newer program wrote the warehouse, and an *UnfinishedRestoreError if a restore is not
// finished.
func (w *Warehouse) Lock(run string, now time.Time) (*Lock, error) {
	l, err := w.tryLock()
	if err != nil {
		return nil, err
	}
	// If a newer program wrote the warehouse, no file is changed, not even the lock file.
	err = w.Versions.CheckFormat()
	if err == nil {
		err = w.Folder.CheckRestored()
	}
	if err == nil {
		if err = l.WriteHolder(run, now); err != nil {
			err = w.Folder.folderErr(err)
		}
	}
	if err != nil {
		return nil, errors.Join(err, l.Release())
	}
	// Errors are ignored: verify reports the unfinished work, and on a full disk prune needs this lock.
	_ = errors.Join(w.finishKilledRollback(), w.finishKilledHeldPublish())
	return l, nil
}

// tryLock creates the folders of the warehouse and takes the lock, or returns a *LockedError.
func (w *Warehouse) tryLock() (*Lock, error) {
	if err := w.Folder.makeFolders(); err != nil {
		return nil, err
	}
	path := w.Folder.Path(StateDir, lockFile)
	l := &Lock{flock.New(path, flock.SetPermissions(privateFile))}
	ok, err := l.file.TryLock()
	if err != nil {
		return nil, w.Folder.folderErr(fmt.Errorf("take its lock in the file %s: %w", path, err))
	}
	if !ok {
		return nil, lockedBy(path)
	}
	return l, nil
}

// LockExisting locks an existing warehouse. Unlike Lock, it creates no folder at a misspelt path.
func (w *Warehouse) LockExisting(run string, now time.Time) (*Lock, error) {
	if err := w.Folder.CheckExists(); err != nil {
		return nil, err
	}
	return w.Lock(run, now)
}

// WriteHolder writes the run and the time into the lock file, for the *LockedError of other processes.
func (l *Lock) WriteHolder(run string, since time.Time) error {
	data, err := json.Marshal(LockedError{PID: os.Getpid(), Run: run, Since: since})
	if err == nil {
		// The file is overwritten in place, because a new file would not have the lock.
		err = os.WriteFile(l.file.Path(), data, privateFile)
	}
	if err != nil {
		return fmt.Errorf("write the holder into the lock %s: %w", l.file.Path(), err)
	}
	return nil
}

// lockedBy returns a *LockedError with the content of the lock file. A run first takes the lock and then
// writes the file. Until then the file is empty or names the previous run.
func lockedBy(path string) error {
	holder := &LockedError{}
	if data, err := os.ReadFile(path); err != nil || json.Unmarshal(data, holder) != nil {
		return &LockedError{}
	}
	return holder
}

func (l *Lock) Release() error { return l.file.Unlock() }

// CheckUnlocked returns a *LockedError if a run has locked the warehouse. It creates no file.
func (f *Folder) CheckUnlocked() error {
	path := f.Path(StateDir, lockFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	probe := flock.New(path)
	ok, err := probe.TryRLock()
	if err != nil {
		return fmt.Errorf("read the lock %s: %w", path, err)
	}
	if !ok {
		return lockedBy(path)
	}
	return probe.Unlock()
}

// NameRun chooses the id of a run that builds the snapshot of the given time, and writes it into
// the lock. The lock must be held: otherwise a run of the same second could choose the same id.
func (w *Warehouse) NameRun(lock *Lock, snapshotAt, now time.Time) (id string, err error) {
	if id, err = w.RunLog.NewRunID(snapshotAt); err != nil {
		return "", err
	}
	return id, lock.WriteHolder(id, now)
}

// LockJob locks a job, such as "backup". Each job has its own lock, so that it can run at the same time
// as a night. LockJob returns a *LockedError if another process has locked the job.
func (f *Folder) LockJob(name string) (unlock func() error, err error) {
	if err := f.CheckExists(); err != nil {
		return nil, err
	}
	path := f.Path(StateDir, name+lockSuffix)
	lock := flock.New(path, flock.SetPermissions(privateFile))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock the job with the file %s: %w", path, err)
	}
	if !ok {
		return nil, &LockedError{Job: name}
	}
	return lock.Unlock, nil
}

const (
	lockFile   = "lock"
	lockSuffix = ".lock" // of the locks of jobs
)

// IsLockFile reports whether a file is a lock. file is relative to the warehouse, with slashes.
func IsLockFile(file string) bool {
	return path.Dir(file) == StateDir && (path.Base(file) == lockFile || path.Ext(file) == lockSuffix)
}
