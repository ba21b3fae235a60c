package load

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// Change counts what a night did to one table.
type Change struct {
	Table              string
	Before, After      int64
	New, Changed, Gone int64
}

// merge brings main to what the streams showed.
type merge struct {
	staging *staging
	rows    *Rows
	details *Details
	cover   map[string]Coverage
	limits  Limits
}

// compare finds what changes in tables, parents before children: the scope of a child
// looks at the closing keys of its parent.
func (m *merge) compare(ctx context.Context, tables []stream.Table) ([]Change, error) {
	// The rows of an adopted table are tonight's: before there were none.
	before, err := countTables(ctx, m.staging.draft, slices.DeleteFunc(slices.Clone(tables),
		func(t stream.Table) bool { return m.staging.feeds.adopted.has(t.Name) }))
	if err != nil {
		return nil, err
	}
	changes := make([]Change, len(tables))
	var finds, counts []sqlText
	for i, t := range tables {
		changes[i].Table, changes[i].Before = t.Name, before[t.Name]
		finds = append(finds, m.findClosing(t, changes[i].Before == 0))
		count := compareSQL.Render("count_changes", values{"index": i, "closing": closingTable(t.Name)})
		if changes[i].Before == 0 {
			count = compareSQL.Render("count_new", values{"index": i, "fresh": freshTable(t.Name)})
		}
		counts = append(counts, count)
	}
	if err := executeAll(ctx, m.staging.draft, finds); err != nil {
		return nil, err
	}
	return changes, eachRow(ctx, m.staging.draft, counts, func(scan func(...any) error) error {
		var i int
		var c Change
		err := scan(&i, &c.New, &c.Changed, &c.Gone)
		changes[i].New, changes[i].Changed, changes[i].Gone = c.New, c.Changed, c.Gone
		return err
	})
}

// findClosing compares fingerprints and reads no other column. An empty table needs no
// comparison: all of it is new.
func (m *merge) findClosing(t stream.Table, empty bool) sqlText {
	columns := t.Key
	if st := m.answering(t); st.Name != "" && !slices.Contains(t.Key, st.Param) {
		columns = append(slices.Clone(t.Key), st.Param) // for the evidence of a deletion
	}
	if empty {
		return compareSQL.Render("compare_empty", values{"closing": closingTable(t.Name), "key": columnList("", columns), "main": mainTable(t.Name)})
	}
	keys := make([]sqlText, len(columns))
	for i, k := range columns {
		keys[i] = compareSQL.Render("compared_key", values{"column": warehouse.Name(k)})
	}
	stored, seen := m.rows.compared(t)
	return compareSQL.Render("compare", values{"closing": closingTable(t.Name), "keys": joinSQL(keys, ", "),
		"stored": stored, "seen": seen, "same_key": joinOn("m.", "f.", t.Key), "scope": m.scope(t)})
}

// write writes all tables in one transaction: a commit for each of some hundred
// statements would cost a small night more than its rows.
func (m *merge) write(ctx context.Context, changes []Change) error {
	var rows int64
	for _, c := range changes {
		rows += c.Before + c.New
	}
	if err := execute(ctx, m.staging.draft, compressionFor(rows)); err != nil {
		return err
	}
	err := inTransaction(ctx, m.staging.draft, func(tx *sql.Tx) error {
		for i, t := range stream.Tables(m.staging.streams) {
			err := m.writeTable(ctx, tx, t, &changes[i])
			if err == nil {
				err = m.staging.draft.Step("mid merge")
			}
			if err != nil {
				return fmt.Errorf("merge table %s: %w", t.Name, err)
			}
		}
		if err := m.writeDeletions(ctx, tx, changes); err != nil {
			return err
		}
		return m.details.store(ctx, tx, m.cover)
	})
	if err != nil {
		return err
	}
	return m.staging.feeds.releaseAdopted(ctx)
}

// smallCatalog is the number of rows below which building symbol tables for texts takes
// longer than all else that a night writes, and saves next to nothing: some milliseconds
// for each of hundreds of columns.
const smallCatalog = 500_000

// compressionFor chooses how what stays is compressed, by the rows of the catalog.
func compressionFor(rows int64) sqlText {
	disabled := "none"
	if rows < smallCatalog {
		disabled = "fsst"
	}
	return mergeSQL.Render("set_compression", values{"disabled": disabled})
}

