package faults_test

import (
	"bytes"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
)

func TestDeadServerKeepsTheLastSnapshot(t *testing.T) {
	t.Parallel()
	h := trials.NewHarness(t, trials.SmallWorld(), trials.FewStreams()...)
	var log syncBuffer
	h.Config.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	good := h.GoodNight()
	h.Server.Close()
	res, err := h.FailedNight(t.Context(), trials.ExitFailed)
	for _, part := range []string{`stream "token"`, h.Server.URL + "/auth/token", "connection refused"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not contain %q: %v", part, err)
		}
	}
	if res.Run.Outcome != ledger.Failed || h.LatestRun() != good.Run.ID {
		t.Errorf("the night ended %s and latest is %s, want failed and %s", res.Run.Outcome, h.LatestRun(), good.Run.ID)
	}
	requireNoToken(t, h.Path(), err.Error()+log.String())
	runs := trials.LedgerRuns(t, h)
	if newest := runs[len(runs)-1]; newest.ID != res.Run.ID || newest.Error == "" || newest.ExitCode != 1 {
		t.Errorf("the newest run in the ledger is %+v, want the failed night with an error and exit code 1", newest)
	}
}

// requireNoToken searches a text and all files below a folder for the token. It also searches the
// compressed bodies of stored responses.
func requireNoToken(t *testing.T, dir, text string) {
	t.Helper()
	if strings.Contains(text, trials.Token) {
		t.Errorf("the error or log contains the token: %s", text)
	}
	testharness.Must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(trials.Token)) {
			t.Errorf("%s contains the token", path)
		}
		if d.Name() == "journal.jsonl" {
			requireNoStoredToken(t, filepath.Dir(path))
		}
		return err
	}))
}

func requireNoStoredToken(t *testing.T, dir string) {
	t.Helper()
	stored, err := fetch.OpenStoredResponses(dir)
	testharness.Must(t, err)
	defer stored.Close()
	for r, err := range stored.All() {
		testharness.Must(t, err)
		body, err := stored.Body(r)
		testharness.Must(t, err)
		if bytes.Contains(body, []byte(trials.Token)) {
			t.Errorf("a stored response of %s contains the token", r.Stream)
		}
	}
}

// syncBuffer is a log buffer that is safe for concurrent use.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *syncBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *syncBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestDeadServerOnTheFirstNightPublishesNoVersion(t *testing.T) {
	t.Parallel()
	h := trials.NewHarness(t, trials.SmallWorld(), trials.FewStreams()...)
	h.Server.Close()
	h.FailedNight(t.Context(), trials.ExitFailed)
	if latest := h.LatestRun(); latest != "" {
		t.Errorf("version %s was published, want none", latest)
	}
}

// TestColumnsOfABrokenEndpointAreKept lets one of the two endpoints of orders return HTML. The
// columns that only this endpoint fills must keep their last values.
func TestColumnsOfABrokenEndpointAreKept(t *testing.T) {
	for _, c := range []struct{ name, route, stream, column string }{
		{"detail", "/orders/{order_id}", "order_details", "email"},
		{"list", "/orders", "orders", "team_contact_email"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := trials.NewHarness(t, trials.SmallWorld(), trials.FewStreams()...)
			h.GoodNight()
			valueCond, websiteCond := c.column+" <> ''", "outlet_website_url IS NOT NULL"
			valuesBefore, websitesBefore := h.Count("orders", valueCond), h.Count("order_line_items", websiteCond)
			h.Service.SetFaults(sim.Fault{Route: c.route, Kind: sim.FaultHTML})
			res := h.PartialNight()
			h.RequireStream(res.Run, c.stream, stream.CarriedForward, "with a page of HTML: malformed body")
			if got := h.Count("orders", valueCond); got < valuesBefore || valuesBefore == 0 {
				t.Errorf("%d orders have a value of %s, want at least %d as before the fault, and at least 1", got, c.column, valuesBefore)
			}
			if got := h.Count("order_line_items", websiteCond); got < websitesBefore || websitesBefore == 0 {
				t.Errorf("%d line items have the website of the outlet, want at least %d as before the fault, and at least 1", got, websitesBefore)
			}
		})
	}
}

func TestTrialUnreliableNetworkLosesNoRows(t *testing.T) {
	t.Parallel()
	h := trials.NewHarness(t, trials.SmallWorld())
	h.Config.Fetch.Retry.MaxRetries = 12
	ref := trials.NewReference(t, h.Service, h.Config.Streams)
	h.Config.Fetch.PageSize = 3
	h.Service.SetFaults(networkFaults()...)
	res := h.GoodNight()
	if res.Run.Retries == 0 {
		t.Error("no request was repeated, so the test shows nothing")
	}
	h.RequireValues(ref)
}

// networkFaults returns seven kinds of faults. The first affects a fifth of the responses. Each
// later kind affects a twentieth of the responses without an earlier kind of fault.
func networkFaults() []sim.Fault {
	faults := []sim.Fault{{Probability: 0.2, Kind: sim.FaultStatus, Status: http.StatusInternalServerError}}
	for _, kind := range []sim.FaultKind{sim.FaultReset, sim.FaultResetBody, sim.FaultTruncate, sim.FaultBrokenJSON, sim.FaultEmpty, sim.FaultHTML} {
		faults = append(faults, sim.Fault{Probability: 0.05, Kind: kind})
	}
	return faults
}
