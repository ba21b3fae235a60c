package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/xuri/excelize/v2"
)

// Excel keeps 15 significant digits of a number. Its dates are correct from 1 March 1900 on,
// because it treats 1900 as a leap year. Earlier dates, and integers and decimals with more digits, are
// written as texts.
const excelDigits = 15

var firstExactDate = time.Date(1900, time.March, 1, 0, 0, 0, 0, time.UTC)

const aboutSheet = "About"

// newExcelWriter returns a Writer of an Excel workbook with two sheets. The first contains the rows, in
// typed cells. The sheet "About" contains the query, the snapshot and the grades. A text is never a
// formula. For a result beyond the limits of Excel, the Writer returns a *UsageError. tempDir contains the
// rows until End.
func (a Admitted) newExcelWriter(ctx context.Context, out io.Writer, tempDir string) (Writer, error) {
	snapshot, err := a.db.SelectedSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	sources, err := a.Sources(ctx)
	w := &excelWriter{out: out, tempDir: tempDir, query: a.query, values: a.values, snapshot: snapshot, sources: sources}
	if errors.Is(err, ErrNoPlan) {
		w.sourcesProblem = err.Error()
		err = nil
	}
	return w, err
}

type excelWriter struct {
	excelSheet
	out            io.Writer
	query          Query
	values         map[string]string
	snapshot       Snapshot
	sources        []Source
	sourcesProblem string // the reason why the sources are unknown
	tempDir        string
}

func (w *excelWriter) Begin(columns []Column) error {
	w.file = excelize.NewFile(excelize.Options{TmpDir: w.tempDir})
	w.name = sheetName(cmp.Or(w.query.Title, w.query.Name))
	if err := w.file.SetSheetName(firstSheet, w.name); err != nil {
		return fmt.Errorf("write excel: %w", err)
	}
	return w.begin(columns)
}

func (w *excelWriter) Row(values []Value) error { return w.row(values) }

func (w *excelWriter) End() error {
	err := w.end()
	if err == nil {
		err = w.writeAbout()
	}
	if err == nil {
		err = w.file.Write(w.out)
	}
	if err = errors.Join(err, w.file.Close()); err != nil {
		return fmt.Errorf("write excel: %w", err)
	}
	return nil
}

// firstSheet is the name of the only sheet of a new file.
const firstSheet = "Sheet1"

// excelSheet writes rows into one sheet of a workbook.
type excelSheet struct {
	file     *excelize.File
	name     string
	headings []string // of the columns; nil means their names
	isShort  bool     // whether decimals and times are shortened, see formatOf

	stream  *excelize.StreamWriter
	columns []Column
	styles  []int // number formats of the columns
	cells   []any // of the row that is written next
	rows    int   // written rows, including the header
}

func (w *excelSheet) begin(columns []Column) error {
	if len(columns) > excelize.MaxColumns {
		return &UsageError{Problem: fmt.Sprintf("the result has %d columns, and an Excel sheet at most %d: select fewer, or write CSV or Parquet", len(columns), excelize.MaxColumns)}
	}
	w.columns = columns
	err := fitToPage(w.file, w.name)
	if err == nil {
		w.stream, err = w.file.NewStreamWriter(w.name)
	}
	if err != nil {
		return fmt.Errorf("write excel: %w", err)
	}
	headerStyle, err := w.file.NewStyle(&excelize.Style{Font: &excelize.Font{Bold: true}})
	for i, c := range columns {
		heading := c.Name
		if w.headings != nil {
			heading = w.headings[i]
		}
		style, styleErr := w.file.NewStyle(&excelize.Style{CustomNumFmt: new(w.formatOf(c))})
		err = errors.Join(err, styleErr, w.stream.SetColWidth(i+1, i+1, columnWidth(c, heading)))
		w.styles = append(w.styles, style)
		w.cells = append(w.cells, excelize.Cell{StyleID: headerStyle, Value: heading})
	}
	err = errors.Join(err, w.stream.SetPanes(&excelize.Panes{Freeze: true, YSplit: 1, TopLeftCell: "A2", ActivePane: "bottomLeft"}))
	if err != nil {
		return fmt.Errorf("write excel: %w", err)
	}
	return w.writeRow()
}

func (w *excelSheet) row(values []Value) error {
	for i, c := range w.columns {
		v := values[i]
		if v.Null {
			w.cells = append(w.cells, nil)
			continue
		}
		if len(v.Text) > excelize.TotalCellChars { // a UTF-16 unit takes at least one byte
			if units := len(utf16.Encode([]rune(v.Text))); units > excelize.TotalCellChars {
				return &UsageError{Problem: fmt.Sprintf("row %d has %d characters in column %q, and an Excel cell at most %d: leave the column out, or write CSV or Parquet",
					w.rows, units, c.Name, excelize.TotalCellChars)}
			}
		}
		w.cells = append(w.cells, excelize.Cell{StyleID: w.styles[i], Value: cellValue(c, v.Text)})
	}
	return w.writeRow()
}

func (w *excelSheet) writeRow() error {
	w.rows++
	if w.rows > excelize.TotalRows {
		return &UsageError{Problem: fmt.Sprintf("the result has more than %d rows, the limit of an Excel sheet: filter it, or write CSV or Parquet", excelize.TotalRows-1)}
	}
	if err := w.stream.SetRow("A"+strconv.Itoa(w.rows), w.cells); err != nil {
		return fmt.Errorf("write excel: row %d: %w", w.rows, err)
	}
	w.cells = w.cells[:0]
	return nil
}

func (w *excelSheet) end() error {
	lastCell, err := excelize.CoordinatesToCellName(max(len(w.columns), 1), w.rows)
	if err != nil {
		return err
	}
	return errors.Join(w.file.AutoFilter(w.name, "A1:"+lastCell, nil), w.stream.Flush())
}

