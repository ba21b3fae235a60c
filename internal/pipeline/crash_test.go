package pipeline_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	"placementsync/internal/warehouse"
)

// Who asks the service: the warehouse whose runs are struck, or the one whose
// runs are spared.
const (
	struck = "struck"
	spared = "spared"
)

// trial fills two warehouses from one service: every night is run once in
// peace for the one, and struck down and taken up again for the other.
type trial struct {
	*house
	streams []string
	asked   *questions
	// dir is the warehouse whose runs are struck.
	dir string
	// night is the run that is under way, and peace what it asks in peace.
	night string
	peace map[string]int
	tries int
	// took is how long a night takes in peace.
	took time.Duration
}

// trialWorld is small and changes every night.
func trialWorld(seed uint64) sim.Options {
	return sim.Options{Seed: seed, Token: token, Outlets: 5, Listings: 20, Profiles: 3, Campaigns: 4, Orders: 12, Files: 6, Folders: 2,
		ListingTurnover: 0.1, SilentChange: 0.2}
}

// some streams are enough to have every kind: lists, details by row and while
// live, and children. The long trial has all.
func some() []string {
	return append(few(), "campaigns", "campaign_articles", "files", "tags")
}

func newTrial(t *testing.T, seed uint64, streams ...string) *trial {
	t.Helper()
	c := &trial{house: newHouse(t, trialWorld(seed), streams...), streams: streams, dir: t.TempDir(), asked: &questions{}}
	c.arrive = c.asked.note
	c.asked.forget(0)
	return c
}

func (c *trial) job(agent, dir string) job {
	return job{URL: c.server.URL, Dir: dir, Agent: agent, Streams: c.streams, At: c.at}
}

// questions counts what is asked of the service, by who asks and what.
type questions struct {
	mu    sync.Mutex
	by    map[string]map[string]int
	left  int
	heard chan struct{}
}

func (q *questions) note(r *http.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.by[r.UserAgent()][r.RequestURI]++
	if r.UserAgent() == struck {
		if q.left--; q.left == 0 {
			close(q.heard)
		}
	}
}

// forget begins a new count, and returns a channel that is closed when the
// struck run has asked n questions.
func (q *questions) forget(n int) <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.by = map[string]map[string]int{struck: {}, spared: {}}
	q.left, q.heard = n, make(chan struct{})
	if n == 0 {
		close(q.heard)
	}
	return q.heard
}

func (q *questions) of(agent string) map[string]int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return maps.Clone(q.by[agent])
}

// begin lives through a day and runs its night in peace.
func (c *trial) begin(t *testing.T) {
	t.Helper()
	c.service.Advance(1)
	c.at = c.service.Now().Add(2 * time.Hour)
	c.asked.forget(0)
	start := time.Now()
	res, err := pipeline.Run(t.Context(), c.job(spared, c.cfg.Warehouse.Dir).config())
	c.complete(res, err)
	c.night, c.peace, c.tries, c.took = res.Run.ID, c.asked.of(spared), 0, time.Since(start)
}

// try runs the night in another process, which meets its end by fate. It
// reports whether the process was killed and whether the night is published.
func (c *trial) try(t *testing.T, s strike, n int, fate func(*testing.T, *child, <-chan struct{})) (killed, published bool) {
	t.Helper()
	if c.night == "" {
		c.begin(t)
	}
	before := landings(t, filepath.Join(c.dir, "raw", c.night, "journal.jsonl"))
	c.tries++
	heard := c.asked.forget(n)
	j := c.job(struck, c.dir)
	j.At, j.Strike = c.now(t), s
	p := j.start(t)
	fate(t, p, heard)
	killed, published = p.killed(), requireIntact(t, c.dir) == c.night
	c.requireNew(t, before)
	if !killed {
		c.requireComplete(t, p)
	}
	if published {
		c.night = ""
		requireSame(t, c.cfg.Warehouse.Dir, c.dir)
	}
	return killed, published
}

