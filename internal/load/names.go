package load

import (
	"sync"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
)

// Names of databases, schemas and tables. No table in schema/ has a "$" in its name.
const (
	planName         = "$plan"
	requestedName    = "$requested"     // the requested ids of a detail stream, with outcomes
	unchangedName    = "$unchanged"     // the keys of the unchanged records of a list
	maybeChangedName = "$maybe_changed" // the keys of the other records in main, which may be changed or deleted
	outdatedName     = "$outdated"      // the keys of unchanged records with staged copies
	listedName       = "$listed"        // the row ids of the records with the keys in the two tables before
	// decodedRowsSuffix is added to the name of a staging table when a view takes the name of the table.
	// The view shows the rows of the table and the stored rows of unchanged records.
	decodedRowsSuffix = "$decoded"
	reorderedName     = "$reordered" // the parents of the rows of a list that may be in another order
	knownName         = "$known"     // the stored items of these lists
	positionsName     = "$positions" // the new positions of staged items
	// maybeChangedRowsSuffix is added to the name of a table for its stored rows of the records in $maybe_changed.
	maybeChangedRowsSuffix = "$maybe_changed"
	extraPrefix            = "$extra "      // merged unknown fields
	desiredSchema          = "desired"      // rows that main must contain after the merge
	changedKeysSchema      = "changed_keys" // the keys of new, changed and deleted rows
	maybeEqualName         = "$maybe_equal" // changed rows whose values may mean the same as the stored values
	replacedSuffix         = "$replaced"    // added to the name of a table, for the keys of rows with new values and no new version
	equalName              = "$equal"       // the row ids of changed keys without a change
	stageName              = "stage"
	catalogName            = "catalog" // of the draft
)

func stagedTable(streamName, table string) sqlText {
	return sqlText(stageName + "." + sqltext.Quote(streamName) + "." + sqltext.Quote(table))
}

func planTable(streamName string) sqlText         { return stagedTable(streamName, planName) }
func requestedTable(streamName string) sqlText    { return stagedTable(streamName, requestedName) }
func unchangedTable(streamName string) sqlText    { return stagedTable(streamName, unchangedName) }
func maybeChangedTable(streamName string) sqlText { return stagedTable(streamName, maybeChangedName) }
func outdatedTable(streamName string) sqlText     { return stagedTable(streamName, outdatedName) }
func desiredTable(table string) sqlText           { return stagedTable(desiredSchema, table) }
func changedKeysTable(table string) sqlText       { return stagedTable(changedKeysSchema, table) }
func replacedTable(table string) sqlText          { return stagedTable(changedKeysSchema, table+replacedSuffix) }
func extraTable(table string) sqlText             { return stagedTable(desiredSchema, extraPrefix+table) }
func decodedRowsTable(streamName, table string) sqlText {
	return stagedTable(streamName, table+decodedRowsSuffix)
}

func maybeChangedRowsTable(streamName, table string) sqlText {
	return stagedTable(streamName, table+maybeChangedRowsSuffix)
}

func mainTable(table string) sqlText { return sqlText("main." + sqltext.Quote(table)) }
func pastTable(table string) sqlText { return sqlText("past." + sqltext.Quote(table)) }
func metaTable(table string) sqlText { return sqlText("meta." + sqltext.Quote(table)) }

type nameSet struct{ set sync.Map }

func (n *nameSet) add(name string) { n.set.Store(name, true) }

func (n *nameSet) has(name string) bool {
	_, ok := n.set.Load(name)
	return ok
}

// tablesOf omits duplicates: a record and its child rows may be in one table.
func tablesOf(st stream.Stream) []stream.Table { return stream.Tables([]stream.Stream{st}) }
