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

// KnownEvents returns the given ids that are in meta.webhook_events or are staged for this table.
func (s *Stage) KnownEvents(ctx context.Context, ids []string) (map[string]bool, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	if err := s.flush(ctx, allStreams); err != nil {
		return nil, err
	}
	known, err := queryTextSet(ctx, s.draft, eventsSQL.Render("known_events", values{"ids": ids}))
	if err != nil {
		return nil, fmt.Errorf("look up known events: %w", err)
	}
	return known, nil
}

// AddEvents stages new events for meta.webhook_events.
func (s *Stage) AddEvents(ctx context.Context, events []EventRow) error {
	return appendRows(ctx, s, "main", "events", events, func(e EventRow) []driver.Value {
		return []driver.Value{e.ID, textOrNull(e.Topic), textOrNull(e.Source), textOrNull(e.Sent), e.Received.UnixMicro(), e.Outcome,
			nullIf(e.Withheld, string(e.Body)), e.BodySum, e.Seq}
	})
}

// WriteEvents writes the staged events into meta.webhook_events, in the order of the inbox.
func (s *Stage) WriteEvents(ctx context.Context) error {
	if err := s.flush(ctx, allStreams); err != nil {
		return err
	}
	if err := s.draft.Exec(ctx, eventsSQL.Render("write_events", values{"run": s.draft.Run})); err != nil {
		return fmt.Errorf("write the events: %w", err)
	}
	return nil
}

// HasRows reports whether a table of main has rows.
func (s *Stage) HasRows(ctx context.Context, table string) (bool, error) {
	has, err := hasRows(ctx, s.draft, mainTable(table))
	if err != nil {
		return false, fmt.Errorf("read table %s: %w", table, err)
	}
	return has, nil
}

// PublishedRuns returns the published runs on which the draft is based. It omits runs that were rolled back
// or replayed.
func (s *Stage) PublishedRuns(ctx context.Context) (map[string]bool, error) {
	runs, err := queryTextSet(ctx, s.draft, eventsSQL.Render("published_runs", nil))
	if err != nil {
		return nil, fmt.Errorf("read meta.runs: %w", err)
	}
	return runs, nil
}
