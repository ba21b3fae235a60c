package query

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"placementsync/internal/sqltext"
)

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
	database := catalogDB
	if db.stored != "" {
		database = db.stored
	}
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
	found := false
	if len(selects) > 0 {
		err = db.scanRows(ctx, "SELECT "+sqltext.JoinSQL(selects, " OR "), []any{&found}, func() {})
	}
	return found, err
}

// WhyNotComparable returns the reason why a check cannot compare the snapshot with the previous one. It
// returns "" if the check can compare them, or if it does not read the previous snapshot.
func (db *DB) WhyNotComparable(q Query) string {
	switch text := q.withoutHeader(); {
	case !beforeName.MatchString(text):
		return ""
	case !db.hasBefore:
		return "there is no previous snapshot"
	case db.isBeforeDerived && previousRejects.MatchString(text):
		// A night replaces the rejects of the tables that it reads.
		return "the rejects of the previous snapshot are no longer stored"
	}
	return ""
}
