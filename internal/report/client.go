package report

import (
	"placementsync/internal/html"
	"placementsync/internal/query"
)

// clientSections are the sections of the page for one client. They contain no costs, margins, commissions and
// writers: the client can read everything on the page.
func clientSections(c Client) []section {
	return []section{clientOverview(c), clientSpending(c), clientArticles(c)}
}

func clientOverview(c Client) section {
	return section{
		id: "overview", title: "Overview",
		lead: "Amounts are in the currency of the orders.",
		panels: []panel{
			{
				id: "month", title: "This month and last month", wide: true,
				about: "The current month up to the snapshot, against the same days of last month.",
				query: "month_to_date", params: map[string]string{"profile": c.ID}, rowLimit: tableRows,
				fields: []field{
					{column: "period", label: "Period"}, {column: "first_day", label: "From", as: asDate}, {column: "last_day", label: "To", as: asDate},
					{column: "orders", label: "Orders", as: asNumber}, {column: "order_total", label: "Total of the orders", as: asNumber},
					{column: "items", label: "Items", as: asNumber}, {column: "sale_total", label: "Price of the items", as: asNumber},
					{column: "articles_published", label: "Articles published", as: asNumber},
				},
				needs: []string{"orders", "order_items", "campaign_articles"},
			},
			{
				id: "campaigns", title: "Campaigns and budgets", wide: true,
				about: "Spent is for published articles, committed for articles in progress. Planned articles that have not begun are not included.",
				query: "campaign_budgets", params: map[string]string{"profile": c.ID}, rowLimit: maxRows,
				fields: []field{
					{column: "campaign_name", label: "Campaign"}, {column: "campaign_status", label: "Status"}, {column: "target_date", label: "Target date", as: asMoment},
					{column: "budget", label: "Budget", as: asNumber}, {column: "spent", label: "Spent", as: asNumber}, {column: "committed", label: "Committed", as: asNumber},
					{column: "budget_left", label: "Left", as: asNumber}, {column: "used_percent", label: "Used", as: asPercent},
					{column: "articles", label: "Articles", as: asNumber}, {column: "open_articles", label: "In progress", as: asNumber},
					{column: "articles_left", label: "Not begun", as: asNumber},
				},
				needs: []string{"campaigns", "campaign_articles", "order_items"},
				empty: "There are no campaigns.",
			},
		},
	}
}

func clientSpending(c Client) section {
	return section{
		id: "spending", title: "Spending",
		lead: "Paid items that are not refunded.",
		panels: []panel{
			{
				id: "spending-by-month", title: "Spending by month",
				about: "By the month of the payment.",
				query: "client_spend", params: map[string]string{"profile": c.ID, "by": "month"}, rowLimit: maxRows,
				plot: &plot{kind: html.Bars, unit: "amount", category: "month", limit: monthsDrawn,
					measures: []measure{{column: "spent", name: "spent"}}},
				fields: []field{
					{column: "month", label: "Month", as: asMonth}, {column: "orders", label: "Orders", as: asNumber}, {column: "items", label: "Items", as: asNumber},
					{column: "spent", label: "Spent", as: asNumber}, {column: "average_price", label: "Average price", as: asNumber},
				},
				needs: []string{"order_items", "orders"},
				empty: "Nothing was spent yet.",
			},
			{
				id: "spending-by-outlet", title: "Spending by outlet",
				about: "How often each outlet was used, and what a piece cost on average. The outlets with the highest spending are first.",
				query: "client_spend", params: map[string]string{"profile": c.ID, "by": "outlet"}, rowLimit: maxRows,
				plot: &plot{kind: html.Bars, horizontal: true, unit: "amount", category: "outlet_name", limit: chartBars,
					measures: []measure{{column: "spent", name: "spent"}}},
				fields: []field{
					{column: "outlet_name", label: "Outlet"}, {column: "items", label: "Items", as: asNumber}, {column: "spent", label: "Spent", as: asNumber},
					{column: "average_price", label: "Average price", as: asNumber}, {column: "last_paid_at", label: "Last order", as: asMoment},
				},
				needs: []string{"order_items", "orders"},
				empty: "Nothing was spent yet.",
			},
		},
	}
}

func clientArticles(c Client) section {
	return section{
		id: "articles", title: "Articles",
		panels: []panel{
			{
				id: "articles-in-progress", title: "Articles in progress", wide: true,
				about: "The promised date is the payment of the order plus the longest delivery time. The expected date is the current estimate.",
				query: "client_articles", params: map[string]string{"profile": c.ID, "state": "open"}, rowLimit: maxRows,
				fields: []field{
					{column: "article_name", label: "Article", sub: "campaign_name"}, {column: "outlet_name", label: "Outlet"}, {column: "status_name", label: "Status"},
					{column: "promised_at", label: "Promised", as: asMoment}, {column: "past_promise", label: "Past the promise", as: asYesNo},
					{column: "expected_at", label: "Expected", as: asMoment}, {column: "past_expected", label: "Past the expected date", as: asYesNo},
				},
				needs: []string{"campaign_articles"},
				empty: "No article is in progress.",
			},
			{
				id: "articles-published", title: "Published articles", wide: true,
				about: "The latest publication is first.",
				query: "client_articles", params: map[string]string{"profile": c.ID, "state": "published"}, rowLimit: maxRows,
				fields: []field{
					{column: "article_name", label: "Article", sub: "campaign_name"}, {column: "outlet_name", label: "Outlet"},
					{column: "published_at", label: "Published", as: asMoment}, {column: "live_url", label: "Address", as: asLink},
				},
				needs: []string{"campaign_articles"},
				empty: "No article is published yet.",
			},
		},
	}
}

// buildClientPage returns the page for one client. It has no notices, headline numbers and commands.
func (b *builder) buildClientPage() (Page, error) {
	p := Page{Snapshot: html.Clock(b.snapshots.at), Client: b.opts.Client.Name}
	for _, s := range clientSections(b.opts.Client) {
		shown, err := b.buildSection(s)
		if err != nil {
			return p, err
		}
		p.Sections = append(p.Sections, shown)
	}
	p.Completeness = query.DescribeCompleteness(b.problems)
	return p, nil
}
