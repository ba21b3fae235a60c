package load

import (
	"context"
	"database/sql/driver"
	"fmt"

	"placementsync/internal/stream"
)

// EventRow is a new webhook event with its outcome.
type EventRow struct {
	// The body of Event is valid UTF-8.
	stream.Event
	// BodySum is the SHA-256 of the exact body, in hex.
	BodySum string
	Outcome string
	// Withheld is set when the body must not be stored.
	Withheld bool
}

// Outcomes of an event.
const (
	EventStored   = "stored"        // the event became a row of its stream's table
	EventRejected = "rejected"      // the body was rejected
	EventUnknown  = "unknown_topic" // no stream has the topic
)

// Events stages webhook events.
type Events struct{ *staging }

// Known returns the given ids that are in meta.webhook_events or are staged for this table.
func (e *Events) Known(ctx context.Context, ids []string) (map[string]bool, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	if err := e.flush(ctx, allStreams); err != nil {
		return nil, err
	}
	known, err := queryTextSet(ctx, e.draft, eventsSQL.Render("known_events", values{"ids": ids}))
	if err != nil {
		return nil, fmt.Errorf("look up known events: %w", err)
	}
	return known, nil
}

// Add stages new events for meta.webhook_events.
func (e *Events) Add(ctx context.Context, events []EventRow) error {
	return appendRows(ctx, e.staging, "main", "events", events, func(e EventRow) []driver.Value {
		return []driver.Value{e.ID, textOrNull(e.Topic), textOrNull(e.Source), textOrNull(e.Sent), e.Received.UnixMicro(), e.Outcome,
			nullIf(e.Withheld, string(e.Body)), e.BodySum, e.Seq}
	})
}

// Write writes the staged events into meta.webhook_events, in the order of the inbox.
func (e *Events) Write(ctx context.Context) error {
	if err := e.flush(ctx, allStreams); err != nil {
		return err
	}
	if err := e.draft.Exec(ctx, eventsSQL.Render("write_events", values{"run": e.draft.Run})); err != nil {
		return fmt.Errorf("write the events: %w", err)
	}
	return nil
}

// HasRows reports whether a table of main has rows.
func (e *Events) HasRows(ctx context.Context, table string) (bool, error) {
	has, err := hasRows(ctx, e.draft, mainTable(table))
	if err != nil {
		return false, fmt.Errorf("read table %s: %w", table, err)
	}
	return has, nil
}

// PublishedRuns returns the published runs on which the draft is based. It omits runs that were rolled back
// or replayed.
func (e *Events) PublishedRuns(ctx context.Context) (map[string]bool, error) {
	runs, err := queryTextSet(ctx, e.draft, eventsSQL.Render("published_runs", nil))
	if err != nil {
		return nil, fmt.Errorf("read meta.runs: %w", err)
	}
	return runs, nil
}
