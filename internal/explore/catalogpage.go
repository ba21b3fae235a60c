package explore

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"placementsync/internal/html"
	"placementsync/internal/query"
	"placementsync/internal/sqltext"
)

type catalogView struct {
	*visit
	State           *catalogState
	Problem, Advice string
	Facets          []facetView
	Ranges          []rangeView
	Columns         []option
	Table           html.Table
	SourceNote      string      // a note if listings may be missing
	Outlets         []html.Cell // the first outlets with all words of the search in name and website
	Total           int64
	pager
	Downloads    []pair
	SQL, Program string
	Chips        []chip
	ClearLink    string
	SortParam    string // of the address, for a hidden field of the form
}

// facetView is a facet with its counts. Values contains the first few values, More the others.
type facetView struct {
	Key, Label   string
	Values, More []valueView
	Cut          bool   // maxValues values were counted, so that rarer values may be missing
	Empty        string // shown if there are no values
}

// valueView is one value of a facet. Key and Value are its parameter in the address.
type valueView struct {
	Key, Value, Label string
	N                 int64 // listings with the value
	Chosen            bool
	Counted           bool // false if the page has no counts
}

// showCatalog shows the listings or sends them as a file. For an invalid address, it shows the form with the values
// of the address and a description of the mistake, so that the user can correct it.
func showCatalog(v *visit) (reply, error) {
	s, err := readCatalogState(v.params)
	view := catalogView{visit: v, State: &s, Program: v.pool.cfg.Program, ClearLink: catalogPath, SortParam: v.params.Get(sortKey)}
	if err == nil {
		err = s.assumeCurrency(v)
	}
	mistake, isMistake := errors.AsType[*statusError](err)
	isFile := v.format() != ""
	showsForm := isMistake && !isFile
	if err != nil && !showsForm {
		return nil, err
	}
	if isFile {
		return download{Query: catalogQuery(s.downloadSQL()), Title: "Listings", Name: "catalog", Format: v.format()}, nil
	}
	counted := s
	if isMistake {
		// The mistake may be a comparison of prices in several currencies. Without it, the values can be counted, so
		// that the user can choose one currency.
		counted.Limits = maps.Clone(s.Limits)
		delete(counted.Limits, "price_min")
		delete(counted.Limits, "price_max")
		if counted.Sort == "price" {
			counted.Sort = "authority"
		}
	}
	var c counts
	if counted.check() == nil { // otherwise the address has too many words or choices
		if c, err = countListings(v, &counted); err != nil {
			return nil, err
		}
	}
	view.addForm(c)
	if isMistake {
		return view.showMistake(mistake), nil
	}
	rows, err := s.readRows(v)
	if err != nil {
		return nil, err
	}
	if view.Outlets, err = s.findOutlets(v); err != nil {
		return nil, err
	}
	sources, err := v.db.Sources(v.Context(), query.Text("SELECT id FROM main.product_listings"), nil)
	if err != nil {
		return nil, err
	}
	view.SourceNote = query.DescribeSources(sources)
	view.Total = c.Total
	view.Chips = view.chips()
	view.Table = html.Table{ID: "listings", Caption: "Listings", Swap: "catalog", Stacked: true}
	columns := s.shownColumns()
	for _, col := range columns {
		view.Table.Heads = append(view.Table.Heads, view.head(col))
	}
	for _, r := range rows {
		var cells []html.Cell
		for _, col := range columns {
			cells = append(cells, s.cell(col, r))
		}
		view.Table.Rows = append(view.Table.Rows, html.Row{Cells: cells})
	}
	view.pager = v.pagerOf(s.Page, pageRows, len(rows), c.Total)
	view.Downloads = v.downloads(catalogPath + ".")
	view.SQL = string(s.downloadSQL())
	return newPage("Catalog", "catalog", view), nil
}

// showMistake shows the form without listings.
func (view catalogView) showMistake(mistake *statusError) htmlPage {
	view.Problem, view.Advice = startSentence(mistake.problem), mistake.advice
	if strings.TrimPrefix(view.SortParam, "-") != view.State.Sort { // the sort order of the address is invalid
		view.SortParam = ""
	}
	for i := range view.Ranges { // keep the typed texts, even if they are not numbers
		r := &view.Ranges[i]
		r.Min, r.Max = view.params.Get(r.MinKey), view.params.Get(r.MaxKey)
	}
	p := newPage("Catalog", "catalog", view)
	p.Status = mistake.status
	return p
}

