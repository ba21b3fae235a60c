package explore

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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
	SortParam       string // of the address, for a hidden field of the form
	Total           int64
	Table           html.Table
	pager
	SourceNote   string      // a note if listings may be missing
	Outlets      []html.Cell // the first outlets with all words of the search in name and website
	Chips        []chip
	ClearLink    string
	Downloads    []pair
	SQL, Program string
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

// showCatalog shows the listings or sends them as a file.
func showCatalog(v *visit) (reply, error) {
	s, err := readCatalogState(v.params)
	if err == nil {
		err = s.assumeCurrency(v)
	}
	mistake, isMistake := errors.AsType[*statusError](err)
	isFile := v.format() != ""
	if isMistake && !isFile {
		return showMistake(v, s, mistake)
	}
	if err != nil {
		return nil, err
	}
	if isFile {
		return download{Query: v.queryOf(s.downloadSQL()), Title: "Listings", Name: "catalog", Format: v.format()}, nil
	}
	c, err := countListings(v, &s)
	if err != nil {
		return nil, err
	}
	view := catalogView{visit: v, State: &s, SortParam: v.params.Get(sortKey)}
	view.addForm(c)
	page, err := v.runStatement(s.pageSQL())
	if err != nil {
		return nil, err
	}
	if err := view.addTable(page, c.Total); err != nil {
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
	view.Chips, view.ClearLink = view.chips(), catalogPath
	view.Downloads = v.downloads(catalogPath + ".")
	view.SQL, view.Program = string(s.downloadSQL()), v.explorer.cfg.Program
	return newPage("Catalog", "catalog", view), nil
}

// showMistake shows the form with the values of an invalid address and a description of the mistake, so that the user
// can correct it.
func showMistake(v *visit, s catalogState, mistake *statusError) (reply, error) {
	// The mistake may be a comparison of prices in several currencies. Without the comparison, the values can be
	// counted, so that the user can choose one currency.
	counted := s
	counted.Limits = maps.Clone(s.Limits)
	delete(counted.Limits, "price_min")
	delete(counted.Limits, "price_max")
	if counted.Sort == "price" {
		counted.Sort = "authority"
	}
	var c counts
	if counted.check() == nil { // otherwise the address has too many words or choices
		var err error
		if c, err = countListings(v, &counted); err != nil {
			return nil, err
		}
	}
	view := catalogView{visit: v, State: &s, Problem: startSentence(mistake.problem), Advice: mistake.advice}
	if sort := v.params.Get(sortKey); strings.TrimPrefix(sort, "-") == s.Sort { // a valid sort order
		view.SortParam = sort
	}
	view.addForm(c)
	for i := range view.Ranges { // keep the typed texts, even if they are not numbers
		r := &view.Ranges[i]
		r.Min, r.Max = v.params.Get(r.MinKey), v.params.Get(r.MaxKey)
	}
	p := newPage("Catalog", "catalog", view)
	p.Status = mistake.status
	return p, nil
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
	result, err := v.runStatement(catalogSQL.Render("outlets", sqltext.Values{"conditions": allOf(conditions), "most": maxOutlets}))
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

// addTable adds one page of the listings. total is their number.
func (view *catalogView) addTable(page query.Result, total int64) error {
	s := view.State
	roles := map[string]columnRole{}
	for _, r := range rolesOf(page.Columns) {
		roles[r.Name] = r
	}
	columns := s.shownColumns()
	view.Table = html.Table{ID: "listings", Caption: "Listings", Swap: "catalog", Stacked: true}
	for _, c := range columns {
		view.Table.Heads = append(view.Table.Heads, view.head(c))
	}
	for _, r := range page.Rows {
		var prices []lowestPrice
		if err := json.Unmarshal([]byte(r.Get("prices").Or("[]")), &prices); err != nil {
			return fmt.Errorf("read the prices of a listing: %w", err)
		}
		var cells []html.Cell
		for _, c := range columns {
			cells = append(cells, s.cell(c, r, roles, prices))
		}
		view.Table.Rows = append(view.Table.Rows, html.Row{Cells: cells})
	}
	view.Total = total
	view.pager = view.pagerOf(s.Page, pageRows, len(page.Rows), total)
	return nil
}

// lowestPrice is the lowest price of a listing in one currency. The tier is empty if the price has none.
type lowestPrice struct {
	Currency *string
	Price    json.Number
	Tier     string
}

// priceCell has one line for each currency.
func priceCell(prices []lowestPrice) html.Cell {
	if len(prices) == 0 {
		return html.Cell{Text: html.Unknown, Class: "n lines none"}
	}
	var rounded, exact []string
	for _, p := range prices {
		currency := html.NoCurrency
		if p.Currency != nil {
			currency = *p.Currency
		}
		rounded = append(rounded, html.MoneyCell(p.Price.String()).Text+" "+currency)
		exact = append(exact, p.Price.String()+" "+currency)
	}
	return html.Cell{Text: strings.Join(rounded, "\n"), Exact: strings.Join(exact, "\n"), Class: "n lines"}
}

// tierCell has the lines of the prices beside it. Without the prices, it has each tier once.
func tierCell(prices []lowestPrice, hasPrices bool) html.Cell {
	if len(prices) == 0 {
		return html.Cell{Text: html.Unknown, Class: "lines none"}
	}
	var tiers []string
	for _, p := range prices {
		tier := query.EnumWords(cmp.Or(p.Tier, "not stated"))
		if hasPrices || !slices.Contains(tiers, tier) {
			tiers = append(tiers, tier)
		}
	}
	return html.Cell{Text: strings.Join(tiers, "\n"), Class: "lines"}
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
	for _, c := range catalogColumns()[1:] { // the first column is always shown
		view.Columns = append(view.Columns, option{c.key, c.label, s.shows(c)})
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

func (s *catalogState) cell(c catalogColumn, r query.Record, roles map[string]columnRole, prices []lowestPrice) html.Cell {
	switch c.key {
	case "price":
		return priceCell(prices)
	case "tier":
		hasPrices := slices.ContainsFunc(s.shownColumns(), func(c catalogColumn) bool { return c.key == "price" })
		return tierCell(prices, hasPrices)
	case "name":
		id := r.Get("id").Text
		cell := roles["name"].buildCell(query.Value{Text: r.Get("name").Or(id)})
		cell.Link = linkTo("listings", id)
		return cell
	case "days": // from the shortest to the longest
		cell := roles["max_delivery_days"].showValue(r, links{})
		shortest, longest := r.Get("min_delivery_days"), r.Get("max_delivery_days")
		if !shortest.Null && shortest.Text != longest.Text {
			cell = html.Cell{Text: shortest.Text + "–" + longest.Or(html.Unknown), Class: "n"}
		}
		return cell
	case "website":
		return buildCell(query.Column{Name: "website"}, r.Get("website_url"))
	case "tags":
		return roles["tags"].showValue(r, links{})
	}
	lastName := c.columnNames[len(c.columnNames)-1] // the columns before it contain ids
	return roles[lastName].showValue(r, links{})
}
