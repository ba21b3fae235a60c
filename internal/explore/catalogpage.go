package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"placementsync/internal/page"
	"placementsync/internal/query"
)

type catalogView struct {
	*visit
	State           *catalogState
	Problem, Advice string
	Facets          []facetView
	Ranges          []rangeView
	Columns         []option
	Table           page.Table
	// SourceNote is a note if listings may be missing.
	SourceNote string
	// Outlets are the first few outlets whose name or website contains all words of the search.
	Outlets []page.Cell
	// First and Last are the positions of the first and the last shown listing among all Total listings.
	Total, First, Last int64
	// Previous and Next are the addresses of the neighboring pages. Empty means none.
	Previous, Next string
	Downloads      []pair
	SQL, Program   string
	Chips          []chip
	ClearLink      string
	// SortParam is the parameter sort of the address, for a hidden field of the form.
	SortParam string
}

// facetView is a facet with its counts. Values contains the first few values, More the others. Cut
// means that maxValues values were counted, so that rarer values may be missing.
type facetView struct {
	Key, Label   string
	Values, More []valueView
	Cut          bool
	// Empty is shown if there are no values.
	Empty string
}

// valueView is one value of a facet. Key and Value are its parameter in the address. N is the number of
// listings with the value.
type valueView struct {
	Key, Value, Label string
	N                 int64
	Chosen            bool
	// Counted is false if the page has no counts.
	Counted bool
}

// prepareCatalog creates the in-memory tables of the page if they do not exist. The tables have only the
// columns to search, filter and sort by. They count towards the memory limit of the snapshot. If the
// request ends during the creation, the creation continues, and later requests use the tables.
func (s *openSnapshot) prepareCatalog(ctx context.Context) error {
	select {
	case s.preparing <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("wait for the tables of the catalog: %w", ctx.Err())
	}
	if s.isPrepared {
		<-s.preparing
		return nil
	}
	created := make(chan error, 1)
	go func() {
		err := s.db.Derive(context.WithoutCancel(ctx), string(catalogSQL.Render("tables", namesPlaceholder())))
		s.isPrepared = err == nil
		created <- err
		<-s.preparing
	}()
	select {
	case err := <-created:
		return err
	case <-ctx.Done():
		return fmt.Errorf("create the tables of the catalog: %w", ctx.Err())
	}
}

