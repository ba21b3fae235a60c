package explore

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"placementsync/internal/html"
	"placementsync/internal/humanize"
	"placementsync/internal/query"
)

type tableView struct {
	*html.Table
	Search, SortParam string // parameters of the address
	Chips             []chip
	// ClearLink is the address without filters. Empty means that the table cannot be filtered.
	ClearLink  string
	Selections []formField
	Ranges     []rangeView
	RangesOpen bool
	Count      string
	pager
	Downloads []pair
	// CutNote warns that the query may have left out rows. TotalsNote explains the totals. SourceNote names the source
	// tables in which rows may be missing.
	CutNote, TotalsNote, SourceNote string
}

// chip is an active filter. Exact is its unformatted value. Link is the address without this filter.
type chip struct{ Text, Exact, Link string }

type rangeView struct {
	Label, MinKey, MaxKey, Min, Max string
	IsTime                          bool
}

// addressWith returns the address of the page with some parameters changed. An empty value removes
// a parameter. The page number is removed unless it is changed.
func (v *visit) addressWith(changes ...pair) string {
	params := url.Values{}
	for key, all := range v.params {
		if key != pageKey && slices.Max(all) != "" { // a form also sends its empty fields
			params[key] = all
		}
	}
	for _, c := range changes {
		params.Set(c.Key, c.Value)
		if c.Value == "" {
			params.Del(c.Key)
		}
	}
	return "?" + params.Encode()
}

// addressWithout returns the address of the page without some values of parameters and without the page
// number. An empty value removes all values of a parameter.
func (v *visit) addressWithout(removed ...pair) string {
	remaining := visit{params: maps.Clone(v.params)}
	for _, r := range removed {
		keptValues := slices.DeleteFunc(slices.Clone(remaining.params[r.Key]), func(text string) bool {
			return r.Value == "" || decodeChoice(text) == decodeChoice(r.Value)
		})
		remaining.params[r.Key] = keptValues
		if len(keptValues) == 0 {
			delete(remaining.params, r.Key)
		}
	}
	return remaining.addressWith()
}

// show reads one page of the table. downloadPrefix is the address of a download without its format.
func (t *table) show(caption, downloadPrefix string) (*tableView, tableRows, error) {
	rows, err := t.read()
	if err != nil {
		return nil, rows, err
	}
	if err := t.nameRecords(t.roles, rows.Rows); err != nil {
		return nil, rows, err
	}
	rows.Sources, err = t.db.Sources(t.Context(), t.inner, t.values)
	if err != nil {
		return nil, rows, err
	}
	view := &tableView{
		Table: buildTable(caption, t.roles, rows.Result, t.links()), Search: t.state.Search,
		SortParam: t.params.Get(sortKey), SourceNote: query.DescribeSources(rows.Sources),
	}
	view.Table.ID = "table"
	view.Table.More = "" // Count already contains the number of rows
	for i := range view.Heads {
		h := &view.Heads[i]
		r := t.roles[slices.IndexFunc(t.roles, func(r columnRole) bool { return r.Name == h.Name })]
		order := r.usualOrder()
		isSorted := t.state.Sort == h.Name
		if isSorted && t.state.Descending {
			h.Sorted, order = "descending", h.Name
		} else if isSorted {
			h.Sorted, order = "ascending", "-"+h.Name
		}
		if r.unitColumn != "" {
			h.About = "Sorted within each currency."
		}
		h.Link = t.addressWith(pair{sortKey, order})
	}
	t.addTotals(view, rows.Sums)
	t.addFilters(view, rows.Choices)

	view.pager = t.pagerOf(t.state.Page, tablePageRows, len(rows.Rows), rows.Total)
	view.Count = formatRowCount(rows.Total)
	switch {
	case len(rows.Rows) == 0 && rows.Total > 0:
		view.Count += ": this page does not exist"
	case int64(len(rows.Rows)) < rows.Total:
		view.Count += fmt.Sprintf(", %s to %s", humanize.Number(view.First), humanize.Number(view.Last))
	}
	view.Downloads = t.downloads(downloadPrefix)
	return view, rows, nil
}

// pager contains the positions of the first and the last shown row, and the addresses of the neighboring pages.
// A position is 0 if no row is shown. An address is empty if there is no such page.
type pager struct {
	First, Last    int64
	Previous, Next string
}

func (v *visit) pagerOf(page, pageRows, shownRows int, total int64) pager {
	var p pager
	if shownRows > 0 {
		p.First = int64((page-1)*pageRows) + 1
		p.Last = p.First + int64(shownRows) - 1
	}
	if page > 1 {
		lastPage := (total + int64(pageRows) - 1) / int64(pageRows)
		p.Previous = v.addressWith(pair{pageKey, fmt.Sprint(min(int64(page-1), max(1, lastPage)))})
	}
	if p.Last > 0 && p.Last < total {
		p.Next = v.addressWith(pair{pageKey, fmt.Sprint(page + 1)})
	}
	return p
}

