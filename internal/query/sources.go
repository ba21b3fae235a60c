package query

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	duckdb "github.com/duckdb/duckdb-go/v2"

	"placementsync/internal/ledger"
	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
)

// A result is only as reliable as its source tables. DB.Sources finds them in DuckDB's plan of the
// query, which contains all tables that the query reads, also through views, macros and common table
// expressions. The optimizer is disabled for this plan, because it would leave out empty tables, such
// as tables that no night could read.

// Source is a source table of a result with its grade. Tables in the schema meta are not sources.
// However, meta.tables counts the rows of all tables, so a result from it has all tables as sources.
type Source struct {
	// Table is the name of the table in the schema main. Its rows in the schemas past and history
	// have the same grade.
	Table    string          `json:"table"`
	Standing ledger.Standing `json:"standing"`
	// Grade is the worst grade of the streams that fill the table. Stream is the stream with this
	// grade. Grade is empty if the snapshot has no grades of these streams.
	Grade  stream.Grade `json:"grade"`
	Stream string       `json:"stream"`
	Reason string       `json:"reason,omitempty"` // explains the grade
	// RowsSince is set if the snapshot contains rows that its run neither read nor proved to be
	// unchanged. It is the time at which the oldest of these rows was last read.
	RowsSince time.Time `json:"rows_since,omitzero"`
	// ReadAt is the time of the newest snapshot whose run read the stream. ProvenAt is the latest
	// time at which all rows of the stream were proven. Zero means never.
	ReadAt   time.Time `json:"last_read_at,omitzero"`
	ProvenAt time.Time `json:"last_proven_at,omitzero"`
}

// ErrNoPlan reports that the sources of a query cannot be determined before it runs.
var ErrNoPlan = errors.New("the source tables of several statements, or of a PIVOT without IN, are unknown")

// Sources returns the source tables of a query, the worst grade first, without running the
// query. It returns the errors of Run, and ErrNoPlan.
func (db *DB) Sources(ctx context.Context, q Query, values map[string]string) ([]Source, error) {
	ctx, cancel := db.WithTimeout(ctx) // for both steps together
	defer cancel()
	a, err := db.admit(ctx, q, values, false)
	if err != nil {
		return nil, err
	}
	return a.Sources(ctx)
}

// AllSources returns all tables of the schema main as sources, the worst grade first.
func (db *DB) AllSources(ctx context.Context) ([]Source, error) {
	ctx, cancel := db.WithTimeout(ctx)
	defer cancel()
	return db.gradeTables(ctx, allTables())
}

// allTables returns the names of the tables of the schema main in alphabetical order.
func allTables() (names []string) {
	for _, table := range stream.Tables(stream.All()) {
		names = append(names, table.Name)
	}
	slices.Sort(names)
	return names
}

// Sources is like [DB.Sources].
func (a Admitted) Sources(ctx context.Context) ([]Source, error) {
	tables, err := a.findTables(ctx)
	if err != nil || len(tables) == 0 {
		return nil, err
	}
	return a.db.gradeTables(ctx, tables)
}

func (db *DB) gradeTables(ctx context.Context, tables []string) ([]Source, error) {
	streams := map[string]Source{} // by name, without a table
	grades := map[string]stream.GradeReason{}
	var row Source
	var since, read, proven sql.NullTime
	gradesSQL := catalogSQL.Render("grades", sqltext.Values{"catalog": sqltext.Name(catalogDB)})
	err := db.scanRows(ctx, gradesSQL, []any{&row.Stream, &row.Grade, &row.Reason, &since, &read, &proven}, func() {
		row.RowsSince, row.ReadAt, row.ProvenAt = since.Time.UTC(), read.Time.UTC(), proven.Time.UTC()
		streams[row.Stream] = row
		grades[row.Stream] = stream.GradeReason{Grade: row.Grade, Reason: row.Reason}
	})
	if err != nil {
		return nil, fmt.Errorf("read the grades of the snapshot: %w", err)
	}
	var sources []Source
	for _, table := range tables {
		grade, isFilled := stream.GradeTable(stream.All(), table, grades)
		if !isFilled {
			continue
		}
		s := streams[grade.Stream]
		s.Table, s.Grade, s.Reason, s.Standing = table, grade.Grade, grade.Reason, ledger.StandingOf(grade.Grade)
		if grade.Stream == "" {
			s.Reason = "the snapshot has no grade for this table"
		}
		sources = append(sources, s)
	}
	slices.SortStableFunc(sources, func(a, b Source) int { return stream.CompareGrades(a.Grade, b.Grade) })
	return sources, nil
}

