package load_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/config"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// jsonRow returns a row as JSON, from pairs of a column and its JSON value.
func jsonRow(hash, seq int, pairs ...string) string {
	var members []string
	for i := 0; i < len(pairs); i += 2 {
		members = append(members, fmt.Sprintf("%q:%s", pairs[i], pairs[i+1]))
	}
	return fmt.Sprintf(`{%s,"row_hash":%d,"seq":%d}`, strings.Join(members, ","), hash, seq)
}

func quote(text string) string { return fmt.Sprintf("%q", text) }

// planRows queries the plan of a stream. columns is a comma-separated list.
func planRows(t *testing.T, d *warehouse.Draft, streamName, columns string) []string {
	t.Helper()
	return queryDraft(t, d, "SELECT "+columns+" FROM stage."+sqltext.Quote(streamName)+`."$plan" ORDER BY ALL`)
}

// idsToRequest returns the ids that a night requests next, in order.
func idsToRequest(t *testing.T, s *load.Stage, st stream.Stream) []string {
	t.Helper()
	ids, err := s.IDsToRequest(t.Context(), st)
	harness.Must(t, err)
	return ids
}

// plannedIDs returns the planned ids of a stream, by reason.
func (h *fixture) plannedIDs(d *warehouse.Draft, streamName string) map[string][]string {
	h.t.Helper()
	idsByReason := map[string][]string{}
	query := "SELECT why, id FROM stage." + sqltext.Quote(streamName) + `."$plan" ORDER BY ALL`
	harness.Must(h.t, d.EachRow(h.t.Context(), []sqltext.SQL{sqltext.SQL(query)}, func(scan func(...any) error) error {
		var why, id string
		err := scan(&why, &id)
		idsByReason[why] = append(idsByReason[why], id)
		return err
	}))
	return idsByReason
}