// downloads returns the links to the files of a table. prefix is the address of a file without its format.
func (v *visit) downloads(prefix string) []pair {
	var all []pair
	for _, f := range downloadFormats() {
		all = append(all, pair{f.label, prefix + string(f.format) + strings.TrimSuffix(v.addressWith(), "?")})
	}
	return all
}

// usualOrder returns the value of the parameter sort for the first click on a header.
func (r columnRole) usualOrder() string {
	if r.Numeric || isTime(r.Column) {
		return "-" + r.Name
	}
	return r.Name
}

func (t *table) addTotals(view *tableView, sums []currencySums) {
	summed := slices.DeleteFunc(slices.Clone(t.roles), func(r columnRole) bool { return !r.summed })
	if len(summed) == 0 || len(view.Rows) < 2 {
		return
	}
	for _, s := range sums {
		row := html.Row{Cells: make([]html.Cell, len(view.Heads))}
		for i, h := range view.Heads {
			index := slices.IndexFunc(summed, func(r columnRole) bool { return r.Name == h.Name })
			switch {
			case index >= 0 && s.Sums[index] != nil:
				row.Cells[i] = html.MoneyCell(*s.Sums[index])
				if summed[index].unitColumn != "" {
					row.Cells[i].Unit = cmp.Or(s.Currency, html.NoCurrency)
				}
			case i == 0:
				row.Cells[i].Text = "Total"
			}
		}
		view.Foot = append(view.Foot, row)
	}
	if summed[0].unitColumn == "" {
		view.TotalsNote = "The service states no currency for these amounts. A total is valid only if all its amounts have the same currency."
	}
}

func (t *table) addFilters(view *tableView, choices [][]string) {
	if t.state.Search != "" {
		view.Chips = append(view.Chips, chip{"Search: " + t.state.Search, "", t.addressWith(pair{searchKey, ""})})
	}
	cleared := []pair{{searchKey, ""}}
	for _, f := range t.state.Filters {
		key := f.prefix + f.column.Name
		r := t.roles[slices.IndexFunc(t.roles, func(r columnRole) bool { return r.Name == f.column.Name })]
		separator := map[string]string{equalPrefix: ": ", minPrefix: " from ", maxPrefix: " to "}[f.prefix]
		text := r.optionLabel(f.text)
		if f.prefix != equalPrefix && r.Numeric {
			text = html.Decimal(f.text)
		}
		view.Chips = append(view.Chips, chip{r.label + separator + text, f.text, t.addressWith(pair{key, ""})})
		cleared = append(cleared, pair{key, ""})
	}
	view.ClearLink = t.addressWith(cleared...)
	for _, r := range t.roles {
		if r.hasSelection() {
			if f := t.selection(r, choices[0]); f != nil && !t.hasParamFor(r, *f) {
				view.Selections = append(view.Selections, *f)
			}
			choices = choices[1:]
		}
		hasRange := isTime(r.Column) || r.Numeric
		if hasRange && !r.hidden {
			minKey, maxKey := minPrefix+r.Name, maxPrefix+r.Name
			columnRange := rangeView{r.label, minKey, maxKey, t.params.Get(minKey), t.params.Get(maxKey), isTime(r.Column)}
			view.Ranges = append(view.Ranges, columnRange)
			view.RangesOpen = view.RangesOpen || columnRange.Min != "" || columnRange.Max != ""
		}
	}
}

// hasParamFor reports whether a parameter of the query already chooses the values of a column, and the address does not
// filter it: the parameter tier those of pricing_tier.
func (t *table) hasParamFor(r columnRole, f formField) bool {
	return t.params.Get(f.Key) == "" && slices.ContainsFunc(t.inner.Params, func(p query.Param) bool {
		return p.Name == r.Name || strings.HasSuffix(r.Name, "_"+p.Name)
	})
}

// selection returns nil if the column has fewer than two values and the address chooses none.
func (t *table) selection(r columnRole, values []string) *formField {
	key := equalPrefix + r.Name
	chosen := t.params.Get(key)
	if len(values) < 2 && chosen == "" {
		return nil
	}
	f := &formField{Key: key, Label: r.label, Options: []option{{"", "any", chosen == ""}}}
	isListed := false // the chosen value is among values
	for _, value := range values {
		encoded := choice{Text: value}.encode()
		f.Options = append(f.Options, option{encoded, r.optionLabel(encoded), chosen == encoded})
		isListed = isListed || chosen == encoded
	}
	f.Options = append(f.Options, option{notStated, "not stated", chosen == notStated})
	if !isListed && chosen != notStated && chosen != "" { // no row has the value, or it is not among the first values
		f.Options = append(f.Options, option{chosen, r.optionLabel(chosen), true})
	}
	return f
}

func (r columnRole) optionLabel(encoded string) string {
	switch c := decodeChoice(encoded); {
	case c.Null:
		return "not stated"
	case c.Text == "":
		return "empty text"
	default:
		return r.buildCell(query.Value{Text: c.Text}).Text
	}
}

func formatRowCount(n int64) string { return humanize.Number(n) + " " + humanize.Noun(n, "row") }
