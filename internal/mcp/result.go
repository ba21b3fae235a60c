package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"placementsync/internal/query"
)

type queryResult struct {
	Snapshot snapshotInfo `json:"snapshot"`
	// Warning lists reasons for doubt, such as source tables that may be incomplete. Warning and
	// Cut precede Rows, so that the assistant reads them first.
	Warning string         `json:"warning,omitempty"`
	Grades  []query.Source `json:"grades"`
	// Checks are the failed checks of the snapshot, and those that did not run.
	Checks   []failedCheck     `json:"checks,omitempty"`
	Columns  []query.Column    `json:"columns"`
	Cut      *cut              `json:"cut,omitempty"`
	RowCount int               `json:"row_count"`
	Rows     []json.RawMessage `json:"rows"`
}

type snapshotInfo struct {
	Run string `json:"run"`
	At  string `json:"at"`
	// AgeHours is the age at the time of the call, also for an earlier snapshot.
	AgeHours float64 `json:"age_hours"`
	Held     bool    `json:"held,omitempty"`
}

// failedCheck is a row of query.FailedChecksSQL: a check that failed or did not run.
type failedCheck struct {
	Check    string `json:"check"`
	Severity string `json:"severity"`
	Outcome  string `json:"outcome"`
	Rows     int64  `json:"rows"`
	Reason   string `json:"reason,omitempty"`
	// Sample contains the first violating rows. Only the tool "grades" sets it.
	Sample json.RawMessage `json:"sample,omitempty"`
}

// cut explains why rows were left out and how to get a complete result.
type cut struct {
	Why string `json:"why"`
	How string `json:"how"`
}

func (s *server) ask(ctx context.Context, q query.Query, values map[string]string, args queryArguments) (*queryResult, error) {
	limit := defaultRows
	if args.MaxRows != nil {
		limit = *args.MaxRows
	}
	if limit < 1 || limit > maxAllowedRows {
		return nil, fmt.Errorf("max_rows is %d: use 1 to %d, or aggregate in SQL", limit, maxAllowedRows)
	}
	res := &queryResult{Grades: []query.Source{}, Rows: []json.RawMessage{}}
	res.Snapshot.Held = args.Held
	err := s.open(ctx, args, func(db *query.DB) error {
		snapshot, err := db.SelectedSnapshot(ctx)
		if err != nil {
			return err
		}
		res.Snapshot.Run, res.Snapshot.At = snapshot.Run, snapshot.At.UTC().Format(time.RFC3339Nano)
		res.Snapshot.AgeHours = math.Round(s.cfg.Now().Sub(snapshot.At).Hours()*10) / 10
		values, notes, err := db.ResolveNames(ctx, q, values)
		if err != nil {
			return err
		}
		r, err := s.run(ctx, db, q, values, limit)
		if err != nil {
			return err
		}
		res.Grades, res.Warning = append(res.Grades, r.Sources...), query.DescribeSources(r.Sources)
		if r.NoPlan {
			res.Warning = "the grades of this result are unknown: " + query.ErrNoPlan.Error()
		}
		for _, note := range notes {
			res.warn(note)
		}
		res.Columns = r.Columns
		res.addRows(r, limit)
		if why := q.DescribeCut(values, r.Total); res.Cut == nil && why != "" {
			res.Cut = &cut{Why: why, How: "set the parameter top to a larger number"}
		}
		res.addChecks(ctx, db, args.withSamples)
		if r.Total > 0 {
			return nil
		}
		// A parameter value that does not exist in the data may explain an empty result.
		unknown, err := db.DescribeUnknownValues(ctx, q, values)
		for _, u := range unknown {
			res.warn(u)
		}
		return err
	})
	return res, err
}

