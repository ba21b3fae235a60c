package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"placementsync/internal/config"
	"placementsync/internal/ledger"
	"placementsync/internal/notify"
	"placementsync/internal/warehouse"
)

// What follows the publish of a night brings it elsewhere. It takes no lock that a night
// waits for, it changes nothing that readers see, and its failure is told and retried
// with the next night.

// followWork is one kind of such work. It returns its entry for the ledger also with an
// error.
type followWork func(ctx context.Context, cfg config.Config) (ledger.Run, error)

// followers are the kinds that the configuration asks for, in the order in which they
// run.
func (g *globals) followers(cfg config.Config) []followWork {
	var all []followWork
	if len(cfg.Watch) > 0 { // first, so that the backup knows what was sent
		all = append(all, g.watchNight)
	}
	if cfg.Lake.Catalog != "" {
		all = append(all, g.publishToLake)
	}
	if cfg.Backup != "" {
		all = append(all, g.backUp)
	}
	return all
}

// followPublish runs all that follows a publish. Each runs whatever became of the others.
func (g *globals) followPublish(ctx context.Context, cfg config.Config) error {
	works := g.followers(cfg)
	if len(works) == 0 {
		return nil
	}
	wh, err := warehouse.Open(warehouseConfig(cfg))
	if err != nil {
		return err
	}
	// Also where the ledger cannot be read: then recovered work is not reported.
	before := lastFollows(wh)
	log := g.newLogger()
	var problems []error
	for _, work := range works {
		entry, err := work(ctx, cfg)
		if errors.As(err, new(*warehouse.HeldError)) {
			log.Info("work after the night is at work elsewhere", "work", entry.Kind)
			continue
		}
		if recorded := wh.Ledger.Record(entry); recorded != nil {
			log.Warn("entry of the ledger not written", "work", entry.Kind, "error", recorded)
		}
		if err != nil {
			problems = append(problems, err)
		}
		switch {
		case entry.Outcome == ledger.Interrupted:
			log.Info("work after the night interrupted, the next night continues it", "work", entry.Kind, "error", err)
			continue
		case err != nil:
			log.Error("work after the night failed, the next night tries again", "work", entry.Kind, "error", err)
		default:
			log.Info("work after the night is done", "work", entry.Kind, "run", entry.Version, "took", entry.EndedAt.Sub(entry.StartedAt))
		}
		if event := eventOfFollow(entry, before); event != "" {
			g.alertOfFollow(ctx, cfg, wh, event, entry)
		}
	}
	return errors.Join(problems...)
}

// eventOfFollow is the kind of alert that an entry needs; empty: none.
func eventOfFollow(entry ledger.Run, before []ledger.Follow) string {
	if entry.Outcome != ledger.Complete {
		return notify.Behind
	}
	for _, f := range before {
		if f.Last.Kind == entry.Kind && f.Failures > 0 {
			return notify.Recovered
		}
	}
	return ""
}

// alertOfFollow sends an alert that names the night that readers see.
func (g *globals) alertOfFollow(ctx context.Context, cfg config.Config, wh *warehouse.Warehouse, event string, entry ledger.Run) {
	a := notify.Alert{Event: event, Work: entry.Kind, Run: entry.Version, Error: entry.Error,
		StartedAt: entry.StartedAt, EndedAt: entry.EndedAt, Program: version}
	if event == notify.Behind {
		a.ExitCode = ledger.Partial.ExitCode()
	}
	if night, ok, err := wh.Versions.Latest(); err == nil && ok {
		a.Run = night
	}
	sender := notify.New(notify.Config{FailureURL: cfg.Notify.FailureURL.Reveal(), UserAgent: "placementsync/" + version}, g.newLogger())
	sender.Alert(context.WithoutCancel(ctx), a)
}

// recordFollow writes an entry into the ledger. It does not wait for the lock, which a
// night may hold for hours: a line is one write.
func (g *globals) recordFollow(cfg config.Config, entry ledger.Run) error {
	wh, err := warehouse.Open(warehouseConfig(cfg))
	if err != nil {
		return err
	}
	return wh.Ledger.Record(entry)
}

// withFollow adds the failure of what followed a night to how the night ended.
func withFollow(night, follow error) error {
	if follow == nil {
		return night
	}
	follow = fmt.Errorf("%w: the night is published, the next night tries again", follow)
	var known *outcomeError
	if night == nil || errors.As(night, &known) && known.outcome == ledger.Partial {
		return &outcomeError{ledger.Partial, errors.Join(night, follow)}
	}
	return errors.Join(night, follow)
}

// lastFollows sums up what followed publishes, for the daemon; an unreadable ledger is
// reported elsewhere.
func lastFollows(wh *warehouse.Warehouse) []ledger.Follow {
	entries, err := wh.Ledger.Entries()
	if err != nil {
		return nil
	}
	return ledger.Follows(entries)
}

// followOfNight returns the function by which serve follows nights; nil: nothing is
// configured.
func (s *service) followOfNight(cfg config.Config) func(ctx context.Context) {
	if len(s.g.followers(cfg)) == 0 {
		return nil
	}
	return func(ctx context.Context) {
		began := time.Now()
		err := s.g.followPublish(ctx, cfg) // it logs what failed
		if err == nil && cfg.Lake.Catalog != "" {
			if expired := s.g.expireLake(ctx); expired != nil && ctx.Err() == nil {
				s.log.Warn("nights of the lake not expired, the next night tries again", "error", expired)
			}
		}
		s.log.Info("work after the night ended", "took", time.Since(began))
	}
}
