package report

import (
	"math/big"
	"slices"
	"strings"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/page"
	"placementsync/internal/plural"
	"placementsync/internal/query"
)

// earlierFigures contains the headline numbers of an earlier snapshot.
type earlierFigures struct {
	// since is the label of the snapshot, such as "vs week".
	since  string
	at     time.Time
	values map[string]query.Value
	// prices contains the changes of the prices since the snapshot, by the label of the median price.
	prices map[string]Change
}

// Units in report_headlines besides currencies.
const (
	// noCurrency is the unit of amounts for which the service never sends a currency.
	noCurrency = "amount"
	// unnamedCurrency is the unit of prices whose currency is missing.
	unnamedCurrency = "no currency"
)

// figuresByLabel returns the values of a result by their labels. Values that need an unread
// table are NULL.
func figuresByLabel(a queryResult) map[string]query.Value {
	values := map[string]query.Value{}
	for _, row := range a.Rows {
		values[figureLabel(row)] = row.Get("value")
		if missing, _ := a.splitProblems(tablesOf(row)); len(missing) > 0 {
			values[figureLabel(row)] = query.Value{Null: true}
		}
	}
	return values
}

// tablesOf lists the tables that a figure needs.
func tablesOf(row query.Record) []string {
	return strings.Split(row.Get("reads").Text, ",")
}

func figureLabel(row query.Record) string {
	return rowLabel(row, "figure", "unit")
}

func newTile(a queryResult, row query.Record, before []earlierFigures) Tile {
	value, unit := row.Get("value"), row.Get("unit").Text
	t := Tile{Label: clipText(row.Get("figure").Text), Value: figureText(value, unit), Unit: clipText(unit)}
	switch unit {
	case noCurrency:
		t.Unit = ""
	case "":
	case unnamedCurrency:
		t.Currency = unitName(query.Value{Null: true})
	default:
		t.Currency = t.Unit
	}
	tables := tablesOf(row)
	missing, others := a.splitProblems(tables)
	if len(missing) > 0 {
		t.Value, t.Unit, t.NotRead, t.Note = string(ledger.NotRead), "", true, clipText(ledger.DescribeProblems(missing))
		return t
	}
	others = slices.DeleteFunc(others, func(p ledger.Problem) bool { return !slices.Contains(tables, p.Name) })
	t.Note = clipText(ledger.DescribeProblems(others))
	for _, e := range before {
		change := compareFigures(value, e.values[figureLabel(row)], unit, e.since)
		if isMedianPrice(row) { // medians of different listings cannot be compared
			change = unknownChange(e.since)
			if priceChange, ok := e.prices[figureLabel(row)]; ok {
				change = priceChange
			}
		}
		t.Changes = append(t.Changes, change)
	}
	return t
}

// isMedianPrice reports whether a figure is a median price. In other figures, the
// column "compared" is NULL.
func isMedianPrice(row query.Record) bool { return !row.Get("compared").Null }

func unknownChange(since string) Change {
	return Change{Direction: "none", Text: "not known", Since: since}
}

// priceChanges returns the median changes of the prices of listings that are in both snapshots, by
// the label of the median price.
func priceChanges(a queryResult, since string) map[string]Change {
	changes := map[string]Change{}
	for _, row := range a.Rows {
		share := row.Get("change_percent")
		n, ok := share.Number()
		if !ok {
			continue
		}
		c := Change{Direction: "same", Text: "no change", Since: since}
		switch {
		case n > 0:
			c.Direction, c.Text = "up", upArrow+formatSigned(share.Text)+page.Thin+"%"
		case n < 0:
			c.Direction, c.Text = "down", downArrow+formatSigned(share.Text)+page.Thin+"%"
		}
		listings, _ := row.Get("compared").Number()
		c.Text += " (same " + plural.Number(int64(listings)) + " " + plural.Noun(int64(listings), "listing") + ")"
		changes[figureLabel(row)] = c
	}
	return changes
}

// figureText formats a headline number. Counts and amounts are in the same decimal column, so it
// removes the decimals of a count.
func figureText(c query.Value, unit string) string {
	text := field{as: asNumber}.formatCell(c)
	if unit == "" {
		text = strings.TrimSuffix(text, ".00")
	}
	return text
}

// Arrows before a change.
const (
	upArrow   = "\u25b2\u00a0"
	downArrow = "\u25bc\u00a0"
)

// compareFigures compares two decimals exactly, so that the difference of two amounts is not
// rounded.
func compareFigures(now, then query.Value, unit, since string) Change {
	n, nowOK := new(big.Rat).SetString(now.Text)
	t, thenOK := new(big.Rat).SetString(then.Text)
	if !nowOK || !thenOK {
		return unknownChange(since)
	}
	difference := new(big.Rat).Sub(n, t)
	if difference.Sign() == 0 {
		return Change{Direction: "same", Text: "no change", Since: since}
	}
	const cents, tenths = 2, 1
	c := Change{Direction: "up", Text: upArrow, Since: since}
	if difference.Sign() < 0 {
		c.Direction, c.Text = "down", downArrow
	}
	c.Text += figureText(query.Value{Text: signedDecimal(difference, cents)}, unit)
	if t.Sign() != 0 {
		share := new(big.Rat).Quo(difference, new(big.Rat).Abs(t))
		c.Text += " (" + page.Decimal(signedDecimal(share.Mul(share, big.NewRat(100, 1)), tenths)) + page.Thin + "%)"
	}
	return c
}

func signedDecimal(r *big.Rat, decimals int) string {
	text := r.FloatString(decimals)
	if r.Sign() > 0 {
		return "+" + text
	}
	return text
}
