package load

import (
	"context"
	"database/sql"

	"placementsync/internal/stream"
)

// Drifts is the drift of a night. Records are alike: what one shows is a set, as
// indexes into All, and a [stream.DriftCarrier] names its set.
type Drifts struct {
	All  []stream.Drift
	Sets [][]int
}

// Lists are read in passes, and details repeat what lists say. So records are staged,
// where memory does not limit how many there are, and counted at the end.

// driftEntry is one entry of [Drifts.All] with its index.
type driftEntry struct {
	index int
	stream.Drift
}

// driftMember says that a set of drift has an entry.
type driftMember struct{ set, entry int }

// driftColumns, driftSetColumns and driftCarrierColumns are those of stage.drift,
// stage.drift_sets and stage.drift_carriers.
var (
	driftColumns = []column[driftEntry]{
		intColumn("entry", func(d driftEntry) int64 { return int64(d.index) }),
		textColumn("table_name", func(d driftEntry) string { return d.Table }),
		textColumn("path", func(d driftEntry) string { return d.Path }),
		textColumn("kind", func(d driftEntry) string { return d.Kind }),
		textColumn("sample", func(d driftEntry) string { return d.Sample }),
		textOrNull("key", func(d driftEntry) string { return d.Key }),
	}
	driftSetColumns = []column[driftMember]{
		intColumn("set_id", func(m driftMember) int64 { return int64(m.set) }),
		intColumn("entry", func(m driftMember) int64 { return int64(m.entry) }),
	}
	driftCarrierColumns = []column[stream.DriftCarrier]{
		intColumn("set_id", func(c stream.DriftCarrier) int64 { return int64(c.Set) }),
		uintColumn("record", func(c stream.DriftCarrier) uint64 { return c.Record }),
	}
)

// Carry stages records that showed drift.
func (s *Stage) Carry(ctx context.Context, carriers []stream.DriftCarrier) error {
	return insertRows(ctx, s, "stage.drift_carriers", driftCarrierColumns, carriers)
}

// stageDrift stages the entries and sets that the staged records name.
func (s *Stage) stageDrift(ctx context.Context, d Drifts) error {
	entries := make([]driftEntry, len(d.All))
	for i, one := range d.All {
		entries[i] = driftEntry{i, one}
	}
	var members []driftMember
	for i, set := range d.Sets {
		for _, entry := range set {
			members = append(members, driftMember{i, entry})
		}
	}
	if err := insertRows(ctx, s, "stage.drift", driftColumns, entries); err != nil {
		return err
	}
	if err := insertRows(ctx, s, "stage.drift_sets", driftSetColumns, members); err != nil {
		return err
	}
	return s.Settle(ctx)
}

// noteDrift adds the counts, keeping when each was first seen, by which record, and
// the first sample.
func noteDrift(ctx context.Context, tx *sql.Tx, run string) error {
	const counted = `SELECT d.*, n.count FROM stage.drift d JOIN (SELECT entry, count(DISTINCT record) AS count
		FROM (SELECT DISTINCT * FROM stage.drift_carriers) JOIN stage.drift_sets USING (set_id) GROUP BY entry) n USING (entry)`
	if _, err := tx.ExecContext(ctx, `UPDATE meta.drift m SET last_run = ?, count = m.count + s.count
		FROM (`+counted+`) s WHERE m.table_name = s.table_name AND m.path = s.path AND m.kind = s.kind`, run); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO meta.drift (table_name, path, kind, first_run, last_run, count, sample, key)
		SELECT table_name, path, kind, $1, $1, count, sample, key FROM (`+counted+`)
		ANTI JOIN meta.drift USING (table_name, path, kind)`, run)
	return err
}
