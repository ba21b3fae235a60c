package explore

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"placementsync/internal/html"
	"placementsync/internal/humanize"
	"placementsync/internal/query"
	"placementsync/internal/sqltext"
)

// columnRole is derived from the name and type of a column and from the names of the other columns.
type columnRole struct {
	query.Column
	label  string // the heading
	hidden bool
	blank  bool // no row of a table with pages has a value, see table.markBlank
	// names are the names of the records by id, if the column contains only ids. See visit.nameRecords.
	names map[string]string
	// idColumn is set if this column contains names or ids of records. It is the name of the column
	// with their ids, which can be this column. kind is the kind of the records, or "writer". If
	// kind is set, the values are links.
	idColumn, kind   string
	unitColumn       string // the column with the currency of the amounts
	isAmount, summed bool
	isEnum           bool
}

// isID reports whether a column contains ids.
func (r columnRole) isID() bool {
	hasIDName := r.Name == "id" || strings.HasSuffix(r.Name, "_id")
	return hasIDName && r.Type == "VARCHAR"
}

// idRank is 1 for ids without a name, which are the last columns of a table.
func (r columnRole) idRank() int {
	if r.isID() && len(r.names) == 0 {
		return 1
	}
	return 0
}

func (r columnRole) hasSelection() bool {
	isShortEnum := r.isEnum && !r.HasWord("includes", "included")
	isShortText := r.Type == "VARCHAR" && r.HasWord("currency", "country", "grade", "outcome", "state")
	return r.Type == "BOOLEAN" || isShortEnum || isShortText
}

// kindOf returns the kind of record whose ids a column contains. A product and its listing have the same id.
func kindOf(column string) string {
	stem, ok := strings.CutSuffix(column, "_id")
	if !ok || column == "v1_campaign_id" {
		return ""
	}
	switch word := stem[strings.LastIndex(stem, "_")+1:]; word {
	case "product":
		return "listing"
	case "listing", "outlet", "order", "campaign", "article", "profile":
		return word
	}
	return ""
}

// rolesOf returns the roles of columns. A column with names, such as outlet or outlet_name, links to the records with the ids in
// outlet_id. The columns with these ids, and the currencies of amounts, are hidden.
func rolesOf(columns []query.Column) []columnRole {
	roles := make([]columnRole, len(columns))
	byName := map[string]*columnRole{}
	for i, c := range columns {
		roles[i].Column = c
		byName[c.Name] = &roles[i]
	}
	setLabels(roles, query.LabelOf)
	currency := byName["currency"]
	code, status := byName["status_prefix"], byName["status_name"]
	if code != nil && status != nil { // the code has the same words, and is shown only in place of a missing name
		status.idColumn, code.hidden = code.Name, true
	}
	for i := range roles {
		r := &roles[i]
		if stem, ok := strings.CutSuffix(r.Name, "_id"); ok {
			kind := kindOf(r.Name)
			if kind != "" {
				r.idColumn, r.kind = r.Name, kind
			}
			names := []string{stem, stem + "_name"}
			if kind == "order" {
				names = append(names, "reference_number")
			}
			for _, name := range names {
				if nameColumn := byName[name]; nameColumn != nil {
					nameColumn.idColumn, nameColumn.kind, r.hidden = r.Name, kind, true
				}
			}
		}
		// Enumerations and amounts are recognized by the names of their columns.
		isHiddenCode := r == code && r.hidden
		r.isEnum = r.IsEnum() && !isHiddenCode
		r.isAmount = strings.HasPrefix(r.Type, "DECIMAL") && !r.HasWord("percent", "days", "hours", "minutes", "week", "items")
		isComparison := byName["period"] != nil // its rows are the same amounts in several periods
		r.summed = r.isAmount && !isComparison && !r.isUnsummed()
		if currency != nil && r.isAmount {
			r.unitColumn, currency.hidden = "currency", true
		}
	}
	return roles
}

// isUnsummed reports whether a sum of the amounts would have no meaning, as for medians and limits, and for the prices of
// listings, which a buyer compares.
func (r columnRole) isUnsummed() bool {
	return r.Name == "price" || r.HasWord("median", "mean", "average", "min", "max", "lowest", "highest", "largest",
		"p25", "p50", "p75", "p90", "last", "per", "each", "from", "below", "left", "spent", "now", "old", "new", "change", "gap", "value")
}

// setLabels sets the headings. A time has the word "at" if another column has the same heading, as is_settled and
// settled_at.
func setLabels(roles []columnRole, labelOf func(column string) string) {
	count := map[string]int{}
	for i := range roles {
		roles[i].label = labelOf(roles[i].Name)
		count[roles[i].label]++
	}
	for i := range roles {
		if r := &roles[i]; count[r.label] > 1 && strings.HasSuffix(r.Name, "_at") {
			r.label += " at"
		}
	}
}