// TestDetailsArePlannedByListRow covers the reasons to read a detail whose changes a list shows.
// Webhook events are not covered.
func TestDetailsArePlannedByListRow(t *testing.T) {
	list := func(hashes map[string]int, prices ...string) map[string]streamInput {
		var listings []string
		for i, id := range slices.Sorted(maps.Keys(hashes)) {
			listings = append(listings, listing(id, "x", hashes[id], i+1))
		}
		return wholeList(strings.Join(listings, ","), strings.Join(prices, ","))
	}
	first := map[string]int{"a": 1, "b": 2, "c": 3}
	h := newFixture(t, "product_listings", "products")
	h.planDetails = true
	lists := list(first)
	lists["products"] = streamInput{coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: {"a", "b", "c"}},
		rows: rows{"products": jsonRow(1, 1, "id", `"a"`) + "," + jsonRow(2, 2, "id", `"b"`) + "," + jsonRow(3, 3, "id", `"c"`)}}
	_, err := h.run(lists, load.Limits{})
	harness.Must(t, err)
	h.planDetails = false
	for name, c := range map[string]struct {
		second     map[string]streamInput
		reread     load.Rereading
		want       map[string][]string
		wantCounts load.Plan
	}{
		"nothing changed": {list(first), load.Rereading{},
			map[string][]string{"carried": {"a", "b", "c"}}, load.Plan{Carried: 3}},
		"a row changed": {list(map[string]int{"a": 1, "b": 9, "c": 3}), load.Rereading{},
			map[string][]string{"carried": {"a", "c"}, "changed": {"b"}}, load.Plan{ToRequest: 1, Carried: 2}},
		"an item of a row changed": {list(first, price("c", 1, "2", 8, 3)), load.Rereading{},
			map[string][]string{"carried": {"a", "b"}, "changed": {"c"}}, load.Plan{ToRequest: 1, Carried: 2}},
		"a row is new": {list(map[string]int{"a": 1, "b": 2, "c": 3, "d": 4}), load.Rereading{},
			map[string][]string{"carried": {"a", "b", "c"}, "new": {"d"}}, load.Plan{ToRequest: 1, Carried: 3}},
		"a row of a known detail is gone": {list(map[string]int{"a": 1, "b": 2}), load.Rereading{},
			map[string][]string{"carried": {"a", "b"}, "changed": {"c"}}, load.Plan{ToRequest: 1, Carried: 2}},
		"all details are reread": {list(first), load.Rereading{All: true},
			map[string][]string{"all": {"a", "b", "c"}}, load.Plan{ToRequest: 3}},
		"ids that would change the request path": {list(map[string]int{"a": 1, "b": 2, "c": 3, ".": 7, "..": 8, "": 9}), load.Rereading{},
			map[string][]string{"carried": {"a", "b", "c"}}, load.Plan{Carried: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			products, _ := stream.Find(h.streams, "products")
			h.check(c.second, func(s *load.Stage, d *warehouse.Draft) {
				plan, err := s.PlanDetails(t.Context(), products, c.reread, func(string) bool { return true })
				harness.Must(t, err)
				if diff := cmp.Diff(c.want, h.plannedIDs(d, "products")); diff != "" {
					t.Errorf("plan (-want +got):\n%s", diff)
				}
				plan.MaxNights = 0 // it depends on meta.runs, which is empty here
				if diff := cmp.Diff(c.wantCounts, plan); diff != "" {
					t.Errorf("counts (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestLiveDetailsAreRead covers the conditions under which a campaign, an article or a profile is
// live. It also covers the details that an event names.
func TestLiveDetailsAreRead(t *testing.T) {
	const old, lately = `"2026-01-01T00:00:00Z"`, `"2026-10-20T00:00:00Z"`
	campaign := func(id, changed string) string {
		return jsonRow(1, 1, "id", quote(id), "profile_id", quote("f-"+id), "created_at", old, "updated_at", changed)
	}
	article := func(id, campaign, url string) string {
		return jsonRow(1, 1, "id", quote(id), "campaign_id", quote(campaign), "live_url", quote(url))
	}
	names := []string{"campaigns", "campaign_articles", "campaign_status_counts", "articles", "profiles", "profile_orders",
		"article_comments", "article_status_events", "article_comment_events"}
	firstInput := map[string]streamInput{
		"campaigns": {coverage: load.Whole, rows: rows{"campaigns": campaign("settled", old) + "," + campaign("changed", lately) + "," + campaign("open", old) + "," +
			jsonRow(1, 1, "id", `"created lately"`, "created_at", lately)}},
		"campaign_articles": {coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: {"settled", "changed", "open"}}, rows: rows{
			"campaign_articles": article("a1", "settled", "u") + "," + article("a2", "changed", "u") + "," + article("a3", "open", "")}},
		"articles": {coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: {"a1", "a2", "a3", "a4", "a5"}}, rows: rows{
			"articles": article("a1", "settled", "u") + "," + article("a2", "changed", "u") + "," + article("a3", "open", "") + "," + jsonRow(1, 1, "id", `"a4"`) + "," +
				jsonRow(1, 1, "id", `"a5"`, "live_url", `""`)}},
		"article_comments": {coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: {"a1", "a2", "a3", "a4", "a5"}}, rows: rows{
			"article_comments": jsonRow(1, 1, "article_id", `"a1"`, "id", `"k1"`)}},
		"campaign_status_counts": {coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: {"settled", "changed", "open", "created lately"}}},
		"profiles": {coverage: load.Whole, rows: rows{"profiles": jsonRow(1, 1, "id", `"f-settled"`, "created_at", old) + "," +
			jsonRow(2, 2, "id", `"f-changed"`, "created_at", old) + "," + jsonRow(3, 3, "id", `"f-open"`, "created_at", old) + "," + jsonRow(4, 4, "id", `"f-new"`, "created_at", lately)}},
		"profile_orders": {coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: {"f-settled", "f-changed", "f-open", "f-new"}}},
	}
	h := newFixture(t, names...)
	h.planDetails = true
	_, err := h.run(firstInput, load.Limits{})
	harness.Must(t, err)
	h.planDetails = false
	const beforeReading, whenRead, afterReading = "2026-10-31T12:00:00Z", "2026-11-01T02:00:00Z", "2026-11-01T12:00:00Z"
	statusEvents := func(receivedAt ...string) map[string]streamInput {
		var events []string
		for i, at := range receivedAt {
			events = append(events, jsonRow(i+1, i+1, "event_id", quote(fmt.Sprint("e", i)), "article_id", `"a1"`, "campaign_id", `"settled"`,
				"received_at", quote(at)))
		}
		return map[string]streamInput{"article_status_events": {coverage: load.Unproven, rows: rows{"article_status_events": strings.Join(events, ",")}}}
	}
	commentEvent := func(pairs ...string) map[string]streamInput {
		event := jsonRow(1, 1, append(pairs, "event_id", `"e"`, "received_at", quote(afterReading))...)
		return map[string]streamInput{"article_comment_events": {coverage: load.Unproven, rows: rows{"article_comment_events": event}}}
	}
	for name, c := range map[string]struct {
		events    map[string]streamInput
		wantLive  map[string][]string // the live ids by stream
		wantEvent map[string][]string // the ids with events by stream
	}{
		"no event": {nil, map[string][]string{"campaign_status_counts": {"changed", "created lately", "open"}, "articles": {"a2", "a3"},
			"article_comments": {"a2", "a3", "a4", "a5"}, "profile_orders": {"f-changed", "f-new", "f-open"}}, nil},
		"a status event": {statusEvents(afterReading),
			map[string][]string{"campaign_status_counts": {"changed", "created lately", "open"}},
			map[string][]string{"campaign_status_counts": {"settled"}, "articles": {"a1"}, "article_comments": {"a1"}, "profile_orders": nil}},
		"a status event before the detail was read": {statusEvents(beforeReading), nil,
			map[string][]string{"campaign_status_counts": nil, "articles": nil}},
		"a status event when the detail was read": {statusEvents(whenRead), nil,
			map[string][]string{"campaign_status_counts": nil, "articles": nil}},
		"a status event before and one after the detail was read": {statusEvents(beforeReading, afterReading), nil,
			map[string][]string{"campaign_status_counts": {"settled"}, "articles": {"a1"}}},
		"a comment event": {commentEvent("comment_id", `"k1"`), nil,
			map[string][]string{"campaign_status_counts": {"settled"}, "articles": {"a1"}, "article_comments": {"a1"}}},
		"an event about a reply to a comment": {commentEvent("comment_id", `"k2"`, "parent_comment_id", `"k1"`), nil,
			map[string][]string{"articles": {"a1"}}},
		"an event about an unknown comment": {commentEvent("comment_id", `"k9"`), nil,
			map[string][]string{"articles": nil}},
	} {
		t.Run(name, func(t *testing.T) {
			h.check(c.events, func(s *load.Stage, d *warehouse.Draft) {
				for _, st := range h.streams {
					if !st.IsDetail() {
						continue
					}
					_, err := s.PlanDetails(t.Context(), st, load.Rereading{LiveDays: 30}, func(string) bool { return true })
					harness.Must(t, err)
					got := h.plannedIDs(d, st.Name)
					if want, ok := c.wantLive[st.Name]; ok && !slices.Equal(got["live"], want) {
						t.Errorf("%s: live ids are %v, want %v", st.Name, got["live"], want)
					}
					if want, ok := c.wantEvent[st.Name]; ok && !slices.Equal(got["event"], want) {
						t.Errorf("%s: ids with events are %v, want %v", st.Name, got["event"], want)
					}
				}
			})
		})
	}
}

// TestCampaignWithChangedRowIsLive changes the rows of campaigns whose updated_at is old. The plan of the status counts must
// contain them as live, like a campaign with a recent updated_at. The last request for one of them failed. A campaign that
// was never read does not count as changed: after a repair, all campaigns can be unread.
func TestCampaignWithChangedRowIsLive(t *testing.T) {
	campaign := func(id, updated string, hash int) string {
		return jsonRow(hash, hash, "id", quote(id), "created_at", `"2026-01-01T00:00:00Z"`, "updated_at", quote(updated))
	}
	list := func(changedHash int) streamInput {
		const old = "2026-01-01T00:00:00Z"
		return streamInput{coverage: load.Whole, rows: rows{"campaigns": strings.Join([]string{
			campaign("settled", old, 1),
			campaign("changed", old, changedHash),
			campaign("failed", old, changedHash+1),
			campaign("recent", "2026-10-31T00:00:00Z", 4),
			campaign("unread", old, 5),
		}, ",")}}
	}
	read := []string{"settled", "changed", "failed", "recent"}
	all := append(slices.Clone(read), "unread")
	h := newFixture(t, "campaigns", "campaign_details", "campaign_status_counts")
	h.planDetails = true
	for _, outcomes := range []map[load.Outcome][]string{{load.Answered: read}, {load.Missed: {"failed"}}} {
		_, err := h.run(map[string]streamInput{"campaigns": list(2), "campaign_details": {coverage: load.ByID, outcomes: outcomes},
			"campaign_status_counts": {coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: all}}}, load.Limits{})
		harness.Must(t, err)
	}
	h.planDetails = false
	h.check(map[string]streamInput{"campaigns": list(12)}, func(s *load.Stage, d *warehouse.Draft) {
		for _, c := range []struct {
			stream string
			want   []string
		}{
			{"campaign_details", []string{"changed changed", "failed new", "recent carried", "settled carried", "unread new"}},
			{"campaign_status_counts", []string{"changed live", "failed live", "recent live", "settled carried", "unread carried"}},
		} {
			st, _ := stream.Find(h.streams, c.stream)
			_, err := s.PlanDetails(t.Context(), st, load.Rereading{LiveDays: 30}, func(string) bool { return true })
			harness.Must(t, err)
			if diff := cmp.Diff(c.want, planRows(t, d, c.stream, "id, why")); diff != "" {
				t.Errorf("plan of %s (-want +got):\n%s", c.stream, diff)
			}
		}
	})
}

// TestFingerprintsContainLookedUpRows plans outlets. Some listings contain no outlet id, or an empty outlet
// id. Their outlets are looked up by the product. The hashes are small, so that the fingerprint in
// the plan is the sum of the hashes of an outlet's rows. Prices do not count, because they are no part of an outlet.
// Tags count.
func TestFingerprintsContainLookedUpRows(t *testing.T) {
	listingOf := func(id, outlet string, hash int) string {
		return jsonRow(hash, hash, "id", quote(id), "outlet_id", outlet)
	}
	outletProduct := func(outlet, product string) string {
		return jsonRow(1, 1, "outlet_id", quote(outlet), "product_id", quote(product))
	}
	h := newFixture(t, "product_listings", "outlets", "outlet_products")
	outlets := []string{"o1", "o2", "o3"}
	_, err := h.run(map[string]streamInput{
		"outlets": {coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: outlets},
			rows: rows{"outlets": jsonRow(1, 1, "id", `"o1"`) + "," + jsonRow(2, 2, "id", `"o2"`) + "," + jsonRow(3, 3, "id", `"o3"`)}},
		"outlet_products": {coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: outlets},
			rows: rows{"outlet_products": outletProduct("o1", "null") + "," + outletProduct("o1", "empty") + "," + outletProduct("o3", "other outlet")}},
	}, load.Limits{})
	harness.Must(t, err)
	inputs := wholeList(strings.Join([]string{listingOf("null", "null", 1), listingOf("empty", `""`, 2), listingOf("other outlet", `"o2"`, 4), listingOf("unknown", "null", 8)}, ","),
		price("null", 1, "1", 16, 1)+","+price("empty", 1, "1", 32, 2)+","+price("unknown", 1, "1", 64, 8))
	inputs["product_listings"].rows["product_listing_tags"] = jsonRow(128, 4, "product_listing_id", quote("other outlet"), "position", "1", "name", quote("news"))
	h.check(inputs, func(s *load.Stage, d *warehouse.Draft) {
		st, _ := stream.Find(h.streams, "outlets")
		_, err := s.PlanDetails(t.Context(), st, load.Rereading{}, func(string) bool { return true })
		harness.Must(t, err)
		want := []string{fmt.Sprint("o1 ", 1+2), fmt.Sprint("o2 ", 4+128), "o3"}
		if diff := cmp.Diff(want, planRows(t, d, "outlets", "id, fingerprint")); diff != "" {
			t.Errorf("fingerprints (-want +got):\n%s", diff)
		}
	})
}

