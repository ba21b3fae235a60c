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
	// Counts are the numbers of days and runs in meta.runs, and the numbers of rows of the tables of
	// main and past. Their names are the names of HoldingLoss.
	Counts map[string]int64
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
	h := Holdings{Counts: map[string]int64{}}
	columns, err := in.Columns(ctx, database)
	if err != nil {
		return h, err
	}
	var counts []sqltext.SQL
	for name := range columns {
		schema, table, _ := strings.Cut(name, ".")
		if schema == "main" || schema == "past" {
			place := sqltext.Quote(database) + "." + sqltext.Quote(schema) + "." + sqltext.Quote(table)
			counts = append(counts, integritySQL.Render("count_table", sqltext.Values{"name": "rows of " + name, "table": sqltext.SQL(place)}))
		}
	}
	err = in.EachRow(ctx, counts, func(scan func(...any) error) error {
		var name string
		var rows int64
		err := scan(&name, &rows)
		h.Counts[name] = rows
		return err
	})
	var runs, days int64
	var newest *time.Time
	if err == nil && columns["meta.runs"] != nil {
		query := integritySQL.Render("count_runs", sqltext.Values{"runs": sqltext.SQL(sqltext.Quote(database) + ".meta.runs")})
		err = in.DB.QueryRowContext(ctx, string(query)).Scan(&runs, &days, &newest)
	}
	h.Counts["runs in meta.runs"], h.Counts["days in meta.runs"] = runs, days
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
	for _, name := range slices.Sorted(maps.Keys(h.Counts)) {
		now := h.Counts[name]
		rebuilt, ok := after.Counts[name]
		isOfOtherTime := strings.HasPrefix(name, "rows of main.") && !h.Newest.Equal(after.Newest)
		if ok && rebuilt < now && !isOfOtherTime {
			losses = append(losses, HoldingLoss{name, fmt.Sprint(now), fmt.Sprint(rebuilt)})
		}
	}
	if after.Newest.Before(h.Newest) {
		losses = append(losses, HoldingLoss{"newest snapshot", h.Newest.Format(time.RFC3339), after.Newest.Format(time.RFC3339)})
	}
	return losses
}
