package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"placementsync/internal/cli"
	"placementsync/internal/humanize"
	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
)

func TestProgressBars(t *testing.T) {
	t.Parallel()
	b := &bars{width: 120}
	b.latest.Store(ledger.Progress{Phase: "reading orders", Requests: 51, Retries: 2, Expected: 90, PerSecond: 9.81, AllowedPerSecond: 10, Left: 4 * time.Second,
		Streams: []ledger.StreamProgress{{Name: "token", State: ledger.Read},
			{Name: "orders", State: ledger.Reading, Done: 3, Total: 7, Rows: 300, Retries: 2, Left: 1500 * time.Millisecond}}})
	for got, want := range map[string]string{
		b.streamName():  "orders",
		b.streamFacts(): "3/7, 300 rows, 2s left, 2 retries",
		b.totalFacts():  "1/2 streams, 51/90 requests, 4s left, 9.8/10 a second, 2 retries",
	} {
		if got != want {
			t.Errorf("the progress shows %q, want %q", got, want)
		}
	}
	b.width = 60
	if got, want := b.totalFacts(), "1/2 streams, 51/90 req\u2026"; got != want {
		t.Errorf("a narrow terminal shows %q, want %q", got, want)
	}
	b.width = 120
	b.latest.Store(ledger.Progress{Phase: "checking the token", WaitingFor: "the service answered 503 Service Unavailable", WaitingUntil: time.Date(2026, 11, 20, 2, 10, 0, 0, time.UTC)})
	if got, want := b.streamFacts(), "waiting for the service until 02:10:00 UTC: the service answered 503"; !strings.HasPrefix(got, want) {
		t.Errorf("during a wait the progress shows %q, want %q", got, want)
	}
	b.latest.Store(ledger.Progress{Phase: "merging"})
	if b.streamName() != "merging" || b.streamFacts() != "" {
		t.Errorf("without a stream the progress shows %q %q, want only the phase", b.streamName(), b.streamFacts())
	}
}

// TestProgressIsLogged logs the progress of a night at each request for orders, and checks the
// fields of the lines.
func TestProgressIsLogged(t *testing.T) {
	harness.Concurrent(t)
	t.Parallel()
	tracker := &pipeline.ProgressTracker{}
	logged := &output{more: make(chan struct{}, 1)}
	log := slog.New(slog.NewJSONHandler(logged, nil))
	logProgress(log, tracker)
	if got := logged.String(); got != "" {
		t.Errorf("without a night the log is %q, want it empty", got)
	}
	world := smallWorld
	world.FaultFunc = func(r *http.Request) *sim.Fault {
		if r.URL.Path == "/orders" {
			logProgress(log, tracker)
		}
		return nil
	}
	g := newQuietGlobals()
	serveDemo(t, g, sim.New(world))
	cfg, err := g.loadConfig()
	harness.Must(t, err)
	cfg.Streams.Include = []string{"orders"}
	night, err := g.nightConfig(cfg)
	harness.Must(t, err)
	night.Progress, night.NewWarehouse = tracker, true
	_, err = pipeline.Run(t.Context(), night)
	harness.Must(t, err)
	for _, want := range []string{`"msg":"progress"`, `"stream":"orders"`, fmt.Sprintf(`"streams":%d`, len(stream.AllWithEvents())), `"phase":"reading orders"`, `"allowed_per_second":0`} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("the log does not contain %s: %s", want, logged)
		}
	}
	if strings.Contains(logged.String(), `"time_left":0`) {
		t.Errorf("an unknown time is logged as 0: %s", logged)
	}
}

// TestWaitsAreLogged logs a wait at its start and after ten minutes, with and without --quiet.
func TestWaitsAreLogged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		waited time.Duration
		quiet  bool
		want   string
	}{
		{time.Minute, false, `"level":"INFO","msg":"still waiting for the service"`},
		{time.Minute, true, ""},
		{11 * time.Minute, true, `"level":"WARN","msg":"still waiting for the service","run":"r","reason":"the service answered 503 Service Unavailable","until":"2026-11-20T02:10:00Z"`},
	} {
		logged := &output{more: make(chan struct{}, 1)}
		flags := cli.Flags{Quiet: c.quiet, LogFormat: "json"}
		logWait(flags.NewLogger(logged), ledger.Progress{Run: "r", WaitingFor: "the service answered 503 Service Unavailable",
			WaitingSince: time.Now().Add(-c.waited), WaitingUntil: time.Date(2026, 11, 20, 2, 10, 0, 0, time.UTC)})
		if got := logged.String(); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("after %v, with quiet %v, the log is %q, want %q", c.waited, c.quiet, got, c.want)
		}
	}
}

// serveDemo serves the service over HTTP, and writes a configuration for it that g reads.
func serveDemo(t *testing.T, g *globals, service *sim.Service) {
	t.Helper()
	baseURL, stop, err := service.Serve()
	harness.Must(t, err)
	t.Cleanup(func() { _ = stop() })
	dir := t.TempDir()
	harness.Must(t, prepareDemo(dir, baseURL))
	g.Config = filepath.Join(dir, "config.yaml")
}

// TestWarningsDuringAndAfterBars checks that warnings are printed during and after the bars, and that lines of
// level Info are not printed.
func TestWarningsDuringAndAfterBars(t *testing.T) {
	t.Parallel()
	screen := &output{more: make(chan struct{}, 1)}
	g := &globals{process: process{stderr: screen, stderrWidth: 80}, Flags: cli.Flags{LogFormat: "json"}}
	log, stop := g.showProgress(&pipeline.ProgressTracker{}, false)
	log.Warn("before")
	stop()
	log.Warn("after")
	log.Info("never")
	if got := screen.String(); !strings.Contains(got, `"msg":"before"`) || !strings.Contains(got, `"msg":"after"`) || strings.Contains(got, "never") {
		t.Errorf("the screen shows %q, want both warnings and no other line", got)
	}
}

