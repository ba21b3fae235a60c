package explore

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"placementsync/internal/sqltext"
)

// condition is one filter in the address of the catalog page. facet is the key of its facet. Currency, tier
// and price range share one condition, whose facet is priceFacet. facet is empty for the search and the
// other ranges.
type condition struct {
	facet string
	text  sqltext.SQL
}

const priceFacet = "price"

// conditions returns SQL in which the table of listings has the alias l.
func (s *catalogState) conditions() []condition {
	var all []condition
	for word := range strings.FieldsSeq(s.Search) {
		all = append(all, condition{"", containsWord("concat_ws(chr(10), l.name, l.outlet_name, l.website_url)", word)})
	}
	for _, f := range facets() {
		if chosen := s.Chosen[f.key]; len(chosen) > 0 && f.column != "" {
			column := sqltext.Fill("CAST(l.{column} AS VARCHAR)", sqltext.Values{"column": sqltext.SQL(f.column)})
			all = append(all, condition{f.key, isOneOf(column, chosen)})
		}
	}
	if chosen := s.Chosen["tag"]; len(chosen) > 0 {
		all = append(all, condition{"tag", hasTag(chosen)})
	}
	// With a price range, a currency is chosen too: the user or assumeCurrency chose one, unless the catalog has no price.
	if len(s.Chosen["currency"])+len(s.Chosen["tier"]) > 0 {
		all = append(all, condition{priceFacet, s.hasPrice()})
	}
	for _, r := range rangeFilters() {
		if r.column != "" {
			for _, text := range s.comparisons(r.key, sqltext.Fill("l.{column}", sqltext.Values{"column": sqltext.SQL(r.column)})) {
				all = append(all, condition{"", text})
			}
		}
	}
	return all
}

// containsWord returns the condition that a text contains a word of a search. word is a value or a parameter.
func containsWord(text sqltext.SQL, word any) sqltext.SQL {
	return sqltext.Fill("contains(lower({text}), lower({word}))", sqltext.Values{"text": text, "word": word})
}

func isOneOf(expression sqltext.SQL, chosen []choice) sqltext.SQL {
	texts, hasNull := splitChoices(chosen)
	if len(texts) == 0 {
		return sqltext.Fill("{expression} IS NULL", sqltext.Values{"expression": expression})
	}
	if hasNull {
		return sqltext.Fill("({expression} IN ({texts}) OR {expression} IS NULL)", sqltext.Values{"expression": expression, "texts": texts})
	}
	return sqltext.Fill("{expression} IN ({texts})", sqltext.Values{"expression": expression, "texts": texts})
}

func splitChoices(chosen []choice) (texts []string, hasNull bool) {
	for _, c := range chosen {
		if c.Null {
			hasNull = true
		} else {
			texts = append(texts, c.Text)
		}
	}
	return texts, hasNull
}

// hasTag returns the condition that a listing has one of the tags. NULL stands for a listing without tags.
func hasTag(chosen []choice) sqltext.SQL {
	names, hasNull := splitChoices(chosen)
	var either []sqltext.SQL
	if len(names) > 0 {
		either = append(either, catalogSQL.Render("has_tag", sqltext.Values{"names": names}))
	}
	if hasNull {
		either = append(either, catalogSQL.Render("has_no_tag", nil))
	}
	return sqltext.Fill("({either})", sqltext.Values{"either": sqltext.JoinSQL(either, " OR ")})
}

func (s *catalogState) hasPrice() sqltext.SQL {
	if s.priceRange() == noCondition { // DuckDB then need not group the prices
		return catalogSQL.Render("has_price", sqltext.Values{"prices": s.priceConditions("")})
	}
	return catalogSQL.Render("has_lowest_price", sqltext.Values{"prices": s.priceConditions(""), "price_range": s.priceRange()})
}

