package report

import "placementsync/internal/html"

var articlesSection = section{
	id: "articles", title: "Articles",
	lead:    "Durations are in days of 24 hours. Medians and 90th percentiles are not interpolated.",
	streams: []string{"campaigns", "campaign_articles", "articles"},
	panels: []panel{
		{
			id: "articles-by-status", title: "Where the articles are",
			about: "Articles in each status.",
			query: "articles_by_status", rowLimit: 40,
			plot: &plot{kind: html.Bars, horizontal: true, unit: "articles", category: "status_name", limit: 40,
				measures: []measure{{column: "articles", name: "articles"}}},
			fields: []field{
				{column: "status_name", label: "Status"}, {column: "waits_for", label: "Waits for"}, {column: "articles", label: "Articles", as: asNumber},
				{column: "p50_days_in_status", label: "Median time", as: asDays}, {column: "oldest_days", label: "Longest", as: asDays},
			},
			needs: []string{"campaign_articles"},
			empty: "This snapshot has no articles.",
		},
		{
			id: "waiting", title: "Who has to act next", wide: true,
			about: "Articles that are neither published nor ended. Those that wait longest are first.",
			query: "articles_waiting", rowLimit: 50,
			fields: []field{
				{column: "waits_for", label: "Waits for"}, {column: "days_waiting", label: "Waiting time", as: asDays},
				{column: "article_name", label: "Article", sub: "campaign_name"}, {column: "status_name", label: "Status"},
				{column: "writer_name", label: "Writer"}, {column: "outlet_name", label: "Outlet"}, {column: "profile_name", label: "Client"},
			},
			needs: []string{"campaign_articles"},
			empty: "No article waits.",
		},
		{
			id: "weekly-throughput", title: "Started and published by week",
			about: "Weeks begin on Monday.",
			query: "weekly_throughput", rowLimit: weeksDrawn,
			plot: &plot{kind: html.Bars, unit: "articles", category: "week", limit: weeksDrawn,
				measures: []measure{{column: "started", name: "started", colour: grey}, {column: "published", name: "published", colour: green}}},
			fields: []field{
				{column: "week", label: "Week"}, {column: "started", label: "Started", as: asNumber},
				{column: "published", label: "Published", as: asNumber}, {column: "ended", label: "Ended unpublished", as: asNumber},
				{column: "in_progress_at_end", label: "In progress", as: asNumber}, {column: "backlog_at_end", label: "Backlog", as: asNumber},
			},
			needs: []string{"campaign_articles", "article_statuses"},
			empty: "This snapshot has no articles.",
		},
		{
			id: "cycle-time", title: "Time in each status",
			about: "Days from one status to the next. Articles that are still in the status are not included.",
			query: "article_cycle_time", rowLimit: 40,
			plot: &plot{kind: html.Bars, horizontal: true, unit: "days", category: "status_name", limit: 40,
				measures: []measure{{column: "p50_days", name: "median", as: asDays}, {column: "p90_days", name: "90th percentile", colour: orange, as: asDays}}},
			fields: []field{
				{column: "status_name", label: "Status"}, {column: "finished_stays", label: "Finished stays", as: asNumber},
				{column: "p50_days", label: "Median", as: asDays}, {column: "p90_days", label: "90th percentile", as: asDays},
				{column: "mean_days", label: "Mean", as: asDays}, {column: "open_articles", label: "Still in the status", as: asNumber},
			},
			needs: []string{"article_statuses"},
			empty: "This snapshot has no statuses with a time.",
		},
		{
			id: "paid-to-live", title: "From paid order to live",
			about: "Days from payment to publication, by the month of publication.",
			query: "paid_to_live", rowLimit: monthsDrawn,
			plot: &plot{kind: html.Lines, unit: "days", category: "month", limit: monthsDrawn,
				measures: []measure{{column: "p50_days", name: "median", as: asDays}, {column: "p90_days", name: "90th percentile", colour: orange, as: asDays}}},
			fields: []field{
				{column: "month", label: "Month", as: asMonth}, {column: "articles", label: "Articles", as: asNumber},
				{column: "p50_days", label: "Median", as: asDays}, {column: "p90_days", label: "90th percentile", as: asDays},
				{column: "p50_days_to_start", label: "Median to start", as: asDays},
				{column: "articles_without_payment", label: "No payment", as: asNumber, about: "Articles whose order has no payment date"},
			},
			needs: []string{"article_statuses"},
			empty: "This snapshot has no published articles.",
		},
		{
			id: "late", title: "Late articles", wide: true,
			about: "Unfinished articles past the promised date (payment of the order plus the longest delivery time) or past the expected date that the service states. Those with the longest delay are first.",
			query: "overdue_articles", rowLimit: 50,
			fields: []field{
				{column: "article_name", label: "Article", sub: "campaign_name"}, {column: "profile_name", label: "Client"},
				{column: "outlet_name", label: "Outlet"}, {column: "writer_name", label: "Writer"}, {column: "status_name", label: "Status"},
				{column: "promised_at", label: "Promised", as: asMoment}, {column: "days_past_promise", label: "Past the promise", as: asDays},
				{column: "expected_at", label: "Expected", as: asMoment, sub: "expected_for"}, {column: "days_past_expected", label: "Past the expected date", as: asDays},
			},
			needs: []string{"campaign_articles"},
			empty: "No unfinished article is past its promised or expected date.",
		},
		{
			id: "writers", title: "Load per writer",
			query: "writer_load", rowLimit: 40,
			fields: []field{
				{column: "writer_name", label: "Writer"}, {column: "open_articles", label: "Open", as: asNumber},
				{column: "in_revision", label: "In revision", as: asNumber}, {column: "past_promise", label: "Past the promise", as: asNumber},
				{column: "past_expected", label: "Past the expected date", as: asNumber},
				{column: "published_recently", label: "Published, 30 d", as: asNumber},
				{column: "p50_days_to_publish", label: "Median to publish", as: asDays},
			},
			needs: []string{"campaign_articles"},
			empty: "This snapshot has no articles.",
		},
		{
			id: "campaigns", title: "Campaigns", about: "The numbers of drafted and published articles of each campaign.",
			query: "campaign_funnel", rowLimit: 40,
			fields: []field{
				{column: "campaign_name", label: "Campaign", sub: "profile_name"}, {column: "campaign_status", label: "Status"},
				{column: "articles", label: "Articles", as: asNumber}, {column: "with_draft", label: "Drafted", as: asNumber},
				{column: "published", label: "Published", as: asNumber}, {column: "published_percent", label: "Share", as: asPercent},
				{column: "is_past_target", label: "Past the target date", as: asYesNo},
			},
			needs: []string{"campaigns"},
			empty: "This snapshot has no campaigns.",
		},
	},
}
