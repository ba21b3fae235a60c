package load

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"placementsync/internal/ledger"
	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// Coverage determines which missing rows of a stream count as deleted by the service. A row is missing
// if it is in main and was not staged tonight.
type Coverage int

const (
	// Carried means that the stream was not read completely. No row counts as deleted. The staged
	// rows are dropped, and the rows in main are kept.
	Carried Coverage = iota
	// Unproven means that rows may be missing by mistake (grade best_effort). No row counts as
	// deleted. The staged rows are merged.
	Unproven
	// ByID is the coverage of details. The missing rows of answered ids, and all rows of ids with
	// the outcome NotFound, count as deleted.
	ByID
	// Whole means that all missing rows count as deleted.
	Whole
)

// Change counts the rows of a table before and after a night, and its new, changed and deleted rows.
type Change struct {
	Table              string
	Before, After      int64
	New, Changed, Gone int64
	// Replaced counts the rows with other values and no new version: see [Open] and [Stage.UnifyIDs].
	Replaced int64
}

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
	// Reread is true if the lists that lack the deleted records were read a second time. The caller of Merge reads
	// them again and sets it. It stays false in a replay, which cannot read them again.
	Reread bool
}

func (e *MassDeleteError) Error() string {
	advice := "a replay cannot read the lists again to confirm the deletions: run placementsync run"
	if e.Reread {
		advice = "a second reading had the same result: if the service deleted these records, run placementsync run --allow-mass-delete"
	}
	return fmt.Sprintf("merge the tables: %s; nothing was published; readers keep the last snapshot; %s", ledger.DescribeLosses(e.Losses), advice)
}

type merge struct {
	*Stage
	coverage map[string]Coverage
	limits   Limits
	// hasReplaced contains the tables with rows that get new values without a new version.
	hasReplaced map[string]bool
}

// Merge applies the staged rows to main. It moves changed and deleted rows from main to past, and
// inserts new rows and new row versions. Before it writes, it checks the limits. If deletions exceed the
// limits, it returns a *MassDeleteError.
func (s *Stage) Merge(ctx context.Context, coverage map[string]Coverage, limits Limits) ([]Change, error) {
	m := &merge{Stage: s, coverage: coverage, limits: limits, hasReplaced: map[string]bool{}}
	if err := m.flush(ctx, allStreams); err != nil {
		return nil, err
	}
	if err := m.draft.RestoreMemory(ctx); err != nil {
		return nil, err
	}
	if err := setThreads(ctx, m.draft, m.draft.Threads()); err != nil {
		return nil, err
	}
	if err := m.createDesired(ctx); err != nil {
		return nil, err
	}
	changes, err := m.compare(ctx, stream.Tables(m.streams))
	if err != nil {
		return nil, fmt.Errorf("compare the tables: %w", err)
	}
	if err := m.checkLosses(ctx, changes); err != nil {
		return nil, err
	}
	return changes, m.write(ctx, changes)
}

// compare finds the changes of tables, parents before children: which rows of a child table can be deleted
// depends on the changed keys of its parent table.
func (m *merge) compare(ctx context.Context, tables []stream.Table) ([]Change, error) {
	// Directly filled tables are not counted. They were empty before tonight: their Before stays 0. Below, 0 means that
	// no rows are compared.
	before, err := countTables(ctx, m.draft, slices.DeleteFunc(slices.Clone(tables),
		func(t stream.Table) bool { return m.direct.has(t.Name) })...)
	if err != nil {
		return nil, err
	}
	changes := make([]Change, len(tables))
	var findStatements, counts []sqlText
	for i, t := range tables {
		changes[i].Table, changes[i].Before = t.Name, before[t.Name]
		findStatements = append(findStatements, m.changedKeysSQL(t, changes[i].Before == 0))
		count := mergeSQL.Render("count_changes", values{"index": i, "changed_keys": changedKeysTable(t.Name)})
		if changes[i].Before == 0 {
			count = mergeSQL.Render("count_new", values{"index": i, "desired": desiredTable(t.Name)})
		}
		counts = append(counts, count)
	}
	if err := m.draft.Atomically(ctx, findStatements); err != nil {
		return nil, err
	}
	err = m.draft.EachRow(ctx, counts, func(scan func(...any) error) error {
		var i int
		var c Change
		err := scan(&i, &c.New, &c.Changed, &c.Gone)
		changes[i].New, changes[i].Changed, changes[i].Gone = c.New, c.Changed, c.Gone
		return err
	})
	if err != nil {
		return nil, err
	}
	return changes, m.dropEqual(ctx, tables, changes)
}

