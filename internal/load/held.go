package load

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// Held is what a snapshot holds of a stream, in its first table.
type Held struct {
	// Rows counts all, Old those that were neither read nor proven tonight.
	Rows, Old int64
	// Since is when the oldest was last read of the ids that were neither read nor
	// proven tonight: zero when there is none, or for a list.
	Since time.Time
}

// Held counts what main holds of every stream, after the merge, by what tonight's
// reading covered.
func (s *Stage) Held(ctx context.Context, cover map[string]Coverage) (map[string]Held, error) {
	held := map[string]Held{}
	var parts []string
	for i, st := range s.streams {
		if c, ok := cover[st.Name]; ok {
			parts = append(parts, fmt.Sprintf("SELECT %d, %s", i, s.countHeld(st, c)))
		}
	}
	err := s.draft.EachRow(ctx, parts, func(scan func(...any) error) error {
		var i int
		var h Held
		var since sql.NullTime
		err := scan(&i, &h.Rows, &h.Old, &since)
		h.Since = since.Time
		held[s.streams[i].Name] = h
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count what the snapshot holds: %w", err)
	}
	return held, nil
}

// countHeld counts, as SQL, the rows of a stream, the old ones among them, and when
// the oldest id was read.
func (s *Stage) countHeld(st stream.Stream, c Coverage) string {
	from := fmt.Sprintf("FROM main.%s m WHERE %s", warehouse.Quote(st.Root().Name), fixed(st.Root()))
	rows, old, since := "(SELECT count(*) "+from+")", "0", "NULL::TIMESTAMPTZ"
	switch {
	case st.IsEvents():
	case st.IsDetail():
		open := s.openIDs(st, c)
		old = fmt.Sprintf("(SELECT count(*) %s AND m.%s IN (SELECT id FROM (%s)))", from, warehouse.Quote(st.Param), open)
		since = "(SELECT min(read_at) FROM (" + open + "))"
	case c == Carried:
		old = rows
	case c == Unproven:
		old = fmt.Sprintf("(SELECT count(*) FROM main.%s m ANTI JOIN %s f ON %s WHERE %s)", warehouse.Quote(st.Root().Name),
			staged(st.Name, st.Root().Name), equal("m.", "f.", st.Root().Key), fixed(st.Root()))
	}
	return rows + ", " + old + ", " + since
}

// openIDs are, as SQL, the ids of a stream of details that were read on an earlier
// night and are not proven by their row in a list.
func (s *Stage) openIDs(st stream.Stream, c Coverage) string {
	open := fmt.Sprintf("SELECT id, read_at FROM meta.details WHERE stream = %s AND read_at < %s",
		warehouse.Literal(st.Name), s.draft.Stamp())
	if c == Carried {
		return open
	}
	return open + fmt.Sprintf(" AND id NOT IN (SELECT id FROM %s WHERE vouched AND why = %s)",
		planned(st.Name), warehouse.Literal(whyCarried))
}

// KnownParams are the ids of a stream of details that have entries: main has rows of
// them, or the rows of another table show it.
func (s *Stage) KnownParams(ctx context.Context, st stream.Stream) (map[string]bool, error) {
	if err := s.Settle(ctx); err != nil {
		return nil, err
	}
	known := fmt.Sprintf("SELECT %s FROM main.%s", warehouse.Quote(st.Param), warehouse.Quote(st.Root().Name))
	if st.Witness.Table != "" {
		known += " UNION ALL " + s.known(st.Witness.Table, st.Witness.Column)
	}
	rows, err := s.draft.DB.QueryContext(ctx, "SELECT DISTINCT "+warehouse.Quote(st.Param)+" FROM ("+known+") WHERE "+warehouse.Quote(st.Param)+" IS NOT NULL")
	if err != nil {
		return nil, fmt.Errorf("list the known ids of %s: %w", st.Name, err)
	}
	return textSet(rows)
}
