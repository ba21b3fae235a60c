package report

import (
	"placementsync/internal/html"
	"placementsync/internal/query"
)

// Limits of charts and tables.
const (
	tableRows   = 25
	chartBars   = 15
	daysDrawn   = 62
	weeksDrawn  = 26
	monthsDrawn = 24
)

const tierAndCurrencyLabel = "Tier and currency"

var pricesSection = section{
	id: "prices", title: "Prices",
	lead:    "Each number is computed from prices of one currency and one tier. Prices without a currency are listed separately.",
	streams: []string{"product_listings", "outlets"},
	panels: []panel{
		{
			id: "price-spread", title: "Price by segment", wide: true,
			about: "Lowest price, quartiles and highest price on a logarithmic scale. The segments with the most prices are first.",
			query: "report_price_spread", rowLimit: 60,
			plot: &plot{kind: html.Boxes, horizontal: true, logScale: true, choiceLabel: "Segment", split: []string{"segment_by", "pricing_tier", "currency"},
				category: "segment", limit: chartBars, unit: "price"},
			fields: []field{
				{column: "segment_by", label: "By"}, {column: "segment", label: "Segment"},
				{column: "pricing_tier", label: "Tier"}, {column: "currency", label: "Currency"},
				{column: "prices", label: "Prices", as: asNumber}, {column: "min_price", label: "Lowest", as: asNumber},
				{column: "p25_price", label: "Lower quartile", as: asNumber}, {column: "median_price", label: "Median", as: asNumber},
				{column: "p75_price", label: "Upper quartile", as: asNumber}, {column: "max_price", label: "Highest", as: asNumber},
			},
			empty: "No listing of this snapshot has a price.",
		},
		{
			id: "price-distribution", title: "Price distribution",
			about: "The number of prices in each band. Bands are wider for higher prices. The first band may have no lower bound, and the last no upper bound.",
			query: "price_distribution", rowLimit: 60,
			plot: &plot{kind: html.Bars, choiceLabel: tierAndCurrencyLabel, split: []string{"pricing_tier", "currency"}, weight: "prices",
				category: "price_from", limit: 60, unit: "number of prices", measures: []measure{{column: "prices", name: "prices"}}},
			fields: []field{
				{column: "pricing_tier", label: "Tier"}, {column: "currency", label: "Currency"},
				{column: "price_from", label: "From", as: asNumber}, {column: "price_below", label: "Below", as: asNumber},
				{column: "prices", label: "Prices", as: asNumber},
			},
			empty: "No listing of this snapshot has a price.",
		},
		{
			id: "price-authority", title: "Price by domain authority",
			about: "Median price in each band of ten points.",
			query: "price_by_authority", rowLimit: 60,
			plot: &plot{kind: html.Bars, choiceLabel: tierAndCurrencyLabel, split: []string{"pricing_tier", "currency"}, weight: "prices",
				category: "authority_band", limit: chartBars, unit: "median price", measures: []measure{{column: "median_price", name: "median price"}}},
			fields: []field{
				{column: "pricing_tier", label: "Tier"}, {column: "authority_band", label: "Authority"},
				{column: "prices", label: "Prices", as: asNumber},
				{column: "p25_price", label: "Lower quartile", as: asNumber}, {column: "median_price", label: "Median", as: asNumber, currency: "currency"},
				{column: "p75_price", label: "Upper quartile", as: asNumber}, {column: "median_price_per_point", label: "Per point", as: asNumber},
			},
			empty: "No listing of this snapshot has a price.",
		},
		{
			id: "price-moves", title: "Price moves by day",
			about: "Prices that rose or fell from one snapshot to the next, in the last 30 days.",
			query: "price_moves", rowLimit: 60,
			plot: &plot{kind: html.Bars, stacked: true, choiceLabel: tierAndCurrencyLabel, split: []string{"pricing_tier", "currency"}, weight: "changes",
				category: "day", limit: daysDrawn, unit: "number of prices",
				measures: []measure{{column: "rises", name: "risen", colour: orange}, {column: "falls", name: "fallen", colour: blue, below: true}}},
			fields: []field{
				{column: "day", label: "Day"}, {column: "pricing_tier", label: "Tier"}, {column: "currency", label: "Currency"},
				{column: "changes", label: "Changes", as: asNumber}, {column: "rises", label: "Risen", as: asNumber},
				{column: "falls", label: "Fallen", as: asNumber}, {column: "median_percent", label: "Median change", as: asChange},
			},
			compares: true,
			empty:    "No price moved in the last 30 days.",
		},
		{
			id: "listing-turnover", title: "Listing turnover",
			about: "New, returned and withdrawn listings on days with a snapshot.",
			query: "listing_turnover", rowLimit: daysDrawn,
			plot: &plot{kind: html.Bars, stacked: true, category: "day", limit: daysDrawn, unit: "listings", measures: []measure{
				{column: "new_listings", name: "new", colour: green}, {column: "returned_listings", name: "returned", colour: lightBlue},
				{column: "withdrawn_listings", name: "withdrawn", colour: pink, below: true}}},
			fields: []field{
				{column: "day", label: "Day"}, {column: "new_listings", label: "New", as: asNumber},
				{column: "returned_listings", label: "Returned", as: asNumber}, {column: "withdrawn_listings", label: "Withdrawn", as: asNumber},
				{column: "net", label: "Net", as: asNumber}, {column: "listings_at_end", label: "Listings", as: asNumber},
			},
			compares: true,
			empty:    "No listing was added or withdrawn.",
		},
		{
			id: "price-changes", title: "Latest price changes", wide: true,
			about: "Changes of the last 7 days. The newest day is first, and within a day the largest change.",
			query: "price_changes", rowLimit: tableRows,
			fields: []field{
				{column: "changed_at", label: "Changed", as: asMoment}, {column: "listing_name", label: "Listing", sub: "outlet_name"},
				{column: "country", label: "Country"}, {column: "pricing_tier", label: "Tier"},
				{column: "old_price", label: "Old price", as: asNumber}, {column: "new_price", label: "New price", as: asNumber, currency: "currency"},
				{column: "change_percent", label: "Change", as: asChange},
			},
			needs:    []string{"product_listing_prices"},
			compares: true,
			empty:    "No price changed in the last 7 days.",
		},
		{
			id: "tier-gaps", title: "Tiers of the same listing",
			about: "Listings with prices in two tiers. The gap is the price in the compared tier minus the price in the other tier.",
			query: "tier_gaps", rowLimit: tableRows,
			fields: []field{
				{column: "compared_tier", label: "Compared tier"}, {column: "tier", label: "Other tier"},
				{column: "listings", label: "Listings", as: asNumber}, {column: "median_gap", label: "Median gap", as: asNumber, currency: "currency"},
				{column: "median_gap_percent", label: "In percent", as: asChange},
				{column: "compared_cheaper", label: "Cheaper", as: asNumber,
					about: "Listings whose price in the compared tier is lower than in the other tier"},
			},
			empty: "No listing has prices in two tiers of one currency.",
		},
		{
			id: "do-follow", title: "Price of a do-follow link",
			about: "The column Premium compares the median price of the row with the median price of the tier. The column Similar listings compares the prices of the row with the prices of similar listings (same country, authority, channel and placement) that have the other kind of link.",
			query: "premium", params: map[string]string{"by": "is_do_follow"}, rowLimit: tableRows,
			fields: []field{
				{column: "pricing_tier", label: "Tier"}, {column: "value", label: "Do-follow", as: asYesNo},
				{column: "median_price", label: "Median", as: asNumber, currency: "currency"},
				{column: "premium_percent", label: "Premium", as: asChange},
				{column: "like_premium_percent", label: "Similar listings", as: asChange},
			},
			empty: "No listing of this snapshot has a price.",
		},
		{
			id: "best-value", title: "Best value", wide: true,
			about: "The five lowest prices per point of domain authority in each tier and currency, from authority 30 on.",
			query: "best_value", params: map[string]string{"top": "5"}, rowLimit: tableRows,
			fields: []field{
				{column: "pricing_tier", label: "Tier"}, {column: "rank", label: "Rank", as: asNumber},
				{column: "listing_name", label: "Listing", sub: "outlet_name"}, {column: "domain_authority", label: "Authority", as: asNumber},
				{column: "price", label: "Price", as: asNumber, currency: "currency"}, {column: "price_per_point", label: "Per point", as: asNumber},
			},
			empty: "No listing with a price has a domain authority of 30 or more.",
		},
	},
}

// priceBand returns the label of a price band. The first band can have no lower bound, and the last no
// upper bound.
func priceBand(row query.Record) string {
	from, below := row.Get("price_from"), row.Get("price_below")
	switch {
	case from.Null:
		return "below " + figureText(below, "")
	case below.Null:
		return "from " + figureText(from, "")
	}
	return figureText(from, "") + " to " + figureText(below, "")
}