func (m *merge) changedKeysSQL(t stream.Table, isEmpty bool) sqlText {
	columns := t.Key
	if st := m.requestedDetails(t); st.Name != "" && !slices.Contains(t.Key, st.Param) {
		columns = append(slices.Clone(t.Key), st.Param) // for the evidence of a deletion
	}
	if isEmpty {
		return mergeSQL.Render("compare_empty", values{"changed_keys": changedKeysTable(t.Name), "key": sqltext.Names(columns), "main": mainTable(t.Name)})
	}
	keys := make([]sqlText, len(columns))
	for i, k := range columns {
		keys[i] = mergeSQL.Render("compared_key", values{"column": sqltext.Name(k)})
	}
	stored, desired := m.storedAndDesired(t)
	return mergeSQL.Render("compare", values{"changed_keys": changedKeysTable(t.Name), "keys": sqltext.JoinSQL(keys, ", "),
		"stored": stored, "desired": desired, "same_key": joinOn("m.", "w.", t.Key), "scope": m.scope(t)})
}

// storedAndDesired returns SQL for the stored and the desired rows of a table, without the rows of records
// that are known to be unchanged.
func (m *merge) storedAndDesired(t stream.Table) (stored, desired sqlText) {
	streams := stream.FilledBy(m.streams, t.Name)
	if len(streams) != 1 || !m.withStoredRows.has(streams[0]) {
		return mainTable(t.Name), desiredTable(t.Name)
	}
	return maybeChangedRowsTable(streams[0], t.Name), decodedRowsTable(streams[0], t.Name)
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
		err := queryRow(ctx, m.draft, mergeSQL.Render("count_losses", values{"main": mainTable(t.Name),
			"changed_keys": changedKeysTable(t.Name), "stream_condition": streamCondition(st.Root())})).Scan(&loss.Before, &loss.Gone)
		if err != nil {
			return nil, err
		}
		losses = append(losses, loss)
	}
	return losses, nil
}

// write writes all tables in one transaction. In a small night, several hundred commits would
// take longer than writing the rows.
func (m *merge) write(ctx context.Context, changes []Change) error {
	if err := m.draft.Exec(ctx, mergeSQL.Render("set_compression", nil)); err != nil {
		return err
	}
	err := m.draft.InTransaction(ctx, func(tx *sql.Tx) error {
		for i, t := range stream.Tables(m.streams) {
			if err := m.writeTable(ctx, tx, t, &changes[i]); err != nil {
				return fmt.Errorf("merge table %s: %w", t.Name, err)
			}
		}
		if err := m.writeDeletions(ctx, tx, changes); err != nil {
			return err
		}
		return m.storeDetails(ctx, tx)
	})
	if err != nil {
		return err
	}
	return m.endDirect(ctx)
}

