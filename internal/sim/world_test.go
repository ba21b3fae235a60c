package sim_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"

	"placementsync/internal/sim"
	"placementsync/internal/testing/harness"
)

// responsesByPath returns the lists and objects of a service, at most 150 of each route.
func responsesByPath(t *testing.T, service *sim.Service) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, paths := range samplePaths(t, service, 150) {
		for _, path := range paths {
			if object, ok := service.Object(path); ok {
				out[path] = string(object)
				continue
			}
			out[path] = string(bytes.Join(rawBytes(service.Records(path)), []byte{'\n'}))
		}
	}
	return out
}

func TestDaysDiffer(t *testing.T) {
	harness.Slow(t)
	service := sim.New(sim.Options{})
	for day := range 5 {
		want := time.Date(2026, 11, 1+day, 0, 0, 0, 0, time.UTC)
		if service.Day() != day || !service.Now().Equal(want) {
			t.Errorf("got day %d and time %v, want %d and %v", service.Day(), service.Now(), day, want)
		}
		before := map[string][]json.RawMessage{}
		for _, path := range pagedLists() {
			before[path] = service.Records(path)
		}
		service.Advance(1)
		for _, path := range []string{"/outlets", "/products/listings", "/orders", "/order-items", "/campaigns"} {
			if sameBytes(before[path], service.Records(path)) {
				t.Errorf("%s is the same on days %d and %d, want a change", path, day, day+1)
			}
		}
	}
}

func TestSizesFollowTheOptions(t *testing.T) {
	service := sim.New(sim.Options{
		Outlets: 50, Listings: 321, Profiles: 5, Campaigns: 77, Orders: 300, Folders: 3, HistoryDays: 400,
	})
	for path, want := range map[string]int{
		"/products/listings": 321, "/campaigns": 77, "/orders": 300, "/folders": 3,
		"/teams/" + service.TeamID() + "/profiles": 5,
	} {
		if got := len(service.Records(path)); got != want {
			t.Errorf("%s: got %d records, want %d", path, got, want)
		}
	}
}

func TestChangedShareOfListings(t *testing.T) {
	harness.Slow(t)
	service := sim.New(sim.Options{
		Listings: 8_000, HistoryDays: 2, Outlets: 2_000, ListingChange: 0.02, ListingTurnover: -1,
	})
	byID := map[string]string{}
	for _, raw := range service.Records("/products/listings") {
		byID[ids(t, []json.RawMessage{raw})[0]] = string(raw)
	}
	service.Advance(1)
	changed := 0
	for _, raw := range service.Records("/products/listings") {
		if byID[ids(t, []json.RawMessage{raw})[0]] != string(raw) {
			changed++
		}
	}
	if changed < 120 || changed > 180 {
		t.Errorf("%d of 8,000 rows changed, want about 160", changed)
	}
}

// dayValues contains values of one day.
type dayValues struct {
	paid         map[string]any    // date_paid by order; must never change
	history      map[string][]any  // status history by article; later days may only append
	campaignRows map[string]string // row by campaign
	statusSteps  map[string]int    // total length of the status histories of a campaign's articles
}

func readDay(t *testing.T, service *sim.Service) dayValues {
	t.Helper()
	out := dayValues{map[string]any{}, map[string][]any{}, map[string]string{}, map[string]int{}}
	for _, raw := range service.Records("/orders") {
		if order := record(t, raw); order["date_paid"] != nil {
			out.paid[order["id"].(string)] = order["date_paid"]
		}
	}
	for _, raw := range service.Records("/campaigns") {
		id := record(t, raw)["id"].(string)
		out.campaignRows[id] = string(raw)
		for _, row := range service.Records("/campaigns/" + id + "/articles") {
			article := record(t, row)
			history := article["status"].([]any)
			out.history[article["id"].(string)] = history
			out.statusSteps[id] += len(history)
		}
	}
	return out
}

func TestThePastDoesNotChange(t *testing.T) {
	harness.Slow(t)
	service := sim.New(sim.Options{})
	unchangedRows, grownHistories := 0, 0
	before := readDay(t, service)
	for range 10 {
		service.Advance(1)
		after := readDay(t, service)
		for id, paid := range before.paid {
			if after.paid[id] != paid {
				t.Errorf("the date_paid of order %s changed from %v to %v, want no change", id, paid, after.paid[id])
			}
		}
		for id, history := range before.history {
			if len(after.history[id]) > len(history) {
				grownHistories++
			}
			checkHistoryIsKept(t, id, history, after.history[id])
		}
		for id, row := range before.campaignRows {
			if after.statusSteps[id] != before.statusSteps[id] && after.campaignRows[id] == row {
				unchangedRows++
			}
		}
		before = after
	}
	if grownHistories == 0 || unchangedRows == 0 {
		t.Errorf("%d histories of articles grew, and %d campaigns kept their row while a history grew, want some of both", grownHistories, unchangedRows)
	}
}

