package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"placementsync/internal/query"
)

// answer is what the tools return that ask the database.
type answer struct {
	Snapshot snapshot `json:"snapshot"`
	// Warning says which tables behind the answer were not read, are carried or not
	// proven. It and Cut stand before the rows, so that who reads those has read them.
	Warning string         `json:"warning,omitempty"`
	Grades  []query.Source `json:"grades"`
	Columns []query.Column `json:"columns"`
	// Cut says that rows are missing.
	Cut      *cut              `json:"cut,omitempty"`
	RowCount int               `json:"row_count"`
	Rows     []json.RawMessage `json:"rows"`
}

// snapshot is what the answer was read from.
type snapshot struct {
	Run string `json:"run"`
	At  string `json:"at"`
	// AgeHours is how old it is now, whatever it was asked as of.
	AgeHours float64 `json:"age_hours"`
}

// cut says why an answer is not whole, and how to ask for less.
type cut struct {
	Why string `json:"why"`
	How string `json:"how"`
}

// ask runs a query on the snapshot that is the newest now, or on an earlier one.
func (s *server) ask(ctx context.Context, q query.Query, values map[string]string, b bounds) (*answer, error) {
	most := defaultRows
	if b.MaxRows != nil {
		most = *b.MaxRows
	}
	if most < 1 || most > mostRows {
		return nil, fmt.Errorf("max_rows is %d: use 1 to %d, or let the SQL aggregate", most, mostRows)
	}
	a := &answer{Grades: []query.Source{}, Rows: []json.RawMessage{}}
	err := s.open(ctx, query.Options{AsOf: b.AsOf, MaxRows: most + 1}, func(db *query.DB) error { return s.fill(ctx, a, db, q, values, most) })
	if err != nil || len(a.Rows) > 0 || a.Cut != nil || len(values) == 0 {
		return a, err
	}
	// It may be empty because of a value that the data does not have.
	return a, s.open(ctx, query.Options{AsOf: b.AsOf}, func(db *query.DB) error {
		unknown, err := db.UnknownValues(ctx, q, values)
		for _, u := range unknown {
			a.Warning = strings.TrimPrefix(a.Warning+"; "+u.String(), "; ")
		}
		return err
	})
}

// open waits for its turn, opens a snapshot and uses it. A query that DuckDB cannot stop
// keeps the turn until it ends.
func (s *server) open(ctx context.Context, opts query.Options, use func(*query.DB) error) error {
	if err := s.waitForTurn(ctx); err != nil {
		return err
	}
	opts.Timeout, opts.SpillLimit = s.cfg.Timeout, spillLimit
	db, err := s.cfg.Open(ctx, opts)
	if err != nil {
		<-s.turn
		return err
	}
	err = use(db)
	closed := make(chan error, 1)
	go func() {
		closed <- db.Close()
		<-s.turn
	}()
	if ctx.Err() == nil && !errors.As(err, new(*query.TimeoutError)) {
		err = errors.Join(err, <-closed)
	}
	if refused, ok := errors.AsType[*query.RefusedError](err); ok {
		return errors.New(refused.Plain()) // an assistant has no command line
	}
	if err != nil {
		return s.cfg.Explain(err)
	}
	return nil
}

// waitForTurn waits as long as the query before may take.
func (s *server) waitForTurn(ctx context.Context) error {
	var late <-chan time.Time
	if s.cfg.Timeout > 0 {
		timer := time.NewTimer(s.cfg.Timeout + turnGrace)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-late:
		return errors.New("another query is still at work, and may be one that DuckDB cannot stop: try again later, or let this server be started anew")
	}
}

// turnGrace is how long a query that was stopped may take to end.
const turnGrace = 5 * time.Second

func (s *server) fill(ctx context.Context, a *answer, db *query.DB, q query.Query, values map[string]string, most int) error {
	read, err := db.ReadSnapshot(ctx)
	if err != nil {
		return err
	}
	a.Snapshot = snapshot{Run: read.Run, At: read.At.UTC().Format(time.RFC3339Nano), AgeHours: math.Round(s.cfg.Now().Sub(read.At).Hours()*10) / 10}
	r, err := db.Ask(ctx, q, values, most)
	if err != nil {
		return err
	}
	a.Grades, a.Warning = append(a.Grades, r.Sources...), query.DescribeSources(r.Sources)
	if r.NoPlan {
		a.Warning = "not known how sure this answer is: " + query.ErrNoPlan.Error()
	}
	a.Columns = r.Columns
	a.addRows(r, most)
	return nil
}

// addRows writes the rows as arrays, up to the limits.
func (a *answer) addRows(r query.Result, most int) {
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
		if size += len(row); size > mostBytes {
			a.Cut = &cut{
				Why: fmt.Sprintf("only the first %d rows are shown: the next would make the answer longer than %d bytes", len(a.Rows), mostBytes),
				How: "select fewer or shorter columns (left(text, 100)), aggregate or filter in the query",
			}
			break
		}
		a.Rows = append(a.Rows, row)
	}
	if a.Cut == nil && r.Total > int64(most) {
		a.Cut = &cut{
			Why: fmt.Sprintf("only the first %d rows are shown, there are more", most),
			How: fmt.Sprintf("aggregate or filter in the query, or raise max_rows (at most %d)", mostRows),
		}
	}
	a.RowCount = len(a.Rows)
}

// appendValue writes a value as JSON without loss: most clients read numbers into
// doubles, so that decimals, and whole numbers that a double does not hold, are texts.
// Numbers within a list, a struct or a document stay numbers, with all their digits.
func appendValue(dst []byte, r query.Record, at int, kind string) []byte {
	start := len(dst)
	dst = r.AppendJSON(dst, at)
	written := string(dst[start:])
	if written == "null" || !isDecimal(kind) && !exceedsDouble(kind, written) {
		return dst
	}
	return strconv.AppendQuote(dst[:start], written)
}

func isDecimal(kind string) bool {
	return strings.HasPrefix(kind, "DECIMAL(") && strings.HasSuffix(kind, ")")
}

// exceedsDouble reports whether a whole number is beyond 2^53 on either side.
func exceedsDouble(kind, digits string) bool {
	switch kind {
	case "BIGINT", "UBIGINT", "HUGEINT", "UHUGEINT":
	default:
		return false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return err != nil || n > 1<<53 || n < -1<<53
}
