package load

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
)

// A row with another fingerprint is unchanged if its values mean the same as the stored values, for example if
// the members of a JSON value are in another order. Such rows are read only if a column of this kind differs.
// The stored row stays, with its fingerprint.

// dropEqual removes the rows from the changed keys that mean the same as the stored rows, and corrects the counts.
func (m *merge) dropEqual(ctx context.Context, tables []stream.Table, changes []Change) error {
	for i, t := range tables {
		if changes[i].Changed == 0 {
			continue
		}
		count, err := m.dropEqualIn(ctx, t)
		if err != nil {
			return fmt.Errorf("compare the values of %s: %w", t.Name, err)
		}
		changes[i].Changed -= count
	}
	return nil
}

func (m *merge) dropEqualIn(ctx context.Context, t stream.Table) (int64, error) {
	columns := m.draft.Schema.Definitions[t.Name].Columns
	loose, others := looseColumns(columns), slices.DeleteFunc(slices.Clone(columns), isLoose)
	if len(loose) == 0 {
		return 0, nil
	}
	stored, desired := m.storedAndDesired(t)
	sameStored, sameDesired := joinOn("c.", "m.", t.Key), joinOn("c.", "f.", t.Key)
	render := func(statement, separator string, columns []stream.Column) sqlText {
		return sqltext.Join(columns, separator, func(c stream.Column) sqlText {
			return compareSQL.Render(statement, values{"column": sqltext.Name(c.Name)})
		})
	}
	maybeEqual, equal := stagedTable(changedKeysSchema, maybeEqualName), stagedTable(changedKeysSchema, equalName)
	err := m.draft.Exec(ctx, compareSQL.Render("find_maybe_equal", values{"maybe_equal": maybeEqual, "equal": equal, "key": prefixed("c.", t.Key),
		"changed_keys": changedKeysTable(t.Name), "stored": stored, "desired": desired, "same_stored": sameStored, "same_desired": sameDesired,
		"differs": render("text_differs", " OR ", loose)}))
	if err != nil {
		return 0, err
	}
	if found, err := hasRows(ctx, m.draft, maybeEqual); err != nil || !found {
		return 0, err
	}
	count, err := m.stageEqual(ctx, loose, compareSQL.Render("read_maybe_equal", values{"maybe_equal": maybeEqual, "main": mainTable(t.Name),
		"desired": desired, "same_stored": sameStored, "same_desired": sameDesired,
		"texts": render("stored_and_desired_text", ", ", loose), "others_equal": render("same_value", " AND ", others)}))
	if err != nil || count == 0 {
		return 0, err
	}
	return count, m.draft.Exec(ctx, compareSQL.Render("drop_equal", values{"changed_keys": changedKeysTable(t.Name), "equal": equal}))
}

// stageEqual stages the row ids of changed keys whose rows are equal, and returns their number. query returns for
// each row its id, and the stored and the desired text of each column.
func (m *merge) stageEqual(ctx context.Context, columns []stream.Column, query sqlText) (count int64, err error) {
	var batch [][]driver.Value
	stageBatch := func() error {
		err := appendRows(ctx, m.staging, changedKeysSchema, equalName, batch, func(row []driver.Value) []driver.Value { return row })
		batch = batch[:0]
		return err
	}
	var id int64
	texts := make([]sql.NullString, 2*len(columns))
	cells := []any{&id}
	for i := range texts {
		cells = append(cells, &texts[i])
	}
	err = m.draft.EachRow(ctx, []sqlText{query}, func(scan func(...any) error) error {
		if err := scan(cells...); err != nil {
			return err
		}
		for i, c := range columns {
			isEqual, err := equalTexts(c, texts[2*i], texts[2*i+1])
			if err != nil || !isEqual {
				return err
			}
		}
		count++
		if batch = append(batch, []driver.Value{id}); len(batch) < extraBatch {
			return nil
		}
		return stageBatch()
	})
	if err == nil {
		err = stageBatch()
	}
	if err == nil {
		err = m.flush(ctx, allStreams)
	}
	return count, err
}

func isLoose(c stream.Column) bool { return c.Type == stream.JSON }

// looseColumns returns the columns whose values can be equal although their texts differ.
func looseColumns(columns []stream.Column) []stream.Column {
	return slices.DeleteFunc(slices.Clone(columns), func(c stream.Column) bool { return !isLoose(c) })
}

// equalTexts reports whether two values of a loose column mean the same.
func equalTexts(c stream.Column, stored, desired sql.NullString) (bool, error) {
	if stored == desired {
		return true, nil
	}
	if !stored.Valid || !desired.Valid {
		return false, nil
	}
	storedText, err := canonicalJSON(stored.String)
	if err != nil {
		return false, fmt.Errorf("read the stored value of %s: %w", c.Name, err)
	}
	desiredText, err := canonicalJSON(desired.String)
	if err != nil {
		return false, fmt.Errorf("read the new value of %s: %w", c.Name, err)
	}
	return storedText == desiredText, nil
}

// canonicalJSON returns a text that is equal for two JSON values if they differ only in the order of the members
// of objects, and of the items of lists. Numbers keep their digits. A list of numbers keeps its order,
// because it may be a pair of coordinates.
func canonicalJSON(text string) (string, error) {
	d := jsontext.NewDecoder(bytes.NewBufferString(text), jsontext.AllowDuplicateNames(true))
	return readCanonical(d)
}

func readCanonical(d *jsontext.Decoder) (string, error) {
	kind := d.PeekKind()
	if kind != '{' && kind != '[' {
		value, err := d.ReadValue()
		if err == nil && kind == '"' {
			err = value.Canonicalize()
		}
		return string(value), err
	}
	if _, err := d.ReadToken(); err != nil {
		return "", err
	}
	var parts []string
	keepsOrder := kind == '['
	for d.PeekKind() != '}' && d.PeekKind() != ']' {
		name := ""
		if kind == '{' {
			value, err := d.ReadValue()
			if err == nil {
				err = value.Canonicalize()
			}
			if err != nil {
				return "", err
			}
			name = string(value) + ":"
		}
		keepsOrder = keepsOrder && d.PeekKind() == '0'
		part, err := readCanonical(d)
		if err != nil {
			return "", err
		}
		parts = append(parts, name+part)
	}
	end, err := d.ReadToken()
	if err != nil {
		return "", err
	}
	if !keepsOrder {
		slices.Sort(parts)
	}
	return kind.String() + strings.Join(parts, ",") + end.String(), nil
}
