package load

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"placementsync/internal/stream"
)

// Drifts is the drift of a night. Records are alike: what one shows is a set, as
// indexes into All, and a [stream.DriftCarrier] names its set.
type Drifts struct {
	All  []stream.Drift
	Sets [][]int
}

// Lists are read in passes, and details say again what lists say: so records are
// staged, where memory has no part in how many there are, and counted at the end.
func createDrift() []string {
	return []string{
		"CREATE TABLE stage.drift (entry BIGINT, table_name VARCHAR, path VARCHAR, kind VARCHAR, sample VARCHAR, key VARCHAR)",
		"CREATE TABLE stage.drift_sets (set_id BIGINT, entry BIGINT)",
		"CREATE TABLE stage.drift_carriers (set_id BIGINT, record UBIGINT)",
	}
}

// Carry stages records that showed drift.
func (s *Stage) Carry(ctx context.Context, carriers []stream.DriftCarrier) error {
	if len(carriers) == 0 {
		return nil
	}
	l, err := s.take(ctx)
	if err != nil {
		return err
	}
	defer s.give(l)
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "set_id", Type: arrow.PrimitiveTypes.Int64}, {Name: "record", Type: arrow.PrimitiveTypes.Uint64}}, nil))
	defer b.Release()
	for _, c := range carriers {
		b.Field(0).(*array.Int64Builder).Append(int64(c.Set))
		b.Field(1).(*array.Uint64Builder).Append(c.Record)
	}
	rows := b.NewRecordBatch()
	defer rows.Release()
	if err := l.insert(ctx, "stage.drift_carriers", rows); err != nil {
		return fmt.Errorf("stage %d records with drift: %w", len(carriers), err)
	}
	return nil
}

// stageDrift hands over what the records name.
func (s *Stage) stageDrift(ctx context.Context, d Drifts) error {
	l, err := s.take(ctx)
	if err != nil {
		return err
	}
	defer s.give(l)
	entries, sets := driftBatch(d.All), setBatch(d.Sets)
	defer entries.Release()
	defer sets.Release()
	if err := l.insert(ctx, "stage.drift", entries); err != nil {
		return fmt.Errorf("stage the drift: %w", err)
	}
	if err := l.insert(ctx, "stage.drift_sets", sets); err != nil {
		return fmt.Errorf("stage the drift: %w", err)
	}
	return l.commit(ctx)
}

func driftBatch(seen []stream.Drift) arrow.RecordBatch {
	fields := []arrow.Field{{Name: "entry", Type: arrow.PrimitiveTypes.Int64}}
	for _, name := range []string{"table_name", "path", "kind", "sample", "key"} {
		fields = append(fields, arrow.Field{Name: name, Type: arrow.BinaryTypes.String, Nullable: true})
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
	defer b.Release()
	for i, d := range seen {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		for n, text := range []string{d.Table, d.Path, d.Kind, d.Sample} {
			b.Field(n + 1).(*array.StringBuilder).Append(text)
		}
		if key := b.Field(5).(*array.StringBuilder); d.Key == "" {
			key.AppendNull()
		} else {
			key.Append(d.Key)
		}
	}
	return b.NewRecordBatch()
}

func setBatch(sets [][]int) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "set_id", Type: arrow.PrimitiveTypes.Int64}, {Name: "entry", Type: arrow.PrimitiveTypes.Int64}}, nil))
	defer b.Release()
	for i, set := range sets {
		for _, entry := range set {
			b.Field(0).(*array.Int64Builder).Append(int64(i))
			b.Field(1).(*array.Int64Builder).Append(int64(entry))
		}
	}
	return b.NewRecordBatch()
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
