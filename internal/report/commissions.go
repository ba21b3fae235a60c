package report

import "placementsync/internal/html"

var commissionsSection = section{
	id: "commissions", title: "Commissions and margin",
	lead:    "The service sends no currency for orders and order items. The sums are correct only if the team uses a single currency.",
	streams: []string{"order_items", "orders"},
	panels: []panel{
		{
			id: "payables-ageing", title: "Payables by age",
			about: "Unpaid commissions, and unpaid shares of publishers and resellers, by the days since the order was paid.",
			query: "payables_ageing", rowLimit: tableRows,
			plot: &plot{kind: html.Bars, horizontal: true, stacked: true, unit: amountsWithoutCurrency, category: "kind", series: "age_band", value: "amount", limit: 8},
			fields: []field{
				{column: "kind", label: "Owed to"}, {column: "age_band", label: "Age"},
				{column: "items", label: "Items", as: asNumber}, {column: "amount", label: "Amount", as: asNumber},
				{column: "oldest_days", label: "Oldest", as: asDays},
			},
			empty: "This snapshot has no open payables.",
		},
		{
			id: "commissions-by-month", title: "Commissions by month and status",
			about: "By the month in which the order was paid.",
			query: "commissions_by_month", rowLimit: 60,
			plot: &plot{kind: html.Bars, stacked: true, unit: amountsWithoutCurrency, category: "month", series: "commission_status", value: "commission_total", limit: 8},
			fields: []field{
				{column: "month", label: "Month", as: asMonth}, {column: "commission_status", label: "Status"},
				{column: "items", label: "Items", as: asNumber}, {column: "commission_total", label: "Commission", as: asNumber},
				{column: "commission_paid", label: "Paid", as: asNumber}, {column: "commission_unpaid", label: "Unpaid", as: asNumber},
				{column: "commission_refunded", label: "Refunded", as: asNumber},
				{column: "paid_percent", label: "Paid share", as: asPercent},
			},
			empty: "This snapshot has no order items.",
		},
		{
			id: "margin-by-month", title: "Sales and margin by month",
			about: "The margin is the sale price minus vendor cost, internal cost, reseller price and commission, of the items whose costs are known.",
			query: "margins", rowLimit: monthsDrawn,
			plot: &plot{kind: html.Bars, unit: amountsWithoutCurrency, category: "group_name", limit: monthsDrawn,
				measures: []measure{{column: "sale_total", name: "sales", colour: grey}, {column: "margin_total", name: "margin", colour: green}}},
			fields: append([]field{{column: "group_name", label: "Month"}}, marginFields()...),
			needs:  []string{"order_items"},
			empty:  "This snapshot has no paid order items.",
		},
		{
			id: "refunds", title: "Refunds by month",
			about: "By the month in which the order was paid.",
			query: "refunds_by_month", rowLimit: monthsDrawn,
			plot: &plot{kind: html.Bars, stacked: true, unit: amountsWithoutCurrency, category: "month", limit: monthsDrawn,
				measures: []measure{{column: "refunded_total", name: "refunded", colour: pink}, {column: "refund_due_total", name: "still due", colour: orange}}},
			fields: []field{
				{column: "month", label: "Month", as: asMonth}, {column: "items", label: "Items", as: asNumber},
				{column: "refunded", label: "Refunded", as: asNumber}, {column: "refunded_total", label: "Amount", as: asNumber},
				{column: "refund_due", label: "Due", as: asNumber}, {column: "refund_due_total", label: "Amount due", as: asNumber},
				{column: "refunded_percent", label: "Share of items", as: asPercent}, {column: "p50_days_to_refund", label: "Median time", as: asDays},
			},
			empty: "This snapshot has no paid order items.",
		},
		{
			id: "margin-by-outlet", title: "Margin by outlet", wide: true,
			about: "The outlets with the largest total margin, of the items whose costs are known. Refunded items are not included. Outlets with fewer than half of the costs known are last.",
			query: "margins", params: map[string]string{"by": "outlet"}, rowLimit: tableRows,
			plot: &plot{kind: html.Bars, horizontal: true, unit: amountsWithoutCurrency, category: "group_name", limit: chartBars,
				measures: []measure{{column: "margin_total", name: "margin", colour: green}}},
			fields: append([]field{{column: "group_name", label: "Outlet"}}, marginFields()...),
			needs:  []string{"order_items"},
			empty:  "This snapshot has no paid order items.",
		},
		{
			id: "payables-open", title: "Oldest open payables", wide: true,
			about: "Unpaid commissions, and unpaid shares of publishers and resellers. The oldest paid order is first.",
			query: "payables_open", rowLimit: tableRows,
			fields: []field{
				{column: "kind", label: "Owed to"}, {column: "outlet_name", label: "Outlet", sub: "product_name"},
				{column: "paid_at", label: "Order paid", as: asMoment}, {column: "age_days", label: "Age", as: asDays},
				{column: "amount", label: "Amount", as: asNumber},
			},
			empty: "This snapshot has no open payables.",
		},
		{
			id: "orders-without-commission", title: "Paid orders without a commission", wide: true,
			about: "The column Reason explains why there is no commission. The newest order is first.",
			query: "orders_without_commission", rowLimit: tableRows,
			fields: []field{
				{column: "reference_number", label: "Order", sub: "order_status"}, {column: "paid_at", label: "Paid", as: asMoment},
				{column: "order_total", label: "Total", as: asNumber}, {column: "items", label: "Items", as: asNumber},
				{column: "sale_without_commission", label: "Sales without commission", as: asNumber}, {column: "reason", label: "Reason"},
			},
			empty: "Every paid order has a commission.",
		},
	},
}

// amountsWithoutCurrency is the unit of amounts of orders and items.
const amountsWithoutCurrency = "amounts without currency"

func marginFields() []field {
	return []field{
		{column: "items", label: "Items", as: asNumber}, {column: "sale_total", label: "Sales", as: asNumber},
		{column: "vendor_cost_total", label: "Vendor", as: asNumber}, {column: "internal_cost_total", label: "Internal", as: asNumber},
		{column: "reseller_total", label: "Resellers", as: asNumber}, {column: "commission_total", label: "Commission", as: asNumber},
		{column: "margin_total", label: "Margin", as: asNumber}, {column: "margin_percent", label: "Share of sales", as: asPercent},
		{column: "margin_known_percent", label: "Costs known", as: asPercent, about: "Share of the items whose costs are known. The margin is the margin of these items"},
	}
}
