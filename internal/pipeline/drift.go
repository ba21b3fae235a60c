package pipeline

import (
	"sync"

	"placementsync/internal/stream"
	"placementsync/internal/transform"
)

// maxDrifts limits the number of different drifts of a night. Otherwise a service that uses ids
// as field names could fill the memory.
const maxDrifts = 20_000

type driftCollector struct {
	mu          sync.Mutex
	indexOf     map[driftKey]int // an index into drifts and firstPlaces
	drifts      []stream.Drift
	firstPlaces []transform.Place // of the first record of each drift
}

type driftKey struct{ table, path, kind string }

func newDriftCollector() *driftCollector { return &driftCollector{indexOf: map[driftKey]int{}} }

func (c *driftCollector) addFindings(findings transform.Findings) []stream.DriftRecord {
	c.mu.Lock()
	defer c.mu.Unlock()
	indexes := make([]int, len(findings.Drift))
	for i, d := range findings.Drift {
		indexes[i] = c.addDrift(d)
	}
	for i := range findings.DriftRecords {
		findings.DriftRecords[i].DriftIndex = indexes[findings.DriftRecords[i].DriftIndex]
	}
	return findings.DriftRecords
}

// addDrift returns the index of a drift. If there are maxDrifts, all further paths of a table and kind share the
// path "…".
func (c *driftCollector) addDrift(d transform.Drift) int {
	key := driftKey{d.Table, d.Path, d.Kind}
	i, ok := c.indexOf[key]
	if !ok && len(c.indexOf) >= maxDrifts {
		key.path = "…"
		i, ok = c.indexOf[key]
	}
	if !ok {
		i = len(c.drifts)
		c.indexOf[key] = i
		c.drifts = append(c.drifts, stream.Drift{})
		c.firstPlaces = append(c.firstPlaces, d.First)
	}
	if !ok || d.First.Before(c.firstPlaces[i]) {
		c.firstPlaces[i] = d.First
		c.drifts[i] = d.Drift
		c.drifts[i].Path = key.path
	}
	return i
}
