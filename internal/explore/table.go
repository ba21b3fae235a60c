package explore

import (
	"fmt"
	"slices"
	"strings"

	"placementsync/internal/page"
	"placementsync/internal/plural"
	"placementsync/internal/query"
)

// columnRole relates a column to other columns of its result.
type columnRole struct {
	query.Column
	hidden bool
	// id is the column with the id of the record to which the values link. kind is its kind.
	id, kind string
	// unit is the column with the currency of an amount.
	unit string
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

// rolesOf finds the columns with links and units. A name column, such as outlet or outlet_name,
// links to the id in outlet_id. If fold is true, the id and unit columns are hidden.
func rolesOf(columns []query.Column, fold bool) []columnRole {
	roles := make([]columnRole, len(columns))
	byName := map[string]*columnRole{}
	for i, c := range columns {
		roles[i].Column = c
		byName[c.Name] = &roles[i]
	}
	for i := range roles {
		r := &roles[i]
		if kind := kindOf(r.Name); kind != "" {
			r.id, r.kind = r.Name, kind
			base := strings.TrimSuffix(r.Name, "_id")
			for _, name := range []string{base, base + "_name"} {
				if named := byName[name]; named != nil {
					named.id, named.kind, r.hidden = r.Name, kind, fold
				}
			}
		}
		currency := byName["currency"]
		if currency != nil && strings.HasPrefix(r.Type, "DECIMAL") && !strings.Contains(r.Name, "percent") {
			r.unit, currency.hidden = "currency", fold
		}
	}
	return roles
}

// buildTable returns the table of a result. If fold is true, ids become links of names, currencies
// become units of amounts, and columns without values are only listed. Otherwise the table has
// all columns.
func buildTable(caption string, a query.Result, l links, fold bool) *page.Table {
	t := &page.Table{Caption: caption, Empty: "No rows."}
	roles := slices.DeleteFunc(rolesOf(a.Columns, fold), func(r columnRole) bool {
		blank := fold && !slices.ContainsFunc(a.Rows, func(one query.Record) bool { return !one.Get(r.Name).Null || r.id != "" && !one.Get(r.id).Null })
		if blank && !r.hidden {
			t.Blank = append(t.Blank, strings.ToLower(labelOf(r.Name)))
		}
		return r.hidden || blank
	})
	for _, r := range roles {
		t.Heads = append(t.Heads, page.Head{Name: r.Name, Label: labelOf(r.Name), Numeric: r.Numeric})
	}
	for _, one := range a.Rows {
		cells := make([]page.Cell, len(roles))
		for i, r := range roles {
			cells[i] = r.showValue(one, l, fold)
		}
		t.Rows = append(t.Rows, page.Row{Cells: cells})
	}
	if n := int64(len(a.Rows)); a.Total > n {
		t.More = fmt.Sprintf("The first %s of %s rows.", plural.Number(n), plural.Number(a.Total))
	}
	return t
}

// showValue formats the value of the column in a record. If a name is missing, it shows the id.
func (r columnRole) showValue(one query.Record, l links, fold bool) page.Cell {
	v := one.Get(r.Name)
	d := buildCell(r.Column, v)
	if r.id != "" && !one.Get(r.id).Null {
		if v.Null {
			d = buildCell(r.Column, one.Get(r.id))
		}
		d.Link = l.linkRecord(r.kind, one.Get(r.id).Text)
	}
	if r.unit != "" && fold && !v.Null {
		if d.Unit = one.Get(r.unit).Text; d.Unit == "" {
			d.Unit = "(no currency)"
		}
	}
	return d
}
