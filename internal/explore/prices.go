package explore

import (
	"fmt"
	"time"

	"placementsync/internal/page"
	"placementsync/internal/query"
)

// priceView shows the prices of a listing in one currency, as a chart and as a table.
type priceView struct {
	Currency string
	Chart    *page.Chart
	Rows     []priceRow
	// More is a note if the chart does not show all prices.
	More string
}

// priceRow is one price with its current and its earlier amounts.
type priceRow struct {
	Tier   string
	Colour int
	Now    page.Cell
	Since  string
	// Gone is the time when the price was deleted.
	Gone   string
	Before []periodView
}

// buildPrices returns one view per currency. The records are sorted by currency, tier, position
// and time. The charts end at the time of the snapshot.
func buildPrices(records []query.Record, end time.Time) []priceView {
	var views []priceView
	currencies, byCurrency := groupRecords(records, func(r query.Record) string { return r.Get("currency").Text })
	for _, currency := range currencies {
		view := priceView{Currency: currency}
		if currency == "" {
			view.Currency = noCurrency
		}
		tiers, byTier := groupRecords(byCurrency[currency], nameTier)
		var series [][]period
		for i, tier := range tiers {
			spans := periodsOf(byTier[tier], "amount")
			series = append(series, spans)
			view.Rows = append(view.Rows, newPriceRow(tier, i%page.MostSeries, view.Currency, spans))
		}
		view.Chart = chartPrices(tiers, series, view.Currency, end)
		if len(tiers) > page.MostSeries {
			view.More = fmt.Sprintf("The chart shows the first %d of %d prices.", page.MostSeries, len(tiers))
		}
		views = append(views, view)
	}
	return views
}

// nameTier returns the tier of a price, with a number if the tier has several prices.
func nameTier(r query.Record) string {
	name := r.Get("tier").Text
	if name == "" {
		name = "(no tier)"
	}
	if nth := r.Get("nth").Text; nth != "1" {
		name += " #" + nth
	}
	return name
}

func newPriceRow(tier string, colour int, currency string, spans []period) priceRow {
	show := func(s period) periodView {
		d := page.Cell{Text: page.Unknown, Class: "none"}
		if !s.value.Null {
			d = page.MoneyCell(s.value.Text)
			d.Unit = currency
		}
		return periodView{d, clockOf(s.from), clockOf(s.to)}
	}
	now := show(spans[len(spans)-1])
	row := priceRow{Tier: tier, Colour: colour, Now: now.Value, Since: now.Since, Gone: now.Till}
	for i := len(spans) - 2; i >= 0; i-- {
		row.Before = append(row.Before, show(spans[i]))
	}
	return row
}

// chartPrices returns the chart of a currency. It is nil before the second snapshot.
func chartPrices(tiers []string, series [][]period, currency string, end time.Time) *page.Chart {
	first, hasValue := end, false
	var v page.Variant
	for i, spans := range series[:min(len(series), page.MostSeries)] {
		s := page.Series{Name: tiers[i], Colour: i}
		for n, span := range spans {
			if span.from.Before(first) {
				first = span.from
			}
			_, isNumber := span.value.Number()
			hasValue = hasValue || isNumber
			s.AddAt(span.from, span.value.Text, page.MoneyCell(span.value.Text).Text+" "+currency+" from "+page.Clock(span.from))
			switch last := n == len(spans)-1; {
			case span.isOpen():
				s.AddAt(end, span.value.Text, "")
			case last || span.to.Before(spans[n+1].from): // the price did not exist for some time
				s.AddAt(span.to, span.value.Text, "")
				s.AddAt(span.to, "", "")
			}
		}
		v.Series = append(v.Series, s)
	}
	if !hasValue || !end.After(first) {
		return nil
	}
	return &page.Chart{Title: "Price history in " + currency, Kind: page.Steps, Unit: currency, Variants: []page.Variant{v}}
}
