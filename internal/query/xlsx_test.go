package query_test

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"

	"placementsync/internal/query"
	"placementsync/internal/testing/harness"
)

// saveExcel saves the result of a query and opens the file.
func saveExcel(t *testing.T, db *query.DB, q query.Query, values map[string]string) *excelize.File {
	t.Helper()
	file := filepath.Join(t.TempDir(), "result.xlsx")
	if _, err := db.Save(t.Context(), q, values, query.Output{Format: query.Excel}, file); err != nil {
		t.Fatal(err)
	}
	book, err := excelize.OpenFile(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = book.Close() })
	return book
}

func TestExcelCellsAreTyped(t *testing.T) {
	t.Parallel()
	type cell struct {
		Shown, Raw string
		Type       excelize.CellType
	}
	const number, text, boolean = excelize.CellTypeUnset, excelize.CellTypeInlineString, excelize.CellTypeBool
	wants := map[string]cell{
		"1234.5::DECIMAL(18,6)":                {Shown: "1,234.50", Raw: "1234.5", Type: number},
		"239.86784::DECIMAL(18,6)":             {Shown: "239.86784", Raw: "239.86784", Type: number},
		"123456789012.345::DECIMAL(18,6)":      {Shown: "123,456,789,012.345", Raw: "123456789012.345", Type: number},
		"999999999999.123456::DECIMAL(18,6)":   {Shown: "999999999999.123456", Raw: "999999999999.123456", Type: text},
		"-0.000001::DECIMAL(18,6)":             {Shown: "-0.000001", Raw: "-0.000001", Type: number},
		"9007199254740993::BIGINT":             {Shown: "9007199254740993", Raw: "9007199254740993", Type: text},
		"5::DECIMAL(9,0)":                      {Shown: "5", Raw: "5", Type: number},
		"42::BIGINT":                           {Shown: "42", Raw: "42", Type: number},
		"0.1::DOUBLE + 0.2::DOUBLE":            {Shown: "0.3", Raw: "0.3", Type: number},
		"'nan'::DOUBLE":                        {Shown: "NaN", Raw: "NaN", Type: text},
		"true":                                 {Shown: "TRUE", Raw: "1", Type: boolean},
		"DATE '2026-11-20'":                    {Shown: "2026-11-20", Raw: "46346", Type: number},
		"DATE '2026-11-20' AS paid_month, 1":   {Shown: "2026-11-20", Raw: "46346", Type: number}, // workbooks show only the month
		"DATE '1899-12-31'":                    {Shown: "1899-12-31", Raw: "1899-12-31", Type: text},
		"TIMESTAMPTZ '2026-11-20 12:00:00+00'": {Shown: "2026-11-20 12:00:00.000", Raw: "46346.5", Type: number},
		"'=1+1'":                               {Shown: "=1+1", Raw: "=1+1", Type: text},
		"'@SUM(A1)'":                           {Shown: "@SUM(A1)", Raw: "@SUM(A1)", Type: text},
		"'00123'":                              {Shown: "00123", Raw: "00123", Type: text},
		"'_x0041_ <b>&' || chr(10) || ' end '": {Shown: "_x0041_ <b>&\n end ", Raw: "_x0041_ <b>&\n end ", Type: text},
		"['a', 'b']":                           {Shown: `["a","b"]`, Raw: `["a","b"]`, Type: text},
		"NULL::VARCHAR":                        {Type: number},
	}
	db := open(t, "")
	for value, want := range wants {
		book := saveExcel(t, db, query.Text("SELECT "+value+" AS x"), nil)
		var got cell
		var errs [3]error
		got.Shown, errs[0] = book.GetCellValue("Result", "A2")
		got.Raw, errs[1] = book.GetCellValue("Result", "A2", excelize.Options{RawCellValue: true})
		got.Type, errs[2] = book.GetCellType("Result", "A2")
		if err := errors.Join(errs[:]...); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", value, diff)
		}
		if formula, err := book.GetCellFormula("Result", "A2"); formula != "" || err != nil {
			t.Errorf("%s has the formula %q (%v), want no formula", value, formula, err)
		}
	}
}

// TestExcelTimesAreCutToMilliseconds compares what Excel shows, the nearest millisecond of the stored number of
// days, with the time. The package excelize shows whole seconds.
func TestExcelTimesAreCutToMilliseconds(t *testing.T) {
	t.Parallel()
	db := open(t, "")
	for at, want := range map[string]string{
		"2026-11-20 23:59:59.999999": "2026-11-20 23:59:59.999",
		"2026-11-20 23:59:59.9995":   "2026-11-20 23:59:59.999",
		"2026-11-20 12:00:00.000001": "2026-11-20 12:00:00",
		"1900-03-01 00:00:00.000999": "1900-03-01 00:00:00",
		"9999-12-31 23:59:59.999999": "9999-12-31 23:59:59.999",
	} {
		book := saveExcel(t, db, query.Text("SELECT TIMESTAMP '"+at+"' AS x"), nil)
		raw, err := book.GetCellValue("Result", "A2", excelize.Options{RawCellValue: true})
		days, parseErr := strconv.ParseFloat(raw, 64)
		if err := errors.Join(err, parseErr); err != nil {
			t.Fatal(err)
		}
		day, fraction := math.Modf(days)
		const millisecondsOfDay = 24 * 60 * 60 * 1000
		midnight := time.Date(1899, time.December, 30, 0, 0, 0, 0, time.UTC).AddDate(0, 0, int(day))
		shown := midnight.Add(time.Duration(math.Round(fraction*millisecondsOfDay)) * time.Millisecond)
		if got := shown.Format("2006-01-02 15:04:05.999"); got != want {
			t.Errorf("Excel shows %s for %s, want %s", got, at, want)
		}
	}
}

