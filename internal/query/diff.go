package query

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"placementsync/internal/nearest"
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
	newest := all[len(all)-1]
	chosen := []Snapshot{all[len(all)-2], newest}
	for i, name := range names {
		at, isTime := parseTimeOrDate(name)
		isLaterDay := at.UTC().Format(time.DateOnly) > newest.At.UTC().Format(time.DateOnly)
		if isTime && isLaterDay {
			return from, to, &UsageError{Problem: fmt.Sprintf("%q is after the newest snapshot, %s: name an earlier time", name, newest)}
		}
		chosen[i], err = findSnapshot(all, name)
		if err != nil {
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

// Changes returns the query for the changes between two snapshots. If asJSON is true, its result has one row per
// changed field, and one row per new or deleted record. The columns "old" and "new" are then JSON. Otherwise, it has
// one row per change in words.
func (db *DB) Changes(ctx context.Context, d Diff, asJSON bool) (Query, error) {
	if asJSON {
		changes, err := db.changesSQL(ctx, d)
		return Query{SQL: string(diffSQL.Render("changes", sqltext.Values{"changes": changes}))}, err
	}
	return db.queryInWords(ctx, d, diffSQL.Render("changes_in_words", nil))
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
	return db.queryInWords(ctx, d, diffSQL.Render("changed_fields", nil))
}

// queryInWords returns a query that reads the relation worded, the changes in words.
func (db *DB) queryInWords(ctx context.Context, d Diff, selectSQL sqltext.SQL) (Query, error) {
	tables, err := db.tablesOf(ctx, d)
	if err != nil {
		return Query{}, err
	}
	return Query{SQL: string(d.withChangesInWords(tables)) + "\n" + string(selectSQL)}, nil
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
	tables, err := matchPatterns(names, d.Tables)
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
	var isKnown bool
	isOutlet := diffSQL.Render("is_outlet", sqltext.Values{"outlet": outlet})
	err := db.conn.QueryRowContext(ctx, string(isOutlet)).Scan(&isKnown)
	if err != nil {
		return nil, fmt.Errorf("find outlet %q: %w", outlet, err)
	}
	if !isKnown {
		return nil, &UsageError{Problem: fmt.Sprintf("no outlet has the id %q: list the outlets with placementsync query \"SELECT id, name FROM outlets\"", outlet)}
	}
	owned := slices.DeleteFunc(slices.Clone(tables), func(table string) bool { return outletKeysSQL(table, outlet) == "" })
	if len(owned) == 0 {
		return nil, &UsageError{Problem: "no chosen table has records of an outlet: leave out --table, or choose outlet* or product*"}
	}
	return owned, nil
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
			if isMatch, _ := path.Match(p, name); isMatch { // an invalid pattern matches no table
				hasMatch = true
				picked = append(picked, name)
			}
		}
		if !hasMatch {
			similar := nearest.FindSuggestions(names, p)
			unknown := schema.UnknownTableError{Table: p, Similar: strings.Join(similar, " or ")}
			return nil, &UsageError{Problem: unknown.Error()}
		}
	}
	slices.Sort(picked)
	return slices.Compact(picked), nil
}

// withChangesInWords returns the WITH clause of the relation worded. tables are the tables to compare.
func (d Diff) withChangesInWords(tables []string) sqltext.SQL {
	all := map[string]schema.Table{}
	for _, t := range schema.All() {
		if t.Schema == "main" {
			all[t.Table] = t
		}
	}
	// The names of outlets and of products are in several tables.
	names := []sqltext.SQL{
		namesSQL("outlets", all["outlets"], "id", "name"),
		namesSQL("outlets", all["product_listings"], "outlet_id", "outlet_name"),
		namesSQL("outlets", all["outlet_listings"], "outlet_id", "outlet_name"),
		namesSQL("products", all["outlet_products"], "product_id", "name"),
		namesSQL("products", all["product_listings"], "id", "name"),
	}
	var changes, rows []sqltext.SQL
	var named []string // the owners in names
	for _, name := range tables {
		t := all[name]
		change := sqltext.Values{"name": name, "noun": nounOf(t), "is_item": isItem(t) && !isLink(t), "owner": nullTextSQL, "amounts": amountsOf(t),
			"macro": sqltext.Name(name + schema.ChangesSuffix), "from_time": d.From.At, "to_time": d.To.At, "condition": d.outletCondition(name)}
		row := sqltext.Values{"name": name, "table": sqltext.Name(name), "key": keyText(t.Key), "own_name": nullTextSQL, "label": labelOf(t),
			"outlet_id": outletIDOf(t), "owner_id": nullTextSQL, "has_position": hasColumn(t, "position"), "from_time": d.From.At, "to_time": d.To.At}
		nameColumn := nameOf(t)
		hasOwnName := nameColumn != "" && !isItem(t)
		if hasOwnName {
			row["own_name"] = sqltext.Name(nameColumn)
		}
		owner, column := ownerOf(t, all)
		if name == "products" {
			change["owner"], row["owner_id"] = name, sqltext.SQL("id")
		} else if !hasOwnName && owner != "" && owner != "outlets" {
			change["owner"], row["owner_id"] = owner, sqltext.Name(column)
			if !slices.Contains(named, owner) {
				named = append(named, owner)
				names = append(names, namesSQL(owner, all[owner], "id", nameOf(all[owner])))
			}
		}
		changes = append(changes, diffSQL.Render("changes_of_table", change))
		rows = append(rows, diffSQL.Render("rows_of_table", row))
	}
	return diffSQL.Render("with_changes_in_words", sqltext.Values{"from_time": d.From.At, "to_time": d.To.At,
		"changes": sqltext.JoinSQL(changes, "\nUNION ALL "), "rows": sqltext.JoinSQL(rows, "\nUNION ALL "), "names": sqltext.JoinSQL(names, "\nUNION ALL ")})
}

