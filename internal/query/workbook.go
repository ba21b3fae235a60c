package query

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/xuri/excelize/v2"

	"placementsync/internal/durable"
)

// Workbook specifies an Excel file with several results of one snapshot. Its first sheet is a cover with the
// title, the snapshot, the completeness of the data and a list of the other sheets.
type Workbook struct {
	Title string
	// IsForClient leaves out the reasons of incomplete data, and the ids.
	IsForClient bool
	Sheets      []Sheet
}

// Sheet specifies the result of one query in a workbook.
type Sheet struct {
	// Title names the rows, such as "Payables by age". It is the name of the sheet.
	Title, About string
	Query        Query
	Values       map[string]string
	// Fields are the first columns of the sheet. The ids in the result follow them, unless the workbook is for a client.
	// Nil means all columns of the result, with ids last.
	Fields []SheetField
	Chart  *SheetChart
}

// SheetField is a column of the result and its heading.
type SheetField struct{ Column, Heading string }

// SheetChart specifies a chart of the first rows of a sheet.
type SheetChart struct {
	IsLine   bool   // otherwise bars
	Category string // the column with the labels
	Values   []string
	MaxRows  int
	// Same lists columns. Like the currency, they must have one value in all rows of the sheet. Otherwise there is no
	// chart, because amounts of two currencies cannot be compared.
	Same []string
}

// NewSheet returns a sheet with all columns of a query, its chart and the default values of its parameters.
func NewSheet(q Query) Sheet {
	const maxRows = 30
	s := Sheet{Title: q.Title, About: q.About, Query: q}
	if q.Chart != nil {
		s.Chart = &SheetChart{IsLine: q.Chart.Kind != ChartBars, Category: q.Chart.X, Values: q.Chart.Y, MaxRows: maxRows, Same: q.Chart.By}
	}
	return s
}

const coverSheet = "Cover"

// SaveWorkbook writes a workbook to a file atomically, and returns the number of its rows. A query
// of a missing table or column gets no sheet, and the cover says why.
func (db *DB) SaveWorkbook(ctx context.Context, b Workbook, file string) (rows int64, err error) {
	const fileMode = 0o644
	err = durable.Disk{}.WriteAtomically(file, fileMode, func(temp *os.File) error {
		rows, err = db.writeWorkbook(ctx, b, temp)
		return err
	})
	return rows, err
}

func (db *DB) writeWorkbook(ctx context.Context, b Workbook, out io.Writer) (rows int64, err error) {
	dir, err := os.MkdirTemp(db.spill.Dir, "excel")
	if err != nil {
		return 0, fmt.Errorf("write excel: %w", err)
	}
	defer os.RemoveAll(dir)
	file := excelize.NewFile(excelize.Options{TmpDir: dir})
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := file.SetSheetName(firstSheet, coverSheet); err != nil {
		return 0, fmt.Errorf("write excel: %w", err)
	}
	cover := workbookCover{file: file, book: b}
	if cover.snapshot, err = db.SelectedSnapshot(ctx); err != nil {
		return 0, err
	}
	names := []string{coverSheet}
	for _, s := range b.Sheets {
		a, err := db.Admit(ctx, s.Query, s.Values)
		var sources []Source
		if err == nil {
			sources, err = a.Sources(ctx)
		}
		if IsMissing(err) {
			cover.lines = append(cover.lines, coverLine{sheet: s, note: "This snapshot lacks a table or column that the question reads."})
			continue
		}
		note := ""
		if errors.Is(err, ErrNoPlan) {
			note, err = "The completeness of these rows is unknown.", nil
		}
		if err != nil {
			return rows, err
		}
		name := uniqueSheetName(s.Title, names)
		names = append(names, name)
		written, err := a.writeSheet(ctx, file, name, s, !b.IsForClient)
		if err != nil {
			return rows, err
		}
		rows += written
		cover.sources = append(cover.sources, sources...)
		note = strings.TrimSpace(note + " " + s.Query.DescribeCut(s.Values, written))
		cover.lines = append(cover.lines, coverLine{sheet: s, name: name, rows: written, note: note})
	}
	if err := cover.write(); err != nil {
		return rows, fmt.Errorf("write excel: %w", err)
	}
	if err := file.Write(out); err != nil {
		return rows, fmt.Errorf("write excel: %w", err)
	}
	return rows, nil
}

// uniqueSheetName returns the title as a name that no other sheet has. Excel compares names without case.
func uniqueSheetName(title string, names []string) string {
	name := sheetName(title)
	for n := 2; slices.ContainsFunc(names, func(other string) bool { return strings.EqualFold(other, name) }); n++ {
		suffix := fmt.Sprintf(" %d", n)
		base := []rune(sheetName(title))
		name = string(base[:min(len(base), excelize.MaxSheetNameLength-len(suffix))]) + suffix
	}
	return name
}

