package explore

import (
	"fmt"
	"strconv"
	"strings"

	"placementsync/internal/query"
)

// counts are how many listings a filter finds, and how many it would find with each value
// of a facet in place of what is chosen of that facet.
type counts struct {
	Total  int64
	Facets map[string][]count
}

// count is a value of a facet and its listings.
type count struct {
	choice
	N int64
}

// mostValues is how many values of a facet are counted: what is chosen, then the most
// frequent ones.
const mostValues = 100

// fastQuery is a query over the index. It is the program's own: its values are bound.
func fastQuery(text string, b *binder) query.Query {
	q := query.Query{Name: "catalog", SQL: text}
	for i := range len(b.values) {
		q.Params = append(q.Params, query.Param{Name: fmt.Sprintf("p%d", i), Type: "VARCHAR"})
	}
	return q
}

// found are the conditions of search and ranges but that of the price.
func (s *state) found(b *binder) []string {
	var all []string
	for _, word := range s.words() {
		all = append(all, "contains(d.search, lower("+b.text(word)+"))")
	}
	for _, r := range spans() {
		if r.key != "price" {
			all = append(all, s.Ranges[r.key].on("d."+r.column)...)
		}
	}
	return all
}

// chosen are the conditions of the facets that stand in one column, without one of them.
func (s *state) chosen(b *binder, without string) []string {
	var all []string
	for _, f := range facets() {
		if values := s.Chosen[f.key]; len(values) > 0 && f.key != without && f.key != "currency" && f.key != "tier" {
			all = append(all, "d."+f.key+" IN (SELECT code FROM derived."+f.key+" WHERE "+b.anyOf("value", values)+")")
		}
	}
	return all
}

// priced are the conditions of a price of some currencies and tiers.
func (s *state) priced(ix *index, currencies, tiers []choice) []string {
	if len(currencies)+len(tiers) == 0 {
		return nil
	}
	return append([]string{"(" + ix.has(currencies, tiers) + ")"}, s.Ranges["price"].on(ix.price(currencies, tiers))...)
}

// whereAll writes conditions; none are true.
func whereAll(conditions ...[]string) string {
	var all []string
	for _, some := range conditions {
		all = append(all, some...)
	}
	if len(all) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(all, " AND ")
}

// countStatement counts the listings and every facet in one statement. What costs much, a
// search in texts and a range of prices, is asked once, and then counted for each facet.
func (s *state) countStatement(ix *index, b *binder) string {
	const all = "derived.listings AS d"
	currencies, tiers := s.Chosen["currency"], s.Chosen["tier"]
	from, found, priced, head := all, s.found(b), s.priced(ix, currencies, tiers), ""
	offersFrom, offersFound := from, found
	_, ranged := s.Ranges["price"]
	if ranged || len(s.words()) > 0 {
		names := s.countedColumns()
		if ranged {
			names += ", " + strings.Join(priced, " AND ") + " AS priced"
			priced = []string{"d.priced"}
		} else {
			offersFrom, offersFound = "found AS d", nil
		}
		head = "WITH found AS MATERIALIZED (SELECT " + names + " FROM " + all + whereAll(found) + ")\n"
		from, found = "found AS d", nil
	}
	parts := []string{"SELECT 'total' AS facet, NULL AS value, count(*) AS n FROM " + from + whereAll(found, s.chosen(b, ""), priced)}
	for _, f := range facets() {
		switch f.key {
		case "currency", "tier":
		default:
			first := ""
			if chosen := s.Chosen[f.key]; len(chosen) > 0 {
				first = "coalesce(bool_or(" + b.anyOf("v.value", chosen) + "), false) DESC, "
			}
			parts = append(parts, fmt.Sprintf("(SELECT '%[1]s', v.value, sum(g.n) AS n FROM (SELECT d.%[1]s AS code, count(*) AS n FROM %[2]s%[3]s GROUP BY ALL) AS g JOIN derived.%[1]s AS v USING (code) GROUP BY ALL ORDER BY %[4]sn DESC, v.value LIMIT %[5]d)",
				f.key, from, whereAll(found, s.chosen(b, f.key), priced), first, max(mostValues, len(s.Chosen[f.key]))))
		}
	}
	var offers []string
	for i, c := range ix.currencies() {
		offers = append(offers, fmt.Sprintf("count(*) FILTER (%s) AS currency_%d", strings.Join(s.priced(ix, []choice{c}, tiers), " AND "), i))
	}
	for i, t := range ix.tiers() {
		offers = append(offers, fmt.Sprintf("count(*) FILTER (%s) AS tier_%d", strings.Join(s.priced(ix, currencies, []choice{t}), " AND "), i))
	}
	if len(offers) > 0 {
		parts = append(parts, "FROM (UNPIVOT (SELECT "+strings.Join(offers, ", ")+" FROM "+offersFrom+whereAll(offersFound, s.chosen(b, ""))+
			") ON COLUMNS(*) INTO NAME facet VALUE n) SELECT 'offer', facet, n")
	}
	return head + strings.Join(parts, "\nUNION ALL ")
}

// countedColumns are those that counting needs: few, since a search can find all.
func (s *state) countedColumns() string {
	names := []string{"d.offers"}
	for _, f := range facets() {
		if f.key != "currency" && f.key != "tier" {
			names = append(names, "d."+f.key)
		}
	}
	return strings.Join(names, ", ")
}

// countListings counts what the address finds, unless that was asked for lately.
func countListings(v *visit, ix *index, s *state) (counts, error) {
	filter := s.filters().Encode()
	if known, ok := ix.remembered(filter); ok {
		return known, nil
	}
	b := &binder{values: map[string]string{}}
	text := s.countStatement(ix, b)
	var rows answer
	rows, err := v.run(fastQuery(text, b), b.values)
	if err != nil {
		return counts{}, err
	}
	c := counts{Facets: map[string][]count{}}
	currencies, tiers := ix.currencies(), ix.tiers()
	for _, r := range rows.Records {
		n, err := strconv.ParseInt(r["n"].Text, 10, 64)
		if err != nil {
			return counts{}, fmt.Errorf("count listings: %w", err)
		}
		key, value := r["facet"].Text, choice{r["value"].Text, r["value"].Null}
		if key == "total" {
			c.Total = n
			continue
		}
		if key == "offer" {
			var at string
			key, at, _ = strings.Cut(value.Text, "_")
			i, err := strconv.Atoi(at)
			if err != nil {
				return counts{}, fmt.Errorf("count offers: %w", err)
			}
			value = map[string][]choice{"currency": currencies, "tier": tiers}[key][i]
		}
		if n > 0 {
			c.Facets[key] = append(c.Facets[key], count{value, n})
		}
	}
	ix.remember(filter, c)
	return c, nil
}

// pageStatement finds the rows of a page in the index: where they stand in the catalog,
// and their price.
func (s *state) pageStatement(ix *index, b *binder) string {
	currencies, tiers := s.Chosen["currency"], s.Chosen["tier"]
	by, _ := columnOf(s.Sort)
	key, direction := "d."+by.sort, ""
	if by.sort == "price" {
		key = ix.price(currencies, tiers)
	}
	if s.Down {
		direction = " DESC"
	}
	return "SELECT d.source FROM derived.listings AS d" +
		whereAll(s.found(b), s.chosen(b, ""), s.priced(ix, currencies, tiers)) +
		fmt.Sprintf("\nORDER BY %s%s NULLS LAST, d.place LIMIT %d OFFSET %d", key, direction, pageRows, (s.Page-1)*pageRows)
}
