package main

import (
	"context"
	"errors"
	"fmt"

	"placementsync/internal/command"
	"placementsync/internal/config"
	"placementsync/internal/ledger"
	"placementsync/internal/notify"
	"placementsync/internal/warehouse"
)

// Work after a night sends a published night elsewhere: to receivers, to the lake, to the
// backup. It does not take the lock of the warehouse or change snapshots. A failure is
// reported, and the next night tries again.

// followUpWork is one kind of work after a night. It returns its ledger entry even with an
// error.
type followUpWork func(ctx context.Context, cfg config.Config) (ledger.Run, error)

// followers returns the configured work after nights, in the order in which it runs.
func (g *globals) followers(cfg config.Config) []followUpWork {
	var all []followUpWork
	if len(cfg.Watch) > 0 { // first, so that the backup contains the state of the watches
		all = append(all, g.followWatches)
	}
	if cfg.Lake.Catalog != "" {
		all = append(all, g.publishToLake)
	}
	if cfg.Backup != "" {
		all = append(all, g.backUp)
	}
	return all
}

// followPublish sends new warnings of the published night. It then runs all configured work after
// nights, even if one kind of work fails. Unsent warnings are only logged.
func (g *globals) followPublish(ctx context.Context, cfg config.Config) error {
	if err := g.sendWarnings(ctx, cfg); err != nil {
		g.newLogger().Warn("warnings of checks not sent, the next night tries again", "error", err)
	}
	works := g.followers(cfg)
	if len(works) == 0 {
		return nil
	}
	wh, err := warehouse.Open(command.WarehouseConfig(cfg, version))
	if err != nil {
		return err
	}
	log := g.newLogger()
	sender := command.NewNotifier(cfg.Notify, version, log)
	var problems []error
	for _, work := range works {
		entry, err := work(ctx, cfg)
		if errors.As(err, new(*warehouse.LockedError)) {
			log.Info("work after the night runs in another process", "work", entry.Kind)
			continue
		}
		if err != nil {
			problems = append(problems, err)
		}
		switch {
		case entry.Outcome == ledger.Interrupted:
			log.Info("work after the night interrupted, the next night continues it", "work", entry.Kind, "error", err)
		case err != nil:
			log.Error("work after the night failed, the next night tries again", "work", entry.Kind, "error", err)
		default:
			log.Info("work after the night is done", "work", entry.Kind, "run", entry.Version, "bytes", entry.Bytes, "took", entry.Took())
		}
		if err := command.RecordFollowUp(ctx, wh, sender, entry, notify.Behind, notify.Recovered); err != nil {
			log.Warn("ledger entry not written", "work", entry.Kind, "error", err)
		}
	}
	return errors.Join(problems...)
}

// recordFollowUp writes the ledger entry of work that an operator started. The operator sees
// a failure, so only a recovery from an earlier failure is sent.
func (g *globals) recordFollowUp(ctx context.Context, cfg config.Config, entry ledger.Run) error {
	wh, err := warehouse.Open(command.WarehouseConfig(cfg, version))
	if err != nil {
		return err
	}
	return command.RecordFollowUp(ctx, wh, command.NewNotifier(cfg.Notify, version, g.newLogger()), entry, notify.Recovered)
}

// withFollowUp joins the error of a night and the error of the work after it.
func withFollowUp(ctx context.Context, night, follow error) error {
	if follow == nil {
		return night
	}
	follow = fmt.Errorf("%w: the night is published, the next night tries again", follow)
	if night == nil || command.OutcomeOf(ctx, night) == ledger.Partial {
		return command.EndWith(ledger.Partial, errors.Join(night, follow))
	}
	return errors.Join(night, follow)
}
