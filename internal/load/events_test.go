package load_test

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"testing"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// TestEventsAreKnownByTheirIDs looks up ids of events that an earlier night stored, and ids of events
// that the current night has staged.
func TestEventsAreKnownByTheirIDs(t *testing.T) {
	h := newRaceFixture(t, "article_status_events")
	add := func(s *load.Stage, ids ...string) {
		var rows []load.EventRow
		for i, id := range ids {
			rows = append(rows, load.EventRow{Event: stream.Event{ID: id, Received: night, Seq: uint64(i + 1)}, Outcome: load.EventUnknown})
		}
		harness.Must(t, s.AddEvents(t.Context(), rows))
	}
	h.afterMerge = func(s *load.Stage, _ *warehouse.Draft, _ map[string]load.Coverage, _ []load.Change) {
		add(s, "stored", "'")
		harness.Must(t, s.WriteEvents(t.Context()))
	}
	_, err := h.run(nil, load.Limits{})
	harness.Must(t, err)
	h.afterMerge = nil
	h.check(nil, func(s *load.Stage, _ *warehouse.Draft) {
		for _, ids := range [][]string{{"staged", `"`}, {"staged later"}} {
			add(s, ids...)
		}
		for name, c := range map[string]struct{ ids, want []string }{
			"stored by an earlier night":   {[]string{"stored", "another"}, []string{"stored"}},
			"staged by this night":         {[]string{"staged later", "Staged", "staged"}, []string{"staged", "staged later"}},
			"the same id twice":            {[]string{"stored", "stored"}, []string{"stored"}},
			"ids that SQL could misread":   {[]string{"'", `"`, "", "''", "{ids}"}, []string{`"`, "'"}},
			"no ids":                       {nil, nil},
			"5000 new ids":                 {slices.Collect(numberedIDs(5000)), nil},
			"5000 new ids and a known one": {append(slices.Collect(numberedIDs(5000)), "stored"), []string{"stored"}},
		} {
			known, err := s.KnownEvents(t.Context(), c.ids)
			harness.Must(t, err)
			if got := slices.Sorted(maps.Keys(known)); !slices.Equal(got, c.want) {
				t.Errorf("%s: known ids are %q, want %q", name, got, c.want)
			}
		}
	})
}

func numberedIDs(n int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range n {
			if !yield(fmt.Sprintf("event-with-a-long-id-%d", i)) {
				return
			}
		}
	}
}

// TestEventsAreWrittenWithTheirOutcome compares every column of meta.webhook_events.
func TestEventsAreWrittenWithTheirOutcome(t *testing.T) {
	received := time.Date(2026, 10, 31, 23, 59, 59, 123456000, time.UTC)
	h := newFixture(t, "article_status_events")
	h.afterMerge = func(s *load.Stage, _ *warehouse.Draft, _ map[string]load.Coverage, _ []load.Change) {
		for _, e := range []load.EventRow{
			{Event: stream.Event{ID: "late", Topic: "t", Source: "s", Sent: "2026-10-31T20:00:00+02:00", Received: received, Body: []byte(`{"a":1}`), Seq: 3},
				BodySum: "abc", Outcome: load.EventStored},
			{Event: stream.Event{ID: "minimal", Sent: "yesterday", Received: received, Seq: 1}, BodySum: "def", Outcome: load.EventUnknown},
			{Event: stream.Event{ID: "private", Topic: "t", Received: received, Body: []byte("secret"), Seq: 2}, BodySum: "012", Outcome: load.EventRejected, Withheld: true},
		} {
			harness.Must(t, s.AddEvents(t.Context(), []load.EventRow{e}))
		}
		harness.Must(t, s.WriteEvents(t.Context()))
	}
	_, err := h.run(nil, load.Limits{})
	harness.Must(t, err)
	h.requireRows("SELECT event_id, topic, source, strftime(sent_at, '%d %H:%M'), strftime(received_at, '%d %H:%M:%S.%f'), outcome, body, body_sha256, run_id FROM meta.webhook_events ORDER BY rowid",
		"minimal <nil> <nil> <nil> 31 23:59:59.123456 unknown_topic  def 20261101T020000Z",
		"private t <nil> <nil> 31 23:59:59.123456 rejected <nil> 012 20261101T020000Z",
		`late t s 31 18:00 31 23:59:59.123456 stored {"a":1} abc 20261101T020000Z`)
}

// TestPublishedRunsOmitFailedRuns publishes two nights, with a failed run in the ledger.
func TestPublishedRunsOmitFailedRuns(t *testing.T) {
	h := newFixture(t, "article_status_events")
	h.afterMerge = func(s *load.Stage, d *warehouse.Draft, _ map[string]load.Coverage, _ []load.Change) {
		harness.Must(t, s.WriteSummary(t.Context(), load.Summary{Run: ledger.Run{ID: d.Run, StartedAt: d.At, SnapshotAt: d.At},
			Ledger: []ledger.Run{{ID: "failed", StartedAt: d.At, SnapshotAt: d.At}}}))
	}
	for range 2 {
		_, err := h.run(nil, load.Limits{})
		harness.Must(t, err)
	}
	h.afterMerge = nil
	h.check(nil, func(s *load.Stage, _ *warehouse.Draft) {
		runs, err := s.PublishedRuns(t.Context())
		harness.Must(t, err)
		if len(runs) != 2 || !runs["20261101T020000Z"] || !runs["20261102T020000Z"] {
			t.Errorf("published runs are %v, want the runs of the two nights", runs)
		}
		has, err := s.HasRows(t.Context(), "article_status_events")
		if err != nil || has {
			t.Errorf("HasRows returned %t, %v, want false", has, err)
		}
	})
}
