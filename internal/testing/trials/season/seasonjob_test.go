package season_test

import (
	"context"
	"slices"
	"time"

	"placementsync/internal/audit"
	"placementsync/internal/fetch"
	"placementsync/internal/pipeline"
	"placementsync/internal/stream"
	"placementsync/internal/testing/trials"
)

// seasonJob contains the settings of a night of a season. The night runs in this process or in a child process.
type seasonJob struct {
	trials.Job
	Details pipeline.Details
	// AllowMassDelete accepts the deletion of many rows, as an operator does.
	AllowMassDelete bool
}

// seasonStreams returns the streams of a season that begins with an empty warehouse: trials.SomeStreams,
// and the other streams whose tables the check "prices_scaled" reads.
func seasonStreams() []string { return append(trials.SomeStreams(), "outlet_listings", "products") }

// config returns the configuration of a night. The night sends one request at a time, so that the
// same plan gives the same season.
func (j seasonJob) config() (pipeline.Config, error) {
	cfg := j.Job.Config()
	trials.SetStreams(&cfg, slices.DeleteFunc(stream.AllWithEvents(), func(s stream.Stream) bool {
		return len(j.Streams) > 0 && !s.IsEvents() && !slices.Contains(j.Streams, s.Name)
	}))
	cfg.Details, cfg.LiveDays, cfg.Recheck = j.Details, 10, 4
	cfg.Fetch.Concurrency, cfg.AllowMassDelete = 1, j.AllowMassDelete
	cfg.Fetch.Retry = fetch.Retry{MaxRetries: 2, Base: time.Millisecond, Max: 2 * time.Millisecond}
	all, err := audit.Load("", map[string]audit.Rule{"prices_scaled": {Params: map[string]string{"min_prices": "5"}}}, nil)
	if err == nil {
		cfg.Checks, err = all.Choose([]string{"prices_scaled", "prices_not_positive"})
	}
	return cfg, err
}

// Run runs the night and writes a trials.NightEnd as report.
func (j seasonJob) Run(ctx context.Context) error {
	cfg, err := j.config()
	if err != nil {
		return err
	}
	return trials.WriteReport(j.Report, trials.RunNight(ctx, cfg))
}
