package pipeline_test

import (
	"testing"

	"placementsync/internal/fetch"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
)

// TestEveryShapeOfAnEnvelope reads worlds in which all endpoints whose envelope
// the spec does not show answer in one and the same shape.
func TestEveryShapeOfAnEnvelope(t *testing.T) {
	for name, c := range map[string]struct {
		envelope sim.Envelope
		paged    bool
	}{
		"paginated":        {envelope: sim.EnvelopePaginated},
		"bare arrays":      {envelope: sim.EnvelopeArray},
		"records alone":    {envelope: sim.EnvelopeRecords},
		"arrays in pages":  {sim.EnvelopeArray, true},
		"records in pages": {sim.EnvelopeRecords, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world := smallWorld()
			world.Envelope, world.PageUntotalled = c.envelope, c.paged
			h := newHouse(t, world)
			h.cfg.Fetch.PageSize = 3
			ref := newReference(t, h.service, h.cfg.Streams)
			res := h.goodNight()
			h.requireValues(ref)
			for _, s := range h.cfg.Streams {
				h.requireStream(res.Run, s.Name, fetch.Exact, "")
				if s.Envelope == stream.Sniffed && streamOf(t, res.Run, s.Name).Rows == 0 {
					t.Errorf("%s brought no record, so that its envelope was not tried", s.Name)
				}
			}
		})
	}
}
