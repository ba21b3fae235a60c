package pipeline_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
)

// statusFault returns a fault that answers all requests of a route with a status.
func statusFault(route string, status int) sim.Fault {
	return sim.Fault{Route: route, Kind: sim.FaultStatus, Status: status}
}

// emptyListFault returns a fault that answers requests of a list with an empty page. times is the number of
// faulty responses. 0 means all responses.
func emptyListFault(path string, times int) sim.Fault {
	f := rewriteFault(path, `{"records":[],"total_records":0,"total_pages":0,"current_page":1,"next_page":null,"previous_page":null}`)
	f.Times = times
	return f
}

// streamLog matches the log line of a stream. Its groups are the level, the message, the key of an error, the name of
// the stream with its rows, and the standing.
var streamLog = regexp.MustCompile(
	`level=(\w+) msg="(stream.*?)"( error)?.* stream=(\w+ rows=\d+) .* (standing=(?:\w+|".*?"))`)

// TestFailedList answers requests of the list of orders with status 500, on the first night and on later nights. In the
// night between them, the list of files is truncated once, and is requested again.
func TestFailedList(t *testing.T) {
	h := newHarness(t, smallWorld(), "orders", "files", "folders")
	h.service.SetFaults(statusFault("/orders", 500))
	var log lockedBuffer
	h.logTo(&log)
	first := h.requirePartial(h.night())
	h.requireStream(first.Run, "orders", stream.Skipped, "answered 500", true)
	var logged []string
	for _, m := range streamLog.FindAllStringSubmatch(log.String(), -1) {
		logged = append(logged, strings.Join(m[1:], " "))
	}
	wantLog := []string{`INFO stream not read  error orders rows=0 standing="not read"`,
		"INFO stream read  files rows=5 standing=proven", "INFO stream read  folders rows=2 standing=proven"}
	if diff := cmp.Diff(wantLog, logged); diff != "" {
		t.Errorf("streams in the log (-want +got):\n%s", diff)
	}
	h.requireLines("SELECT count(*) FROM orders", "0")
	h.requireIDs("folders", "/folders")
	h.service.SetFaults(sim.Fault{Route: "/files", Kind: sim.FaultBrokenJSON, Times: 1})
	second := h.requireComplete(h.night())
	if s := h.requireStream(second.Run, "files", stream.Exact, "", false); s.Retries != 1 {
		t.Errorf("files: %+v, want one repeated request", s)
	}
	orders := len(h.service.Records("/orders"))
	h.service.SetFaults(statusFault("/orders", 500))
	for range 2 {
		res := h.requirePartial(h.night())
		s := h.requireStream(res.Run, "orders", stream.CarriedForward, "answered 500", true)
		if !s.AgeSince.Equal(second.Run.SnapshotAt) || s.Rows != int64(orders) || s.RowsOld != s.Rows || s.Retries == 0 || res.Run.Retries != s.Retries {
			t.Errorf("orders: %+v, want %d rows since %v", s, orders, second.Run.SnapshotAt)
		}
		if !strings.HasPrefix(s.Reason, "GET /orders answered 500") {
			t.Errorf("the reason is %q, want the 500 and no refusal of the token", s.Reason)
		}
		h.requireLines("SELECT count(*) FROM orders", fmt.Sprint(orders))
		h.requireIDs("folders", "/folders")
		for _, table := range res.Manifest.Tables {
			want := stream.Exact
			if strings.HasPrefix(table.Name, "order") {
				want = stream.CarriedForward
			}
			if table.Grade != want {
				t.Errorf("table %s is %s, want %s", table.Name, table.Grade, want)
			}
		}
	}
}

// TestForbiddenStreams answers requests with 403. A 403 is an error if the scopes of the stream are documented, or if
// an earlier night read the stream.
func TestForbiddenStreams(t *testing.T) {
	h := newHarness(t, smallWorld(), "tags", "campaigns", "campaign_articles", "articles")
	h.service.SetFaults(statusFault("/articles/{id}", 403))
	res := h.requireComplete(h.night())
	h.requireStream(res.Run, "articles", stream.Skipped, "403", false)
	h.service.SetFaults()
	h.requireComplete(h.night())
	articles := h.singleLine("SELECT count(*) FROM articles")
	h.service.SetFaults(statusFault("/articles/{id}", 403), statusFault("/tags", 403))
	res = h.requirePartial(h.night())
	h.requireStream(res.Run, "articles", stream.CarriedForward, "403", true)
	h.requireLines("SELECT count(*) FROM articles", articles)
	h.requireStream(res.Run, "tags", stream.CarriedForward, "403", true)
}

