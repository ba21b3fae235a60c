package load_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"

	"placementsync/internal/load"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
	"placementsync/schema"
)

// listBuilder makes the rows of the child tables of a stream, as the decoder does. Every list has one item for each
// number of order, in this order.
type listBuilder struct {
	t      *testing.T
	defs   map[string]stream.Definition
	stream stream.Stream
	order  []int
	// isChanged gives item 2 of each list another value in a column that does not identify it.
	isChanged bool
	rows      map[string][]string
}

// add adds the rows of a table inside a row with the given key.
func (b *listBuilder) add(table int, parent []any) {
	t := b.stream.Tables[table]
	for place, number := range b.order {
		key := slices.Clone(parent)
		switch {
		case len(t.Key) == len(t.Parents)+1 && t.Key[len(t.Key)-1] == stream.Position:
			key = append(key, place+1)
		case len(t.Key) == 1:
			key = []any{fmt.Sprintf("%s/%d", parent[0], number)}
		default:
			b.t.Fatalf("%s has another key: %v", t.Name, t.Key)
		}
		row := map[string]any{}
		for _, c := range b.defs[t.Name].Columns {
			row[c.Name] = valueOf(c, number)
		}
		for i, column := range t.Parents {
			row[column] = parent[i]
		}
		if b.isChanged && number == 2 && slices.Contains(t.Key, stream.Position) {
			row["extra"] = `{"changed":true}`
		}
		for i, column := range t.Key {
			row[column] = key[i]
		}
		b.addRow(t.Name, row, t.Key)
		for inner := range b.stream.Tables {
			if inner > table && b.stream.EnclosingTable(b.stream.Tables[inner]) == table {
				b.add(inner, key)
			}
		}
	}
}

func valueOf(c stream.Column, number int) any {
	switch c.Type {
	case stream.Int32, stream.Int64:
		return number
	case stream.Bool:
		return number%2 == 0
	case stream.Money:
		return fmt.Sprint(number)
	case stream.Instant:
		return fmt.Sprintf("2026-01-%02dT00:00:00Z", number)
	case stream.JSON:
		return fmt.Sprintf(`{"number":%d}`, number)
	}
	return fmt.Sprintf("%s %d", c.Name, number)
}

// addRow adds a row with a fingerprint like that of the decoder: a hash of the values outside the key, plus
// stream.PositionHash of the position.
func (b *listBuilder) addRow(table string, row map[string]any, key []string) {
	content := maps.Clone(row)
	for _, column := range key {
		delete(content, column)
	}
	text, err := json.Marshal(content)
	harness.Must(b.t, err)
	hash := xxh3.Hash(text)
	if position, ok := row[stream.Position].(int); ok {
		hash += stream.PositionHash(int64(position))
	}
	row["row_hash"], row["seq"] = json.Number(fmt.Sprint(hash)), 1
	line, err := json.Marshal(row)
	harness.Must(b.t, err)
	b.rows[table] = append(b.rows[table], string(line))
}

// listInputs returns the input of a night in which every stream with lists has one record.
func listInputs(h *fixture, order []int, isChanged bool) map[string]streamInput {
	inputs := map[string]streamInput{}
	for _, st := range h.streams {
		b := &listBuilder{t: h.t, defs: h.w.Schema.Definitions, stream: st, order: order, isChanged: isChanged, rows: map[string][]string{}}
		root := map[string]any{st.Root().Key[0]: "record"}
		if st.Param != "" {
			root[st.Param] = "record"
		}
		b.addRow(st.Root().Name, root, nil)
		for i, t := range st.Tables {
			if i > 0 && st.EnclosingTable(t) == 0 {
				b.add(i, []any{"record"})
			}
		}
		input := streamInput{coverage: load.Whole, rows: rows{}}
		if st.IsDetail() {
			input.coverage, input.outcomes = load.ByID, map[load.Outcome][]string{load.Answered: {"record"}}
		}
		for table, lines := range b.rows {
			input.rows[table] = strings.Join(lines, ",")
		}
		inputs[st.Name] = input
	}
	return inputs
}

// TestListsInAnotherOrderAreUnchanged reads records with lists, with lists inside lists, and with lists that details
// complete. In another order nothing changes, and with one changed item in each list, only these items change. The
// positions of the rows inside an item follow the item.
func TestListsInAnotherOrderAreUnchanged(t *testing.T) {
	t.Parallel()
	h := newFixture(t, "product_listings", "outlets", "orders", "order_details")
	_, err := h.run(listInputs(h, []int{1, 2, 3}, false), load.Limits{})
	harness.Must(t, err)
	changes, err := h.run(listInputs(h, []int{3, 1, 2}, false), load.Limits{})
	harness.Must(t, err)
	for table, c := range changes {
		if c.New+c.Changed+c.Gone > 0 {
			t.Errorf("lists in another order: %s has %+v, want no changes", table, c)
		}
	}
	changes, err = h.run(listInputs(h, []int{2, 3, 1}, true), load.Limits{})
	harness.Must(t, err)
	for _, table := range stream.Tables(h.streams) {
		if !slices.Contains(table.Key, stream.Position) {
			continue
		}
		want := changes[table.Name].Before / 3
		if c := changes[table.Name]; c.Changed != want || c.New+c.Gone > 0 {
			t.Errorf("one changed item in each list: %s has %+v, want %d changed", table.Name, c, want)
		}
		h.requireRows("SELECT DISTINCT position, extra->>'number', extra->>'changed' FROM "+table.Name+" ORDER BY ALL", "1 1 <nil>", "2 <nil> true", "3 3 <nil>")
	}
}

