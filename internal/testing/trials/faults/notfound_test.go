package faults_test

import (
	"fmt"
	"net/http"
	"testing"

	"placementsync/internal/sim"
	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
)

// notFound returns faults with which the service returns status 404 for some records of an endpoint.
func notFound(prefix string, ids ...string) (faults []sim.Fault) {
	for _, id := range ids {
		faults = append(faults, sim.Fault{Path: prefix + id, Kind: sim.FaultStatus, Status: http.StatusNotFound})
	}
	return faults
}

// articleStreams returns the streams of articles, and the streams that contain their ids.
func articleStreams() []string {
	return []string{"order_items", "campaigns", "campaign_details", "campaign_articles", "articles", "article_comments"}
}

// newArticleHarness returns a harness with many articles. Its nights request only details that may
// have changed.
func newArticleHarness(t *testing.T, recheck int) *trials.Harness {
	t.Helper()
	world := trials.RichWorld()
	world.Campaigns, world.Orders, world.SilentChange = 30, 200, -1
	h := trials.NewHarness(t, world, articleStreams()...)
	h.Config.Fetch.PageSize = 100
	h.UseChangedDetails(45, recheck)
	return h
}

// listedArticles returns the ids of the articles in the lists of all campaigns.
func listedArticles(h *trials.Harness) (ids []string) {
	for id := range h.ArticleStatuses() {
		ids = append(ids, id)
	}
	return ids
}

// TestTrialListedArticlesWith404AreKept lets the service return 404 for some articles, in the first
// night or in a later night. With up to three of these articles the night is complete, and with more
// it is partial. A later night must keep the rows of these articles, because the lists of
// campaigns contain them.
func TestTrialListedArticlesWith404AreKept(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		notFoundCount int // articles with status 404
		partial       bool
	}{{1, false}, {3, false}, {4, true}, {16, true}} {
		for _, isFirst := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d articles, first night %v", c.notFoundCount, isFirst), func(t *testing.T) {
				t.Parallel()
				h := newArticleHarness(t, 1)
				if !isFirst {
					h.GoodNight()
				} else {
					h.Service.Advance(1)
				}
				articles := listedArticles(h)
				if len(articles) < 100 || len(articles) >= 300 {
					t.Fatalf("the world has %d articles, want 100 to 299, for which the limit is three", len(articles))
				}
				missing := articles[:c.notFoundCount]
				if !isFirst {
					for i, row := range trials.Query(t, h.Catalog(), "SELECT id FROM articles ORDER BY id LIMIT ?", c.notFoundCount) {
						missing[i] = row[0].String
					}
				}
				keptRows := 0
				if !isFirst {
					keptRows = c.notFoundCount
				}
				h.Service.SetFaults(notFound("/articles/", missing...)...)
				res, err := h.Night()
				testharness.Must(t, err)
				code, grade := 0, stream.Repaired
				if c.partial {
					code, grade = 3, stream.BestEffort
				}
				if res.Run.ExitCode != code {
					t.Errorf("the night ended with exit code %d, want %d", res.Run.ExitCode, code)
				}
				h.RequireStream(res.Run, "articles", grade, fmt.Sprintf("%d of ", c.notFoundCount))
				rows := "their rows are kept"
				if isFirst {
					rows = "they have no rows from an earlier night"
				}
				h.RequireStream(res.Run, "articles", grade, "returned 404 although a list contains them; "+rows)
				s := trials.StreamOf(t, res.Run, "articles")
				if int(s.Fetched) != h.Count("articles", "TRUE")-keptRows || s.Incomplete != c.partial {
					t.Errorf("fetched %d articles with Incomplete %t, want %d and %t", s.Fetched, s.Incomplete, h.Count("articles", "TRUE")-keptRows, c.partial)
				}
				for _, id := range missing {
					if n := h.Count("articles", "id = ?", id); (n == 1) == isFirst {
						t.Errorf("article %s has %d rows, want 1, or none in a first night (first night: %t)", id, n, isFirst)
					}
					if n := h.Count("meta.deletions", "key LIKE ?", "%"+id+"%"); n != 0 {
						t.Errorf("meta.deletions has %d rows of article %s, want none", n, id)
					}
				}
				// The next night requests the missing articles again.
				h.Service.SetFaults()
				res = h.GoodNight()
				h.RequireStream(res.Run, "articles", stream.Exact, "")
				for _, id := range missing {
					if h.Count("articles", "id = ?", id) != 1 {
						t.Errorf("the next night did not read article %s", id)
					}
				}
			})
		}
	}
}
