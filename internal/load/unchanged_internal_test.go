package load

import "testing"

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