func TestProgressIsLoggedUnlessQuiet(t *testing.T) {
	t.Parallel()
	for _, g := range []*globals{
		{process: process{stderr: &output{more: make(chan struct{}, 1)}}},
		{process: process{stderr: &output{more: make(chan struct{}, 1)}, stderrWidth: 80}, Flags: cli.Flags{Quiet: true}},
	} {
		log, stop := g.showProgress(&pipeline.ProgressTracker{}, false)
		if got, want := log.Enabled(t.Context(), slog.LevelInfo), !g.Quiet; got != want {
			t.Errorf("with Quiet %v, the level Info is enabled: %v, want %v", g.Quiet, got, want)
		}
		stop()
	}
}

func TestWorkIsDescribed(t *testing.T) {
	t.Parallel()
	nights := func(n int64) string { return humanize.Count(n, "night") }
	for want, got := range map[string]string{
		"0 nights of 14 nights":                                describeWork(0, 14, 5*time.Second, nights),
		"3 nights of 14 nights, 6 nights a minute, 1m50s left": describeWork(3, 14, 30*time.Second, nights),
		"14 nights of 14 nights, 28 nights a minute":           describeWork(14, 14, 30*time.Second, nights),
		"3.0 MiB, 6.0 MiB a minute":                            describeWork(3<<20, 0, 30*time.Second, humanize.FormatBytes),
		"3.0 MiB of 6.0 MiB, 3.0 MiB a minute, 1m0s left":      describeWork(3<<20, 6<<20, time.Minute, humanize.FormatBytes),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestProgressOfWork shows half of a work that began a minute before: as a line of the log, unless --quiet is given,
// and as a bar on a terminal. A warning is printed above the bar, and other lines are not.
func TestProgressOfWork(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		g    globals
		noun string
		want string // matches the output
	}{
		"log": {globals{}, "file", `^time=.* level=INFO msg="a line"\ntime=.* level=WARN msg="a warning"\n` +
			`time=.* level=INFO msg="still working" work=restore progress="3 files of 6 files, 3 files a minute, 1m0s left"\n$`},
		"quiet": {globals{Flags: cli.Flags{Quiet: true}}, "file", `^time=.* level=WARN msg="a warning"\n$`},
		"bar": {globals{process: process{stderrWidth: 100}}, "",
			`(?s)^[^I]*level=WARN msg="a warning"[^I]*restore +\[=+>[^I]* 3 B of 6 B, 3 B a minute, 1m0s left`},
	} {
		synctest.Test(t, func(t *testing.T) {
			screen := &output{more: make(chan struct{}, 1)}
			c.g.stderr = screen
			w := c.g.showWork("restore", c.noun)
			log := w.newLogger(&c.g)
			log.Info("a line")
			log.Warn("a warning")
			w.set(3, 6)
			time.Sleep(time.Minute)
			synctest.Wait()
			got := screen.String()
			if !regexp.MustCompile(c.want).MatchString(got) {
				t.Errorf("%s: the output begins with %.500q, want a match of %s", name, got, c.want)
			}
			w.stop()
			stopped := screen.String()
			time.Sleep(time.Hour)
			synctest.Wait()
			if got := screen.String(); got != stopped {
				t.Errorf("%s: after the end, the output continues with %.500q", name, got[len(stopped):])
			}
		})
	}
}

// TestStopWaitsForTheLastCall stops calls while one runs. The log is closed after the stop.
func TestStopWaitsForTheLastCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls, hasEnded := 0, false
		stop := callEvery(time.Minute, func() {
			calls++
			time.Sleep(time.Second)
			hasEnded = true
		})
		time.Sleep(time.Minute)
		synctest.Wait()
		stop()
		stop()
		if calls != 1 || !hasEnded {
			t.Errorf("there were %d calls, and the last has ended: %t; want one call that has ended", calls, hasEnded)
		}
	})
}

// TestReadStreamIsDescribed compares the line that stays on the terminal after a stream was read.
func TestReadStreamIsDescribed(t *testing.T) {
	t.Parallel()
	for width, want := range map[int]string{
		100: "orders                  proven          1200 rows       13 requests, 2 retries",
		70:  "orders                  proven          1200 rows       13 requests, 2 retries"[:69] + "\u2026",
	} {
		b := &bars{width: width}
		orders := ledger.StreamProgress{Name: "orders", Grade: "exact", Rows: 1200, Requests: 13, Retries: 2}
		if got := b.describeStream(orders); got != want {
			t.Errorf("with width %d got %q, want %q", width, got, want)
		}
	}
	b := &bars{width: 100}
	got := b.describeStream(ledger.StreamProgress{Name: "tags", Grade: "exact", Rows: 1, Requests: 1})
	if want := "tags                    proven              1 row         1 request"; got != want {
		t.Errorf("without retries got %q, want %q", got, want)
	}
}

// TestFrequencyOfTheProgress checks that the first night, and a night with --verbose, log their progress more often.
func TestFrequencyOfTheProgress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		verbose, isFirst bool
		want             time.Duration
	}{{false, false, 15 * time.Minute}, {true, false, time.Minute}, {false, true, time.Minute}} {
		g := &globals{Flags: cli.Flags{Verbose: c.verbose}}
		if got := g.progressInterval(c.isFirst); got != c.want {
			t.Errorf("verbose %t, first night %t: got a line each %s, want each %s", c.verbose, c.isFirst, got, c.want)
		}
	}
}