// TestForbiddenListOfEachToken answers a list that no night has read with 403. The scopes of all documented types of tokens
// are known, so that the 403 is an error.
func TestForbiddenListOfEachToken(t *testing.T) {
	h := newHarness(t, smallWorld(), "tags", "files")
	h.cfg.DryRun = true
	for tokenType, isError := range map[string]bool{"full_access": true, "custom": true, "read_only": true, "of_the_future": false} {
		h.service.SetFaults(statusFault("/files", 403),
			rewriteFault("/auth/token", `{"token_type":"`+tokenType+`","team_id":7,"scopes":["tags.lists","files.lists"]}`))
		res, err := h.night()
		testharness.Must(t, err)
		h.requireStream(res.Run, "files", stream.Skipped, "403", isError)
	}
}

// TestListsBeyondTheScopes reads products with a token that may read only one of the lists with their ids. The records
// of the other list are not visible to the token, so that they do not count.
func TestListsBeyondTheScopes(t *testing.T) {
	world := smallWorld()
	world.TokenType, world.Scopes = "custom", []string{"products.read"}
	h := newHarness(t, world, "outlet_listings", "product_listings", "products")
	h.cfg.DryRun = true
	res := h.requireComplete(h.night())
	h.requireStream(res.Run, "outlet_listings", stream.Skipped, "missing scope outlets.lists", false)
	h.requireStream(res.Run, "products", stream.Exact, "", false)
}

// TestLimitedToken reads only the streams whose scopes the token has. A night without data must fail.
func TestLimitedToken(t *testing.T) {
	world := smallWorld()
	world.TokenType, world.Scopes = "custom", []string{"orders.lists"}
	h := newHarness(t, world, "token", "orders", "order_details", "product_listings")
	res := h.requireComplete(h.night())
	h.requireStream(res.Run, "orders", stream.Exact, "", false)
	h.requireStream(res.Run, "product_listings", stream.Skipped, "missing scope products.read", false)
	h.requireStream(res.Run, "order_details", stream.Skipped, "missing scope orders.read", false)
	const note = "order_details was not read: missing scope orders.read"
	wantTables := map[string]string{"orders": "exact " + note, "order_line_items": "best_effort " + note, "product_listings": "skipped "}
	for _, table := range res.Manifest.Tables {
		want, ok := wantTables[table.Name]
		if got := string(table.Grade) + " " + table.Note; ok && got != want {
			t.Errorf("the manifest has the grade and note %q of %s, want %q", got, table.Name, want)
		}
	}
	firstAt := res.Run.SnapshotAt

	// The next night is expected to send as many requests to the streams that it may read. The plan itself reads one page
	// of each list among them.
	h.service.ResetRequests()
	plan, err := pipeline.PlanNight(t.Context(), h.cfg)
	if diff := cmp.Diff(map[string]int{"/auth/token": 1, "/orders": 1}, h.service.RequestsByRoute()); diff != "" {
		t.Errorf("requests of the plan (-want +got):\n%s", diff)
	}
	testharness.Must(t, errors.Join(err, plan.MissingErr, plan.WriteErr))
	wantRequests := int64(0)
	for _, planned := range plan.Streams {
		s := streamOf(t, res.Run, planned.Name)
		wantReason, want := "", s.Requests+s.Reused
		if s.Grade == stream.Skipped {
			wantReason, want = s.Reason, -1
		}
		wantRequests += max(want, 0)
		if planned.SkipReason != wantReason || planned.LastRequests != want || planned.IsLost {
			t.Errorf("the plan of %s is %+v, want the reason %q and %d requests", planned.Name, planned, wantReason, want)
		}
	}
	if plan.Requests != wantRequests || len(plan.Streams) != 4 || plan.NeverRead != 0 {
		t.Errorf("the plan is %+v, want %d requests in 4 streams", plan, wantRequests)
	}
	if plan.LastNight.ID != res.Run.ID || plan.PublishedRun != res.Run.ID {
		t.Errorf("the plan is %+v, want the last and published night %s", plan, res.Run.ID)
	}
	if plan.Latency <= 0 || plan.FreeBytes <= 0 || plan.NeedBytes <= 0 {
		t.Errorf("the plan is %+v, want a latency and sizes", plan)
	}
	if plan.LockedErr != nil || len(plan.Damage) > 0 || len(plan.Renamed) > 0 {
		t.Errorf("the plan is %+v, want no problem of the warehouse", plan)
	}

	// Excluded streams keep their rows. The listings, which no night has read, have no age.
	orders := h.singleLine("SELECT count(*) FROM orders")
	h.cfg.Chosen = []string{"token"}
	res = h.requireComplete(h.night())
	s := h.requireStream(res.Run, "orders", stream.CarriedForward, ledger.ReasonNotChosen, false)
	if fmt.Sprint(s.Rows) != orders || s.RowsOld != s.Rows || !s.AgeSince.Equal(firstAt) || !streamOf(t, res.Run, "product_listings").AgeSince.IsZero() {
		t.Errorf("orders: %+v, want %s rows since %v, and product_listings without an age", s, orders, firstAt)
	}
	h.requireLines("SELECT count(*) FROM orders", orders)

	h.cfg.Chosen = []string{"product_listings", "order_details"}
	_, err = h.failedNight()
	want := "read the service: no stream could be read; nothing was published; readers keep the last snapshot: run placementsync check\n  token: " + ledger.ReasonNotChosen + "\n  product_listings: missing scope products.read\n" +
		"  orders: " + ledger.ReasonNotChosen + "\n  order_details: missing scope orders.read"
	if !errors.Is(err, pipeline.ErrNoData) || err.Error() != want {
		t.Errorf("got the error\n%s\nwant\n%s", err, want)
	}
}

