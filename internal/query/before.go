package query

import (
	"context"
	"fmt"
	"slices"

	"placementsync/internal/sqltext"
)

// Before configures the database "before", which contains views of the tables of the previous
// snapshot, in the schemas main, past and meta.
type Before struct {
	// Catalog is the path of the DuckDB file of the previous snapshot. If it is empty, the views are
	// derived from the history in the opened file.
	Catalog string
	// Hidden lists the columns, as table.column, that are NULL in "before". These columns are
	// private now, but an earlier night may have published their values.
	Hidden []string
}

const beforeDB, beforeFileDB = "before", "before_file"

// attachBefore does nothing if Before.Catalog is empty and the history has no earlier snapshot.
func (db *DB) attachBefore(ctx context.Context, b Before) error {
	database := catalogDB
	if db.asOf != nil {
		database = newestDB
	}
	var selectRows func(t storedTable) string
	if b.Catalog != "" {
		database = beforeFileDB
		if err := db.execAll(ctx, "ATTACH "+sqltext.Literal(b.Catalog)+" AS "+beforeFileDB+" (READ_ONLY)"); err != nil {
			return err
		}
		selectRows = func(t storedTable) string {
			return fmt.Sprintf("SELECT %s FROM %s", t.columnList(b.Hidden), t.qualifiedName(t.schema))
		}
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
		selectRows = func(t storedTable) string { return t.selectSQL(snapshots[current-1], b.Hidden) }
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