// TestLiveDaysBoundaryIsLive checks which details are live by the time of the last change or payment. A campaign, a
// profile and an order that changed exactly LiveDays ago are live, and so is an order that was created or paid then.
// A campaign, a profile and an order that changed a microsecond earlier are not live.
func TestLiveDaysBoundaryIsLive(t *testing.T) {
	days := config.Default().Streams.LiveDays
	at := func(before time.Duration) string {
		secondNight := night.AddDate(0, 0, 1)
		return quote(secondNight.AddDate(0, 0, -days).Add(-before).Format("2006-01-02T15:04:05.000000Z"))
	}
	boundary, earlier, old := at(0), at(time.Microsecond), quote("2026-01-01T00:00:00Z")
	dated := func(id, profile, changed string) string {
		return jsonRow(1, 1, "id", quote(id), "profile_id", quote(profile), "created_at", old, "updated_at", changed)
	}
	profile := func(id, changed string) string {
		return jsonRow(1, 1, "id", quote(id), "created_at", old, "updated_at", changed)
	}
	order := func(id, profile, changed, paid string) string {
		return jsonRow(1, 1, "id", quote(id), "profile_id", quote(profile), "created_at", old, "updated_at", changed, "date_paid", paid)
	}
	h := newFixture(t, "campaigns", "campaign_status_counts", "profiles", "profile_orders", "orders")
	h.planDetails = true
	_, err := h.run(map[string]streamInput{
		"campaigns": {coverage: load.Whole, rows: rows{"campaigns": dated("boundary", "by campaign", boundary) + "," + dated("earlier", "none", earlier)}},
		"orders": {coverage: load.Whole, rows: rows{"orders": strings.Join([]string{
			order("changed", "by order", boundary, old), order("paid", "by payment", old, boundary), order("earlier", "none", earlier, earlier),
			jsonRow(1, 1, "id", `"created"`, "profile_id", `"by creation"`, "created_at", boundary),
		}, ",")}},
		"profiles": {coverage: load.Whole, rows: rows{"profiles": strings.Join([]string{
			profile("itself", boundary), profile("by campaign", old), profile("by creation", old), profile("by order", old),
			profile("by payment", old), profile("none", earlier),
		}, ",")}},
		"campaign_status_counts": {coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: {"boundary", "earlier"}}},
		"profile_orders": {coverage: load.ByID,
			outcomes: map[load.Outcome][]string{load.Answered: {"by campaign", "by creation", "by order", "by payment", "itself", "none"}}},
	}, load.Limits{})
	harness.Must(t, err)
	h.planDetails = false
	h.check(map[string]streamInput{}, func(s *load.Stage, d *warehouse.Draft) {
		for name, want := range map[string][]string{
			"campaign_status_counts": {"boundary"},
			"profile_orders":         {"by campaign", "by creation", "by order", "by payment", "itself"},
		} {
			st, _ := stream.Find(h.streams, name)
			_, err := s.PlanDetails(t.Context(), st, load.Rereading{LiveDays: days}, func(string) bool { return true })
			harness.Must(t, err)
			if got := h.plannedIDs(d, name)["live"]; !slices.Equal(got, want) {
				t.Errorf("%s: live ids are %v, want %v", name, got, want)
			}
		}
	})
}

