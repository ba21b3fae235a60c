package pipeline

import (
	"fmt"
	"sync"

	"placementsync/internal/load"
	"placementsync/internal/stream"
	"placementsync/internal/transform"
)

// maxDriftEntries limits the drift entries of a night. maxDriftSets limits the sets of entries that
// occur together in a record. Otherwise a service that uses ids as names could fill the memory.
const (
	maxDriftEntries = 20_000
	maxDriftSets    = 20_000
)

// drift collects the schema drift that all decoders find.
type drift struct {
	mu      sync.Mutex
	entries map[driftKey]int
	// first is the place of the first record with each entry.
	first []transform.Place
	sets  map[string]int
	night load.Drifts
}

type driftKey struct{ table, path, kind string }

func newDrift() *drift { return &drift{entries: map[driftKey]int{}, sets: map[string]int{}} }

// addFindings merges the drift that one decoder found. It returns the records with drift, each
// with the number of its set in this night.
func (d *drift) addFindings(found transform.Findings) []stream.DriftCarrier {
	d.mu.Lock()
	defer d.mu.Unlock()
	entries := make([]int, len(found.Drift))
	for i, one := range found.Drift {
		entries[i] = d.entryNumber(one)
	}
	sets := make([][]int, len(found.Sets))
	var carriers []stream.DriftCarrier
	for _, c := range found.Carriers {
		if sets[c.Set] == nil {
			sets[c.Set] = d.setNumbers(found.Sets[c.Set], entries)
		}
		for _, set := range sets[c.Set] {
			carriers = append(carriers, stream.DriftCarrier{Set: set, Record: c.Record})
		}
	}
	return carriers
}

// entryNumber returns the number of an entry, and adds a new entry. Beyond maxDriftEntries, new
// entries of one table and kind share an entry.
func (d *drift) entryNumber(one transform.Drift) int {
	key := driftKey{one.Table, one.Path, one.Kind}
	i, ok := d.entries[key]
	if !ok && len(d.entries) >= maxDriftEntries {
		key.path = "…"
		i, ok = d.entries[key]
	}
	if !ok {
		i = len(d.night.All)
		d.entries[key] = i
		d.night.All = append(d.night.All, stream.Drift{})
		d.first = append(d.first, one.First)
	}
	if !ok || one.First.Before(d.first[i]) {
		d.first[i] = one.First
		d.night.All[i] = one.Drift
		d.night.All[i].Path = key.path
	}
	return i
}

// setNumbers returns the number of a set of entries, and adds a new set. Beyond maxDriftSets it
// returns one set per member instead. set contains indexes into entries.
func (d *drift) setNumbers(set, entries []int) []int {
	members := make([]int, len(set))
	for i, at := range set {
		members[i] = entries[at]
	}
	key := fmt.Sprint(members)
	if i, ok := d.sets[key]; ok {
		return []int{i}
	}
	if len(members) > 1 && len(d.sets) >= maxDriftSets {
		var single []int
		for i := range set {
			single = append(single, d.setNumbers(set[i:i+1], entries)...)
		}
		return single
	}
	d.sets[key] = len(d.night.Sets)
	d.night.Sets = append(d.night.Sets, members)
	return []int{d.sets[key]}
}
