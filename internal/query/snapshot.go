package query

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"placementsync/internal/sqltext"
)

// Snapshot identifies one published state of all tables.
type Snapshot struct {
	// Run is the id of the run that published the state.
	Run string `json:"run_id"`
	// At is the time of the snapshot, as in the columns valid_from and valid_to.
	At time.Time `json:"snapshot_at"`
}

func (s Snapshot) String() string { return s.Run + " of " + s.At.UTC().Format(time.RFC3339Nano) }

// Snapshots lists the snapshots in the catalog, oldest first.
func (db *DB) Snapshots(ctx context.Context) ([]Snapshot, error) {
	snapshots, err := db.readSnapshots(ctx, catalogDB)
	if err != nil {
		return nil, fmt.Errorf("list snapshots: %w", err)
	}
	return snapshots, nil
}

// SelectedSnapshot returns the snapshot that queries read: the snapshot that Options.AsOf chose, or the
// newest. In a catalog without snapshots, the result is zero.
func (db *DB) SelectedSnapshot(ctx context.Context) (Snapshot, error) {
	all, err := db.Snapshots(ctx)
	if err != nil || len(all) == 0 {
		return Snapshot{}, err
	}
	return all[len(all)-1], nil // Options.AsOf hides later snapshots
}

func (db *DB) readSnapshots(ctx context.Context, database string) ([]Snapshot, error) {
	var snapshots []Snapshot
	var s Snapshot
	err := db.scanRows(ctx, catalogSQL.Render("snapshots", sqltext.Values{"database": sqltext.Name(database)}),
		[]any{&s.Run, &s.At}, func() { snapshots = append(snapshots, Snapshot{s.Run, s.At.UTC()}) })
	return snapshots, err
}

// findSnapshot returns the snapshot for a text of the user, which is a run id, a time or a date. A time
// means the newest snapshot at that time. A date means the newest snapshot at the end of that day (UTC).
// An unknown snapshot is a *UsageError.
func findSnapshot(all []Snapshot, text string) (Snapshot, error) {
	if len(all) == 0 {
		return Snapshot{}, &UsageError{Problem: "the catalog has no snapshot"}
	}
	if i := slices.IndexFunc(all, func(s Snapshot) bool { return s.Run == text }); i >= 0 {
		return all[i], nil
	}
	at, isTime := parseTimeOrDate(text)
	if !isTime && runID.MatchString(text) {
		const maxListed = 5
		var newest []string
		for _, s := range slices.Backward(all) {
			newest = append(newest, s.Run)
		}
		newest = newest[:min(len(newest), maxListed)]
		return Snapshot{}, &UsageError{Problem: fmt.Sprintf("run %q is not in the catalog; the newest runs are %s", text, strings.Join(newest, ", "))}
	}
	if !isTime {
		return Snapshot{}, &UsageError{
			Problem: fmt.Sprintf("%q is not a time such as 2026-11-01T02:00:00Z, a date such as 2026-11-01 or the id of a run", text)}
	}
	for _, s := range slices.Backward(all) {
		if !s.At.After(at) {
			return s, nil
		}
	}
	return Snapshot{}, &UsageError{Problem: fmt.Sprintf("%q is before the first snapshot, %s: name a later time", text, all[0])}
}

var runID = regexp.MustCompile(`^\d{8}T\d{6}`)

// parseTimeOrDate parses a time or a date. A time without a zone is in UTC. A date means the end of that
// day.
func parseTimeOrDate(text string) (at time.Time, isTime bool) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day.AddDate(0, 0, 1).Add(-time.Microsecond), true
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// createCatalogViews creates the views of all tables in catalogDB. Views and macros are created from their
// definitions in the file, which another program version may have written.
func (db *DB) createCatalogViews(ctx context.Context, selectRows func(storedTable) sqltext.SQL) error {
	tables, err := db.storedTables(ctx, db.stored)
	if err != nil {
		return err
	}
	if err := db.createViews(ctx, catalogDB, tables, selectRows); err != nil {
		return err
	}
	var definition sqltext.SQL
	var definitions []sqltext.SQL
	err = db.scanRows(ctx, catalogSQL.Render("definitions", sqltext.Values{"database": db.stored}), []any{&definition},
		func() { definitions = append(definitions, definition) })
	if err != nil {
		return err
	}
	return db.execInAnyOrder(ctx, definitions)
}