// fitToPage scales a printed sheet to the width of a page. It must be called before a stream of the sheet begins.
func fitToPage(file *excelize.File, sheet string) error {
	return errors.Join(file.SetSheetProps(sheet, &excelize.SheetPropsOptions{FitToPage: new(true)}),
		file.SetPageLayout(sheet, &excelize.PageLayoutOptions{Orientation: new("landscape"), FitToWidth: new(1), FitToHeight: new(0)}))
}

func (w *excelWriter) writeAbout() error {
	if _, err := w.file.NewSheet(aboutSheet); err != nil {
		return err
	}
	aboutRows := [][]any{{"Title", w.query.Title}, {"Rows", w.rows - 1}, {"Snapshot", w.snapshot.Run}}
	if !w.snapshot.At.IsZero() {
		aboutRows = append(aboutRows, []any{"Snapshot time", w.snapshot.At.UTC().Format(time.RFC3339Nano)})
	}
	aboutRows = append(aboutRows, []any{"Times", "UTC, cut to milliseconds"})
	for _, p := range w.query.Params {
		value, ok := w.values[p.Name]
		if !ok {
			value = p.Default
		}
		aboutRows = append(aboutRows, []any{"Parameter " + p.Name, value})
	}
	for _, s := range w.sources {
		aboutRows = append(aboutRows, []any{"Table " + s.Table, s.Grade, s.Reason})
	}
	aboutRows = append(aboutRows, []any{"Tables", w.sourcesProblem})
	// The length of a cell is limited, the length of a query is not.
	for line := range strings.Lines(w.query.SQL) {
		aboutRows = append(aboutRows, []any{"SQL", strings.TrimRight(line, "\r\n")})
	}
	aboutRows = slices.DeleteFunc(aboutRows, func(row []any) bool { return row[1] == "" })
	for i, row := range aboutRows {
		if err := w.file.SetSheetRow(aboutSheet, "A"+strconv.Itoa(i+1), &row); err != nil {
			return err
		}
	}
	return errors.Join(w.file.SetColWidth(aboutSheet, "A", "A", 24), w.file.SetColWidth(aboutSheet, "B", "B", 60))
}

// sheetName returns a text, such as the title of a query, without the characters that Excel forbids.
func sheetName(title string) string {
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`:\/?*[]'`, r) {
			return '_'
		}
		return r
	}, title)
	runes := []rune(name)
	name = string(runes[:min(len(runes), excelize.MaxSheetNameLength)])
	if name == "" || strings.EqualFold(name, aboutSheet) {
		return "Result"
	}
	return name
}

// formatOf returns the Excel format of a column. Amounts have two decimals, and further decimals only where they are not
// zero. A short sheet shows no further decimals, no seconds, and only the month of a date in a column such as paid_month.
func (w *excelSheet) formatOf(c Column) string {
	isTime := strings.HasPrefix(c.Type, "TIMESTAMP")
	switch {
	case isTime && w.isShort:
		return "yyyy-mm-dd hh:mm"
	case isTime:
		return "yyyy-mm-dd hh:mm:ss.000"
	case c.Type == "DATE" && w.isShort && c.HasWord("month"):
		return "yyyy-mm"
	case c.Type == "DATE":
		return "yyyy-mm-dd"
	}
	var precision, scale int
	if n, _ := fmt.Sscanf(c.Type, "DECIMAL(%d,%d)", &precision, &scale); n == 2 && scale > 0 {
		format := "#,##0." + strings.Repeat("0", min(scale, 2))
		if !w.isShort {
			format += strings.Repeat("#", max(scale-2, 0))
		}
		return format
	}
	switch c.Type {
	case "BIGINT", "INTEGER", "SMALLINT", "TINYINT", "HUGEINT", "UBIGINT", "UINTEGER", "USMALLINT", "UTINYINT":
		return "0"
	}
	return "General"
}

func columnWidth(c Column, heading string) float64 {
	width := 32.0
	switch {
	case c.Numeric, c.Type == "DATE", c.Type == "BOOLEAN":
		width = 12
	case strings.HasPrefix(c.Type, "TIMESTAMP"):
		width = 24
	}
	return max(width, float64(utf8.RuneCountInString(heading)+4)) // with space for the filter button
}

// cellValue converts the text of a value to a number, a time or a boolean if Excel keeps it
// exactly (times cut to milliseconds), and returns the text otherwise.
func cellValue(c Column, text string) any {
	isFloat := c.Type == "DOUBLE" || c.Type == "FLOAT"
	switch {
	case isFloat, c.Numeric && significantDigits(text) <= excelDigits:
		// NaN and infinities are not numbers in Excel and stay texts.
		if n, ok := (Value{Text: text}).Number(); ok {
			return n
		}
	case c.Type == "BOOLEAN":
		return text == "true"
	case c.Type == "DATE" || strings.HasPrefix(c.Type, "TIMESTAMP"):
		for _, layout := range []string{time.DateOnly, time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
			if at, err := time.Parse(layout, text); err == nil && !at.Before(firstExactDate) && at.Year() <= 9999 {
				return at.UTC().Truncate(time.Millisecond) // Excel would show the nearest millisecond, which may be on the next day
			}
		}
	}
	return text
}

// significantDigits counts the digits of a number from the first to the last nonzero one.
func significantDigits(number string) int {
	mantissa, _, _ := strings.Cut(strings.ToLower(number), "e")
	digits := slices.DeleteFunc([]byte(mantissa), func(b byte) bool { return b < '0' || b > '9' })
	return len(strings.Trim(string(digits), "0"))
}
