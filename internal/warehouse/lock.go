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

// HeldError says that another run holds the lock of this warehouse.
type HeldError struct {
	PID   int       `json:"pid"`
	Run   string    `json:"run"`
	Since time.Time `json:"since"`
}

func (e *HeldError) Error() string {
	if e.PID == 0 {
		return "take the lock: another run holds it: wait for it to end; nothing was changed"
	}
	return fmt.Sprintf("take the lock: run %s is at work since %s (process %d): wait for it to end, nothing was changed",
		e.Run, e.Since.Format(time.RFC3339), e.PID)
}

// Lock is the right to write to the warehouse. The kernel releases it when the process
// ends, however it ends, so a lock is never stale.
type Lock struct {
	file *flock.Flock
}

// Lock locks the warehouse for a run and creates the folder if needed. It finishes a
// rollback that was killed, if it can. It returns a
// *HeldError when another run holds the lock, and a *NewerError when a newer program
// wrote the warehouse.
func (w *Warehouse) Lock(run string, now time.Time) (*Lock, error) {
	if err := w.Folder.makeFolders(); err != nil {
		return nil, err
	}
	path := w.Folder.Path(stateDir, lockFile)
	l := &Lock{flock.New(path, flock.SetPermissions(privateFile))}
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
	// If this fails, verify names the rollback, and prune can still make room on the disk.
	_ = w.finishKilledRollback()
	return l, nil
}

// LockExisting is Lock for a warehouse that must exist, if only as what a restore
// brought back: it creates nothing at a misspelt path.
func (w *Warehouse) LockExisting(run string, now time.Time) (*Lock, error) {
	if err := w.Folder.Exists(); err != nil {
		return nil, err
	}
	return w.Lock(run, now)
}

// Name writes into the lock which run holds it, and since when.
func (l *Lock) Name(run string, since time.Time) error {
	holder, err := json.Marshal(HeldError{PID: os.Getpid(), Run: run, Since: since})
	if err == nil {
		// Not by rename: the lock is on this file.
		err = os.WriteFile(l.file.Path(), holder, privateFile)
	}
	if err != nil {
		return fmt.Errorf("write the holder into the lock %s: %w", l.file.Path(), err)
	}
	return nil
}

// heldBy reads who holds the lock. A holder writes its name right after it locks: for a
// moment the file is empty or names a killed run.
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

// Release unlocks the warehouse.
func (l *Lock) Release() error { return l.file.Unlock() }

// Held returns a *HeldError when a run holds the lock now, else nil. It creates nothing.
func (f *Folder) Held() error {
	path := f.Path(stateDir, lockFile)
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