// TestSettledDetailsAreReadInTurn runs several nights. Each night must read a part of the settled details,
// and each settled detail must be read again within RecheckNights. One night has no time for settled
// details. A later night must read these details.
func TestSettledDetailsAreReadInTurn(t *testing.T) {
	const recheckNights, listingCount = 3, 12
	h := newFixture(t, "product_listings", "products")
	products, _ := stream.Find(h.streams, "products")
	var listings []string
	var ids []string
	for i := range listingCount {
		ids = append(ids, fmt.Sprintf("p%02d", i))
		listings = append(listings, listing(ids[i], "x", i+1, i+1))
	}
	list := wholeList(strings.Join(listings, ","), "")
	h.afterMerge = func(s *load.Stage, d *warehouse.Draft, _ map[string]load.Coverage, _ []load.Change) {
		harness.Must(t, s.WriteSummary(t.Context(), load.Summary{Run: ledger.Run{ID: d.Run, StartedAt: d.At, SnapshotAt: d.At}}))
	}
	readings, lastNight := map[string]int{}, map[string]int{}
	for number := range 1 + 2*recheckNights {
		isShort := number == recheckNights-1 // this night has no time for settled details
		h.beforeMerge = func(s *load.Stage, d *warehouse.Draft) {
			plan, err := s.PlanDetails(t.Context(), products, load.Rereading{RecheckNights: recheckNights}, func(string) bool { return true })
			harness.Must(t, err)
			why := h.plannedIDs(d, "products")
			wantNights := 0 // since the oldest reading of a carried id
			for _, id := range why["carried"] {
				wantNights = max(wantNights, number-lastNight[id])
			}
			if int(plan.MaxNights) != wantNights || wantNights >= recheckNights {
				t.Errorf("night %d: the oldest carried id was read %d nights ago, and MaxNights is %d, want equal numbers below %d", number, wantNights,
					plan.MaxNights, recheckNights)
			}
			if number > 0 && (plan.ToRecheck == 0 || plan.ToRecheck == listingCount) {
				t.Errorf("night %d: the plan rechecks %d ids, want a part of the %d settled ids", number, plan.ToRecheck, listingCount)
			}
			requested := slices.Concat(why["new"], why["recheck"])
			if isShort {
				requested = nil
			}
			for _, id := range requested {
				readings[id]++
				lastNight[id] = number
			}
			harness.Must(t, s.AddOutcomes(t.Context(), "products", requested, load.Answered))
			finalPlan, err := s.MarkUnread(t.Context(), products)
			harness.Must(t, err)
			if plan.ToRequest+plan.Carried != listingCount {
				t.Errorf("night %d: the first plan is %+v, want %d ids", number, plan, listingCount)
			}
			if finalPlan.Unread+finalPlan.Carried+finalPlan.ToRequest != listingCount {
				t.Errorf("night %d: the final plan is %+v, want %d ids", number, finalPlan, listingCount)
			}
			if finalPlan.ToRequest != int64(len(requested)) {
				t.Errorf("night %d: the final plan is %+v, want %d requested ids", number, finalPlan, len(requested))
			}
			if isShort && finalPlan.Unread != 0 {
				t.Errorf("night %d: %d ids are unread, want 0, because no id is overdue", number, finalPlan.Unread)
			}
		}
		inputs := map[string]streamInput{"product_listings": list["product_listings"], "products": {coverage: load.ByID}}
		_, err := h.run(inputs, load.Limits{})
		harness.Must(t, err)
	}
	for _, id := range ids {
		if readings[id] < 2 || readings[id] > 3 {
			t.Errorf("%s was read %d times, want 2 or 3: once as new, and once or twice as settled", id, readings[id])
		}
	}
}

