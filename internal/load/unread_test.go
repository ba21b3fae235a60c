package load_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/load"
	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// TestUnreadDetailKeepsItsRows does not request some planned details, as a night with too little time
// does. For these records, new values in the list must replace stored values, and stored values that the
// list lacks must be kept. A record that the list no longer contains must be kept until the request for
// its detail returns 404.
func TestUnreadDetailKeepsItsRows(t *testing.T) {
	order := func(id, status, email string, seq int) string {
		return fmt.Sprintf(`{"id":%q,"status":%q,"guest_email":%q,"row_hash":%d,"seq":%[4]d}`, id, status, email, seq)
	}
	item := func(id, product string, seq int) string {
		return fmt.Sprintf(`{"order_id":%q,"position":1,"product_id":%q,"row_hash":%d,"seq":%[3]d}`, id, product, seq)
	}
	list := func(orders string) streamInput {
		return streamInput{coverage: load.Whole, rows: rows{"orders": orders}}
	}
	h := newFixture(t, "orders", "order_details")
	h.planDetails = true
	_, err := h.run(map[string]streamInput{
		"orders": list(order("same", "paid", "", 1) + "," + order("changed", "paid", "", 2) + "," + order("vanished", "paid", "", 3) + "," + order("late", "new", "", 4)),
		"order_details": {coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: {"same", "changed", "vanished"}}, rows: rows{
			"orders":           order("same", "paid", "s@x", 11) + "," + order("changed", "paid", "c@x", 12) + "," + order("vanished", "paid", "v@x", 13),
			"order_line_items": item("same", "p1", 11) + "," + item("changed", "p2", 12) + "," + item("vanished", "p3", 13)}},
	}, load.Limits{})
	harness.Must(t, err)
	const ordersQuery = "SELECT id, status, coalesce(guest_email, '') FROM orders ORDER BY id"
	h.requireRows(ordersQuery, "changed paid c@x", "late new ", "same paid s@x", "vanished paid v@x")
	if h.plan.Unread != 1 || h.plan.ToRequest != 3 {
		t.Errorf("the plan of the first night is %+v, want one unread and three requested ids", h.plan)
	}

	changes, err := h.run(map[string]streamInput{
		"orders":        list(order("same", "paid", "", 1) + "," + order("changed", "refunded", "", 22) + "," + order("late", "paid", "", 24)),
		"order_details": {coverage: load.ByID},
	}, load.Limits{})
	harness.Must(t, err)
	h.requireRows(ordersQuery, "changed refunded c@x", "late paid ", "same paid s@x", "vanished paid v@x")
	h.requireRows("SELECT order_id, product_id FROM order_line_items ORDER BY ALL", "changed p2", "same p1", "vanished p3")
	if c := changes["orders"]; c.Gone != 0 || c.New != 0 || c.Changed != 2 {
		t.Errorf("the changes of the second night are %+v, want two changed rows", c)
	}
	if h.plan.Unread != 3 || h.plan.Carried != 1 || h.plan.ToRequest != 0 {
		t.Errorf("the plan of the second night is %+v, want three unread ids and one carried id", h.plan)
	}

	changes, err = h.run(map[string]streamInput{
		"orders": list(order("same", "paid", "", 1) + "," + order("changed", "refunded", "", 22) + "," + order("late", "paid", "", 24)),
		"order_details": {coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: {"changed", "late"}, load.NotFound: {"vanished"}}, rows: rows{
			"orders": order("changed", "refunded", "", 32) + "," + order("late", "paid", "l@x", 34)}},
	}, load.Limits{Rows: 10})
	harness.Must(t, err)
	h.requireRows(ordersQuery, "changed refunded ", "late paid l@x", "same paid s@x")
	if c := changes["orders"]; c.Gone != 1 || h.plan.Unread != 0 {
		t.Errorf("the changes of the third night are %+v and the plan is %+v, want one gone row and no unread id", c, h.plan)
	}
	h.requireRows("SELECT order_id, product_id FROM order_line_items", "same p1")
}

