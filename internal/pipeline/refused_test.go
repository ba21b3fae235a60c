package pipeline_test

import (
	"strings"
	"testing"

	"placementsync/internal/pipeline"
	"placementsync/internal/stream"
)

// TestRefusedArticles reads a service that refuses GET /articles/{id} to a token with all scopes. The comments are
// read for the articles of the campaigns, and streams with other sources of ids are proven. Later the service
// permits the requests.
func TestRefusedArticles(t *testing.T) {
	world := smallWorld()
	world.ArticleNeedsFullAccess = true
	h := newHarness(t, world)
	h.cfg.Fetch.HasPrivateValues = true
	for _, details := range []pipeline.Details{pipeline.AllDetails, pipeline.ChangedDetails} {
		h.cfg.Details = details
		res := h.requireComplete(h.night())
		articles := h.requireStream(res.Run, "articles", stream.Skipped, `answered 403 Forbidden: the service says "token is not of type full_access"`, false)
		if strings.Contains(articles.Reason, "scope") {
			t.Errorf("articles was skipped because of %q, want a reason without a scope, because the token has all", articles.Reason)
		}
		for _, s := range res.Run.Streams {
			if grade := stream.Grade(s.Grade); s.Stream != "articles" && stream.WorseGrade(grade, stream.Bounded) != stream.Bounded && grade != stream.Skipped {
				t.Errorf("%s is %s, want it proven: %s", s.Stream, s.Grade, s.Reason)
			}
		}
		h.requireLines("SELECT count(DISTINCT article_id) > 0, count(*) FILTER (article_id NOT IN (SELECT id FROM campaign_articles)) FROM article_comments", "true 0")
		h.requireLines("SELECT count(*) FROM articles", "0")
	}
}
