package warehouse

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
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
}

func (w *Warehouse) unfinishedPath() string { return w.path(stateDir, "unfinished.json") }

// Start notes that a run is at work, so that a later one can take it up.
func (w *Warehouse) Start(u Unfinished) error {
	data, err := json.Marshal(u)
	if err != nil {
		return fmt.Errorf("note the start of run %s: %w", u.Run, err)
	}
	return w.disk.writeFile(w.unfinishedPath(), append(data, '\n'), privateFile)
}

// Finished forgets the note of Start: there is nothing to take up.
func (w *Warehouse) Finished() error {
	if err := os.Remove(w.unfinishedPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("note the end of a run: %w", err)
	}
	return nil
}

// Unfinished returns the run to take up; ok is false when there is none. One
// that was killed between its publish and its note of it is none.
func (w *Warehouse) Unfinished() (u Unfinished, ok bool, err error) {
	data, err := os.ReadFile(w.unfinishedPath())
	if errors.Is(err, fs.ErrNotExist) {
		return u, false, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &u)
	}
	if err != nil {
		return u, false, fmt.Errorf("read the unfinished run: %w", err)
	}
	latest, _, err := w.Latest()
	if err != nil {
		return u, false, err
	}
	_, landed := os.Stat(w.RawPath(u.Run))
	return u, latest != u.Run && landed == nil, nil
}