// buildTable leaves out columns without values in all rows of the result.
func buildTable(caption string, roles []columnRole, result query.Result, l links) *html.Table {
	t := &html.Table{Caption: caption, Empty: "No rows.", Stacked: true}
	n := int64(len(result.Rows))
	roles = slices.DeleteFunc(slices.Clone(roles), func(r columnRole) bool {
		if r.hidden {
			return true
		}
		hasValue := slices.ContainsFunc(result.Rows, func(row query.Record) bool {
			hasID := r.idColumn != "" && !row.Get(r.idColumn).Null
			return hasID || !row.Get(r.Name).Null
		})
		hasAllRows := n == result.Total
		isBlank := n > 0 && !hasValue && (hasAllRows || r.blank)
		if isBlank {
			t.Blank = append(t.Blank, strings.ToLower(r.label))
		}
		return isBlank
	})
	// With "by" month, for example, another column has the heading of the empty column month.
	t.Blank = slices.DeleteFunc(t.Blank, func(label string) bool {
		return slices.ContainsFunc(roles, func(r columnRole) bool { return strings.ToLower(r.label) == label })
	})
	slices.SortStableFunc(roles, func(a, b columnRole) int { return cmp.Compare(a.idRank(), b.idRank()) })
	addCells(t, roles, result, l)
	if result.Total > n {
		t.More = fmt.Sprintf("The first %s of %s rows.", humanize.Number(n), humanize.Number(result.Total))
	}
	return t
}

func addCells(t *html.Table, roles []columnRole, result query.Result, l links) {
	for _, r := range roles {
		t.Heads = append(t.Heads, html.Head{Name: r.Name, Label: r.label, Numeric: r.Numeric})
	}
	for _, row := range result.Rows {
		cells := make([]html.Cell, len(roles))
		for i, r := range roles {
			cells[i] = r.showValue(row, l)
		}
		t.Rows = append(t.Rows, html.Row{Cells: cells})
	}
}

func (r columnRole) showValue(row query.Record, l links) html.Cell {
	v := row.Get(r.Name)
	cell := r.buildCell(v)
	if name := r.names[v.Text]; name != "" {
		cell = buildCell(r.Column, query.Value{Text: name})
	}
	isIDOnly := r.isID() && cell.Text == v.Text
	if isIDOnly && query.IsUUID(v.Text) {
		cell = html.Cell{Copy: v.Text, Class: "s"}
	}
	if r.idColumn != "" && !row.Get(r.idColumn).Null {
		if v.Null { // show the id of a record without a name
			cell = r.buildCell(row.Get(r.idColumn))
		}
		switch {
		case r.kind == "writer" && !v.Null: // writers have no page, so the link lists their articles
			cell.Link = l.keepAsOf(rootPath + "/articles?" + url.Values{equalPrefix + "writer": {choice{Text: v.Text}.encode()}}.Encode())
		case r.kind != "" && r.kind != "writer":
			cell.Link = l.linkRecord(r.kind, row.Get(r.idColumn).Text)
		}
	}
	if cell.Link != "" && cell.Text == "" { // only the id of the record is known
		cell.Text = "Open"
	}
	if r.unitColumn != "" && !v.Null {
		cell.Unit = cmp.Or(row.Get(r.unitColumn).Text, html.NoCurrency)
	}
	return cell
}

// nameSource is the table and the column with the names of the records of a kind.
type nameSource struct{ table, column string }

func nameSources() map[string]nameSource {
	return map[string]nameSource{"order": {"orders", "reference_number"}, "campaign": {"campaigns", "name"}, "article": {"articles", "name"},
		"profile": {"profiles", "name"}, "listing": {"product_listings", "name"}, "outlet": {"outlets", "name"}}
}

// nameRecords reads the names of the records in columns that contain only their ids, and the missing names of outlets.
func (v *visit) nameRecords(roles []columnRole, rows []query.Record) error {
	for i := range roles {
		r := &roles[i]
		source, hasNames := nameSources()[r.kind]
		if r.idColumn != r.Name || r.hidden || !hasNames || len(rows) == 0 {
			continue
		}
		var ids []string
		for _, row := range rows {
			if id := row.Get(r.Name); !id.Null {
				ids = append(ids, id.Text)
			}
		}
		if len(ids) == 0 {
			continue
		}
		sql := recordSQL.Render("names_of_records", sqltext.Values{"table": sqltext.Name(source.table), "column": sqltext.Name(source.column), "ids": ids})
		result, err := v.runStatement(sql)
		if query.IsMissing(err) { // an older version of the program created the snapshot
			continue
		}
		if err != nil {
			return err
		}
		r.names = map[string]string{}
		for _, row := range result.Rows {
			if name := row.Get("name"); !name.Null {
				r.names[row.Get("id").Text] = name.Text
			}
		}
		r.label = strings.TrimSuffix(r.label, " ID")
	}
	return v.fillOutletNames(roles, rows)
}

