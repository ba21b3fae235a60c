package load

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// Finish ends the staging of a stream: its rows become visible to queries, the
// latest copy of each record stays, and those of a carried stream go. Where the
// reader knows that no record came twice, distinct spares looking for copies of
// them: with a million listings that takes longer than all else here.
func (s *Stage) Finish(ctx context.Context, st stream.Stream, c Coverage, distinct bool) error {
	if err := s.settleStream(ctx, st); err != nil {
		return err
	}
	err := s.latest(ctx, st, c, distinct)
	if err == nil && c != Carried {
		err = s.unskip(ctx, st)
	}
	if err != nil {
		return fmt.Errorf("keep the latest copies of %s: %w", st.Name, err)
	}
	return nil
}

// unite makes, for every table, the rows that main shall have: list and detail
// laid over one another.
func (s *Stage) unite(ctx context.Context) error {
	for _, st := range s.streams {
		if st.Over == "" {
			continue
		}
		if err := s.uniteExtras(ctx, st); err != nil {
			return fmt.Errorf("unite lists and details: %w", err)
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
func (s *Stage) latest(ctx context.Context, st stream.Stream, c Coverage, distinct bool) error {
	if c == Carried {
		return s.empty(ctx, st)
	}
	for _, t := range tablesOf(st) {
		if len(t.Parents) > 0 && slices.Equal(t.Key[:len(t.Parents)], t.Parents) {
			continue // keyed by its parent and position: unique as its parent is
		}
		if distinct && ofRecordsAlone(st, t) {
			continue
		}
		if err := s.dropCopies(ctx, st, t); err != nil {
			return err
		}
	}
	return nil
}

// ofRecordsAlone reports whether the rows of a table are records and no items.
func ofRecordsAlone(st stream.Stream, t stream.Table) bool {
	return t.Name == st.Root().Name && !slices.ContainsFunc(st.Tables[1:], func(o stream.Table) bool { return o.Name == t.Name })
}

func (s *Stage) empty(ctx context.Context, st stream.Stream) error {
	var statements []string
	for _, t := range tablesOf(st) {
		statements = append(statements, "DELETE FROM "+s.home(st.Name, t.Name))
	}
	return s.draft.Atomically(ctx, statements)
}

// dropCopies keeps, of rows with one key, the one with the highest seq, and
// removes the rows that came inside the others.
func (s *Stage) dropCopies(ctx context.Context, st stream.Stream, t stream.Table) error {
	name, key := s.home(st.Name, t.Name), columns("", t.Key)
	// Two keys with one hash only send us looking for copies in vain.
	var copies bool
	err := s.draft.DB.QueryRowContext(ctx, fmt.Sprintf("SELECT count(*) > count(DISTINCT hash(%s)) FROM %s", key, name)).Scan(&copies)
	if err != nil || !copies {
		return err
	}
	stale := fmt.Sprintf(`CREATE OR REPLACE TABLE stage.stale AS
		SELECT rowid AS place, seq, %[2]s, seq = max(seq) OVER (PARTITION BY %[2]s) AS beside FROM %[1]s
		WHERE (%[2]s) IN (SELECT (%[2]s) FROM %[1]s GROUP BY ALL HAVING count(*) > 1)
		QUALIFY row_number() OVER (PARTITION BY %[2]s ORDER BY seq DESC, rowid DESC) > 1`, name, key)
	statements := []string{stale}
	for _, inner := range tablesOf(st) {
		if inner.Name != t.Name && within(st, inner, t) {
			statements = append(statements, s.dropInner(st, t, inner)...)
		}
	}
	statements = append(statements, fmt.Sprintf("DELETE FROM %s WHERE rowid IN (SELECT place FROM stage.stale)", name))
	return s.draft.Exec(ctx, statements...)
}

// dropInner removes child rows of stale records. They share the record's seq,
// and rows inside an item also its key. Where the copies of an item stand beside
// one another in one record, so do their rows, and those of the last copy begin
// where the positions last begin anew.
func (s *Stage) dropInner(st stream.Stream, outer, inner stream.Table) []string {
	name := s.home(st.Name, inner.Name)
	if enclosing(st, inner).Name != outer.Name {
		return []string{"DELETE FROM " + name + " WHERE seq IN (SELECT seq FROM stage.stale)"}
	}
	item, key := columns("", inner.Parents), columns("", outer.Key)
	drop := fmt.Sprintf("DELETE FROM %s WHERE (seq, %s) IN (SELECT (seq, %s) FROM stage.stale WHERE NOT beside)", name, item, key)
	if !slices.Contains(inner.Key, "position") {
		return []string{drop}
	}
	return []string{drop, fmt.Sprintf(`DELETE FROM %[1]s WHERE rowid IN (
		SELECT place FROM (SELECT rowid AS place, max(rowid) FILTER (position = 1) OVER (PARTITION BY seq, %[2]s) AS last FROM %[1]s
			WHERE (seq, %[2]s) IN (SELECT (seq, %[3]s) FROM stage.stale WHERE beside)) WHERE place < last)`, name, item, key)}
}

// within reports whether rows of inner stand inside rows of outer.
func within(st stream.Stream, inner, outer stream.Table) bool {
	return outer.At == "" || strings.HasPrefix(inner.At, outer.At+".")
}

// freshTable is a view where no list and detail have to be united, so that
// nothing is copied.
func (s *Stage) freshTable(t stream.Table) string {
	lists, detail := s.sources(t.Name)
	if detail.Name == "" || len(lists) == 0 {
		return "CREATE VIEW " + fresh(t.Name) + " AS " + s.allOf(t.Name, warehouse.Columns("", s.defs[t.Name])+", row_hash, seq")
	}
	return fmt.Sprintf("CREATE TABLE %s AS %s", fresh(t.Name), s.united(t, detail))
}

func (s *Stage) allOf(table, cols string) string {
	var parts []string
	for _, name := range stream.Feeding(s.streams, table) {
		parts = append(parts, "SELECT "+cols+" FROM "+staged(name, table))
	}
	return strings.Join(parts, " UNION ALL ")
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