// priceConditions returns the condition that a price must meet. The condition ignores the chosen values
// of countedFacet, which is "currency", "tier" or empty: the statement counts all values of this facet.
func (s *catalogState) priceConditions(countedFacet string) sqltext.SQL {
	all := []sqltext.SQL{"unit_amount IS NOT NULL"}
	if chosen := s.Chosen["currency"]; len(chosen) > 0 && countedFacet != "currency" {
		all = append(all, isOneOf("currency", chosen))
	}
	if chosen := s.Chosen["tier"]; len(chosen) > 0 && countedFacet != "tier" {
		all = append(all, isOneOf("pricing_tier", chosen))
	}
	return allOf(all)
}

// priceRange returns the condition for the lowest price of a listing.
func (s *catalogState) priceRange() sqltext.SQL {
	return allOf(s.comparisons("price", "min(unit_amount)"))
}

// comparisons makes the limits part of the SQL as they are, so they must match numberPattern.
func (s *catalogState) comparisons(rangeKey string, expression sqltext.SQL) []sqltext.SQL {
	var all []sqltext.SQL
	if lowest := s.Limits[rangeKey+"_min"]; lowest != "" {
		all = append(all, sqltext.Fill("{expression} >= {lowest}", sqltext.Values{"expression": expression, "lowest": sqltext.SQL(lowest)}))
	}
	if highest := s.Limits[rangeKey+"_max"]; highest != "" {
		all = append(all, sqltext.Fill("{expression} <= {highest}", sqltext.Values{"expression": expression, "highest": sqltext.SQL(highest)}))
	}
	return all
}

const noCondition = sqltext.SQL("true")

func allOf(conditions []sqltext.SQL) sqltext.SQL {
	if len(conditions) == 0 {
		return noCondition
	}
	return sqltext.JoinSQL(conditions, "\n    AND ")
}

// listingsSQL returns a statement for the listings that match the address. The table of listings has the alias l.
// The columns can contain p.price and p.tier: the lowest price and its tier.
func (s *catalogState) listingsSQL(columns []sqltext.SQL) sqltext.SQL {
	sorted, _ := findColumn(s.Sort)
	sortedBy := sqltext.Fill("l.{column}", sqltext.Values{"column": sqltext.SQL(sorted.sortColumn)})
	if sorted.key == "price" {
		sortedBy = "p.price"
	}
	direction := sqltext.SQL("ASC")
	if s.Descending {
		direction = "DESC"
	}
	lowestPrice := sqltext.SQL("")
	if s.Sort == "price" || slices.Contains(columns, "p.price") {
		lowestPrice = catalogSQL.Render("lowest_price", sqltext.Values{"prices": s.priceConditions("")})
	}
	var conditions []sqltext.SQL
	for _, c := range s.conditions() {
		conditions = append(conditions, c.text)
	}
	return catalogSQL.Render("listings", sqltext.Values{"columns": sqltext.JoinSQL(columns, ", "), "listings": catalogSQL.Render("named_listings", nil),
		"lowest_price": lowestPrice, "conditions": allOf(conditions), "sorted_by": sortedBy, "direction": direction})
}

// downloadSQL selects the tier together with the price.
func (s *catalogState) downloadSQL() sqltext.SQL {
	var columns []sqltext.SQL
	hasPrice := false
	for _, c := range s.shownColumns() {
		isPrice := c.key == "price" || c.key == "tier"
		if isPrice && !hasPrice {
			columns = append(columns, s.priceColumns()...)
			hasPrice = true
		}
		if c.key == "tags" {
			columns = append(columns, catalogSQL.Render("tags_column", nil))
		}
		columns = append(columns, c.listingColumns()...)
	}
	return s.listingsSQL(columns)
}

// priceColumns returns the columns of the lowest price in the chosen currency. If there is no single currency, it
// returns a column with the lowest price in each currency.
func (s *catalogState) priceColumns() []sqltext.SQL {
	currency, ok := s.currency()
	switch {
	case !ok:
		return []sqltext.SQL{s.pricesColumn()}
	case currency.Null:
		return []sqltext.SQL{"p.price", "NULL::VARCHAR AS currency", "p.tier"}
	}
	return []sqltext.SQL{"p.price", sqltext.Fill("{currency} AS currency", sqltext.Values{"currency": currency.Text}), "p.tier"}
}