// TestMostRecordsRejected answers with records that cannot be stored. More than half of them make the night partial.
func TestMostRecordsRejected(t *testing.T) {
	h := newHarness(t, smallWorld(), "outlet_listings", "outlets", "files")
	for files, isPartial := range map[string]bool{`[{"id":"a","new":1},{"name":"b"}]`: false, `[{"id":"a"},{"name":"b"},{"name":"c"}]`: true} {
		h.service.SetFaults(rewriteFault("/files", files))
		res, err := h.night()
		if isPartial {
			h.requirePartial(res, err)
			s := h.requireStream(res.Run, "files", stream.BestEffort,
				"66 % of the records were rejected (meta.rejects); rows of earlier nights are kept; 2 records rejected", true)
			if s.Rejects != 2 {
				t.Errorf("the ledger counts %d rejects, want 2", s.Rejects)
			}
		} else {
			h.requireComplete(res, err)
			h.requireStream(res.Run, "files", stream.BestEffort, "1 record rejected", false)
		}
		h.requireLines("SELECT id FROM files", "a")
		h.requireLines("SELECT key, page, raw FROM meta.rejects WHERE position = 2 AND run_id = '"+res.Run.ID+"'", `NULL 1 {"name":"b"}`)
	}
	h.requireLines("SELECT path, kind, count, key FROM meta.drift WHERE table_name = 'files'", "new unknown_field 1 a")
	outlets := h.lines("SELECT id FROM outlets ORDER BY id")
	h.service.SetFaults(rewriteFault("/outlets/", `{"id":"another"}`))
	res := h.requirePartial(h.night())
	h.requireStream(res.Run, "outlets", stream.BestEffort, "100 % of the records were rejected", true)
	h.requireLines("SELECT id FROM outlets ORDER BY id", outlets...)
}

// TestOneFailingPage answers page 2 of a list with 500. The rows of the other pages are used on the first night, and
// the rows of the failing page are kept on a later night.
func TestOneFailingPage(t *testing.T) {
	world := smallWorld()
	isFailing := true
	world.FaultFunc = func(r *http.Request) *sim.Fault {
		if isFailing && r.URL.Path == "/orders" && r.URL.Query().Get("page") == "2" {
			return &sim.Fault{Kind: sim.FaultStatus}
		}
		return nil
	}
	h := newHarness(t, world, "orders")
	var complete time.Time // the last complete night
	for _, tc := range []struct {
		isFailing bool
		rows      string
	}{{true, "7"}, {false, "9"}, {true, "9"}} {
		isFailing = tc.isFailing
		res, _, err := h.limitedNight(0)
		if isFailing {
			h.requirePartial(res, err)
			s := h.requireStream(res.Run, "orders", stream.BestEffort, "page 2 could not be read; the other pages are used; first error: ", true)
			if s.Failed != 1 {
				t.Errorf("the ledger counts %d failed pages, want 1", s.Failed)
			}
			if !s.AgeSince.Equal(complete) {
				t.Errorf("the orders of page 2 are from %v, want %v", s.AgeSince, complete)
			}
		} else {
			complete = h.requireComplete(res, err).Run.SnapshotAt
		}
		h.requireLines("SELECT count(*) FROM orders", tc.rows)
	}
}

