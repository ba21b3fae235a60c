package explore

import (
	"fmt"
	"slices"
	"strings"

	"placementsync/internal/page"
	"placementsync/internal/plural"
	"placementsync/internal/query"
	"placementsync/internal/sqltext"
)

// columnRole is the meaning of a column of a result, from its name, its type and its neighbors.
type columnRole struct {
	query.Column
	hidden bool
	// id is the column with the id of the record whose name this column contains. If this column
	// contains ids, id is the column itself. kind is the kind of record, or "writer". Values of a
	// known kind are links.
	id, kind string
	// unit is the column with the currency of an amount.
	unit string
	// money means that the column contains amounts. summed means that the table shows their total.
	money, summed bool
	// coded means that the column contains values of an enumeration.
	coded bool
}

// hasWord reports whether the name of a column, such as order_status, has one of the words.
func hasWord(column string, words ...string) bool {
	return slices.ContainsFunc(strings.Split(column, "_"), func(one string) bool { return slices.Contains(words, one) })
}

// choosable reports whether the page has a selection with the values of the column.
func (r columnRole) choosable() bool {
	return r.Type == "BOOLEAN" || r.coded && !hasWord(r.Name, "includes", "included") || r.Type == "VARCHAR" && hasWord(r.Name, "currency", "country", "grade", "outcome", "state")
}

// kindOf returns the kind of record to which an id column refers. It is empty for other columns.
// A product has the id of its listing.
func kindOf(column string) string {
	base, ok := strings.CutSuffix(column, "_id")
	if !ok || column == "v1_campaign_id" {
		return ""
	}
	switch last := base[strings.LastIndex(base, "_")+1:]; last {
	case "product":
		return "listing"
	case "listing", "outlet", "order", "campaign", "article", "profile":
		return last
	}
	return ""
}

// rolesOf finds the meaning of the columns. A name column, such as outlet or outlet_name, links to
// the id in outlet_id. Columns with ids of names and with currencies of amounts are hidden.
func rolesOf(columns []query.Column) []columnRole {
	roles := make([]columnRole, len(columns))
	byName := map[string]*columnRole{}
	for i, c := range columns {
		roles[i].Column = c
		byName[c.Name] = &roles[i]
	}
	currency := byName["currency"]
	for i := range roles {
		r := &roles[i]
		if base, ok := strings.CutSuffix(r.Name, "_id"); ok {
			kind := kindOf(r.Name)
			if kind != "" {
				r.id, r.kind = r.Name, kind
			}
			for _, name := range []string{base, base + "_name"} {
				if named := byName[name]; named != nil {
					named.id, named.kind, r.hidden = r.Name, kind, true
				}
			}
		}
		// Enumerations and amounts are recognized by the names of their columns. A sum of
		// medians, limits or unit prices would have no meaning.
		r.coded = r.Type == "VARCHAR" && hasWord(r.Name, "status", "type", "kind", "tier", "side", "trait", "includes", "included")
		r.money = strings.HasPrefix(r.Type, "DECIMAL") && !hasWord(r.Name, "percent", "days", "hours", "minutes", "week", "items")
		r.summed = r.money && !hasWord(r.Name, "median", "mean", "average", "min", "max", "lowest", "highest", "largest", "p25", "p50", "p75", "p90",
			"last", "per", "from", "below", "left", "spent", "now", "old", "new", "change", "gap", "value")
		if currency != nil && r.money {
			r.unit, currency.hidden = "currency", true
		}
	}
	return roles
}

// buildTable returns the table of a result. Ids become links of names, and currencies become units
// of amounts. If the result is complete, columns without values are left out and listed in Blank.
func buildTable(caption string, roles []columnRole, result query.Result, l links) *page.Table {
	t := &page.Table{Caption: caption, Empty: "No rows.", Stacked: true}
	n := int64(len(result.Rows))
	roles = slices.DeleteFunc(slices.Clone(roles), func(r columnRole) bool {
		blank := n > 0 && n == result.Total && !slices.ContainsFunc(result.Rows, func(one query.Record) bool { return !one.Get(r.Name).Null || r.id != "" && !one.Get(r.id).Null })
		if blank && !r.hidden {
			t.Blank = append(t.Blank, strings.ToLower(labelOf(r.Name)))
		}
		return r.hidden || blank
	})
	for _, r := range roles {
		t.Heads = append(t.Heads, page.Head{Name: r.Name, Label: labelOf(r.Name), Numeric: r.Numeric})
	}
	for _, one := range result.Rows {
		cells := make([]page.Cell, len(roles))
		for i, r := range roles {
			cells[i] = r.showValue(one, l)
		}
		t.Rows = append(t.Rows, page.Row{Cells: cells})
	}
	if result.Total > n {
		t.More = fmt.Sprintf("The first %s of %s rows.", plural.Number(n), plural.Number(result.Total))
	}
	return t
}

// showValue formats the value of the column in a record. If a name is missing, it shows the id.
func (r columnRole) showValue(one query.Record, l links) page.Cell {
	v := one.Get(r.Name)
	d := r.buildCell(v)
	if r.id != "" && !one.Get(r.id).Null {
		if v.Null {
			d = buildCell(r.Column, one.Get(r.id))
		}
		switch {
		case r.kind == "writer" && !v.Null:
			d.Link = l.linkWriter(v.Text)
		case r.kind != "" && r.kind != "writer":
			d.Link = l.linkRecord(r.kind, one.Get(r.id).Text)
		}
	}
	if r.unit != "" && !v.Null {
		if d.Unit = one.Get(r.unit).Text; d.Unit == "" {
			d.Unit = noCurrency
		}
	}
	return d
}

// noCurrency is the unit of an amount without a currency.
const noCurrency = "(no currency)"

// fillOutletNames fills in the missing names of outlets from all tables that contain names. A row
// must have the id of the outlet, or the id of a listing of the outlet.
func (v *visit) fillOutletNames(roles []columnRole, rows []query.Record) error {
	indexOf := func(matches func(r columnRole) bool) int { return slices.IndexFunc(roles, matches) }
	name := indexOf(func(r columnRole) bool {
		return r.kind == "outlet" && r.Name != r.id || r.Name == "outlet" || r.Name == "outlet_name"
	})
	if name < 0 {
		return nil
	}
	id := indexOf(func(r columnRole) bool { return r.Name == roles[name].id })
	wanted := "SELECT id, id AS outlet_id FROM (SELECT unnest([%s]) AS id)"
	if id < 0 {
		id = indexOf(func(r columnRole) bool { return r.kind == "listing" && r.Name == r.id })
		wanted = "SELECT id, outlet_id FROM main.product_listings WHERE id IN (%s)"
	}
	b := &binder{}
	var ids []string
	var missing []query.Record
	for _, one := range rows {
		if id >= 0 && one.Values[name].Null && !one.Values[id].Null {
			missing, ids = append(missing, one), append(ids, b.bind(one.Values[id].Text))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	values := outletNames()
	values["wanted"] = sqltext.SQL(fmt.Sprintf(wanted, strings.Join(ids, ", ")))
	found, err := v.run(b.query(string(recordSQL.Render("names_of", values))))
	if query.IsMissing(err) { // an earlier version of the program created the snapshot
		return nil
	}
	for _, r := range found.Rows {
		for _, one := range missing {
			if r.Get("id").Text == one.Values[id].Text {
				one.Values[name] = r.Get("name")
			}
		}
	}
	return err
}