func (a Admitted) writeSheet(ctx context.Context, file *excelize.File, name string, s Sheet, withIDs bool) (int64, error) {
	if _, err := file.NewSheet(name); err != nil {
		return 0, fmt.Errorf("write excel: %w", err)
	}
	w := &fieldWriter{sheet: s, withIDs: withIDs, out: excelSheet{file: file, name: name, isShort: true}}
	return a.Run(ctx, &enumWriter{Writer: w})
}

// fieldWriter writes the fields of a sheet and its chart.
type fieldWriter struct {
	sheet   Sheet
	withIDs bool
	out     excelSheet
	indexes []int   // of the fields in the result
	row     []Value // the fields of the row that is written next

	chartRows int
	// sameColumns are the columns of SheetChart.Same and those with a currency. firstValues are their values in the
	// first row. hasOtherValues reports whether a later row has other values.
	sameColumns, firstValues []string
	hasOtherValues           bool
}

func (w *fieldWriter) Begin(columns []Column) error {
	var shown []Column
	for _, f := range w.sheet.fieldsOf(columns, w.withIDs) {
		i := slices.IndexFunc(columns, func(c Column) bool { return c.Name == f.Column })
		if i < 0 {
			return fmt.Errorf("write the sheet %q: the query has no column %q", w.sheet.Title, f.Column)
		}
		w.indexes = append(w.indexes, i)
		shown = append(shown, columns[i])
		w.out.headings = append(w.out.headings, f.Heading)
	}
	w.out.columns = shown
	if c := w.sheet.Chart; c != nil {
		for _, name := range slices.Concat([]string{c.Category}, c.Values, c.Same) {
			if w.indexOf(name) < 0 {
				return fmt.Errorf("write the sheet %q: the chart has the column %q, but not the sheet", w.sheet.Title, name)
			}
		}
		w.sameColumns = slices.Clone(c.Same)
		for _, column := range shown {
			isCurrency := column.Name == "currency" || strings.HasSuffix(column.Name, "_currency")
			if isCurrency && !slices.Contains(c.Same, column.Name) {
				w.sameColumns = append(w.sameColumns, column.Name)
			}
		}
	}
	return w.out.begin(shown)
}

func (w *fieldWriter) Row(values []Value) error {
	w.row = w.row[:0]
	for _, i := range w.indexes {
		w.row = append(w.row, values[i])
	}
	w.countChartRow()
	return w.out.row(w.row)
}

func (w *fieldWriter) countChartRow() {
	c := w.sheet.Chart
	if c == nil {
		return
	}
	var values []string
	for _, name := range w.sameColumns {
		values = append(values, w.row[w.indexOf(name)].Text)
	}
	if w.chartRows == 0 {
		w.firstValues = values
	}
	w.hasOtherValues = w.hasOtherValues || !slices.Equal(w.firstValues, values)
	w.chartRows = min(w.chartRows+1, c.MaxRows)
}

// indexOf returns the position of a column in the sheet, or -1.
func (w *fieldWriter) indexOf(column string) int {
	return slices.IndexFunc(w.out.columns, func(c Column) bool { return c.Name == column })
}

func (w *fieldWriter) End() error {
	if err := w.addChart(); err != nil {
		return fmt.Errorf("write excel: chart of %q: %w", w.sheet.Title, err)
	}
	if err := w.out.end(); err != nil {
		return fmt.Errorf("write excel: %w", err)
	}
	return nil
}

// addChart adds the chart to the right of the columns. A chart needs two rows.
func (w *fieldWriter) addChart() error {
	c := w.sheet.Chart
	if c == nil || w.chartRows < 2 || w.hasOtherValues {
		return nil
	}
	reference := func(column string, firstRow, lastRow int) (string, error) {
		name, err := excelize.ColumnNumberToName(w.indexOf(column) + 1)
		return fmt.Sprintf("'%[1]s'!$%[2]s$%[3]d:$%[2]s$%[4]d", w.out.name, name, firstRow, lastRow), err
	}
	title := w.sheet.Title
	if group := strings.Join(w.firstValues, ", "); group != "" {
		title += ": " + group
	}
	if rows := w.out.rows - 1; w.chartRows < rows {
		title += fmt.Sprintf(" (%d of %d rows)", w.chartRows, rows)
	}
	categoryFormat := w.out.formatOf(w.out.columns[w.indexOf(c.Category)])
	chart := &excelize.Chart{
		Type: excelize.Col, Title: excelize.ChartTitle{Paragraph: []excelize.RichTextRun{{Text: title}}},
		XAxis:      excelize.ChartAxis{NumFmt: excelize.ChartNumFmt{CustomNumFmt: categoryFormat}},
		VaryColors: new(false), Legend: excelize.ChartLegend{Position: "bottom"},
	}
	if len(c.Values) == 1 {
		chart.Legend.Position = "none" // the title names the only series
	}
	if c.IsLine {
		chart.Type = excelize.Line
	}
	categories, err := reference(c.Category, 2, w.chartRows+1)
	if err != nil {
		return err
	}
	for _, column := range c.Values {
		name, nameErr := reference(column, 1, 1)
		values, valuesErr := reference(column, 2, w.chartRows+1)
		if err := errors.Join(nameErr, valuesErr); err != nil {
			return err
		}
		name, _, _ = strings.Cut(name, ":")
		chart.Series = append(chart.Series, excelize.ChartSeries{Name: name, Categories: categories, Values: values})
	}
	cell, err := excelize.CoordinatesToCellName(len(w.out.columns)+2, 2)
	if err != nil {
		return err
	}
	return w.out.file.AddChart(w.out.name, cell, chart)
}

