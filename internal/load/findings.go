package load

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
)

// AddRejects stages rejects: invalid values and records.
func (s *Stage) AddRejects(ctx context.Context, rejects []stream.Reject) error {
	return appendRows(ctx, s, "main", "rejects", rejects, func(r stream.Reject) []driver.Value {
		return []driver.Value{textOrNull(r.Table), textOrNull(r.Key), textOrNull(r.Parent), textOrNull(r.Column), textOrNull(r.Raw),
			textOrNull(r.Reason), textOrNull(r.Stream), intOrNull(r.Pass), intOrNull(r.Page), intOrNull(r.Position), r.ResponseHash, r.Seq}
	})
}

// AddDriftRecords stages records with drift: unknown fields and values, and values that were converted.
func (s *Stage) AddDriftRecords(ctx context.Context, records []stream.DriftRecord) error {
	return appendRows(ctx, s, "main", "drift_records", records, func(r stream.DriftRecord) []driver.Value {
		return []driver.Value{int64(r.DriftIndex), r.Record}
	})
}

func (s *Stage) countDrift(ctx context.Context, drift []stream.Drift) error {
	index := int64(-1)
	err := appendRows(ctx, s, "main", "drift", drift, func(d stream.Drift) []driver.Value {
		index++
		return []driver.Value{index, d.Table, d.Path, d.Kind, d.Sample, textOrNull(d.Key)}
	})
	if err != nil {
		return err
	}
	if err := s.flush(ctx, allStreams); err != nil {
		return err
	}
	if err := s.draft.Exec(ctx, metaSQL.Render("count_drift", nil)); err != nil {
		return fmt.Errorf("count the drift: %w", err)
	}
	return nil
}

// WriteRejects writes the rejects of tonight, after the merge. They replace the earlier rejects of the rows that
// were read tonight, so that meta.rejects does not grow by the same values every night.
func (s *Stage) WriteRejects(ctx context.Context, coverage map[string]Coverage) error {
	// The unread keys of a table are computed only if the table has earlier rejects.
	tablesWithRejects, err := queryTextSet(ctx, s.draft, metaSQL.Render("tables_with_rejects", nil))
	if err != nil {
		return fmt.Errorf("read the rejects: %w", err)
	}
	var deletes []sqlText
	readTables := []string{""} // an empty list would be invalid SQL
	for _, t := range stream.Tables(s.streams) {
		wasRead := func(name string) bool { return coverage[name] != Carried }
		if !slices.ContainsFunc(stream.FilledBy(s.streams, t.Name), wasRead) {
			continue
		}
		// An event is read once, so its rejects are kept.
		streams, _ := s.sources(t.Name)
		if tablesWithRejects[t.Name] && !slices.ContainsFunc(streams, stream.Stream.IsEvents) {
			deletes = append(deletes, s.deleteRejectsSQL(t))
		}
		readTables = append(readTables, t.Name)
	}
	if err := s.draft.Atomically(ctx, deletes); err != nil {
		return fmt.Errorf("replace the rejects: %w", err)
	}
	if err := s.draft.Exec(ctx, metaSQL.Render("write_rejects", values{"run": s.draft.Run, "tables": readTables})); err != nil {
		return fmt.Errorf("write the rejects: %w", err)
	}
	return nil
}

// deleteRejectsSQL keeps the rejects of a row if the row, its record or its parent was not read tonight.
func (s *Stage) deleteRejectsSQL(t stream.Table) sqlText {
	streams, detail := s.sources(t.Name)
	st := append(streams, detail)[0] // detail is used only if no other stream fills the table
	root := st.Root()
	unreadKeys := func(table stream.Table) sqlText {
		return metaSQL.Render("unread_keys", values{"key": sqltext.Names(table.Key), "main": mainTable(table.Name), "desired": desiredTable(table.Name)})
	}
	unread := []sqlText{"key IN " + unreadKeys(t)}
	switch {
	case t.Name != root.Name:
		unread = append(unread, "parent IN "+unreadKeys(t), "key IN "+unreadKeys(root), "parent IN "+unreadKeys(root))
	case st.IsDetail() && st.Param != "":
		unread = append(unread, "parent IN "+metaSQL.Render("unread_parents", values{"plan": planTable(st.Name), "requested": requestedTable(st.Name)}))
	}
	return metaSQL.Render("delete_rejects", values{"table": t.Name, "unread": sqltext.JoinSQL(unread, " OR ")})
}
