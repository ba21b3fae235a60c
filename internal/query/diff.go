package query

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"placementsync/internal/sqltext"
	"placementsync/schema"
)

// SnapshotsToCompare returns the two snapshots of a comparison. Without names, it returns the last two
// snapshots. With one name, it returns the named snapshot and the newest. With two names, it returns
// the named snapshots. For fewer than two snapshots, an unknown name, or a first snapshot that is not
// earlier than the second, SnapshotsToCompare returns a *UsageError.
func SnapshotsToCompare(all []Snapshot, names ...string) (from, to Snapshot, err error) {
	if len(all) < 2 {
		return from, to, &UsageError{Problem: fmt.Sprintf("a comparison needs two snapshots, but the catalog has %d: wait for the next night", len(all))}
	}
	chosen := []Snapshot{all[len(all)-2], all[len(all)-1]}
	newest := all[len(all)-1]
	for i, name := range names[:min(len(names), len(chosen))] {
		if at, ok := parseTimeOrDate(name); ok && at.UTC().Format(time.DateOnly) > newest.At.UTC().Format(time.DateOnly) {
			return from, to, &UsageError{Problem: fmt.Sprintf("%q is after the newest snapshot, %s: name an earlier time", name, newest)}
		}
		if chosen[i], err = findSnapshot(all, name); err != nil {
			return from, to, err
		}
	}
	from, to = chosen[0], chosen[1]
	if from.Run == to.Run {
		return from, to, &UsageError{Problem: fmt.Sprintf("the snapshot %s cannot be compared with itself: name an earlier snapshot as the first", from)}
	}
	if !from.At.Before(to.At) {
		return from, to, &UsageError{Problem: fmt.Sprintf("compare an earlier snapshot with a later one, not %s with %s", from, to)}
	}
	return from, to, nil
}

// Diff specifies a comparison of two snapshots, see SnapshotsToCompare.
type Diff struct {
	From, To Snapshot
	// Tables are patterns of table names, such as order*. Empty means all tables.
	Tables []string
	// Outlet is the id of an outlet. If it is set, only the records of that outlet and of its
	// channels, listings, products and prices are compared.
	Outlet string
}

// Changes returns the query for the changes between two snapshots. If asJSON is true, its result has one row
// per changed field, and one row per new or deleted record, ordered by table, key and field; the columns
// "old" and "new" are JSON. Otherwise, it has one row per change in words, ordered by table and name.
func (db *DB) Changes(ctx context.Context, d Diff, asJSON bool) (Query, error) {
	if asJSON {
		changes, err := db.changesSQL(ctx, d)
		return Query{SQL: string(diffSQL.Render("changes", sqltext.Values{"changes": changes}))}, err
	}
	return db.toldQuery(ctx, d, diffSQL.Render("changes_in_words", nil))
}

// ChangeCounts returns the query for the numbers of changes, with one row per changed table.
func (db *DB) ChangeCounts(ctx context.Context, d Diff) (Query, error) {
	changes, err := db.changesSQL(ctx, d)
	return Query{SQL: string(diffSQL.Render("change_counts", sqltext.Values{"changes": changes}))}, err
}

// ChangedFields returns the query for the changed fields, the most frequent one first. Each row has
// the number of changes, and the outlet, name, old value and new value of one example. Values are cut
// to 200 characters.
func (db *DB) ChangedFields(ctx context.Context, d Diff) (Query, error) {
	return db.toldQuery(ctx, d, diffSQL.Render("changed_fields", nil))
}

// toldQuery returns a query that reads the relation told.
func (db *DB) toldQuery(ctx context.Context, d Diff, selectSQL sqltext.SQL) (Query, error) {
	tables, err := db.tablesOf(ctx, d)
	if err != nil {
		return Query{}, err
	}
	return Query{SQL: string(d.toldChanges(tables)) + "\n" + string(selectSQL)}, nil
}

// changesSQL returns a SELECT of the changes of the chosen tables.
func (db *DB) changesSQL(ctx context.Context, d Diff) (sqltext.SQL, error) {
	tables, err := db.tablesOf(ctx, d)
	if err != nil {
		return "", err
	}
	return sqltext.Join(tables, " UNION ALL ", func(table string) sqltext.SQL {
		return diffSQL.Render("changes_of_fields", sqltext.Values{"name": table, "macro": sqltext.Name(table + schema.ChangesSuffix),
			"from_time": d.From.At, "to_time": d.To.At, "condition": d.outletCondition(table)})
	}), nil
}

