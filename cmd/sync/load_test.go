package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"placementsync/internal/testing/torture"
)

// burden is the load of a trial on serve, besides continuous nights.
type burden struct {
	World worldSize
	// Rate is the number of deliveries a second. They are sent on time, without waiting for
	// earlier ones.
	Rate  int
	Lasts time.Duration
	// Readers request the status page and the metrics in turn, once a second each.
	Readers int
	// Before and After are the numbers of nights before and after the load. The first night
	// needs less memory than later ones, because it closes no rows.
	Before, After int
	// Stallers is the number of unsigned connections with an incomplete large delivery.
	Stallers int
}

// TestTrialLoad is the short form of TestTortureLoad.
func TestTrialLoad(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	f := burden{World: worldSize{Listings: 60, Campaigns: 3, Orders: 8}, Rate: 100, Lasts: 2 * time.Second, Readers: 10, Stallers: 40, Before: 1}.put(t)
	f.demand(t)
}

// TestTortureLoad checks that serve loses and rejects no event, and that its memory does not
// grow, under its maximum load: 1,000 deliveries a second, 50 readers, and continuous nights.
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

// figures are the measured results of a load test.
type figures struct {
	burden
	Deliveries sendings
	Pages      readings
	Memory     growth
	// Nights is the number of nights that started during the load.
	Nights int
	// Lost counts acknowledged events that are missing in the warehouse, Twice events with
	// several rows, Strange events that must not be in the warehouse.
	Lost, Twice, Strange int
	Events               int
}

// put runs serve under the burden, stops it, runs one more night for the rest of the inbox,
// and compares the warehouse with the acknowledged events.
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

// demand checks the figures of any burden.
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

// demandFlat compares the memory during and after the load with that before. The memory of a
// night varies with its changes and with the caches of DuckDB, within the configured limit.
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
