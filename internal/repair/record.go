package repair

import (
	"time"

	"placementsync/internal/warehouse"
)

// Results of the command verify.
const (
	// Whole means that no file is damaged.
	Whole = "whole"
	// Rebuildable means that all damage can be repaired from intact copies or a catalog.
	Rebuildable = "rebuildable"
	// DataLost means that some data is lost.
	DataLost = "damaged"
)

// VerifyRecord is the stored result of the last verify.
type VerifyRecord struct {
	// At is the time of the verify. Seconds is its duration.
	At time.Time `json:"at"`
	// ReadData means that every byte was read, not only names and sizes.
	ReadData     bool     `json:"read_data"`
	Seconds      float64  `json:"seconds"`
	Result       string   `json:"result"`
	DamagedFiles []string `json:"damaged"`
	// Error is the error of a later verify that failed, at FailedAt. The other fields are from
	// the last verify that did not fail.
	Error    string    `json:"error,omitempty"`
	FailedAt time.Time `json:"failed_at,omitzero"`
}

// recordFile returns the file of a record. Records with and without readData have different files, so
// that a verify of names and sizes does not replace the result of a verify of every byte.
func recordFile(f *warehouse.Folder, readData bool) warehouse.StateFile {
	if readData {
		return f.StateFile("verified.json")
	}
	return f.StateFile("verified-structure.json")
}

// SaveRecord stores the result of a verify. It stores a verify of every byte in both files, because
// this verify also compares names and sizes.
func SaveRecord(f *warehouse.Folder, v VerifyRecord) error {
	err := recordFile(f, v.ReadData).Write(v)
	if err == nil && v.ReadData {
		v.ReadData = false
		err = recordFile(f, false).Write(v)
	}
	return err
}

// SaveFailure adds the error of a failed verify to the last record, and returns the record.
func SaveFailure(f *warehouse.Folder, readData bool, at time.Time, cause error) (VerifyRecord, error) {
	v, _, err := LastRecord(f, readData)
	v.ReadData, v.FailedAt, v.Error = readData, at, cause.Error()
	if err == nil {
		err = f.CheckExists()
	}
	if err == nil {
		err = recordFile(f, readData).Write(v)
	}
	return v, err
}

// LastRecord returns the stored result of the last verify with or without readData. It returns a
// *warehouse.DamagedError if the record is damaged.
func LastRecord(f *warehouse.Folder, readData bool) (v VerifyRecord, ok bool, err error) {
	ok, err = recordFile(f, readData).Read(&v)
	return v, ok, err
}