// writeTable moves the closing rows to past and inserts their successors and the new
// ones. A table in which nothing changed is not touched.
func (m *merge) writeTable(ctx context.Context, tx *sql.Tx, t stream.Table, c *Change) error {
	key, columns, closing := columnList("", t.Key), allColumns(m.staging.defs[t.Name]), closingTable(t.Name)
	if c.Changed+c.Gone > 0 {
		err := executeIn(ctx, tx,
			mergeSQL.Render("close_versions", values{"past": pastTable(t.Name), "columns": columns, "now": m.staging.draft.At,
				"run": m.staging.draft.Run, "main": mainTable(t.Name), "closing": closing, "key": key}),
			mergeSQL.Render("delete_closed", values{"main": mainTable(t.Name), "closing": closing, "same_key": joinOn("m.", "c.", t.Key)}))
		if err != nil {
			return err
		}
	}
	if !m.staging.feeds.adopted.has(t.Name) && (c.Before == 0 || c.New+c.Changed > 0) {
		_, seen := m.rows.compared(t)
		of := values{"main": mainTable(t.Name), "columns": columns, "now": m.staging.draft.At, "seen": seen}
		insert := mergeSQL.Render("insert_all", of)
		if c.Before > 0 {
			of["closing"], of["key"] = closing, key
			insert = mergeSQL.Render("insert_versions", of)
		}
		added, err := tx.ExecContext(ctx, string(insert))
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

// writeDeletions stores the key and the evidence of every record that is gone.
func (m *merge) writeDeletions(ctx context.Context, tx *sql.Tx, changes []Change) error {
	for i, t := range stream.Tables(m.staging.streams) {
		lists, detail := m.staging.sources(t.Name)
		sources := append(lists, detail)
		if t.Name != sources[0].Root().Name || changes[i].Gone == 0 {
			continue
		}
		err := executeIn(ctx, tx, mergeSQL.Render("write_deletions", values{"run": m.staging.draft.Run, "table": t.Name,
			"key": columnList("", t.Key), "evidence": m.evidence(t, sources), "closing": closingTable(t.Name)}))
		if err != nil {
			return fmt.Errorf("write the deletions of %s: %w", t.Name, err)
		}
	}
	return nil
}

// evidence tells an answer of 404 from absence, and names the list that a row is absent
// from. Where several fill a table, a fixed column of the row tells which.
func (m *merge) evidence(t stream.Table, sources []stream.Stream) sqlText {
	absence := func(st stream.Stream) string { return "absent from a proven walk of " + st.Name }
	var cases []sqlText
	for _, st := range sources {
		if len(st.Tables) > 0 && len(st.Root().Const) > 0 {
			cases = append(cases, mergeSQL.Render("evidence_of_list", values{"rows": rowsOfStream(st.Root()), "absent": absence(st)}))
		}
	}
	absent := sqlText(warehouse.Literal(absence(sources[0])))
	if len(cases) > 0 {
		absent = mergeSQL.Render("evidence_by_list", values{"cases": joinSQL(cases, " "), "absent": absent})
	}
	if st := m.answering(t); st.Name != "" {
		return mergeSQL.Render("evidence_of_answers", values{"param": warehouse.Name(st.Param), "asked": askedTable(st.Name),
			"answer": "404 from " + st.Path, "absent": absent})
	}
	return absent
}

// answering is the stream of details that was asked tonight for the records of a table, or
// for the record that they belong to; its name is empty where there is none.
func (m *merge) answering(t stream.Table) stream.Stream {
	for _, st := range m.staging.streams {
		if st.IsDetail() && m.cover[st.Name] == ByID && st.Root().Name == t.Name {
			return st
		}
	}
	return stream.Stream{}
}

// inTransaction runs do in one transaction, which it ends.
func inTransaction(ctx context.Context, d *warehouse.Draft, do func(tx *sql.Tx) error) error {
	tx, err := d.DB.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin a transaction: %w", err)
	}
	if err := do(tx); err != nil {
		return errors.Join(err, warehouse.Undo(tx))
	}
	return tx.Commit()
}