// FindProblems returns the sources that are not proven.
func FindProblems(sources []Source) []ledger.Problem {
	var problems []ledger.Problem
	for _, s := range sources {
		if s.Standing != ledger.Proven {
			problems = append(problems, ledger.Problem{Name: s.Table, Standing: s.Standing, Reason: s.Reason, Since: s.RowsSince})
		}
	}
	return problems
}

// DescribeSources returns one line about the sources that are not proven, or an empty string.
func DescribeSources(sources []Source) string { return ledger.DescribeProblems(FindProblems(sources)) }

// DescribeCompleteness names the incomplete tables in words and without reasons, for readers who do not know the service.
func DescribeCompleteness(problems []ledger.Problem) string {
	if len(problems) == 0 {
		return "complete"
	}
	var names []string
	for _, p := range problems {
		names = append(names, strings.ReplaceAll(p.Name, "_", " "))
	}
	slices.Sort(names)
	return "rows of these may be old or missing: " + strings.Join(slices.Compact(names), ", ")
}

func (a Admitted) findTables(ctx context.Context) ([]string, error) {
	text := a.query.withoutHeader()
	switch {
	case a.statement.several:
		return nil, ErrNoPlan
	case a.statement.kind == duckdb.STATEMENT_TYPE_EXPLAIN:
		return nil, nil // the result is a plan and contains no rows of a table
	case pragmaStart.MatchString(text):
		return nil, nil // the result describes the catalog, and EXPLAIN does not accept a PRAGMA
	}
	scanned := map[string]bool{}
	err := a.db.runOn(ctx, a.db.planner, func(ctx context.Context, conn *duckdb.Conn) error {
		steps, err := readPlan(ctx, conn, text, a.args)
		if err != nil {
			return a.query.wrapErr(asRefusal(err))
		}
		for _, step := range steps {
			step.collectTables(scanned)
		}
		return nil
	})
	return slices.Sorted(maps.Keys(scanned)), err
}

var pragmaStart = regexp.MustCompile(`(?i)^PRAGMA\b`)

type planStep struct {
	Children []planStep     `json:"children"`
	Extra    map[string]any `json:"extra_info"`
}

func readPlan(ctx context.Context, conn *duckdb.Conn, text string, args []any) (steps []planStep, err error) {
	value, err := queryValue(ctx, conn, explainJSON+text, args)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(fmt.Sprint(value)), &steps); err != nil {
		return nil, fmt.Errorf("read the plan of the query: %w", err)
	}
	return steps, nil
}

// collectTables adds to scanned the tables that an operator and its children read. Names are split at
// dots, because no name in the catalog contains a dot.
func (p planStep) collectTables(scanned map[string]bool) {
	if p.looksUpNames() {
		return
	}
	if name, ok := p.Extra["Table"].(string); ok {
		name = strings.ReplaceAll(name, `"`, "") // DuckDB quotes keywords, such as "tables"
		parts := strings.Split(name, ".")
		switch {
		case strings.HasSuffix(name, "meta.tables"):
			for _, table := range allTables() {
				scanned[table] = true
			}
		case len(parts) == 1 || !slices.Contains([]string{"meta", "temp"}, parts[len(parts)-2]):
			scanned[parts[len(parts)-1]] = true
		}
	}
	for _, c := range p.Children {
		c.collectTables(scanned)
	}
}

// looksUpNames reports whether an operator computes the names in mart.outlet_names. They only complete the rows of
// other tables, so a query with names does not depend on all tables that contain names.
func (p planStep) looksUpNames() bool {
	for _, key := range []string{"Projections", "Expressions"} {
		switch columns := p.Extra[key].(type) {
		case string:
			if columns == nameRank {
				return true
			}
		case []any:
			if slices.Contains(columns, any(nameRank)) {
				return true
			}
		}
	}
	return false
}

// nameRank is a column inside mart.outlet_names.
const nameRank = "name_rank"