// fillOutletNames fills in the missing names of outlets from other tables. It finds the outlet of a row by the
// outlet id in the row, or else by the listing id.
func (v *visit) fillOutletNames(roles []columnRole, rows []query.Record) error {
	indexOf := func(matches func(r columnRole) bool) int { return slices.IndexFunc(roles, matches) }
	nameIndex := indexOf(func(r columnRole) bool {
		isNameOfID := r.kind == "outlet" && r.Name != r.idColumn
		return isNameOfID || r.Name == "outlet" || r.Name == "outlet_name"
	})
	if nameIndex < 0 {
		return nil
	}
	idIndex := indexOf(func(r columnRole) bool { return r.Name == roles[nameIndex].idColumn })
	statement := "names_of_outlets"
	if idIndex < 0 {
		idIndex = indexOf(func(r columnRole) bool { return r.kind == "listing" && r.Name == r.idColumn })
		statement = "outlet_names_of_listings"
	}
	var ids []string
	var unnamed []query.Record
	for _, row := range rows {
		if idIndex >= 0 && row.Values[nameIndex].Null && !row.Values[idIndex].Null {
			unnamed, ids = append(unnamed, row), append(ids, row.Values[idIndex].Text)
		}
	}
	if len(unnamed) == 0 {
		return nil
	}
	result, err := v.runStatement(recordSQL.Render(statement, sqltext.Values{"ids": ids}))
	if query.IsMissing(err) { // an older version of the program created the snapshot
		return nil
	}
	if err != nil {
		return err
	}
	for _, r := range result.Rows {
		for _, row := range unnamed {
			if r.Get("id").Text == row.Values[idIndex].Text {
				row.Values[nameIndex] = r.Get("name")
			}
		}
	}
	return nil
}

const maxCellText = 300 // characters

// buildCell formats a value by the type and the name of its column.
func buildCell(c query.Column, v query.Value) html.Cell {
	switch {
	case v.Null && c.Numeric:
		return html.Cell{Text: html.Unknown, Class: "n none"}
	case v.Null:
		return html.Cell{Text: html.Unknown, Class: "none"}
	case c.Type == "BOOLEAN":
		return html.Cell{Text: html.YesNo(v.Text)}
	case c.Type == "TIMESTAMPTZ":
		return html.Cell{Text: html.Moment(v.Text), Class: "t", Exact: v.Text}
	case c.Type == "DATE" && c.HasWord("month"):
		return html.Cell{Text: strings.TrimSuffix(v.Text, "-01"), Class: "t", Exact: v.Text}
	case c.Type == "DATE":
		return html.Cell{Text: v.Text, Class: "t"}
	case c.Numeric:
		return html.Cell{Text: html.Decimal(v.Text), Class: "n"}
	case c.Type == "JSON":
		return html.Cell{Text: v.Text, Class: "long", Summary: "JSON, " + humanize.Number(len(v.Text)) + " bytes"}
	}
	cell := html.Cell{Text: html.Clip(v.Text, maxCellText), Class: "s"}
	const wideText = 24 // bytes
	switch {
	case len(cell.Text) > wideText:
		cell.Class = "w"
	case html.IsCode(cell.Text):
		cell.Class = "code"
	}
	if lastWord := c.Name[strings.LastIndex(c.Name, "_")+1:]; slices.Contains([]string{"url", "address", "website", "link"}, lastWord) {
		cell.Address = html.WebAddress(v.Text)
		if u, err := url.Parse(cell.Address); err == nil && lastWord == "website" && u.Host != "" {
			cell.Text, cell.Exact, cell.Class = strings.TrimPrefix(u.Host, "www."), v.Text, "host"
		}
	}
	return cell
}

func (r columnRole) buildCell(v query.Value) html.Cell {
	cell := buildCell(r.Column, v)
	if v.Null {
		return cell
	}
	switch {
	case r.Name == "promise": // kept, published late, past its promise or due
		cell = html.TagCell(v.Text)
	case r.isAmount:
		cell = html.MoneyCell(v.Text)
	case r.isEnum:
		text := html.YesNo(v.Text)
		if text == v.Text {
			text = query.EnumWords(v.Text)
		}
		if text != v.Text {
			cell.Text, cell.Exact = text, v.Text
		}
	}
	return cell
}
