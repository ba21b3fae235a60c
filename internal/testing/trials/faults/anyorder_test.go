package faults_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	"placementsync/internal/testing/torture"
	"placementsync/internal/testing/trials"
)

// sequentialConfig returns the configuration of a night with one request at a time.
func sequentialConfig(t *testing.T, service *sim.Service, dir string, at time.Time, streams []string) pipeline.Config {
	t.Helper()
	cfg := trials.Job{Dir: dir, URL: "http://127.0.0.1/", Agent: trials.UndisturbedAgent, Streams: streams, At: at}.Config()
	cfg.Fetch.Concurrency = 1
	cfg.Fetch.Transport = &trials.RandomTransport{Service: service}
	return cfg
}

// shuffledConfig returns cfg with random page and batch sizes and random numbers of workers and
// threads.
func shuffledConfig(cfg pipeline.Config, random *rand.Rand) pipeline.Config {
	cfg.Fetch.PageSize = 1 + random.IntN(30)
	cfg.Fetch.Concurrency = 1 + random.IntN(16)
	cfg.Fetch.Retry = fetch.Retry{MaxRetries: 8, Base: time.Millisecond, Max: time.Second}
	cfg.Warehouse.Threads = 1 + random.IntN(2)
	cfg.BatchRows = 1 + random.IntN(40)
	return cfg
}

// compareAnyOrder runs the same two nights in two warehouses. In the first warehouse, a night uses
// sequentialConfig. In the second warehouse, a night uses shuffledConfig, is interrupted at random
// requests, and is resumed with another shuffledConfig. All values of the warehouses must be equal.
func compareAnyOrder(t *testing.T, seed uint64, streams []string) (interruptions int) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 3))
	world := trials.TrialWorld(seed)
	world.Encodings = []string{"zstd", "gzip"}
	service := sim.New(world)
	sequentialDir, shuffledDir := t.TempDir(), t.TempDir()
	for range 2 {
		service.Advance(1)
		at := service.Now().Add(2 * time.Hour)
		transport := &trials.RandomTransport{Service: service, Random: random}
		synctest.Test(t, func(t *testing.T) {
			requireExitCode(t, t.Context(), sequentialConfig(t, service, sequentialDir, at, streams), 0)
		})
		for tries, code := 0, 130; code != 0; tries++ {
			cfg := shuffledConfig(sequentialConfig(t, service, shuffledDir, at.Add(time.Duration(tries)*time.Minute), streams), random)
			cfg.Fetch.Transport = transport
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				transport.Interrupt, transport.RequestsLeft = cancel, 1+random.IntN(80>>tries)
				if tries == 3 { // the fourth try is not interrupted
					transport.RequestsLeft = -1
				}
				code = requireExitCode(t, ctx, cfg, 0, 130)
			})
			if code != 0 {
				interruptions++
			}
		}
		trials.RequireSameWarehouse(t, sequentialDir, shuffledDir)
	}
	return interruptions
}

// requireExitCode runs a night that must end with one of these exit codes. A night with exit code 0
// must be complete.
func requireExitCode(t *testing.T, ctx context.Context, cfg pipeline.Config, codes ...int) int {
	t.Helper()
	res, err := pipeline.Run(ctx, cfg)
	for _, code := range codes {
		if res.Run.ExitCode == code && (code != 0 || res.Run.Outcome == ledger.Complete) {
			return code
		}
	}
	t.Fatalf("the night ended %s with exit code %d, want one of %v: %v\n%s", res.Run.Outcome, res.Run.ExitCode, codes, err, trials.Reasons(res.Run))
	return -1
}

// TestTrialAnyOrderGivesTheSameWarehouse is the short form of
// TestTortureAnyOrderGivesTheSameWarehouse.
func TestTrialAnyOrderGivesTheSameWarehouse(t *testing.T) {
	trials.SkipIfShort(t)
	t.Parallel()
	compareAnyOrder(t, 1, trials.FewStreams())
}

// TestTortureAnyOrderGivesTheSameWarehouse chooses page and batch sizes, numbers of workers and
// threads, the order of responses and the interruptions at random. The warehouse must not depend on
// them.
func TestTortureAnyOrderGivesTheSameWarehouse(t *testing.T) {
	trials.RequireTorture(t)
	const seeds = 50
	interruptions := 0
	defer trials.RecordTrial(t, time.Now(), func() torture.Trial {
		return torture.Trial{Name: "any order", Procedure: "page and batch sizes, workers, threads, the order of responses and the points at which a night is interrupted and resumed are random",
			Runs: seeds, Outcome: fmt.Sprintf("the same values in both warehouses, %d interruptions", interruptions)}
	})
	for seed := range uint64(seeds) {
		streams := trials.FewStreams()
		switch seed % 10 {
		case 0:
			streams = nil // all
		case 3, 7:
			streams = trials.SomeStreams()
		}
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { interruptions += compareAnyOrder(t, seed, streams) })
	}
}