// now is later for a run that is taken up. One that was killed before it left
// anything behind starts anew, at the time of the night.
func (c *trial) now(t *testing.T) time.Time {
	t.Helper()
	wh, err := warehouse.Open(c.job(struck, c.dir).config().Warehouse)
	must(t, err)
	if _, ok, err := wh.Unfinished(); !ok || err != nil {
		must(t, err)
		return c.at
	}
	return c.at.Add(time.Duration(c.tries) * time.Minute)
}

func (c *trial) requireComplete(t *testing.T, p *child) {
	t.Helper()
	var end ended
	p.read(t, &end)
	if end.Run != c.night || end.Code != 0 || end.Outcome != warehouse.Complete {
		t.Fatalf("try %d of run %s ended as %s: %s with %d: %s", c.tries, c.night, end.Run, end.Outcome, end.Code, end.Error)
	}
}

// requireNew compares what this try asked, and what had landed before it, with
// the questions of a night in peace: nothing may be more, except that page 1
// of a list is read again to confirm its walk.
func (c *trial) requireNew(t *testing.T, landed map[string]int) {
	t.Helper()
	for path, n := range c.asked.of(struck) {
		again := n+landed[path] > c.peace[path]
		if again && !strings.HasSuffix(path, "page=1") {
			t.Errorf("%s had landed %d times and was asked %d times in try %d; in peace it is asked %d times", path, landed[path], n,
				c.tries, c.peace[path])
		}
	}
}

// landings counts the lines of a journal by path and query.
func landings(t *testing.T, journal string) map[string]int {
	t.Helper()
	all := map[string]int{}
	f, err := os.Open(journal)
	if errors.Is(err, fs.ErrNotExist) {
		return all
	}
	must(t, err)
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var line struct {
			Path, Query, Param string
			Page               int
		}
		// The last line may be torn.
		if json.Unmarshal(lines.Bytes(), &line) != nil {
			continue
		}
		if before, after, found := strings.Cut(line.Path, "{"); found {
			_, rest, _ := strings.Cut(after, "}")
			line.Path = before + url.PathEscape(line.Param) + rest
		}
		if line.Page > 0 {
			line.Query = strings.TrimPrefix(line.Query+"&page="+strconv.Itoa(line.Page), "&")
		}
		all[strings.TrimSuffix(line.Path+"?"+line.Query, "?")]++
	}
	return all
}

// publishInPeace runs the night that is under way, or the next one.
func (c *trial) publishInPeace(t *testing.T) {
	t.Helper()
	if killed, published := c.try(t, strike{}, 0, inPeace); killed || !published {
		t.Fatalf("the night ended without a snapshot, killed: %t", killed)
	}
}

// inPeace lets the night come to its end.
func inPeace(_ *testing.T, p *child, _ <-chan struct{}) { <-p.exited }

// after kills a run a moment after the service has heard a number of questions.
func after(moment time.Duration) func(*testing.T, *child, <-chan struct{}) {
	return func(t *testing.T, p *child, heard <-chan struct{}) {
		select {
		case <-heard:
		case <-p.exited:
			return
		}
		timer := time.NewTimer(moment)
		defer timer.Stop()
		select {
		case <-timer.C:
			p.kill(t)
		case <-p.exited:
		}
	}
}

// finish publishes what is under way, lives through one more night in peace,
// and compares all that two warehouses have.
func (c *trial) finish(t *testing.T) {
	t.Helper()
	c.publishInPeace(t)
	c.publishInPeace(t)
	requireTidy(t, c.dir)
	if diff := gocmp.Diff(ledger(t, c.cfg.Warehouse.Dir), ledger(t, c.dir)); diff != "" {
		t.Errorf("the ledgers differ (-spared +struck):\n%s", diff)
	}
	for _, folder := range []string{"parquet", "versions"} {
		if diff := gocmp.Diff(files(t, c.path(folder)), files(t, filepath.Join(c.dir, folder))); diff != "" {
			t.Errorf("%s differs (-spared +struck):\n%s", folder, diff)
		}
	}
	requireReadable(t, filepath.Join(c.dir, "parquet", "*", "*", "*.parquet"))
}