func (m *merge) writeTable(ctx context.Context, tx *sql.Tx, t stream.Table, c *Change) error {
	key, columns, changed := sqltext.Names(t.Key), allColumns(m.draft.Schema.Definitions[t.Name]), changedKeysTable(t.Name)
	if c.Changed+c.Gone > 0 {
		err := warehouse.ExecIn(ctx, tx,
			mergeSQL.Render("close_versions", values{"past": pastTable(t.Name), "columns": columns, "now": m.draft.At,
				"run": m.draft.Run, "main": mainTable(t.Name), "changed_keys": changed, "key": key}),
			mergeSQL.Render("delete_closed", values{"main": mainTable(t.Name), "changed_keys": changed, "same_key": joinOn("m.", "c.", t.Key)}))
		if err != nil {
			return err
		}
	}
	if c.New+c.Changed > 0 && !m.direct.has(t.Name) {
		_, desired := m.storedAndDesired(t)
		args := values{"main": mainTable(t.Name), "columns": columns, "now": m.draft.At, "desired": desired}
		insert := mergeSQL.Render("insert_all", args)
		if c.Before > 0 {
			args["changed_keys"], args["key"] = changed, key
			insert = mergeSQL.Render("insert_versions", args)
		}
		added, err := tx.ExecContext(ctx, string(insert))
		if err != nil {
			return err
		}
		n, err := added.RowsAffected()
		if err != nil {
			return err
		}
		c.New = n - c.Changed // the rows that were written, not those that compare expected
	}
	c.After, c.Replaced = c.Before+c.New-c.Gone, m.replaced[t.Name]
	if !m.hasReplaced[t.Name] {
		return nil
	}
	_, desired := m.storedAndDesired(t)
	return warehouse.ExecIn(ctx, tx, mergeSQL.Render("replace_values", values{"main": mainTable(t.Name), "desired": desired,
		"replaced": replacedTable(t.Name), "key": key, "same_key": joinOn("m.", "w.", t.Key),
		"assignments": sqltext.Join(m.looseColumns(t), ", ", func(c looseColumn) sqlText {
			return mergeSQL.Render("assignment", values{"column": sqltext.Name(c.Name)})
		})}))
}

func (m *merge) writeDeletions(ctx context.Context, tx *sql.Tx, changes []Change) error {
	for i, t := range stream.Tables(m.streams) {
		streams, _ := m.sources(t.Name)
		// Deletions of records are written, but not of their parts in child tables.
		if t.Name != streams[0].Root().Name || changes[i].Gone == 0 {
			continue
		}
		err := warehouse.ExecIn(ctx, tx, mergeSQL.Render("write_deletions", values{"run": m.draft.Run, "table": t.Name,
			"key": sqltext.Names(t.Key), "evidence": m.evidence(t, streams), "changed_keys": changedKeysTable(t.Name)}))
		if err != nil {
			return fmt.Errorf("write the deletions of %s: %w", t.Name, err)
		}
	}
	return nil
}

// storeDetails writes the fingerprint of each answered detail into meta.details, for the plan of the next
// night. It marks missed details, because the next night must request them again. It runs statements
// for each stream: a single statement for all streams would exceed a small memory limit.
func (m *merge) storeDetails(ctx context.Context, tx *sql.Tx) error {
	for _, st := range m.streams {
		if !st.IsDetail() || m.coverage[st.Name] == Carried {
			continue
		}
		requested, at := requestedTable(st.Name), m.draft.At
		err := warehouse.ExecIn(ctx, tx,
			mergeSQL.Render("forget_details", values{"stream": st.Name, "requested": requested}),
			mergeSQL.Render("mark_missed_details", values{"now": at, "stream": st.Name, "requested": requested}),
			mergeSQL.Render("write_details", values{"stream": st.Name, "run": m.draft.Run, "now": at,
				"plan": planTable(st.Name), "requested": requested}))
		if err != nil {
			return fmt.Errorf("store the details of %s: %w", st.Name, err)
		}
	}
	return nil
}

// evidence returns SQL for the evidence of a deleted row: a 404 response, or the absence from a list.
func (m *merge) evidence(t stream.Table, streams []stream.Stream) sqlText {
	absence := func(st stream.Stream) string { return "absent from a proven walk of " + st.Name }
	var cases []sqlText
	for _, st := range streams {
		if len(st.Root().Const) > 0 {
			cases = append(cases, mergeSQL.Render("evidence_case", values{"stream_condition": streamCondition(st.Root()), "absent_from_list": absence(st)}))
		}
	}
	absent := sqltext.Fill("{text}", values{"text": absence(streams[0])})
	if len(cases) > 0 {
		absent = mergeSQL.Render("evidence_by_list", values{"cases": sqltext.JoinSQL(cases, " "), "absent_from_first_list": absent})
	}
	if st := m.requestedDetails(t); st.Name != "" {
		return mergeSQL.Render("evidence_of_responses", values{"param": sqltext.Name(st.Param), "requested": requestedTable(st.Name),
			"not_found": "404 from " + st.Path, "absent": absent})
	}
	return absent
}

