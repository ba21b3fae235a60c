package load

import (
	"context"
	"fmt"
	"strings"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
)

// IDs describes the stored ids that are UUIDs.
type IDs struct {
	IsKnown bool // there are ids with letters
	IsUpper bool // most of them are in upper case
	// Rewritten counts the rows whose key was in the other case.
	Rewritten int64
}

const uuidPattern = "[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"

// UnifyIDs finds the case of most stored ids. The keys of rows with ids in the other case are written in this
// case: otherwise, the night would delete the rows and insert them again. Only warehouses of releases that
// compared ids exactly have such rows.
func (s *Stage) UnifyIDs(ctx context.Context) (IDs, error) {
	var counts []sqlText
	roots := map[string]stream.Stream{}
	for _, st := range s.streams {
		t := st.Root()
		if isIDColumn(t.Key[0]) && roots[t.Name].Name == "" {
			roots[t.Name] = st
			counts = append(counts, stageSQL.Render("count_cases", values{
				"table": t.Name, "column": sqltext.Name(t.Key[0]), "main": mainTable(t.Name), "uuid": uuidPattern,
			}))
		}
	}
	upper, lower := map[string]int64{}, map[string]int64{}
	var upperSum, lowerSum int64
	err := s.draft.EachRow(ctx, counts, func(scan func(...any) error) error {
		var table string
		var u, l int64
		err := scan(&table, &u, &l)
		upper[table], lower[table] = u, l
		upperSum, lowerSum = upperSum+u, lowerSum+l
		return err
	})
	if err != nil {
		return IDs{}, fmt.Errorf("count the stored ids in upper and lower case: %w", err)
	}
	ids := IDs{IsKnown: upperSum+lowerSum > 0, IsUpper: upperSum > lowerSum}
	for table, st := range roots {
		others := upper[table]
		if ids.IsUpper {
			others = lower[table]
		}
		if others == 0 {
			continue
		}
		if err := s.rewriteIDs(ctx, st, &ids); err != nil {
			return IDs{}, fmt.Errorf("write the stored ids in one case: %w", err)
		}
	}
	return ids, nil
}

func (s *Stage) rewriteIDs(ctx context.Context, st stream.Stream, ids *IDs) error {
	function := sqlText("lower")
	if ids.IsUpper {
		function = "upper"
	}
	rewrite := func(table sqlText, column string) (int64, error) {
		result, err := s.draft.DB.ExecContext(ctx, string(stageSQL.Render("rewrite_ids", values{"table": table, "column": sqltext.Name(column),
			"function": function, "uuid": uuidPattern})))
		if err != nil {
			return 0, err
		}
		return result.RowsAffected()
	}
	for _, t := range tablesOf(st) {
		for _, column := range t.Key {
			if !isIDColumn(column) {
				continue
			}
			n, err := rewrite(mainTable(t.Name), column)
			if err != nil {
				return err
			}
			s.replaced[t.Name] += n
			ids.Rewritten += n
		}
	}
	_, err := rewrite(metaTable("details"), "id")
	return err
}

func isIDColumn(name string) bool { return name == "id" || strings.HasSuffix(name, "_id") }
