package load

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// Event is a webhook event on its way into meta.webhook_events.
type Event struct {
	ID, Topic, Source, Sent string
	Received                time.Time
	// Body is text, Sum the SHA-256 of the bytes that it was, in hex.
	Body, Sum string
	// Seq numbers the events in the order in which the inbox has them, from 1.
	Seq uint64
}

// What became of an event that a stream has the topic of.
const (
	EventStored   = "stored"
	EventRejected = "rejected"
)

// Verdict says what became of an event. Withheld bodies are not kept.
type Verdict struct {
	ID, Outcome string
	Withheld    bool
}

const createEvents = `CREATE TABLE stage.events (event_id VARCHAR, topic VARCHAR, source VARCHAR, sent_at VARCHAR,
	received_at BIGINT, body VARCHAR, body_sha256 VARCHAR, seq UBIGINT)`

const createVerdicts = `CREATE TABLE stage.verdicts (event_id VARCHAR, outcome VARCHAR, withheld BOOLEAN)`

// AddEvents stages events as the inbox has them, known ones too.
func (s *Stage) AddEvents(ctx context.Context, events []Event) error {
	return s.insertBatch(ctx, "stage.events", eventBatch(events))
}

func (s *Stage) insertBatch(ctx context.Context, table string, rows arrow.RecordBatch) error {
	defer rows.Release()
	l, err := s.take(ctx)
	if err != nil {
		return err
	}
	defer s.give(l)
	if err := l.insert(ctx, table, rows); err != nil {
		return fmt.Errorf("stage %d rows of %s: %w", rows.NumRows(), table, err)
	}
	return nil
}

func eventBatch(events []Event) arrow.RecordBatch {
	var fields []arrow.Field
	for _, name := range []string{"event_id", "topic", "source", "sent_at", "body", "body_sha256"} {
		fields = append(fields, arrow.Field{Name: name, Type: arrow.BinaryTypes.String})
	}
	fields = slices.Insert(fields, 4, arrow.Field{Name: "received_at", Type: arrow.PrimitiveTypes.Int64})
	fields = append(fields, arrow.Field{Name: "seq", Type: arrow.PrimitiveTypes.Uint64})
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
	defer b.Release()
	for _, e := range events {
		for i, text := range []string{e.ID, e.Topic, e.Source, e.Sent, "", e.Body, e.Sum} {
			if i != 4 {
				b.Field(i).(*array.StringBuilder).Append(text)
			}
		}
		b.Field(4).(*array.Int64Builder).Append(e.Received.UnixMicro())
		b.Field(7).(*array.Uint64Builder).Append(e.Seq)
	}
	return b.NewRecordBatch()
}

// FinishEvents leaves of the staged events those that no earlier night has, and
// of deliveries of one event the first.
func (s *Stage) FinishEvents(ctx context.Context) error {
	if err := s.Settle(ctx); err != nil {
		return err
	}
	err := s.draft.Exec(ctx, `CREATE OR REPLACE TABLE stage.new_events AS SELECT * FROM stage.events
		ANTI JOIN meta.webhook_events USING (event_id)
		QUALIFY row_number() OVER (PARTITION BY event_id ORDER BY received_at, seq) = 1`)
	if err != nil {
		return fmt.Errorf("find the new events: %w", err)
	}
	return nil
}

// NewEvents gives the new events of some topics, in the order of the inbox.
func (s *Stage) NewEvents(ctx context.Context, topics []string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		rows, err := s.draft.DB.QueryContext(ctx, `SELECT event_id, topic, source, sent_at, received_at, body, seq
			FROM stage.new_events WHERE topic IN (`+literals(topics)+`) ORDER BY seq`)
		if err != nil {
			yield(Event{}, fmt.Errorf("list the new events: %w", err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			var e Event
			var at int64
			err := rows.Scan(&e.ID, &e.Topic, &e.Source, &e.Sent, &at, &e.Body, &e.Seq)
			e.Received = time.UnixMicro(at).UTC()
			if !yield(e, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(Event{}, fmt.Errorf("list the new events: %w", err))
		}
	}
}

// Judged notes what became of events.
func (s *Stage) Judged(ctx context.Context, verdicts []Verdict) error {
	text := arrow.BinaryTypes.String
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{{Name: "event_id", Type: text},
		{Name: "outcome", Type: text}, {Name: "withheld", Type: arrow.FixedWidthTypes.Boolean}}, nil))
	defer b.Release()
	for _, v := range verdicts {
		b.Field(0).(*array.StringBuilder).Append(v.ID)
		b.Field(1).(*array.StringBuilder).Append(v.Outcome)
		b.Field(2).(*array.BooleanBuilder).Append(v.Withheld)
	}
	return s.insertBatch(ctx, "stage.verdicts", b.NewRecordBatch())
}

// NoteEvents enters the new events into meta.webhook_events. One without a
// verdict has a topic that no stream knows; withhold keeps its body out, too.
// It returns how many there are.
func (s *Stage) NoteEvents(ctx context.Context, withhold bool) (int64, error) {
	if err := s.Settle(ctx); err != nil {
		return 0, err
	}
	res, err := s.draft.DB.ExecContext(ctx, fmt.Sprintf(`INSERT INTO meta.webhook_events
		(event_id, topic, source, sent_at, received_at, outcome, body, body_sha256, run_id)
		SELECT event_id, nullif(topic, ''), nullif(source, ''), try_cast(sent_at AS TIMESTAMPTZ),
			make_timestamptz(received_at), coalesce(outcome, 'unknown_topic'),
			CASE WHEN NOT coalesce(withheld, %t) THEN body END, body_sha256, %s
		FROM stage.new_events LEFT JOIN stage.verdicts USING (event_id) ORDER BY seq`, withhold, warehouse.Literal(s.draft.Run)))
	if err != nil {
		return 0, fmt.Errorf("note the events: %w", err)
	}
	return res.RowsAffected()
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