// tablesOf returns the tables to compare.
func (db *DB) tablesOf(ctx context.Context, d Diff) ([]string, error) {
	tables, err := db.comparableTables(ctx, d.Tables)
	if err != nil || d.Outlet == "" {
		return tables, err
	}
	return db.outletTables(ctx, d.Outlet, tables)
}

// outletCondition returns the condition on the changes of a table, or an empty text.
func (d Diff) outletCondition(table string) sqltext.SQL {
	if d.Outlet == "" {
		return ""
	}
	// The first column of the key is the id of the record or of its parent.
	return sqltext.Fill(`WHERE split_part("key", '/', 1) IN ({keys})`, sqltext.Values{"keys": outletKeysSQL(table, d.Outlet)})
}

// outletKeysSQL returns a SELECT of ids. A record of the table belongs or belonged to the outlet if
// the key of the record begins with one of these ids. For tables without records of outlets,
// outletKeysSQL returns an empty string.
func outletKeysSQL(table, outlet string) sqltext.SQL {
	selectIDs := func(column, historyTable sqltext.Name) sqltext.SQL {
		return sqltext.Fill("SELECT {column} FROM history.{table} WHERE outlet_id = {outlet}",
			sqltext.Values{"column": column, "table": historyTable, "outlet": outlet})
	}
	switch {
	case table == "outlets" || table == "outlet_tags" || table == "outlet_products":
		return sqltext.Fill("SELECT {outlet}", sqltext.Values{"outlet": outlet})
	case strings.HasPrefix(table, "outlet_channel"):
		return selectIDs("id", "outlet_channels")
	case strings.HasPrefix(table, "outlet_listing"):
		return selectIDs("id", "outlet_listings")
	case strings.HasPrefix(table, "product_listing"):
		return selectIDs("id", "product_listings")
	case table == "products" || table == "product_prices" || table == "product_example_links":
		return selectIDs("product_id", "outlet_products") + " UNION " + selectIDs("id", "product_listings") + " UNION " + selectIDs("id", "outlet_listings")
	}
	return ""
}

func (db *DB) outletTables(ctx context.Context, outlet string, tables []string) ([]string, error) {
	var known bool
	err := db.scanRows(ctx, diffSQL.Render("is_outlet", sqltext.Values{"outlet": outlet}), []any{&known}, func() {})
	if err != nil {
		return nil, fmt.Errorf("find outlet %q: %w", outlet, err)
	}
	if !known {
		return nil, &UsageError{Problem: fmt.Sprintf("no outlet has the id %q: list the outlets with placementsync query \"SELECT id, name FROM outlets\"", outlet)}
	}
	owned := slices.DeleteFunc(slices.Clone(tables), func(table string) bool { return outletKeysSQL(table, outlet) == "" })
	if len(owned) == 0 {
		return nil, &UsageError{Problem: "no chosen table has records of an outlet: leave out --table, or choose outlet* or product*"}
	}
	return owned, nil
}

func (db *DB) comparableTables(ctx context.Context, patterns []string) ([]string, error) {
	var name string
	var names []string
	err := db.scanRows(ctx, diffSQL.Render("comparable_tables", sqltext.Values{"suffix": schema.ChangesSuffix, "database": catalogDB}),
		[]any{&name}, func() { names = append(names, name) })
	if err != nil {
		return nil, fmt.Errorf("list the tables to compare: %w", err)
	}
	if len(names) == 0 {
		return nil, &UsageError{Problem: "the catalog lacks the functions that compare snapshots: wait for the next night, or run placementsync rebuild, to add the functions"}
	}
	return matchPatterns(names, patterns)
}

// matchPatterns returns the names that match at least one pattern, or all names if there are no
// patterns. A pattern without a match is a *UsageError.
func matchPatterns(names, patterns []string) ([]string, error) {
	if len(patterns) == 0 {
		return names, nil
	}
	var picked []string
	for _, p := range patterns {
		hasMatch := false
		for _, name := range names {
			if ok, err := path.Match(p, name); ok && err == nil {
				hasMatch = true
				picked = append(picked, name)
			}
		}
		if !hasMatch {
			return nil, &UsageError{Problem: fmt.Sprintf("no table is named %q; tables: %s", p, strings.Join(names, ", "))}
		}
	}
	slices.Sort(picked)
	return slices.Compact(picked), nil
}
