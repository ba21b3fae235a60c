package main

import (
	"slices"
	"testing"
)

// TestSnapshotOfAnotherProgramIsReported changes the current snapshot, but no tag or property, as
// rollback_to_snapshot of Spark does. status and verify must report it, and the next publish
// must repair it.
func TestSnapshotOfAnotherProgramIsReported(t *testing.T) {
	h := newFixture(t, 2)
	p := h.publish("--all")
	h.editMetadata("placements_current", "product_listings", func(m map[string]any) {
		refs := m["refs"].(map[string]any)
		oldSnapshotID := refs["run_"+p[0].Run].(map[string]any)["snapshot-id"]
		refs["main"].(map[string]any)["snapshot-id"], m["current-snapshot-id"] = oldSnapshotID, oldSnapshotID
		delete(m, "snapshot-log")
	})
	if s := h.status(); !s.Behind || s.Run != p[1].Run {
		t.Errorf("status: behind %v, run %s; want true, %s", s.Behind, s.Run, p[1].Run)
	}
	if got := h.run("verify"); got.code != 3 {
		t.Errorf("verify: got %+v, want exit code 3", got)
	}
	if repaired := h.publish(); repaired[0].AlreadyPublished || repaired[0].Run != p[1].Run {
		t.Errorf("published %+v, want %s again", repaired, p[1].Run)
	}
	h.requireEqualTables(p[0].Run)
	h.requireEqualTables(h.shownRun())
	if s := h.status(); s.Behind {
		t.Errorf("the lake is still behind: %+v", s)
	}
	if again := h.publish(); !again[0].AlreadyPublished {
		t.Errorf("a publish after the repair returned %+v, want already published", again)
	}
}

// TestStatusOmitsPartlyTaggedNights removes the tag of a night from one table. status must omit
// the night, because readers cannot select it in every table.
func TestStatusOmitsPartlyTaggedNights(t *testing.T) {
	h := newFixture(t, 2)
	p := h.publish("--all")
	h.editMetadata("placements_current", "product_listings", func(m map[string]any) { delete(m["refs"].(map[string]any), "run_"+p[0].Run) })
	if s := h.status(); !slices.Equal(s.Nights, []string{p[1].Run}) {
		t.Errorf("status lists the nights %v, want only %s", s.Nights, p[1].Run)
	}
}
