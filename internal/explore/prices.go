package explore

import (
	"cmp"
	"fmt"
	"time"

	"placementsync/internal/page"
	"placementsync/internal/query"
)

type priceView struct {
	Currency string
	Chart    *page.Chart
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
	currencies, byCurrency := groupRecords(records, func(r query.Record) string { return r.Get("currency").Text })
	for _, currency := range currencies {
		view := priceView{Currency: cmp.Or(currency, page.NoCurrency)}
		names, byName := groupRecords(byCurrency[currency], priceName)
		var series [][]period
		for i, name := range names {
			periods := periodsOf(byName[name], "amount", nil)
			series = append(series, periods)
			now, before := viewPeriods(periods, func(v query.Value) page.Cell {
				if v.Null {
					return page.Cell{Text: page.Unknown, Class: "none"}
				}
				cell := page.MoneyCell(v.Text)
				cell.Unit = view.Currency
				return cell
			})
			view.Rows = append(view.Rows, priceRow{Tier: name, Colour: i % page.MaxSeries, Now: now, Before: before})
		}
		view.Chart = chartPrices(names, series, view.Currency, end)
		if len(names) > page.MaxSeries {
			view.More = fmt.Sprintf("The chart shows the first %d of %d prices.", page.MaxSeries, len(names))
		}
		views = append(views, view)
	}
	return views
}

func priceName(r query.Record) string {
	name := r.Get("tier").Text
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
func chartPrices(names []string, series [][]period, currency string, end time.Time) *page.Chart {
	start, hasValue := end, false
	var v page.Variant
	for i, periods := range series[:min(len(series), page.MaxSeries)] {
		s := page.Series{Name: names[i], Colour: i}
		for n, p := range periods {
			if p.from.Before(start) {
				start = p.from
			}
			_, isNumber := p.value.Number()
			hasValue = hasValue || isNumber
			s.AddAt(p.from, p.value.Text, page.MoneyCell(p.value.Text).Text+" "+currency+" from "+page.Clock(p.from))
			switch isLast := n == len(periods)-1; {
			case p.isOpen():
				s.AddAt(end, p.value.Text, "")
			case isLast || p.to.Before(periods[n+1].from): // the price did not exist for some time
				s.AddAt(p.to, p.value.Text, "")
				s.AddAt(p.to, "", "")
			}
		}
		v.Series = append(v.Series, s)
	}
	if !hasValue || !end.After(start) {
		return nil
	}
	return &page.Chart{Title: "Price history in " + currency, Kind: page.Steps, Unit: currency, Variants: []page.Variant{v}}
}
