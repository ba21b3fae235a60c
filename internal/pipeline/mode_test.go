package pipeline_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// configWithoutService returns the configuration of a night whose service does not answer.
func configWithoutService(t *testing.T) pipeline.Config {
	t.Helper()
	return pipeline.Config{
		NewWarehouse: true,
		Warehouse: warehouse.Config{Dir: t.TempDir(), KeepVersions: 3, MemoryLimit: "256MB", Threads: 1, Program: "test",
			Tables: stream.Tables(stream.All())},
		Fetch:   fetch.Config{BaseURL: "http://127.0.0.1:1", PageSize: 7, Token: func(context.Context) (string, error) { return "pc_test", nil }},
		Streams: stream.All(), Details: pipeline.ChangedDetails, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	}
}

// TestRunCreatesNoWarehouse checks that a run of any kind ends before it creates a file in a folder without a
// warehouse, because the disk of the warehouse may not be mounted.
func TestRunCreatesNoWarehouse(t *testing.T) {
	testharness.Slow(t)
	t.Parallel()
	for name, run := range map[string]func(cfg pipeline.Config) error{
		"a night": func(cfg pipeline.Config) error {
			_, err := pipeline.Run(t.Context(), cfg)
			return err
		},
		"a dry run": func(cfg pipeline.Config) error {
			cfg.DryRun = true
			_, err := pipeline.Run(t.Context(), cfg)
			return err
		},
		"a refresh": func(cfg pipeline.Config) error {
			_, err := pipeline.Refresh(t.Context(), cfg, pipeline.Targets{Articles: []string{"a"}})
			return err
		},
	} {
		cfg := configWithoutService(t)
		cfg.NewWarehouse = false
		for _, dir := range []string{cfg.Warehouse.Dir, filepath.Join(cfg.Warehouse.Dir, "missing")} {
			cfg.Warehouse.Dir = dir
			if err := run(cfg); !errors.As(err, new(*warehouse.NoWarehouseError)) {
				t.Errorf("%s in %s ended with %v, want a NoWarehouseError", name, dir, err)
			}
		}
		if entries, err := os.ReadDir(filepath.Dir(cfg.Warehouse.Dir)); err != nil || len(entries) > 0 {
			t.Errorf("%s created %v (%v)", name, entries, err)
		}
	}
}

// TestStopMessage checks the error of a run that is stopped before its first request.
func TestStopMessage(t *testing.T) {
	t.Parallel()
	cause := errors.New("stopped by an interrupt (SIGINT)")
	for _, c := range []struct {
		isDryRun bool
		cause    error
		want     string
	}{
		{false, cause, "stopped by an interrupt (SIGINT); the stored responses are kept: run again to resume"},
		{true, cause, "stopped by an interrupt (SIGINT); readers keep the last snapshot: repeat the command"},
		{false, nil, "the run was stopped before it was complete; the stored responses are kept: run again to resume"},
	} {
		cfg := configWithoutService(t)
		cfg.DryRun = c.isDryRun
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(c.cause)
		res, err := pipeline.Run(ctx, cfg)
		if err == nil || err.Error() != c.want || res.Run.Error != c.want {
			t.Errorf("got the error %v and %q in the ledger, want %q", err, res.Run.Error, c.want)
		}
		if !errors.Is(err, context.Cause(ctx)) || res.Run.Outcome != ledger.Interrupted {
			t.Errorf("got the error %v and the outcome %q, want %v and interrupted", err, res.Run.Outcome, context.Cause(ctx))
		}
	}
}
