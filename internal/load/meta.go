package load

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// The rows of a night in the tables of meta: its events, rejects, drift, runs and checks.

// EventRow is a new webhook event with its outcome.
type EventRow struct {
	// The body of Event is valid UTF-8.
	stream.Event
	// BodySum is the SHA-256 of Event.Body in the inbox, in hex.
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
	known, err := queryTextSet(ctx, s.draft, metaSQL.Render("known_events", values{"ids": ids}))
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
	if err := s.draft.Exec(ctx, metaSQL.Render("write_events", values{"run": s.draft.Run})); err != nil {
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
	runs, err := queryTextSet(ctx, s.draft, metaSQL.Render("published_runs", nil))
	if err != nil {
		return nil, fmt.Errorf("read meta.runs: %w", err)
	}
	return runs, nil
}

// AddRejects stages rejects: invalid values and records.
func (s *Stage) AddRejects(ctx context.Context, rejects []stream.Reject) error {
	return appendRows(ctx, s, "main", "rejects", rejects, func(r stream.Reject) []driver.Value {
		return []driver.Value{textOrNull(r.Table), textOrNull(r.Key), textOrNull(r.Parent), textOrNull(r.Column), textOrNull(r.Raw),
			textOrNull(r.Reason), textOrNull(r.Stream), intOrNull(r.Pass), intOrNull(r.Page), intOrNull(r.Position), r.ResponseHash, r.Seq}
	})
}

// AddDriftRecords stages records with drift: unknown fields and values, and values that were converted.
func (s *Stage) AddDriftRecords(ctx context.Context, records []stream.DriftRecord) error {
	return appendRows(ctx, s, "main", "drift_records", records, func(r stream.DriftRecord) []driver.Value {
		return []driver.Value{int64(r.DriftIndex), r.Record}
	})
}

func (s *Stage) countDrift(ctx context.Context, drift []stream.Drift) error {
	index := int64(-1)
	err := appendRows(ctx, s, "main", "drift", drift, func(d stream.Drift) []driver.Value {
		index++
		return []driver.Value{index, d.Table, d.Path, d.Kind, d.Sample, textOrNull(d.Key)}
	})
	if err != nil {
		return err
	}
	if err := s.flush(ctx, allStreams); err != nil {
		return err
	}
	if err := s.draft.Exec(ctx, metaSQL.Render("count_drift", nil)); err != nil {
		return fmt.Errorf("count the drift: %w", err)
	}
	return nil
}

// WriteRejects writes the rejects of tonight, after the merge. They replace the earlier rejects of the rows that
// were read tonight, so that meta.rejects does not grow by the same values every night.
func (s *Stage) WriteRejects(ctx context.Context, coverage map[string]Coverage) error {
	// The unread keys of a table are computed only if the table has earlier rejects.
	tablesWithRejects, err := queryTextSet(ctx, s.draft, metaSQL.Render("tables_with_rejects", nil))
	if err != nil {
		return fmt.Errorf("read the rejects: %w", err)
	}
	var deletes []sqlText
	readTables := []string{""} // an empty list would be invalid SQL
	for _, t := range stream.Tables(s.streams) {
		wasRead := func(name string) bool { return coverage[name] != Carried }
		if !slices.ContainsFunc(stream.FilledBy(s.streams, t.Name), wasRead) {
			continue
		}
		// An event is read once, so its rejects are kept.
		streams, _ := s.sources(t.Name)
		if tablesWithRejects[t.Name] && !slices.ContainsFunc(streams, stream.Stream.IsEvents) {
			deletes = append(deletes, s.deleteRejectsSQL(t))
		}
		readTables = append(readTables, t.Name)
	}
	if err := s.draft.Atomically(ctx, deletes); err != nil {
		return fmt.Errorf("replace the rejects: %w", err)
	}
	if err := s.draft.Exec(ctx, metaSQL.Render("write_rejects", values{"run": s.draft.Run, "tables": readTables})); err != nil {
		return fmt.Errorf("write the rejects: %w", err)
	}
	return nil
}

// deleteRejectsSQL deletes the earlier rejects of a table. It keeps those whose row, record or parent was not read tonight.
func (s *Stage) deleteRejectsSQL(t stream.Table) sqlText {
	streams, _ := s.sources(t.Name)
	st := streams[0]
	root := st.Root()
	unreadKeys := func(table stream.Table) sqlText {
		return metaSQL.Render("unread_keys", values{"key": sqltext.Names(table.Key), "main": mainTable(table.Name), "desired": desiredTable(table.Name)})
	}
	// The parent of a reply is in the table of the replies.
	unread := []sqlText{"key IN " + unreadKeys(t), "parent IN " + unreadKeys(t)}
	switch {
	case t.Name != root.Name: // the parent is the record or a row in it
		unread = append(unread, "parent IN "+unreadKeys(root))
		if enclosing := st.Tables[st.EnclosingTable(t)]; enclosing.Name != root.Name {
			unread = append(unread, "parent IN "+unreadKeys(enclosing))
		}
	case st.IsDetail():
		unread = append(unread, "parent IN "+metaSQL.Render("unread_parents", values{"plan": planTable(st.Name), "requested": requestedTable(st.Name)}))
	}
	return metaSQL.Render("delete_rejects", values{"table": t.Name, "unread": sqltext.JoinSQL(unread, " OR ")})
}

// Summary is the description of a night for the tables of meta.
type Summary struct {
	// Run is this night. After a resume, its row replaces the row of an earlier attempt.
	Run ledger.Run
	// Ledger contains the runs of the ledger. Runs that are not in meta yet, because they were not
	// published or were rolled back, are added without the time of a snapshot.
	Ledger  []ledger.Run
	Changes []Change
	Drift   []stream.Drift
}

// WriteSummary writes runs, streams, requests, tables, drift and accepted checks into meta.
func (s *Stage) WriteSummary(ctx context.Context, night Summary) error {
	if err := s.countDrift(ctx, night.Drift); err != nil {
		return err
	}
	// meta.runs is read before the transaction replaces the rows of this run.
	known, err := queryTextSet(ctx, s.draft, metaSQL.Render("known_runs", nil))
	if err != nil {
		return fmt.Errorf("read meta.runs: %w", err)
	}
	return s.draft.InTransaction(ctx, func(tx *sql.Tx) error {
		args := values{"run": s.draft.Run}
		if err := warehouse.ExecIn(ctx, tx, metaSQL.Render("update_drift", args), metaSQL.Render("insert_drift", args)); err != nil {
			return fmt.Errorf("write the drift: %w", err)
		}
		var tables []any
		for _, c := range night.Changes {
			tables = append(tables, s.draft.Run, c.Table, c.After, c.New, c.Changed, c.Gone)
		}
		err := insertMeta(ctx, tx, "tables", []string{"run_id", "table_name", "rows", "rows_new", "rows_changed", "rows_gone"}, tables)
		if err != nil {
			return err
		}
		for _, r := range night.Ledger {
			for _, check := range r.Accepted {
				at := r.AcceptedAt.UTC().Format(time.RFC3339Nano)
				if err := warehouse.ExecIn(ctx, tx, metaSQL.Render("accept_check", values{"run": r.ID, "check": check, "at": at})); err != nil {
					return fmt.Errorf("write the accepted checks of run %s: %w", r.ID, err)
				}
			}
			if known[r.ID] {
				continue
			}
			r.SnapshotAt = time.Time{} // its snapshot is not in this catalog
			if err := writeRun(ctx, tx, r); err != nil {
				return err
			}
		}
		return writeRun(ctx, tx, night.Run)
	})
}

// WriteChecks writes the results of the checks of a draft into meta. A resumed run has no earlier results
// in meta, because [Stage.WriteSummary] removes them.
func WriteChecks(ctx context.Context, d *warehouse.Draft, results []ledger.CheckResult) error {
	return d.InTransaction(ctx, func(tx *sql.Tx) error {
		var checks []any
		for _, c := range results {
			checks = append(checks, d.Run, c.Name, c.Severity, string(c.Outcome), nullIf(c.Reason == "", c.Reason), c.Rows,
				nullIf(len(c.Sample) == 0, string(c.Sample)), c.Seconds)
		}
		return insertMeta(ctx, tx, "checks", []string{"run_id", "check_name", "severity", "outcome", "reason", "rows", "sample", "seconds"}, checks)
	})
}

// WriteRun writes a run, its streams and its requests into meta.
func WriteRun(ctx context.Context, d *warehouse.Draft, r ledger.Run) error {
	return d.InTransaction(ctx, func(tx *sql.Tx) error { return writeRun(ctx, tx, r) })
}

func writeRun(ctx context.Context, tx *sql.Tx, r ledger.Run) error {
	if err := warehouse.ExecIn(ctx, tx, metaSQL.Render("forget_run", values{"run": r.ID})); err != nil {
		return fmt.Errorf("write run %s: %w", r.ID, err)
	}
	runColumns := []string{"run_id", "kind", "started_at", "ended_at", "snapshot_at", "outcome", "exit_code",
		"requests", "bytes", "retries", "throttled_seconds", "rows", "rows_new", "rows_changed", "rows_gone",
		"program_version", "error"}
	err := insertMeta(ctx, tx, "runs", runColumns, []any{r.ID, cmp.Or(r.Kind, ledger.Night), r.StartedAt, nullIf(r.EndedAt.IsZero(), r.EndedAt),
		nullIf(r.SnapshotAt.IsZero(), r.SnapshotAt), r.Outcome, nullIf(r.ExitCode < 0, int64(r.ExitCode)),
		r.Requests, r.Bytes, r.Retries, r.ThrottledSeconds, r.Rows, r.New, r.Changed, r.Gone, r.Program,
		nullIf(r.Error == "", r.Error)})
	if err != nil {
		return err
	}
	streamColumns := []string{"run_id", "stream", "grade", "reason", "pages", "requests", "passes",
		"total_first", "total_last", "distinct_ids", "repeated_ids", "rows", "rows_old", "fetched", "carried", "rechecked", "failed", "unread", "age_since"}
	requestColumns := []string{"run_id", "stream", "requests", "bytes", "retries", "rate_limited",
		"latency_p50_ms", "latency_p95_ms", "latency_max_ms", "rate_wait_seconds", "retry_after_seconds", "rate_used", "landed"}
	var streams, requests []any
	for _, st := range r.Streams {
		streams = append(streams, r.ID, st.Stream, st.Grade, nullIf(st.Reason == "", st.Reason), st.Pages, st.Requests, st.Passes,
			nullIf(st.TotalFirst < 0, st.TotalFirst), nullIf(st.TotalLast < 0, st.TotalLast), st.Distinct, st.Repeated, st.Rows, st.RowsOld,
			st.Fetched, st.Carried, st.Rechecked, st.Failed, st.Unread, nullIf(st.AgeSince.IsZero(), st.AgeSince))
		requests = append(requests, r.ID, st.Stream, st.Requests, st.Bytes, st.Retries, st.RateLimited, st.LatencyP50, st.LatencyP95, st.LatencyMax,
			st.RateWaitSeconds, st.RetryAfterSeconds, st.RateUsed, st.Reused) // the column landed counts reused responses
	}
	if err := insertMeta(ctx, tx, "streams", streamColumns, streams); err != nil {
		return err
	}
	return insertMeta(ctx, tx, "requests", requestColumns, requests)
}

// RowAges describes the rows of a stream's root table in a snapshot.
type RowAges struct {
	// Rows counts all rows. Old counts the rows that were not read tonight.
	Rows, Old int64
	// Since is the oldest read time of the details. It is zero for lists, and if all details were read
	// tonight.
	Since time.Time
}

// CountRowAges counts the rows in main of each stream in coverage. It must be called after the merge.
func (s *Stage) CountRowAges(ctx context.Context, coverage map[string]Coverage) (map[string]RowAges, error) {
	all := map[string]RowAges{}
	var counts []sqlText
	for _, st := range s.streams {
		if c, ok := coverage[st.Name]; ok {
			counts = append(counts, s.countRowAgesSQL(st, c))
		}
	}
	err := s.draft.EachRow(ctx, counts, func(scan func(...any) error) error {
		var name string
		var ages RowAges
		var since sql.NullTime
		err := scan(&name, &ages.Rows, &ages.Old, &since)
		ages.Since = since.Time
		all[name] = ages
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count the rows of the streams: %w", err)
	}
	return all, nil
}

func (s *Stage) countRowAgesSQL(st stream.Stream, c Coverage) sqlText {
	main, condition := mainTable(st.Root().Name), streamCondition(st.Root())
	old, since := sqlText("0"), sqlText("NULL::TIMESTAMPTZ")
	switch {
	case st.IsEvents():
	case st.IsDetail():
		ids := metaSQL.Render("earlier_ids", values{"stream": st.Name, "now": s.draft.At})
		old = metaSQL.Render("rows_of_ids", values{"main": main, "stream_condition": condition, "param": sqltext.Name(st.Param), "ids": ids})
		since = metaSQL.Render("oldest_of_ids", values{"ids": ids})
	case c == Carried:
		old = metaSQL.Render("all_rows", values{"main": main, "stream_condition": condition})
	case c == Unproven:
		old = metaSQL.Render("unstaged_rows", values{"main": main, "stream_condition": condition, "staged": stagedTable(st.Name, st.Root().Name),
			"same_key": joinOn("m.", "s.", st.Root().Key)})
	}
	return metaSQL.Render("count_row_ages", values{"stream": st.Name, "main": main, "stream_condition": condition, "old": old, "since": since})
}

// insertMeta inserts rows into a table of meta. cells contains the values of all rows. In a small night, a
// statement for each row would take longer than the merge.
func insertMeta(ctx context.Context, tx *sql.Tx, table string, columns []string, cells []any) error {
	if len(cells) == 0 {
		return nil
	}
	row := "(" + strings.TrimSuffix(strings.Repeat("?, ", len(columns)), ", ") + ")"
	statement := metaSQL.Render("insert_values", values{"table": metaTable(table), "columns": sqltext.Names(columns),
		"rows": sqlText(strings.TrimSuffix(strings.Repeat(row+", ", len(cells)/len(columns)), ", "))})
	if _, err := tx.ExecContext(ctx, string(statement), cells...); err != nil {
		return fmt.Errorf("write meta.%s: %w", table, err)
	}
	return nil
}

// nullIf returns nil if isNull is true, and value otherwise. Unknown values are zero or -1 in the ledger.
func nullIf(isNull bool, value any) any {
	if isNull {
		return nil
	}
	return value
}

func textOrNull(text string) any { return nullIf(text == "", text) }

func intOrNull(n int) any { return nullIf(n == 0, int64(n)) }
