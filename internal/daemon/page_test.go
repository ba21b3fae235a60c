package daemon_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/ledger"
)

// newBusyHarness returns a harness whose daemon runs a night, after five earlier nights.
func newBusyHarness(t *testing.T) *harness {
	t.Helper()
	h := newHarness(t, nil)
	now := parseTime(t, "2026-11-21T02:04:10Z")
	h.cfg.Now = func() time.Time { return now }
	h.cfg.ReportFile = "page_test.go" // any existing file
	for i, outcome := range []ledger.Outcome{ledger.Complete, ledger.Interrupted, ledger.Partial, ledger.Failed, ledger.Complete} {
		began := now.AddDate(0, 0, i-5).Truncate(time.Hour)
		entry := ledger.Run{ID: began.Format("20060102T150405Z"), StartedAt: began, EndedAt: began.Add(6*time.Minute + 12*time.Second),
			Outcome: outcome, Rows: 1_234_567, New: 812, Changed: 12_040, Gone: 33, Requests: 3_412, Retries: 7, Bytes: 12 << 20}
		switch outcome {
		case ledger.Failed:
			entry.Error = "read the service: no stream could be read; nothing was published; readers keep the last snapshot: run placementsync check\nsecond line <b>"
			entry.Rows, entry.New, entry.Changed, entry.Gone = 0, 0, 0, 0
		case ledger.Complete, ledger.Partial:
			entry.SnapshotAt = began
		}
		entry.Streams = someStreams(began)
		h.ledger = append(h.ledger, entry)
	}
	h.progress = func() (ledger.Progress, bool) {
		return ledger.Progress{Run: "20261121T020000Z", StartedAt: now.Add(-4 * time.Minute), Phase: "reading product_listings",
			Requests: 1_204, Expected: 3_412, Retries: 3, PerSecond: 9.8, AllowedPerSecond: 10, Left: 3*time.Minute + 42*time.Second,
			Streams: []ledger.StreamProgress{
				{Name: "token", State: "read", Rows: 1, Requests: 1, Grade: "exact"},
				{Name: "outlet_listings", State: "read", Rows: 41_022, Requests: 412, Grade: "repaired"},
				{Name: "product_listings", State: "reading", Done: 310, Total: 821, Rows: 31_000, Requests: 313, Retries: 3},
				{Name: "article_comments", State: "reading", Done: 12, Rows: 40, Requests: 12},
				{Name: "orders", State: "waiting"},
			}}, true
	}
	return h
}

func someStreams(began time.Time) []ledger.Stream {
	return []ledger.Stream{
		{Stream: "token", Grade: "exact", Reason: "complete in one response", Rows: 1, Requests: 1},
		{Stream: "outlet_listings", Grade: "repaired", Reason: "the list changed during pass 1; pass 2 brought nothing new", Rows: 41_022, Requests: 823, Retries: 4},
		{Stream: "product_listings", Grade: "best_effort", Reason: "the list still changed in pass 4 of 4", Rows: 82_100, Requests: 3_284, Rejects: 12},
		{Stream: "orders", Grade: "carried_forward", Reason: "GET /orders answered 503 Service Unavailable after 6 attempts",
			Rows: 9_001, Requests: 6, Retries: 5, AgeSince: began.AddDate(0, 0, -1), Incomplete: true},
		{Stream: "files", Grade: "skipped", Reason: "missing scope files.read"},
	}
}