// TestLostScopes takes scopes from the token after the first night. Each later night is partial until the configuration
// excludes the streams. A stream that no night could read does not make a night partial. The list has other reference
// numbers than the details, which must be kept.
func TestLostScopes(t *testing.T) {
	h := newHarness(t, smallWorld(), append(orderStreamNames(), "tags", "files")...)
	setScopes := func(scopes string) {
		h.service.SetFaults(rewriteFault("/auth/token", `{"token_type":"custom","team_id":"t","scopes":[`+scopes+`]}`),
			sim.Fault{Route: "/orders", Kind: sim.FaultRewrite, Rewrite: func(body []byte) []byte {
				return bytes.ReplaceAll(body, []byte(`"reference_number":"`), []byte(`"reference_number":"of the list `))
			}})
	}
	requireLost := func(want ...string) {
		t.Helper()
		plan, err := pipeline.PlanNight(t.Context(), h.cfg)
		testharness.Must(t, err)
		lost := []string{}
		for _, s := range plan.Streams {
			if s.IsLost {
				lost = append(lost, s.Name)
			}
		}
		if !slices.Equal(lost, want) {
			t.Errorf("the plan names %v as lost, want %v", lost, want)
		}
	}
	setScopes(`"tags.lists","orders.lists","orders.read"`)
	requireLost()
	h.requireComplete(h.night())
	orders := h.singleLine("SELECT count(*) FROM orders")

	setScopes(`"tags.lists","orders.lists"`)
	requireLost("order_details")
	res := h.requirePartial(h.unchangedNight())
	h.requireStream(res.Run, "orders", stream.Exact, "", false)
	if res.Run.Changed != 0 {
		t.Errorf("%d rows changed, want none: the values of the details are kept", res.Run.Changed)
	}
	setScopes(`"tags.lists"`)
	requireLost("orders", "order_details")
	res = h.requirePartial(h.night())
	const advice = "; an earlier night read this stream: restore the right, or add the stream to streams.exclude"
	h.requireStream(res.Run, "orders", stream.CarriedForward, "missing scope orders.lists"+advice, true)
	h.requireStream(res.Run, "order_details", stream.CarriedForward, "missing scope orders.read"+advice, true)
	h.requireStream(res.Run, "files", stream.Skipped, "missing scope files.lists", false)
	h.requireLines("SELECT count(*) FROM orders", orders)
	h.cfg.Chosen = []string{"tags", "files"}
	requireLost()
	res = h.requireComplete(h.night())
	h.requireStream(res.Run, "orders", stream.CarriedForward, ledger.ReasonNotChosen, false)
}

// TestTokenErrors answers a detail with 401. Then it answers GET /auth/token with 500, and with an unknown type of token.
func TestTokenErrors(t *testing.T) {
	h := newHarness(t, smallWorld(), orderStreamNames()...)
	h.requireComplete(h.night())
	h.service.SetFaults(statusFault("/orders/{order_id}", http.StatusUnauthorized))
	res, err := h.failedNight()
	if rejected := errorOf[*fetch.StatusError](t, err); !errors.Is(err, fetch.ErrAuth) || rejected.Stream != "order_details" || len(res.Run.Streams) == 0 {
		t.Errorf("the night ended with %v, want ErrAuth of order_details, and streams in the ledger", err)
	}
	h.service.SetFaults(statusFault("/auth/token", 500))
	_, err = h.failedNight()
	if !strings.HasPrefix(err.Error(), "check the token: ") {
		t.Errorf("the night ended with %v, want an error that begins with \"check the token\"", err)
	}
	// With an unknown type of token, all streams are requested. The service accepts or rejects each request.
	h.service.SetFaults(rewriteFault("/auth/token", `{"token_type":"of_the_future","team_id":7,"scopes":[]}`))
	plan, err := pipeline.PlanNight(t.Context(), h.cfg)
	testharness.Must(t, err)
	if plan.Token.Type != "of_the_future" || plan.Token.TeamID != "7" || plan.NeverRead != 0 || plan.Requests == 0 {
		t.Errorf("the plan is %+v, want the token type of_the_future, team 7, NeverRead 0 and requests", plan)
	}
	h.requireComplete(h.night())
	h.requireLines("SELECT outcome, count(*) FROM meta.runs GROUP BY 1 ORDER BY 1", "complete 2", "failed 2")
	h.cfg.TeamID = "from the configuration"
	if plan, err = pipeline.PlanNight(t.Context(), h.cfg); err != nil || plan.Token.TeamID != "from the configuration" {
		t.Errorf("the team is %q (%v), want the team of the configuration", plan.Token.TeamID, err)
	}
}

