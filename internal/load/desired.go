package load

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
)

// unite creates the desired rows of every table. It joins lists with the details that
// complete them.
func (m *merge) unite(ctx context.Context) error {
	var err error
	for _, st := range m.staging.streams {
		if st.Completes != "" && err == nil {
			err = m.uniteExtras(ctx, st)
		}
	}
	if err == nil {
		var statements []sqlText
		for _, t := range stream.Tables(m.staging.streams) {
			statements = append(statements, m.createDesired(t))
		}
		err = m.staging.draft.Atomically(ctx, statements)
	}
	if err != nil {
		return fmt.Errorf("unite lists and details: %w", err)
	}
	return nil
}

// createDesired creates the desired rows of one table. Without details they are a view, so
// that no row is copied.
func (m *merge) createDesired(t stream.Table) sqlText {
	lists, detail := m.staging.sources(t.Name)
	def := m.staging.defs[t.Name]
	if detail.Name == "" || len(lists) == 0 {
		var parts []sqlText
		for _, name := range stream.FilledBy(m.staging.streams, t.Name) {
			parts = append(parts, uniteSQL.Render("desired_rows", values{"columns": allColumns(def), "staged": stagedTable(name, t.Name)}))
		}
		return uniteSQL.Render("desired_view", values{"desired": desiredTable(t.Name), "rows": unionAll(parts)})
	}
	root, textCell := detail.Root(), "item_text"
	if t.Name == root.Name {
		textCell = "record_text"
	}
	cells := sqltext.Join(def.Columns, ", ", func(c stream.Column) sqlText {
		part := "united_value"
		switch {
		case c.Name == "extra" && t.Name == root.Name:
			part = "record_extra"
		case c.Type == stream.Text:
			part = textCell
		}
		return uniteSQL.Render(part, values{"column": sqltext.Name(c.Name)})
	})
	of := values{"desired": desiredTable(t.Name), "cells": cells, "fingerprint": textFingerprint(def), "detail": stagedTable(detail.Name, t.Name),
		"list_rows": listRows(detail), "main": mainTable(t.Name)}
	if t.Name == root.Name {
		of["key"], of["same_key"] = sqltext.Name(t.Key[0]), joinOn("d.", "l.", t.Key)
		of["extra"] = extraTable(t.Name)
		return uniteSQL.Render("unite_records", of)
	}
	of["list"], of["detail_records"] = stagedTable(detail.Completes, t.Name), stagedTable(detail.Name, root.Name)
	of["record_key"] = sqltext.Names(root.Key)
	of["agrees"] = joinOn("m.", "l.", t.Key) + " AND " + sqltext.Join(def.Columns, " AND ", func(c stream.Column) sqlText {
		return uniteSQL.Render("cell_agrees", values{"column": sqltext.Name(c.Name)})
	})
	return uniteSQL.Render("unite_items", of)
}

// listRows selects the rows of a list without those of kept details.
func listRows(detail stream.Stream) sqlText {
	return uniteSQL.Render("list_rows", values{"list": stagedTable(detail.Completes, detail.Root().Name),
		"param": sqltext.Name(detail.Param), "kept": keptDetails(detail)})
}

// keptDetails selects the ids of a detail stream whose rows in main stay.
func keptDetails(detail stream.Stream) sqlText {
	return uniteSQL.Render("kept_details", values{"param": sqltext.Name(detail.Param), "main": mainTable(detail.Root().Name),
		"plan": planTable(detail.Name), "asked": askedTable(detail.Name)})
}

// textFingerprint is an md5 over "name=value" of the columns of a row in name order.
func textFingerprint(def stream.Definition) sqlText {
	def.Columns = slices.DeleteFunc(slices.Clone(def.Columns), func(c stream.Column) bool { return c.Untracked })
	slices.SortFunc(def.Columns, func(a, b stream.Column) int { return strings.Compare(a.Name, b.Name) })
	parts := sqltext.Join(def.Columns, ", ", func(c stream.Column) sqlText {
		part := "fingerprint_part"
		if c.Type == stream.Instant {
			part = "fingerprint_of_instant"
		}
		return uniteSQL.Render(part, values{"label": c.Name + "=", "column": sqltext.Name(c.Name)})
	})
	return uniteSQL.Render("fingerprint", values{"parts": parts})
}

// unitedExtra has the united unknown fields of a record.
type unitedExtra struct{ id, extra string }

// extraColumns are the columns of an [extraTable].
var extraColumns = []stagingColumn[unitedExtra]{
	textColumn("id", func(e unitedExtra) string { return e.id }),
	textColumn("extra", func(e unitedExtra) string { return e.extra }),
}

// extraBatch is the number of records in a batch.
const extraBatch = 4096

// uniteExtras unites unknown fields in Go, because DuckDB's JSON functions turn numbers
// into doubles and treat null as a deletion.
func (m *merge) uniteExtras(ctx context.Context, detail stream.Stream) error {
	root := detail.Root()
	if err := m.staging.draft.Exec(ctx, createTable(extraTable(root.Name), extraColumns)); err != nil {
		return err
	}
	var batch []unitedExtra
	query := uniteSQL.Render("extras_to_unite", values{"key": sqltext.Name(root.Key[0]), "main": mainTable(root.Name),
		"detail": stagedTable(detail.Name, root.Name), "list_rows": listRows(detail)})
	err := m.staging.draft.EachRow(ctx, []sqlText{query}, func(scan func(...any) error) error {
		var id, under, over string
		if err := scan(&id, &under, &over); err != nil {
			return err
		}
		object, err := uniteObjects(under, over)
		if err != nil {
			return fmt.Errorf("unite the unknown fields of %q: %w", id, err)
		}
		if batch = append(batch, unitedExtra{id, object}); len(batch) < extraBatch {
			return nil
		}
		err = insertRows(ctx, m.staging, extraTable(root.Name), extraColumns, batch)
		batch = batch[:0]
		return err
	})
	if err == nil {
		err = insertRows(ctx, m.staging, extraTable(root.Name), extraColumns, batch)
	}
	if err != nil {
		return err
	}
	return m.staging.flush(ctx)
}

// uniteObjects merges two JSON objects. Members of over replace those of under. Values keep
// their exact text, and names are sorted.
func uniteObjects(under, over string) (string, error) {
	members := map[string]string{}
	for _, object := range []string{under, over} {
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
	for _, name := range slices.Sorted(maps.Keys(members)) {
		pairs = append(pairs, name+":"+members[name])
	}
	return "{" + strings.Join(pairs, ",") + "}", nil
}