// TestStoredDetailsArePlanned plans several times in one night. No list contains the stored detail "b",
// and its reading was not recorded. Between the reading of "a" and this night are a published night, a
// refresh and a failed run. Only the published night counts as a night: an early program recorded no kind for it.
// Another detail stream has read an id "b".
func TestStoredDetailsArePlanned(t *testing.T) {
	h := newFixture(t, "product_listings", "products")
	h.planDetails = true
	h.afterMerge = func(_ *load.Stage, d *warehouse.Draft, _ map[string]load.Coverage, _ []load.Change) {
		harness.Must(t, d.Exec(t.Context(), `INSERT INTO meta.runs (run_id, kind, snapshot_at) VALUES ('night', NULL, TIMESTAMPTZ '2026-11-01 04:00:00+00'),
			('refresh', 'refresh', TIMESTAMPTZ '2026-11-01 05:00:00+00'), ('failed', 'night', NULL)`,
			"INSERT INTO meta.details (stream, id, run_id, read_at) VALUES ('order_details', 'b', 'night', TIMESTAMPTZ '2026-11-01 02:00:00+00')"))
	}
	list := wholeList(listing("a", "x", 1, 1), "")
	inputs := map[string]streamInput{"product_listings": list["product_listings"], "products": {coverage: load.ByID,
		outcomes: map[load.Outcome][]string{load.Answered: {"a", "b"}}, rows: rows{"products": jsonRow(1, 1, "id", `"a"`) + "," + jsonRow(2, 2, "id", `"b"`)}}}
	_, err := h.run(inputs, load.Limits{})
	harness.Must(t, err)
	h.planDetails = false
	products, _ := stream.Find(h.streams, "products")
	h.check(list, func(s *load.Stage, d *warehouse.Draft) {
		for _, c := range []struct {
			name                    string
			reread                  load.Rereading
			wasListRead             bool
			wantReasons             map[string][]string
			wantRequests            []string
			wantPlan, wantFinalPlan load.Plan // wantFinalPlan is the plan after a night without requests
		}{
			{"nothing changed", load.Rereading{}, true, map[string][]string{"carried": {"a"}, "new": {"b"}}, []string{"b"},
				load.Plan{ToRequest: 1, Carried: 1, MaxNights: 2}, load.Plan{Unread: 1, Carried: 1, MaxNights: 2}},
			{"all details are rechecked each night", load.Rereading{RecheckNights: 1}, true, map[string][]string{"recheck": {"a"}, "new": {"b"}}, []string{"b", "a"},
				load.Plan{ToRequest: 2, ToRecheck: 1}, load.Plan{Unread: 1, Carried: 1, MaxNights: 2}},
			{"a detail is overdue", load.Rereading{RecheckNights: 2}, true, map[string][]string{"recheck": {"a"}, "new": {"b"}}, []string{"b", "a"},
				load.Plan{ToRequest: 2, ToRecheck: 1}, load.Plan{Unread: 2}},
			{"the list was not read", load.Rereading{}, false, map[string][]string{"all": {"a", "b"}}, []string{"b", "a"},
				load.Plan{ToRequest: 2}, load.Plan{Unread: 2}},
		} {
			plan, err := s.PlanDetails(t.Context(), products, c.reread, func(string) bool { return c.wasListRead })
			harness.Must(t, err)
			if diff := cmp.Diff(c.wantReasons, h.plannedIDs(d, "products")); diff != "" || plan != c.wantPlan {
				t.Errorf("%s: the plan is %+v, want %+v; ids by reason (-want +got):\n%s", c.name, plan, c.wantPlan, diff)
			}
			if got := idsToRequest(t, s, products); !slices.Equal(got, c.wantRequests) {
				t.Errorf("%s: IDsToRequest returned %v, want %v", c.name, got, c.wantRequests)
			}
			plan, err = s.MarkUnread(t.Context(), products)
			harness.Must(t, err)
			if plan != c.wantFinalPlan {
				t.Errorf("%s: after a night without requests, the plan is %+v, want %+v", c.name, plan, c.wantFinalPlan)
			}
		}
	})
}

