package load

import (
	"context"
	"slices"
	"strings"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
)

// deduplicate keeps, for each key, the row with the highest seq. It deletes the other rows and
// their child rows.
func (s *Stage) deduplicate(ctx context.Context, st stream.Stream) error {
	for _, t := range tablesOf(st) {
		if len(t.Parents) > 0 && slices.Equal(t.Key[:len(t.Parents)], t.Parents) {
			// The key contains the key of the parent, so a row is a duplicate only if its parent is a
			// duplicate. Duplicate parents are deleted with their child rows.
			continue
		}
		table, key := s.tableWithRows(st.Name, t.Name), sqltext.Names(t.Key)
		var hasDuplicates bool
		err := queryRow(ctx, s.draft, duplicatesSQL.Render("has_duplicates", values{"key": key, "table": table})).Scan(&hasDuplicates)
		if err != nil {
			return err
		}
		if !hasDuplicates {
			continue
		}
		statements := []sqlText{duplicatesSQL.Render("find_duplicates", values{"key": key, "table": table})}
		for _, inner := range tablesOf(st) {
			isInside := t.At == "" || strings.HasPrefix(inner.At, t.At+".")
			if inner.Name == t.Name || !isInside {
				continue
			}
			innerTable := s.tableWithRows(st.Name, inner.Name)
			if st.Tables[st.EnclosingTable(inner)].Name != t.Name {
				statements = append(statements, duplicatesSQL.Render("drop_deeper_rows", values{"table": innerTable}))
				continue
			}
			args := values{"table": innerTable, "parent_key": sqltext.Names(inner.Parents), "key": key}
			statements = append(statements, duplicatesSQL.Render("drop_child_rows", args))
			if hasPosition(inner) { // an item can occur twice in one record
				statements = append(statements, duplicatesSQL.Render("drop_repeated_child_rows", args))
			}
		}
		statements = append(statements, duplicatesSQL.Render("drop_duplicates", values{"table": table}))
		if err := s.draft.Exec(ctx, statements...); err != nil {
			return err
		}
	}
	return nil
}