// TestFailedDetails answers the request of a detail with status 500, and the request of another one with an empty object,
// which is not accepted for an id with rows.
func TestFailedDetails(t *testing.T) {
	h := newHarness(t, smallWorld(), orderStreamNames()...)
	h.requireComplete(h.night())
	orders := h.lines("SELECT id FROM orders ORDER BY id")
	h.service.SetFaults(sim.Fault{Path: "/orders/" + orders[0], Kind: sim.FaultStatus, Status: 500}, rewriteFault("/orders/"+orders[1], `{}`))
	before := h.lines("SELECT to_json(o)::VARCHAR FROM orders o WHERE id IN ('" + orders[0] + "','" + orders[1] + "') ORDER BY id")
	res := h.requirePartial(h.unchangedNight())
	s := h.requireStream(res.Run, "order_details", stream.BestEffort, fmt.Sprintf("2 of %d ids failed; rows of earlier nights are kept; first error: ", len(orders)), true)
	if s.Failed != 2 || s.Fetched != int64(len(orders)-2) || s.Distinct != s.Fetched || s.Carried != 0 || s.RowsOld != 2 {
		t.Errorf("order_details: %+v, want 2 of %d failed", s, len(orders))
	}
	h.requireLines("SELECT to_json(o)::VARCHAR FROM orders o WHERE id IN ('"+orders[0]+"','"+orders[1]+"') ORDER BY id", before...)
	h.requireIDs("orders", "/orders")
}

// TestChangedDetails reads only new, changed and live details, and settled details that are due. All other
// details must be carried.
func TestChangedDetails(t *testing.T) {
	world := smallWorld()
	world.HistoryDays, world.Orders, world.SilentChange, world.ListingChange = 2000, 30, -1, -1
	h := newHarness(t, world, orderStreamNames()...)
	h.cfg.Details, h.cfg.Recheck, h.cfg.LiveDays = pipeline.ChangedDetails, 3, 1
	allDetails := streamOf(t, h.requireComplete(h.night()).Run, "order_details").Fetched
	if allDetails < 20 {
		t.Fatalf("the first night read %d details, want at least 20", allDetails)
	}
	res := h.requireComplete(h.unchangedNight())
	s := h.requireStream(res.Run, "order_details", stream.Bounded, "were last read at most 1 night ago", false)
	if s.Carried == 0 || s.Carried+s.Fetched != allDetails || s.Rechecked == 0 || s.Rechecked > s.Fetched {
		t.Errorf("order_details: %+v, want some of %d carried and some read again", s, allDetails)
	}
	h.requireIDs("orders", "/orders")
	// Of all orders, few are missing. Of the requested ones, enough are missing to stop a night.
	h.cfg.Limits = load.Limits{Share: 0.2, Rows: 3}
	h.service.SetFaults(sim.Fault{Route: "/orders/{order_id}", Times: 4, Kind: sim.FaultStatus, Status: http.StatusNotFound})
	res = h.requirePartial(h.unchangedNight())
	if s := streamOf(t, res.Run, "order_details"); s.Failed != 4 || s.Carried < s.Fetched {
		t.Errorf("order_details: %+v, want 4 failed ids, and more carried ids than read ones", s)
	}
	h.service.SetFaults()
	h.cfg.Details = pipeline.NoDetails
	plan, err := pipeline.PlanNight(t.Context(), h.cfg)
	testharness.Must(t, err)
	for _, s := range plan.Streams {
		if s.IsLost {
			t.Errorf("the plan names %s as lost, want no stream: the configuration excludes details", s.Name)
		}
	}
	res = h.requireComplete(h.unchangedNight())
	h.requireStream(res.Run, "order_details", stream.CarriedForward, ledger.ReasonNoDetails, false)
	h.requireIDs("orders", "/orders")
}

