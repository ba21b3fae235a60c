package main

import (
	"context"
	"errors"
	"fmt"

	"placementsync/internal/cli"
	"placementsync/internal/config"
	"placementsync/internal/ledger"
	"placementsync/internal/notify"
	"placementsync/internal/warehouse"
)

// followUp runs the watches, publishes to the lake or makes a backup after a published night. It neither
// takes the lock of the warehouse nor changes snapshots. A failure is reported, and the next night
// tries again. The ledger line is returned even with an error.
type followUp func(ctx context.Context, cfg config.Config) (ledger.Run, error)

func (g *globals) runFollowUps(ctx context.Context, cfg config.Config) error {
	if err := g.sendWarnings(ctx, cfg); err != nil {
		g.newLogger().Warn("warnings of checks not sent; the next night tries again", "error", err)
	}
	var followUps []followUp
	if len(cfg.Watch) > 0 { // first, so that the backup contains the state of the watches
		followUps = append(followUps, g.runWatchesAfterNight)
	}
	if cfg.Lake.Catalog != "" {
		followUps = append(followUps, g.publishToLake)
	}
	if cfg.Backup != "" {
		followUps = append(followUps, func(ctx context.Context, cfg config.Config) (ledger.Run, error) { return g.backUp(ctx, cfg, nil) })
	}
	wh := g.newWarehouse(cfg)
	log := g.newLogger()
	notifier := cli.NewNotifier(cfg.Notify, version, log)
	var problems []error
	for _, run := range followUps {
		entry, err := run(ctx, cfg)
		if errors.As(err, new(*warehouse.LockedError)) {
			log.Info("follow-up runs in another process", "work", entry.Kind)
			continue
		}
		problems = append(problems, err)
		switch {
		case entry.Outcome == ledger.Interrupted:
			log.Info("follow-up interrupted; the next night continues it", "work", entry.Kind, "error", err)
		case err != nil:
			log.Error("follow-up failed; the next night tries again", "work", entry.Kind, "error", err)
		default:
			log.Info("follow-up done", "work", entry.Kind, "run", entry.Version, "bytes", entry.Bytes, "took", entry.Took())
		}
		if err := cli.RecordFollowUp(ctx, wh, notifier, entry, notify.Behind, notify.Recovered); err != nil {
			log.Warn("ledger line not written", "work", entry.Kind, "error", err)
		}
	}
	return errors.Join(problems...)
}

// recordFollowUp writes the ledger line of a follow-up that an operator started. The operator sees a
// failure on the terminal, so an alert is sent only for a recovery from an earlier failure.
func (g *globals) recordFollowUp(ctx context.Context, cfg config.Config, entry ledger.Run) error {
	return cli.RecordFollowUp(ctx, g.newWarehouse(cfg), cli.NewNotifier(cfg.Notify, version, g.newLogger()), entry, notify.Recovered)
}

// joinFollowUpError changes the outcome of a complete night to partial if a follow-up failed.
func joinFollowUpError(ctx context.Context, nightErr, followUpErr error) error {
	if followUpErr == nil {
		return nightErr
	}
	followUpErr = fmt.Errorf("%w; readers of the warehouse see the night; the next night repeats this step", followUpErr)
	if nightErr == nil || cli.OutcomeOf(ctx, nightErr) == ledger.Partial {
		return cli.EndWith(ledger.Partial, errors.Join(nightErr, followUpErr))
	}
	return errors.Join(nightErr, followUpErr)
}
