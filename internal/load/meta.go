package load

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// rejectColumns are those of stage.rejects.
var rejectColumns = []column[stream.Reject]{
	textOrNull("table_name", func(r stream.Reject) string { return r.Table }),
	textOrNull("key", func(r stream.Reject) string { return r.Key }),
	textOrNull("parent", func(r stream.Reject) string { return r.Parent }),
	textOrNull("column_name", func(r stream.Reject) string { return r.Column }),
	textOrNull("raw", func(r stream.Reject) string { return r.Raw }),
	textOrNull("reason", func(r stream.Reject) string { return r.Reason }),
	textOrNull("stream", func(r stream.Reject) string { return r.Stream }),
	intOrNull("pass", func(r stream.Reject) int64 { return int64(r.Pass) }),
	intOrNull("page", func(r stream.Reject) int64 { return int64(r.Page) }),
	intOrNull("position", func(r stream.Reject) int64 { return int64(r.Position) }),
	uintColumn("answer", func(r stream.Reject) uint64 { return r.Answer }),
	uintColumn(stream.Seq, func(r stream.Reject) uint64 { return r.Seq }),
}

// Reject stages rejected values.
func (s *Stage) Reject(ctx context.Context, rejects []stream.Reject) error {
	return insertRows(ctx, s, "stage.rejects", rejectColumns, rejects)
}

// NoteRejects replaces the rejects of every table that was read tonight, so
// that meta.rejects tells what does not fit today and does not grow by the
// same values every night. It returns how many there are.
func (s *Stage) NoteRejects(ctx context.Context, cover map[string]Coverage) (int64, error) {
	if err := s.Settle(ctx); err != nil {
		return 0, err
	}
	known, err := s.rejectedTables(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the rejects: %w", err)
	}
	var drops []string
	read := []string{"NULL"}
	for _, t := range stream.Tables(s.streams) {
		if s.wasRead(t, cover) {
			// An event comes once, and so does what did not fit of it.
			if known[t.Name] && !s.ofEvents(t.Name) {
				drops = append(drops, s.dropRejects(t))
			}
			read = append(read, warehouse.Literal(t.Name))
		}
	}
	if err := s.draft.Atomically(ctx, drops); err != nil {
		return 0, fmt.Errorf("replace the rejects: %w", err)
	}
	note := fmt.Sprintf(`INSERT INTO meta.rejects (run_id, seq, table_name, key, parent, column_name, raw, reason, page, position)
		SELECT %s, row_number() OVER (ORDER BY table_name, page, position, seq, key, column_name),
			table_name, key, parent, column_name, raw, reason, page, position
		FROM (%s) WHERE table_name IN (%s)`, warehouse.Literal(s.draft.Run), rejectedOnce, strings.Join(read, ", "))
	res, err := s.draft.DB.ExecContext(ctx, note)
	if err != nil {
		return 0, fmt.Errorf("note rejects: %w", err)
	}
	return res.RowsAffected()
}

// rejectedTables are those that have rejects of earlier nights: for the others
// there is no need to look through keys.
func (s *Stage) rejectedTables(ctx context.Context) (map[string]bool, error) {
	rows, err := s.draft.DB.QueryContext(ctx, "SELECT DISTINCT table_name FROM meta.rejects")
	if err != nil {
		return nil, err
	}
	return textSet(rows)
}

// textSet reads a column of texts and closes the rows.
func textSet(rows *sql.Rows) (map[string]bool, error) {
	defer rows.Close()
	set := map[string]bool{}
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			return nil, err
		}
		set[one] = true
	}
	return set, rows.Err()
}

// rejectedOnce are the staged rejects without what another pass over a list, or the
// detail beside the list, refused again. A value of a known row is the same when it
// says the same. Records that were refused whole can be alike and yet not the same:
// those are as many as in the pass that saw most of them, without pages that come
// again under another number.
const rejectedOnce = `
	SELECT * EXCLUDE (source, found, best) FROM (
		SELECT *, first_value(source) OVER (PARTITION BY table_name, key, parent, column_name, raw, reason ORDER BY found DESC, source) AS best
		FROM (
			SELECT *, concat_ws(' ', stream, pass) AS source,
				count(*) OVER (PARTITION BY table_name, key, parent, column_name, raw, reason, stream, pass) AS found
			FROM (FROM stage.rejects QUALIFY coalesce(page, 0) = min(coalesce(page, 0)) OVER (PARTITION BY stream, pass, answer))))
	WHERE source = best
	QUALIFY column_name IS NULL OR key IS NULL OR row_number() OVER (PARTITION BY table_name, key, parent, column_name, raw, reason ORDER BY seq) = 1`

