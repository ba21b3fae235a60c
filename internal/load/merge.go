package load

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// Change counts what a night did to one table.
type Change struct {
	Table              string
	Before, After      int64
	New, Changed, Gone int64
}

// Merge brings main to what the streams showed. Every changed and vanished row
// moves from main to past, new versions enter main, and a row that did not
// change is not touched. Nothing is written before all gates have passed; a
// *MassDeleteError names those that did not.
func (s *Stage) Merge(ctx context.Context, cover map[string]Coverage, limits Limits) ([]Change, error) {
	if err := s.Settle(ctx); err != nil {
		return nil, err
	}
	if s.feeds.made > 0 {
		if _, err := setThreads(ctx, s.draft, s.threads); err != nil {
			return nil, err
		}
	}
	if err := s.unite(ctx); err != nil {
		return nil, err
	}
	changes, err := s.compare(ctx, stream.Tables(s.streams), func(t stream.Table) string { return s.scope(t, cover) })
	if err != nil {
		return nil, fmt.Errorf("compare the tables: %w", err)
	}
	if err := s.checkLosses(ctx, changes, limits); err != nil {
		return nil, err
	}
	return changes, s.applyAll(ctx, changes, cover)
}

// compare finds what closes in tables, parents before children: a child's scope
// looks at its parent's closing keys.
func (s *Stage) compare(ctx context.Context, tables []stream.Table, scope func(stream.Table) string) ([]Change, error) {
	// The rows of an adopted table are tonight's: before there were none.
	before, err := rowsOf(ctx, s.draft, slices.DeleteFunc(slices.Clone(tables), func(t stream.Table) bool { return s.feeds.adopted.has(t.Name) }))
	if err != nil {
		return nil, err
	}
	changes := make([]Change, len(tables))
	var found []string
	for i, t := range tables {
		changes[i].Table, changes[i].Before = t.Name, before[t.Name]
		if err := s.draft.Exec(ctx, s.findClosing(t, changes[i].Before == 0, scope(t))); err != nil {
			return nil, err
		}
		found = append(found, fmt.Sprintf("SELECT %d, %s", i, countClosing(t.Name, changes[i].Before == 0)))
	}
	return changes, s.draft.EachRow(ctx, found, func(scan func(...any) error) error {
		var i int
		var c Change
		err := scan(&i, &c.New, &c.Changed, &c.Gone)
		changes[i].New, changes[i].Changed, changes[i].Gone = c.New, c.Changed, c.Gone
		return err
	})
}

// applyAll writes all tables in one transaction: a commit for each of some
// hundred statements would cost a small night more than its rows.
func (s *Stage) applyAll(ctx context.Context, changes []Change, cover map[string]Coverage) error {
	var rows int64
	for _, c := range changes {
		rows += c.Before + c.New
	}
	if err := s.draft.Exec(ctx, compression(rows)...); err != nil {
		return err
	}
	tx, err := s.draft.DB.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin the merge: %w", err)
	}
	for i, t := range stream.Tables(s.streams) {
		if err := s.apply(ctx, tx, t, &changes[i]); err != nil {
			return errors.Join(fmt.Errorf("merge table %s: %w", t.Name, err), warehouse.Undo(tx))
		}
		if err := s.draft.Step("mid merge"); err != nil {
			return errors.Join(fmt.Errorf("merge table %s: %w", t.Name, err), warehouse.Undo(tx))
		}
	}
	if err := errors.Join(s.noteDeletions(ctx, tx, cover, changes), s.noteDetails(ctx, tx, cover)); err != nil {
		return errors.Join(err, warehouse.Undo(tx))
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	return s.release(ctx)
}

// smallCatalog is the number of rows below which building symbol tables for
// texts takes longer than all else that a night writes, and saves next to
// nothing: some milliseconds for each of hundreds of columns.
const smallCatalog = 500_000

// compression chooses how what stays is written, by the rows of the catalog.
func compression(rows int64) []string {
	disabled := "none"
	if rows < smallCatalog {
		disabled = "fsst"
	}
	return []string{"SET GLOBAL force_compression = 'auto'", "SET GLOBAL disabled_compression_methods = " + warehouse.Literal(disabled)}
}

// closing names the keys of a table whose version changes tonight: new ones,
// changed ones, and those that are gone.
func closing(table string) string { return staged("closing", table) }

// findClosing compares fingerprints and reads no other column. A table that is
// empty yet needs no comparison: all of it is new.
func (s *Stage) findClosing(t stream.Table, empty bool, scope string) string {
	if empty {
		return fmt.Sprintf("CREATE TABLE %s AS SELECT %s, TRUE AS gone, TRUE AS fresh FROM main.%s WHERE FALSE",
			closing(t.Name), columns("", t.Key), warehouse.Quote(t.Name))
	}
	keys := make([]string, len(t.Key))
	for i, k := range t.Key {
		keys[i] = fmt.Sprintf("coalesce(m.%[1]s, f.%[1]s) AS %[1]s", warehouse.Quote(k))
	}
	stored, seen := s.compared(t)
	return fmt.Sprintf(`CREATE TABLE %s AS SELECT %s, f.row_hash IS NULL AS gone, m.row_hash IS NULL AS fresh
		FROM %s m FULL JOIN %s f ON %s
		WHERE m.row_hash IS DISTINCT FROM f.row_hash AND (f.row_hash IS NOT NULL OR %s)`,
		closing(t.Name), strings.Join(keys, ", "), stored, seen, equal("m.", "f.", t.Key), scope)
}