// TestTheDefaultRecheckIsAWeekOfNights plans a detail that was last read six nights ago, and again after one more night.
// In both cases there is no time for requests. The first plan carries the detail. In the second plan it is unread.
func TestTheDefaultRecheckIsAWeekOfNights(t *testing.T) {
	h := newFixture(t, "product_listings", "products")
	h.planDetails = true
	addNight := func(d *warehouse.Draft, n int) {
		const insert = "INSERT INTO meta.runs (run_id, kind, snapshot_at) VALUES ('n%[1]d', 'night', TIMESTAMPTZ '2026-11-01 0%[1]d:00:00+00')"
		harness.Must(t, d.Exec(t.Context(), sqltext.SQL(fmt.Sprintf(insert, n))))
	}
	h.afterMerge = func(_ *load.Stage, d *warehouse.Draft, _ map[string]load.Coverage, _ []load.Change) {
		for n := 2; n < 8; n++ { // the first of them is this night
			addNight(d, n)
		}
	}
	inputs := wholeList(listing("a", "x", 1, 1), "")
	inputs["products"] = streamInput{coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: {"a"}}}
	_, err := h.run(inputs, load.Limits{})
	harness.Must(t, err)
	h.planDetails, h.afterMerge = false, nil
	products, _ := stream.Find(h.streams, "products")
	h.check(wholeList(listing("a", "x", 1, 1), ""), func(s *load.Stage, d *warehouse.Draft) {
		for _, want := range []load.Plan{{Carried: 1, MaxNights: 6}, {Unread: 1}} {
			_, err := s.PlanDetails(t.Context(), products, load.Rereading{RecheckNights: config.Default().Streams.Recheck}, func(string) bool { return true })
			harness.Must(t, err)
			got, err := s.MarkUnread(t.Context(), products)
			harness.Must(t, err)
			if got != want {
				t.Errorf("a night without time leaves the plan %+v, want %+v", got, want)
			}
			addNight(d, 8)
		}
	})
}