// TestEveryListStatesItsItemKeys requires the columns by which the items of a list are matched.
func TestEveryListStatesItsItemKeys(t *testing.T) {
	definitions, _ := schema.Definitions()
	lists := 0
	for _, table := range stream.Tables(stream.All()) {
		if !slices.Contains(table.Key, stream.Position) {
			continue
		}
		lists++
		if len(definitions[table.Name].ItemKeys) == 0 {
			t.Errorf("schema/%s.sql does not state by which columns its items are matched", table.Name)
		}
	}
	if lists < 19 {
		t.Errorf("%d tables have lists, want at least 19", lists)
	}
}

// TestItemsKeepTheirPositions reads prices of listings in several nights. In the cases, a1 is a price with the pricing
// tier a and the amount 1. The items are not staged in the order of their lists.
func TestItemsKeepTheirPositions(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		nights []string // the items of the list by night; later nights read the last list again
		want   string   // the stored items in the order of position; 3:c3 is stored at position 3
	}{
		"the amount of a moved price changes":      {[]string{"a1 b2", "b3 a1", "b3 a1"}, "a1 b3"},
		"the amounts of moved prices change":       {[]string{"a1 b2", "b3 a4", "a4 b3"}, "a4 b3"},
		"a price is gone":                          {[]string{"a1 b2 c3", "a1 c3", "c3 a1"}, "a1 3:c3"},
		"a price comes back":                       {[]string{"a1 b2 c3", "c3", "c3 b2 a1"}, "a1 b2 c3"},
		"a new price does not use an old position": {[]string{"a1 b2", "a1", "c3 a1"}, "a1 3:c3"},
		"new prices":                               {[]string{"a1", "a1 b2 c3 d4 e5 f6 g7 h8 i9"}, "a1 b2 c3 d4 e5 f6 g7 h8 i9"},
		"a new price before the others":            {[]string{"a1 b2", "c3 a1 b2", "a1 b2 c3"}, "a1 b2 c3"},
		"a price in the place of another":          {[]string{"a1 b2", "c3 b2", "b2 c3"}, "c3 b2"},
		"equal prices":                             {[]string{"a1 a1 b2", "b2 a1 a1", "a1 b2 a1"}, "a1 a1 b2"},
		"equal tiers with other amounts":           {[]string{"a1 a2", "a2 a3", "a3 a2"}, "a3 a2"},
		"the last price is gone and comes back":    {[]string{"a1 b2", "", "b2 a1"}, "a1 b2"},
		"prices without a tier":                    {[]string{"1 2", "2 3", "3 2"}, "3 2"},
		"the last price at a position comes back":  {[]string{"a1 b2", "a1 c3", "a1", "b2 c3 a1"}, "a1 c3 b2"},
		"a price gets a tier":                      {[]string{"1 2", "2 a1", "a1 2"}, "a1 2"},
	}
	names := slices.Sorted(maps.Keys(cases))
	h := newFixture(t, "product_listings")
	for night := range 4 {
		var listings, prices []string
		for i, name := range names {
			listings = append(listings, listing(name, name, i+1, i+1))
			b := &listBuilder{t: t, rows: map[string][]string{}}
			nights := cases[name].nights
			items := nights[min(night, len(nights)-1)]
			for place, it := range strings.Fields(items) {
				row := map[string]any{"product_listing_id": name, "position": place + 1, "unit_amount": it[len(it)-1:]}
				if len(it) > 1 {
					row["pricing_tier"], row["currency"] = it[:1], "USD"
				}
				b.addRow("prices", row, []string{"product_listing_id", "position"})
			}
			for _, row := range b.rows["prices"] {
				prices = append(prices, strings.Replace(row, `"seq":1`, fmt.Sprintf(`"seq":%d`, i+1), 1))
			}
		}
		slices.Reverse(prices)
		_, err := h.run(wholeList(strings.Join(listings, ","), strings.Join(prices, ",")), load.Limits{Rows: 99})
		harness.Must(t, err)
	}
	var want []string
	for _, name := range names {
		for i, it := range strings.Fields(cases[name].want) {
			position, text, isOther := strings.Cut(it, ":")
			if !isOther {
				position, text = fmt.Sprint(i+1), it
			}
			want = append(want, name+": "+position+" "+text)
		}
	}
	h.requireRows("SELECT product_listing_id || ':', position, concat(pricing_tier, unit_amount::INTEGER) FROM product_listing_prices ORDER BY ALL", want...)
}