func TestExcelHasHeaderFilterAndAboutSheet(t *testing.T) {
	t.Parallel()
	db := openPoorNights(t)
	q, err := query.ParseText("own.sql", "-- subject: tests\n-- title: Two listings\n-- param: rows BIGINT 2 -- the number of rows\n"+
		"-- param: first BIGINT 0 -- the first row\nSELECT name, id FROM product_listings LIMIT $rows OFFSET $first")
	if err != nil {
		t.Fatal(err)
	}
	q.Title = "list: all/of them, by a very long name"
	book := saveExcel(t, db, q, map[string]string{"rows": "1"})
	const sheet = "list_ all_of them, by a very lo"
	if diff := cmp.Diff([]string{sheet, "About"}, book.GetSheetList()); diff != "" {
		t.Fatalf("the sheets (-want +got):\n%s", diff)
	}
	panes, err := book.GetPanes(sheet)
	if err != nil || !panes.Freeze || panes.YSplit != 1 {
		t.Errorf("the panes are %+v (%v), want a frozen header", panes, err)
	}
	page, err := book.GetPageLayout(sheet)
	want := excelize.PageLayoutOptions{Orientation: new("landscape"), FitToWidth: new(1), FitToHeight: new(0)}
	got := excelize.PageLayoutOptions{Orientation: page.Orientation, FitToWidth: page.FitToWidth, FitToHeight: page.FitToHeight}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("layout of a printed page, %v (-want +got):\n%s", err, diff)
	}
	names := book.GetDefinedName()
	if len(names) != 1 || !strings.HasSuffix(names[0].RefersTo, "!$A$1:$B$2") {
		t.Errorf("the filter is %+v, want $A$1:$B$2", names)
	}
	rows, err := book.GetRows("About")
	if err != nil {
		t.Fatal(err)
	}
	about := map[string]string{}
	for _, row := range rows {
		about[row[0]] += strings.Join(row[1:], "|") + "\n"
	}
	for label, want := range map[string]string{"Title": q.Title + "\n", "Rows": "1\n", "Parameter rows": "1\n", "Parameter first": "0\n",
		"Snapshot": "20261102T020000Z\n", "Snapshot time": "2026-11-02T02:00:00Z\n", "Times": "UTC, cut to milliseconds\n", "Table product_listings": "repaired|proven\n"} {
		if about[label] != want {
			t.Errorf("%s is %q, want %q", label, about[label], want)
		}
	}
	if text, ok := about["Tables"]; ok {
		t.Errorf("the row Tables has the text %q although the tables are known, want no row", text)
	}
	if !strings.Contains(about["SQL"], "FROM product_listings LIMIT $rows") {
		t.Errorf("the SQL is %q, want the query", about["SQL"])
	}
}

// TestExcelOfUnknownTables saves a query without a plan, whose title is the name of the second sheet.
func TestExcelOfUnknownTables(t *testing.T) {
	t.Parallel()
	q := query.Text("PIVOT (FROM (VALUES ('a', 1)) AS v(k, n)) ON k USING sum(n)")
	q.Title = "about"
	book := saveExcel(t, openPoorNights(t), q, nil)
	if diff := cmp.Diff([]string{"Result", "About"}, book.GetSheetList()); diff != "" {
		t.Fatalf("the sheets (-want +got):\n%s", diff)
	}
	rows, err := book.GetRows("About")
	if want := []string{"Tables", query.ErrNoPlan.Error()}; err != nil || !slices.ContainsFunc(rows, func(row []string) bool { return slices.Equal(row, want) }) {
		t.Errorf("the sheet About is %v (%v), want a row %v", rows, err, want)
	}
}

// TestTooLargeResultsCreateNoExcelFile saves results that exceed the limits of a sheet. Save must
// return an error and create no file. The temporary files of the workbook must be removed, also those of files that were
// sent.
func TestTooLargeResultsCreateNoExcelFile(t *testing.T) {
	temp := t.TempDir()
	path := createCatalog(t, "")
	t.Setenv("TMPDIR", temp)
	harness.Slow(t)
	db := openAt(t, path)
	for sql, want := range map[string]string{
		"SELECT repeat('é', 32768) AS long":       `row 1 has 32768 characters in column "long"`,
		"SELECT i FROM range(1048576) t(i)":       "more than 1048575 rows",
		"SELECT 1" + strings.Repeat(", 1", 16384): "16385 columns",
	} {
		file := filepath.Join(t.TempDir(), "result.xlsx")
		_, err := db.Save(t.Context(), query.Text(sql), nil, query.Output{Format: query.Excel}, file)
		if usage := (*query.UsageError)(nil); !errors.As(err, &usage) || !strings.Contains(usage.Problem, want) {
			t.Errorf("got %v, want a usage error with %q", err, want)
		}
		if files, _ := filepath.Glob(filepath.Dir(file) + "/*"); len(files) > 0 {
			t.Errorf("after the error the folder contains %v, want no files", files)
		}
	}
	longest := query.Text("SELECT repeat('é', 32767) AS long")
	if _, err := db.Send(t.Context(), longest, nil, query.Output{Format: query.Excel}, io.Discard); err != nil {
		t.Errorf("a text of the maximum length: %v", err)
	}
	if _, err := db.Send(t.Context(), longest, nil, query.Output{Format: query.Parquet}, io.Discard); err != nil {
		t.Error(err)
	}
	var left []string
	err := filepath.WalkDir(temp, func(path string, _ fs.DirEntry, err error) error {
		left = append(left, path)
		return err
	})
	if isOnlyOfDB := len(left) == 3 && filepath.Base(left[2]) == "lock"; err != nil || !isOnlyOfDB {
		t.Errorf("the temporary folder contains %v (%v), want only the folder of the open catalog with its lock", left, err)
	}
}
