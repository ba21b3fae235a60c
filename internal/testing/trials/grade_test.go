package trials_test

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
)

// lastReads contains the time of the last night that read an id from the service, by stream and id.
type lastReads map[string]map[string]time.Time

// record adds the responses of the last night. snapshotAt is the snapshot time of the night.
func (r lastReads) record(h *harness, snapshotAt time.Time) {
	for _, q := range h.service.Requests() {
		for _, s := range h.cfg.Streams {
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
	h.service.ResetRequests()
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
func requireStreamCounts(h *harness, res pipeline.Result, reads lastReads) {
	h.t.Helper()
	for _, s := range h.cfg.Streams {
		root := s.Root()
		condition := "TRUE"
		for column, value := range root.Const {
			condition = fmt.Sprintf("%s = '%s'", column, value)
		}
		want := map[string]string{"rows": fmt.Sprint(h.count("main."+root.Name, condition)), "rows_old": "0", "age_since": ""}
		isCarried := streamOf(h.t, res.Run, s.Name).Grade == stream.CarriedForward
		if s.IsDetail() {
			oldRows := 0
			for _, row := range query(h.t, h.catalog(), "SELECT "+s.Param+" FROM main."+root.Name) {
				if reads[s.Name][row[0].String].Before(res.Run.SnapshotAt) {
					oldRows++
				}
			}
			want["rows_old"], want["age_since"] = fmt.Sprint(oldRows), reads.oldest(s.Name, res.Run.SnapshotAt)
		}
		rows := query(h.t, h.catalog(), `SELECT rows::VARCHAR, rows_old::VARCHAR, epoch_us(age_since)::VARCHAR FROM meta.streams
			WHERE run_id = ? AND stream = ?`, res.Run.ID, s.Name)
		got := map[string]string{"rows": rows[0][0].String, "rows_old": rows[0][1].String, "age_since": ""}
		if rows[0][2].Valid {
			var us int64
			_, err := fmt.Sscan(rows[0][2].String, &us)
			testharness.Must(h.t, err)
			got["age_since"] = time.UnixMicro(us).UTC().Format(time.RFC3339Nano)
		}
		// All rows of a carried list are old. TestTrialBrokenListIsCarriedForward checks their age.
		if isCarried && !s.IsDetail() {
			want["rows_old"] = want["rows"]
			delete(want, "age_since")
			delete(got, "age_since")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			h.t.Errorf("meta.streams of %s in run %s (-want +meta.streams):\n%s", s.Name, res.Run.ID, diff)
		}
	}
}

// TestTrialMetaStreamsIsCorrectAfterEveryNight checks rows, rows_old and age_since of meta.streams
// after nights of several kinds: nights that read all streams, keep the rows of most details, are
// partial, or read only some streams.
func TestTrialMetaStreamsIsCorrectAfterEveryNight(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	world := settledWorld(40)
	world.SilentChange = 0.05
	h := newHarness(t, world)
	h.cfg.Fetch.PageSize = 100
	h.useChangedDetails(45, 4)
	reads := lastReads{}
	checkNight := func(res pipeline.Result) {
		t.Helper()
		reads.record(h, res.Run.SnapshotAt)
		requireStreamCounts(h, res, reads)
	}
	checkNight(h.goodNight())
	checkNight(h.goodNight())
	article := h.queryOne("SELECT min(id) FROM articles")
	h.service.SetFaults(sim.Fault{Path: "/files", Kind: sim.FaultStatus, Status: 500},
		sim.Fault{Path: "/articles/" + article + "/comments", Kind: sim.FaultStatus, Status: 500},
		sim.Fault{Route: "/profiles/{id}/orders", Kind: sim.FaultStatus, Status: 500})
	checkNight(h.partialNight())
	h.service.SetFaults()
	allStreams := h.cfg.Chosen
	h.cfg.Chosen = []string{"token", "campaigns", "campaign_details", "campaign_articles", "orders"}
	checkNight(h.goodNight())
	h.cfg.Chosen = allStreams
	checkNight(h.goodNight())
	h.cfg.Details = "all"
	checkNight(h.goodNight())
	if n := h.count("meta.streams", "run_id = ? AND rows_old > 0", h.latestRun()); n != 0 {
		t.Errorf("%d streams have old rows after a night that read all streams and details, want none", n)
	}
}

// TestTrialExactStreamsEqualTheService runs nights in which details change and no list shows the
// change. A table whose streams are all graded exact or repaired must have the values of the
// service.
func TestTrialExactStreamsEqualTheService(t *testing.T) {
	t.Parallel()
	world := richWorld()
	world.SilentChange = 0.3
	h := newHarness(t, world)
	h.cfg.Fetch.PageSize = 100
	h.useChangedDetails(5, 3)
	ref := newReference(t, h.service, h.cfg.Streams)
	h.goodNight()
	ref.currentRows() // collects the ids in the lists of the first night
	for range size(4, 2) {
		res := h.goodNight()
		current, catalog := ref.currentRows(), h.catalog()
		proven := map[string]bool{}
		for _, s := range res.Run.Streams {
			proven[s.Stream] = s.Grade == stream.Exact || s.Grade == stream.Repaired
		}
		for _, spec := range ref.uniqueTables() {
			if !slices.ContainsFunc(stream.FilledBy(h.cfg.Streams, spec.table), func(name string) bool { return !proven[name] }) {
				checkTable(t, spec, current, catalog, "main."+spec.table)
			}
		}
		h.requireStream(res.Run, "article_comments", stream.Bounded, "")
		h.requireStream(res.Run, "outlets", stream.Bounded, "unchanged ids were last read at most")
	}
}

// TestTrialBoundedGradeNeedsRechecks checks the grade of details if a night carries some of them. It
// is bounded if all of them were read within streams.recheck nights, and best_effort otherwise.
func TestTrialBoundedGradeNeedsRechecks(t *testing.T) {
	t.Parallel()
	world := settledWorld(60)
	h := newHarness(t, world, "campaigns", "campaign_details", "campaign_articles", "articles")
	h.cfg.Fetch.PageSize = 100
	h.useChangedDetails(45, 0)
	h.requireStream(h.goodNight().Run, "campaign_articles", stream.Exact, "")
	h.requireStream(h.goodNight().Run, "campaign_articles", stream.BestEffort, "streams.recheck is 0")
	h.useChangedDetails(45, 2)
	h.requireStream(h.goodNight().Run, "campaign_articles", stream.Exact, "") // all details were overdue
	h.requireStream(h.goodNight().Run, "campaign_articles", stream.Bounded, "at most 1 night ago")
	h.requireStream(h.goodNight().Run, "campaign_articles", stream.Bounded, "at most 1 night ago")
	h.requireStream(h.goodNight().Run, "campaign_details", stream.Bounded, "at most 1 night ago")
	// A failed detail is read again in the next night. Until then the grade is best_effort.
	h.service.SetFaults(sim.Fault{Route: "/campaigns/{id}/articles", Kind: sim.FaultStatus, Status: 500, Times: 1})
	h.cfg.Fetch.Retry.MaxRetries = 0
	res := h.partialNight()
	h.requireStream(res.Run, "campaign_articles", stream.BestEffort, "ids failed")
	if n := h.count("meta.details", "stream = 'campaign_articles' AND failed_at IS NOT NULL AND read_at < failed_at"); n != 1 {
		t.Errorf("%d details are marked as failed, want 1", n)
	}
	h.service.SetFaults()
	h.requireStream(h.goodNight().Run, "campaign_articles", stream.Bounded, "")
	if n := h.count("meta.details", "failed_at IS NOT NULL"); n != 0 {
		t.Errorf("%d details are marked as failed after a good night, want none", n)
	}
}

// TestGradeOfAListWithForbiddenDetails checks the grade and the note of the tables of orders. The
// token has a scope to list orders, but no scope to read single orders.
func TestGradeOfAListWithForbiddenDetails(t *testing.T) {
	t.Parallel()
	world := smallWorld()
	world.TokenType, world.Scopes = "custom", []string{"orders.lists"}
	h := newHarness(t, world, fewStreams()...)
	res := h.goodNight()
	h.requireStream(res.Run, "orders", stream.Exact, "")
	h.requireStream(res.Run, "order_details", stream.Skipped, "missing scope orders.read")
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
	world := smallWorld()
	world.SilentChange, world.ListingChange, world.ListingTurnover = -1, -1, -1
	h := newHarness(t, world, "product_listings", "outlet_listings", "outlets", "outlet_products")
	h.cfg.Fetch.PageSize = 100
	h.useChangedDetails(45, 0)
	withdrawn := ""
	rewriteListings := func(body []byte) []byte {
		envelope, _ := decode(string(body)).(map[string]any)
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
		return []byte(canonical(envelope))
	}
	faults := []sim.Fault{{Route: "/outlets", Kind: sim.FaultRewrite, Rewrite: rewriteListings},
		{Route: "/products/listings", Kind: sim.FaultRewrite, Rewrite: rewriteListings}}
	// Listings contain the ids of their outlets only in the first night.
	h.goodNight()
	h.service.SetFaults(faults...)
	h.sameDayNight()
	h.sameDayNight()
	if n := streamOf(t, h.sameDayNight().Run, "outlet_products").Fetched; n != 0 {
		t.Errorf("the products of %d outlets were requested in a night without changes, want none", n)
	}
	withdrawn = h.queryOne("SELECT min(product_id) FROM outlet_products JOIN product_listings p ON p.id = product_id")
	outlet := h.queryOne("SELECT outlet_id FROM outlet_products WHERE product_id = ?", withdrawn)
	h.service.ResetRequests()
	h.sameDayNight()
	requested := slices.ContainsFunc(h.service.Requests(), func(r sim.Request) bool { return strings.HasPrefix(r.Path, "/outlets/"+outlet+"/products") })
	if n := h.service.RequestsByRoute()["/outlets/{id}/products"]; !requested || n != 1 {
		t.Errorf("the night requested the products of %d outlets, want 1, outlet %s (requested: %t)", n, outlet, requested)
	}
}
