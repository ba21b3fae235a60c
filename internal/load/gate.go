package load

import (
	"context"
	"fmt"

	"placementsync/internal/ledger"
	"placementsync/internal/stream"
)

// Limits are the gates of a night: the bounds of what it may take from a table
// without further proof.
type Limits struct {
	// Share and Rows bound how much of a table may vanish in one night: more
	// than both is a mass deletion.
	Share float64
	Rows  int64
	// Believe reports whether a mass deletion from a table is to be believed;
	// nil: from none.
	Believe func(table string) bool
}

// allOfRows is the number of rows from which on a table that would become empty
// is a mass deletion, however few they are against Limits.Rows.
const allOfRows = 10

// AreExceeded reports whether losing gone of before rows is a mass deletion.
func (l Limits) AreExceeded(gone, before int64) bool {
	if gone == before && before >= allOfRows {
		return true
	}
	return gone > l.Rows && float64(gone) > l.Share*float64(before)
}

// MassDeleteError says that more would vanish than a night may take.
type MassDeleteError struct {
	// Losses are what would vanish, table by table.
	Losses []ledger.Loss
	// Reread says that all lists which show it were read a second time.
	Reread bool
}

// Error names the tables and what to do.
func (e *MassDeleteError) Error() string {
	advice := "the landed answers cannot tell whether that is true of the service: begin a new run"
	if e.Reread {
		advice = "the lists were read a second time and still show it: if that is true of the service, run with --allow-mass-delete"
	}
	return fmt.Sprintf("merge: %s; nothing was published, the last snapshot stays; %s", ledger.DescribeLosses(e.Losses), advice)
}

// checkLosses compares what would vanish from each table with the limits.
func (m *merge) checkLosses(ctx context.Context, changes []Change) error {
	var losses []ledger.Loss
	for i, t := range stream.Tables(m.staging.streams) {
		if m.limits.Believe != nil && m.limits.Believe(t.Name) {
			continue
		}
		all := ledger.Loss{Table: t.Name, Gone: changes[i].Gone, Before: changes[i].Before}
		if m.limits.AreExceeded(all.Gone, all.Before) {
			losses = append(losses, all)
			continue
		}
		parts, err := m.lossesByStream(ctx, t, changes[i])
		if err != nil {
			return fmt.Errorf("count what would vanish from %s: %w", t.Name, err)
		}
		for _, part := range parts {
			if m.limits.AreExceeded(part.Gone, part.Before) {
				losses = append(losses, part)
			}
		}
	}
	if len(losses) > 0 {
		return &MassDeleteError{Losses: losses}
	}
	return nil
}

// lossesByStream counts what would vanish of each stream's own rows, where several fill
// one table and are told apart by a fixed column: all cities are gone from a table that
// still holds the countries.
func (m *merge) lossesByStream(ctx context.Context, t stream.Table, c Change) ([]ledger.Loss, error) {
	lists, _ := m.staging.sources(t.Name)
	if c.Gone == 0 || len(lists) < 2 {
		return nil, nil
	}
	var parts []ledger.Loss
	for _, list := range lists {
		if len(list.Root().Const) == 0 {
			continue
		}
		part := ledger.Loss{Table: t.Name, Stream: list.Name}
		err := queryRow(ctx, m.staging.draft, compareSQL.Render("count_losses", values{"main": mainTable(t.Name),
			"closing": closingTable(t.Name), "rows": rowsOfStream(list.Root())})).Scan(&part.Before, &part.Gone)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}
