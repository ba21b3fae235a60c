package faults_test

import (
	"testing"

	"placementsync/internal/sim"
	"placementsync/internal/stream"
	"placementsync/internal/testing/trials"
)

// TestTrialEveryEnvelopeIsRead reads lists in every envelope and with every type of token. An
// envelope is the JSON around the records of a response. The spec does not show the envelopes of
// some endpoints. In each subtest, these endpoints have the envelope of the case.
func TestTrialEveryEnvelopeIsRead(t *testing.T) {
	for name, c := range map[string]struct {
		envelope           sim.Envelope
		tokenType          string
		pagesWithoutTotals bool
		streams            []string
	}{
		"paginated":    {envelope: sim.EnvelopePaginated, tokenType: "full_access"},
		"bare arrays":  {envelope: sim.EnvelopeArray, tokenType: "read_only"},
		"records only": {envelope: sim.EnvelopeRecords, tokenType: "custom"},
		"arrays in pages": {envelope: sim.EnvelopeArray, tokenType: "read_only", pagesWithoutTotals: true,
			streams: append(streamsWithUnknownEnvelope(), "outlet_listings", "outlets")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world := trials.SmallWorld()
			world.Envelope, world.PagesWithoutTotals, world.TokenType = c.envelope, c.pagesWithoutTotals, c.tokenType
			if c.tokenType == "full_access" {
				world.Scopes, world.ArticleNeedsFullAccess = []string{}, true
			}
			h := trials.NewHarness(t, world, c.streams...)
			h.Config.Fetch.PageSize = 3
			ref := trials.NewReference(t, h.Service, h.Config.Streams)
			res := h.GoodNight()
			h.RequireValues(ref)
			for _, s := range h.Config.Streams {
				h.RequireStream(res.Run, s.Name, stream.Exact, "")
				if s.Envelope == stream.Sniffed && trials.StreamOf(t, res.Run, s.Name).Rows == 0 {
					t.Errorf("%s has no rows, want some to test its envelope", s.Name)
				}
			}
		})
	}
}

// streamsWithUnknownEnvelope returns the streams whose envelope the spec does not show.
func streamsWithUnknownEnvelope() []string {
	var names []string
	for _, s := range stream.All() {
		if s.Envelope == stream.Sniffed {
			names = append(names, s.Name)
		}
	}
	return names
}
