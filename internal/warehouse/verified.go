package warehouse

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Verified is what the last look for damage found, kept for who asks later.
type Verified struct {
	At      time.Time `json:"at"`
	Seconds float64   `json:"seconds"`
	Result  string    `json:"result"`
	// Damaged are the files, Error why it could not be told.
	Damaged []string `json:"damaged"`
	Error   string   `json:"error,omitempty"`
}

func (x *Examiner) verifiedPath() string { return x.folder.path(stateDir, "verified.json") }

// SaveVerified keeps what a look for damage found.
func (x *Examiner) SaveVerified(v Verified) error {
	data, err := sealObject(v)
	if err != nil {
		return fmt.Errorf("note what verify found: %w", err)
	}
	return x.folder.disk.WriteFile(x.verifiedPath(), data, privateFile)
}

// LastVerified returns what the last look found; ok is false when there was none that
// can be believed.
func (x *Examiner) LastVerified() (v Verified, ok bool, err error) {
	data, err := os.ReadFile(x.verifiedPath())
	if errors.Is(err, fs.ErrNotExist) {
		return v, false, nil
	}
	if err != nil {
		return v, false, fmt.Errorf("read what verify found: %w", err)
	}
	return v, unsealObject(data, &v) == nil, nil
}
