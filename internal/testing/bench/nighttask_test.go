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

// nightTask runs a night of the pipeline in a child process and records the steps of the night.
type nightTask struct {
	// URL is the address of the demo service, and Dir the folder for the warehouse.
	URL, Dir string
	// MaxPasses limits the passes over a list. 0 means the program's default.
	MaxPasses int
	// Profile is the file for the CPU profile. Empty means no profile.
	Profile string
	// Report is the file for the recorded steps.
	Report string
}

// timedStep is a step of a night. Wall and CPU are the times in seconds since the night began.
type timedStep struct {
	Name      string
	Wall, CPU float64
}

// recorder records the steps of a night.
type recorder struct {
	begun     time.Time
	cpuBefore float64 // CPU seconds of the process when the night began
	mu        sync.Mutex
	steps     []timedStep
}

func newRecorder() *recorder { return &recorder{begun: time.Now(), cpuBefore: spentCPU()} }

func (r *recorder) step(name, _ string) error {
	// Steps that occur for every response are not recorded.
	if name != "response landed" && !strings.HasPrefix(name, "mid write of a ") {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.steps = append(r.steps, timedStep{name, time.Since(r.begun).Seconds(), spentCPU() - r.cpuBefore})
	}
	return nil
}

// lastStep returns the last step with the given name.
func lastStep(t *testing.T, steps []timedStep, name string) (step timedStep) {
	t.Helper()
	for _, s := range steps {
		if s.Name == name {
			step = s
		}
	}
	if step.Name == "" {
		t.Fatalf("the night has no step %q", name)
	}
	return step
}

// spentCPU returns the CPU time of this process, user and system.
func spentCPU() float64 {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()).Seconds()
}

// config returns the default configuration of the program, without requests for details.
// It leaves out the stream outlet_listings, as listingsConfig does.
func (task nightTask) config(now func() time.Time, step func(name, path string) error) pipeline.Config {
	cfg := pipeline.Config{
		NewWarehouse: true,
		Warehouse: warehouse.Config{Dir: filepath.Join(task.Dir, "warehouse"), KeepVersions: 3, MemoryLimit: "512MB",
			Program: "bench", Tables: stream.Tables(stream.All()), Step: step},
		Fetch: fetch.Config{BaseURL: task.URL, UserAgent: "bench", Burst: 10, Concurrency: 8, PageSize: 100, MaxPasses: cmp.Or(task.MaxPasses, 4),
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

// run runs the night and writes its steps into the report.
func (task nightTask) run(ctx context.Context) error {
	if task.Profile != "" {
		f, err := os.Create(task.Profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	r := newRecorder()
	if _, err := pipeline.Run(ctx, task.config(time.Now, r.step)); err != nil {
		return err
	}
	r.step("ended", "")
	return writeJSON(task.Report, r.steps)
}
