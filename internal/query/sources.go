package query

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	duckdb "github.com/duckdb/duckdb-go/v2"

	"placementsync/internal/ledger"
	"placementsync/internal/stream"
)

// An answer is no surer than the tables behind it. Which these are, DuckDB says: its
// plan names every table that a query reads, through views, macros, common table
// expressions and the views of an earlier snapshot, as it binds them. The names that a
// parser finds in a text lack what stands behind a view or a macro. The plan is made
// without the optimizer, which leaves out the tables of which it knows that they are
// empty: those that were never read.

// Source is a table behind an answer, and how sure its rows are. Tables of meta have no
// grade and are none, but for meta.tables: it counts the rows of all tables, so that all
// of them are behind an answer from it.
type Source struct {
	// Table is its name in main; rows of past and history are graded like those.
	Table string `json:"table"`
	// Standing is the grade in the words of people.
	Standing ledger.Standing `json:"standing"`
	// Grade is the worst of the streams that fill the table, and Stream the one that has
	// it; no grade: the snapshot knows none of them.
	Grade  string `json:"grade"`
	Stream string `json:"stream"`
	// Reason is why the grade is what it is.
	Reason string `json:"reason,omitempty"`
	// RowsSince is when the oldest row was last read, of those that the snapshot's own
	// run neither read nor proved; zero: there are none.
	RowsSince time.Time `json:"rows_since,omitzero"`
	// ReadAt is the newest snapshot that read the stream, and ProvenAt as of when all of
	// it was last proven; zero: never.
	ReadAt   time.Time `json:"last_read_at,omitzero"`
	ProvenAt time.Time `json:"last_proven_at,omitzero"`
}

// ErrNoPlan says that the tables behind a query are not known before it runs.
var ErrNoPlan = errors.New("the tables behind several statements, or a PIVOT without IN, are not known")

// Sources finds the tables behind the answer of a query, the least sure first. It runs
// nothing of it. Errors are those of Run, and ErrNoPlan; what it leaves behind at its time
// limit is that of Abandoned.
func (db *DB) Sources(ctx context.Context, q Query, values map[string]string) ([]Source, error) {
	tables, abandoned, err := db.planner.findTables(ctx, q, values)
	db.leaveBehind(abandoned)
	if err != nil || len(tables) == 0 {
		return nil, err
	}
	graded, err := db.planner.readGrades(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the grades of the snapshot: %w", err)
	}
	var sources []Source
	for _, table := range tables {
		if s, ok := gradeTable(table, graded); ok {
			sources = append(sources, s)
		}
	}
	slices.SortStableFunc(sources, func(a, b Source) int { return cmp.Compare(gradeOrder(a.Grade), gradeOrder(b.Grade)) })
	return sources, nil
}

// FindProblems are the sources that are not proven, as problems of their tables.
func FindProblems(sources []Source) []ledger.Problem {
	var problems []ledger.Problem
	for _, s := range sources {
		if s.Standing != ledger.Proven {
			problems = append(problems, ledger.Problem{Name: s.Table, Standing: s.Standing, Reason: s.Reason, Since: s.RowsSince})
		}
	}
	return problems
}

// DescribeSources says in one line for people which tables behind an answer were not
// read, are carried or not proven, and why; it is empty when all are proven.
func DescribeSources(sources []Source) string { return ledger.DescribeProblems(FindProblems(sources)) }

// planner plans queries and runs none, on a connection of its own, since settings belong
// to one.
type planner struct {
	db   *DB
	conn *sql.Conn

	lock   sync.Mutex // guards graded
	graded map[string]Source
}