// TestLongestUnreadDetailsAreRequestedFirst checks the order of requests. Details that were never read come
// first, newest first. The others follow in the order in which they were last read. The newest row of a detail
// determines its date: the listing "moved" has a later date in the fourth night than in the third.
func TestLongestUnreadDetailsAreRequestedFirst(t *testing.T) {
	listed := func(id, day string, hash int) string {
		at := "null"
		if day != "" {
			at = `"2026-01-` + day + `T00:00:00Z"`
		}
		return fmt.Sprintf(`{"id":%q,"created_at":%s,"row_hash":%d,"seq":1}`, id, at, hash)
	}
	h := newFixture(t, "product_listings", "products")
	h.planDetails, h.reread = true, load.Rereading{All: true}
	earlyListings := listed("changes", "01", 1) + "," + listed("early", "02", 1) + "," + listed("again", "09", 1)
	lateListings := func(dayOfMoved string) string {
		return strings.Join([]string{listed("new", "03", 1), listed("newer", "05", 1), listed("undated 2", "", 1), listed("undated 1", "", 1), listed("moved", dayOfMoved, 1)}, ",")
	}
	changedListings := listed("changes", "01", 2) + "," + listed("early", "02", 1) + "," + listed("again", "09", 1)
	for _, c := range []struct {
		listings        string
		requested, want []string
	}{
		{earlyListings, []string{"changes", "early", "again"}, []string{"again", "early", "changes"}},
		{earlyListings, []string{"again"}, []string{"again", "early", "changes"}},
		{changedListings + "," + lateListings("02"), nil, []string{"newer", "new", "moved", "undated 1", "undated 2", "early", "changes", "again"}},
		{changedListings + "," + lateListings("04"), []string{"newer"}, []string{"newer", "moved", "new", "undated 1", "undated 2", "early", "changes", "again"}},
	} {
		inputs := wholeList(c.listings, "")
		inputs["products"] = streamInput{coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: c.requested}}
		_, err := h.run(inputs, load.Limits{Rows: 10})
		harness.Must(t, err)
		if !slices.Equal(h.pendingIDs, c.want) {
			t.Errorf("ids to request are %v, want %v", h.pendingIDs, c.want)
		}
	}
}

// TestKeepListedChanges404ToMissed requests ids that lists contain, and receives 404. The 404 must not count as
// a deletion if a list contains the id, in a row that was read tonight or is carried. The rows of a failed
// request are carried. Rows of other tables that refer to the record must not prevent the deletion.
func TestKeepListedChanges404ToMissed(t *testing.T) {
	campaign := func(id string) string { return jsonRow(1, 1, "id", quote(id)) }
	article := func(id, campaign string) string {
		return jsonRow(1, 1, "id", quote(id), "campaign_id", quote(campaign))
	}
	sold := jsonRow(1, 1, "id", quote("item"), "article_id", quote("sold"))
	outcomes := func(d *warehouse.Draft, streamName string) (lines []string) {
		harness.Must(t, d.EachRow(t.Context(), []sqltext.SQL{sqltext.SQL("SELECT id || ' ' || outcome FROM stage." + sqltext.Quote(streamName) + `."$requested" ORDER BY ALL`)}, func(scan func(...any) error) error {
			var text string
			err := scan(&text)
			lines = append(lines, text)
			return err
		}))
		return lines
	}
	h := newFixture(t, "campaigns", "order_items", "campaign_details", "campaign_articles", "articles")
	h.planDetails = true
	first := map[string]streamInput{
		"campaigns":   {coverage: load.Whole, rows: rows{"campaigns": campaign("read") + "," + campaign("carried") + "," + campaign("failed") + "," + campaign("gone") + "," + campaign("emptied")}},
		"order_items": {coverage: load.Whole, rows: rows{"order_items": sold}},
		"campaign_articles": {coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: {"read", "carried", "failed", "emptied"}},
			rows: rows{"campaign_articles": strings.Join([]string{article("listed", "read"), article("answered", "read"), article("dropped", "read"),
				article("kept", "carried"), article("failed", "failed"), article("moved", "emptied")}, ",")}},
	}
	_, err := h.run(first, load.Limits{})
	harness.Must(t, err)
	for _, wasRead := range []bool{true, false} {
		second := map[string]streamInput{
			"campaign_details": {coverage: load.ByID, outcomes: map[load.Outcome][]string{load.NotFound: {"read", "gone"}}},
			"campaign_articles": {coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: {"read"}, load.Missed: {"failed"}, load.NotFound: {"emptied"}},
				rows: rows{"campaign_articles": article("listed", "read") + "," + article("answered", "read")}},
			"articles": {coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: {"answered"}, load.NotFound: {"listed", "dropped", "kept", "failed", "sold", "moved"}}},
		}
		wantCampaigns := []string{"gone missed", "read missed"}
		if wasRead {
			second["campaigns"] = streamInput{coverage: load.Whole, rows: rows{"campaigns": campaign("read") + "," + campaign("carried") + "," + campaign("failed")}}
			second["order_items"] = first["order_items"]
			wantCampaigns[0] = "gone 404"
		}
		h.check(second, func(s *load.Stage, d *warehouse.Draft) {
			for name, want := range map[string][]string{
				"campaign_details": wantCampaigns,
				"articles":         {"answered answered", "dropped 404", "failed missed", "kept missed", "listed missed", "moved 404", "sold 404"},
			} {
				st, _ := stream.Find(h.streams, name)
				kept, err := s.KeepListed(t.Context(), st, func(string) bool { return wasRead })
				harness.Must(t, err)
				missed := strings.Count(strings.Join(want, ","), " missed")
				if diff := cmp.Diff(want, outcomes(d, name)); diff != "" || int(kept.IDs) != missed {
					t.Errorf("%s, lists were read %t: KeepListed returned %d, want %d; outcomes (-want +got):\n%s", name, wasRead, kept.IDs, missed, diff)
				}
			}
			if !wasRead {
				return
			}
			st, _ := stream.Find(h.streams, "campaign_articles")
			kept, err := s.KeepListed(t.Context(), st, func(string) bool { return true })
			harness.Must(t, err)
			if kept.IDs != 0 {
				t.Error("the 404 for a campaign that its list no longer contains counts as missed, because its stored row is still there")
			}
		})
	}
}

