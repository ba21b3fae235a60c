package pipeline

import (
	"sync"

	"placementsync/internal/stream"
	"placementsync/internal/transform"
)

// maxDriftEntries limits the drift entries of a night. Otherwise a service that uses ids as field
// names could fill the memory.
const maxDriftEntries = 20_000

// drift collects the schema drift that all decoders find.
type drift struct {
	mu      sync.Mutex
	numbers map[driftKey]int
	entries []stream.Drift
	// first contains the place of the first record of each entry.
	first []transform.Place
}

type driftKey struct{ table, path, kind string }

func newDrift() *drift { return &drift{numbers: map[driftKey]int{}} }

// addFindings merges the drift that one decoder found. It returns the records with drift.
func (d *drift) addFindings(found transform.Findings) []stream.DriftRecord {
	d.mu.Lock()
	defer d.mu.Unlock()
	numbers := make([]int, len(found.Drift))
	for i, entry := range found.Drift {
		numbers[i] = d.entryNumber(entry)
	}
	for i := range found.Records {
		found.Records[i].DriftIndex = numbers[found.Records[i].DriftIndex]
	}
	return found.Records
}

// entryNumber returns the index of an entry in d.entries. It adds the entry if it is new. Beyond
// maxDriftEntries, all new paths of one table and kind share an entry.
func (d *drift) entryNumber(entry transform.Drift) int {
	key := driftKey{entry.Table, entry.Path, entry.Kind}
	i, ok := d.numbers[key]
	if !ok && len(d.numbers) >= maxDriftEntries {
		key.path = "…"
		i, ok = d.numbers[key]
	}
	if !ok {
		i = len(d.entries)
		d.numbers[key] = i
		d.entries = append(d.entries, stream.Drift{})
		d.first = append(d.first, entry.First)
	}
	if !ok || entry.First.Before(d.first[i]) {
		d.first[i] = entry.First
		d.entries[i] = entry.Drift
		d.entries[i].Path = key.path
	}
	return i
}
