package warehouse

import (
	"errors"
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

func (x *Examiner) verifiedFile() StateFile { return x.folder.StateFile("verified.json") }

// SaveVerified records the result of a verify.
func (x *Examiner) SaveVerified(v Verified) error { return x.verifiedFile().Write(v) }

// LastVerified returns the recorded result; ok is false when there is none that is
// intact.
func (x *Examiner) LastVerified() (v Verified, ok bool, err error) {
	ok, err = x.verifiedFile().Read(&v)
	if errors.As(err, new(*DamagedError)) {
		return Verified{}, false, nil
	}
	return v, ok, err
}
