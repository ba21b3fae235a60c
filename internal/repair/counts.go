package repair

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

// catalogCounts show whether a rebuilt catalog contains less than the catalog that readers see.
type catalogCounts struct {
	// NewestAt is the time of the newest snapshot.
	NewestAt time.Time
	// ByName contains "days in meta.runs", "runs in meta.runs", and "rows of <schema>.<table>" for
	// each table of main and past.
	ByName map[string]int64
}

// countVersion counts the rows of a published catalog. It compares no checksums, because readers can still read the
// intact tables of a damaged catalog.
func countVersion(ctx context.Context, w *warehouse.Warehouse, run string) (c catalogCounts, err error) {
	version, err := w.OpenUnchecked(ctx, run)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, version.Close()) }()
	return countCatalog(ctx, version.Instance, "version")
}

func countCatalog(ctx context.Context, in *warehouse.Instance, database string) (catalogCounts, error) {
	c := catalogCounts{ByName: map[string]int64{}}
	columns, err := in.Columns(ctx, database)
	if err != nil {
		return c, err
	}
	var queries []sqltext.SQL
	for name := range columns {
		schema, table, _ := strings.Cut(name, ".")
		if schema == "main" || schema == "past" {
			qualified := sqltext.Quote(database) + "." + sqltext.Quote(schema) + "." + sqltext.Quote(table)
			queries = append(queries, repairSQL.Render("count_table", sqltext.Values{"name": "rows of " + name, "table": sqltext.SQL(qualified)}))
		}
	}
	err = in.EachRow(ctx, queries, func(scan func(...any) error) error {
		var name string
		var rows int64
		err := scan(&name, &rows)
		c.ByName[name] = rows
		return err
	})
	var runs, days int64
	var newestAt *time.Time
	if err == nil && columns["meta.runs"] != nil {
		query := repairSQL.Render("count_runs", sqltext.Values{"runs": sqltext.SQL(sqltext.Quote(database) + ".meta.runs")})
		err = in.DB.QueryRowContext(ctx, string(query)).Scan(&runs, &days, &newestAt)
	}
	c.ByName["runs in meta.runs"], c.ByName["days in meta.runs"] = runs, days
	if newestAt != nil {
		c.NewestAt = newestAt.UTC()
	}
	return c, err
}

// losses describes the counts that are lower in rebuilt. It compares rows of the schema main only if both
// catalogs have the same newest snapshot. It ignores tables that rebuilt lacks, because this release
// may have removed these tables.
func (c catalogCounts) losses(rebuilt catalogCounts) []string {
	const text = "%s: %v now, %v after the rebuild"
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(c.ByName)) {
		after, isInRebuilt := rebuilt.ByName[name]
		isOfOtherSnapshot := strings.HasPrefix(name, "rows of main.") && !c.NewestAt.Equal(rebuilt.NewestAt)
		if isInRebuilt && after < c.ByName[name] && !isOfOtherSnapshot {
			lines = append(lines, fmt.Sprintf(text, name, c.ByName[name], after))
		}
	}
	if rebuilt.NewestAt.Before(c.NewestAt) {
		lines = append(lines, fmt.Sprintf(text, "newest snapshot", c.NewestAt.Format(time.RFC3339), rebuilt.NewestAt.Format(time.RFC3339)))
	}
	return lines
}
