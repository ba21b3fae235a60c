package load

import (
	"fmt"
	"strings"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// The rules for records that change without a trace on the
// row that lists them. An article counts as published once it has a live URL:
// the set of status prefixes is not shown (spec section 3).

// live gives the ids that are live, as SQL: those of campaigns, of articles or
// of profiles.
func (s *Stage) live(life stream.Life, days int) string {
	since := fmt.Sprintf("%s - INTERVAL %d DAY", s.draft.Stamp(), days)
	campaigns := s.liveCampaigns(since)
	switch life {
	case stream.AsCampaign:
		return campaigns
	case stream.AsArticle:
		return fmt.Sprintf(`SELECT id FROM (%s) WHERE coalesce(live_url, '') = '' OR campaign_id IN (%s)
			UNION ALL SELECT id FROM (%s) WHERE coalesce(live_url, '') = ''`,
			s.known("campaign_articles", "id", "live_url", "campaign_id"), campaigns, s.known("articles", "id", "live_url"))
	case stream.AsProfile:
		return fmt.Sprintf(`SELECT profile_id FROM (%s) WHERE id IN (%s)
			UNION ALL SELECT profile_id FROM (%s) WHERE greatest(created_at, updated_at, date_paid) >= %s
			UNION ALL SELECT id FROM (%s) WHERE greatest(created_at, updated_at) >= %[4]s`,
			s.known("campaigns", "id", "profile_id"), campaigns,
			s.known("orders", "profile_id", "created_at", "updated_at", "date_paid"), since,
			s.known("profiles", "id", "created_at", "updated_at"))
	}
	return "SELECT NULL::VARCHAR WHERE FALSE"
}

// liveCampaigns counts a campaign whose own row changed tonight as live as well:
// an article may have come to it, of which updated_at need not tell.
func (s *Stage) liveCampaigns(since string) string {
	ids := fmt.Sprintf(`SELECT id FROM (%s) WHERE greatest(created_at, updated_at) >= %s
		UNION ALL SELECT campaign_id FROM (%s) WHERE coalesce(live_url, '') = ''`,
		s.known("campaigns", "id", "created_at", "updated_at"), since, s.known("campaign_articles", "campaign_id", "live_url"))
	if _, detail := s.sources("campaigns"); detail.Name != "" {
		ids += fmt.Sprintf(" UNION ALL SELECT id FROM %s WHERE why = %s", planned(detail.Name), warehouse.Literal(whyChanged))
	}
	return ids
}

// known are columns of a table as far as they are known tonight: staged rows,
// and those of main where nothing was staged for the key. A row that is in
// both may count twice, once with its last values: that makes a record live
// for one night more, never less. A table that no stream fills has no rows.
func (s *Stage) known(table string, cols ...string) string {
	feeders := stream.Feeding(s.streams, table)
	if len(feeders) == 0 {
		nulls := make([]string, len(cols))
		for i, c := range cols {
			column, _ := s.defs[table].Column(c)
			nulls[i] = fmt.Sprintf("NULL::%s AS %s", column.Type, warehouse.Quote(c))
		}
		return "SELECT " + strings.Join(nulls, ", ") + " WHERE FALSE"
	}
	list := columns("", cols)
	parts := []string{"SELECT " + list + " FROM main." + warehouse.Quote(table)}
	for _, name := range feeders {
		parts = append(parts, "SELECT "+list+" FROM "+staged(name, table))
	}
	return strings.Join(parts, " UNION ALL ")
}