func (db *DB) createViews(ctx context.Context, database string, tables []storedTable, selectRows func(storedTable) sqltext.SQL) error {
	var statements []sqltext.SQL
	for _, schema := range []string{"past", "history", "meta", "mart"} {
		statements = append(statements, sqltext.Fill("CREATE SCHEMA {database}.{schema}",
			sqltext.Values{"database": sqltext.Name(database), "schema": sqltext.Name(schema)}))
	}
	for _, t := range tables {
		statements = append(statements, sqltext.Fill("CREATE VIEW {database}.{schema}.{name} AS {rows}", sqltext.Values{
			"database": sqltext.Name(database), "schema": sqltext.Name(t.schema), "name": sqltext.Name(t.name), "rows": selectRows(t)}))
	}
	return db.execAll(ctx, "BEGIN", sqltext.JoinSQL(statements, ";\n"), "COMMIT")
}

type storedTable struct {
	database, schema, name string
	columns                []string
}

func (db *DB) storedTables(ctx context.Context, database string) ([]storedTable, error) {
	var tables []storedTable
	var schema, name string
	var columns []any
	err := db.scanRows(ctx, catalogSQL.Render("stored_tables", sqltext.Values{"database": database}), []any{&schema, &name, &columns}, func() {
		t := storedTable{database: database, schema: schema, name: name}
		for _, c := range columns {
			t.columns = append(t.columns, fmt.Sprint(c))
		}
		tables = append(tables, t)
	})
	return tables, err
}

// scanRows scans each row of a query into the variables and then calls use.
func (db *DB) scanRows(ctx context.Context, query sqltext.SQL, variables []any, use func()) error {
	rows, err := db.conn.QueryContext(ctx, string(query))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(variables...); err != nil {
			return err
		}
		use()
	}
	return rows.Err()
}

// selectSQL returns a SELECT of the rows that the table had at a snapshot. These rows are in the
// schema main or, if a later night changed or removed them, in the schema past. Tables in the schema
// meta whose rows are updated in place ("details", "drift") show their current values. Hidden columns
// are NULL.
func (t storedTable) selectSQL(s Snapshot, hidden []string) sqltext.SQL {
	has := func(column string) bool { return slices.Contains(t.columns, column) }
	columns := t.columnList(hidden)
	switch {
	case t.schema == "main" && has("valid_from"):
		return catalogSQL.Render("rows_at", sqltext.Values{"columns": columns, "main": t.qualifiedName("main"), "past": t.qualifiedName("past"), "at": s.At})
	case t.schema == "past":
		return catalogSQL.Render("rows_closed_until", sqltext.Values{"columns": columns, "past": t.qualifiedName("past"), "at": s.At})
	case t.schema != "meta":
		return t.selectAll(hidden)
	}
	for _, run := range []sqltext.Name{"run_id", "first_run"} {
		if has(string(run)) {
			return catalogSQL.Render("rows_of_runs", sqltext.Values{"columns": columns, "table": t.qualifiedName("meta"), "run": run,
				"database": sqltext.Name(t.database), "at": s.At})
		}
	}
	return t.selectAll(hidden)
}

func (t storedTable) selectAll(hidden []string) sqltext.SQL {
	return sqltext.Fill("SELECT {columns} FROM {table}", sqltext.Values{"columns": t.columnList(hidden), "table": t.qualifiedName(t.schema)})
}

func (t storedTable) qualifiedName(schema string) sqltext.SQL {
	return sqltext.Fill("{database}.{schema}.{name}",
		sqltext.Values{"database": sqltext.Name(t.database), "schema": sqltext.Name(schema), "name": sqltext.Name(t.name)})
}

// columnList returns the columns for a SELECT. Hidden columns are NULL of the same type.
func (t storedTable) columnList(hidden []string) sqltext.SQL {
	return sqltext.Join(t.columns, ", ", func(column string) sqltext.SQL {
		text := "{column}"
		if slices.Contains(hidden, t.name+"."+column) {
			text = "CASE WHEN FALSE THEN {column} END AS {column}"
		}
		return sqltext.Fill(text, sqltext.Values{"column": sqltext.Name(column)})
	})
}

