package load

import (
	"context"
	"fmt"

	"placementsync/internal/ledger"
	"placementsync/internal/stream"
)

// Limits define a mass deletion. A night makes a mass deletion if it deletes more rows of a table than both
// Rows and Share allow, or if it deletes all rows of a table with at least minEmptiedRows rows.
type Limits struct {
	// Share is a fraction of the table's rows.
	Share float64
	Rows  int64
	// Confirmed reports whether a mass deletion from a table was confirmed and is allowed.
	// Nil allows none.
	Confirmed func(table string) bool
}

// minEmptiedRows is the smallest size of a table for which deleting all rows is a mass deletion, even if
// Limits.Rows allows it.
const minEmptiedRows = 10

// AreExceeded reports whether deleting this number of rows, out of total, is a mass deletion.
func (l Limits) AreExceeded(deleted, total int64) bool {
	if deleted == total && total >= minEmptiedRows {
		return true
	}
	return deleted > l.Rows && float64(deleted) > l.Share*float64(total)
}

// MassDeleteError means that the night would make a mass deletion, or that too many ids of a list were
// answered 404.
type MassDeleteError struct {
	// Losses counts the rows that would be deleted, or the ids that were answered 404, by table.
	Losses []ledger.Loss
	// Reread is true if the lists that lack the deleted records were read a second time. A replay cannot
	// read them again.
	Reread bool
}

func (e *MassDeleteError) Error() string {
	advice := "a replay cannot read the lists again to confirm the deletions: run placementsync run"
	if e.Reread {
		advice = "a second reading had the same result: if the service deleted these records, run placementsync run --allow-mass-delete"
	}
	return fmt.Sprintf("merge the tables: %s; nothing was published; readers keep the last snapshot; %s", ledger.DescribeLosses(e.Losses), advice)
}

func (m *merge) checkLosses(ctx context.Context, changes []Change) error {
	var losses []ledger.Loss
	for i, t := range stream.Tables(m.streams) {
		if m.limits.Confirmed != nil && m.limits.Confirmed(t.Name) {
			continue
		}
		tableLoss := ledger.Loss{Table: t.Name, Gone: changes[i].Gone, Before: changes[i].Before}
		if m.limits.AreExceeded(tableLoss.Gone, tableLoss.Before) {
			losses = append(losses, tableLoss)
			continue
		}
		streamLosses, err := m.lossesByStream(ctx, t, changes[i])
		if err != nil {
			return fmt.Errorf("count the deletions of %s: %w", t.Name, err)
		}
		for _, streamLoss := range streamLosses {
			if m.limits.AreExceeded(streamLoss.Gone, streamLoss.Before) {
				losses = append(losses, streamLoss)
			}
		}
	}
	if len(losses) > 0 {
		return &MassDeleteError{Losses: losses}
	}
	return nil
}

// lossesByStream counts the deletions of each stream of a table with several streams. If all cities are
// deleted from locations, the loss must be reported although all countries remain.
func (m *merge) lossesByStream(ctx context.Context, t stream.Table, c Change) ([]ledger.Loss, error) {
	streams, _ := m.sources(t.Name)
	if c.Gone == 0 || len(streams) < 2 {
		return nil, nil
	}
	var losses []ledger.Loss
	for _, st := range streams {
		if len(st.Root().Const) == 0 {
			continue
		}
		loss := ledger.Loss{Table: t.Name, Stream: st.Name}
		err := queryRow(ctx, m.draft, compareSQL.Render("count_losses", values{"main": mainTable(t.Name),
			"changed_keys": changedKeysTable(t.Name), "stream_condition": streamCondition(st.Root())})).Scan(&loss.Before, &loss.Gone)
		if err != nil {
			return nil, err
		}
		losses = append(losses, loss)
	}
	return losses, nil
}
