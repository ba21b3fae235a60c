package explore

import (
	"context"
	"time"

	"placementsync/internal/query"
	"placementsync/internal/report"
)

// showReport shows the report. The command "placementsync report" writes the same content to a file.
func showReport(v *visit) (reply, error) {
	notices, err := v.explorer.cfg.Notices()
	if err != nil {
		return nil, err
	}
	content, err := report.Build(v.Context(), v.runReportQuery, v.explorer.cfg.reportOptions(notices))
	return newPage("Report", "report", content, report.Scripts()...), err
}

func (c Config) reportOptions(notices []report.Notice) report.Options {
	return report.Options{Program: c.Program, QueryPages: rootPath + "/questions/", Notices: notices,
		Timezone: c.Settings[query.ScheduleTimezone]}
}

func (v *visit) runReportQuery(ctx context.Context, q report.QuerySpec) (query.Result, bool, error) {
	if q.AsOf.IsZero() {
		return report.AskDB(ctx, v.db, q)
	}
	earlier, db, err := v.explorer.pool.borrow(ctx, q.AsOf.UTC().Format(time.RFC3339Nano))
	if err != nil {
		return query.Result{}, false, err
	}
	defer v.explorer.pool.giveBack(earlier, db)
	return report.AskDB(ctx, db, q)
}