func showCatalog(v *visit) (reply, error) {
	s, err := readCatalogState(v.params)
	view := catalogView{visit: v, State: &s, Program: v.pool.cfg.Program, ClearLink: catalogPath, SortParam: v.params.Get(sortKey)}
	if err == nil {
		err = s.assumeCurrency(v)
	}
	if err != nil {
		return view.showMistake(err)
	}
	if err := v.snapshot.prepareCatalog(v.Context()); err != nil {
		return nil, err
	}
	c, err := countListings(v, &s)
	if err != nil {
		return nil, err
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
	view.addForm(c)
	view.Chips = view.chips()
	view.Table = page.Table{ID: "listings", Caption: "Listings", Swap: "catalog", Stacked: true}
	for _, col := range s.shownColumns() {
		view.Table.Heads = append(view.Table.Heads, view.head(col))
	}
	for _, r := range rows {
		var cells []page.Cell
		for _, col := range s.shownColumns() {
			cells = append(cells, s.cell(col, r))
		}
		view.Table.Rows = append(view.Table.Rows, page.Row{Cells: cells})
	}
	if len(rows) > 0 {
		view.First = int64(s.Page-1)*pageRows + 1
		view.Last = view.First + int64(len(rows)) - 1
	}
	if s.Page > 1 {
		previous := min(s.Page-1, max(1, int((c.Total+pageRows-1)/pageRows)))
		view.Previous = catalogPath + view.addressWith(pair{pageKey, fmt.Sprint(previous)})
	}
	if view.Last > 0 && view.Last < c.Total {
		view.Next = catalogPath + view.addressWith(pair{pageKey, fmt.Sprint(s.Page + 1)})
	}
	for _, f := range downloadFormats() {
		view.Downloads = append(view.Downloads, pair{f.label, catalogPath + "." + string(f.format) + view.addressWith()})
	}
	view.SQL = s.downloadStatement(&binder{asLiterals: true})
	return newPage("Catalog", "catalog", view), nil
}

// findOutlets finds outlets by the words of the search, including outlets without listings.
func (s *catalogState) findOutlets(v *visit) ([]page.Cell, error) {
	const maxOutlets = 8
	if len(s.words()) == 0 {
		return nil, nil
	}
	b := &binder{}
	var where []string
	for _, word := range s.words() {
		where = append(where, "contains(lower(concat_ws(chr(10), name, website_url)), lower("+b.bind(word)+"))")
	}
	result, err := v.run(b.query(fmt.Sprintf("SELECT id, coalesce(name, id) AS name FROM main.outlets%s ORDER BY name, id LIMIT %d", whereAll(where), maxOutlets)))
	var outlets []page.Cell
	for _, r := range result.Rows {
		outlets = append(outlets, page.Cell{Text: r.Get("name").Text, Link: linkTo("outlets", r.Get("id").Text)})
	}
	return outlets, err
}

// showMistake shows the form with the values of the address and a description of the mistake, so that
// the user can correct the mistake. The counts of the form ignore the price range and the order by price, so
// that the user can still choose a currency. The form has no counts if the address has too many words or
// choices.
func (view *catalogView) showMistake(err error) (reply, error) {
	mistake, ok := errors.AsType[*statusError](err)
	if !ok {
		return nil, err
	}
	withoutPrices := *view.State
	withoutPrices.Ranges = maps.Clone(withoutPrices.Ranges)
	delete(withoutPrices.Ranges, "price")
	if withoutPrices.Sort == "price" {
		withoutPrices.Sort = "authority"
	}
	var c counts
	if withoutPrices.check() == nil {
		if err := view.snapshot.prepareCatalog(view.Context()); err != nil {
			return nil, err
		}
		if c, err = countListings(view.visit, &withoutPrices); err != nil {
			return nil, err
		}
	}
	view.Problem, view.Advice = mistake.problem, mistake.advice
	if strings.TrimPrefix(view.SortParam, "-") != view.State.Sort { // the sort order of the address is invalid
		view.SortParam = ""
	}
	view.addForm(c)
	for i := range view.Ranges { // keep the typed texts, even if they are not numbers
		r := &view.Ranges[i]
		r.Min, r.Max = view.params.Get(r.MinKey), view.params.Get(r.MaxKey)
	}
	p := newPage("Catalog", "catalog", *view)
	p.Status = mistake.status
	return p, nil
}

func sendCatalog(v *visit) (reply, error) {
	s, err := readCatalogState(v.params)
	if err != nil {
		return nil, err
	}
	if err := s.assumeCurrency(v); err != nil {
		return nil, err
	}
	b := &binder{}
	q := query.Text(s.downloadStatement(b))
	return download{Query: q, Values: b.values, Name: "catalog", Format: v.format()}, nil
}

func (view *catalogView) chips() []chip {
	var all []chip
	s := view.State
	add := func(text string, removed ...pair) {
		all = append(all, chip{Text: text, Link: catalogPath + view.addressWithout(removed...)})
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
			if f.key == "currency" && len(s.Chosen[f.key]) == 1 && s.comparesPrices() { // otherwise assumeCurrency would choose a currency again
				removed = append(removed, pair{Key: "price_min"}, pair{Key: "price_max"}, pair{sortKey, "price"}, pair{sortKey, "-price"})
			}
			add(text, removed...)
		}
	}
	for _, r := range rangeFilters() {
		if l, ok := s.Ranges[r.key]; ok {
			text := r.label
			if l.Min != "" {
				text += " from " + l.Min
			}
			if l.Max != "" {
				text += " to " + l.Max
			}
			add(text, pair{Key: r.key + "_min"}, pair{Key: r.key + "_max"})
		}
	}
	return all
}