// TestRefreshPlansOnlyItsTargets plans a known and an unknown id. A detail of another stream has the same id
// as a carried detail.
func TestRefreshPlansOnlyItsTargets(t *testing.T) {
	h := newFixture(t, "product_listings", "products", "orders", "order_details")
	h.planDetails = true
	lists := wholeList(listing("a", "x", 1, 1)+","+listing("b", "x", 2, 2), "")
	lists["products"] = streamInput{coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: {"a", "b"}}}
	lists["orders"] = streamInput{coverage: load.Whole, rows: rows{"orders": jsonRow(5, 5, "id", `"a"`)}}
	lists["order_details"] = streamInput{coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: {"a"}}}
	_, err := h.run(lists, load.Limits{})
	harness.Must(t, err)
	h.planDetails = false
	products, _ := stream.Find(h.streams, "products")
	h.check(map[string]streamInput{}, func(s *load.Stage, d *warehouse.Draft) {
		plan, err := s.PlanIDs(t.Context(), products, []string{"b", "it's new"})
		harness.Must(t, err)
		if plan.ToRequest != 2 || plan.Carried != 1 {
			t.Errorf("the plan is %+v, want 2 ids to request and 1 carried", plan)
		}
		if diff := cmp.Diff([]string{"a carried 1", "b event 2", "it's new event"}, planRows(t, d, "products", "id, why, fingerprint")); diff != "" {
			t.Errorf("plan (-want +got):\n%s", diff)
		}
	})
}

