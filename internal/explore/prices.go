package explore

import (
	"fmt"
	"strconv"
	"time"

	"placementsync/internal/page"
)

// priceView is the prices of a listing in one currency: a chart, and the same values as a
// table.
type priceView struct {
	Currency string
	Chart    *plot
	Rows     []priceRow
	// More says what the chart leaves out.
	More string
}

// priceRow is one price: what it is, since when, and what it was.
type priceRow struct {
	Tier   string
	Colour int
	Now    datum
	Since  string
	// Gone is when the price vanished.
	Gone   string
	Before []stayView
}

// buildPrices shows each currency for itself. The records are in the order of currency,
// tier, place and time; the charts end at the snapshot.
func buildPrices(records []record, end time.Time) []priceView {
	var views []priceView
	currencies, byCurrency := groupRecords(records, func(r record) string { return r["currency"].Text })
	for _, currency := range currencies {
		view := priceView{Currency: currency}
		if currency == "" {
			view.Currency = "(no currency)"
		}
		tiers, byTier := groupRecords(byCurrency[currency], nameTier)
		var series [][]stay
		for i, tier := range tiers {
			spans := staysOf(byTier[tier], "amount")
			series = append(series, spans)
			view.Rows = append(view.Rows, newPriceRow(tier, i%colours, view.Currency, spans))
		}
		view.Chart = plotPrices(tiers, series, view.Currency, end)
		if len(tiers) > colours {
			view.More = fmt.Sprintf("The chart shows the first %d of %d prices.", colours, len(tiers))
		}
		views = append(views, view)
	}
	return views
}

// nameTier names a price among those of its currency.
func nameTier(r record) string {
	name := r["tier"].Text
	if name == "" {
		name = "(no tier)"
	}
	if nth := r["nth"].Text; nth != "1" {
		name += " #" + nth
	}
	return name
}

func newPriceRow(tier string, colour int, currency string, spans []stay) priceRow {
	show := func(s stay) stayView {
		d := datum{Text: page.Unknown, Class: "none"}
		if !s.value.Null {
			d = datum{Text: page.Amount(s.value.Text), Unit: currency, Class: "n"}
		}
		return stayView{d, clockOf(s.from), clockOf(s.to)}
	}
	now := show(spans[len(spans)-1])
	row := priceRow{Tier: tier, Colour: colour, Now: now.Value, Since: now.Since, Gone: now.Till}
	for i := len(spans) - 2; i >= 0; i-- {
		row.Before = append(row.Before, show(spans[i]))
	}
	return row
}

// plotPrices draws the prices of a currency; nil: one snapshot is no history.
func plotPrices(tiers []string, series [][]stay, currency string, end time.Time) *plot {
	axis := timeAxis{to: end}
	var values []float64
	series = series[:min(len(series), colours)]
	for _, spans := range series {
		for _, s := range spans {
			if v, err := strconv.ParseFloat(s.value.Text, 64); err == nil {
				values = append(values, v)
			}
			if axis.from.IsZero() || s.from.Before(axis.from) {
				axis.from = s.from
			}
		}
	}
	if len(values) == 0 || !axis.to.After(axis.from) {
		return nil
	}
	s := newScale(values, false)
	p := &plot{Label: "Prices in " + currency + " from snapshot to snapshot. The table below has the same values.",
		Height: plotHeight, Ticks: s.ticks(), Marks: axis.marks()}
	for i, spans := range series {
		p.addSteps(tiers[i], i, spans, axis, s, func(c cell) string { return page.Amount(c.Text) + " " + currency })
	}
	return p
}
