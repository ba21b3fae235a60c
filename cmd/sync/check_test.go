package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/cli"
	"placementsync/internal/config"
	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	"placementsync/internal/repair"
	"placementsync/internal/testing/harness"
	"placementsync/internal/testing/s3sim"
	"placementsync/internal/transform"
	"placementsync/internal/warehouse"
)

// TestPlanIsShown prints the plan of a night with every kind of note.
func TestPlanIsShown(t *testing.T) {
	t.Parallel()
	cfg := config.Config{API: config.API{BaseURL: "https://api.example.com", RequestsPerSecond: 10}, Warehouse: config.Warehouse{Dir: "wh"}}
	p := pipeline.Plan{Token: pipeline.Token{TeamID: "t1", Scopes: []string{"a", "b"}}, Latency: 1500 * time.Microsecond, PublishedRun: "r1",
		FreeBytes: 1 << 20, NeedBytes: 2 << 20, Damage: []repair.Damage{{File: "latest\x1b", Problem: "missing"}},
		StoppedRun: &ledger.Run{ID: "r2", Losses: []ledger.Loss{{Table: "orders", Gone: 9, Before: 10}}},
		Streams: []pipeline.StreamPlan{{Name: "orders", LastRequests: 1200}, {Name: "files", SkipReason: "no right", IsLost: true, LastRequests: 0},
			{Name: "tags", SkipReason: "excluded", LastRequests: -1}},
		Requests: 1200, NeverRead: 1, Renamed: []transform.RenamedField{{Column: "orders.status", Field: "state"}},
		LastNight: ledger.Run{Streams: []ledger.Stream{{Unread: 3}}}}
	var text strings.Builder
	printPlan(&text, p, cfg)
	const want = `service        https://api.example.com answered in 2ms
token          type (none), team t1, 2 scopes
warehouse      wh, newest snapshot r1
disk           1.0 MiB free, TOO LITTLE: a night may need 2.0 MiB: free some space, or run placementsync prune
damaged        latest\x1b: missing; repair: placementsync rebuild --from ADDRESS
mass delete    run r2 was not published: 9 of 10 rows of orders would be deleted in one night; the next run does not resume it; if the service really deleted these rows, run placementsync run --allow-mass-delete
warning        files cannot be read: no right; an earlier night read this stream, so nights are partial: restore the right, or add the stream to streams.exclude
field          orders.status has no value, and most records have the unknown field state; if it is the same field, set api.fields: {orders.status: state}

stream  plan            requests last time  at the configured rate
orders  run                           1200                 2.0 min
files   skip: no right                   0                     0 s
tags    skip: excluded        not read yet

about 1200 requests, 2.0 min at 10 a second; plus the requests of 1 stream that were never read
not read by the last night: 3 ids in 1 stream
`
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
	if text := expectedCost(pipeline.Plan{}, 10); text != "requests and time are known after the first night" {
		t.Errorf("before the first night, the cost is %q", text)
	}
}

// TestPlanErrors removes the reasons for which a night would fail, one by one, the first one first.
func TestPlanErrors(t *testing.T) {
	t.Parallel()
	p := pipeline.Plan{WriteErr: errors.New("read-only"), MissingErr: errors.New("no warehouse"), LockedErr: &warehouse.LockedError{Run: "r1"},
		Damage: []repair.Damage{{}, {}}, Streams: []pipeline.StreamPlan{{}, {IsLost: true}}}
	for _, c := range []struct {
		want    string
		outcome ledger.Outcome
		remove  func()
	}{
		{"read-only", ledger.Failed, func() { p.WriteErr = nil }},
		{"no warehouse", ledger.Failed, func() { p.MissingErr = nil }},
		{"lock the warehouse", ledger.Locked, func() { p.LockedErr = nil }},
		{"of free disk space is too little for a night", ledger.Failed, func() { p.FreeBytes = 1 << 30 }},
		{"the warehouse has 2 damaged files", ledger.Failed, func() { p.Damage = nil }},
		{"", ledger.Partial, func() { p.Streams[1].IsLost = false }},
	} {
		err := planErr(p)
		if err == nil || !strings.Contains(err.Error(), c.want) || cli.OutcomeOf(context.Background(), err) != c.outcome {
			t.Errorf("got the error %v, want %q and the outcome %s", err, c.want, c.outcome)
		}
		c.remove()
	}
	if err := planErr(p); err != nil {
		t.Errorf("got the error %v, want none", err)
	}
}