// findOutlets also finds outlets without listings.
func (s *catalogState) findOutlets(v *visit) ([]html.Cell, error) {
	const maxOutlets = 8
	var conditions []sqltext.SQL
	for word := range strings.FieldsSeq(s.Search) {
		conditions = append(conditions, containsWord("concat_ws(chr(10), name, website_url)", word))
	}
	if len(conditions) == 0 {
		return nil, nil
	}
	result, err := v.run(catalogQuery(catalogSQL.Render("outlets", sqltext.Values{"conditions": allOf(conditions), "most": maxOutlets})), nil)
	var outlets []html.Cell
	for _, r := range result.Rows {
		outlets = append(outlets, html.Cell{Text: r.Get("name").Text, Link: linkTo("outlets", r.Get("id").Text)})
	}
	return outlets, err
}

func (view *catalogView) chips() []chip {
	var all []chip
	s := view.State
	add := func(text string, removed ...pair) {
		all = append(all, chip{Text: text, Link: view.addressWithout(removed...)})
	}
	if s.Search != "" {
		add("Search: "+s.Search, pair{Key: searchKey})
	}
	for _, f := range facets() {
		for _, c := range s.Chosen[f.key] {
			text, removed := f.label+": "+f.valueLabel(c), []pair{{f.key, c.encode()}}
			if f.key == "currency" && s.CurrencyAssumed {
				text += ", the most frequent"
			}
			_, isOnlyCurrency := s.currency()
			if f.key == "currency" && isOnlyCurrency && s.comparesPrices() {
				// Without a currency, assumeCurrency would choose one again.
				removed = append(removed, pair{Key: "price_min"}, pair{Key: "price_max"}, pair{sortKey, "price"}, pair{sortKey, "-price"})
			}
			add(text, removed...)
		}
	}
	for _, r := range rangeFilters() {
		text := r.label
		if lowest := s.Limits[r.key+"_min"]; lowest != "" {
			text += " from " + lowest
		}
		if highest := s.Limits[r.key+"_max"]; highest != "" {
			text += " to " + highest
		}
		if text != r.label {
			add(text, pair{Key: r.key + "_min"}, pair{Key: r.key + "_max"})
		}
	}
	return all
}

// listing contains the values of one listing by column name.
type listing map[string]query.Value

