package load

import (
	"fmt"
	"strings"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// A list and a stream of details that fill the same tables are united here, in
// SQL over the staged rows: "d" is the detail, "l" the list, "m" what main has
// from earlier nights. None overwrites another with its emptiness. Fingerprints
// of the united rows are made from their texts, since those of two halves do
// not add up to that of the whole.

// united gives the rows that a table shall have.
func (s *Stage) united(t stream.Table, detail stream.Stream) string {
	from, cell := s.unitedRecords(t, detail), cellOfRecord
	if t.Name != detail.Root().Name {
		from, cell = s.unitedItems(t, detail), cellOfItem
	}
	var cols []string
	for _, c := range s.defs[t.Name].Columns {
		cols = append(cols, cell(c)+" AS "+warehouse.Quote(c.Name))
	}
	return fmt.Sprintf("SELECT *, %s AS row_hash FROM (SELECT %s, coalesce(d.seq, l.seq) AS seq FROM %s)",
		textHash(s.defs[t.Name]), strings.Join(cols, ", "), from)
}

// unitedRecords joins the halves of each record, and what main has where only
// one half could be had tonight.
func (s *Stage) unitedRecords(t stream.Table, detail stream.Stream) string {
	return fmt.Sprintf(`%s d FULL JOIN (%s) l ON %s
		LEFT JOIN main.%s m ON m.%[5]s = coalesce(d.%[5]s, l.%[5]s) AND (d.seq IS NULL OR l.seq IS NULL)
		LEFT JOIN %[6]s x ON x.id = coalesce(d.%[5]s, l.%[5]s)`,
		staged(detail.Name, t.Name), notKept(detail), equal("d.", "l.", t.Key),
		warehouse.Quote(t.Name), warehouse.Quote(t.Key[0]), extras(t.Name))
}

// unitedItems are the items of the details and, for records whose detail could
// not be had, those of the list. Of the latter one that contradicts its row in
// main in nothing keeps that row, which may know more of it.
func (s *Stage) unitedItems(t stream.Table, detail stream.Stream) string {
	agree := equal("m.", "l.", t.Key)
	for _, c := range s.defs[t.Name].Columns {
		name := warehouse.Quote(c.Name)
		agree += fmt.Sprintf(" AND (nullif(l.%[1]s::VARCHAR, '') IS NULL OR l.%[1]s::VARCHAR = m.%[1]s::VARCHAR)", name)
	}
	root := detail.Root()
	// All rows of a record share its seq, which leads from an item to it.
	alone := fmt.Sprintf("SELECT * FROM %s WHERE seq IN (SELECT r.seq FROM (%s) r ANTI JOIN %s f USING (%s))",
		staged(detail.Over, t.Name), notKept(detail), staged(detail.Name, root.Name), columns("", root.Key))
	return fmt.Sprintf("%s d FULL JOIN (%s) l ON FALSE LEFT JOIN main.%s m ON d.seq IS NULL AND %s",
		staged(detail.Name, t.Name), alone, warehouse.Quote(t.Name), agree)
}

func cellOfRecord(c stream.Column) string {
	name := warehouse.Quote(c.Name)
	switch {
	case c.Name == "extra":
		return "coalesce(x.extra, d.extra, l.extra, m.extra)"
	case c.Type == stream.Text:
		return fmt.Sprintf("coalesce(nullif(d.%[1]s, ''), nullif(l.%[1]s, ''), m.%[1]s, l.%[1]s, d.%[1]s)", name)
	}
	return fmt.Sprintf("coalesce(d.%[1]s, l.%[1]s, m.%[1]s)", name)
}

func cellOfItem(c stream.Column) string {
	name := warehouse.Quote(c.Name)
	if c.Type == stream.Text {
		return fmt.Sprintf("coalesce(d.%[1]s, nullif(l.%[1]s, ''), m.%[1]s, l.%[1]s)", name)
	}
	return fmt.Sprintf("coalesce(d.%[1]s, l.%[1]s, m.%[1]s)", name)
}

// notKept are the rows of a list without those whose detail is kept from an
// earlier night: they stand in main, united with that detail, and would lose
// by the list's row alone.
func notKept(detail stream.Stream) string {
	return fmt.Sprintf("SELECT * FROM %s WHERE %s NOT IN %s",
		staged(detail.Over, detail.Root().Name), warehouse.Quote(detail.Param), kept(detail))
}

// kept are the ids of a stream of details whose rows in main stay as they are:
// carried by the plan, asked for in vain, or left for a later night. Of the last,
// a record that the list shows to be new or changed takes its list row as far as
// that goes.
func kept(detail stream.Stream) string {
	root := detail.Root()
	return fmt.Sprintf(`(SELECT %[1]s FROM main.%[2]s WHERE %[1]s IN (SELECT id FROM %[3]s WHERE why = %[4]s OR unread AND stays
		UNION ALL SELECT id FROM %[5]s WHERE outcome = %[6]s))`, warehouse.Quote(detail.Param),
		warehouse.Quote(root.Name), planned(detail.Name), warehouse.Literal(whyCarried), asked(detail.Name), warehouse.Literal(string(Missed)))
}