// TestValuesWithShellSyntaxAreNotProposed lists values of the service that a shell would run or change.
func TestValuesWithShellSyntaxAreNotProposed(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"$(reboot)", "`reboot`", "a;b", "a|b", "a&b", "a>b", "a'b", `a"b`, "a\\b", "a*b", "a?b", "~", "a!b", "a\nb", "#a", "{a}"} {
		if !strings.ContainsFunc(value, isShellSyntax) {
			t.Errorf("the value %q is proposed, although a shell interprets it", value)
		}
	}
	if value := "Zürich Café 2, a.b_c-d:/e+f@g%h=1"; strings.ContainsFunc(value, isShellSyntax) {
		t.Errorf("the harmless value %q is not proposed", value)
	}
}

// TestCheckReportsAllProblems checks a bucket that refuses objects, a lake without its program, and a full plan.
func TestCheckReportsAllProblems(t *testing.T) {
	t.Parallel()
	d := newBucketHarness(t, "orders")
	text := read(t, d.g.Config) + "lake: {catalog: sqlite, warehouse: ./lake}\n"
	harness.Must(t, os.WriteFile(d.g.Config, []byte(text), 0o600))
	d.store.FailWith(func(w http.ResponseWriter, _ *http.Request) bool {
		s3sim.Refuse(w, http.StatusForbidden, "AccessDenied")
		return true
	})
	err := runCheck(t.Context(), d.g, false)
	for _, want := range []string{"s3://store/night", "find placementsync-lake"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the check ended with %v, want %q", err, want)
		}
	}
	isPlanned := regexp.MustCompile(`\norders +run +not read yet\n`).MatchString(d.out.String())
	if out := d.out.String(); !isPlanned || strings.Contains(out, "can be written") {
		t.Errorf("the check printed\n%s\nwant the plan, and neither a bucket nor a lake that can be written", out)
	}
}

// TestCheckOffline checks a token of another service, and then a lost token and a wrong watch.
func TestCheckOffline(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var out strings.Builder
	g := &globals{process: hostProcess(), Flags: cli.Flags{Config: filepath.Join(dir, "config.yaml")}}
	g.stdout = &out
	const service = "api: {base_url: 'http://127.0.0.1:1', "
	harness.Must(t, os.WriteFile(g.Config, []byte(service+"token: sk_1}\n"), 0o600))
	harness.Must(t, runCheck(t.Context(), g, true))
	want := "configuration  " + g.Config + " is valid\n" +
		"token          the token does not begin with pc_: it may be a secret of another service\n"
	if out.String() != want {
		t.Errorf("the check printed %q, want %q", &out, want)
	}
	out.Reset()
	const watch = `notify: {channels: [{name: chat, type: slack, url: 'http://127.0.0.1:1'}]}
watch: [{name: mine, query: nosuch, send: [chat]}`
	harness.Must(t, os.WriteFile(g.Config, []byte(service+"token_file: lost}\n"+watch+"]\n"), 0o600))
	err := runCheck(t.Context(), g, true)
	for _, want := range []string{"read api.token_file: ", `check the watch mine: no query is named "nosuch"`} {
		if cli.OutcomeOf(t.Context(), err) != ledger.Misused || !strings.Contains(err.Error(), want) {
			t.Errorf("the check ended with %v, want the error of usage %q", err, want)
		}
	}
	text := service + "token: pc_1}\n" + watch + ", {name: other, send: [chat]}]\n"
	harness.Must(t, os.WriteFile(g.Config, []byte(text), 0o600))
	problems := fmt.Sprint(runCheck(t.Context(), g, true))
	if strings.Contains(problems, "check the watch other") || !strings.Contains(problems, "check the watch mine") ||
		!strings.Contains(problems, "watch[1].query") || out.Len() > 0 {
		t.Errorf("the check printed %q and ended with %s, want one line about each watch", &out, problems)
	}
}