// requestedDetails returns the detail stream that was read tonight for the records of a table, or the zero
// value.
func (m *merge) requestedDetails(t stream.Table) stream.Stream {
	for _, st := range m.streams {
		if st.IsDetail() && m.coverage[st.Name] == ByID && st.Root().Name == t.Name {
			return st
		}
	}
	return stream.Stream{}
}

// scope returns a condition that selects rows of a table in main, which has the alias m. These rows count as
// deleted if they were not staged.
func (m *merge) scope(t stream.Table) sqlText {
	streams, detail := m.sources(t.Name)
	var parts []sqlText
	for _, st := range streams {
		parts = append(parts, m.streamScope(t, st, detail))
	}
	return "(" + sqltext.JoinSQL(parts, " OR ") + ")"
}

// streamScope returns the scope of the rows of st in t. detail is the stream that completes st, or the zero value.
func (m *merge) streamScope(t stream.Table, st, detail stream.Stream) sqlText {
	coverage := m.coverage[st.Name]
	switch {
	case t.Name != st.Root().Name:
		return m.childScope(t, st, detail)
	case coverage == Whole && !st.IsDetail() && detail.Name != "":
		return mergeSQL.Render("scope_of_not_kept", values{"param": sqltext.Name(detail.Param), "kept": keptDetails(detail)})
	case coverage == Whole && !st.IsDetail():
		return streamCondition(st.Root())
	case st.IsDetail() && coverage == ByID:
		return mergeSQL.Render("scope_of_ids", values{"param": sqltext.Name(st.Param), "requested": requestedTable(st.Name),
			"outcomes": []string{string(Answered), string(NotFound)}})
	case detail.Name != "" && m.coverage[detail.Name] == ByID: // the list proves no deletion, but a 404 does
		return mergeSQL.Render("scope_of_ids", values{"param": sqltext.Name(detail.Param), "requested": requestedTable(detail.Name),
			"outcomes": []string{string(NotFound)}})
	}
	return "FALSE"
}

// childScope returns the scope of a child table, whose rows are parts of records. It selects the rows whose
// record was staged or deleted. For a completely read list without a detail stream, these are all rows. If a
// detail stream completes the list, a list row without child rows does not prove that they were deleted.
func (m *merge) childScope(t stream.Table, st, detail stream.Stream) sqlText {
	parent, rootName := st.Tables[st.EnclosingTable(t)], st.Root().Name
	parentColumns, key := prefixed("m.", t.Parents), sqltext.Names(parent.Key)
	switch {
	case m.coverage[st.Name] == Whole && !st.IsDetail() && detail.Name == "":
		return "TRUE"
	case detail.Name != "" && parent.Name == rootName:
		return mergeSQL.Render("scope_of_joined_child_rows", values{"parents": parentColumns, "key": sqltext.Names(detail.Root().Key),
			"detail": stagedTable(detail.Name, detail.Root().Name), "list_rows": listRows(detail),
			"list_child_rows": stagedTable(detail.Completes, t.Name), "changed_keys": changedKeysTable(detail.Root().Name)})
	case parent.Name != rootName:
		return mergeSQL.Render("scope_of_inner_child_rows", values{"parents": parentColumns, "key": prefixed("m.", parent.Key),
			"main": mainTable(parent.Name), "scope": m.scope(parent)})
	}
	return mergeSQL.Render("scope_of_child_rows", values{"parents": parentColumns, "key": key,
		"desired": desiredTable(parent.Name), "changed_keys": changedKeysTable(parent.Name)})
}

// streamCondition returns a condition that selects the rows of one stream from a table that several streams
// fill. The table has the alias m. root is the root table of the stream. The condition compares the columns in root.Const.
func streamCondition(root stream.Table) sqlText {
	parts := []sqlText{"TRUE"}
	for _, column := range slices.Sorted(maps.Keys(root.Const)) {
		parts = append(parts, sqltext.Fill("m.{column} = {value}", values{"column": sqltext.Name(column), "value": root.Const[column]}))
	}
	return sqltext.JoinSQL(parts, " AND ")
}
