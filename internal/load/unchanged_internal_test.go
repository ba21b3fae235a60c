package load

import (
	"testing"

	"placementsync/internal/stream"
)

// TestRecordsOfTheSameHash adds two records whose keys have the same hash. The fingerprint of one of them would be
// compared with the other.
func TestRecordsOfTheSameHash(t *testing.T) {
	for name, c := range map[string]struct {
		records []storedRecord
		want    bool
	}{
		"no records":    {nil, false},
		"two hashes":    {[]storedRecord{{key: 1}, {key: 2}}, true},
		"the same hash": {[]storedRecord{{key: 1}, {key: 2}, {key: 1}}, false},
	} {
		s := Stored{records: c.records}
		if got := s.fillIndexes(); got != c.want {
			t.Errorf("%s: records can be compared: %v, want %v", name, got, c.want)
		}
	}
}

// TestLastCopyDecides adds copies of one record. All records after the first million of a response have the same seq:
// a changed copy must then not be lost.
func TestLastCopyDecides(t *testing.T) {
	for name, c := range map[string]struct {
		copies      []stream.RecordCopy
		isUnchanged bool
	}{
		"no copy":                     {nil, false},
		"an unchanged copy":           {[]stream.RecordCopy{{Seq: 1, IsUnchanged: true}}, true},
		"the last copy is unchanged":  {[]stream.RecordCopy{{Seq: 2, IsUnchanged: true}, {Seq: 1}}, true},
		"the last copy is changed":    {[]stream.RecordCopy{{Seq: 2}, {Seq: 1, IsUnchanged: true}}, false},
		"two copies of the same seq":  {[]stream.RecordCopy{{Seq: 1, IsUnchanged: true}, {Seq: 1}}, false},
		"a changed copy between them": {[]stream.RecordCopy{{Seq: 3, IsUnchanged: true}, {Seq: 2}, {Seq: 1, IsUnchanged: true}}, true},
	} {
		s := Stored{records: make([]storedRecord, 1)}
		s.AddCopies(c.copies)
		if got := s.records[0].isUnchanged(); got != c.isUnchanged {
			t.Errorf("%s: the stored rows are kept: %v, want %v", name, got, c.isUnchanged)
		}
	}
}
