package load

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// On most nights most records of a list are what they were. Whoever decodes can
// be told what main holds, and then stages of such a record its key alone. When
// the list has been read, its rows are put beside the staged ones again, by views:
// nothing that looks at the stage needs to know of this.

// Stored are some rows of main as the print of a record needs them: the keys of
// the records that they belong to, and their fingerprints. It is valid while it is
// told of.
type Stored struct {
	Table     string
	Keys      *array.String
	RowHashes *array.Uint64
}

// storedRows is how many rows are read at once: as many as some row groups, since
// DuckDB holds an answer in memory, and outside of its limit.
const storedRows = 4 * rowGroup

// Records tells how many records of a list main holds: 0 when those are fewer
// than least, or entwined with other streams, and cannot be left out.
func (s *Stage) Records(ctx context.Context, st stream.Stream, least int) (int, error) {
	if s.draft.Previous == "" || !s.alone(st) {
		return 0, nil
	}
	n, err := rowsIn(ctx, s.draft, st.Root().Name)
	if err != nil || n < least {
		return 0, err
	}
	return n, nil
}

// Leave tells every row that main holds of a list, and has the stage expect the
// keys of records that are left out for it.
func (s *Stage) Leave(ctx context.Context, st stream.Stream, tell func(Stored)) error {
	l, err := newLane(ctx, s.draft, "", catalogName)
	if err == nil {
		for _, t := range tablesOf(st) {
			err = errors.Join(err, s.tellRows(ctx, l, t.Name, recordKey(st, t), tell))
		}
		err = errors.Join(err, l.close())
	}
	if err != nil {
		return fmt.Errorf("read what is known of %s: %w", st.Name, err)
	}
	s.left.add(st.Name)
	return s.draft.Exec(ctx, fmt.Sprintf("CREATE TABLE %s (id VARCHAR, row_hash UBIGINT, seq UBIGINT)", same(st.Name)))
}

// tellRows reads a table piece by piece.
func (s *Stage) tellRows(ctx context.Context, l *lane, table, key string, tell func(Stored)) error {
	var end int64
	if err := s.draft.DB.QueryRowContext(ctx, "SELECT coalesce(max(rowid) + 1, 0) FROM main."+warehouse.Quote(table)).Scan(&end); err != nil {
		return err
	}
	for from := int64(0); from < end; from += storedRows {
		rows, err := l.arrow.QueryContext(ctx, fmt.Sprintf("SELECT %[1]s, row_hash FROM main.%[2]s WHERE rowid >= %[3]d AND rowid < %[4]d",
			warehouse.Quote(key), warehouse.Quote(table), from, from+storedRows))
		if err != nil {
			return err
		}
		for rows.Next() {
			b := rows.RecordBatch()
			tell(Stored{table, b.Column(0).(*array.String), b.Column(1).(*array.Uint64)})
		}
		err = rows.Err()
		rows.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// recordKey is the column of a table that has the key of the record.
func recordKey(st stream.Stream, t stream.Table) string {
	if t.Name == st.Root().Name {
		return t.Key[0]
	}
	return t.Parents[0]
}

// same names the records that were left out, as often as they came; unchanged
// each once, without those of which a later copy was staged; read the rows of a
// table that were staged.
func same(st string) string                        { return staged(st, "$same") }
func unchanged(st string) string                   { return staged(st, "$unchanged") }
func read(st stream.Stream, t stream.Table) string { return staged(st.Name, t.Name+"$read") }

// unskip settles which copy of a record is the last one, and puts the rows of
// main that were left out beside the staged ones.
func (s *Stage) unskip(ctx context.Context, st stream.Stream) error {
	if !s.left.has(st.Name) {
		return nil
	}
	root := staged(st.Name, st.Root().Name)
	key := warehouse.Quote(st.Root().Key[0])
	statements := []string{
		fmt.Sprintf("CREATE TABLE %s AS SELECT id, max(seq) AS seq FROM %s GROUP BY id", unchanged(st.Name), same(st.Name)),
		fmt.Sprintf("CREATE OR REPLACE TABLE stage.stale AS SELECT r.seq FROM %s r JOIN %s u ON r.%s = u.id AND u.seq > r.seq", root, unchanged(st.Name), key),
	}
	for _, t := range tablesOf(st) {
		statements = append(statements, fmt.Sprintf("DELETE FROM %s WHERE seq IN (SELECT seq FROM stage.stale)", staged(st.Name, t.Name)))
	}
	statements = append(statements, fmt.Sprintf("DELETE FROM %s WHERE id IN (SELECT %s FROM %s)", unchanged(st.Name), key, root))
	for _, t := range tablesOf(st) {
		statements = append(statements, s.showBeside(st, t)...)
	}
	s.beside.add(st.Name)
	return s.draft.Exec(ctx, statements...)
}

// showBeside makes a view of the staged rows of a table and of those in main that
// were left out.
func (s *Stage) showBeside(st stream.Stream, t stream.Table) []string {
	cols := make([]string, len(s.defs[t.Name].Columns))
	for i, c := range s.defs[t.Name].Columns {
		cols[i] = "m." + warehouse.Quote(c.Name)
		if c.Type == stream.JSON {
			cols[i] += "::VARCHAR"
		}
	}
	return []string{
		fmt.Sprintf("ALTER TABLE %s RENAME TO %s", staged(st.Name, t.Name), warehouse.Quote(t.Name+"$read")),
		fmt.Sprintf(`CREATE VIEW %s AS FROM %s UNION ALL SELECT %s, m.row_hash, u.seq FROM %s.main.%s m JOIN %s u ON m.%s = u.id`,
			staged(st.Name, t.Name), read(st, t), strings.Join(cols, ", "), catalogName, warehouse.Quote(t.Name),
			unchanged(st.Name), warehouse.Quote(recordKey(st, t))),
	}
}

// compared are the two sides that a merge compares, as SQL: what main has of a
// table and what it shall have, both without what is known to be the same.
func (s *Stage) compared(t stream.Table) (stored, seen string) {
	feeding := stream.Feeding(s.streams, t.Name)
	if len(feeding) != 1 || !s.beside.has(feeding[0]) {
		return "main." + warehouse.Quote(t.Name), fresh(t.Name)
	}
	st, _ := stream.Find(s.streams, feeding[0])
	return fmt.Sprintf("(SELECT m.* FROM main.%s m ANTI JOIN %s u ON m.%s = u.id)", warehouse.Quote(t.Name), unchanged(st.Name),
		warehouse.Quote(recordKey(st, t))), read(st, t)
}