// pricesColumn returns a column with the lowest price in each currency.
func (s *catalogState) pricesColumn() sqltext.SQL {
	return catalogSQL.Render("prices_column", sqltext.Values{"prices": s.priceConditions("")})
}

func (c catalogColumn) listingColumns() []sqltext.SQL {
	var columns []sqltext.SQL
	for _, name := range c.columnNames {
		columns = append(columns, sqltext.Fill("l.{column}", sqltext.Values{"column": sqltext.SQL(name)}))
	}
	return columns
}

// pageSQL returns a statement for one page of listings.
func (s *catalogState) pageSQL() sqltext.SQL {
	var columns []sqltext.SQL
	for _, c := range s.shownColumns() {
		columns = append(columns, c.listingColumns()...)
	}
	return catalogSQL.Render("page", sqltext.Values{"listings": s.listingsSQL(columns), "prices": s.pricesColumn(),
		"rows": pageRows, "offset": (s.Page - 1) * pageRows})
}

// counts contains the number of listings that match an address and, for each value of a facet, the number that
// would match if this value replaced the chosen values of the facet.
type counts struct {
	Total  int64
	Facets map[string][]count
}

type count struct {
	choice
	N int64
}

// maxValues limits the counted values of a facet: the chosen values, then the most frequent values.
const maxValues = 100

// countsSQL returns a statement that counts the listings and the values of all facets.
func (s *catalogState) countsSQL() sqltext.SQL {
	var conditions []sqltext.SQL // of the search and the ranges, which apply to all counts
	// Each element is SQL that gives the name of a facet if the listing does not match the chosen values of that
	// facet, and otherwise NULL. concat_ws needs at least one element.
	unmatchedFacets := []sqltext.SQL{"NULL"}
	isOfFoundListing := noCondition // needed only if there are conditions besides the one of the prices
	for _, c := range s.conditions() {
		if c.facet != priceFacet {
			isOfFoundListing = catalogSQL.Render("is_of_found_listing", nil)
		}
		if c.facet == "" {
			conditions = append(conditions, c.text)
		} else {
			unmatchedFacets = append(unmatchedFacets, sqltext.Fill("CASE WHEN {condition} THEN NULL ELSE {facet} END",
				sqltext.Values{"condition": c.text, "facet": c.facet}))
		}
	}
	isChosen := []sqltext.SQL{"false"}
	for _, f := range facets() {
		if chosen := s.Chosen[f.key]; len(chosen) > 0 {
			isChosen = append(isChosen, sqltext.Fill("facet = {facet} AND {chosen}", sqltext.Values{"facet": f.key, "chosen": isOneOf("value", chosen)}))
		}
	}
	listings := sqltext.SQL("main.product_listings")
	if s.Search != "" { // only the search reads the names of outlets
		listings = catalogSQL.Render("named_listings", nil)
	}
	return catalogSQL.Render("counts", sqltext.Values{"listings": listings, "conditions": allOf(conditions),
		"unmatched_facets":         sqltext.JoinSQL(unmatchedFacets, ", "),
		"prices_of_all_currencies": s.priceConditions("currency"), "prices_of_all_tiers": s.priceConditions("tier"), "price_range": s.priceRange(),
		"is_of_found_listing": isOfFoundListing, "is_chosen": sqltext.JoinSQL(isChosen, " OR "), "most": maxValues})
}

func countListings(v *visit, s *catalogState) (counts, error) {
	result, err := v.db.Collect(v.Context(), v.queryOf(s.countsSQL()), nil, math.MaxInt) // the statement limits its rows
	if err != nil {
		return counts{}, err
	}
	c := counts{Facets: map[string][]count{}}
	for _, r := range result.Rows {
		n, err := strconv.ParseInt(r.Get("n").Text, 10, 64)
		if err != nil {
			return counts{}, fmt.Errorf("count listings: %w", err)
		}
		if key := r.Get("facet").Text; key == "total" {
			c.Total = n
		} else {
			c.Facets[key] = append(c.Facets[key], count{choice{r.Get("value").Text, r.Get("value").Null}, n})
		}
	}
	return c, nil
}
