package load

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// unite makes, for every table, the rows that main shall have: the latest copy
// of each record, list and detail laid over one another.
func (s *Stage) unite(ctx context.Context, cover map[string]Coverage) error {
	for _, st := range s.streams {
		if err := s.latest(ctx, st, cover[st.Name]); err != nil {
			return fmt.Errorf("keep the latest copies of %s: %w", st.Name, err)
		}
	}
	var statements []string
	for _, t := range stream.Tables(s.streams) {
		statements = append(statements, s.freshTable(t))
	}
	if err := s.draft.Atomically(ctx, statements); err != nil {
		return fmt.Errorf("unite lists and details: %w", err)
	}
	return nil
}

// latest drops the rows of a carried stream, and of the others every copy of a
// record but the one that came last: passes over a list overlap on purpose.
func (s *Stage) latest(ctx context.Context, st stream.Stream, c Coverage) error {
	if c == Carried {
		return s.empty(ctx, st)
	}
	for _, t := range st.Tables {
		if len(t.Parents) > 0 && slices.Equal(t.Key[:len(t.Parents)], t.Parents) {
			continue // keyed by its parent and position: unique as its parent is
		}
		if err := s.dropCopies(ctx, st, t); err != nil {
			return err
		}
	}
	return nil
}

func (s *Stage) empty(ctx context.Context, st stream.Stream) error {
	var statements []string
	for _, t := range st.Tables {
		statements = append(statements, "DELETE FROM "+staged(st.Name, t.Name))
	}
	return s.draft.Atomically(ctx, statements)
}

// dropCopies keeps, of rows with one key, the one with the highest seq, and
// removes the rows that came inside the others.
func (s *Stage) dropCopies(ctx context.Context, st stream.Stream, t stream.Table) error {
	name, key := staged(st.Name, t.Name), columns("", t.Key)
	var copies int64
	err := s.draft.DB.QueryRowContext(ctx,
		fmt.Sprintf("SELECT count(*) FROM (SELECT 1 FROM %s GROUP BY %s HAVING count(*) > 1)", name, key)).Scan(&copies)
	if err != nil || copies == 0 {
		return err
	}
	stale := fmt.Sprintf(`CREATE OR REPLACE TABLE stage.stale AS SELECT rowid AS place, seq, %[2]s FROM %[1]s
		WHERE (%[2]s) IN (SELECT (%[2]s) FROM %[1]s GROUP BY ALL HAVING count(*) > 1)
		QUALIFY row_number() OVER (PARTITION BY %[2]s ORDER BY seq DESC, rowid DESC) > 1`, name, key)
	statements := []string{stale}
	for _, inner := range st.Tables {
		if inner.Name != t.Name && within(st, inner, t) {
			statements = append(statements, dropInner(st, t, inner))
		}
	}
	statements = append(statements, fmt.Sprintf("DELETE FROM %s WHERE rowid IN (SELECT place FROM stage.stale)", name))
	return s.draft.Exec(ctx, statements...)
}

// dropInner removes child rows of stale records. They share the record's seq,
// and rows inside an item also its key.
func dropInner(st stream.Stream, outer, inner stream.Table) string {
	del := fmt.Sprintf("DELETE FROM %s WHERE ", staged(st.Name, inner.Name))
	if enclosing(st, inner).Name == outer.Name {
		return del + fmt.Sprintf("(seq, %s) IN (SELECT (seq, %s) FROM stage.stale)", columns("", inner.Parents), columns("", outer.Key))
	}
	return del + "seq IN (SELECT seq FROM stage.stale)"
}

// within reports whether rows of inner stand inside rows of outer.
func within(st stream.Stream, inner, outer stream.Table) bool {
	return outer.At == "" || strings.HasPrefix(inner.At, outer.At+".")
}

