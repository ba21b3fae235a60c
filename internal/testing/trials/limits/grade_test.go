package limits_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
)

// lastReads contains the time of the last night that read an id from the service, by stream and id.
type lastReads map[string]map[string]time.Time

// record adds the responses of the last night. snapshotAt is the snapshot time of the night.
func (r lastReads) record(h *trials.Harness, snapshotAt time.Time) {
	for _, q := range h.Service.Requests() {
		for _, s := range h.Config.Streams {
			if !s.IsDetail() || q.Route != s.Path || q.Status != http.StatusOK {
				continue
			}
			before, after, _ := strings.Cut(s.Path, "{")
			_, after, _ = strings.Cut(after, "}")
			path, _, _ := strings.Cut(q.Path, "?")
			id := strings.TrimSuffix(strings.TrimPrefix(path, before), after)
			if r[s.Name] == nil {
				r[s.Name] = map[string]time.Time{}
			}
			r[s.Name][id] = snapshotAt
		}
	}
	h.Service.ResetRequests()
}

// oldest returns the earliest time in the map for a stream, in RFC 3339 format. It returns "" if no
// time is before snapshotAt.
func (r lastReads) oldest(stream string, snapshotAt time.Time) string {
	var oldest time.Time
	for _, readAt := range r[stream] {
		if readAt.Before(snapshotAt) && (oldest.IsZero() || readAt.Before(oldest)) {
			oldest = readAt
		}
	}
	if oldest.IsZero() {
		return ""
	}
	return oldest.UTC().Format(time.RFC3339Nano)
}

// requireStreamCounts compares rows, rows_old and age_since of every stream in meta.streams with
// the tables and with the times of the responses.
func requireStreamCounts(h *trials.Harness, res pipeline.Result, reads lastReads) {
	h.T.Helper()
	for _, s := range h.Config.Streams {
		root := s.Root()
		condition := "TRUE"
		for column, value := range root.Const {
			condition = fmt.Sprintf("%s = '%s'", column, value)
		}
		want := map[string]string{"rows": fmt.Sprint(h.Count("main."+root.Name, condition)), "rows_old": "0", "age_since": ""}
		isCarried := trials.StreamOf(h.T, res.Run, s.Name).Grade == stream.CarriedForward
		if s.IsDetail() {
			oldRows := 0
			for _, row := range trials.Query(h.T, h.Catalog(), "SELECT "+s.Param+" FROM main."+root.Name) {
				if reads[s.Name][row[0].String].Before(res.Run.SnapshotAt) {
					oldRows++
				}
			}
			want["rows_old"], want["age_since"] = fmt.Sprint(oldRows), reads.oldest(s.Name, res.Run.SnapshotAt)
		}
		rows := trials.Query(h.T, h.Catalog(), `SELECT rows::VARCHAR, rows_old::VARCHAR, epoch_us(age_since)::VARCHAR FROM meta.streams
			WHERE run_id = ? AND stream = ?`, res.Run.ID, s.Name)
		got := map[string]string{"rows": rows[0][0].String, "rows_old": rows[0][1].String, "age_since": ""}
		if rows[0][2].Valid {
			var us int64
			_, err := fmt.Sscan(rows[0][2].String, &us)
			testharness.Must(h.T, err)
			got["age_since"] = time.UnixMicro(us).UTC().Format(time.RFC3339Nano)
		}
		// All rows of a carried list are old. TestTrialBrokenListIsCarriedForward checks their age.
		if isCarried && !s.IsDetail() {
			want["rows_old"] = want["rows"]
			delete(want, "age_since")
			delete(got, "age_since")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			h.T.Errorf("meta.streams of %s in run %s (-want +meta.streams):\n%s", s.Name, res.Run.ID, diff)
		}
	}
}

