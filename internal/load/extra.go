package load

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// extras names the united unknown fields of records of which two sources have
// some, and not the same.
func extras(table string) string { return staged("fresh", "$extra "+table) }

// uniteExtras merges these here and not in SQL: DuckDB's JSON functions turn
// numbers into doubles and take a null for a deletion.
func (s *Stage) uniteExtras(ctx context.Context, detail stream.Stream) error {
	root := detail.Root()
	if err := s.draft.Exec(ctx, createTable(extras(root.Name), extraColumns)); err != nil {
		return err
	}
	rows, err := s.draft.DB.QueryContext(ctx, twoExtras(detail))
	if err != nil {
		return err
	}
	defer rows.Close()
	for {
		merged, err := mergeRows(rows)
		if err != nil {
			return err
		}
		if len(merged) == 0 {
			return s.Settle(ctx)
		}
		if err := insertRows(ctx, s, extras(root.Name), extraColumns, merged); err != nil {
			return err
		}
	}
}

// twoExtras selects id and the unknown fields of both sources, the one that
// yields first: list and detail, or main and the half that came tonight alone.
func twoExtras(detail stream.Stream) string {
	root := detail.Root()
	pair := func(under, over, without string) string {
		return fmt.Sprintf("SELECT o.%[1]s, u.extra::VARCHAR, o.extra FROM %[3]s o JOIN %[2]s u USING (%[1]s)%[4]s WHERE o.extra <> u.extra::VARCHAR",
			warehouse.Quote(root.Key[0]), under, over, without)
	}
	without := func(other string) string {
		return fmt.Sprintf(" ANTI JOIN %s w USING (%s)", other, warehouse.Quote(root.Key[0]))
	}
	main, list, got := "main."+warehouse.Quote(root.Name), "("+notKept(detail)+")", staged(detail.Name, root.Name)
	return strings.Join([]string{pair(list, got, ""), pair(main, list, without(got)), pair(main, got, without(list))}, " UNION ALL ")
}

// mergedRows is how many records are merged into one batch.
const mergedRows = 4096

// unitedExtra are the unknown fields of a record, united.
type unitedExtra struct{ id, extra string }

var extraColumns = []column[unitedExtra]{
	textColumn("id", func(e unitedExtra) string { return e.id }),
	textColumn("extra", func(e unitedExtra) string { return e.extra }),
}

// mergeRows unites the objects of the next ids; none when there are no more.
func mergeRows(rows *sql.Rows) ([]unitedExtra, error) {
	var merged []unitedExtra
	for len(merged) < mergedRows && rows.Next() {
		var id, under, over string
		if err := rows.Scan(&id, &under, &over); err != nil {
			return nil, err
		}
		object, err := mergeObjects(under, over)
		if err != nil {
			return nil, fmt.Errorf("unite the unknown fields of %q: %w", id, err)
		}
		merged = append(merged, unitedExtra{id, object})
	}
	return merged, rows.Err()
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
