package warehouse

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"placementsync/internal/durable"

	"github.com/gofrs/flock"
)

// HeldError says that another run is at work in this warehouse.
type HeldError struct {
	PID   int       `json:"pid"`
	Run   string    `json:"run"`
	Since time.Time `json:"since"`
}

func (e *HeldError) Error() string {
	if e.PID == 0 {
		return "take the lock: another run is at work and has not said which: wait for it to end, nothing was changed"
	}
	return fmt.Sprintf("take the lock: run %s is at work since %s (process %d): wait for it to end, nothing was changed",
		e.Run, e.Since.Format(time.RFC3339), e.PID)
}

// Lock is the right to write into the warehouse. The kernel gives it back when
// the process dies, however it dies, so no lock is ever stale.
type Lock struct {
	file *flock.Flock
	path string
}

// Lock takes the warehouse for a run, creating the folder when there is none.
// It returns a *HeldError when another run has it, and a *NewerError when the
// warehouse is a newer program's.
func (w *Warehouse) Lock(run string, now time.Time) (*Lock, error) {
	if err := w.Folder.makeFolders(); err != nil {
		return nil, err
	}
	path := w.Folder.path(stateDir, "lock")
	l := &Lock{flock.New(path, flock.SetPermissions(privateFile)), path}
	ok, err := l.file.TryLock()
	if err != nil {
		return nil, fmt.Errorf("take the lock %s: %w", path, err)
	}
	if !ok {
		return nil, heldBy(path)
	}
	err = l.Name(run, now)
	if err == nil {
		err = w.Versions.CheckFormat()
	}
	if err != nil {
		return nil, errors.Join(err, l.Release())
	}
	return l, nil
}

// LockExisting is Lock where there has to be a warehouse already, or what a restore
// has brought back of one: it makes nothing at a path that was misspelt.
func (w *Warehouse) LockExisting(run string, now time.Time) (*Lock, error) {
	if err := w.Folder.Exists(); err != nil {
		return nil, err
	}
	return w.Lock(run, now)
}

// Name says under the lock which run holds it, and since when.
func (l *Lock) Name(run string, since time.Time) error {
	holder, err := json.Marshal(HeldError{PID: os.Getpid(), Run: run, Since: since})
	if err == nil {
		// In place: a rename would put another file under the lock's name.
		err = os.WriteFile(l.path, holder, privateFile)
	}
	if err != nil {
		return fmt.Errorf("write the holder into the lock %s: %w", l.path, err)
	}
	return nil
}

// heldBy reads who holds the lock. A holder writes its name right after it took
// the lock: for a moment the file is empty or names one that was killed.
func heldBy(path string) error {
	const looks, pause = 50, 20 * time.Millisecond
	held := &HeldError{}
	for range looks {
		data, err := os.ReadFile(path)
		if err == nil && json.Unmarshal(data, held) == nil && durable.IsAlive(held.PID) {
			break
		}
		time.Sleep(pause)
	}
	return held
}

// Release gives the warehouse back.
func (l *Lock) Release() error { return l.file.Unlock() }

// Held returns a *HeldError when a run has the lock now, and nil otherwise. It
// creates nothing.
func (f *Folder) Held() error {
	path := f.path(stateDir, "lock")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	probe := flock.New(path)
	ok, err := probe.TryRLock()
	if err != nil {
		return fmt.Errorf("look at the lock %s: %w", path, err)
	}
	if !ok {
		return heldBy(path)
	}
	return probe.Unlock()
}