// TestKeepListedCountsStoredRows receives 404 for three listed campaigns. Two have stored articles, the third has none.
// The age of the rows is that of the stored articles. It is unknown if meta.details lacks one of their campaigns.
// Another detail stream has read the same ids.
func TestKeepListedCountsStoredRows(t *testing.T) {
	h := newFixture(t, "campaigns", "campaign_articles")
	h.planDetails = true
	campaigns := jsonRow(1, 1, "id", quote("full")) + "," + jsonRow(2, 2, "id", quote("empty")) + "," + jsonRow(3, 3, "id", quote("second"))
	night := func(readTimes sqltext.SQL, outcomes map[load.Outcome][]string, articles string, want load.KeptIDs) {
		t.Helper()
		h.beforeMerge = func(s *load.Stage, d *warehouse.Draft) {
			harness.Must(t, d.Exec(t.Context(), readTimes))
			for outcome, ids := range outcomes {
				harness.Must(t, s.AddOutcomes(t.Context(), "campaign_articles", ids, outcome))
			}
			st, _ := stream.Find(h.streams, "campaign_articles")
			kept, err := s.KeepListed(t.Context(), st, func(string) bool { return true })
			harness.Must(t, err)
			if kept != want {
				t.Errorf("with the outcomes %v KeepListed returned %+v, want %+v", outcomes, kept, want)
			}
		}
		_, err := h.run(map[string]streamInput{
			"campaigns":         {coverage: load.Whole, rows: rows{"campaigns": campaigns}},
			"campaign_articles": {coverage: load.ByID, rows: rows{"campaign_articles": articles}},
		}, load.Limits{Rows: 10})
		harness.Must(t, err)
	}
	articles := jsonRow(1, 1, "id", quote("a"), "campaign_id", quote("full")) + "," + jsonRow(2, 2, "id", quote("b"), "campaign_id", quote("second"))
	earlierNight := sqltext.SQL("INSERT INTO meta.runs (run_id, snapshot_at) VALUES ('earlier', TIMESTAMPTZ '2026-10-15 02:00:00+00'); " +
		"INSERT INTO meta.details (stream, id, run_id, read_at) VALUES ('campaign_details', 'full', 'earlier', TIMESTAMPTZ '2026-10-01 02:00:00+00')")
	emptyWasReadBefore := sqltext.SQL("UPDATE meta.details SET read_at = TIMESTAMPTZ '2026-10-01 02:00:00+00' WHERE stream = 'campaign_articles' AND id = 'empty'")
	notFound := map[load.Outcome][]string{load.NotFound: {"full", "second", "empty"}}
	night(earlierNight, map[load.Outcome][]string{load.Answered: {"full", "second", "empty"}}, articles, load.KeptIDs{})
	night(emptyWasReadBefore, notFound, "", load.KeptIDs{IDs: 3, WithRows: 2, MaxNights: 1})
	night("DELETE FROM meta.details WHERE stream = 'campaign_articles' AND id = 'empty'", notFound, "", load.KeptIDs{IDs: 3, WithRows: 2, MaxNights: 1})
	night("DELETE FROM meta.details WHERE stream = 'campaign_articles' AND id = 'full'", notFound, "", load.KeptIDs{IDs: 3, WithRows: 2})
}