// listing contains the values of one listing by column name. Tags and prices are texts with all values.
// "exact" is the text of the prices with all digits.
type listing map[string]query.Value

// readRows reads one page of listings. The in-memory table selects the listings; its column id is a rank,
// and main_rowid is the rowid in main.product_listings, see catalog.sql. The other shown columns are in main.
func (s *catalogState) readRows(v *visit) ([]listing, error) {
	columns := []string{"r.rank", "r.outlet_name"}
	for _, c := range s.shownColumns() {
		for _, name := range c.columnNames {
			switch name {
			case "price", "tier", "tags", "outlet_name": // not in main.product_listings; outlet_name may be NULL there
			default:
				columns = append(columns, "m."+name)
			}
		}
	}
	b := &binder{}
	selected := s.statement(derivedTables(), b, []string{"l.id AS rank", "l.main_rowid", "l.outlet_name"})
	// With the condition IN, unlike with the join alone, DuckDB skips blocks of main that contain none of the rows.
	result, err := v.run(b.query(fmt.Sprintf("WITH selected AS MATERIALIZED (SELECT row_number() OVER () AS position, * FROM (%s LIMIT %d OFFSET %d))\n"+
		"SELECT %s FROM selected AS r JOIN (SELECT *, rowid AS main_rowid FROM main.product_listings WHERE rowid IN (SELECT main_rowid FROM selected)) AS m "+
		"USING (main_rowid) ORDER BY r.position", selected, pageRows, (s.Page-1)*pageRows, strings.Join(columns, ", "))))
	if err != nil || len(result.Rows) == 0 {
		return nil, err
	}
	rows := make([]listing, len(result.Rows))
	byRank := map[string]listing{}
	for i, r := range result.Rows {
		rows[i] = listing{}
		for n, c := range result.Columns {
			rows[i][c.Name] = r.Values[n]
		}
		byRank[r.Get("rank").Text] = rows[i]
	}
	ranks := slices.Collect(maps.Keys(byRank))
	return rows, s.addLists(v, byRank, "product_listing_id IN (SELECT unnest(["+strings.Join(ranks, ", ")+"]))")
}

// addLists adds the tags, and the lowest price in each currency with its tier, to the listings of a
// page. byRank contains these listings. pageCondition is the condition that selects their tags and prices.
func (s *catalogState) addLists(v *visit, byRank map[string]listing, pageCondition string) error {
	b := &binder{}
	t := derivedTables()
	where := []string{"NOT any_currency AND NOT any_tier", pageCondition}
	for facet, column := range map[string]string{"currency": "currency", "tier": "pricing_tier"} {
		if chosen := s.Chosen[facet]; len(chosen) > 0 {
			where = append(where, b.anyOf(column, chosen))
		}
	}
	prices, err := v.runWhole(b.query("SELECT product_listing_id AS rank, currency, min(unit_amount) AS price, " + tierOfLowestPrice + " AS tier FROM " + t.prices + whereAll(where) +
		" GROUP BY rank, currency ORDER BY currency NULLS LAST"))
	if err != nil {
		return err
	}
	tags, err := v.runWhole(query.Query{Name: "catalog", SQL: "SELECT product_listing_id AS rank, name FROM " + t.tags + " WHERE " + pageCondition + " ORDER BY name"}, nil)
	if err != nil {
		return err
	}
	add := func(rank, key, separator, text string) {
		if earlier, ok := byRank[rank][key]; ok {
			text = earlier.Text + separator + text
		}
		byRank[rank][key] = query.Value{Text: text}
	}
	for _, r := range prices.Rows {
		currency := r.Get("currency").Text
		if r.Get("currency").Null {
			currency = noCurrency
		}
		add(r.Get("rank").Text, "price", "\n", page.MoneyCell(r.Get("price").Text).Text+" "+currency)
		add(r.Get("rank").Text, "exact", "\n", r.Get("price").Text+" "+currency)
		add(r.Get("rank").Text, "tier", "\n", wordsOf(cmp.Or(r.Get("tier").Text, "not stated")))
	}
	for _, r := range tags.Rows {
		add(r.Get("rank").Text, "tags", ", ", r.Get("name").Text)
	}
	return nil
}

