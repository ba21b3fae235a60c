package load

import (
	"sync"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// Tables of the stage that are none of a stream's own. "$" stands in the name of no
// table in schema/, so that they cannot collide.
const (
	// planName is the plan of a stream of details, askedName what became of the ids that
	// it was asked for.
	planName  = "$plan"
	askedName = "$asked"
	// unchangedName has each record of stream.SameTable once.
	unchangedName = "$unchanged"
	// doubtfulName has the other records of main.
	doubtfulName = "$doubtful"
	// readSuffix marks the rows of a table that were staged, where a view adds others.
	readSuffix = "$read"
	// extraPrefix marks the united unknown fields of a table.
	extraPrefix = "$extra "
	// freshSchema has the rows that tables of main shall have, closingSchema the keys of
	// rows whose version changes.
	freshSchema   = "fresh"
	closingSchema = "closing"
	// stageName is DuckDB's name for the stage, catalogName for the draft's own file.
	stageName   = "stage"
	catalogName = "catalog"
)

// stagedTable names a table that a stream filled.
func stagedTable(st, table string) sqlText {
	return sqlText(stageName + "." + warehouse.Quote(st) + "." + warehouse.Quote(table))
}

func planTable(st string) sqlText      { return stagedTable(st, planName) }
func askedTable(st string) sqlText     { return stagedTable(st, askedName) }
func unchangedTable(st string) sqlText { return stagedTable(st, unchangedName) }
func doubtfulTable(st string) sqlText  { return stagedTable(st, doubtfulName) }
func freshTable(table string) sqlText  { return stagedTable(freshSchema, table) }

// closingTable names the keys of a table whose version changes tonight: new ones,
// changed ones, and those that are gone.
func closingTable(table string) sqlText { return stagedTable(closingSchema, table) }

// extraTable names the united unknown fields of records of which two sources have some,
// and not the same.
func extraTable(table string) sqlText { return stagedTable(freshSchema, extraPrefix+table) }

// readTable names the rows that were staged of a table to which stored ones were added.
func readTable(st, table string) sqlText { return stagedTable(st, table+readSuffix) }

func mainTable(table string) sqlText { return sqlText("main." + warehouse.Quote(table)) }
func pastTable(table string) sqlText { return sqlText("past." + warehouse.Quote(table)) }
func metaTable(table string) sqlText { return sqlText("meta." + warehouse.Quote(table)) }

// names is a set of names that may be used from many goroutines.
type names struct{ set sync.Map }

func (n *names) add(name string) { n.set.Store(name, true) }

func (n *names) has(name string) bool {
	_, ok := n.set.Load(name)
	return ok
}

// tablesOf are the tables of one stream, each once: a record and the items in it may be
// rows of the same table.
func tablesOf(st stream.Stream) []stream.Table { return stream.Tables([]stream.Stream{st}) }
