package load_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// TestEventsAreToldApartByTheirIDs stages the ids of events in the order of an inbox, and
// wants the places of those that are new.
func TestEventsAreToldApartByTheirIDs(t *testing.T) {
	at := func(seconds int) time.Time { return night.Add(time.Duration(seconds) * time.Second) }
	type arrival struct {
		id      string
		seconds int
	}
	for name, c := range map[string]struct {
		stored []string // by an earlier night
		inbox  []arrival
		want   []uint64
	}{
		"all are new, in the order of the inbox": {nil, []arrival{{"b", 1}, {"a", 2}, {"c", 0}}, []uint64{1, 2, 3}},
		"known ones":                             {[]string{"a", "c"}, []arrival{{"a", 1}, {"b", 2}, {"c", 3}}, []uint64{2}},
		"one came twice":                         {nil, []arrival{{"a", 1}, {"b", 2}, {"a", 3}}, []uint64{1, 2}},
		"the second was received first":          {nil, []arrival{{"a", 5}, {"b", 2}, {"a", 3}}, []uint64{2, 3}},
		"both at once":                           {nil, []arrival{{"a", 5}, {"a", 5}, {"b", 5}}, []uint64{1, 3}},
		"a known one came twice":                 {[]string{"a"}, []arrival{{"a", 1}, {"a", 0}}, nil},
		"nothing waits":                          {[]string{"a"}, nil, nil},
		"ids that SQL could misread":             {[]string{"'"}, []arrival{{"'", 1}, {`"`, 1}, {"", 1}}, []uint64{2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, "article_status_events")
			var stored []load.EventRow
			for i, id := range c.stored {
				stored = append(stored, load.EventRow{Event: stream.Event{ID: id, Received: night, Seq: uint64(i + 1)}, Outcome: load.EventUnknown})
			}
			h.merged = func(s *load.Stage, _ *warehouse.Draft, _ map[string]load.Coverage, _ []load.Change) {
				must(t, s.Events.Add(t.Context(), stored))
				must(t, s.Events.Write(t.Context()))
			}
			_, err := h.run(nil, load.Limits{})
			must(t, err)
			h.merged = nil
			h.staged = func(s *load.Stage, _ *warehouse.Draft) {
				for i, one := range c.inbox { // one batch each
					must(t, s.Events.AddIDs(t.Context(), []stream.Event{{ID: one.id, Received: at(one.seconds), Seq: uint64(i + 1)}}))
				}
				places, err := s.Events.FindNew(t.Context())
				must(t, err)
				var got []uint64
				for _, place := range places {
					if got = append(got, place.Seq); place.ID != c.inbox[place.Seq-1].id {
						t.Errorf("event %q stands at %d, where %q is", place.ID, place.Seq, c.inbox[place.Seq-1].id)
					}
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("new are %v, want %v", got, c.want)
				}
			}
			_, err = h.run(nil, load.Limits{})
			must(t, err)
		})
	}
}

// TestManyEventIDsFitIntoTheMemory stages 200,000 ids, each of which came twice.
func TestManyEventIDsFitIntoTheMemory(t *testing.T) {
	requireTrials(t)
	const each, batches = 2_000, 100
	h := newHouse(t, "article_status_events")
	h.staged = func(s *load.Stage, _ *warehouse.Draft) {
		seq := uint64(0)
		for range 2 {
			for i := range batches {
				events := make([]stream.Event, each)
				for n := range events {
					seq++
					events[n] = stream.Event{ID: "event-with-a-long-id-" + time.Duration(i*each+n).String(), Received: night, Seq: seq}
				}
				must(t, s.Events.AddIDs(t.Context(), events))
			}
		}
		places, err := s.Events.FindNew(t.Context())
		must(t, err)
		if len(places) != each*batches || places[0].Seq != 1 || places[len(places)-1].Seq != each*batches ||
			!slices.IsSortedFunc(places, func(a, b load.EventPlace) int { return cmp.Compare(a.Seq, b.Seq) }) {
			t.Errorf("%d places from %v to %v", len(places), places[0], places[len(places)-1])
		}
	}
	_, err := h.run(nil, load.Limits{})
	must(t, err)
}

// TestEventsAreWrittenWithWhatBecameOfThem compares every column of meta.webhook_events.
func TestEventsAreWrittenWithWhatBecameOfThem(t *testing.T) {
	received := time.Date(2026, 10, 31, 23, 59, 59, 123456000, time.UTC)
	h := newHouse(t, "article_status_events")
	h.merged = func(s *load.Stage, _ *warehouse.Draft, _ map[string]load.Coverage, _ []load.Change) {
		for _, e := range []load.EventRow{
			{Event: stream.Event{ID: "late", Topic: "t", Source: "s", Sent: "2026-10-31T20:00:00+02:00", Received: received, Body: []byte(`{"a":1}`), Seq: 3},
				BodySum: "abc", Outcome: load.EventStored},
			{Event: stream.Event{ID: "bare", Sent: "yesterday", Received: received, Seq: 1}, BodySum: "def", Outcome: load.EventUnknown},
			{Event: stream.Event{ID: "private", Topic: "t", Received: received, Body: []byte("secret"), Seq: 2}, BodySum: "012", Outcome: load.EventRejected, Withheld: true},
		} {
			must(t, s.Events.Add(t.Context(), []load.EventRow{e}))
		}
		must(t, s.Events.Write(t.Context()))
	}
	_, err := h.run(nil, load.Limits{})
	must(t, err)
	h.want("SELECT event_id, topic, source, strftime(sent_at, '%d %H:%M'), strftime(received_at, '%d %H:%M:%S.%f'), outcome, body, body_sha256, run_id FROM meta.webhook_events ORDER BY rowid",
		"bare <nil> <nil> <nil> 31 23:59:59.123456 unknown_topic  def 20261101T020000Z",
		"private t <nil> <nil> 31 23:59:59.123456 rejected <nil> 012 20261101T020000Z",
		`late t s 31 18:00 31 23:59:59.123456 stored {"a":1} abc 20261101T020000Z`)
}

// TestLineageNamesTheRunsThatPublished leaves out runs without a snapshot.
func TestLineageNamesTheRunsThatPublished(t *testing.T) {
	h := newHouse(t, "article_status_events")
	h.merged = func(s *load.Stage, d *warehouse.Draft, _ map[string]load.Coverage, _ []load.Change) {
		must(t, s.Findings.WriteNotes(t.Context(), load.Notes{Run: ledger.Run{ID: d.Run, StartedAt: d.At, SnapshotAt: d.At},
			Ledger: []ledger.Run{{ID: "failed", StartedAt: d.At, SnapshotAt: d.At}}}))
	}
	for range 2 {
		_, err := h.run(nil, load.Limits{})
		must(t, err)
	}
	h.merged = nil
	h.staged = func(s *load.Stage, _ *warehouse.Draft) {
		runs, err := s.Events.Lineage(t.Context())
		must(t, err)
		if len(runs) != 2 || !runs["20261101T020000Z"] || !runs["20261102T020000Z"] {
			t.Errorf("lineage is %v", runs)
		}
		some, err := s.Events.HasRows(t.Context(), "article_status_events")
		if err != nil || some {
			t.Errorf("the table has rows: %t, %v", some, err)
		}
	}
	_, err := h.run(nil, load.Limits{})
	must(t, err)
}
