package load

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/go-json-experiment/json/jsontext"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// extras names the united unknown fields of records whose list and detail both
// have some, and not the same.
func extras(table string) string { return staged("fresh", "$extra "+table) }

// uniteExtras merges these here and not in SQL: DuckDB's JSON functions turn
// numbers into doubles and take a null for a deletion.
func (s *Stage) uniteExtras(ctx context.Context, detail stream.Stream) error {
	root := detail.Root()
	if err := s.draft.Exec(ctx, fmt.Sprintf("CREATE TABLE %s (id VARCHAR, extra VARCHAR)", extras(root.Name))); err != nil {
		return err
	}
	rows, err := s.draft.DB.QueryContext(ctx, fmt.Sprintf("SELECT d.%[1]s, l.extra, d.extra FROM %[2]s d JOIN %[3]s l USING (%[1]s) WHERE d.extra <> l.extra",
		warehouse.Quote(root.Key[0]), staged(detail.Name, root.Name), staged(detail.Over, root.Name)))
	if err != nil {
		return err
	}
	merged, err := mergeRows(rows)
	if err != nil || merged == nil {
		return err
	}
	defer merged.Release()
	l, err := s.take(ctx)
	if err != nil {
		return err
	}
	defer s.give(l)
	if err := l.insert(ctx, extras(root.Name), merged); err != nil {
		return err
	}
	return l.commit(ctx)
}

// mergeRows gives the ids with their merged objects; nil when there are none.
func mergeRows(rows *sql.Rows) (arrow.RecordBatch, error) {
	defer rows.Close()
	text := arrow.BinaryTypes.String
	b := array.NewRecordBuilder(memory.DefaultAllocator,
		arrow.NewSchema([]arrow.Field{{Name: "id", Type: text}, {Name: "extra", Type: text}}, nil))
	defer b.Release()
	for rows.Next() {
		var id, list, detail string
		if err := rows.Scan(&id, &list, &detail); err != nil {
			return nil, err
		}
		object, err := mergeObjects(list, detail)
		if err != nil {
			return nil, fmt.Errorf("unite the unknown fields of %q: %w", id, err)
		}
		b.Field(0).(*array.StringBuilder).Append(id)
		b.Field(1).(*array.StringBuilder).Append(object)
	}
	if b.Field(0).Len() == 0 {
		return nil, rows.Err()
	}
	return b.NewRecordBatch(), rows.Err()
}

// mergeObjects lays the members of one JSON object over those of another, each
// value to the letter, names sorted.
func mergeObjects(under, over string) (string, error) {
	members := map[string]string{}
	for _, text := range []string{under, over} {
		if err := readMembers(text, members); err != nil {
			return "", err
		}
	}
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		pairs = append(pairs, name+":"+members[name])
	}
	return "{" + strings.Join(pairs, ",") + "}", nil
}

// readMembers takes an object apart; names keep their quotes.
func readMembers(object string, into map[string]string) error {
	d := jsontext.NewDecoder(bytes.NewBufferString(object), jsontext.AllowDuplicateNames(true))
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadValue()
		if err != nil {
			return err
		}
		key := string(name)
		value, err := d.ReadValue()
		if err != nil {
			return err
		}
		into[key] = string(value)
	}
	return nil
}
