package explore

import (
	"context"
	"time"

	"placementsync/internal/query"
	"placementsync/internal/report"
)

// showReport shows the report of the newest snapshot, as placementsync report writes it to a
// file.
func showReport(v *visit) (reply, error) {
	content, err := report.Build(v.Context(), v.askReport, report.Options{Program: v.program, Questions: base + "/questions/"})
	return htmlPage{Heading: "Report", Template: "report", Data: content, More: report.Scripts()}, err
}

// askReport answers a question of the report, which compares with earlier snapshots.
func (v *visit) askReport(ctx context.Context, q report.Question) (query.Result, bool, error) {
	if q.AsOf.IsZero() {
		return report.AskDB(ctx, v.db, q)
	}
	earlier, db, err := v.pool.borrow(ctx, q.AsOf.UTC().Format(time.RFC3339Nano))
	if err != nil {
		return query.Result{}, false, err
	}
	defer v.pool.release(earlier, db)
	return report.AskDB(ctx, db, q)
}
