package warehouse

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"placementsync/internal/sqltext"
)

// Holdings counts what a catalog holds, to compare a rebuilt one with the one that readers
// see.
type Holdings struct {
	// Newest is the time of the newest snapshot.
	Newest time.Time
	// Days and Runs are those of meta.runs.
	Days, Runs int64
	// Main and Past are the rows of each table.
	Main, Past map[string]int64
}

// HoldingLoss is a count that is lower in one catalog than in another.
type HoldingLoss struct {
	Name       string
	Now, After string
}

// CountHoldings counts what the catalog of a version holds. It does not compare checksums,
// so that a damaged catalog is counted as far as readers can read it.
func (w *Warehouse) CountHoldings(ctx context.Context, run string) (h Holdings, err error) {
	in, err := w.engine.openMemory(ctx, w.Folder)
	if err != nil {
		return h, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	if err := in.attachSealed(ctx, w.Folder.VersionCatalog(run)); err != nil {
		return h, err
	}
	return in.countHoldings(ctx, "sealed")
}

// CountHoldings counts what the draft holds.
func (d *Draft) CountHoldings(ctx context.Context) (Holdings, error) {
	var name string
	if err := d.DB.QueryRowContext(ctx, "SELECT current_database()").Scan(&name); err != nil {
		return Holdings{}, err
	}
	return d.countHoldings(ctx, name)
}

func (in *Instance) countHoldings(ctx context.Context, catalog string) (Holdings, error) {
	h := Holdings{Main: map[string]int64{}, Past: map[string]int64{}}
	columns, err := readColumns(ctx, in, catalog)
	if err != nil {
		return h, err
	}
	var parts []string
	for name := range columns {
		schema, table, _ := strings.Cut(name, ".")
		if schema == "main" || schema == "past" {
			parts = append(parts, string(verifySQL.Render("count_table", sqltext.Values{"schema": schema, "name": table, "table": sqltext.SQL(sqltext.Quote(catalog) + "." + sqltext.Quote(schema) + "." + sqltext.Quote(table))})))
		}
	}
	err = in.EachRow(ctx, parts, func(scan func(...any) error) error {
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
	query := verifySQL.Render("count_runs", sqltext.Values{"runs": sqltext.SQL(sqltext.Quote(catalog) + ".meta.runs")})
	var newest *time.Time
	err = in.DB.QueryRowContext(ctx, string(query)).Scan(&h.Runs, &h.Days, &newest)
	if newest != nil {
		h.Newest = newest.UTC()
	}
	return h, err
}

// Losses lists the counts that are lower in after. Rows of main are compared when both have
// the same newest snapshot.
func (h Holdings) Losses(after Holdings) []HoldingLoss {
	var losses []HoldingLoss
	add := func(name string, now, then int64) {
		if then < now {
			losses = append(losses, HoldingLoss{name, fmt.Sprint(now), fmt.Sprint(then)})
		}
	}
	add("days in meta.runs", h.Days, after.Days)
	add("runs in meta.runs", h.Runs, after.Runs)
	if after.Newest.Before(h.Newest) {
		losses = append(losses, HoldingLoss{"newest snapshot", h.Newest.Format(time.RFC3339), after.Newest.Format(time.RFC3339)})
	}
	tables := func(schema string, now, then map[string]int64) {
		for _, name := range slices.Sorted(maps.Keys(now)) {
			if _, known := then[name]; known { // else this program has no such table
				add(fmt.Sprintf("rows of %s.%s", schema, name), now[name], then[name])
			}
		}
	}
	tables("past", h.Past, after.Past)
	if h.Newest.Equal(after.Newest) {
		tables("main", h.Main, after.Main)
	}
	return losses
}