// dropRejects removes the rejects of a table except those of rows that stand in
// main and were not read tonight, or stand in a record of which that is true, or
// under a parent that was not asked for: their values are NULL still, and this is
// where they are kept. What was refused again tonight is told anew.
func (s *Stage) dropRejects(t stream.Table) string {
	lists, detail := s.sources(t.Name)
	feeding := append(lists, detail)[0]
	root := feeding.Root()
	keep := make([]string, 0, 4)
	for _, of := range []stream.Table{t, root} {
		rows := fmt.Sprintf("(SELECT %[1]s FROM main.%[2]s EXCEPT SELECT %[1]s FROM %[3]s)",
			"concat_ws('/', "+columns("", of.Key)+")", warehouse.Quote(of.Name), fresh(of.Name))
		keep = append(keep, "key IN "+rows)
		if t.Name != root.Name {
			keep = append(keep, "parent IN "+rows)
		}
	}
	if t.Name == root.Name && feeding.IsDetail() && feeding.Param != "" {
		keep = append(keep, fmt.Sprintf("parent IN (SELECT id FROM %s EXCEPT SELECT id FROM %s WHERE outcome IN ('answered', '404'))",
			planned(feeding.Name), asked(feeding.Name)))
	}
	return fmt.Sprintf(`DELETE FROM meta.rejects r WHERE table_name = %s AND (NOT coalesce(%s, FALSE) OR EXISTS (FROM stage.rejects s
		WHERE s.table_name = r.table_name AND (s.key, s.parent, s.column_name) IS NOT DISTINCT FROM (r.key, r.parent, r.column_name)))`,
		warehouse.Literal(t.Name), strings.Join(keep, " OR "))
}

// wasRead reports whether any stream that fills the table was read tonight.
func (s *Stage) wasRead(t stream.Table, cover map[string]Coverage) bool {
	return slices.ContainsFunc(stream.Feeding(s.streams, t.Name), func(name string) bool { return cover[name] != Carried })
}

// Notes is what a night writes into meta beside its rows.
type Notes struct {
	// Run is this night. One of the same id that is there already is
	// replaced, so that a resumed run counts once.
	Run warehouse.Run
	// Ledger are the runs known to state/; those that meta lacks, since they
	// published nothing or were rolled back, join it without a snapshot.
	Ledger  []warehouse.Run
	Changes []Change
	Drift   Drifts
}

// Note writes the notes in one transaction.
func (s *Stage) Note(ctx context.Context, n Notes) error {
	if err := s.stageDrift(ctx, n.Drift); err != nil {
		return err
	}
	tx, err := s.draft.DB.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin the notes: %w", err)
	}
	if err := n.write(ctx, tx, s.draft.Run); err != nil {
		return errors.Join(err, warehouse.Undo(tx))
	}
	return tx.Commit()
}

func (n Notes) write(ctx context.Context, tx *sql.Tx, run string) error {
	if err := noteDrift(ctx, tx, run); err != nil {
		return fmt.Errorf("note the drift: %w", err)
	}
	tables := added("tables", "run_id", "table_name", "rows", "rows_new", "rows_changed", "rows_gone")
	for _, c := range n.Changes {
		tables.add(run, c.Table, c.After, c.New, c.Changed, c.Gone)
	}
	if err := tables.insert(ctx, tx); err != nil {
		return err
	}
	known, err := knownRuns(ctx, tx)
	if err != nil {
		return fmt.Errorf("read meta.runs: %w", err)
	}
	for _, r := range n.Ledger {
		if !known[r.ID] {
			r.SnapshotAt = time.Time{} // none of this catalogue's
			if err := noteRun(ctx, tx, r); err != nil {
				return err
			}
		}
	}
	return noteRun(ctx, tx, n.Run)
}

