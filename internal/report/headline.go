package report

import (
	"cmp"
	"math/big"
	"slices"
	"strings"

	"placementsync/internal/html"
	"placementsync/internal/humanize"
	"placementsync/internal/ledger"
	"placementsync/internal/query"
)

// earlierFigures contains the headline numbers of an earlier snapshot, by figureLabel.
type earlierFigures struct {
	comparison   string // such as "vs week"
	values       map[string]query.Value
	priceChanges map[string]Change // from the earlier median prices to the newest
}

// Units in report_headlines besides currencies.
const (
	unitAmount     = "amount"      // the service never sends a currency
	unitNoCurrency = "no currency" // the service sent a price without a currency
)

// figuresByLabel returns NULL for a number that needs an unread table.
func figuresByLabel(result query.Result) map[string]query.Value {
	values := map[string]query.Value{}
	for _, row := range result.Rows {
		value := row.Get("value")
		if missing, _ := splitProblems(result, tablesOf(row)); len(missing) > 0 {
			value = query.Value{Null: true}
		}
		values[figureLabel(row)] = value
	}
	return values
}

func tablesOf(row query.Record) []string { return strings.Split(row.Get("reads").Text, ",") }

func figureLabel(row query.Record) string { return rowLabel(row, "figure", "unit") }

func newTile(result query.Result, row query.Record, earlier []earlierFigures) Tile {
	value, unit := row.Get("value"), row.Get("unit").Text
	t := Tile{Label: clipText(textOf(row, "figure").Text), Value: figureText(value, unit), Unit: clipText(unit)}
	switch unit {
	case unitAmount:
		t.Unit = ""
	case unitNoCurrency:
		t.Currency = html.NoCurrency
	default:
		t.Currency = t.Unit
	}
	tables := tablesOf(row)
	missing, others := splitProblems(result, tables)
	if len(missing) > 0 {
		t.NotRead = true
		t.Value = string(ledger.NotRead)
		t.Unit = ""
		t.Note = clipText(ledger.DescribeProblems(missing))
		return t
	}
	others = slices.DeleteFunc(others, func(p ledger.Problem) bool { return !slices.Contains(tables, p.Name) })
	t.Note = clipText(ledger.DescribeProblems(others))
	// Only a median price has a number of compared listings. Its change is the median change of the listings in both
	// snapshots, not the difference of the medians, because the snapshots can have different listings.
	isMedianPrice := !row.Get("compared").Null
	for _, e := range earlier {
		change := compareFigures(value, e.values[figureLabel(row)], unit)
		if isMedianPrice {
			change = cmp.Or(e.priceChanges[figureLabel(row)], unknownChange)
		}
		change.Comparison = e.comparison
		t.Changes = append(t.Changes, change)
	}
	return t
}

var unknownChange = Change{Direction: "none", Text: "not known"}

// medianPriceChanges formats the changes of median prices, which the query computes from the listings in both snapshots.
func medianPriceChanges(result query.Result) map[string]Change {
	changes := map[string]Change{}
	for _, row := range result.Rows {
		percent := row.Get("change_percent")
		n, ok := percent.Number()
		if !ok {
			continue
		}
		c := newChange(cmp.Compare(n, 0), formatSigned(percent.Text)+html.Thin+"%")
		listings, _ := row.Get("compared").Number()
		c.Text += " (same " + humanize.Number(int64(listings)) + " " + humanize.Noun(int64(listings), "listing") + ")"
		changes[figureLabel(row)] = c
	}
	return changes
}

// figureText removes the decimals of a count, which has no unit: counts and amounts are in one decimal column.
func figureText(c query.Value, unit string) string {
	text := field{as: asNumber}.formatCell(c)
	if unit == "" {
		text = strings.TrimSuffix(text, ".00")
	}
	return text
}

// newChange ignores the text if sign is 0.
func newChange(sign int, text string) Change {
	switch sign {
	case 1:
		return Change{Direction: "up", Text: "\u25b2\u00a0" + text}
	case -1:
		return Change{Direction: "down", Text: "\u25bc\u00a0" + text}
	}
	return Change{Direction: "same", Text: "no change"}
}

// compareFigures compares without rounding, so that the difference of two amounts is exact.
func compareFigures(now, earlier query.Value, unit string) Change {
	nowNumber, nowOK := new(big.Rat).SetString(now.Text)
	earlierNumber, earlierOK := new(big.Rat).SetString(earlier.Text)
	if !nowOK || !earlierOK {
		return unknownChange
	}
	difference := new(big.Rat).Sub(nowNumber, earlierNumber)
	const amountDecimals, percentDecimals = 2, 1
	text := figureText(query.Value{Text: signedDecimal(difference, amountDecimals)}, unit)
	if earlierNumber.Sign() != 0 {
		percent := new(big.Rat).Quo(difference, new(big.Rat).Abs(earlierNumber))
		percent.Mul(percent, big.NewRat(100, 1))
		text += " (" + html.Decimal(signedDecimal(percent, percentDecimals)) + html.Thin + "%)"
	}
	return newChange(difference.Sign(), text)
}

func signedDecimal(r *big.Rat, decimals int) string {
	text := r.FloatString(decimals)
	if r.Sign() > 0 {
		return "+" + text
	}
	return text
}
