package warehouse

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"placementsync/internal/durable"
)

// Unfinished is a run that began and did not publish: killed, interrupted or
// failed. What it landed is in its raw folder.
type Unfinished struct {
	Run       string    `json:"run_id"`
	StartedAt time.Time `json:"started_at"`
	// Source is the base URL that it read; answers of another service are no
	// answers to this one's questions.
	Source string `json:"source"`
	// Access is what its token could read; answers to another token's
	// questions are other answers. Empty until the service has said it.
	Access string `json:"access,omitempty"`
	// Attempt counts how often the run was started, this time included.
	Attempt int `json:"attempt"`
	// Program is the version that started it.
	Program string `json:"program_version"`
	// Kind is that of Run.
	Kind string `json:"kind,omitempty"`
	// Version is that of Run.
	Version string `json:"version,omitempty"`
}

func (w *Warehouse) unfinishedPath() string { return w.path(stateDir, "unfinished.json") }

// asidePath is the note of a run that nobody takes up. It stands beside that of one
// that may be waiting.
func (w *Warehouse) asidePath() string { return w.path(stateDir, "aside.json") }

// Start notes that a run is at work, so that a later one can take it up. What
// an earlier run left that is given up with this goes: a version that was never
// switched to would pass for one that was. It needs the Lock.
func (w *Warehouse) Start(u Unfinished) error {
	if err := w.giveUp(u.Run); err != nil {
		return err
	}
	return w.noteStart(w.unfinishedPath(), u)
}

// StartAside notes that a run is at work that is not taken up, so that the ledger
// tells of it should it be killed. It needs the Lock.
func (w *Warehouse) StartAside(u Unfinished) error { return w.noteStart(w.asidePath(), u) }

func (w *Warehouse) noteStart(path string, u Unfinished) error {
	data, err := seal(u)
	if err == nil {
		err = durable.RemoveTemps(path)
	}
	if err != nil {
		return fmt.Errorf("note the start of run %s: %w", u.Run, err)
	}
	return w.disk.WriteFile(path, data, privateFile)
}

func (w *Warehouse) giveUp(next string) error {
	last, ok, err := readNote(w.unfinishedPath())
	if err != nil || !ok || last.Run == next {
		return err
	}
	if latest, _, err := w.Latest(); err != nil || latest == last.Run {
		return err
	}
	if err := w.disk.Discard(w.VersionPath(last.Run)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("give up run %s: %w", last.Run, err)
	}
	return nil
}

// Finished forgets the note of Start: there is nothing to take up.
func (w *Warehouse) Finished() error { return w.forget(w.unfinishedPath()) }

// FinishedAside forgets the note of StartAside, once the run is in the ledger.
func (w *Warehouse) FinishedAside() error { return w.forget(w.asidePath()) }

func (w *Warehouse) forget(note string) error {
	if err := w.disk.Remove(note); err != nil {
		return fmt.Errorf("note the end of a run: %w", err)
	}
	return nil
}

// Unfinished returns the run to take up; ok is false when there is none. One
// that was killed between its publish and its note of it is none.
func (w *Warehouse) Unfinished() (u Unfinished, ok bool, err error) {
	if u, ok, err = readNote(w.unfinishedPath()); err != nil || !ok {
		return u, false, err
	}
	latest, _, err := w.Latest()
	if err != nil {
		return u, false, err
	}
	_, landed := os.Stat(w.RawPath(u.Run))
	return u, latest != u.Run && landed == nil, nil
}

// readNote reads what Start or StartAside wrote; ok is false when no run left one. One
// that is damaged is none: its run is not taken up, and the next one asks anew.
func readNote(path string) (u Unfinished, ok bool, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return u, false, nil
	}
	if err != nil {
		return u, false, fmt.Errorf("read the unfinished run: %w", err)
	}
	if unseal(data, &u) != nil {
		return Unfinished{}, false, nil
	}
	return u, true, nil
}
