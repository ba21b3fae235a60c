package load

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
)

// createDesired creates the desired rows of every table: the staged rows, with the details joined to their lists.
// main must contain them after the merge. It also keeps rows that were not read, see scope.
func (m *merge) createDesired(ctx context.Context) error {
	for _, st := range m.streams {
		if st.Completes == "" {
			continue
		}
		if err := m.mergeExtras(ctx, st); err != nil {
			return fmt.Errorf("join lists and details: %w", err)
		}
	}
	var statements []sqlText
	for _, t := range stream.Tables(m.streams) {
		statements = append(statements, m.desiredRows(t))
	}
	if err := m.draft.Atomically(ctx, statements); err != nil {
		return fmt.Errorf("join lists and details: %w", err)
	}
	return nil
}

// desiredRows returns SQL that creates the desired rows of one table. If no detail stream completes
// the table, the SQL creates a view, which copies no rows.
func (m *merge) desiredRows(t stream.Table) sqlText {
	_, detail := m.sources(t.Name)
	def := m.draft.Schema.Definitions[t.Name]
	if detail.Name == "" {
		var parts []sqlText
		for _, name := range stream.FilledBy(m.streams, t.Name) {
			parts = append(parts, mergeSQL.Render("staged_rows", values{"columns": allColumns(def), "staged": stagedTable(name, t.Name)}))
		}
		return mergeSQL.Render("view_desired", values{"desired": desiredTable(t.Name), "rows": unionAll(parts)})
	}
	root, textStatement := detail.Root(), "child_text"
	if t.Name == root.Name {
		textStatement = "record_text"
	}
	columns := sqltext.Join(def.Columns, ", ", func(c stream.Column) sqlText {
		statement := "joined_value"
		switch {
		case c.Name == "extra" && t.Name == root.Name:
			statement = "record_extra"
		case c.Type == stream.Text:
			statement = textStatement
		}
		return mergeSQL.Render(statement, values{"column": sqltext.Name(c.Name)})
	})
	args := values{"desired": desiredTable(t.Name), "values": columns, "row_hash": joinedRowHash(def), "detail": stagedTable(detail.Name, t.Name),
		"list_rows": listRows(detail), "main": mainTable(t.Name)}
	if t.Name == root.Name {
		args["key"], args["same_key"] = sqltext.Name(t.Key[0]), joinOn("d.", "l.", t.Key)
		args["extra"] = extraTable(t.Name)
		return mergeSQL.Render("join_records", args)
	}
	args["list"], args["detail_records"] = stagedTable(detail.Completes, t.Name), stagedTable(detail.Name, root.Name)
	args["record_key"] = sqltext.Names(root.Key)
	args["agrees"] = agrees(t, def)
	return mergeSQL.Render("join_child_rows", args)
}

// agrees returns a condition on a staged row l and a stored row m: they have the same key, and no value of l
// contradicts the value of m.
func agrees(t stream.Table, def stream.Definition) sqlText {
	return joinOn("m.", "l.", t.Key) + " AND " + sqltext.Join(def.Columns, " AND ", func(c stream.Column) sqlText {
		return mergeSQL.Render("value_agrees", values{"column": sqltext.Name(c.Name)})
	})
}

func listRows(detail stream.Stream) sqlText {
	return mergeSQL.Render("list_rows", values{"list": stagedTable(detail.Completes, detail.Root().Name),
		"param": sqltext.Name(detail.Param), "kept": keptDetails(detail)})
}

func keptDetails(detail stream.Stream) sqlText {
	return mergeSQL.Render("kept_details", values{"param": sqltext.Name(detail.Param), "main": mainTable(detail.Root().Name),
		"plan": planTable(detail.Name), "requested": requestedTable(detail.Name)})
}

// joinedRowHash returns SQL for the row_hash of a joined row: a hash of the texts "name=value" of its
// columns, in the order of their names.
func joinedRowHash(def stream.Definition) sqlText {
	columns := slices.SortedFunc(slices.Values(def.Columns), func(a, b stream.Column) int { return strings.Compare(a.Name, b.Name) })
	parts := sqltext.Join(columns, ", ", func(c stream.Column) sqlText {
		statement := "hashed_value"
		if c.Type == stream.Instant {
			statement = "hashed_instant"
		}
		return mergeSQL.Render(statement, values{"label": c.Name + "=", "column": sqltext.Name(c.Name)})
	})
	return mergeSQL.Render("joined_row_hash", values{"parts": parts})
}

// mergeExtras merges unknown fields in Go, because DuckDB's JSON functions turn numbers
// into doubles and treat null as a deletion.
func (m *merge) mergeExtras(ctx context.Context, detail stream.Stream) error {
	root := detail.Root()
	create := stageSQL.Render("create_table", values{"table": extraTable(root.Name), "columns": sqlText("id VARCHAR, extra VARCHAR")})
	if err := m.draft.Exec(ctx, create); err != nil {
		return err
	}
	batch := rowBatch{stage: m.Stage, schema: desiredSchema, table: extraPrefix + root.Name}
	query := mergeSQL.Render("different_extras", values{"key": sqltext.Name(root.Key[0]), "main": mainTable(root.Name),
		"detail": stagedTable(detail.Name, root.Name), "list_rows": listRows(detail)})
	err := m.draft.EachRow(ctx, []sqlText{query}, func(scan func(...any) error) error {
		var id, fallback, preferred string
		if err := scan(&id, &fallback, &preferred); err != nil {
			return err
		}
		object, err := mergeObjects(fallback, preferred)
		if err != nil {
			return fmt.Errorf("merge the unknown fields of %q: %w", id, err)
		}
		return batch.add(ctx, id, object)
	})
	if err != nil {
		return err
	}
	if err := batch.insert(ctx); err != nil {
		return err
	}
	return m.flush(ctx, allStreams)
}

// mergeObjects merges two JSON objects. If both have a member with the same name, the result has the
// value of preferred. Names are in the order of RFC 8785. Numbers keep their digits.
func mergeObjects(fallback, preferred string) (string, error) {
	members := map[string]string{}
	for _, object := range []string{fallback, preferred} {
		d := jsontext.NewDecoder(bytes.NewBufferString(object), jsontext.AllowDuplicateNames(true))
		if _, err := d.ReadToken(); err != nil {
			return "", err
		}
		for d.PeekKind() == '"' {
			name, err := d.ReadValue()
			if err != nil {
				return "", err
			}
			key := string(name) // with its quotes
			value, err := d.ReadValue()
			if err != nil {
				return "", err
			}
			members[key] = string(value)
		}
	}
	var pairs []string
	for name, value := range members {
		pairs = append(pairs, name+":"+value)
	}
	object := jsontext.Value("{" + strings.Join(pairs, ",") + "}")
	err := object.Format(jsontext.ReorderRawObjects(true), jsontext.AllowDuplicateNames(true), jsontext.PreserveRawStrings(true))
	return string(object), err
}
