package load

import "placementsync/internal/stream"

// Some records change without a trace on the row that lists them. They are read again
// while what they live by is live, and after an event about it.

// liveIDs are the ids that are live: those of campaigns, of articles or of profiles.
func (p *Details) liveIDs(life stream.Life, days int) sqlText {
	ids := []sqlText{liveSQL.Render("live_campaigns", values{"now": p.stage.draft.At, "days": days,
		"campaigns": p.stage.knownRows("campaigns", "id", "created_at", "updated_at"),
		"articles":  p.stage.knownRows("campaign_articles", "campaign_id", "live_url")})}
	if _, detail := p.stage.sources("campaigns"); detail.Name != "" {
		ids = append(ids, liveSQL.Render("changed_campaigns", values{"plan": planTable(detail.Name)}))
	}
	campaigns := unionAll(ids)
	switch life {
	case stream.AsCampaign:
		return campaigns
	case stream.AsArticle:
		return liveSQL.Render("live_articles", values{"live_campaigns": campaigns,
			"campaign_articles": p.stage.knownRows("campaign_articles", "id", "live_url", "campaign_id"),
			"articles":          p.stage.knownRows("articles", "id", "live_url")})
	}
	return liveSQL.Render("live_profiles", values{"live_campaigns": campaigns, "now": p.stage.draft.At, "days": days,
		"campaigns": p.stage.knownRows("campaigns", "id", "profile_id"),
		"orders":    p.stage.knownRows("orders", "profile_id", "created_at", "updated_at", "date_paid"),
		"profiles":  p.stage.knownRows("profiles", "id", "created_at", "updated_at")})
}

// touchedIDs are the ids of campaigns or articles that events are about, with the time of
// the last event. Where no event is known, as with most partners, the query is left out:
// DuckDB plans it longer than all else that a small night asks of it.
func (p *Details) touchedIDs(life stream.Life, someEvents bool) sqlText {
	nothing := liveSQL.Render("nothing_touched", nil)
	if !someEvents {
		return nothing
	}
	statuses := p.stage.knownRows("article_status_events", "article_id", "campaign_id", "received_at")
	touched := liveSQL.Render("touched_articles", values{"statuses": statuses,
		"comments":       p.stage.knownRows("article_comment_events", "comment_id", "parent_comment_id", "received_at"),
		"known_comments": p.stage.knownRows("article_comments", "id", "article_id")})
	switch life {
	case stream.AsArticle:
	case stream.AsCampaign:
		touched = liveSQL.Render("touched_campaigns", values{"statuses": statuses, "touched_articles": touched,
			"articles": p.stage.knownRows("articles", "id", "campaign_id")})
	default:
		return nothing
	}
	return liveSQL.Render("last_touched", values{"touched": touched})
}
