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

func (l *Ledger) unfinishedPath() string { return l.folder.path(stateDir, "unfinished.json") }

// asidePath is the note of a run that nobody takes up. It stands beside that of one
// that may be waiting.
func (l *Ledger) asidePath() string { return l.folder.path(stateDir, "aside.json") }

// Start notes that a run is at work, so that a later one can take it up. What
// an earlier run left that is given up with this goes: a version that was never
// switched to would pass for one that was. It needs the Lock.
func (l *Ledger) Start(u Unfinished) error {
	if err := l.discardGivenUp(u.Run); err != nil {
		return err
	}
	return l.writeNote(l.unfinishedPath(), u)
}

// StartAside notes that a run is at work that is not taken up, so that the ledger
// tells of it should it be killed. It needs the Lock.
func (l *Ledger) StartAside(u Unfinished) error { return l.writeNote(l.asidePath(), u) }

func (l *Ledger) writeNote(path string, u Unfinished) error {
	data, err := sealObject(u)
	if err == nil {
		err = durable.RemoveTemps(path)
	}
	if err != nil {
		return fmt.Errorf("note the start of run %s: %w", u.Run, err)
	}
	return l.folder.disk.WriteFile(path, data, privateFile)
}

func (l *Ledger) discardGivenUp(next string) error {
	last, ok, err := readNote(l.unfinishedPath())
	if err != nil || !ok || last.Run == next {
		return err
	}
	if latest, _, err := l.versions.Latest(); err != nil || latest == last.Run {
		return err
	}
	if err := l.folder.disk.Discard(l.folder.VersionPath(last.Run)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("give up run %s: %w", last.Run, err)
	}
	return nil
}

// Finish forgets the note of Start: there is nothing to take up.
func (l *Ledger) Finish() error { return l.removeNote(l.unfinishedPath()) }

// FinishAside forgets the note of StartAside, once the run is in the ledger.
func (l *Ledger) FinishAside() error { return l.removeNote(l.asidePath()) }

func (l *Ledger) removeNote(note string) error {
	if err := l.folder.disk.Remove(note); err != nil {
		return fmt.Errorf("note the end of a run: %w", err)
	}
	return nil
}

// Unfinished returns the run to take up; ok is false when there is none. One
// that was killed between its publish and its note of it is none.
func (l *Ledger) Unfinished() (u Unfinished, ok bool, err error) {
	if u, ok, err = readNote(l.unfinishedPath()); err != nil || !ok {
		return u, false, err
	}
	latest, _, err := l.versions.Latest()
	if err != nil {
		return u, false, err
	}
	_, landed := os.Stat(l.folder.RawPath(u.Run))
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
	if unsealObject(data, &u) != nil {
		return Unfinished{}, false, nil
	}
	return u, true, nil
}

func (l *Ledger) finishPublished() error {
	u, ok, err := readNote(l.unfinishedPath())
	if err != nil || !ok {
		return err
	}
	if latest, _, err := l.versions.Latest(); err != nil || latest != u.Run {
		return err
	}
	return l.Finish()
}
