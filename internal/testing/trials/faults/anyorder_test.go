package faults_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/torture"
	"placementsync/internal/testing/trials"
)

// randomTransport returns responses of the service in random order. Each response takes a random
// time on the virtual clock and has a random content encoding. One response in twenty has status
// 503.
type randomTransport struct {
	service http.Handler
	mu      sync.Mutex
	// random is the source of all random choices. If it is nil, responses take no time and are
	// neither encoded nor replaced.
	random *rand.Rand
	// requestsLeft counts down the requests. At 0 the transport calls interrupt. If requestsLeft is set
	// to 0 or less, the transport never calls interrupt.
	requestsLeft int
	interrupt    context.CancelFunc
}

func (d *randomTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	delay, busy, encoding := d.nextResponse()
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
		return nil, context.Cause(r.Context())
	}
	w := httptest.NewRecorder()
	if busy {
		w.WriteHeader(http.StatusServiceUnavailable)
	} else {
		withEncoding := r.Clone(r.Context())
		withEncoding.Header.Set("Accept-Encoding", encoding)
		d.service.ServeHTTP(w, withEncoding)
	}
	return w.Result(), nil
}

func (d *randomTransport) nextResponse() (delay time.Duration, busy bool, encoding string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.requestsLeft--
	if d.requestsLeft == 0 {
		d.interrupt()
	}
	if d.random == nil {
		return 0, false, "identity"
	}
	return time.Duration(d.random.IntN(1000)) * time.Millisecond, d.random.IntN(20) == 0, []string{"identity", "gzip", "zstd"}[d.random.IntN(3)]
}

// sequentialConfig returns the configuration of a night with one request at a time.
func sequentialConfig(t *testing.T, service *sim.Service, dir string, at time.Time, streams []string) pipeline.Config {
	t.Helper()
	cfg := trials.Job{Dir: dir, URL: "http://127.0.0.1/", Streams: streams, At: at}.Config()
	cfg.Fetch.Concurrency = 1
	cfg.Fetch.Transport = &randomTransport{service: service}
	return cfg
}

// shuffledConfig returns cfg with random page and batch sizes and random numbers of workers and threads.
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
		transport := &randomTransport{service: service, random: random}
		synctest.Test(t, func(t *testing.T) {
			requireExitCode(t, t.Context(), sequentialConfig(t, service, sequentialDir, at, streams), 0)
		})
		for tries, code := 0, 130; code != 0; tries++ {
			cfg := shuffledConfig(sequentialConfig(t, service, shuffledDir, at.Add(time.Duration(tries)*time.Minute), streams), random)
			cfg.Fetch.Transport = transport
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				transport.interrupt, transport.requestsLeft = cancel, 1+random.IntN(80>>tries)
				if tries == 3 { // the fourth try is not interrupted
					transport.requestsLeft = -1
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

// requireExitCode runs a night that must end with one of these exit codes. A night with exit code 0 must be complete.
func requireExitCode(t *testing.T, ctx context.Context, cfg pipeline.Config, codes ...int) int {
	t.Helper()
	res, err := pipeline.Run(ctx, cfg)
	code := res.Run.ExitCode
	if !slices.Contains(codes, code) || code == 0 && res.Run.Outcome != ledger.Complete {
		t.Fatalf("the night ended %s with exit code %d, want one of %v: %v\n%s", res.Run.Outcome, code, codes, err, trials.Reasons(res.Run))
	}
	return code
}

// TestTrialAnyOrderGivesTheSameWarehouse is the short form of TestTortureAnyOrderGivesTheSameWarehouse.
func TestTrialAnyOrderGivesTheSameWarehouse(t *testing.T) {
	testharness.Long(t)
	t.Parallel()
	compareAnyOrder(t, 1, trials.FewStreams())
}

// TestTortureAnyOrderGivesTheSameWarehouse chooses page and batch sizes, numbers of workers and threads, the order of
// responses and the interruptions at random. The warehouse must not depend on them.
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
