package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"placementsync/internal/testing/harness"
	"placementsync/internal/testing/torture"
)

// loadPlan is the load on "serve" in a test, in addition to continuous nights.
type loadPlan struct {
	World worldSize
	// Rate is the number of deliveries a second. They are sent on time, without waiting for
	// earlier responses.
	Rate     int
	Duration time.Duration
	// Readers is the number of readers. Each sends one request a second, for the status page
	// and for the metrics in turn.
	Readers int
	// NightsBefore and NightsAfter are the numbers of nights before and after the load. The first
	// night needs less memory than later nights, because it closes no rows.
	NightsBefore, NightsAfter int
	// StalledSenders is the number of senders that begin a large delivery with a wrong signature and never
	// complete it.
	StalledSenders int
}

// TestTrialLoad is the short form of TestTortureLoad.
func TestTrialLoad(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	r := loadPlan{World: worldSize{Listings: 60, Campaigns: 3, Orders: 8}, Rate: 100, Duration: 2 * time.Second, Readers: 10, StalledSenders: 40, NightsBefore: 1}.run(t)
	r.check(t)
}

// TestTortureLoad checks that "serve" loses and rejects no valid event, and that its memory does not
// grow, under its maximum load: 1,000 deliveries a second, 50 readers, and continuous nights.
func TestTortureLoad(t *testing.T) {
	if os.Getenv("PLACEMENTSYNC_TORTURE") == "" {
		t.Skip("takes minutes: run by make torture")
	}
	startedAt := time.Now()
	r := loadPlan{World: worldSize{Listings: 2_000, Campaigns: 60, Orders: 300}, Rate: 1000, Duration: time.Minute, Readers: 50, StalledSenders: 100, NightsBefore: 4, NightsAfter: 2}.run(t)
	r.check(t)
	t.Log(r)
	r.checkMemory(t)
	harness.Must(t, torture.Open(os.Getenv).EndTrial(startedAt, t.Failed(), torture.Trial{
		Name: "load", Procedure: "serve under 1,000 deliveries a second, 50 readers of the status page and the metrics, 100 senders that stall, and nights without a pause",
		Runs: r.Deliveries.Sent, Outcome: strings.ReplaceAll(r.String(), "\n", "; ")}))
}

// loadResults are the measured results of a load test.
type loadResults struct {
	loadPlan
	Deliveries deliveryResults
	Requests   readerResults
	Memory     memoryPhases
	// Nights is the number of nights that started during the load.
	Nights int
	// Lost counts the acknowledged events that are missing in the warehouse.
	Lost int
	// Duplicates counts the events with several rows.
	Duplicates int
	// Unexpected counts the stored events that were not acknowledged.
	Unexpected int
	// Events counts the acknowledged events.
	Events int
}

// run runs "serve" under the load, stops it, runs one more night for the rest of the inbox, and
// compares the warehouse with the acknowledged events.
func (plan loadPlan) run(t *testing.T) loadResults {
	t.Helper()
	r := loadResults{loadPlan: plan}
	service := startService(t, plan.World)
	p := startServe(t, service.url)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	waitForService := service.advanceRepeatedly(ctx, 5*time.Second)
	p.awaitNights(t, 1)
	memory := startMemorySampler(ctx, p.cmd.Process.Pid)
	p.awaitNights(t, plan.NightsBefore)
	nightsBeforeLoad := p.startedNights()
	r.Memory.Before = memory.endPhase()
	loadCtx, stopLoad := context.WithCancel(ctx)
	defer stopLoad()
	waitForReaders := startReaders(loadCtx, p.url, plan.Readers)
	waitForStalledSenders := startStalledSenders(loadCtx, p.url, plan.StalledSenders)
	senders := newSenders(plan, p.url, plan.World.articleIDs(t))
	r.Deliveries = senders.send(t.Context())
	r.Nights = p.startedNights() - nightsBeforeLoad
	r.Memory.During = memory.endPhase()
	stopLoad()
	r.Requests = waitForReaders()
	waitForStalledSenders()
	p.awaitNights(t, nightsBeforeLoad+r.Nights+plan.NightsAfter)
	r.Memory.After = memory.endPhase()
	stop()
	waitForService()
	if r.Deliveries.BrokenConnections == 0 {
		p.checkMetrics(t, senders) // after a broken connection, it is unknown whether "serve" stored the delivery
	}
	p.stop(t)
	p.run(t, "run", "--quiet")
	r.compare(senders.acknowledgedEvents(), p.eventRows(t))
	return r
}

func (r loadResults) check(t *testing.T) {
	t.Helper()
	if r.Lost+r.Duplicates+r.Unexpected > 0 {
		t.Errorf("of %d acknowledged events %d are lost and %d have several rows; %d other events are stored", r.Events, r.Lost, r.Duplicates, r.Unexpected)
	}
	if r.Deliveries.WrongStatuses > 0 || r.Deliveries.BrokenConnections > 0 {
		t.Errorf("%d deliveries had an unexpected response, and %d had none: %q", r.Deliveries.WrongStatuses, r.Deliveries.BrokenConnections, r.Deliveries.Problems)
	}
	if r.Requests.Failures > 0 || r.Requests.Pages == 0 || r.Requests.Metrics == 0 {
		t.Errorf("of %d requests for the status page and %d for the metrics, %d failed: %q; want requests for both and no failure", r.Requests.Pages,
			r.Requests.Metrics, r.Requests.Failures, r.Requests.Problems)
	}
	if r.Nights == 0 {
		t.Error("no night began under the load")
	}
}

// checkMemory compares the memory during and after the load with the memory before the load. The
// memory of a night varies with the changes of the night and with the caches of DuckDB.
func (r loadResults) checkMemory(t *testing.T) {
	t.Helper()
	// The bound is the default memory limit of DuckDB plus the memory of the rest of the process.
	const factor, slack, bound = 1.25, 64 << 20, (512 + 480) << 20
	m := r.Memory
	highest := max(m.During.High, m.After.High)
	if m.After.Low > factor*m.Before.Low+slack || highest > factor*m.Before.High+slack || highest > bound {
		t.Errorf("the memory grew: %v; want at most %v times the memory before the load plus %d bytes, and at most %d bytes", m, factor, slack, bound)
	}
}

func (r *loadResults) compare(acknowledged map[string]bool, stored map[string]int) {
	r.Events = len(acknowledged)
	for id := range acknowledged {
		if stored[id] == 0 {
			r.Lost++
		}
	}
	for id, n := range stored {
		if n > 1 {
			r.Duplicates++
		}
		if !acknowledged[id] {
			r.Unexpected++
		}
	}
}
