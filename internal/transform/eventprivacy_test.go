package transform

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/stream"
	"placementsync/schema"
)

// TestPrivateColumnsOfEvents derives the private columns of event tables from the private columns of the
// tables with records of the same kind.
func TestPrivateColumnsOfEvents(t *testing.T) {
	definitions, _ := schema.Definitions()
	statuses, _ := stream.Find(stream.AllWithEvents(), "article_status_events")
	comments, _ := stream.Find(stream.AllWithEvents(), "article_comment_events")
	for _, c := range []struct {
		stream     stream.Stream
		configured []string
		want       []string
	}{
		{statuses, nil, nil},
		{statuses, []string{"articles.live_url"}, []string{"extra"}},
		{statuses, []string{"campaign_articles.campaign_id", "orders.total"}, []string{"campaign_id"}},
		{statuses, []string{"article_status_events.campaign_id", "articles.campaign_id"}, []string{"campaign_id"}},
		{statuses, []string{"article_comments.content"}, nil},
		{comments, []string{"article_comments.content"}, []string{"content", "content_text"}},
		{comments, []string{"article_comment_events.content_text"}, []string{"content", "content_text"}},
	} {
		if got := privateEventColumns(c.stream, definitions[c.stream.Root().Name], c.configured); !slices.Equal(got, c.want) {
			t.Errorf("the private columns of %s are %q with %q in the configuration, want %q", c.stream.Name, got, c.configured, c.want)
		}
	}
	configured := Privacy{Key: []byte("k"), Drop: []string{"articles.campaign_id"}, Hash: []string{"articles.id", "articles.campaign_id", "articles.updated_at"}}
	articles, _ := stream.Find(stream.AllWithEvents(), "articles")
	if diff := cmp.Diff(configured, privacyOf(articles, definitions["articles"], configured)); diff != "" {
		t.Errorf("private columns of a list (-want +got):\n%s", diff)
	}
	// The events have no updated_at, so extra may contain it. Neither extra nor a time can be hashed: both are dropped.
	want := Privacy{Key: []byte("k"), Hash: []string{"article_status_events.article_id"},
		Drop: []string{"article_status_events.campaign_id", "article_status_events.extra", "article_status_events.received_at"}}
	configured.Hash = append(configured.Hash, "article_status_events.article_id", "article_status_events.received_at")
	got := privacyOf(statuses, definitions["article_status_events"], configured)
	slices.Sort(got.Drop)
	got.Drop = slices.Compact(got.Drop)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("private columns of events (-want +got):\n%s", diff)
	}
}
