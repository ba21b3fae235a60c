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
	if cfg.Backup != "" {
		all = append(all, g.backUp)
	}
	return all
}

// followPublish runs all that follows a publish. Each runs whatever became of the others.
func (g *globals) followPublish(ctx context.Context, cfg config.Config) error {
	log := g.newLogger()
	var problems []error
	for _, work := range g.followers(cfg) {
		entry, err := work(ctx, cfg)
		if errors.As(err, new(*warehouse.HeldError)) {
			log.Info("work after the night is at work elsewhere", "kind", entry.Kind)
			continue
		}
		if recorded := g.recordFollow(cfg, entry); recorded != nil {
			log.Warn("entry of the ledger not written", "kind", entry.Kind, "error", recorded)
		}
		if err == nil {
			continue
		}
		problems = append(problems, err)
		if entry.Outcome == ledger.Interrupted {
			log.Info("work after the night interrupted, the next night continues it", "kind", entry.Kind, "error", err)
			continue
		}
		log.Error("work after the night failed, the next night tries again", "kind", entry.Kind, "error", err)
		sender := notify.New(notify.Config{FailureURL: cfg.Notify.FailureURL.Reveal(), UserAgent: "placementsync/" + version}, log)
		sender.Alert(context.WithoutCancel(ctx), notify.Alert{Event: notify.Behind, Work: entry.Kind, Run: entry.Version, ExitCode: ledger.Partial.ExitCode(),
			Error: entry.Error, StartedAt: entry.StartedAt, EndedAt: entry.EndedAt, Program: version})
	}
	return errors.Join(problems...)
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
		s.log.Info("work after the night ended", "took", time.Since(began), "failed", err != nil)
	}
}
