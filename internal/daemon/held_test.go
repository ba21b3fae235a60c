package daemon_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"placementsync/internal/daemon"
	"placementsync/internal/ledger"
	"placementsync/internal/warehouse"
)

// TestHeldNight checks the page and the metrics before two failed checks hold a night, while the night
// is held, and after it is published. An earlier night was published with a failed check.
func TestHeldNight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inspection := daemon.Inspection{}
		h := newInspectedHarness(t, &inspection)
		defer h.shutDown()
		h.wantPage("<dt>Disk</dt><dd>0 B free<small>the need of a night is known after the first one</small>",
			"<dt>Webhook inbox</dt><dd>0 B<small>waiting for the next night</small>")
		h.wantMetrics(map[string]string{`held_since_timestamp_seconds`: "0", `inbox_limit_bytes`: "", `last_run_held`: "", `last_audit_checks{outcome="failed",severity="hold"}`: ""})
		at := time.Now()
		h.record(ledger.Run{ID: "20000101T000000Z", StartedAt: at, EndedAt: at, SnapshotAt: at, Outcome: ledger.Complete, Checks: []ledger.CheckResult{
			{Name: "hosts_twice", Title: "The same host twice", Severity: "warn", Outcome: ledger.CheckFailed, Rows: 1234, Sample: []byte(`[{"host":"a.example","id":"<b>"},{"host":"c.example"}]`)},
			{Name: "slow", Title: "Too slow", Severity: "hold", Outcome: ledger.CheckNotRun, Reason: "it took longer than 30s"}}})
		time.Sleep(time.Minute)
		h.wantPage("<title>ready", "<h2>Checks of 20000101T000000Z</h2>",
			`<th scope="row"><bdi>hosts_twice</bdi><small>The same host twice</small></th><td><bdi>warn</bdi></td><td><span class="tag bad">failed</span></td>`,
			"<td class=\"n\"><bdi>1,234</bdi></td><td class=\"why\"><bdi>host a.example, id &lt;b&gt;\nhost c.example</bdi></td>",
			`<td class="why"><bdi>it took longer than 30s</bdi></td>`, `<th scope="col">Severity</th>`)
		if text := h.get("/").Body.String(); strings.Index(text, "<bdi>slow<") > strings.Index(text, "<bdi>hosts_twice<") {
			t.Error("a check that warns is before one that holds")
		}
		h.wantMetrics(map[string]string{`last_run_held`: "0",
			`last_audit_checks{outcome="failed",severity="hold"}`: "0", `last_audit_checks{outcome="failed",severity="warn"}`: "1",
			`last_audit_checks{outcome="not_run",severity="hold"}`: "1", `last_audit_checks{outcome="not_run",severity="warn"}`: "0"})

		end := time.Now()
		began := end.Add(-time.Minute)
		held := ledger.Run{ID: "20000101T000100Z", StartedAt: began, EndedAt: end, SnapshotAt: began, Outcome: ledger.Complete, Checks: []ledger.CheckResult{
			{Name: "prices_scaled", Title: "Prices moved", Severity: "hold", Outcome: ledger.CheckFailed, Rows: 40, Sample: []byte(`[{"currency":"EUR","factor":100.00}]`)},
			{Name: "column_emptied", Title: "A column is empty", Severity: "hold", Outcome: ledger.CheckFailed, Rows: 1}}}
		failed := held
		failed.Outcome, failed.SnapshotAt, failed.Held, failed.Error = ledger.Failed, time.Time{}, true, "audit run 20000101T000100Z: 2 checks failed"
		h.record(failed)
		h.mu.Lock()
		inspection.Held = &warehouse.HeldNight{Run: held}
		h.mu.Unlock()
		time.Sleep(3*time.Minute + 30*time.Second)
		h.wantPage("<title>held", "<h2>Night 20000101T000100Z is held</h2>", "Held since 2000-01-01 00:01 UTC. Readers keep the last snapshot",
			`<th scope="row"><bdi>prices_scaled</bdi><small>Prices moved</small></th>`, "<bdi>currency EUR, factor 100.00</bdi>",
			"<code>placementsync publish --accept prices_scaled,column_emptied</code>", "<code>placementsync discard</code>", `<a href="held">`,
			`UTC</bdi></th><td><span class="tag poor">held</span>`, "<h2>Checks of 20000101T000000Z</h2>")
		h.wantMetrics(map[string]string{`held_since_timestamp_seconds`: "9.4668486e+08", `last_run_held`: "1", `last_run_outcome{outcome="failed"}`: "1",
			`last_audit_checks{outcome="failed",severity="hold"}`: "2", `last_audit_checks{outcome="failed",severity="warn"}`: "0",
			`last_audit_checks{outcome="not_run",severity="hold"}`: "0"})

		held.Accepted, held.AcceptedAt = []string{"prices_scaled"}, time.Now()
		h.mu.Lock()
		h.ledger[1], inspection.Held = held, nil
		h.mu.Unlock()
		time.Sleep(90 * time.Second)
		h.wantPage("<title>ready", "<h2>Checks of 20000101T000100Z</h2>", "<td><bdi>hold</bdi><small>accepted 2000-01-01 00:04 UTC</small></td>")
		if text := h.get("/").Body.String(); strings.Contains(text, "is held") || strings.Contains(text, "discard") {
			t.Errorf("the page still shows a held night:\n%s", text)
		}
		h.wantMetrics(map[string]string{`held_since_timestamp_seconds`: "0", `last_run_held`: "0", `last_audit_checks{outcome="failed",severity="hold"}`: "2"})
		// A night that failed before its checks says nothing about them.
		h.record(ledger.Run{ID: "20000101T000500Z", StartedAt: time.Now(), EndedAt: time.Now(), Outcome: ledger.Failed, Error: "the service is unreachable"})
		time.Sleep(90 * time.Second)
		h.wantMetrics(map[string]string{`last_audit_checks{outcome="failed",severity="hold"}`: "2"})

		h.mu.Lock()
		inspection.Errors = map[string]error{daemon.SourceHeld: errors.New("damaged")}
		h.mu.Unlock()
		time.Sleep(90 * time.Second)
		h.wantPage("Unknown because it cannot be read: the held night.")
		h.wantMetrics(map[string]string{`held_since_timestamp_seconds`: ""})
		if n := strings.Count(h.log.String(), `msg="a night is held" run=20000101T000100Z check=prices_scaled,column_emptied`); n != 1 {
			t.Errorf("the log reports the held night %d times, want once:\n%s", n, &h.log)
		}
	})
}

