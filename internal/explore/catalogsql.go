package explore

import (
	"fmt"
	"strings"

	"placementsync/internal/query"
	"placementsync/internal/warehouse"
)

// A filter of the catalog is written twice: plain, over the tables that everybody can
// read, for the statement that a page shows and a download runs; and fast, over the
// derived tables of catalogindex.go, for the page itself. A test compares the two.

// binder puts values into a statement: as parameters, or as literals where the statement
// is shown to be copied.
type binder struct {
	values  map[string]string
	literal bool
}

func (b *binder) text(value string) string {
	if b.literal {
		return warehouse.Literal(value)
	}
	name := fmt.Sprintf("p%d", len(b.values))
	b.values[name] = value
	return "$" + name
}

// anyOf compares an expression with choices.
func (b *binder) anyOf(expression string, chosen []choice) string {
	var texts, parts []string
	for _, c := range chosen {
		if c.Null {
			parts = append(parts, expression+" IS NULL")
		} else {
			texts = append(texts, b.text(c.Text))
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

// plainStatement is the answer of an address over the tables of main: all rows, in the
// order of the page.
func (s *state) plainStatement(b *binder) string {
	var names []string
	for _, c := range s.shownColumns() {
		for _, name := range c.plain {
			names = append(names, s.plainColumn(name, b))
		}
	}
	text := "SELECT " + strings.Join(names, ", ") + "\nFROM main.product_listings AS l"
	if _, ok := s.currency(); ok && s.needsPrice() {
		text += "\nLEFT JOIN (\n    SELECT product_listing_id, min(unit_amount) AS price\n    FROM main.product_listing_prices\n    WHERE " +
			strings.Join(s.offered(b), " AND ") + "\n    GROUP BY product_listing_id\n) AS p ON p.product_listing_id = l.id"
	}
	if where := s.plainConditions(b); len(where) > 0 {
		text += "\nWHERE " + strings.Join(where, "\n    AND ")
	}
	direction := ""
	if s.Down {
		direction = " DESC"
	}
	by, _ := columnOf(s.Sort)
	return text + "\nORDER BY " + plainPlace(by.sort) + direction + " NULLS LAST, l.id"
}

func plainPlace(name string) string {
	if name == "price" {
		return "p.price"
	}
	return "l." + name
}

func (s *state) needsPrice() bool {
	for _, c := range s.shownColumns() {
		if c.key == "price" {
			return true
		}
	}
	_, ranged := s.Ranges["price"]
	return ranged || s.Sort == "price"
}

// plainColumn is one column of the answer.
func (s *state) plainColumn(name string, b *binder) string {
	switch name {
	case "tags":
		return "(SELECT list(t.name ORDER BY t.position) FROM main.product_listing_tags AS t WHERE t.product_listing_id = l.id) AS tags"
	case "price":
		if c, ok := s.currency(); ok {
			if c.Null {
				return "p.price, NULL::VARCHAR AS currency"
			}
			return "p.price, " + b.text(c.Text) + "::VARCHAR AS currency"
		}
		return "(SELECT list({'currency': currency, 'price': price} ORDER BY currency NULLS LAST) FROM (SELECT currency, min(unit_amount) AS price " +
			"FROM main.product_listing_prices WHERE product_listing_id = l.id AND " + strings.Join(s.offered(b), " AND ") + " GROUP BY currency)) AS prices"
	}
	return "l." + name
}

// offered are the conditions of a price that the address asks for, all of one price.
func (s *state) offered(b *binder) []string {
	all := []string{"unit_amount IS NOT NULL"}
	if chosen := s.Chosen["currency"]; len(chosen) > 0 {
		all = append(all, b.anyOf("currency", chosen))
	}
	if chosen := s.Chosen["tier"]; len(chosen) > 0 {
		all = append(all, b.anyOf("pricing_tier", chosen))
	}
	return all
}

func (s *state) plainConditions(b *binder) []string {
	var all []string
	for _, word := range s.words() {
		all = append(all, "contains(lower(concat_ws(chr(10), l.name, l.outlet_name, l.website_url)), lower("+b.text(word)+"))")
	}
	for _, f := range facets() {
		if chosen := s.Chosen[f.key]; len(chosen) > 0 && f.column != "" {
			all = append(all, b.anyOf("CAST(l."+f.column+" AS VARCHAR)", chosen))
		}
	}
	if chosen := s.Chosen["tag"]; len(chosen) > 0 {
		all = append(all, plainTags(b, chosen))
	}
	if where := s.offered(b); len(where) > 1 {
		all = append(all, "l.id IN (SELECT product_listing_id FROM main.product_listing_prices WHERE "+strings.Join(where, " AND ")+")")
	}
	for _, r := range spans() {
		name := "l." + r.column
		if r.key == "price" {
			name = "p.price"
		}
		all = append(all, s.Ranges[r.key].on(name)...)
	}
	return all
}

// plainTags finds listings with one of the tags, or with none.
func plainTags(b *binder, chosen []choice) string {
	const tagged = "SELECT product_listing_id FROM main.product_listing_tags WHERE "
	var parts []string
	var texts []choice
	for _, c := range chosen {
		if c.Null {
			parts = append(parts, "l.id NOT IN ("+tagged+"name IS NOT NULL)")
		} else {
			texts = append(texts, c)
		}
	}
	if len(texts) > 0 {
		parts = append(parts, "l.id IN ("+tagged+b.anyOf("name", texts)+")")
	}
	return "(" + strings.Join(parts, " OR ") + ")"
}

// on compares an expression with the bounds, whose digits were checked.
func (l limits) on(expression string) []string {
	var all []string
	if l.Min != "" {
		all = append(all, expression+" >= "+l.Min)
	}
	if l.Max != "" {
		all = append(all, expression+" <= "+l.Max)
	}
	return all
}

// plainQuery is the query of a download.
func (s *state) plainQuery() (query.Query, map[string]string) {
	b := &binder{values: map[string]string{}}
	return query.Text(s.plainStatement(b)), b.values
}

// asSQL is the statement as a user can copy it.
func (s *state) asSQL() string { return s.plainStatement(&binder{literal: true}) }