// TestIDsOfAnUnreadStreamArePlanned plans the comments of articles. An article of a campaign has comments only if the
// article itself was read. In a night that does not read articles, and in a refresh, its comments may be stored.
func TestIDsOfAnUnreadStreamArePlanned(t *testing.T) {
	h := newFixture(t, "campaign_articles", "articles", "article_comments")
	_, err := h.run(map[string]streamInput{"campaign_articles": {coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: {"c"}},
		rows: rows{"campaign_articles": jsonRow(1, 1, "id", `"a"`, "campaign_id", `"c"`)}}}, load.Limits{})
	harness.Must(t, err)
	comments, _ := stream.Find(h.streams, "article_comments")
	h.check(map[string]streamInput{}, func(s *load.Stage, _ *warehouse.Draft) {
		for _, wasRead := range []bool{true, false} {
			plan, err := s.PlanDetails(t.Context(), comments, load.Rereading{}, func(string) bool { return wasRead })
			harness.Must(t, err)
			if isPlanned := plan.ToRequest == 1; isPlanned == wasRead {
				t.Errorf("articles were read %t: the plan is %+v, want the comments of the article only if they were not", wasRead, plan)
			}
		}
		plan, err := s.PlanIDs(t.Context(), comments, []string{"b"})
		harness.Must(t, err)
		if want := (load.Plan{ToRequest: 1, Carried: 1, MaxNights: 1}); plan != want { // it is not known when the comments were read
			t.Errorf("the plan of a refresh is %+v, want %+v", plan, want)
		}
	})
}

// TestSecondPlanContainsLaterIDs plans again after more records were staged. They name a planned id and a new id.
func TestSecondPlanContainsLaterIDs(t *testing.T) {
	h := newFixture(t, "product_listings", "products", "order_items")
	products, _ := stream.Find(h.streams, "products")
	h.check(wholeList(listing("a", "x", 1, 1), ""), func(s *load.Stage, _ *warehouse.Draft) {
		wasRead := func(string) bool { return true }
		_, err := s.PlanDetails(t.Context(), products, load.Rereading{}, wasRead)
		harness.Must(t, err)
		later := jsonRow(1, 9, "id", `"i1"`, "product_id", `"a"`) + "," + jsonRow(2, 9, "id", `"i2"`, "product_id", `"z"`)
		harness.Must(t, s.AddRows(t.Context(), "order_items", "order_items", h.batch("order_items", later)))
		plan, err := s.PlanDetails(t.Context(), products, load.Rereading{}, wasRead)
		harness.Must(t, err)
		if plan.ToRequest != 2 {
			t.Errorf("the second plan is %+v, want 2 ids to request", plan)
		}
	})
}

// TestKnownIDs lists the known ids of campaign_status_counts: the ids of its stored rows, and the
// campaigns of staged or stored articles. An article without a campaign names no id.
func TestKnownIDs(t *testing.T) {
	h := newFixture(t, "campaigns", "campaign_articles", "campaign_status_counts")
	counts, _ := stream.Find(h.streams, "campaign_status_counts")
	requireKnown := func(want ...string) func(*load.Stage, *warehouse.Draft) {
		return func(s *load.Stage, _ *warehouse.Draft) {
			got, err := s.KnownIDs(t.Context(), counts)
			harness.Must(t, err)
			if !slices.Equal(slices.Sorted(maps.Keys(got)), want) {
				t.Errorf("known ids are %v, want %v", got, want)
			}
		}
	}
	h.beforeMerge = requireKnown("staged")
	_, err := h.run(map[string]streamInput{"campaign_articles": {coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: {"staged"}},
		rows: rows{"campaign_articles": jsonRow(1, 1, "id", `"x"`, "campaign_id", `"staged"`) + "," + jsonRow(2, 2, "id", `"y"`)}},
		"campaign_status_counts": {coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: {"own"}},
			rows: rows{"campaign_status_counts": jsonRow(1, 1, "campaign_id", `"own"`, "id", `"1"`)}}}, load.Limits{})
	harness.Must(t, err)
	h.check(map[string]streamInput{"campaign_status_counts": {coverage: load.ByID}}, requireKnown("own", "staged"))
}