// readRows reads one page of listings. Prices and tags are read only for the listings of this page.
func (s *catalogState) readRows(v *visit) ([]listing, error) {
	result, err := v.run(catalogQuery(s.pageSQL()), nil)
	if err != nil {
		return nil, err
	}
	rows := make([]listing, len(result.Rows))
	for i, r := range result.Rows {
		rows[i] = listing{}
		for n, c := range result.Columns {
			rows[i][c.Name] = r.Values[n]
		}
		if err := rows[i].addPrices(); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// addPrices adds texts with one line for each currency.
func (l listing) addPrices() error {
	var lowest []struct {
		Currency *string
		Price    json.Number
		Tier     string
	}
	if err := json.Unmarshal([]byte(l["prices"].Or("[]")), &lowest); err != nil {
		return fmt.Errorf("read the prices of a listing: %w", err)
	}
	var prices, exact, tiers []string
	for _, p := range lowest {
		currency := html.NoCurrency
		if p.Currency != nil {
			currency = *p.Currency
		}
		prices = append(prices, html.MoneyCell(p.Price.String()).Text+" "+currency)
		exact = append(exact, p.Price.String()+" "+currency)
		tiers = append(tiers, query.EnumWords(cmp.Or(p.Tier, "not stated")))
	}
	for name, lines := range map[string][]string{"price": prices, "exact": exact, "tier": tiers} {
		l[name] = query.Value{Text: strings.Join(lines, "\n"), Null: len(lines) == 0}
	}
	return nil
}

func (view *catalogView) addForm(c counts) {
	s := view.State
	for _, f := range facets() {
		view.Facets = append(view.Facets, s.viewFacet(f, c))
	}
	for _, r := range rangeFilters() {
		minKey, maxKey := r.key+"_min", r.key+"_max"
		view.Ranges = append(view.Ranges, rangeView{Label: r.label, MinKey: minKey, MaxKey: maxKey, Min: s.Limits[minKey], Max: s.Limits[maxKey]})
	}
	shown := s.shownColumns()
	for _, c := range catalogColumns()[1:] { // the first column is always shown
		view.Columns = append(view.Columns, option{c.key, c.label, slices.ContainsFunc(shown, func(s catalogColumn) bool { return s.key == c.key })})
	}
}

// viewFacet returns chosen values, then the others. A chosen value gets the count 0 if no listing has it.
func (s *catalogState) viewFacet(f facet, c counts) facetView {
	const maxUnfolded = 8
	isCounted := c.Facets != nil
	uncounted := slices.Clone(s.Chosen[f.key]) // chosen values without a count
	view := facetView{Key: f.key, Label: f.label, Cut: len(c.Facets[f.key]) >= maxValues, Empty: "none"}
	if !isCounted {
		view.Empty = "not counted"
	}
	var others []valueView
	for _, n := range c.Facets[f.key] {
		value := valueView{Key: f.key, Value: n.encode(), Label: f.valueLabel(n.choice), N: n.N, Counted: true}
		if i := slices.Index(uncounted, n.choice); i >= 0 {
			uncounted = slices.Delete(uncounted, i, i+1)
			value.Chosen = true
			view.Values = append(view.Values, value)
		} else {
			others = append(others, value)
		}
	}
	for _, value := range uncounted {
		view.Values = append(view.Values, valueView{Key: f.key, Value: value.encode(), Label: f.valueLabel(value), Chosen: true, Counted: isCounted})
	}
	view.Values = append(view.Values, others...)
	first := min(maxUnfolded, len(view.Values))
	view.Values, view.More = view.Values[:first], view.Values[first:]
	return view
}

func (f facet) valueLabel(c choice) string {
	switch {
	case c.Null:
		return "not stated"
	case c.Text == "":
		return "empty text"
	case f.key == "dofollow":
		return html.YesNo(c.Text)
	case slices.Contains([]string{"channel", "placement", "tier"}, f.key):
		return query.EnumWords(c.Text)
	}
	return c.Text
}

// head returns no link for prices of several currencies, which cannot be sorted.
func (view *catalogView) head(c catalogColumn) html.Head {
	s := view.State
	h := html.Head{Label: c.label, Numeric: slices.Contains([]string{"authority", "ranking", "days", "price"}, c.key)}
	isMixedPrice := c.key == "price" && len(s.Chosen["currency"]) > 1
	if isMixedPrice || c.sortColumn == "" {
		return h
	}
	order := c.key
	if c.key == "authority" || c.key == "ranking" || c.key == "created" { // the first click shows the largest values
		order = "-" + c.key
	}
	if s.Sort == c.key && s.Descending {
		h.Sorted, order = "descending", c.key
	} else if s.Sort == c.key {
		h.Sorted, order = "ascending", "-"+c.key
	}
	h.Link = view.addressWith(pair{sortKey, order})
	return h
}

func (s *catalogState) cell(c catalogColumn, r listing) html.Cell {
	value := r[c.columnNames[len(c.columnNames)-1]] // the columns before the last one are ids and the shortest delivery time
	missing := value.Null
	cell := html.Cell{Text: value.Text}
	switch c.key {
	case "name":
		cell.Link = linkTo("listings", r["id"].Text)
		if value.Null {
			cell.Text, missing = r["id"].Text, false
		}
	case "outlet":
		if !r["outlet_id"].Null {
			cell.Link = linkTo("outlets", r["outlet_id"].Text)
		}
	case "website":
		cell.Address = html.WebAddress(value.Text)
		if u, err := url.Parse(cell.Address); err == nil && u.Hostname() != "" {
			cell.Text, cell.Class, cell.Exact = strings.TrimPrefix(u.Hostname(), "www."), "host", value.Text
		}
	case "authority", "ranking":
		cell.Class, cell.Text = "n", html.Decimal(value.Text)
	case "created":
		cell.Class, cell.Text, cell.Exact = "t", html.Moment(value.Text), value.Text
	case "dofollow":
		cell.Text = html.YesNo(value.Text)
	case "days": // from the shortest to the longest
		cell.Class = "n"
		if shortest := r["min_delivery_days"]; !shortest.Null && shortest.Text != value.Text {
			cell.Text, missing = shortest.Text+"–"+value.Or(html.Unknown), false
		}
	case "channel", "placement":
		if cell.Text = query.EnumWords(value.Text); cell.Text != value.Text {
			cell.Exact = value.Text
		}
	case "tier":
		cell.Class = "lines"
	case "price":
		cell.Class, cell.Exact = "n lines", r["exact"].Text
	}
	if missing {
		return html.Cell{Text: html.Unknown, Class: strings.TrimSpace(cell.Class + " none")}
	}
	return cell
}