// freshTable is a view where no list and detail have to be united, so that
// nothing is copied.
func (s *Stage) freshTable(t stream.Table) string {
	lists, detail := s.sources(t.Name)
	def := s.defs[t.Name]
	cols := warehouse.Columns("", def) + ", row_hash, seq"
	switch {
	case detail.Name == "" || len(lists) == 0:
		return "CREATE VIEW " + fresh(t.Name) + " AS " + s.allOf(t.Name, cols)
	case t.Name == detail.Root().Name:
		return fmt.Sprintf("CREATE TABLE %s AS %s", fresh(t.Name), laidOver(def, t, lists[0], detail))
	}
	return fmt.Sprintf("CREATE VIEW %s AS SELECT %s FROM %s UNION ALL SELECT %s FROM %s WHERE %s",
		fresh(t.Name), cols, staged(detail.Name, t.Name), cols, staged(lists[0].Name, t.Name), notDetailed(t, detail))
}

func (s *Stage) allOf(table, cols string) string {
	var parts []string
	for _, name := range stream.Feeding(s.streams, table) {
		parts = append(parts, "SELECT "+cols+" FROM "+staged(name, table))
	}
	return strings.Join(parts, " UNION ALL ")
}

// notDetailed keeps the child rows of a list for the records whose detail was
// not staged: where it was, its rows are the fuller ones. All rows of a record
// share its seq, which leads from a child row to its record.
func notDetailed(t stream.Table, detail stream.Stream) string {
	root, list := detail.Root(), detail.Over
	return fmt.Sprintf("seq IN (SELECT l.seq FROM %s l ANTI JOIN %s d USING (%s))",
		staged(list, root.Name), staged(detail.Name, root.Name), columns("", root.Key))
}

// laidOver joins the row of a list with that of its detail, column by column:
// what one leaves empty the other fills. The fingerprint is that of the united
// row, made from its texts, since those of the two halves do not add up.
func laidOver(def stream.Definition, t stream.Table, list, detail stream.Stream) string {
	var cols []string
	for _, c := range def.Columns {
		cols = append(cols, united(c)+" AS "+warehouse.Quote(c.Name))
	}
	return fmt.Sprintf(`SELECT *, %s AS row_hash FROM (SELECT %s, coalesce(d.seq, l.seq) AS seq
		FROM %s d FULL JOIN %s l ON %s)`, textHash(def), strings.Join(cols, ", "),
		staged(detail.Name, t.Name), staged(list.Name, t.Name), equal("d.", "l.", t.Key))
}

func united(c stream.Column) string {
	d, l := "d."+warehouse.Quote(c.Name), "l."+warehouse.Quote(c.Name)
	switch {
	case c.Name == "extra":
		return fmt.Sprintf("CASE WHEN %[1]s IS NULL OR %[2]s IS NULL THEN coalesce(%[1]s, %[2]s) ELSE json_merge_patch(%[2]s, %[1]s)::VARCHAR END", d, l)
	case c.Type == stream.Text:
		return fmt.Sprintf("coalesce(nullif(%[1]s, ''), %[2]s, %[1]s)", d, l)
	}
	return fmt.Sprintf("coalesce(%s, %s)", d, l)
}

// textHash fingerprints a row by md5 over "name=value" of its columns in name
// order; a NULL leaves its column out, so that a new column changes nothing.
// Instants are written as microseconds, whatever the time zone of the session.
func textHash(def stream.Definition) string {
	cols := slices.Clone(def.Columns)
	slices.SortFunc(cols, func(a, b stream.Column) int { return strings.Compare(a.Name, b.Name) })
	parts := []string{"chr(31)"}
	for _, c := range cols {
		if c.Untracked {
			continue
		}
		value := warehouse.Quote(c.Name)
		if c.Type == stream.Instant {
			value = "epoch_us(" + value + ")"
		}
		parts = append(parts, fmt.Sprintf("%s || %s::VARCHAR", warehouse.Literal(c.Name+"="), value))
	}
	return "md5_number_lower(concat_ws(" + strings.Join(parts, ", ") + "))"
}

// columns lists names for SQL, each behind a prefix.
func columns(prefix string, names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = prefix + warehouse.Quote(n)
	}
	return strings.Join(quoted, ", ")
}

// equal is the join condition of two prefixes on key columns.
func equal(a, b string, key []string) string {
	parts := make([]string, len(key))
	for i, k := range key {
		parts[i] = a + warehouse.Quote(k) + " = " + b + warehouse.Quote(k)
	}
	return strings.Join(parts, " AND ")
}
