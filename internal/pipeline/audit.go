package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"placementsync/internal/humanize"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/query"
)

// HoldError means that checks failed whose severity is "hold". The run was not published. Its draft is
// kept as the held night.
type HoldError struct {
	Run string
	// Checks are the failed checks whose severity is "hold".
	Checks []ledger.CheckResult
}

func (e *HoldError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "audit run %s: %s failed; nothing was published; readers keep the last snapshot", e.Run, humanize.Count(len(e.Checks), "check"))
	var names []string
	for _, c := range e.Checks {
		names = append(names, c.Name)
		fmt.Fprintf(&b, "\n  %s (%s): %s", c.Name, c.Title, humanize.Count(c.Rows, "row"))
		for _, row := range c.SampleLines() {
			b.WriteString("\n    " + row)
		}
	}
	fmt.Fprintf(&b, "\nThe night is held. To inspect it: placementsync audit --held, then placementsync diff --held\n"+
		"To publish it: placementsync publish --accept %s\nTo discard it: placementsync discard", strings.Join(names, ","))
	return b.String()
}

// audit requires a closed stage. If a failed check holds the night, it returns a *HoldError.
func (m *merged) audit(ctx context.Context) error {
	if len(m.cfg.Checks.List()) == 0 {
		return nil
	}
	m.cfg.Progress.setPhase("checking")
	private, err := PrivateColumns(m.cfg.Privacy)
	if err != nil {
		return fmt.Errorf("audit run %s: %w", m.line.ID, err)
	}
	var results []ledger.CheckResult
	err = m.draft.ReadClosed(ctx, func(catalog string) (err error) {
		before := query.Before{Hidden: private}
		if m.draft.Previous != "" {
			before.Catalog = m.draft.VersionCatalog(m.draft.Previous)
		}
		db, err := query.Open(ctx, catalog, query.Options{MemoryLimit: m.cfg.Warehouse.MemoryLimit, Threads: m.cfg.Warehouse.Threads,
			Timeout: m.cfg.CheckTimeout, Settings: m.cfg.Settings, Before: &before})
		if err != nil && ctx.Err() == nil {
			results = m.cfg.Checks.NotRun(err)
			return nil
		}
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		results, err = m.cfg.Checks.Run(ctx, db)
		return err
	})
	if err == nil {
		err = load.WriteChecks(ctx, m.draft, results)
	}
	if err != nil {
		return fmt.Errorf("audit run %s: %w", m.line.ID, err)
	}
	m.line.Checks = slices.DeleteFunc(slices.Clone(results), func(c ledger.CheckResult) bool { return !c.NeedsAttention() })
	for _, c := range m.line.Checks {
		m.cfg.Log.Warn("check failed or did not run", "check", c.Name, "title", c.Title, "severity", c.Severity, "outcome", c.Outcome,
			"rows", c.Rows, "first_rows", strings.Join(c.SampleLines(), "; "), "reason", c.Reason)
	}
	holdingChecks := slices.DeleteFunc(results, func(c ledger.CheckResult) bool { return !c.HoldsNight() })
	if len(holdingChecks) > 0 {
		return &HoldError{m.line.ID, holdingChecks}
	}
	return nil
}