// countClosing counts the new, the changed and the vanished rows of a table.
func countClosing(table string, empty bool) string {
	if empty {
		return "count(*), 0, 0 FROM " + fresh(table)
	}
	return "count(*) FILTER (fresh), count(*) FILTER (NOT gone AND NOT fresh), count(*) FILTER (gone) FROM " + closing(table)
}

// apply moves the closing rows to past and brings in their successors and the
// new ones. A table in which nothing changed is not touched.
func (s *Stage) apply(ctx context.Context, tx *sql.Tx, t stream.Table, c *Change) error {
	if c.Changed+c.Gone > 0 {
		for _, statement := range []string{s.closeRows(t), dropRows(t)} {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
	}
	if !s.feeds.adopted.has(t.Name) && (c.Before == 0 || c.New+c.Changed > 0) {
		added, err := tx.ExecContext(ctx, s.addRows(t, c.Before == 0))
		if err != nil {
			return err
		}
		n, err := added.RowsAffected()
		if err != nil {
			return err
		}
		c.New = n - c.Changed
	}
	c.After = c.Before + c.New - c.Gone
	return nil
}

func (s *Stage) closeRows(t stream.Table) string {
	cols := warehouse.Columns("", s.defs[t.Name]) + ", valid_from, row_hash"
	return fmt.Sprintf(`INSERT INTO past.%[1]s (%[2]s, valid_to, run_id)
		SELECT %[2]s, %[3]s, %[4]s FROM main.%[1]s SEMI JOIN %[5]s USING (%[6]s)`,
		warehouse.Quote(t.Name), cols, s.draft.Stamp(), warehouse.Literal(s.draft.Run), closing(t.Name), columns("", t.Key))
}

func dropRows(t stream.Table) string {
	return fmt.Sprintf("DELETE FROM main.%s m USING %s c WHERE %s",
		warehouse.Quote(t.Name), closing(t.Name), equal("m.", "c.", t.Key))
}

// addRows brings in the rows that closing names, and all where main was empty,
// as on the first night.
func (s *Stage) addRows(t stream.Table, all bool) string {
	def := s.defs[t.Name]
	_, seen := s.compared(t)
	add := fmt.Sprintf("INSERT INTO main.%s (%s, valid_from, row_hash) SELECT %s, %s, row_hash FROM %s",
		warehouse.Quote(t.Name), warehouse.Columns("", def), warehouse.Columns("", def), s.draft.Stamp(), seen)
	if all {
		return add
	}
	return add + fmt.Sprintf(" SEMI JOIN (SELECT * FROM %s WHERE NOT gone) USING (%s)", closing(t.Name), columns("", t.Key))
}

// noteDeletions keeps the key and the evidence of every record that is gone.
func (s *Stage) noteDeletions(ctx context.Context, tx *sql.Tx, cover map[string]Coverage, changes []Change) error {
	for i, t := range stream.Tables(s.streams) {
		lists, detail := s.sources(t.Name)
		sources := append(lists, detail)
		if t.Name != sources[0].Root().Name || changes[i].Gone == 0 {
			continue
		}
		note := fmt.Sprintf(`INSERT INTO meta.deletions (run_id, table_name, key, evidence)
			SELECT %s, %s, concat_ws('/', %s), %s FROM %s m WHERE gone`, warehouse.Literal(s.draft.Run),
			warehouse.Literal(t.Name), columns("", t.Key), evidence(t, sources, cover), closing(t.Name))
		if _, err := tx.ExecContext(ctx, note); err != nil {
			return fmt.Errorf("note deletions of %s: %w", t.Name, err)
		}
	}
	return nil
}

// evidence tells, as SQL, an answer of 404 from absence.
func evidence(t stream.Table, sources []stream.Stream, cover map[string]Coverage) string {
	absent := absence(sources)
	for _, st := range sources {
		if st.Name != "" && st.IsDetail() && cover[st.Name] == ByID && slices.Contains(t.Key, st.Param) {
			return fmt.Sprintf("CASE WHEN %s IN (SELECT id FROM %s WHERE outcome = '404') THEN %s ELSE %s END",
				warehouse.Quote(st.Param), asked(st.Name), warehouse.Literal("404 from "+st.Path), absent)
		}
	}
	return absent
}

// absence names, as SQL, the list that a row is absent from. Where several fill a
// table, a fixed column of the row tells which.
func absence(sources []stream.Stream) string {
	walk := func(st stream.Stream) string { return warehouse.Literal("absent from a proven walk of " + st.Name) }
	var cases strings.Builder
	for _, st := range sources {
		if len(st.Tables) > 0 && len(st.Root().Const) > 0 {
			fmt.Fprintf(&cases, " WHEN %s THEN %s", fixed(st.Root()), walk(st))
		}
	}
	if cases.Len() == 0 {
		return walk(sources[0])
	}
	return "CASE" + cases.String() + " ELSE " + walk(sources[0]) + " END"
}