// TestTrialMetaStreamsIsCorrectAfterEveryNight checks rows, rows_old and age_since of meta.streams
// after nights of several kinds: nights that read all streams, keep the rows of most details, are
// partial, or read only some streams.
func TestTrialMetaStreamsIsCorrectAfterEveryNight(t *testing.T) {
	trials.SkipIfShort(t)
	t.Parallel()
	world := trials.SettledWorld(40)
	world.SilentChange = 0.05
	h := trials.NewHarness(t, world)
	h.Config.Fetch.PageSize = 100
	h.UseChangedDetails(45, 4)
	reads := lastReads{}
	checkNight := func(res pipeline.Result) {
		t.Helper()
		reads.record(h, res.Run.SnapshotAt)
		requireStreamCounts(h, res, reads)
	}
	checkNight(h.GoodNight())
	checkNight(h.GoodNight())
	article := h.QueryOne("SELECT min(id) FROM articles")
	h.Service.SetFaults(sim.Fault{Path: "/files", Kind: sim.FaultStatus, Status: 500},
		sim.Fault{Path: "/articles/" + article + "/comments", Kind: sim.FaultStatus, Status: 500},
		sim.Fault{Route: "/profiles/{id}/orders", Kind: sim.FaultStatus, Status: 500})
	checkNight(h.PartialNight())
	h.Service.SetFaults()
	allStreams := h.Config.Chosen
	h.Config.Chosen = []string{"token", "campaigns", "campaign_details", "campaign_articles", "orders"}
	checkNight(h.GoodNight())
	h.Config.Chosen = allStreams
	checkNight(h.GoodNight())
	h.Config.Details = "all"
	checkNight(h.GoodNight())
	if n := h.Count("meta.streams", "run_id = ? AND rows_old > 0", h.LatestRun()); n != 0 {
		t.Errorf("%d streams have old rows after a night that read all streams and details, want none", n)
	}
}

// TestTrialExactStreamsEqualTheService runs nights in which details change and no list shows the
// change. A table whose streams are all graded exact or repaired must have the values of the
// service.
func TestTrialExactStreamsEqualTheService(t *testing.T) {
	t.Parallel()
	world := trials.RichWorld()
	world.SilentChange = 0.3
	h := trials.NewHarness(t, world)
	h.Config.Fetch.PageSize = 100
	h.UseChangedDetails(5, 3)
	ref := trials.NewReference(t, h.Service, h.Config.Streams)
	h.GoodNight()
	ref.CurrentRows() // collects the ids in the lists of the first night
	for range trials.Size(4, 2) {
		res := h.GoodNight()
		current, catalog := ref.CurrentRows(), h.Catalog()
		proven := map[string]bool{}
		for _, s := range res.Run.Streams {
			proven[s.Stream] = s.Grade == stream.Exact || s.Grade == stream.Repaired
		}
		for _, spec := range ref.UniqueTables() {
			if !slices.ContainsFunc(stream.FilledBy(h.Config.Streams, spec.Table), func(name string) bool { return !proven[name] }) {
				trials.CheckTable(t, spec, current, catalog, "main."+spec.Table)
			}
		}
		h.RequireStream(res.Run, "article_comments", stream.Bounded, "")
		h.RequireStream(res.Run, "outlets", stream.Bounded, "unchanged ids were last read at most")
	}
}

// TestTrialBoundedGradeNeedsRechecks checks the grade of details if a night carries some of them. It
// is bounded if all of them were read within streams.recheck nights, and best_effort otherwise.
func TestTrialBoundedGradeNeedsRechecks(t *testing.T) {
	t.Parallel()
	world := trials.SettledWorld(60)
	h := trials.NewHarness(t, world, "campaigns", "campaign_details", "campaign_articles", "articles")
	h.Config.Fetch.PageSize = 100
	h.UseChangedDetails(45, 0)
	h.RequireStream(h.GoodNight().Run, "campaign_articles", stream.Exact, "")
	h.RequireStream(h.GoodNight().Run, "campaign_articles", stream.BestEffort, "streams.recheck is 0")
	h.UseChangedDetails(45, 2)
	h.RequireStream(h.GoodNight().Run, "campaign_articles", stream.Exact, "") // all details were overdue
	h.RequireStream(h.GoodNight().Run, "campaign_articles", stream.Bounded, "at most 1 night ago")
	h.RequireStream(h.GoodNight().Run, "campaign_articles", stream.Bounded, "at most 1 night ago")
	h.RequireStream(h.GoodNight().Run, "campaign_details", stream.Bounded, "at most 1 night ago")
	// A failed detail is read again in the next night. Until then the grade is best_effort.
	h.Service.SetFaults(sim.Fault{Route: "/campaigns/{id}/articles", Kind: sim.FaultStatus, Status: 500, Times: 1})
	h.Config.Fetch.Retry.MaxRetries = 0
	res := h.PartialNight()
	h.RequireStream(res.Run, "campaign_articles", stream.BestEffort, "ids failed")
	if n := h.Count("meta.details", "stream = 'campaign_articles' AND failed_at IS NOT NULL AND read_at < failed_at"); n != 1 {
		t.Errorf("%d details are marked as failed, want 1", n)
	}
	h.Service.SetFaults()
	h.RequireStream(h.GoodNight().Run, "campaign_articles", stream.Bounded, "")
	if n := h.Count("meta.details", "failed_at IS NOT NULL"); n != 0 {
		t.Errorf("%d details are marked as failed after a good night, want none", n)
	}
}

