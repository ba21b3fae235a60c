package load

import (
	"context"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// How a table is sorted and written follows from how much of it lies in memory at
// once. DuckDB sorts within its limit, but two things are held whole: the row
// group that is being written, and of rows that do not fit the part that is being
// merged, which is as many rows as DuckDB's own groups have. Where those do not
// fit beside the sort, DuckDB writes blocks out and reads them back again and
// again, or fails. docs/ARCHITECTURE.md has what the shares below save, and cost.

// rowGroup is the size that scans best and that DuckDB itself uses.
const rowGroup = 122_880

// rowGroups are the sizes to choose from: multiples of DuckDB's vector.
var rowGroups = []int{rowGroup, 61_440, 30_720, 20_480, 10_240, 4_096, 2_048}

const (
	// A row group takes at most the 11th part of the limit; of a table with many
	// rows, whose sort is on the disk for the most part, the 19th.
	groupShare, longShare = 11, 19
	manyRows              = 2_000_000
	// Rows to merge that take more than this percentage of the limit are not left
	// to one sort. Each of several has a fourth of the limit.
	mergePercent, pieceShare = 55, 4
	// threadMemory is what a thread needs to sort and write a narrow table. With
	// half of it DuckDB finds no memory for the groups that the threads have open.
	threadMemory = 128 << 20
	// cell is what a value takes beside the bytes of its text.
	cell = 16
	// fewRows are too few to be measured.
	fewRows = 2_048
)

// shape is the size of a table: its rows, and about how many bytes one of them
// takes in memory.
type shape struct{ rows, width int64 }

// groupRows is the size of the row groups of a table.
func (s shape) groupRows(limit int64) int {
	share := int64(groupShare)
	if s.rows > manyRows {
		share = longShare
	}
	for _, rows := range rowGroups {
		if int64(rows)*s.width*share <= limit {
			return rows
		}
	}
	return rowGroups[len(rowGroups)-1]
}

// isParallel reports whether a table gains by several threads: it has several row groups, as large
// as can be. Where groups are smaller, threads take more memory than there is, and
// one is done before two that wait for the disk, in wall time too.
func (s shape) isParallel(limit int64) bool {
	return s.rows > rowGroup && s.groupRows(limit) == rowGroup
}

// pieceCount is in how many ranges of its key a table is sorted.
func (s shape) pieceCount(limit int64) int {
	if rowGroup*s.width*100 <= limit*mergePercent || s.rows*s.width*pieceShare <= limit {
		return 1
	}
	return int(s.rows*s.width*pieceShare/limit) + 1
}

// measureTables finds the shapes of tables: their rows, and the texts in some vectors of
// them.
func (w *parquetWriter) measureTables(ctx context.Context, tables []stream.Table) ([]shape, error) {
	const sample, unknown = 10 * fewRows, 1_250
	rows, err := countTables(ctx, w.draft, tables)
	if err != nil {
		return nil, err
	}
	all := make([]shape, len(tables))
	var widths []sqlText
	for i, t := range tables {
		if all[i].rows = rows[t.Name]; all[i].rows < fewRows {
			continue
		}
		def, texts := w.defs[t.Name], []sqlText{"0"}
		for _, c := range def.Columns {
			if c.Type == stream.Text || c.Type == stream.JSON {
				texts = append(texts, parquetSQL.Render("text_width", values{"column": warehouse.Name(c.Name)}))
			}
		}
		widths = append(widths, parquetSQL.Render("row_width", values{"index": i, "texts": joinSQL(texts, " + "), "unknown": unknown,
			"cells": cell * len(def.Columns), "table": mainTable(t.Name), "percent": min(100, 100*float64(sample)/float64(all[i].rows))}))
	}
	return all, eachRow(ctx, w.draft, widths, func(scan func(...any) error) error {
		var i int
		var width int64
		err := scan(&i, &width)
		all[i].width = width
		return err
	})
}
