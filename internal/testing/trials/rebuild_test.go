package trials_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/pipeline"
	"placementsync/internal/stream"
)

// TestTrialRebuildGivesTheSameHistory rebuilds the catalog from the Parquet series of several
// nights, one a day. TestTrialRestoreEqualsTheOriginal does so with every table.
func TestTrialRebuildGivesTheSameHistory(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	h := newHouse(t, smallWorld(), some()...)
	for range 4 {
		h.goodNight()
	}
	before := h.histories()
	details := h.one("SELECT string_agg(stream || id || coalesce(fingerprint, ''), ',' ORDER BY stream, id) FROM meta.details")

	h.at = h.at.Add(time.Hour)
	r, err := pipeline.Rebuild(t.Context(), h.cfg, false)
	must(t, err)
	if r.Snapshots != 4 || h.latest() != r.Manifest.RunID {
		t.Errorf("%d snapshots were replayed into %s, latest is %s", r.Snapshots, r.Manifest.RunID, h.latest())
	}
	if diff := cmp.Diff(before, h.histories()); diff != "" {
		t.Errorf("the rebuilt history differs (-before +after):\n%s", diff)
	}
	if got := h.one("SELECT string_agg(stream || id || coalesce(fingerprint, ''), ',' ORDER BY stream, id) FROM meta.details"); got != details {
		t.Error("meta.details was not restored")
	}
	h.cfg.Details = "changed"
	res := h.goodNight()
	if res.Run.Changed+res.Run.New == 0 || res.Run.New > 100 {
		t.Errorf("the next night found %d new and %d changed rows", res.Run.New, res.Run.Changed)
	}
}

func TestTrialRebuildWorksWithoutACatalog(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	h := newHouse(t, smallWorld(), few()...)
	h.goodNight()
	h.goodNight()
	before := h.histories()
	must(t, os.RemoveAll(h.path("versions")))
	must(t, os.Remove(h.path("latest")))
	h.at = h.at.Add(time.Hour)
	_, err := pipeline.Rebuild(t.Context(), h.cfg, false)
	must(t, err)
	if diff := cmp.Diff(before, h.histories()); diff != "" {
		t.Errorf("the rebuilt history differs (-before +after):\n%s", diff)
	}
}

// histories returns a checksum of every table's history.
func (h *house) histories() map[string]string {
	h.t.Helper()
	all := map[string]string{}
	for _, table := range stream.Tables(h.cfg.Streams) {
		all[table.Name] = h.one(fmt.Sprintf(`SELECT count(*) || ' ' || coalesce(md5(string_agg(row_text, chr(10) ORDER BY row_text)), '')
			FROM (SELECT to_json(x)::VARCHAR AS row_text FROM history.%s x)`, table.Name))
	}
	return all
}