// gatedHarness returns a harness with one published night, and with gates that stop a loss of more
// than three rows.
func gatedHarness(t *testing.T, names ...string) *harness {
	t.Helper()
	h := newHarness(t, smallWorld(), names...)
	h.cfg.Limits, h.cfg.ResumeMaxAge = load.Limits{Share: 0.2, Rows: 3}, 24*time.Hour
	h.requireComplete(h.night())
	return h
}

// TestGateReadsListsAgain answers the first request of a list with an empty page. The night must read this
// list a second time, without new requests of the other lists. The log must have the losses,
// without the advice of MassDeleteError.
func TestGateReadsListsAgain(t *testing.T) {
	h := gatedHarness(t, "files", "tags", "article_status_events")
	h.deliver(statusEvent("a", "1"))
	h.service.SetFaults(emptyListFault("/files", 1))
	h.service.ResetRequests()
	var log lockedBuffer
	h.logTo(&log)
	res := h.requireComplete(h.night())
	h.requireIDs("files", "/files")
	h.requireStream(res.Run, "files", stream.Exact, "", false)
	h.requireLines("SELECT event_id FROM article_status_events", "a")
	routes := h.service.RequestsByRoute()
	if routes["/files"] < 2 || routes["/tags"] != 2 || !strings.Contains(log.String(), "too many rows would be deleted: streams are read a second time") {
		t.Errorf("the files were requested %d times and the tags %d times, want at least 2 requests of the files and 2 of the tags, in one reading; the log has:\n%s", routes["/files"], routes["/tags"], log.String())
	}
	if !strings.Contains(log.String(), ` would be deleted in one night"`) || strings.Contains(log.String(), "nothing was published") || strings.Contains(log.String(), "replay") {
		t.Errorf("the log has:\n%s\nwant the losses without advice", log.String())
	}
	if len(res.Run.Losses) > 0 {
		t.Errorf("the complete night has the losses %+v, want none", res.Run.Losses)
	}
}

// TestGateStopsTheNight answers all requests of a list with an empty page. The night must be published only
// with AllowMassDelete.
func TestGateStopsTheNight(t *testing.T) {
	h := gatedHarness(t, "files", "tags")
	files := int64(len(h.service.Records("/files")))
	h.service.SetFaults(emptyListFault("/files", 0))
	h.service.ResetRequests()
	res, err := h.failedNight()
	massDelete := errorOf[*load.MassDeleteError](t, err)
	if !massDelete.Reread || len(massDelete.Losses) == 0 || massDelete.Losses[0] != (ledger.Loss{Table: "files", Gone: files, Before: files}) || len(res.Run.Losses) != len(massDelete.Losses) {
		t.Errorf("the night ended with %v and the losses %+v, want all files lost after a second reading", err, res.Run.Losses)
	}
	if n := h.service.RequestsByRoute()["/files"]; n != 2 {
		t.Errorf("the empty list was requested %d times, want 2", n)
	}
	h.service.SetFaults()
	plan, err := pipeline.PlanNight(t.Context(), h.cfg)
	testharness.Must(t, err)
	if plan.StoppedRun == nil || plan.StoppedRun.ID != res.Run.ID {
		t.Errorf("the plan shows %+v, want the stopped run", plan.StoppedRun)
	}
	// The gate also stops a replay of the night, whose error must not claim a second reading.
	h.service.ResetRequests()
	h.at = h.at.Add(time.Minute)
	_, err = pipeline.Replay(t.Context(), h.cfg, res.Run.ID)
	if replayed := errorOf[*load.MassDeleteError](t, err); replayed.Reread || !strings.HasSuffix(err.Error(), ": run placementsync run") || len(h.service.Requests()) > 0 {
		t.Errorf("the replay ended with %v after %d requests, want an error without requests", err, len(h.service.Requests()))
	}
	accepting := h.cfg
	accepting.AllowMassDelete, accepting.DryRun = true, true
	if _, err := pipeline.Replay(t.Context(), accepting, res.Run.ID); err != nil {
		t.Errorf("the replay with an accepted deletion ended with %v, want no error: it cannot read the list again", err)
	}
	// The stopped run is not resumed, because its responses may be wrong.
	if next := h.requireComplete(h.unchangedNight()); next.Run.ID == res.Run.ID {
		t.Errorf("run %s was resumed, want a new run", res.Run.ID)
	}
	if plan, err = pipeline.PlanNight(t.Context(), h.cfg); err != nil || plan.StoppedRun != nil {
		t.Errorf("after a complete night the plan shows %+v (%v), want no stopped run", plan.StoppedRun, err)
	}
	h.service.SetFaults(emptyListFault("/files", 0))
	h.cfg.AllowMassDelete = true
	h.service.ResetRequests()
	if res := h.requireComplete(h.night()); res.Run.Gone < files || h.service.RequestsByRoute()["/files"] != 2 {
		t.Errorf("the accepted night removed %d rows after %d readings of the list, want all files after 2", res.Run.Gone,
			h.service.RequestsByRoute()["/files"])
	}
	h.requireLines("SELECT count(*) FROM files", "0")
}

