package explore

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"placementsync/internal/query"
	"placementsync/internal/sqltext"
)

// namedListings returns a subquery of the listings with the names of their outlets.
func namedListings() string {
	return "(\n" + string(catalogSQL.Render("named_listings", nil)) + "\n)"
}

// binder adds values to a statement as parameters or, if the user can copy the statement, as literals.
type binder struct {
	values     map[string]string
	asLiterals bool
}

func (b *binder) bind(value string) string {
	if b.asLiterals {
		return sqltext.Literal(value)
	}
	if b.values == nil {
		b.values = map[string]string{}
	}
	name := fmt.Sprintf("table_p%d", len(b.values)) // differs from the parameters of the named queries
	b.values[name] = value
	return "$" + name
}

func (b *binder) query(text string) (query.Query, map[string]string) {
	return boundQuery("catalog", text, b.values)
}

func (b *binder) anyOf(expression string, chosen []choice) string {
	var texts, parts []string
	for _, c := range chosen {
		if c.Null {
			parts = append(parts, expression+" IS NULL")
		} else {
			texts = append(texts, b.bind(c.Text))
		}
	}
	if len(texts) > 0 {
		parts = append(parts, expression+" IN ("+strings.Join(texts, ", ")+")")
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return "(" + strings.Join(parts, " OR ") + ")"
}

func (b *binder) containsWords(expression, search string) []string {
	var all []string
	for word := range strings.FieldsSeq(search) {
		all = append(all, "contains("+expression+", lower("+b.bind(word)+"))")
	}
	return all
}

// condition is one filter in the address of the catalog page. facet is the key of its facet. Currency, tier
// and price range share one condition, whose facet is priceFacet. facet is empty for the search and the
// other ranges.
type condition struct{ facet, text string }

const priceFacet = "price"

// conditions returns SQL in which the table of listings has the alias l.
func (s *catalogState) conditions(b *binder) []condition {
	var all []condition
	for _, text := range b.containsWords("lower(concat_ws(chr(10), l.name, l.outlet_name, l.website_url))", s.Search) {
		all = append(all, condition{"", text})
	}
	for _, f := range facets() {
		if chosen := s.Chosen[f.key]; len(chosen) > 0 && f.column != "" {
			all = append(all, condition{f.key, b.anyOf("CAST(l."+f.column+" AS VARCHAR)", chosen)})
		}
	}
	if chosen := s.Chosen["tag"]; len(chosen) > 0 {
		selectIDs := "SELECT product_listing_id FROM main.product_listing_tags WHERE "
		var parts []string
		names := slices.DeleteFunc(slices.Clone(chosen), func(c choice) bool { return c.Null })
		if len(names) < len(chosen) { // the choice NULL means no tags
			parts = append(parts, "l.id NOT IN ("+selectIDs+"name IS NOT NULL)")
		}
		if len(names) > 0 {
			parts = append(parts, "l.id IN ("+selectIDs+b.anyOf("name", names)+")")
		}
		all = append(all, condition{"tag", "(" + strings.Join(parts, " OR ") + ")"})
	}
	if len(s.Chosen["currency"])+len(s.Chosen["tier"]) > 0 {
		selectIDs := "SELECT product_listing_id FROM main.product_listing_prices WHERE " +
			strings.Join(s.priceConditions(b, ""), " AND ")
		if having := s.comparisons("price", "min(unit_amount)"); len(having) > 0 {
			selectIDs += " GROUP BY product_listing_id HAVING " + strings.Join(having, " AND ")
		}
		all = append(all, condition{priceFacet, "l.id IN (" + selectIDs + ")"})
	}
	for _, r := range rangeFilters() {
		if r.column != "" {
			for _, text := range s.comparisons(r.key, "l."+r.column) {
				all = append(all, condition{"", text})
			}
		}
	}
	return all
}

// priceConditions returns the conditions that a price must meet. The conditions ignore the chosen values
// of countedFacet, which is "currency", "tier" or empty: the statement counts all values of this facet.
func (s *catalogState) priceConditions(b *binder, countedFacet string) []string {
	currencies, tiers := s.Chosen["currency"], s.Chosen["tier"]
	all := []string{"unit_amount IS NOT NULL"}
	if len(currencies) > 0 && countedFacet != "currency" {
		all = append(all, b.anyOf("currency", currencies))
	}
	if len(tiers) > 0 && countedFacet != "tier" {
		all = append(all, b.anyOf("pricing_tier", tiers))
	}
	return all
}

// comparisons makes the limits part of the SQL and does not bind them, so they must match numberPattern.
func (s *catalogState) comparisons(rangeKey, expression string) []string {
	var all []string
	if lowest := s.Limits[rangeKey+"_min"]; lowest != "" {
		all = append(all, expression+" >= "+lowest)
	}
	if highest := s.Limits[rangeKey+"_max"]; highest != "" {
		all = append(all, expression+" <= "+highest)
	}
	return all
}

// statement returns a statement for the listings that match the address. The table of listings has the alias l.
// If exactly one currency is chosen, the columns and the order can use p.price and p.tier: the lowest price and
// its tier.
func (s *catalogState) statement(b *binder, columns []string) string {
	text := "SELECT " + strings.Join(columns, ", ") + "\nFROM " + namedListings() + " AS l"
	if _, ok := s.currency(); ok && (s.Sort == "price" || slices.Contains(columns, "p.price")) {
		text += "\nLEFT JOIN (\n    SELECT product_listing_id, min(unit_amount) AS price, " + tierOfLowestPrice +
			" AS tier\n    FROM main.product_listing_prices\n    WHERE " + strings.Join(s.priceConditions(b, ""), " AND ") + "\n    GROUP BY product_listing_id\n) AS p ON p.product_listing_id = l.id"
	}
	var where []string
	for _, c := range s.conditions(b) {
		where = append(where, c.text)
	}
	if len(where) > 0 {
		text += "\nWHERE " + strings.Join(where, "\n    AND ")
	}
	sorted, _ := findColumn(s.Sort)
	sortExpression, direction := "l."+sorted.sortColumn, ""
	if sorted.key == "price" {
		sortExpression = "p.price"
	}
	if s.Descending {
		direction = " DESC"
	}
	return text + "\nORDER BY " + sortExpression + direction + " NULLS LAST, l.id"
}

func (s *catalogState) downloadStatement(b *binder) string {
	var columns []string
	for _, c := range s.shownColumns() {
		for _, name := range c.columnNames {
			currency, hasCurrency := s.currency()
			switch {
			case name == "tags":
				columns = append(columns, "(SELECT list(t.name ORDER BY t.position) FROM main.product_listing_tags AS t WHERE t.product_listing_id = l.id) AS tags")
			case name == "price" && hasCurrency:
				value := "NULL"
				if !currency.Null {
					value = b.bind(currency.Text)
				}
				columns = append(columns, "p.price", value+"::VARCHAR AS currency", "p.tier")
			case name == "price":
				columns = append(columns, s.lowestPrices(b, "l.id"))
			case name == "tier": // selected with the price
			default:
				columns = append(columns, "l."+name)
			}
		}
	}
	return s.statement(b, columns)
}

// lowestPrices returns the expression for the lowest price in each currency with its tier.
func (s *catalogState) lowestPrices(b *binder, listingID string) string {
	where := append([]string{"product_listing_id = " + listingID}, s.priceConditions(b, "")...)
	return "(SELECT list({'currency': currency, 'price': price, 'tier': tier} ORDER BY currency NULLS LAST) FROM (" +
		"SELECT currency, min(unit_amount) AS price, " + tierOfLowestPrice + " AS tier FROM main.product_listing_prices" + whereAll(where) + " GROUP BY currency)) AS prices"
}

// tierOfLowestPrice is an SQL expression. Its value is an empty text if the price has no tier.
const tierOfLowestPrice = "arg_min(coalesce(pricing_tier, ''), (unit_amount, coalesce(pricing_tier, '')))"

func whereAll(conditions []string) string {
	if len(conditions) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(conditions, " AND ")
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

// countStatement counts the listings and the values of all facets. The common table expression "found"
// contains the listings that match the search and the ranges, except for the price range. It has a boolean
// column for each facet with chosen values. Currency, tier and price range share one column. The values of a
// facet are counted in the listings for which the columns of all other facets are true. Currencies and tiers
// are counted in the table of prices.
func (s *catalogState) countStatement(b *binder) string {
	columns := []string{"l.id"}
	for _, f := range facets() {
		if f.column != "" {
			columns = append(columns, "l."+f.column)
		}
	}
	var commonConds []string // the conditions of the search and the ranges, which apply to all counts
	var facetConds []condition
	for _, c := range s.conditions(b) {
		if c.facet == "" {
			commonConds = append(commonConds, c.text)
		} else {
			facetConds = append(facetConds, c)
			columns = append(columns, "("+c.text+") AS in_"+c.facet)
		}
	}
	whereOtherFacets := func(facet string) string { // requires that the columns of all facets except for this one are true
		var conds []string
		for _, c := range facetConds {
			if c.facet != facet {
				conds = append(conds, "f.in_"+c.facet)
			}
		}
		return whereAll(conds)
	}
	parts := []string{"SELECT 'total' AS facet, NULL AS value, count(*) AS n FROM found AS f" + whereOtherFacets("")}
	for _, f := range facets() {
		var values string // a statement with a row for each listing and value
		switch f.key {
		case "tag":
			values = "SELECT DISTINCT f.id, t.name AS value FROM found AS f LEFT JOIN main.product_listing_tags AS t " +
				"ON t.product_listing_id = f.id AND t.name IS NOT NULL" + whereOtherFacets("tag")
		case "currency", "tier":
			column := map[string]string{"currency": "currency", "tier": "pricing_tier"}[f.key]
			where := s.priceConditions(b, f.key)
			if filter := whereOtherFacets(priceFacet); filter != "" || len(commonConds) > 0 {
				where = append(where, "product_listing_id IN (SELECT f.id FROM found AS f"+filter+")")
			}
			values = "SELECT " + column + " AS value FROM main.product_listing_prices" + whereAll(where) + " GROUP BY product_listing_id, value"
			if having := s.comparisons("price", "min(unit_amount)"); len(having) > 0 {
				values += " HAVING " + strings.Join(having, " AND ")
			}
		default:
			values = "SELECT CAST(f." + f.column + " AS VARCHAR) AS value FROM found AS f" + whereOtherFacets(f.key)
		}
		chosenFirst := "" // the first expression of ORDER BY
		if chosen := s.Chosen[f.key]; len(chosen) > 0 {
			chosenFirst = "coalesce(" + b.anyOf("value", chosen) + ", false) DESC, "
		}
		parts = append(parts, fmt.Sprintf("(SELECT %s, value, count(*) AS n FROM (%s) GROUP BY value ORDER BY %sn DESC, value LIMIT %d)",
			sqltext.Literal(f.key), values, chosenFirst, max(maxValues, len(s.Chosen[f.key]))))
	}
	listings := "main.product_listings"
	if s.Search != "" { // only the search reads the names of outlets
		listings = namedListings()
	}
	return "WITH found AS MATERIALIZED (SELECT " + strings.Join(columns, ", ") + " FROM " + listings + " AS l" + whereAll(commonConds) + ")\n" +
		strings.Join(parts, "\nUNION ALL ")
}

func countListings(v *visit, s *catalogState) (counts, error) {
	b := &binder{}
	q, values := b.query(s.countStatement(b))
	result, err := v.db.Collect(v.Context(), q, values, math.MaxInt) // the statement limits its rows
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
