package query

import (
	_ "embed"
	"slices"
	"strings"

	"placementsync/internal/sqltext"
	"placementsync/schema"
)

var (
	//go:embed sql/catalog.sql
	catalogSQL sqltext.File
	//go:embed sql/parquet.sql
	parquetSQL sqltext.File
	//go:embed sql/diff.sql
	diffSQL sqltext.File
)

// toldChanges returns the WITH clause of the relation "told", which has the changes in words. tables are the
// tables to compare.
func (d Diff) toldChanges(tables []string) sqltext.SQL {
	all := map[string]schema.Table{}
	for _, t := range schema.All() {
		if t.Schema == "main" {
			all[t.Table] = t
		}
	}
	null := sqltext.SQL("NULL::VARCHAR")
	// The names of outlets and of listings are in several tables.
	names := []sqltext.SQL{
		namesSQL("outlets", "outlets", "id", "name", "id"),
		namesSQL("outlets", "product_listings", "outlet_id", "outlet_name", "outlet_id"),
		namesSQL("outlets", "outlet_listings", "outlet_id", "outlet_name", "outlet_id"),
		namesSQL("products", "outlet_products", "product_id", "name", "outlet_id"),
		namesSQL("products", "product_listings", "id", "name", "outlet_id"),
	}
	var changes, rows []sqltext.SQL
	named := []string{"outlets"}
	for _, name := range tables {
		t := all[name]
		change := sqltext.Values{"name": name, "noun": nounOf(t), "is_item": isItem(t) && !isLink(t), "owner": null, "amounts": amountsOf(t),
			"macro": sqltext.Name(name + schema.ChangesSuffix), "from_time": d.From.At, "to_time": d.To.At, "condition": d.outletCondition(name)}
		row := sqltext.Values{"name": name, "table": sqltext.Name(name), "key": keyText(t.Key), "own_name": null, "label": labelOf(t),
			"outlet_id": null, "owner_id": null, "has_position": hasColumn(t, "position"), "from_time": d.From.At, "to_time": d.To.At}
		if hasColumn(t, "outlet_id") {
			row["outlet_id"] = sqltext.SQL("outlet_id")
		}
		if name == "outlets" {
			row["outlet_id"] = sqltext.SQL("id")
		}
		if nameColumn := nameOf(t); nameColumn != "" && !isItem(t) {
			row["own_name"] = sqltext.Name(nameColumn)
		}
		owner, column := ownerOf(t, all)
		if name == "products" {
			change["owner"], row["owner_id"] = name, sqltext.SQL("id")
		} else if row["own_name"] == null && owner != "" && column != "outlet_id" {
			change["owner"], row["owner_id"] = owner, sqltext.Name(column)
			if !slices.Contains(named, owner) {
				named = append(named, owner)
				outletID := ""
				if hasColumn(all[owner], "outlet_id") {
					outletID = "outlet_id"
				}
				names = append(names, namesSQL(owner, owner, "id", nameOf(all[owner]), outletID))
			}
		}
		changes = append(changes, diffSQL.Render("changes_of_table", change))
		rows = append(rows, diffSQL.Render("rows_of_table", row))
	}
	return diffSQL.Render("told_changes", sqltext.Values{"from_time": d.From.At, "to_time": d.To.At,
		"changes": sqltext.JoinSQL(changes, "\nUNION ALL "), "rows": sqltext.JoinSQL(rows, "\nUNION ALL "), "names": sqltext.JoinSQL(names, "\nUNION ALL ")})
}

// namesSQL returns a SELECT of the names of records. The table owner contains the records, and table their names.
func namesSQL(owner, table, id, name, outletID string) sqltext.SQL {
	var outlet any = sqltext.SQL("NULL::VARCHAR")
	if outletID != "" {
		outlet = sqltext.Name(outletID)
	}
	return diffSQL.Render("names_of_table", sqltext.Values{"name": owner, "table": sqltext.Name(table), "id": sqltext.Name(id),
		"column": sqltext.Name(name), "outlet_id": outlet})
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

// labelOf returns the expression of a text that tells the items of a list, or the channels of an outlet, apart.
func labelOf(t schema.Table) sqltext.SQL {
	for _, pair := range [][]string{{"pricing_tier", "currency"}, {"channel_type", "placement_type"}} {
		if (isItem(t) || t.Table == "outlet_channels") && hasColumn(t, pair[0]) && hasColumn(t, pair[1]) {
			return sqltext.Fill("nullif(concat_ws(', ', {columns}), '')", sqltext.Values{"columns": sqltext.Names(pair)})
		}
	}
	var columns []string
	for _, name := range []string{"name", "url", "value", "author_name"} {
		if isItem(t) && hasColumn(t, name) {
			columns = append(columns, name)
		}
	}
	if len(columns) == 0 {
		return "NULL::VARCHAR"
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
		owner, id, _ := strings.Cut(c.References, ".")
		if id == "id" && nameOf(all[owner]) != "" {
			return owner, c.Name
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
