package explore

import (
	"cmp"
	"fmt"
	"time"

	"placementsync/internal/html"
	"placementsync/internal/query"
)

type priceView struct {
	Currency string
	Chart    *html.Chart
	Rows     []priceRow
	More     string // a note if the chart does not show all prices
}

type priceRow struct {
	Tier   string
	Colour int        // see page.Series
	Now    periodView // has a Till if the price was deleted
	Before []periodView
}

// buildPrices returns one view per currency. The records must be sorted by currency, tier,
// number of the price (nth) and time. The charts end at the time of the snapshot.
func buildPrices(records []query.Record, end time.Time) []priceView {
	var views []priceView
	currencies, byCurrency := query.GroupRecords(records, func(r query.Record) string { return r.Get("currency").Text })
	for _, currency := range currencies {
		view := priceView{Currency: cmp.Or(currency, html.NoCurrency)}
		names, byName := query.GroupRecords(byCurrency[currency], priceName)
		var series [][]period
		for i, name := range names {
			periods := periodsOf(byName[name], valuesOf(byName[name], "amount"))
			series = append(series, periods)
			now, before := viewPeriods(periods, func(v query.Value) html.Cell {
				if v.Null {
					return html.Cell{Text: html.Unknown, Class: "none"}
				}
				cell := html.MoneyCell(v.Text)
				cell.Unit = view.Currency
				return cell
			})
			view.Rows = append(view.Rows, priceRow{Tier: name, Colour: i % html.MaxSeries, Now: now, Before: before})
		}
		view.Chart = chartPrices(names, series, view.Currency, end)
		if len(names) > html.MaxSeries {
			view.More = fmt.Sprintf("The chart shows the first %d of %d prices.", html.MaxSeries, len(names))
		}
		views = append(views, view)
	}
	return views
}

func priceName(r query.Record) string {
	name := query.EnumWords(r.Get("tier").Text)
	if name == "" {
		name = "(no tier)"
	}
	if nth := r.Get("nth").Text; nth != "1" {
		name += " #" + nth
	}
	return name
}

// chartPrices returns the chart of a currency. It is nil if no amount is known, or if no price began
// before end.
func chartPrices(names []string, series [][]period, currency string, end time.Time) *html.Chart {
	start, hasValue := end, false
	var v html.Variant
	for i, periods := range series[:min(len(series), html.MaxSeries)] {
		s := html.Series{Name: names[i], Colour: i}
		for n, p := range periods {
			if p.from.Before(start) {
				start = p.from
			}
			_, isNumber := p.value.Number()
			hasValue = hasValue || isNumber
			s.AddAt(p.from, p.value.Text, html.MoneyCell(p.value.Text).Text+" "+currency+" from "+html.Clock(p.from))
			if p.isOpen() {
				s.AddAt(end, p.value.Text, "")
				continue
			}
			isLast := n == len(periods)-1
			if isLast || p.to.Before(periods[n+1].from) { // the price did not exist for some time
				s.AddAt(p.to, p.value.Text, "")
				s.AddAt(p.to, "", "")
			}
		}
		v.Series = append(v.Series, s)
	}
	if !hasValue || !end.After(start) {
		return nil
	}
	return &html.Chart{Title: "Price history in " + currency, Kind: html.Steps, Unit: currency, Variants: []html.Variant{v}}
}
