package warehouse

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/gofrs/flock"
)

// HeldError says that another run is at work in this warehouse.
type HeldError struct {
	PID   int       `json:"pid"`
	Run   string    `json:"run"`
	Since time.Time `json:"since"`
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("take the lock: run %s is at work since %s (process %d): wait for it to end, nothing was changed",
		e.Run, e.Since.Format(time.RFC3339), e.PID)
}

// Lock is the right to write into the warehouse. The kernel gives it back when
// the process dies, however it dies, so no lock is ever stale.
type Lock struct{ file *flock.Flock }

// Lock takes the warehouse for a run, creating the folder when there is none.
// It returns a *HeldError when another run has it.
func (w *Warehouse) Lock(run string, now time.Time) (*Lock, error) {
	if err := w.makeFolders(); err != nil {
		return nil, fmt.Errorf("take the lock: %w", err)
	}
	path := w.path(stateDir, "lock")
	l := &Lock{flock.New(path, flock.SetPermissions(privateFile))}
	ok, err := l.file.TryLock()
	if err != nil {
		return nil, fmt.Errorf("take the lock %s: %w", path, err)
	}
	if !ok {
		return nil, heldBy(path)
	}
	holder, err := json.Marshal(HeldError{PID: os.Getpid(), Run: run, Since: now})
	if err == nil {
		// In place: a rename would put another file under the lock's name.
		err = os.WriteFile(path, holder, privateFile)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("take the lock %s: %w", path, err), l.Release())
	}
	return l, nil
}

// heldBy reads who holds the lock. The holder may be about to write its name;
// then it stays unnamed.
func heldBy(path string) error {
	held := &HeldError{}
	if data, err := os.ReadFile(path); err == nil {
		_ = json.Unmarshal(data, held)
	}
	return held
}

// Release gives the warehouse back.
func (l *Lock) Release() error { return l.file.Unlock() }

// Held returns a *HeldError when a run has the lock now, and nil otherwise. It
// creates nothing.
func (w *Warehouse) Held() error {
	path := w.path(stateDir, "lock")
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