// TestGradeOfAListWithForbiddenDetails checks the grade and the note of the tables of orders. The
// token has a scope to list orders, but no scope to read single orders.
func TestGradeOfAListWithForbiddenDetails(t *testing.T) {
	t.Parallel()
	world := trials.SmallWorld()
	world.TokenType, world.Scopes = "custom", []string{"orders.lists"}
	h := trials.NewHarness(t, world, trials.FewStreams()...)
	res := h.GoodNight()
	h.RequireStream(res.Run, "orders", stream.Exact, "")
	h.RequireStream(res.Run, "order_details", stream.Skipped, "missing scope orders.read")
	want := map[string]string{
		"orders":                   "exact: order_details was not read: missing scope orders.read",
		"order_line_items":         "best_effort: order_details was not read: missing scope orders.read",
		"order_line_item_includes": "best_effort: order_details was not read: missing scope orders.read",
		"product_listings":         "skipped: ",
	}
	for _, table := range res.Manifest.Tables {
		wantNote, ok := want[table.Name]
		if got := string(table.Grade) + ": " + table.Note; ok && got != wantNote {
			t.Errorf("grade and note of %s are %q, want %q", table.Name, got, wantNote)
		}
	}
}

// TestTrialOutletOfAWithdrawnProductIsRequested removes the outlet id from all listings, and later
// withdraws a product. The next night must still know the outlet of the product, and must request
// only the products of that outlet.
func TestTrialOutletOfAWithdrawnProductIsRequested(t *testing.T) {
	t.Parallel()
	world := trials.SmallWorld()
	world.SilentChange, world.ListingChange, world.ListingTurnover = -1, -1, -1
	h := trials.NewHarness(t, world, "product_listings", "outlet_listings", "outlets", "outlet_products")
	h.Config.Fetch.PageSize = 100
	h.UseChangedDetails(45, 0)
	withdrawn := ""
	rewriteListings := func(body []byte) []byte {
		envelope, _ := trials.Decode(string(body)).(map[string]any)
		var listed []any
		for _, r := range envelope["records"].([]any) {
			record := r.(map[string]any)
			if record["id"] == withdrawn {
				continue
			}
			record["outlet_id"] = nil
			listed = append(listed, record)
		}
		envelope["records"], envelope["total_records"] = listed, len(listed)
		return []byte(trials.Canonical(envelope))
	}
	faults := []sim.Fault{{Route: "/outlets", Kind: sim.FaultRewrite, Rewrite: rewriteListings},
		{Route: "/products/listings", Kind: sim.FaultRewrite, Rewrite: rewriteListings}}
	// Listings contain the ids of their outlets only in the first night.
	h.GoodNight()
	h.Service.SetFaults(faults...)
	h.SameDayNight()
	h.SameDayNight()
	if n := trials.StreamOf(t, h.SameDayNight().Run, "outlet_products").Fetched; n != 0 {
		t.Errorf("the products of %d outlets were requested in a night without changes, want none", n)
	}
	withdrawn = h.QueryOne("SELECT min(product_id) FROM outlet_products JOIN product_listings p ON p.id = product_id")
	outlet := h.QueryOne("SELECT outlet_id FROM outlet_products WHERE product_id = ?", withdrawn)
	h.Service.ResetRequests()
	h.SameDayNight()
	requested := slices.ContainsFunc(h.Service.Requests(), func(r sim.Request) bool { return strings.HasPrefix(r.Path, "/outlets/"+outlet+"/products") })
	if n := h.Service.RequestsByRoute()["/outlets/{id}/products"]; !requested || n != 1 {
		t.Errorf("the night requested the products of %d outlets, want 1, outlet %s (requested: %t)", n, outlet, requested)
	}
}