func (s Sheet) fieldsOf(columns []Column, withIDs bool) []SheetField {
	fields := slices.Clone(s.Fields)
	add := func(c Column) {
		if !slices.ContainsFunc(fields, func(f SheetField) bool { return f.Column == c.Name }) {
			fields = append(fields, SheetField{c.Name, s.Query.LabelOf(c.Name)})
		}
	}
	for _, c := range columns {
		if s.Fields == nil && !isID(c.Name) {
			add(c)
		}
	}
	for _, c := range columns {
		if withIDs && isID(c.Name) {
			add(c)
		}
	}
	return fields
}

// workbookCover is the first sheet of a workbook.
type workbookCover struct {
	file     *excelize.File
	book     Workbook
	snapshot Snapshot
	sources  []Source
	lines    []coverLine
}

type coverLine struct {
	sheet Sheet
	name  string // of the sheet; empty if there is none
	rows  int64
	note  string
}

func (c workbookCover) write() error {
	bold, err := c.file.NewStyle(&excelize.Style{Font: &excelize.Font{Bold: true}})
	if err != nil {
		return err
	}
	completeness := DescribeCompleteness(FindProblems(c.sources))
	if reasons := DescribeSources(c.sources); reasons != "" && !c.book.IsForClient {
		completeness = reasons
	}
	snapshotTime := "unknown"
	if !c.snapshot.At.IsZero() {
		snapshotTime = c.snapshot.At.UTC().Format("2006-01-02 15:04") + " UTC"
	}
	rows := [][]any{{c.book.Title}, nil, {"Snapshot", snapshotTime}, {"Completeness", completeness}, {"Times", "UTC"}, nil,
		{"Sheet", "Contents", "Rows", "Note"}}
	headings := []int{1, len(rows)}
	first := len(rows) + 1 // the row of the first sheet
	for _, l := range c.lines {
		row := []any{l.sheet.Title, l.sheet.About, nil, l.note}
		if l.name != "" {
			row[2] = l.rows
		}
		rows = append(rows, row)
	}
	for i, row := range rows {
		if err := c.file.SetSheetRow(coverSheet, fmt.Sprintf("A%d", i+1), &row); err != nil {
			return err
		}
	}
	for _, row := range headings {
		if err := c.file.SetCellStyle(coverSheet, fmt.Sprintf("A%d", row), fmt.Sprintf("D%d", row), bold); err != nil {
			return err
		}
	}
	wrapped, err := c.file.NewStyle(&excelize.Style{Alignment: &excelize.Alignment{WrapText: true, Vertical: "top"}})
	if err != nil {
		return err
	}
	if err := c.file.SetCellStyle(coverSheet, fmt.Sprintf("A%d", first), fmt.Sprintf("D%d", len(rows)+1), wrapped); err != nil {
		return err
	}
	for i, l := range c.lines {
		if l.name == "" {
			continue
		}
		if err := c.file.SetCellHyperLink(coverSheet, fmt.Sprintf("A%d", first+i), "'"+l.name+"'!A1", "Location"); err != nil {
			return err
		}
	}
	const titleWidth, aboutWidth, noteWidth = 34, 90, 60
	const lineHeight = 15 // points
	for i, l := range c.lines {
		lines := max(1+len(l.sheet.About)/aboutWidth, 1+len(l.note)/noteWidth)
		if err := c.file.SetRowHeight(coverSheet, first+i, float64(lines*lineHeight)); err != nil {
			return err
		}
	}
	return errors.Join(c.file.SetColWidth(coverSheet, "A", "A", titleWidth), c.file.SetColWidth(coverSheet, "B", "B", aboutWidth),
		c.file.SetColWidth(coverSheet, "D", "D", noteWidth), fitToPage(c.file, coverSheet))
}
