package integrity

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"placementsync/internal/sqltext"
	"placementsync/internal/warehouse"
)

// Holdings are counts of a catalog. They show whether a rebuilt catalog contains less than the
// catalog that readers see.
type Holdings struct {
	// Newest is the time of the newest snapshot.
	Newest time.Time
	// Days and Runs are the numbers of days and runs in meta.runs.
	Days, Runs int64
	// Main and Past are the numbers of rows by table.
	Main, Past map[string]int64
}

// HoldingLoss is a count that is lower after a rebuild.
type HoldingLoss struct {
	Name       string
	Now, After string
}

// CountVersion counts the rows of a published catalog. It compares no checksums, because readers
// also see the readable tables of a damaged catalog.
func CountVersion(ctx context.Context, w *warehouse.Warehouse, run string) (h Holdings, err error) {
	version, err := w.OpenUnchecked(ctx, run)
	if err != nil {
		return h, err
	}
	defer func() { err = errors.Join(err, version.Close()) }()
	return countHoldings(ctx, version.Instance, "sealed")
}

// CountDraft counts the rows of a draft.
func CountDraft(ctx context.Context, d *warehouse.Draft) (Holdings, error) {
	var database string
	if err := d.DB.QueryRowContext(ctx, "SELECT current_database()").Scan(&database); err != nil {
		return Holdings{}, err
	}
	return countHoldings(ctx, d.Instance, database)
}

func countHoldings(ctx context.Context, in *warehouse.Instance, database string) (Holdings, error) {
	h := Holdings{Main: map[string]int64{}, Past: map[string]int64{}}
	columns, err := in.Columns(ctx, database)
	if err != nil {
		return h, err
	}
	var counts []sqltext.SQL
	for name := range columns {
		schema, table, _ := strings.Cut(name, ".")
		if schema == "main" || schema == "past" {
			place := sqltext.Quote(database) + "." + sqltext.Quote(schema) + "." + sqltext.Quote(table)
			counts = append(counts, integritySQL.Render("count_table", sqltext.Values{"schema": schema, "name": table, "table": sqltext.SQL(place)}))
		}
	}
	err = in.EachRow(ctx, counts, func(scan func(...any) error) error {
		var schema, table string
		var rows int64
		err := scan(&schema, &table, &rows)
		if schema == "main" {
			h.Main[table] = rows
		} else {
			h.Past[table] = rows
		}
		return err
	})
	if err != nil || columns["meta.runs"] == nil {
		return h, err
	}
	query := integritySQL.Render("count_runs", sqltext.Values{"runs": sqltext.SQL(sqltext.Quote(database) + ".meta.runs")})
	var newest *time.Time
	err = in.DB.QueryRowContext(ctx, string(query)).Scan(&h.Runs, &h.Days, &newest)
	if newest != nil {
		h.Newest = newest.UTC()
	}
	return h, err
}

// Losses lists the counts that are lower in after. It compares rows of the schema main only if both
// have the same newest snapshot. It ignores tables that are missing in after, because this program may
// not have these tables.
func (h Holdings) Losses(after Holdings) []HoldingLoss {
	var losses []HoldingLoss
	compare := func(name string, now, after int64) {
		if after < now {
			losses = append(losses, HoldingLoss{name, fmt.Sprint(now), fmt.Sprint(after)})
		}
	}
	compare("days in meta.runs", h.Days, after.Days)
	compare("runs in meta.runs", h.Runs, after.Runs)
	if after.Newest.Before(h.Newest) {
		losses = append(losses, HoldingLoss{"newest snapshot", h.Newest.Format(time.RFC3339), after.Newest.Format(time.RFC3339)})
	}
	compareTables := func(schema string, now, after map[string]int64) {
		for _, name := range slices.Sorted(maps.Keys(now)) {
			if rows, ok := after[name]; ok {
				compare(fmt.Sprintf("rows of %s.%s", schema, name), now[name], rows)
			}
		}
	}
	compareTables("past", h.Past, after.Past)
	if h.Newest.Equal(after.Newest) {
		compareTables("main", h.Main, after.Main)
	}
	return losses
}
