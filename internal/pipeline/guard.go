package pipeline

import (
	"context"
	"fmt"
	"strings"

	"placementsync/internal/integrity"
)

// LossError means that the rebuilt catalog contains less than the catalog that readers see.
type LossError struct {
	// Version is the version that readers see.
	Version string
	Losses  []integrity.CountLoss
}

func (e *LossError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "rebuild the catalog: the result has less data than version %s, which readers see; nothing was published", e.Version)
	for _, l := range e.Losses {
		fmt.Fprintf(&b, "\n  %s: %s now, %s after the rebuild", l.Name, l.Now, l.After)
	}
	b.WriteString("\nrun placementsync verify, which names the commands that restore more; placementsync rebuild --accept-loss publishes the result despite the loss")
	return b.String()
}

// checkLoss compares the numbers of snapshots, runs and closed rows in the rebuilt catalog with those in
// the catalog that readers see. If both catalogs contain the same snapshot, it also compares current rows.
// If the catalog that readers see is damaged, checkLoss counts its readable parts. If it cannot be read at
// all, nothing is compared.
func (b *rebuild) checkLoss(ctx context.Context) error {
	latest, ok, err := b.wh.Versions.Latest()
	if err != nil || !ok || b.cfg.AcceptLoss {
		return nil //nolint:nilerr // nothing is compared without a readable version, or with --accept-loss
	}
	before, err := integrity.CountVersion(ctx, b.wh, latest)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !b.isCatalogWhole() {
			b.cfg.Log.Warn("the catalog that readers see cannot be read: the rebuilt catalog is not compared with it", "run", latest, "error", err)
			return nil
		}
		return fmt.Errorf("rebuild the catalog: compare with version %s: %w; nothing was published", latest, err)
	}
	after, err := integrity.CountDraft(ctx, b.draft)
	if err != nil {
		return fmt.Errorf("rebuild the catalog: count the rebuilt rows: %w; nothing was published", err)
	}
	if losses := before.Losses(after); len(losses) > 0 {
		return &LossError{latest, losses}
	}
	return nil
}
