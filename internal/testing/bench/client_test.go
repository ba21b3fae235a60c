package bench_test

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"placementsync/internal/fetch"
	"placementsync/internal/load"
	"placementsync/internal/pipeline"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// inside is a night that is looked into: the same pipeline as the program's, in
// a test process that can tell its steps apart and sample itself.
type inside struct {
	URL, Dir string
	// Passes bounds the passes over a list; 0: the program's default.
	Passes int
	// Profile is the file for the CPU samples; empty: none.
	Profile string
	Report  string
}

// stepped is a step of a night with what had been spent when it came, in
// seconds since the night began.
type stepped struct {
	Name      string
	Wall, CPU float64
}

// recorder notes the steps.
type recorder struct {
	begun time.Time
	cpu   float64
	mu    sync.Mutex
	steps []stepped
}

func newRecorder() *recorder { return &recorder{begun: time.Now(), cpu: spentCPU()} }

func (r *recorder) step(name string) error {
	// Those come for every answer, from all workers at once.
	if name != "answer landed" && !strings.HasPrefix(name, "mid write of a ") {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.steps = append(r.steps, stepped{name, time.Since(r.begun).Seconds(), spentCPU() - r.cpu})
	}
	return nil
}

// at is the last step of a name.
func at(t *testing.T, steps []stepped, name string) (found stepped) {
	t.Helper()
	for _, s := range steps {
		if s.Name == name {
			found = s
		}
	}
	if found.Name == "" {
		t.Fatalf("the night has no step %q any more", name)
	}
	return found
}

// spentCPU is what this process has used, user and system together.
func spentCPU() float64 {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()).Seconds()
}

// config is a night as the program's defaults have it, over the streams of
// catalogOnly.
func (in inside) config(now func() time.Time, step func(string) error) pipeline.Config {
	cfg := pipeline.Config{
		Warehouse: warehouse.Config{Dir: filepath.Join(in.Dir, "warehouse"), KeepVersions: 3, MemoryLimit: "512MB",
			Program: "bench", Tables: stream.Tables(stream.All()), Step: step},
		Fetch: fetch.Config{BaseURL: in.URL, UserAgent: "bench", Burst: 10, Concurrency: 8, PageSize: 100, MaxPasses: cmp.Or(in.Passes, 4),
			Timeout: 30 * time.Second, Token: func(context.Context) (string, error) { return "pc_demo", nil }},
		Streams: stream.All(), Details: "none", LiveDays: 45, Recheck: 7, Limits: load.Limits{Share: 0.2, Rows: 50},
		Now: now, Log: slog.New(slog.DiscardHandler),
	}
	for _, s := range cfg.Streams {
		if s.Name != "outlet_listings" {
			cfg.Chosen = append(cfg.Chosen, s.Name)
		}
	}
	return cfg
}

// TestInsideChild runs one night in a process of its own and leaves its steps.
func TestInsideChild(t *testing.T) {
	var in inside
	assigned(t, &in)
	if in.Profile != "" {
		f, err := os.Create(in.Profile)
		must(t, err)
		defer f.Close()
		must(t, pprof.StartCPUProfile(f))
		defer pprof.StopCPUProfile()
	}
	r := newRecorder()
	_, err := pipeline.Run(t.Context(), in.config(time.Now, r.step))
	must(t, err)
	r.step("ended")
	leave(t, in.Report, r.steps)
}