// ledger tells how every night ended.
func ledger(t *testing.T, dir string) map[string]string {
	t.Helper()
	wh, err := warehouse.Open(warehouse.Config{Dir: dir})
	must(t, err)
	runs, err := wh.Runs()
	must(t, err)
	ends := map[string]string{}
	for _, r := range runs {
		ends[r.ID] = fmt.Sprintf("%s with %d, %d rows", r.Outcome, r.ExitCode, r.Rows)
	}
	return ends
}

// strikes has every named step. Those of one night follow each other, so that
// each strikes a run that was taken up after the one before.
func strikes() []strike {
	all := []strike{{"answer landed", 1, ""}, {"answer landed", 12, ""}}
	for _, step := range []string{"before copy", "after copy"} {
		all = append(all, strike{Step: step})
	}
	all = append(all, strike{"stream staged", 1, ""}, strike{"stream staged", 4, ""})
	for _, step := range []string{
		"merged", "parquet written", "before checkpoint", "after checkpoint", "before fsync of the version",
		"after fsync of the version", "before verify", "before rename", "after rename", "after switch",
	} {
		all = append(all, strike{Step: step})
	}
	// What a run finishes for the one before it, and then does for itself.
	return append(all, strike{Step: "before series"}, strike{"mid series", 4, ""}, strike{"after series", 1, ""},
		strike{"before series", 1, "after switch"}, strike{"mid series", 4, "after switch"},
		strike{"after series", 1, "after switch"}, strike{Step: "published"})
}

// TestTortureKilledAtEveryStep kills a run at every step that changes what is on the
// disk. Whatever is published then can be read, the next run takes the night
// up without asking twice, and the warehouse ends as one that was never struck.
func TestTortureKilledAtEveryStep(t *testing.T) {
	if os.Getenv("PLACEMENTSYNC_TORTURE") == "" {
		t.Skip("set PLACEMENTSYNC_TORTURE to run it")
	}
	t.Parallel()
	c := newTrial(t, 3, some()...)
	for _, s := range strikes() {
		reached := t.Run(s.String(), func(t *testing.T) {
			if killed, _ := c.try(t, s, 0, inPeace); !killed {
				t.Error("the run came to its end: the step was not reached")
			}
		})
		if !reached {
			return
		}
	}
	c.finish(t)
}

// TestTortureKilledRunIsInTheLedger kills a run that nobody takes up.
func TestTortureKilledRunIsInTheLedger(t *testing.T) {
	if os.Getenv("PLACEMENTSYNC_TORTURE") == "" {
		t.Skip("set PLACEMENTSYNC_TORTURE to run it")
	}
	t.Parallel()
	c := newTrial(t, 5, few()...)
	c.try(t, strike{Step: "merged"}, 0, inPeace)
	j := c.job(struck, c.dir)
	j.At = c.at.Add(7 * time.Hour)
	res := c.complete(pipeline.Run(t.Context(), j.config()))
	if end := ledger(t, c.dir)[c.night]; res.Run.ID == c.night || !strings.HasPrefix(end, warehouse.Failed) {
		t.Errorf("run %s began after %s was killed, which the ledger has as %q", res.Run.ID, c.night, end)
	}
}

// TestTortureKilledAtRandom is the same at moments that nobody chose.
func TestTortureKilledAtRandom(t *testing.T) {
	if os.Getenv("PLACEMENTSYNC_TORTURE") == "" {
		t.Skip("set PLACEMENTSYNC_TORTURE to run it")
	}
	t.Parallel()
	c := newTrial(t, 4, some()...)
	c.storm(t, rand.New(rand.NewPCG(4, 0)), 3)
	c.finish(t)
}

// score counts what a storm did.
type score struct{ nights, kills, published, late int }

// storm strikes every night up to three times, the last try is in peace.
func (c *trial) storm(t *testing.T, random *rand.Rand, nights int) score {
	t.Helper()
	var s score
	for s.nights < nights && !t.Failed() {
		s.nights++
		published := false
		for range 1 + random.IntN(3) {
			var killed bool
			if killed, published = c.strikeOnce(t, random); killed {
				s.kills++
			} else {
				s.late++
			}
			if published {
				s.published++
				break
			}
		}
		if !published {
			c.try(t, strike{}, 0, inPeace)
		}
	}
	return s
}