func checkHistoryIsKept(t *testing.T, id string, before, after []any) {
	t.Helper()
	if len(after) < len(before) {
		t.Errorf("the history of article %s has %d statuses, want at least the %d of the day before", id, len(after), len(before))
		return
	}
	for i := range before {
		a, b := before[i].(map[string]any), after[i].(map[string]any)
		if a["prefix"] != b["prefix"] || a["effective_at"] != b["effective_at"] {
			t.Errorf("status %d of article %s is %v, want %v as on the day before", i, id, b, a)
		}
	}
}

func TestUpdatedAtOfCampaignsFollowsTheStatus(t *testing.T) {
	harness.Slow(t)
	service := sim.New(sim.Options{})
	updated := 0
	for range 6 {
		before := readDay(t, service).campaignRows
		service.Advance(1)
		for _, raw := range service.Records("/campaigns") {
			row := record(t, raw)
			oldJSON, ok := before[row["id"].(string)]
			if !ok {
				continue
			}
			oldRow := record(t, json.RawMessage(oldJSON))
			isStatusNew := oldRow["status"] != row["status"]
			isTimeNew := oldRow["updated_at"] != row["updated_at"]
			if isStatusNew != isTimeNew {
				t.Errorf("the status changed from %v to %v and updated_at from %v to %v, want both or neither", oldRow["status"], row["status"],
					oldRow["updated_at"], row["updated_at"])
			}
			if isTimeNew {
				updated++
			}
		}
	}
	if updated == 0 {
		t.Error("the updated_at of no campaign changed, want some changes")
	}
}

func TestReferencesAreValid(t *testing.T) {
	harness.Slow(t)
	s := serve(t, sim.Options{Seed: 2})
	s.service.Advance(14)
	orders := ids(t, s.service.Records("/orders"))
	items := ids(t, s.service.Records("/order-items"))
	listedProducts := ids(t, s.service.Records("/products/listings"))
	withdrawn, missing := 0, 0
	for _, raw := range s.service.Records("/order-items") {
		item := record(t, raw)
		if !slices.Contains(orders, item["order_id"].(string)) {
			t.Errorf("item %s names order %s, want a listed order", item["id"], item["order_id"])
		}
		if article, ok := item["article_id"].(string); ok {
			s.checkArticle(article, item, items)
		}
		product := item["product_id"].(string)
		switch got := s.get("/products/" + product); {
		case got.status == http.StatusNotFound:
			missing++
		case !slices.Contains(listedProducts, product):
			withdrawn++
			if record(t, got.body)["deleted_at"] == nil || record(t, got.body)["active"] != false {
				t.Errorf("got the withdrawn product %s, want deleted_at and active false", got.body)
			}
		}
	}
	if withdrawn == 0 || missing == 0 {
		t.Errorf("%d items have a withdrawn product, and %d have a product with status 404, want some of both", withdrawn, missing)
	}
}

// checkArticle follows the references from an item to its article, its campaign and back.
func (s testServer) checkArticle(id string, item map[string]any, items []string) {
	s.t.Helper()
	article := record(s.t, s.get("/articles/"+id).body)
	if article["product_id"] != item["product_id"] {
		s.t.Errorf("article %s names product %v, want product %v of item %s", id, article["product_id"], item["product_id"], item["id"])
	}
	rows := s.service.Records("/campaigns/" + article["campaign_id"].(string) + "/articles")
	index := slices.Index(ids(s.t, rows), id)
	if index < 0 {
		s.t.Fatalf("article %s is missing in the list of its campaign", id)
	}
	row := record(s.t, rows[index])
	if row["order_item_id"] != item["id"] || !slices.Contains(items, item["id"].(string)) {
		s.t.Errorf("article %s names item %s, want the listed item %s", id, row["order_item_id"], item["id"])
	}
	statuses := row["status"].([]any)
	last := statuses[len(statuses)-1].(map[string]any)
	if last["prefix"] != article["status"].(map[string]any)["prefix"] {
		s.t.Errorf("article %s has status %v, want %v, the last status of its history", id, article["status"], last["prefix"])
	}
}

func TestPaidLineItemsHaveIDs(t *testing.T) {
	service := sim.New(sim.Options{})
	items := ids(t, service.Records("/order-items"))
	unpaid := 0
	for _, raw := range service.Records("/orders") {
		order := record(t, raw)
		for _, line := range order["line_items"].([]any) {
			id, ok := line.(map[string]any)["id"].(string)
			if ok != (order["date_paid"] != nil) {
				t.Errorf("order %s with date_paid %v has a line with the id %q, want an id if and only if the order is paid", order["id"], order["date_paid"], id)
			}
			if ok && !slices.Contains(items, id) {
				t.Errorf("GET /order-items lacks the id %s of a paid line", id)
			}
			if !ok {
				unpaid++
			}
		}
	}
	if unpaid == 0 {
		t.Error("no order has an unpaid line, want some")
	}
}