func TestStatusPage(t *testing.T) {
	t.Parallel()
	text := newBusyHarness(t).get("/").Body.String()
	// The page of a running night is loaded again after 3 seconds.
	for _, want := range []string{
		`<title>ready - placementsync</title>`, `content="3"`, `<a href="report">`,
		"2026-11-20 02:00 UTC<small>1 d 0 h old, complete, 1 stream not read, 1 carried, 1 not proven</small>",
		"1,204 of about 3,412 requests, 9.8 a second of 10.0 allowed, 3 retries, about 3 min 42 s left",
		`<progress max="100" value="37">37 %</progress> 310 of 821`, `<progress></progress> 12`,
		`<span class="tag bad">failed</span></td><td class="n"><bdi>6 min 12 s</bdi></td><td></td><td></td>` +
			`<td></td><td></td><td class="n"><bdi>3,412</bdi></td>`, "placementsync v1.2.3, 2026-11-21 02:04 UTC, webhooks off",
		`<th scope="col">Grade</th>`, `<tr class="read"><th scope="row">token</th><td>read</td>`,
		`<tr class="waiting"><th scope="row">orders</th><td>waiting</td>`,
		`310 of 821</td><td class="n">31,000</td><td class="n">313</td><td class="n">3</td><td></td></tr>`,
		`<td class="n"><bdi>6 min 12 s</bdi></td><td class="n"><bdi>1,234,567</bdi></td><td class="n"><bdi>812</bdi></td><td class="n"><bdi>12,040</bdi></td>` +
			`<td class="n"><bdi>33</bdi></td><td class="n"><bdi>3,412</bdi></td><td class="n"><bdi>7</bdi></td>`,
		`<td class="n"><bdi>9,001</bdi></td><td class="n"><bdi>0</bdi></td><td class="n"><bdi>6</bdi></td><td class="n"><bdi>5</bdi></td>` +
			`<td class="why"><bdi>GET /orders answered`,
		`<td class="n"><bdi>82,100</bdi></td><td class="n"><bdi>12</bdi></td><td class="n"><bdi>3,284</bdi></td><td class="n"><bdi>0</bdi></td>`,
		"read the service: no stream could be read; nothing was published; readers keep the last snapshot: run placementsync check</bdi></td>",
		`<span class="tag poor">carried</span><small>carried_forward</small>`,
		`<span class="tag good">proven</span><small>repaired</small>`,
		`<span class="tag none">not proven</span><small>best_effort</small>`,
		`<span class="tag none">not read</span><small>skipped</small>`, "(rows of 2026-11-19 02:00 UTC)",
		`<tr class="lacking"><th scope="row"><bdi>orders</bdi>`,
		// The row of a partial night contains the reason.
		`<span class="tag poor">partial</span>`, `<td class="why"><bdi>orders is carried since 2026-11-17 02:00 UTC: GET /orders answered 503 Service Unavailable after 6 attempts`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(text, `<tr class="lacking">`); n != 1 {
		t.Errorf("%d streams are marked as incomplete, want only orders", n)
	}
	// Incomplete streams are first. In each group the worst standing is first.
	var order []string
	_, streams, _ := strings.Cut(text, "<h2>Streams of")
	for _, m := range regexp.MustCompile(`<th scope="row"><bdi>(\w+)<`).FindAllStringSubmatch(streams, -1) {
		order = append(order, m[1])
	}
	if got := strings.Join(order, " "); got != "orders files product_listings token outlet_listings" {
		t.Errorf("the streams are in the order %s, want orders files product_listings token outlet_listings", got)
	}
	if strings.Contains(text, "rows of 0001") || strings.Contains(text, `href="explore/"`) {
		t.Error("the page shows an unknown time, or a link to pages that are not served")
	}
	if strings.Contains(text, "<script") || strings.Contains(text, "style=") {
		t.Error("the page contains scripts or styles that its policy forbids")
	}
}

// TestHeadingsOfStatusPage lists the tables of the page with their headings. # marks a column of numbers.
func TestHeadingsOfStatusPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inspection := fullInspection()
		h := newInspectedHarness(t, &inspection)
		defer h.shutDown()
		at := time.Now()
		h.record(ledger.Run{ID: "r", Outcome: ledger.Complete, StartedAt: at, EndedAt: at, SnapshotAt: at, Streams: someStreams(at),
			Checks: []ledger.CheckResult{{Name: "slow", Severity: "warn", Outcome: ledger.CheckNotRun}}})
		time.Sleep(time.Minute)
		head := regexp.MustCompile(`<th scope="col"( class="n")?>(.*?)</th>`)
		var got []string
		for _, table := range regexp.MustCompile(`<caption>(.*)</caption>\n(.*)</thead>`).FindAllStringSubmatch(h.get("/").Body.String(), -1) {
			var labels []string
			for _, m := range head.FindAllStringSubmatch(table[2], -1) {
				labels = append(labels, m[2]+strings.Replace(m[1], ` class="n"`, "#", 1))
			}
			got = append(got, table[1]+": "+strings.Join(labels, ", "))
		}
		want := []string{
			"Last nights: Night, Outcome, Took#, Rows#, New#, Changed#, Gone#, Requests#, Retries#, Why",
			"Checks that failed or did not run: Check, Severity, Outcome, Rows#, First rows",
			"Streams of the last published night: Stream, Grade, Rows#, Rejects#, Requests#, Retries#, Evidence",
			"Watches: Watch, Last checked, Found#, Not delivered#, Last sent",
			"Use of the disk: Part, Takes#, Share#",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("tables (-want +got):\n%s", diff)
		}
	})
}