// run runs a built-in query in this process. SQL of the assistant or of the user runs in a child process, which
// is killed if DuckDB cannot interrupt it at the time limit.
func (s *server) run(ctx context.Context, db *query.DB, q query.Query, values map[string]string, limit int) (query.Result, error) {
	if !q.IsUserDefined() {
		return db.Ask(ctx, q.Limit(limit+1), values, limit)
	}
	if s.cfg.Timeout > 0 {
		const grace = 2 * time.Second // for the start of the process and the end of an interrupted query
		limitedCtx, cancel := context.WithTimeoutCause(ctx, s.cfg.Timeout+grace, &query.TimeoutError{After: s.cfg.Timeout})
		defer cancel()
		ctx = limitedCtx
	}
	if s.cfg.Child == nil {
		return query.Result{}, errors.New("SQL cannot run: the path of this program is unknown")
	}
	job := db.NewJob(q, values, limit)
	job.DiskLimit = spillBytes
	r, err := job.Run(ctx, s.cfg.Child, io.Discard)
	if crash, ok := errors.AsType[*query.CrashError](err); ok {
		s.cfg.Log.Warn("process of a query ended without a result", "state", crash.State, "error", crash.Output)
	}
	if mistake, ok := errors.AsType[*query.StatementError](err); ok && mistake.Line > 0 {
		err = fmt.Errorf("line %d, column %d: %w", mistake.Line, mistake.Column, err)
	}
	return r, err
}

// open waits for s.turn, opens the snapshot that args select, and calls use with it.
func (s *server) open(ctx context.Context, args queryArguments, use func(*query.DB) error) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	opts := query.Options{AsOf: args.AsOf, Timeout: s.cfg.Timeout, SpillLimit: fmt.Sprint(spillBytes) + "B"}
	db, err := s.cfg.Open(ctx, opts, args.Held)
	if err != nil {
		return err
	}
	if err := errors.Join(use(db), db.Close()); err != nil {
		return s.cfg.Explain(err)
	}
	return nil
}

// addChecks adds the failed checks, or a warning if they cannot be read, as in a snapshot of an earlier release.
func (res *queryResult) addChecks(ctx context.Context, db *query.DB, withSamples bool) {
	r, err := db.Collect(ctx, query.Text(query.FailedChecksSQL()), nil, math.MaxInt)
	if err != nil {
		res.warn("the failed checks of the snapshot are unknown")
	}
	for _, row := range r.Rows {
		rows, _ := strconv.ParseInt(row.Get("rows").Text, 10, 64) // NULL means 0
		c := failedCheck{Check: row.Get("check").Text, Severity: row.Get("severity").Text, Outcome: row.Get("outcome").Text, Rows: rows, Reason: row.Get("reason").Text}
		if withSamples {
			c.Sample = json.RawMessage(row.Get("sample").Text)
		}
		res.Checks = append(res.Checks, c)
	}
}

func (res *queryResult) warn(text string) {
	res.Warning = strings.TrimPrefix(res.Warning+"; "+text, "; ")
}

func (res *queryResult) addRows(r query.Result, limit int) {
	size := 0
	for _, record := range r.Rows {
		row := []byte{'['}
		for i, c := range r.Columns {
			if i > 0 {
				row = append(row, ',')
			}
			row = appendValue(row, record, i, c.Type)
		}
		row = append(row, ']')
		size += len(row)
		if size > maxBytes {
			res.Cut = &cut{
				Why: fmt.Sprintf("only the first %d rows are shown: with the next row the result would be longer than %d bytes", len(res.Rows), maxBytes),
				How: "select fewer or shorter columns (left(text, 100)), or aggregate or filter in the query",
			}
			break
		}
		res.Rows = append(res.Rows, row)
	}
	if res.Cut == nil && r.Total > int64(limit) {
		res.Cut = &cut{
			Why: fmt.Sprintf("only the first %d rows are shown, but there are more", limit),
			How: fmt.Sprintf("aggregate or filter in the query, or raise max_rows (at most %d)", maxAllowedRows),
		}
	}
	res.RowCount = len(res.Rows)
}

// appendValue appends a value as JSON without loss of digits. Most clients parse numbers as
// doubles, so all decimals become strings, as do integers outside the exact range of a double.
// Numbers within lists, structs and JSON documents are not changed.
func appendValue(dst []byte, r query.Record, column int, typ string) []byte {
	start := len(dst)
	dst = r.Columns[column].AppendJSON(dst, r.Values[column])
	written := string(dst[start:])
	if written == "null" {
		return dst
	}
	needsQuotes := false
	switch {
	case strings.HasPrefix(typ, "DECIMAL(") && strings.HasSuffix(typ, ")"): // but not a list of decimals
		needsQuotes = true
	case slices.Contains([]string{"BIGINT", "UBIGINT", "HUGEINT", "UHUGEINT"}, typ):
		n, err := strconv.ParseInt(written, 10, 64)
		needsQuotes = err != nil || n < -1<<53 || n > 1<<53
	}
	if needsQuotes {
		return strconv.AppendQuote(dst[:start], written)
	}
	return dst
}
