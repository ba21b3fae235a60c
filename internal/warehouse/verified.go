package warehouse

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Verified is the result of the last verify.
type Verified struct {
	At      time.Time `json:"at"`
	Seconds float64   `json:"seconds"`
	Result  string    `json:"result"`
	// Damaged are the damaged files, Error why verify failed.
	Damaged []string `json:"damaged"`
	Error   string   `json:"error,omitempty"`
}

func (x *Examiner) verifiedPath() string { return x.folder.path(stateDir, "verified.json") }

// SaveVerified records the result of a verify.
func (x *Examiner) SaveVerified(v Verified) error {
	data, err := sealObject(v)
	if err != nil {
		return fmt.Errorf("record what verify found: %w", err)
	}
	return x.folder.disk.WriteFile(x.verifiedPath(), data, privateFile)
}

// LastVerified returns the recorded result; ok is false when there is none that is
// intact.
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