const nullTextSQL sqltext.SQL = "NULL::VARCHAR"

// namesSQL returns a SELECT of the names of records. The table owner contains the records, and t their names.
func namesSQL(owner string, t schema.Table, id, name string) sqltext.SQL {
	return diffSQL.Render("names_of_table", sqltext.Values{"name": owner, "table": sqltext.Name(t.Table), "id": sqltext.Name(id),
		"column": sqltext.Name(name), "outlet_id": outletIDOf(t)})
}

// outletIDOf returns the expression of the id of the outlet of a row.
func outletIDOf(t schema.Table) sqltext.SQL {
	if t.Table == "outlets" {
		return "id"
	}
	if hasColumn(t, "outlet_id") {
		return "outlet_id"
	}
	return nullTextSQL
}

// isItem reports whether the rows of a table are parts of a record: the key is the id of the record and something else.
func isItem(t schema.Table) bool {
	return len(t.Key) > 1 && t.Table != "outlet_products" && t.Table != "locations"
}

func isLink(t schema.Table) bool {
	return strings.HasPrefix(t.Table, "profile_") && len(t.Key) == 2 && t.Columns[1].References != ""
}

func hasColumn(t schema.Table, name string) bool {
	return slices.ContainsFunc(t.Columns, func(c schema.Column) bool { return c.Name == name })
}

// nameOf returns the column with the name of a record, or an empty text.
func nameOf(t schema.Table) string {
	for _, name := range []string{"reference_number", "name", "product_name", "article_name", "type", "channel_type"} {
		if hasColumn(t, name) {
			return name
		}
	}
	return ""
}

// labelOf returns the expression of a text that distinguishes the items of a list, or the channels of an outlet.
func labelOf(t schema.Table) sqltext.SQL {
	if !isItem(t) && t.Table != "outlet_channels" {
		return nullTextSQL
	}
	for _, pair := range [][]string{{"pricing_tier", "currency"}, {"channel_type", "placement_type"}} {
		if hasColumn(t, pair[0]) && hasColumn(t, pair[1]) {
			return sqltext.Fill("nullif(concat_ws(', ', {columns}), '')", sqltext.Values{"columns": sqltext.Names(pair)})
		}
	}
	columns := slices.DeleteFunc([]string{"name", "url", "value", "author_name"}, func(name string) bool { return !hasColumn(t, name) })
	if len(columns) == 0 {
		return nullTextSQL
	}
	return sqltext.Fill("coalesce({columns})", sqltext.Values{"columns": sqltext.Names(columns)})
}

// ownerOf returns the table with the record that names a row, and the column with the id of this record. A row
// of a table that links two records has the name of the second.
func ownerOf(t schema.Table, all map[string]schema.Table) (owner, column string) {
	columns := t.Columns
	if isLink(t) {
		columns = columns[1:]
	}
	for _, c := range columns {
		table, id, _ := strings.Cut(c.References, ".")
		if id == "id" && nameOf(all[table]) != "" {
			return table, c.Name
		}
	}
	return "", ""
}

// amountsOf returns the columns with amounts, or an empty name.
func amountsOf(t schema.Table) []string {
	amounts := []string{""}
	for _, c := range t.Columns {
		if strings.HasPrefix(c.Type, "DECIMAL") {
			amounts = append(amounts, c.Name)
		}
	}
	return amounts
}

// keyText returns the expression of the key as in the column "key" of the macros.
func keyText(key []string) sqltext.SQL {
	if len(key) == 1 {
		return sqltext.Fill("{key}::VARCHAR", sqltext.Values{"key": sqltext.Name(key[0])})
	}
	return sqltext.Fill("concat_ws('/', {key})", sqltext.Values{"key": sqltext.Names(key)})
}

// nounOf returns the word for a row of a table, such as "price" for a row of product_listing_prices.
func nounOf(t schema.Table) string {
	words := strings.Split(t.Table, "_")
	owners := []string{"product", "outlet", "listing", "channel", "order", "campaign", "article", "profile"}
	for len(words) > 1 && slices.Contains(owners, words[0]) {
		words = words[1:]
	}
	last := &words[len(words)-1]
	switch {
	case *last == "includes":
		*last = "included placement"
	case strings.HasSuffix(*last, "ies"):
		*last = strings.TrimSuffix(*last, "ies") + "y"
	case *last == "statuses":
		*last = "status"
	default:
		*last = strings.TrimSuffix(*last, "s")
	}
	return strings.Join(words, " ")
}
