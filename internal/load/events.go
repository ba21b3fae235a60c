package load

import (
	"context"
	"fmt"

	"placementsync/internal/stream"
)

// EventRow is a new webhook event with what became of it.
type EventRow struct {
	// The body of the event is valid UTF-8.
	stream.Event
	// BodySum is the SHA-256 of the exact body, in hex.
	BodySum string
	Outcome string
	// Withheld bodies are not stored.
	Withheld bool
}

// What became of an event: it is a row of its stream, it did not fit, or no stream
// has its topic.
const (
	EventStored   = "stored"
	EventRejected = "rejected"
	EventUnknown  = "unknown_topic"
)

const (
	eventIDTable sqlText = "stage.event_ids"
	eventTable   sqlText = "stage.events"
)

// eventIDColumns and eventColumns are those of eventIDTable and eventTable.
var (
	eventIDColumns = []column[stream.Event]{
		textColumn("event_id", func(e stream.Event) string { return e.ID }),
		intColumn("received_at", func(e stream.Event) int64 { return e.Received.UnixMicro() }),
		uintColumn(stream.Seq, func(e stream.Event) uint64 { return e.Seq }),
	}
	eventColumns = []column[EventRow]{
		textColumn("event_id", func(e EventRow) string { return e.ID }),
		textOrNull("topic", func(e EventRow) string { return e.Topic }),
		textOrNull("source", func(e EventRow) string { return e.Source }),
		textOrNull("sent_at", func(e EventRow) string { return e.Sent }),
		intColumn("received_at", func(e EventRow) int64 { return e.Received.UnixMicro() }),
		textColumn("outcome", func(e EventRow) string { return e.Outcome }),
		orNull(textColumn("body", func(e EventRow) string { return string(e.Body) }), func(e EventRow) bool { return e.Withheld }),
		textColumn("body_sha256", func(e EventRow) string { return e.BodySum }),
		uintColumn(stream.Seq, func(e EventRow) uint64 { return e.Seq }),
	}
)

// Events stages webhook events.
type Events struct{ stage *staging }

// AddIDs stages the ids of events as the inbox has them, known ones too.
func (e *Events) AddIDs(ctx context.Context, events []stream.Event) error {
	return insertRows(ctx, e.stage, eventIDTable, eventIDColumns, events)
}

// EventPlace is where an event stands in the inbox.
type EventPlace struct {
	Seq uint64
	ID  string
}

// FindNew lists the places in the inbox, ascending, of the events that no earlier night
// has: of several deliveries of one event the first.
func (e *Events) FindNew(ctx context.Context) ([]EventPlace, error) {
	if err := e.stage.settle(ctx); err != nil {
		return nil, err
	}
	var places []EventPlace
	err := eachRow(ctx, e.stage.draft, []sqlText{eventsSQL.Render("new_events", nil)}, func(scan func(...any) error) error {
		var place EventPlace
		err := scan(&place.Seq, &place.ID)
		places = append(places, place)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find the new events: %w", err)
	}
	return places, nil
}

// Add stages new events for meta.webhook_events.
func (e *Events) Add(ctx context.Context, events []EventRow) error {
	return insertRows(ctx, e.stage, eventTable, eventColumns, events)
}

// Write writes the staged events into meta.webhook_events, in the order of the inbox.
func (e *Events) Write(ctx context.Context) error {
	if err := e.stage.settle(ctx); err != nil {
		return err
	}
	if err := execute(ctx, e.stage.draft, eventsSQL.Render("write_events", values{"run": e.stage.draft.Run})); err != nil {
		return fmt.Errorf("write the events: %w", err)
	}
	return nil
}

// HasRows reports whether a table of main has any.
func (e *Events) HasRows(ctx context.Context, table string) (bool, error) {
	some, err := hasRows(ctx, e.stage.draft, mainTable(table))
	if err != nil {
		return false, fmt.Errorf("look into table %s: %w", table, err)
	}
	return some, nil
}

// Lineage lists the runs whose snapshots led to the draft. A run that was rolled back,
// replayed or did not publish is not among them.
func (e *Events) Lineage(ctx context.Context) (map[string]bool, error) {
	runs, err := queryTextSet(ctx, e.stage.draft, eventsSQL.Render("lineage", nil))
	if err != nil {
		return nil, fmt.Errorf("read meta.runs: %w", err)
	}
	return runs, nil
}
