package load

import "placementsync/internal/stream"

// Some details change without a change of their row in the list. They are read again while their
// campaign is live, and after an event about them.

// liveIDs returns SQL that selects the ids of live campaigns, articles or profiles. It selects no
// id if life is 0.
func (p *Details) liveIDs(life stream.Life, days int) sqlText {
	if life == 0 {
		return liveSQL.Render("no_live_ids", nil)
	}
	ids := []sqlText{liveSQL.Render("live_campaigns", values{"now": p.staging.draft.At, "days": days,
		"campaigns": p.staging.knownRows("campaigns", "id", "created_at", "updated_at"),
		"articles":  p.staging.knownRows("campaign_articles", "campaign_id", "live_url")})}
	if _, detail := p.staging.sources("campaigns"); detail.Name != "" {
		ids = append(ids, liveSQL.Render("changed_campaigns", values{"plan": planTable(detail.Name)}))
	}
	campaigns := unionAll(ids)
	switch life {
	case stream.AsCampaign:
		return campaigns
	case stream.AsArticle:
		return liveSQL.Render("live_articles", values{"live_campaigns": campaigns,
			"campaign_articles": p.staging.knownRows("campaign_articles", "id", "live_url", "campaign_id"),
			"articles":          p.staging.knownRows("articles", "id", "live_url")})
	}
	return liveSQL.Render("live_profiles", values{"live_campaigns": campaigns, "now": p.staging.draft.At, "days": days,
		"campaigns": p.staging.knownRows("campaigns", "id", "profile_id"),
		"orders":    p.staging.knownRows("orders", "profile_id", "created_at", "updated_at", "date_paid"),
		"profiles":  p.staging.knownRows("profiles", "id", "created_at", "updated_at")})
}

// touchedIDs returns SQL that selects the campaigns or articles that events name, with the time of
// the last event. Most partners have no events. The query is then left out, because planning it
// takes DuckDB longer than all other statements of a small night.
func (p *Details) touchedIDs(life stream.Life, someEvents bool) sqlText {
	untouched := liveSQL.Render("nothing_touched", nil)
	if !someEvents {
		return untouched
	}
	statuses := p.staging.knownRows("article_status_events", "article_id", "campaign_id", "received_at")
	touched := liveSQL.Render("touched_articles", values{"statuses": statuses,
		"comments":       p.staging.knownRows("article_comment_events", "comment_id", "parent_comment_id", "received_at"),
		"known_comments": p.staging.knownRows("article_comments", "id", "article_id")})
	switch life {
	case stream.AsArticle:
	case stream.AsCampaign:
		touched = liveSQL.Render("touched_campaigns", values{"statuses": statuses, "touched_articles": touched,
			"articles": p.staging.knownRows("articles", "id", "campaign_id")})
	default:
		return untouched
	}
	return liveSQL.Render("last_touched", values{"touched": touched})
}