// TestGateReads404Again answers 404 for all articles. The articles, and the lists that contain their ids,
// must be read a second time before the gate stops the night.
func TestGateReads404Again(t *testing.T) {
	h := newHarness(t, campaignWorld(), "campaigns", "campaign_articles", "articles", "tags")
	h.cfg.Limits = load.Limits{Share: 0.2, Rows: 3}
	h.cfg.Fetch.PageSize = 100
	h.service.SetFaults(statusFault("/articles/{id}", http.StatusNotFound))
	h.service.ResetRequests()
	_, err := h.failedNight()
	massDelete := errorOf[*load.MassDeleteError](t, err)
	if !massDelete.Reread || len(massDelete.Losses) != 1 || massDelete.Losses[0].Table != "articles" || !massDelete.Losses[0].NotFound {
		t.Fatalf("the night ended with %v, want a loss of articles by 404 after a second reading", err)
	}
	campaigns, routes := len(h.service.Records("/campaigns")), h.service.RequestsByRoute()
	if routes["/campaigns/{id}/articles"] != 2*campaigns || routes["/tags"] != 1 {
		t.Errorf("the articles of %d campaigns were requested %d times, want twice each, and the tags %d times, want once", campaigns,
			routes["/campaigns/{id}/articles"], routes["/tags"])
	}
	h.cfg.AllowMassDelete = true
	res := h.requirePartial(h.unchangedNight())
	s := h.requireStream(res.Run, "articles", stream.BestEffort, "returned 404 although a list contains them; they have no rows from an earlier night", true)
	if s.Fetched != 0 || s.Failed != massDelete.Losses[0].Gone {
		t.Errorf("articles: %+v, want %d failed", s, massDelete.Losses[0].Gone)
	}
}

// TestProgress reads the progress before, during and after nights.
func TestProgress(t *testing.T) {
	h := newRaceHarness(t, smallWorld(), append(orderStreamNames(), "product_listings", "folders")...)
	tracker := &pipeline.ProgressTracker{}
	h.cfg.Progress, h.cfg.Fetch.Concurrency = tracker, 1
	h.cfg.Details = pipeline.AllDetails
	var duringList, duringDetails ledger.Progress // at the requests for the second page of orders and for the last detail
	hook := func(r *http.Request) {
		switch {
		case r.URL.Path == "/orders" && r.URL.Query().Get("page") == "2":
			duringList, _ = tracker.Progress()
		case strings.HasPrefix(r.URL.Path, "/orders/"):
			duringDetails, _ = tracker.Progress()
		}
	}
	h.onRequest.Store(&hook)
	streamProgress := func(p ledger.Progress, name string) ledger.StreamProgress {
		t.Helper()
		for _, s := range p.Streams {
			if s.Name == name {
				return s
			}
		}
		t.Fatalf("the progress has no stream %s", name)
		return ledger.StreamProgress{}
	}
	var expected int64
	for night := 1; night <= 2; night++ {
		if _, ok := tracker.Progress(); ok {
			t.Error("Progress returned true while no run was in progress")
		}
		orders := int64(len(h.service.Records("/orders")))
		res := h.requireComplete(h.unchangedNight())
		if duringList.Run != res.Run.ID || duringList.Phase != "reading orders" || !duringList.StartedAt.Equal(res.Run.StartedAt) || duringList.Requests < 3 {
			t.Errorf("night %d, during the list: %+v, want run %s reading orders", night, duringList, res.Run.ID)
		}
		// The 9 orders are two pages of at most 7.
		if s := streamProgress(duringList, "orders"); s.State != ledger.Reading || s.Done != 1 || s.Total != 2 || s.Rows != 7 || s.Pass != 1 || s.Requests != 1 || s.Share() != 50 {
			t.Errorf("night %d, orders: %+v, want 1 of 2 pages with 7 rows", night, s)
		}
		if s := streamProgress(duringList, "product_listings"); s.State != ledger.Read {
			t.Errorf("night %d, product_listings: %+v, want the state read", night, s)
		}
		if s := streamProgress(duringList, "order_details"); s.State != ledger.Waiting || s.Total != 0 {
			t.Errorf("night %d, order_details during the list: %+v, want the state waiting", night, s)
		}
		if s := streamProgress(duringDetails, "order_details"); s.Total != orders || s.Done != orders-1 || s.Rows == 0 || s.State != ledger.Reading {
			t.Errorf("night %d, order_details during the last request: %+v, want %d of %d", night, s, orders-1, orders)
		}
		if s := streamProgress(duringDetails, "orders"); s.State != ledger.Read || s.Grade != "exact" || s.Rows != orders || s.Reason == "" {
			t.Errorf("night %d, orders during the details: %+v, want the state read, the grade exact and %d rows", night, s, orders)
		}
		// The estimate counts the pages of a list but not the request that confirms the list, so it is exact
		// only after the other lists are read. GET /auth/token is counted, although this night does not read the
		// stream token.
		othersAreRead := streamProgress(duringList, "folders").State == ledger.Read
		isFirstNight := night == 1 // which expects no number of requests
		isExact := isFirstNight || othersAreRead
		if isExact && duringList.Expected != expected {
			t.Errorf("night %d: %d requests are expected, want %d", night, duringList.Expected, expected)
		}
		expected = res.Run.Requests
		if duringDetails.Expected != expected {
			t.Errorf("night %d, during the last request: %d requests are expected, want %d", night, duringDetails.Expected, expected)
		}
	}
}