// TestStatusPageAfterRefresh checks that the page shows the snapshot of a refresh, and does
// not list the refresh as a night.
func TestStatusPageAfterRefresh(t *testing.T) {
	t.Parallel()
	h := newBusyHarness(t)
	h.cfg.Explore = http.NotFoundHandler()
	night := h.ledger[4]
	at := night.SnapshotAt.Add(23 * time.Hour)
	h.ledger = slices.Insert(h.ledger, 0, ledger.Run{ID: "backup", Kind: ledger.Backup, Outcome: ledger.Complete, EndedAt: h.ledger[0].StartedAt})
	h.ledger = append(h.ledger, ledger.Run{ID: "refresh", Kind: ledger.Refresh, StartedAt: at, EndedAt: at, SnapshotAt: at, Outcome: ledger.Complete},
		ledger.Run{ID: "failed refresh", Kind: ledger.Refresh, StartedAt: at, EndedAt: at, Outcome: ledger.Failed})
	text := h.get("/").Body.String()
	for _, want := range []string{"<title>ready", `<a href="." aria-current="page">Status</a>`, `<a href="explore/">Explore</a>`,
		`<a href="report">Report</a>`, `<a href="metrics">Metrics</a>`,
		"2026-11-21 01:00 UTC<small>1 h 4 min old, complete, from a refresh</small>", "<h2>Streams of " + night.ID} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(text, `<th scope="row"><bdi>2026-11-21 01:00`) {
		t.Error("the nights contain a refresh")
	}
	h.wantMetrics(map[string]string{`snapshot_timestamp_seconds`: "1.7952228e+09", `last_run_duration_seconds`: "372", `refresh_failures`: "1"})
}

func TestStatusPageEscapesText(t *testing.T) {
	t.Parallel()
	h := newBusyHarness(t)
	h.ledger[3].Error = `<script>alert(1)</script> & "quoted"`
	h.ledger[4].Streams[0].Reason = `<img src=x onerror=alert(1)>`
	text := h.get("/").Body.String()
	if strings.Contains(text, "<script>") || strings.Contains(text, "<img") {
		t.Error("the page contains unescaped text")
	}
	if !strings.Contains(text, "&lt;script&gt;alert(1)&lt;/script&gt; &amp;") {
		t.Error("the page does not contain the escaped error")
	}
}

// TestStatusPageAfterInterruptedNight interrupts the last night, while the next one runs. The title has the outcome of the
// interrupted night, and the metrics have the requests of the running one.
func TestStatusPageAfterInterruptedNight(t *testing.T) {
	t.Parallel()
	h := newBusyHarness(t)
	at := h.ledger[4].EndedAt
	h.ledger = append(h.ledger, ledger.Run{ID: "stopped", Outcome: ledger.Interrupted, StartedAt: at, EndedAt: at})
	h.wantMetrics(map[string]string{"run_requests": "1204", "run_requests_per_second": "9.8"})
	h.wantPage("<title>interrupted - ")
}

func TestStatusPageBeforeFirstNight(t *testing.T) {
	t.Parallel()
	text := newHarness(t, nil).get("/").Body.String()
	// Without a running night, the page is loaded again after 60 seconds.
	for _, want := range []string{"nothing yet", "<dt>Next night</dt><dd>none</dd>",
		"<dt>Missed slots</dt><dd>0<small>since the start of this process</small>",
		"Not ready: no night has succeeded yet", "No night has run yet", "<title>not ready", `content="60"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// TestLastNightsAreLimited records 20 nights. The page lists the last 14, newest first.
func TestLastNightsAreLimited(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	var want []string
	for day := range 20 {
		at := time.Date(2026, time.November, day+1, 2, 0, 0, 0, time.UTC)
		h.record(ledger.Run{ID: at.Format("20060102T150405Z"), StartedAt: at, EndedAt: at, Outcome: ledger.Failed})
		if day >= 6 {
			want = slices.Insert(want, 0, at.Format("2006-01-02"))
		}
	}
	var got []string
	for _, m := range regexp.MustCompile(`<th scope="row"><bdi>(2026-\S+)`).FindAllStringSubmatch(h.get("/").Body.String(), -1) {
		got = append(got, m[1])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("listed nights (-want +got):\n%s", diff)
	}
}