// TestHeldNightStartsNoFollowUp runs a held night between two published nights, the second of which is partial.
func TestHeldNightStartsNoFollowUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nights := 0
		h := newHarness(t, func(context.Context) (ledger.Run, error) {
			switch nights++; nights {
			case 2:
				return ledger.Run{Outcome: ledger.Failed, Held: true}, errors.New("held")
			case 3:
				return ledger.Run{Outcome: ledger.Partial}, errors.New("a stream failed")
			}
			return ledger.Run{Outcome: ledger.Complete}, nil
		})
		followed := make(chan int, 10)
		h.settings.FollowUpKinds = nil // FollowUp is called even if no follow-up is configured, because it also sends warnings
		h.followUp = func(context.Context) { followed <- nights }
		h.start()
		time.Sleep(3 * 24 * time.Hour)
		h.shutDown()
		close(followed)
		var got []int
		for n := range followed {
			got = append(got, n)
		}
		if len(got) != 2 || got[0] != 1 || got[1] != 3 {
			t.Errorf("FollowUp was called after the nights %v, want 1 and 3", got)
		}
	})
}

func TestHeldPageNeedsHeldNight(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	if code := h.get("/held").Code; code != http.StatusNotFound {
		t.Errorf("without a HeldPage: status %d, want 404", code)
	}
	w := warehouse.New(warehouse.Config{Dir: t.TempDir(), KeepVersions: 1})
	h = newHarness(t, nil)
	h.cfg.Held = &daemon.HeldPage{Warehouse: w, Log: h.cfg.Log}
	if got := h.get("/held"); got.Code != http.StatusNotFound || got.Body.String() != "no night is held\n" {
		t.Errorf("without a held night: status %d, %s, want 404, no night is held", got.Code, got.Body)
	}
	h = newHarness(t, nil)
	h.cfg.Held, h.settings.AuthToken = &daemon.HeldPage{Warehouse: w, Log: h.cfg.Log}, "opensesame"
	if code := h.get("/held").Code; code != http.StatusUnauthorized {
		t.Errorf("without the token: status %d, want 401", code)
	}
}
