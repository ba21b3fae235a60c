package explore

import (
	"fmt"
	"strconv"
	"strings"

	"placementsync/internal/sqltext"
)

// counts contains the number of listings that match an address. For each value of a facet, Facets
// contains the number of listings that would match if this value replaced the chosen values of the
// facet.
type counts struct {
	Total  int64
	Facets map[string][]count
}

// count is the number of listings with a value of a facet.
type count struct {
	choice
	N int64
}

// maxValues limits the counted values of a facet: the chosen values, then the most frequent values.
const maxValues = 100

// countStatement returns the statement that counts the listings and the values of all facets.
// The common table expression "found" contains the listings that match the search and the ranges,
// except for the price range. It has a boolean column for each facet with chosen values. Currency, tier
// and price range share one column. The values of a facet are counted in the listings for which the
// columns of all other facets are true. Currencies and tiers are counted in the table of prices.
func (s *catalogState) countStatement(b *binder) string {
	t := derivedTables()
	columns := []string{"l.id"}
	for _, f := range facets() {
		if f.column != "" {
			columns = append(columns, "l."+f.column)
		}
	}
	var commonConds []string // the conditions of the search and the ranges, which apply to all counts
	var facetConds []condition
	for _, c := range s.conditions(t, b) {
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
			values = "SELECT t.name AS value FROM found AS f LEFT JOIN " + t.tags + " AS t ON t.product_listing_id = f.id" + whereOtherFacets("tag")
		case "currency", "tier":
			otherFacet := map[string]string{"currency": "tier", "tier": "currency"}[f.key]
			where := append(s.priceConditions(t, b, f.key), "product_listing_id IN (SELECT f.id FROM found AS f"+whereOtherFacets(priceFacet)+")")
			priceLimits := s.Ranges["price"]
			values = "SELECT " + map[string]string{"currency": "currency", "tier": "pricing_tier"}[f.key] + " AS value FROM " + t.prices
			if len(s.Chosen[otherFacet]) > 1 { // a listing can have a row for each chosen value of the other facet
				values += whereAll(where) + " GROUP BY product_listing_id, value"
				if having := priceLimits.comparisons("min(unit_amount)"); len(having) > 0 {
					values += " HAVING " + strings.Join(having, " AND ")
				}
			} else {
				values += whereAll(append(where, priceLimits.comparisons("unit_amount")...))
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
	return "WITH found AS MATERIALIZED (SELECT " + strings.Join(columns, ", ") + " FROM " + t.listings + " AS l" + whereAll(commonConds) + ")\n" +
		strings.Join(parts, "\nUNION ALL ")
}

func countListings(v *visit, s *catalogState) (counts, error) {
	b := &binder{}
	result, err := v.runWhole(b.query(s.countStatement(b)))
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