// noteRun writes a run's row, its streams and their telemetry.
func noteRun(ctx context.Context, tx *sql.Tx, r warehouse.Run) error {
	for _, table := range []string{"runs", "streams", "requests"} {
		if _, err := tx.ExecContext(ctx, "DELETE FROM meta."+table+" WHERE run_id = ?", r.ID); err != nil {
			return fmt.Errorf("note run %s: %w", r.ID, err)
		}
	}
	runs := added("runs", "run_id", "kind", "started_at", "ended_at", "snapshot_at", "outcome", "exit_code",
		"requests", "bytes", "retries", "throttled_seconds", "rows", "rows_new", "rows_changed", "rows_gone",
		"program_version", "error")
	runs.add(r.ID, cmp.Or(r.Kind, warehouse.Night), r.StartedAt, instant(r.EndedAt), instant(r.SnapshotAt), r.Outcome, total(int64(r.ExitCode)), r.Requests, r.Bytes, r.Retries,
		r.ThrottledSeconds, r.Rows, r.New, r.Changed, r.Gone, r.Program, text(r.Error))
	streams, requests := streamRows(r)
	return errors.Join(runs.insert(ctx, tx), streams.insert(ctx, tx), requests.insert(ctx, tx))
}

// streamRows are what each stream of a run proved, and what it cost.
func streamRows(r warehouse.Run) (streams, requests addition) {
	streams = added("streams", "run_id", "stream", "grade", "reason", "pages", "requests", "passes",
		"total_first", "total_last", "distinct_ids", "repeated_ids", "rows", "rows_old", "fetched", "carried", "rechecked", "failed", "unread", "age_since")
	requests = added("requests", "run_id", "stream", "requests", "bytes", "retries", "rate_limited",
		"latency_p50_ms", "latency_p95_ms", "latency_max_ms", "rate_wait_seconds", "retry_after_seconds", "rate_used", "landed")
	for _, st := range r.Streams {
		streams.add(r.ID, st.Stream, st.Grade, text(st.Reason), st.Pages, st.Requests, st.Passes, total(st.TotalFirst), total(st.TotalLast),
			st.Distinct, st.Repeated, st.Rows, st.RowsOld, st.Fetched, st.Carried, st.Rechecked, st.Failed, st.Unread, instant(st.AgeSince))
		requests.add(r.ID, st.Stream, st.Requests, st.Bytes, st.Retries, st.RateLimited, st.LatencyP50, st.LatencyP95, st.LatencyMax,
			st.RateWaitSeconds, st.RetryAfterSeconds, st.RateUsed, st.Landed)
	}
	return streams, requests
}

func knownRuns(ctx context.Context, tx *sql.Tx) (map[string]bool, error) {
	rows, err := tx.QueryContext(ctx, "SELECT run_id FROM meta.runs")
	if err != nil {
		return nil, err
	}
	return textSet(rows)
}

// addition is rows for a table of meta, which go in by one statement: one for each
// row takes a small night longer than its merge.
type addition struct {
	table  string
	cols   []string
	values []any
}

func added(table string, cols ...string) addition { return addition{table: table, cols: cols} }

func (a *addition) add(values ...any) { a.values = append(a.values, values...) }

func (a *addition) insert(ctx context.Context, tx *sql.Tx) error {
	n := len(a.values) / len(a.cols)
	if n == 0 {
		return nil
	}
	row := "(" + strings.TrimSuffix(strings.Repeat("?, ", len(a.cols)), ", ") + ")"
	statement := fmt.Sprintf("INSERT INTO meta.%s (%s) VALUES %s", a.table, columns("", a.cols), strings.TrimSuffix(strings.Repeat(row+", ", n), ", "))
	if _, err := tx.ExecContext(ctx, statement, a.values...); err != nil {
		return fmt.Errorf("write meta.%s: %w", a.table, err)
	}
	return nil
}

// The ledger writes what is unknown as a zero or -1; meta has NULL for it.
func instant(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}

func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func total(n int64) any {
	if n < 0 {
		return nil
	}
	return n
}