func (db *DB) openPlanner(ctx context.Context) (*planner, error) {
	conn, err := db.pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range []string{"USE " + home, "PRAGMA disable_optimizer"} {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return &planner{db: db, conn: conn}, nil
}

// findTables are the names of the tables of main and past that a query reads, sorted.
func (p *planner) findTables(ctx context.Context, q Query, values map[string]string) (tables []string, abandoned <-chan struct{}, err error) {
	ctx, cancel, explain := withTimeout(ctx, p.db.opts.Timeout)
	defer cancel()
	use := func(raw any) error {
		conn, ok := raw.(*duckdb.Conn)
		if !ok {
			return fmt.Errorf("plan query: connection is %T, not DuckDB's", raw)
		}
		s, args, err := p.db.admitQuery(ctx, conn, q, values)
		if err != nil {
			return err
		}
		text := q.SQL[len(nothing.FindString(q.SQL)):]
		switch {
		case s.several:
			return ErrNoPlan
		case s.kind == duckdb.STATEMENT_TYPE_EXPLAIN:
			return nil // it answers with a plan, and with no row of a table
		}
		plan, err := readPlan(ctx, conn, text, args)
		if err != nil {
			// What shows and describes tables cannot be explained as it stands.
			if plan, err = readPlan(ctx, conn, "SELECT * FROM ("+strings.TrimRight(text, "; \t\r\n")+"\n)", args); err != nil {
				return q.wrapErr(asRefusal(err))
			}
		}
		found := map[string]bool{}
		for _, step := range plan {
			step.collectTables(found)
		}
		tables = slices.Sorted(maps.Keys(found))
		return nil
	}
	// What binds a query may work for long, too.
	abandoned, err = waitFor(ctx, p.db.opts.Timeout, func() error { return p.conn.Raw(use) })
	if err = explain(err); err != nil {
		return nil, abandoned, err // tables may be written to still
	}
	return tables, nil, nil
}

// planStep is a step of a plan in JSON.
type planStep struct {
	Children []planStep     `json:"children"`
	Extra    map[string]any `json:"extra_info"`
}

// readPlan asks for the plan of a statement that was admitted, which runs nothing of it.
func readPlan(ctx context.Context, conn *duckdb.Conn, text string, args []any) (plan []planStep, err error) {
	rows, err := conn.QueryContext(ctx, "EXPLAIN (FORMAT json) "+text, namedValues(args))
	if err != nil {
		return nil, err
	}
	row := make([]driver.Value, len(rows.Columns()))
	err = rows.Next(row)
	if err := errors.Join(err, rows.Close()); err != nil {
		return nil, fmt.Errorf("read the plan of the query: %w", err)
	}
	if err := json.Unmarshal([]byte(fmt.Sprint(row[len(row)-1])), &plan); err != nil {
		return nil, fmt.Errorf("read the plan of the query: %w", err)
	}
	return plan, nil
}

// collectTables adds the tables that a step and those below it scan. Only the catalog is
// attached, under two names at most; no name in it has a dot.
func (p planStep) collectTables(found map[string]bool) {
	if name, ok := p.Extra["Table"].(string); ok {
		name = strings.ReplaceAll(name, `"`, "") // DuckDB quotes its own words, such as tables
		parts := strings.Split(name, ".")
		switch {
		case strings.HasSuffix(name, "meta.tables"):
			for _, table := range stream.Tables(stream.All()) {
				found[table.Name] = true
			}
		case len(parts) == 1 || !slices.Contains([]string{"meta", "temp"}, parts[len(parts)-2]):
			found[parts[len(parts)-1]] = true
		}
	}
	for _, c := range p.Children {
		c.collectTables(found)
	}
}

// gradesSQL gives each stream of the newest snapshot its grade, when it was last read and
// as of when it was last proven.
const gradesSQL = `WITH published AS (SELECT run_id, snapshot_at FROM ` + home + `.meta.runs WHERE snapshot_at IS NOT NULL),
	readings AS (
		SELECT s.stream, max(r.snapshot_at) FILTER (s.grade IN ('exact', 'repaired', 'bounded', 'best_effort')) AS read_at,
			max(CASE WHEN s.grade = 'bounded' THEN s.age_since ELSE r.snapshot_at END) FILTER (s.grade IN ('exact', 'repaired', 'bounded')) AS proven_at
		FROM ` + home + `.meta.streams AS s JOIN published AS r USING (run_id) GROUP BY s.stream)
	SELECT s.stream, coalesce(s.grade, ''), coalesce(s.reason, ''), s.age_since, r.read_at, r.proven_at
	FROM ` + home + `.meta.streams AS s JOIN readings AS r USING (stream)
	WHERE s.run_id = (SELECT run_id FROM published ORDER BY snapshot_at DESC, run_id DESC LIMIT 1)`

// readGrades reads the grades of the streams once: no file changes while it is open.
func (p *planner) readGrades(ctx context.Context) (map[string]Source, error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.graded != nil {
		return p.graded, nil
	}
	graded := map[string]Source{}
	var s Source
	var since, read, proven sql.NullTime
	err := p.db.scanRows(ctx, gradesSQL, nil, []any{&s.Stream, &s.Grade, &s.Reason, &since, &read, &proven}, func() {
		s.RowsSince, s.ReadAt, s.ProvenAt = since.Time.UTC(), read.Time.UTC(), proven.Time.UTC()
		graded[s.Stream] = s
	})
	if err != nil {
		return nil, err
	}
	p.graded = graded
	return graded, nil
}

// gradeTable is the worst grade of the streams that fill a table; ok is false for a table
// that no stream fills. Where the token may read a list and not its details, the list
// grades its own table; what stands inside the records may be left out of a list, so that
// nothing is proven about it. It is what a night writes into the manifest.
func gradeTable(table string, graded map[string]Source) (worst Source, ok bool) {
	fed := false
	for _, st := range stream.All() {
		if !slices.ContainsFunc(st.Tables, func(t stream.Table) bool { return t.Name == table }) {
			continue
		}
		fed = true
		s, known := graded[st.Name]
		if st.Completes != "" && s.Grade == "bounded" && !slices.Contains(st.OnlyInDetail, table) {
			continue // the list shows all of it
		}
		if st.Completes != "" && s.Grade == "skipped" && ledger.WasRead(graded[st.Completes].Grade) {
			if table == st.Root().Name {
				continue
			}
			s.Grade, s.Reason = "best_effort", fmt.Sprintf("without what %s would add: %s", st.Name, s.Reason)
		}
		if known && (!ok || gradeOrder(s.Grade) < gradeOrder(worst.Grade)) {
			worst, ok = s, true
		}
	}
	if fed && !ok {
		worst.Reason = "the snapshot knows no reading of it"
	}
	worst.Table, worst.Standing = table, ledger.StandingOf(worst.Grade)
	return worst, fed
}

// gradeOrder orders grades, the worst first.
func gradeOrder(grade string) int { return slices.Index(ledger.Grades(), grade) }
