package load

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// Event is a new webhook event with what became of it.
type Event struct {
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

// eventIDColumns and eventColumns are those of stage.event_ids and stage.events.
var (
	eventIDColumns = []column[stream.Event]{
		textColumn("event_id", func(e stream.Event) string { return e.ID }),
		intColumn("received_at", func(e stream.Event) int64 { return e.Received.UnixMicro() }),
		uintColumn(stream.Seq, func(e stream.Event) uint64 { return e.Seq }),
	}
	eventColumns = []column[Event]{
		textColumn("event_id", func(e Event) string { return e.ID }),
		textOrNull("topic", func(e Event) string { return e.Topic }),
		textOrNull("source", func(e Event) string { return e.Source }),
		textOrNull("sent_at", func(e Event) string { return e.Sent }),
		intColumn("received_at", func(e Event) int64 { return e.Received.UnixMicro() }),
		textColumn("outcome", func(e Event) string { return e.Outcome }),
		orNull(textColumn("body", func(e Event) string { return string(e.Body) }), func(e Event) bool { return e.Withheld }),
		textColumn("body_sha256", func(e Event) string { return e.BodySum }),
		uintColumn(stream.Seq, func(e Event) uint64 { return e.Seq }),
	}
)

// AddEventIDs stages the ids of events as the inbox has them, known ones too.
func (s *Stage) AddEventIDs(ctx context.Context, events []stream.Event) error {
	return insertRows(ctx, s, "stage.event_ids", eventIDColumns, events)
}

// NewEvents lists the places in the inbox, ascending, of the events that no earlier
// night has: of several deliveries of one event the first.
func (s *Stage) NewEvents(ctx context.Context) ([]uint64, error) {
	if err := s.Settle(ctx); err != nil {
		return nil, err
	}
	var places []uint64
	err := s.draft.EachRow(ctx, []string{`SELECT seq FROM stage.event_ids ANTI JOIN meta.webhook_events USING (event_id)
		QUALIFY row_number() OVER (PARTITION BY event_id ORDER BY received_at, seq) = 1 ORDER BY seq`}, func(scan func(...any) error) error {
		var seq uint64
		err := scan(&seq)
		places = append(places, seq)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find the new events: %w", err)
	}
	return places, nil
}

// AddEvents stages new events for meta.webhook_events.
func (s *Stage) AddEvents(ctx context.Context, events []Event) error {
	return insertRows(ctx, s, "stage.events", eventColumns, events)
}

// WriteEvents writes the staged events into meta.webhook_events, in the order of the
// inbox.
func (s *Stage) WriteEvents(ctx context.Context) error {
	if err := s.Settle(ctx); err != nil {
		return err
	}
	err := s.draft.Exec(ctx, `INSERT INTO meta.webhook_events (event_id, topic, source, sent_at, received_at, outcome, body, body_sha256, run_id)
		SELECT event_id, topic, source, try_cast(sent_at AS TIMESTAMPTZ), make_timestamptz(received_at), outcome, body, body_sha256, `+
		warehouse.Literal(s.draft.Run)+` FROM stage.events ORDER BY seq`)
	if err != nil {
		return fmt.Errorf("write the events: %w", err)
	}
	return nil
}

// HasRows reports whether a table of main has any.
func (s *Stage) HasRows(ctx context.Context, table string) (bool, error) {
	var some bool
	err := s.draft.DB.QueryRowContext(ctx, fmt.Sprintf("SELECT EXISTS (FROM main.%s)", warehouse.Quote(table))).Scan(&some)
	if err != nil {
		return false, fmt.Errorf("look into table %s: %w", table, err)
	}
	return some, nil
}

// ofEvents reports whether events fill a table.
func (s *Stage) ofEvents(table string) bool {
	lists, _ := s.sources(table)
	return slices.ContainsFunc(lists, stream.Stream.IsEvents)
}

// nothingHeard is a query of what events touched, where none has come.
const nothingHeard = "SELECT NULL::VARCHAR AS id, NULL::TIMESTAMPTZ AS heard WHERE FALSE"

// heard gives what events touched. Where none is known, as with most partners,
// the query of it is left out: planning it for every stream would take longer
// than all else that a small night asks of DuckDB.
func (s *Stage) heard(ctx context.Context, life stream.Life) (string, error) {
	var some bool
	err := s.draft.DB.QueryRowContext(ctx, fmt.Sprintf("SELECT EXISTS (%s) OR EXISTS (%s)",
		s.known("article_status_events", "event_id"), s.known("article_comment_events", "event_id"))).Scan(&some)
	if err != nil || !some {
		return nothingHeard, err
	}
	return s.touched(life), nil
}

// touched gives, as SQL, the ids of campaigns or articles that events are about,
// with the time of the last one: what was read before that is read again, by
// whatever night succeeds in it. A comment's event names no article; where the
// comment, or the one that it answers, is known, it leads to one.
func (s *Stage) touched(life stream.Life) string {
	statuses := s.known("article_status_events", "article_id", "campaign_id", "received_at")
	comments := s.known("article_comment_events", "comment_id", "parent_comment_id", "received_at")
	articles := fmt.Sprintf(`SELECT article_id AS id, received_at AS heard FROM (%s)
		UNION ALL SELECT c.article_id, e.received_at FROM (SELECT comment_id AS id, received_at FROM (%[2]s)
			UNION ALL SELECT parent_comment_id, received_at FROM (%[2]s)) e JOIN (%[3]s) c USING (id)`,
		statuses, comments, s.known("article_comments", "id", "article_id"))
	switch life {
	case stream.AsArticle:
	case stream.AsCampaign:
		articles = fmt.Sprintf(`SELECT campaign_id AS id, received_at AS heard FROM (%s)
			UNION ALL SELECT a.campaign_id, t.heard FROM (%s) t JOIN (%s) a USING (id)`,
			statuses, articles, s.known("articles", "id", "campaign_id"))
	default:
		return nothingHeard
	}
	return "SELECT id, max(heard) AS heard FROM (" + articles + ") GROUP BY id"
}

// literals lists texts for SQL.
func literals(texts []string) string {
	quoted := make([]string, len(texts))
	for i, t := range texts {
		quoted[i] = warehouse.Literal(t)
	}
	return strings.Join(quoted, ", ")
}

// Lineage lists the runs whose snapshots led to the draft. A run that was rolled
// back, replayed or did not publish is not among them.
func (s *Stage) Lineage(ctx context.Context) (map[string]bool, error) {
	rows, err := s.draft.DB.QueryContext(ctx, "SELECT run_id FROM meta.runs WHERE snapshot_at IS NOT NULL")
	if err != nil {
		return nil, fmt.Errorf("read meta.runs: %w", err)
	}
	return textSet(rows)
}