// execInAnyOrder executes statements that may need objects of later statements. It repeats the failed ones until all
// succeed, or until none does.
func (db *DB) execInAnyOrder(ctx context.Context, statements []sqltext.SQL) error {
	for len(statements) > 0 {
		var failed []sqltext.SQL
		var problems []error
		for _, s := range statements {
			if err := db.execAll(ctx, s); err != nil {
				failed = append(failed, s)
				problems = append(problems, err)
			}
		}
		if len(failed) == len(statements) {
			return errors.Join(problems...)
		}
		statements = failed
	}
	return nil
}

// Before configures the database "before", which contains views of the tables of the previous
// snapshot, in the schemas main, past and meta.
type Before struct {
	// Catalog is the path of the DuckDB file of the previous snapshot. If it is empty, the views are
	// derived from the history in the opened file.
	Catalog string
	// Hidden lists the columns, as table.column, that are NULL in "before", in the schema past and in
	// earlier snapshots. These columns are private now, but an earlier night may have published their values.
	Hidden []string
}

const beforeDB = "before"

// unguessableName returns a name for a database that checks cannot read, because it contains earlier values
// of private columns. SQL cannot use a name that it reads from DuckDB's own tables.
func unguessableName() string { return "stored_" + strings.ToLower(rand.Text()) }

// attachBefore does nothing if Before.Catalog is empty and the history has no earlier snapshot.
func (db *DB) attachBefore(ctx context.Context, b Before) error {
	database := cmp.Or(db.stored, catalogDB)
	var selectRows func(t storedTable) sqltext.SQL
	if b.Catalog != "" {
		database = unguessableName()
		if err := db.execAll(ctx, attachSQL(b.Catalog, database)); err != nil {
			return err
		}
		selectRows = func(t storedTable) sqltext.SQL { return t.selectAll(b.Hidden) }
	} else {
		snapshots, err := db.readSnapshots(ctx, database)
		if err != nil {
			return err
		}
		current := len(snapshots) - 1
		if db.asOf != nil {
			current = slices.Index(snapshots, *db.asOf)
		}
		if current < 1 {
			return nil
		}
		selectRows = func(t storedTable) sqltext.SQL { return t.selectSQL(snapshots[current-1], b.Hidden) }
	}
	tables, err := db.storedTables(ctx, database)
	if err != nil {
		return err
	}
	if err := db.execAll(ctx, "ATTACH ':memory:' AS "+beforeDB); err != nil {
		return err
	}
	if err := db.createViews(ctx, beforeDB, tables, selectRows); err != nil {
		return fmt.Errorf("create the views of the previous snapshot: %w", err)
	}
	db.hasBefore, db.isBeforeDerived = true, b.Catalog == ""
	return nil
}

// hasEarlierValues reports whether the schema past of catalogDB has a value of a hidden column.
func (db *DB) hasEarlierValues(ctx context.Context, hidden []string) (bool, error) {
	if len(hidden) == 0 {
		return false, nil
	}
	tables, err := db.storedTables(ctx, catalogDB)
	if err != nil {
		return false, err
	}
	var selects []sqltext.SQL
	for _, t := range tables {
		for _, c := range t.columns {
			if t.schema == "past" && slices.Contains(hidden, t.name+"."+c) {
				selects = append(selects, sqltext.Fill("EXISTS (FROM {table} WHERE {column} IS NOT NULL)",
					sqltext.Values{"table": t.qualifiedName("past"), "column": sqltext.Name(c)}))
			}
		}
	}
	if len(selects) == 0 {
		return false, nil
	}
	hasValue := false
	err = db.conn.QueryRowContext(ctx, string("SELECT "+sqltext.JoinSQL(selects, " OR "))).Scan(&hasValue)
	return hasValue, err
}

// WhyNotComparable returns the reason why a check cannot compare the snapshot with the previous one. It
// returns "" if the check can compare them, or if it does not read the previous snapshot.
func (db *DB) WhyNotComparable(q Query) string {
	text := q.withoutHeader()
	if !beforeName.MatchString(text) {
		return ""
	}
	if !db.hasBefore {
		return "there is no previous snapshot"
	}
	if db.isBeforeDerived && previousRejects.MatchString(text) {
		// A night replaces the rejects of the tables that it reads.
		return "the rejects of the previous snapshot are no longer stored"
	}
	return ""
}