// TestTokenWithoutTeam reads a token without team_id, whose scopes are a text. The team of the configuration is used.
// Without it, the streams that need a team are skipped.
func TestTokenWithoutTeam(t *testing.T) {
	h := newHarness(t, smallWorld(), "token", "profiles", "files")
	h.service.SetFaults(rewriteFault("/auth/token", "\ufeff"+`{"source":"oauth","token_type":"custom","scopes":"{profiles.lists,files.lists}"}`))
	res := h.requireComplete(h.night())
	const reason = "the token has no team id: set api.team_id"
	h.requireStream(res.Run, "token", stream.Skipped, reason, false)
	h.requireStream(res.Run, "profiles", stream.Skipped, reason, false)
	h.requireStream(res.Run, "files", stream.Exact, "", false)
	h.requireLines("SELECT count(*) FROM meta.rejects", "0")
	h.cfg.TeamID = h.service.TeamID()
	res = h.requireComplete(h.night())
	h.requireStream(res.Run, "token", stream.Exact, "", false)
	h.requireStream(res.Run, "profiles", stream.Exact, "", false)
	h.requireLines("SELECT team_id, source, scopes FROM token", h.service.TeamID()+` oauth ["profiles.lists","files.lists"]`)
}

// TestRefusedArticles reads a service that refuses GET /articles/{id} to a token with all scopes. The comments are
// read for the articles of the campaigns, and streams with other sources of ids are proven.
func TestRefusedArticles(t *testing.T) {
	world := smallWorld()
	world.ArticleNeedsFullAccess = true
	h := newHarness(t, world, "order_items", "campaigns", "campaign_articles", "articles", "article_comments", "products")
	h.cfg.Fetch.HasPrivateValues = true
	for _, details := range []pipeline.Details{pipeline.AllDetails, pipeline.ChangedDetails} {
		h.cfg.Details = details
		res := h.requireComplete(h.night())
		articles := h.requireStream(res.Run, "articles", stream.Skipped, `answered 403 Forbidden: the service says "token is not of type full_access"`, false)
		if strings.Contains(articles.Reason, "scope") {
			t.Errorf("articles was skipped because of %q, want a reason without a scope, because the token has all", articles.Reason)
		}
		for _, s := range res.Run.Streams {
			if s.Stream == "articles" || s.Grade == stream.Skipped {
				continue
			}
			isProven := stream.WorseGrade(s.Grade, stream.Bounded) == stream.Bounded
			if !isProven {
				t.Errorf("%s is %s, want it proven: %s", s.Stream, s.Grade, s.Reason)
			}
		}
		h.requireLines("SELECT count(DISTINCT article_id) > 0, count(*) FILTER (article_id NOT IN (SELECT id FROM campaign_articles)) FROM article_comments", "true 0")
		h.requireLines("SELECT count(*) FROM articles", "0")
	}
}