// strikeOnce strikes by the clock or at a step.
func (c *trial) strikeOnce(t *testing.T, random *rand.Rand) (killed, published bool) {
	t.Helper()
	if random.IntN(3) == 0 {
		steps := strikes()
		s := steps[random.IntN(len(steps))]
		s.Nth = 1 + random.IntN(max(s.Nth, 1)*2)
		return c.try(t, s, 0, inPeace)
	}
	if c.night == "" {
		c.begin(t)
	}
	// A run that is taken up asks for little.
	n := random.IntN(max(1, len(c.peace)>>(2*c.tries)))
	moment := time.Duration(random.Int64N(int64(cmp.Or(c.took, time.Second))))
	return c.try(t, strike{}, n, after(moment))
}

// TestTortureCrash goes on for as many nights as the promise names.
func TestTortureCrash(t *testing.T) {
	if os.Getenv("PLACEMENTSYNC_TORTURE") == "" {
		t.Skip("takes a quarter of an hour: set PLACEMENTSYNC_TORTURE")
	}
	for name, storm := range map[string]struct {
		seed    uint64
		nights  int
		streams []string
	}{"all streams": {1, 70, nil}, "some streams": {2, 140, some()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			c := newTrial(t, storm.seed, storm.streams...)
			s := c.storm(t, rand.New(rand.NewPCG(storm.seed, 1)), storm.nights)
			c.finish(t)
			t.Logf("%d nights, %d kills, %d strikes that came too late, %d nights published by a run that was struck or spared by chance, in %v",
				s.nights, s.kills, s.late, s.published, time.Since(start).Round(time.Second))
		})
	}
}

// TestTortureTenAtOnce starts ten runs of one warehouse in the same moment: one
// works, nine say who does.
func TestTortureTenAtOnce(t *testing.T) {
	if os.Getenv("PLACEMENTSYNC_TORTURE") == "" {
		t.Skip("set PLACEMENTSYNC_TORTURE to run it")
	}
	t.Parallel()
	const all = 10
	h := newHouse(t, smallWorld(), few()...)
	proceed := make(chan struct{})
	h.arrive = func(*http.Request) { <-proceed }
	h.service.Advance(1)
	at := h.service.Now()
	ends := make(chan *child, all)
	var starters []*child
	for range all {
		p := job{URL: h.server.URL, Dir: h.cfg.Warehouse.Dir, Streams: few(), At: at, Gate: true}.start(t)
		starters = append(starters, p)
		go func() {
			<-p.exited
			ends <- p
		}()
	}
	for _, p := range starters {
		select {
		case <-p.said.ready:
		case <-p.exited:
			t.Errorf("process %d ended at once:\n%s", p.cmd.Process.Pid, p.said)
		}
	}
	for _, p := range starters {
		must(t, p.input.Close())
	}
	refused := map[*child]bool{}
	for range all - 1 {
		refused[<-ends] = true
	}
	close(proceed)
	h.requireOneAtWork(starters, refused)
}

// requireOneAtWork holds the refused processes to naming the one that worked.
func (h *house) requireOneAtWork(starters []*child, refused map[*child]bool) {
	h.t.Helper()
	var worker *child
	for _, p := range starters {
		if !refused[p] {
			worker = p
		}
	}
	var done ended
	worker.read(h.t, &done)
	if done.Code != 0 || h.latest() != done.Run {
		h.t.Errorf("the run that worked ended with %d: %s", done.Code, done.Error)
	}
	want := &warehouse.HeldError{PID: worker.cmd.Process.Pid, Run: done.Run, Since: h.service.Now().UTC()}
	for p := range refused {
		var end ended
		p.read(h.t, &end)
		if end.Code != 4 || !gocmp.Equal(end.Held, want) {
			h.t.Errorf("process %d ended with %d: %s; want 4 and %v", p.cmd.Process.Pid, end.Code, end.Error, want)
		}
	}
}
