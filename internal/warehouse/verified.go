package warehouse

import (
	"slices"
	"time"
)

// Results of a verify.
const (
	Whole = "whole"
	// Rebuildable: everything damaged can be restored from undamaged copies.
	Rebuildable = "rebuildable"
	Damaged     = "damaged"
)

// Verified is the result of a verify.
type Verified struct {
	At time.Time `json:"at"`
	// ReadData is set where every byte was read, and not only names and sizes.
	ReadData bool    `json:"read_data"`
	Seconds  float64 `json:"seconds"`
	Result   string  `json:"result"`
	// Damaged are the damaged files.
	Damaged []string `json:"damaged"`
	// Error is why a later verify failed, at FailedAt: it found out nothing, so that all
	// else stands.
	Error    string    `json:"error,omitempty"`
	FailedAt time.Time `json:"failed_at,omitzero"`
	// Met is damage that a night found since.
	Met *MetDamage `json:"met,omitempty"`
}

// MetDamage is damage that a night found and repaired in its own version.
type MetDamage struct {
	Run   string    `json:"run_id"`
	At    time.Time `json:"at"`
	Files []string  `json:"files"`
}

// verifiedFile has the last result of one depth: that structure and sizes are whole says
// nothing of the bytes.
func (c *Checker) verifiedFile(readData bool) StateFile {
	if readData {
		return c.folder.StateFile("verified.json")
	}
	return c.folder.StateFile("verified-structure.json")
}

// SaveVerified records the result of a verify. One that read every byte looked at names and
// sizes too.
func (c *Checker) SaveVerified(v Verified) error {
	err := c.verifiedFile(v.ReadData).Write(v)
	if err == nil && v.ReadData {
		v.ReadData = false
		err = c.verifiedFile(false).Write(v)
	}
	return err
}

// SaveMet adds damage that a night found to the results of the last verifies: they no
// longer say that the warehouse is whole.
func (c *Checker) SaveMet(run string, at time.Time, found []Damage) error {
	for _, readData := range []bool{true, false} {
		v, ok, err := c.LastVerified(readData)
		if err != nil {
			return err
		}
		if !ok && !readData {
			continue // the other record says it
		}
		if v.ReadData = readData; v.Result != Damaged {
			v.Result = Rebuildable
		}
		met := &MetDamage{Run: run, At: at.UTC()}
		if v.Met != nil {
			met.Files = v.Met.Files
		}
		for _, d := range found {
			if !slices.Contains(met.Files, d.File) {
				met.Files = append(met.Files, d.File)
			}
		}
		v.Met = met
		if err := c.verifiedFile(readData).Write(v); err != nil {
			return err
		}
	}
	return nil
}

// SaveFailure records that a verify failed, beside the result of the last one that did
// not, and returns both.
func (c *Checker) SaveFailure(readData bool, at time.Time, cause error) (Verified, error) {
	v, _, err := c.LastVerified(readData)
	v.ReadData, v.FailedAt, v.Error = readData, at, cause.Error()
	if err == nil {
		err = c.folder.Exists() // a record would make a warehouse where there is none
	}
	if err == nil {
		err = c.verifiedFile(readData).Write(v)
	}
	return v, err
}

// LastVerified returns the recorded result of the last verify that read every byte, or of
// the last one that did not; ok is false when there was none. The error is a
// *DamagedError when the record is not what was written.
func (c *Checker) LastVerified(readData bool) (v Verified, ok bool, err error) {
	ok, err = c.verifiedFile(readData).Read(&v)
	return v, ok, err
}
