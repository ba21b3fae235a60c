package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"placementsync/internal/testing/torture"
)

// burden is what a trial puts on serve at once, beside one night after the other.
type burden struct {
	World worldSize
	// Rate is that of the deliveries a second, sent by the clock, whatever
	// comes of the earlier ones.
	Rate  int
	Lasts time.Duration
	// Readers ask for the status page and the metrics in turn, once a second
	// each.
	Readers int
	// Before is how many nights end before the load begins, After how many behind
	// it. The very first one takes less memory than later ones: it closes nothing.
	Before, After int
	// Stallers are unsigned senders at every moment who begin a large delivery
	// and do not go on.
	Stallers int
}

// TestLoad is the short form of TestTortureLoad.
func TestLoad(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	f := burden{World: worldSize{Listings: 60, Campaigns: 3, Orders: 8}, Rate: 100, Lasts: 2 * time.Second, Readers: 10, Stallers: 40, Before: 1}.put(t)
	f.demand(t)
}

// TestTortureLoad holds that serve loses nothing, refuses nothing and does not
// grow under the load that it is made for: 1,000 deliveries a second, 50 readers,
// and nights without a pause.
func TestTortureLoad(t *testing.T) {
	if os.Getenv("PLACEMENTSYNC_TORTURE") == "" {
		t.Skip("takes minutes: run by make torture")
	}
	begun := time.Now()
	f := burden{World: worldSize{Listings: 2_000, Campaigns: 60, Orders: 300}, Rate: 1000, Lasts: time.Minute, Readers: 50, Stallers: 100, Before: 4, After: 2}.put(t)
	f.demand(t)
	t.Log(f)
	f.demandFlat(t)
	must(t, torture.Open(os.Getenv).EndTrial(begun, t.Failed(), torture.Trial{
		Name: "load", Fault: "serve under 1,000 deliveries a second, 50 readers of the status page and the metrics, 100 senders that stall, and nights without a pause",
		Runs: f.Deliveries.Sent, Outcome: strings.ReplaceAll(f.String(), "\n", "; ")}))
}

// figures are what came of a burden.
type figures struct {
	burden
	Deliveries sendings
	Pages      readings
	Memory     growth
	// Nights are those that began while the load was on.
	Nights int
	// Lost are acknowledged events that the warehouse has not, Twice those that
	// it has more than once, Strange those that it must not have.
	Lost, Twice, Strange int
	Events               int
}

// put runs serve under the burden, stops it, has one more night take what is left
// in the inbox, and compares the warehouse with what was acknowledged.
func (b burden) put(t *testing.T) figures {
	t.Helper()
	f := figures{burden: b}
	service := startService(t, b.World)
	p := startServe(t, service.url)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	aged := service.age(ctx, 5*time.Second)
	p.awaitNights(t, 1)
	held := watchMemory(ctx, p.cmd.Process.Pid)
	p.awaitNights(t, b.Before)
	before := p.nights()
	f.Memory.Before = held.phase([2]float64{0, 1})[0]
	loaded, unload := context.WithCancel(ctx)
	defer unload()
	seen := readAll(loaded, p.url, b.Readers)
	stalled := stall(loaded, t, p.url, b.Stallers)
	senders := newSenders(b, p.url, b.World.articles(t))
	f.Deliveries = senders.send(t.Context())
	f.Nights = p.nights() - before
	thirds := held.phase([2]float64{0, 1. / 3}, [2]float64{2. / 3, 1})
	f.Memory.First, f.Memory.Last = thirds[0], thirds[1]
	unload()
	f.Pages = seen()
	stalled()
	p.awaitNights(t, before+f.Nights+b.After)
	f.Memory.After = held.phase([2]float64{0, 1})[0]
	stop()
	aged()
	if f.Deliveries.Broken == 0 {
		p.demandCounts(t, senders) // what was not answered may have come to anything
	}
	p.end(t)
	p.run(t, "run", "--quiet")
	f.compare(senders.acknowledged(), p.events(t))
	return f
}

// demand is what must hold under any burden.
func (f figures) demand(t *testing.T) {
	t.Helper()
	if f.Lost+f.Twice+f.Strange > 0 {
		t.Errorf("of %d acknowledged events %d are lost, %d are there twice, and %d must not be there", f.Events, f.Lost, f.Twice, f.Strange)
	}
	if f.Deliveries.Wrong > 0 || f.Deliveries.Broken > 0 {
		t.Errorf("%d deliveries were answered otherwise than they deserve, %d not at all: %q", f.Deliveries.Wrong, f.Deliveries.Broken, f.Deliveries.Problems)
	}
	if f.Pages.Bad > 0 || f.Pages.Pages == 0 || f.Pages.Metrics == 0 {
		t.Errorf("%d of %d pages were not served: %q", f.Pages.Bad, f.Pages.Pages+f.Pages.Metrics, f.Pages.Problems)
	}
	if f.Nights == 0 {
		t.Error("no night began under the load")
	}
}

// demandFlat compares the memory under the load and after it with that before. What
// a night takes differs with what changed and with what DuckDB holds back, below the
// bound that the configuration names.
func (f figures) demandFlat(t *testing.T) {
	t.Helper()
	const share, slack, bound = 1.25, 64 << 20, (512 + 480) << 20
	m := f.Memory
	most := max(m.First.Most, m.Last.Most, m.After.Most)
	if m.After.Low > share*m.Before.Low+slack || most > share*m.Before.Most+slack || most > bound {
		t.Errorf("memory grows: %v", m)
	}
}

func (f *figures) compare(acknowledged map[string]bool, stored map[string]int) {
	f.Events = len(acknowledged)
	for id := range acknowledged {
		if stored[id] == 0 {
			f.Lost++
		}
	}
	for id, n := range stored {
		if n > 1 {
			f.Twice++
		}
		if !acknowledged[id] {
			f.Strange++
		}
	}
}
