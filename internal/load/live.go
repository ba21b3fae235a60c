package load

import (
	"context"

	"placementsync/internal/stream"
)

// Some details change without a change of their row in the list. These details are read again while
// they are live, and after a webhook event about them.

func (s *Stage) liveIDs(liveWith stream.LiveWith, days int) sqlText {
	if liveWith == 0 {
		return liveSQL.Render("no_live_ids", nil)
	}
	ids := []sqlText{liveSQL.Render("live_campaigns", values{"now": s.draft.At, "days": days,
		"campaigns":         s.knownRows("campaigns", "id", "created_at", "updated_at"),
		"campaign_articles": s.knownRows("campaign_articles", "campaign_id", "live_url")})}
	if _, detail := s.sources("campaigns"); detail.Name != "" {
		ids = append(ids, liveSQL.Render("changed_campaigns", values{"plan": planTable(detail.Name)}))
	}
	campaigns := unionAll(ids)
	switch liveWith {
	case stream.LiveWithCampaign:
		return campaigns
	case stream.LiveWithArticle:
		return liveSQL.Render("live_articles", values{"live_campaigns": campaigns,
			"campaign_articles": s.knownRows("campaign_articles", "id", "campaign_id"),
			"articles":          s.knownRows("articles", "id", "live_url")})
	}
	return liveSQL.Render("live_profiles", values{"live_campaigns": campaigns, "now": s.draft.At, "days": days,
		"campaigns": s.knownRows("campaigns", "id", "profile_id"),
		"orders":    s.knownRows("orders", "profile_id", "created_at", "updated_at", "date_paid"),
		"profiles":  s.knownRows("profiles", "id", "created_at", "updated_at")})
}

// lastEvents returns SQL that selects the ids of campaigns or articles that events name, with the time
// of the last event. Most partners have no events. Without events, it returns a query without tables, because
// DuckDB takes longer to plan the full query than to run all other statements of a small night.
func (s *Stage) lastEvents(ctx context.Context, liveWith stream.LiveWith) (sqlText, error) {
	noEvents := liveSQL.Render("no_ids_with_events", nil)
	var hasEvents bool
	err := queryRow(ctx, s.draft, liveSQL.Render("has_events", values{
		"status_events":  s.knownRows("article_status_events", "event_id"),
		"comment_events": s.knownRows("article_comment_events", "event_id")})).Scan(&hasEvents)
	if err != nil || !hasEvents {
		return noEvents, err
	}
	statusEvents := s.knownRows("article_status_events", "article_id", "campaign_id", "received_at")
	ids := liveSQL.Render("articles_with_events", values{"status_events": statusEvents,
		"comment_events": s.knownRows("article_comment_events", "comment_id", "parent_comment_id", "received_at"),
		"known_comments": s.knownRows("article_comments", "id", "article_id")})
	switch liveWith {
	case stream.LiveWithArticle:
	case stream.LiveWithCampaign:
		ids = liveSQL.Render("campaigns_with_events", values{"status_events": statusEvents, "articles_with_events": ids,
			"articles": s.knownRows("articles", "id", "campaign_id")})
	default: // events name no profiles
		return noEvents, nil
	}
	return liveSQL.Render("last_events", values{"ids_with_events": ids}), nil
}
