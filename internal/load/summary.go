package load

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

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
			st.RateWaitSeconds, st.RetryAfterSeconds, st.RateUsed, st.Reused)
	}
	if err := insertMeta(ctx, tx, "streams", streamColumns, streams); err != nil {
		return err
	}
	return insertMeta(ctx, tx, "requests", requestColumns, requests)
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