func (view *catalogView) addForm(c counts) {
	s := view.State
	for _, f := range facets() {
		view.Facets = append(view.Facets, s.viewFacet(f, c))
	}
	for _, r := range rangeFilters() {
		view.Ranges = append(view.Ranges, rangeView{Label: r.label, MinKey: r.key + "_min", MaxKey: r.key + "_max", Min: s.Ranges[r.key].Min, Max: s.Ranges[r.key].Max})
	}
	shown := s.shownColumns()
	for _, c := range catalogColumns()[1:] { // the first column is always shown
		view.Columns = append(view.Columns, option{c.key, c.label, slices.ContainsFunc(shown, func(s catalogColumn) bool { return s.key == c.key })})
	}
}

// viewFacet returns the values of a facet: chosen values, then the others. A chosen value gets the count
// 0 if no listing has it.
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
	label := c.Text
	switch {
	case c.Null:
		label = "not stated"
	case c.Text == "":
		label = "empty text"
	case f.key == "dofollow" && c.Text == "true":
		label = "yes"
	case f.key == "dofollow" && c.Text == "false":
		label = "no"
	}
	if slices.Contains([]string{"channel", "placement", "tier"}, f.key) {
		return wordsOf(label)
	}
	return label
}

// head returns the header of a column. Its link sorts by the column or, if the table is already sorted by
// it, reverses the order. Prices of several currencies cannot be sorted.
func (view *catalogView) head(c catalogColumn) page.Head {
	s := view.State
	h := page.Head{Label: c.label, Numeric: slices.Contains([]string{"authority", "ranking", "days", "price"}, c.key)}
	if c.sortColumn == "" || c.key == "price" && len(s.Chosen["currency"]) > 1 {
		return h
	}
	down := c.key == "authority" || c.key == "ranking" || c.key == "created"
	if s.Sort == c.key {
		down = !s.Descending
		h.Sorted = map[bool]string{true: "descending", false: "ascending"}[s.Descending]
	}
	h.Link = catalogPath + view.addressWith(pair{sortKey, map[bool]string{true: "-", false: ""}[down] + c.key})
	return h
}

func (s *catalogState) cell(c catalogColumn, r listing) page.Cell {
	value, ok := r[c.columnNames[len(c.columnNames)-1]]
	missing := value.Null || !ok
	cell := page.Cell{Text: value.Text}
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
		cell.Address = webLink(value.Text)
		if u, err := url.Parse(cell.Address); err == nil {
			cell.Text = cmp.Or(strings.TrimPrefix(u.Hostname(), "www."), value.Text)
		}
	case "authority", "ranking":
		cell.Class, cell.Text = "n", page.Decimal(value.Text)
	case "created":
		cell.Class, cell.Text, cell.Exact = "t", page.Moment(value.Text), value.Text
	case "dofollow":
		cell.Text = map[string]string{"true": "yes", "false": "no"}[value.Text]
	case "days":
		cell.Class = "n"
		if shortest := r["min_delivery_days"]; !shortest.Null && shortest.Text != value.Text {
			cell.Text, missing = shortest.Text+"–"+value.Or(page.Unknown), false
		}
	case "channel", "placement":
		if cell.Text = wordsOf(value.Text); cell.Text != value.Text {
			cell.Exact = value.Text
		}
	case "tier":
		cell.Class = "lines"
	case "price":
		cell.Class, cell.Exact = "n lines", r["exact"].Text
	}
	if missing {
		return page.Cell{Text: page.Unknown, Class: strings.TrimSpace(cell.Class + " none")}
	}
	return cell
}
