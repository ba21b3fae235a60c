package query_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/query"
	"placementsync/internal/testing/harness"
)

// readFolder returns the contents of the files in a folder by their slash-separated paths.
func readFolder(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, pattern := range []string{"*", "*/*", "*/*/*"} {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if info, err := os.Stat(path); err != nil || info.IsDir() {
				continue
			}
			name, err := filepath.Rel(dir, path)
			if err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files[filepath.ToSlash(name)] = string(data)
		}
	}
	return files
}

// TestExportDefusesFormulasInCSV exports texts that a spreadsheet may run as formulas. In hidden formulas the sign follows
// a space or an invisible character, or is full-width.
func TestExportDefusesFormulasInCSV(t *testing.T) {
	const formulas = `SELECT * FROM (VALUES ('=1+1', '{"a":1}'::JSON, -5, DATE '2026-11-01'), ('+49', '-1', 6, NULL), ('@x', NULL, 7, NULL), (chr(9) || 'y', NULL, 8, NULL), ('a=b', NULL, -0.5, NULL)) AS t("=name", doc, n, day)`
	const hiddenFormulas = "SELECT * FROM (VALUES (' =1'), (chr(160) || '+1'), (chr(8203) || '@x'), (chr(65279) || '-1'), ('\uff1d1'), (' \uff0b1'), ('\uff0d1'), ('\uff201'), (' a=1'), ('\u2014 x'), ('  '), ('')) AS t(v)"
	for name, c := range map[string]struct {
		sql    string
		defuse bool
		want   string
	}{
		"defused":         {formulas, true, "'=name,doc,n,day\r\n'=1+1,\"{\"\"a\"\":1}\",-5.0,2026-11-01\r\n'+49,'-1,6.0,\r\n'@x,,7.0,\r\n'\ty,,8.0,\r\na=b,,-0.5,\r\n"},
		"not defused":     {formulas, false, "=name,doc,n,day\r\n=1+1,\"{\"\"a\"\":1}\",-5.0,2026-11-01\r\n+49,-1,6.0,\r\n@x,,7.0,\r\n\ty,,8.0,\r\na=b,,-0.5,\r\n"},
		"hidden, defused": {hiddenFormulas, true, "v\r\n' =1\r\n'\u00a0+1\r\n'\u200b@x\r\n'\ufeff-1\r\n'\uff1d1\r\n' \uff0b1\r\n'\uff0d1\r\n'\uff201\r\n\" a=1\"\r\n\u2014 x\r\n\"  \"\r\n\"\"\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			q := query.Text(c.sql)
			if _, err := open(t, "").Export(t.Context(), dir, query.Export{Query: &q, Format: query.CSV, Defuse: c.defuse}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, readFolder(t, dir)["answer.csv"]); diff != "" {
				t.Errorf("answer.csv (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExportWritesTablesAndManifest(t *testing.T) {
	harness.Slow(t)
	dir := filepath.Join(t.TempDir(), "it's out")
	m, err := openAsOf(t, createNightsCatalog(t), "2026-11-02").Export(t.Context(), dir, query.Export{Format: query.Parquet, Program: "v1", Tables: []string{"product_listing_pr*", "product_listings", "mart.z_names"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range m.Files {
		got = append(got, f.File)
		if f.Bytes != int64(len(readFolder(t, dir)[f.File])) || len(f.SHA256) != 64 {
			t.Errorf("%s: got %d bytes and the checksum %q, want the size of the file and 64 hexadecimal digits", f.File, f.Bytes, f.SHA256)
		}
	}
	if diff := cmp.Diff([]string{"mart.z_names.parquet", "product_listing_prices.parquet", "product_listings.parquet"}, got); diff != "" {
		t.Errorf("exported files (-want +got):\n%s", diff)
	}
	manifest, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(manifest)+"\n", readFolder(t, dir)["manifest.json"]); diff != "" {
		t.Errorf("manifest.json (-returned +file):\n%s", diff)
	}
	listings := m.Files[2]
	if listings.Rows != 4 || listings.Columns[0].Name != "id" || listings.Columns[0].Type != "VARCHAR" {
		t.Errorf("got %+v, want 4 listings and the column id first", listings)
	}
	m.Files = nil
	want := query.ExportManifest{Kind: "placementsync export", RunID: "20261102T020000Z", Program: "v1", Format: query.Parquet,
		SnapshotAt: time.Date(2026, time.November, 2, 2, 0, 0, 0, time.UTC)}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("manifest without its files (-want +got):\n%s", diff)
	}
	prices := readParquet(t, filepath.Join(dir, "product_listing_prices.parquet"))
	wantPrices := []string{`{"product_listing_id":"a","position":1,"unit_amount":9.500000,"currency":"USD","pricing_tier":null,"extra":null,"valid_from":"2026-11-01T02:00:00Z"}` + "\n",
		`{"types":["VARCHAR","BIGINT","DECIMAL(18,6)","VARCHAR","VARCHAR","VARCHAR","TIMESTAMP WITH TIME ZONE"]}` + "\n"}
	if diff := cmp.Diff(wantPrices, prices); diff != "" {
		t.Errorf("rows and types of the Parquet file (-want +got):\n%s", diff)
	}
}

func TestExportEscapesPartitionValues(t *testing.T) {
	parent := t.TempDir()
	q := query.Text("SELECT '../../' || range AS part, range AS n FROM range(2)")
	m, err := open(t, "").Export(t.Context(), filepath.Join(parent, "out"), query.Export{Query: &q, Format: query.Parquet, PartitionBy: "part"})
	if err != nil || m.Partition != "part" || len(m.Files) != 2 || m.Files[0].File != "answer/part=..%2F..%2F0/data_0.parquet" {
		t.Errorf("got files %+v, %v, want two files with escaped slashes in their paths", m.Files, err)
	}
	if entries, err := os.ReadDir(parent); err != nil || len(entries) != 1 {
		t.Errorf("the parent folder contains %v, %v, want only the export", entries, err)
	}
	again := func() error {
		_, err := open(t, "").Export(t.Context(), filepath.Join(parent, "out"), query.Export{Query: &q, Format: query.Parquet, PartitionBy: "part"})
		return err
	}
	if err := again(); err != nil {
		t.Errorf("a second export into the folder: %v", err)
	}
	if err := os.WriteFile(filepath.Join(parent, "out", "answer", "manifest.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := again(); !errors.As(err, new(*query.UsageError)) || !strings.Contains(err.Error(), `"answer/manifest.json", which no export wrote`) {
		t.Errorf("a file of the user in a partition: got %v, want a usage error", err)
	}
}

func TestExportReplacesOnlyExports(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "out")
	db := open(t, oneListing)
	export := func(text string) error {
		q := query.Text(text)
		_, err := db.Export(t.Context(), dir, query.Export{Query: &q, Format: query.CSV, Defuse: true, Program: "v1"})
		return err
	}
	var usage *query.UsageError
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := export("SELECT 1 AS a"); err != nil {
		t.Fatalf("export into an empty folder: %v", err)
	}
	const manifest = `{
  "kind": "placementsync export",
  "run_id": "",
  "snapshot_at": "0001-01-01T00:00:00Z",
  "program_version": "v1",
  "format": "csv",
  "files": [
    {
      "source": "answer",
      "file": "answer.csv",
      "rows": 1,
      "bytes": 6,
      "sha256": "SHA",
      "columns": [
        {
          "name": "a",
          "type": "INTEGER"
        }
      ]
    }
  ]
}
`
	wantManifest := strings.Replace(manifest, "SHA", fmt.Sprintf("%x", sha256.Sum256([]byte("a\r\n1\r\n"))), 1)
	before := readFolder(t, dir)
	if diff := cmp.Diff(wantManifest, before["manifest.json"]); diff != "" {
		t.Errorf("manifest.json (-want +got):\n%s", diff)
	}
	if err := export("SELECT error('late') AS a"); err == nil || !strings.Contains(err.Error(), "late") {
		t.Errorf("a failing query: got %v, want its error", err)
	}
	if diff := cmp.Diff(before, readFolder(t, dir)); diff != "" {
		t.Errorf("a failed export changed the folder (-want +got):\n%s", diff)
	}
	if err := export("SELECT 2 AS a"); err != nil || readFolder(t, dir)["answer.csv"] != "a\r\n2\r\n" {
		t.Errorf("second export: got %v, %v, want the second result", readFolder(t, dir), err)
	}
	mine := filepath.Join(dir, "mine")
	if err := os.WriteFile(mine, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := export("SELECT 3 AS a"); !errors.As(err, &usage) || !strings.Contains(err.Error(), `"mine", which no export wrote`) {
		t.Errorf("folder with another file: got %v, want a usage error that names the file", err)
	}
	if err := os.Remove(mine); err != nil {
		t.Errorf("the file of the user is gone: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "manifest.json"), []byte(`{"kind": "another program", "files": [{"file": "answer.csv"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := export("SELECT 3 AS a"); !errors.As(err, &usage) {
		t.Errorf("folder of another program: got %v, want a usage error", err)
	}
	if entries, err := os.ReadDir(parent); err != nil || len(entries) != 1 {
		t.Errorf("the parent folder contains %v, %v, want only the export", entries, err)
	}
}

func TestInvalidExportsAreUsageErrors(t *testing.T) {
	db := open(t, oneListing)
	parent := t.TempDir()
	var usage *query.UsageError
	for name, e := range map[string]query.Export{
		"unsupported format":       {Format: query.JSON},
		"unknown table":            {Format: query.CSV, Tables: []string{"nosuch"}},
		"unknown partition column": {Format: query.Parquet, PartitionBy: "nosuch"},
		"partitioned CSV":          {Format: query.CSV, PartitionBy: "country"},
	} {
		if _, err := db.Export(t.Context(), filepath.Join(parent, "out"), e); !errors.As(err, &usage) {
			t.Errorf("%s: got %v, want a usage error", name, err)
		}
	}
	if _, err := db.Export(t.Context(), filepath.Join(parent, "no", "such"), query.Export{Format: query.CSV}); !errors.As(err, &usage) {
		t.Errorf("missing parent folder: got %v, want a usage error", err)
	}
	if entries, err := os.ReadDir(parent); err != nil || len(entries) != 0 {
		t.Errorf("the parent folder contains %v, %v, want no files", entries, err)
	}
	file := filepath.Join(parent, "file")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := db.Export(t.Context(), file, query.Export{Format: query.CSV})
	if text, readErr := os.ReadFile(file); !errors.As(err, &usage) || string(text) != "mine" {
		t.Errorf("a file in place of a folder: got %v, and the file has %q (%v), want a usage error and the file unchanged", err, text, readErr)
	}
}

func TestOneTableIsSavedToAFile(t *testing.T) {
	db := open(t, oneListing+"; CREATE VIEW names AS SELECT id, '=1' AS name FROM product_listings; CREATE VIEW name_count AS SELECT count(*) AS n FROM names;"+
		"CREATE SCHEMA mart; CREATE VIEW mart.other AS SELECT 1 AS a")
	file := filepath.Join(t.TempDir(), "saved.csv")
	q := query.Text("SELECT $n AS n, '=1' AS formula FROM range(2)")
	for name, c := range map[string]struct {
		export query.Export
		rows   int64
		want   string
	}{
		"a view":              {query.Export{Tables: []string{"names"}}, 1, "id,name\r\np1,=1\r\n"},
		"a view, defused":     {query.Export{Tables: []string{"name?"}, Defuse: true}, 1, "id,name\r\np1,'=1\r\n"},
		"a query with values": {query.Export{Query: &q, Values: map[string]string{"n": "7"}}, 2, "n,formula\r\n7,=1\r\n7,=1\r\n"},
	} {
		c.export.Format = query.CSV
		rows, err := db.SaveExport(t.Context(), c.export, file)
		text, readErr := os.ReadFile(file)
		if err := errors.Join(err, readErr); err != nil || rows != c.rows || string(text) != c.want {
			t.Errorf("%s: got %d rows, %v and %q, want %d rows and %q", name, rows, err, text, c.rows, c.want)
		}
	}
	dir := filepath.Join(t.TempDir(), "out")
	_, err := db.Export(t.Context(), dir, query.Export{Format: query.CSV})
	want := []string{"manifest.json", "name_count.csv", "names.csv", "product_listings.csv"}
	if got := slices.Sorted(maps.Keys(readFolder(t, dir))); err != nil || !slices.Equal(got, want) {
		t.Errorf("an export of all tables has the files %v (%v), want those of the current tables, %v", got, err, want)
	}
	_, err = db.SaveExport(t.Context(), query.Export{Tables: []string{"name*"}, Format: query.CSV}, file)
	if want := "a file contains one table, but 2 were chosen: name one, or export into a folder with --to"; !errors.As(err, new(*query.UsageError)) || err.Error() != want {
		t.Errorf("two tables: got %v, want %q", err, want)
	}
	for table, want := range map[string]string{
		"nosuch":      "",
		"other.names": "",
		"name_counts": " did you mean name_count?",
	} {
		_, err := db.SaveExport(t.Context(), query.Export{Tables: []string{table}, Format: query.CSV}, file)
		want = "no table is named " + table + ":" + want + ` "placementsync schema" lists all tables`
		if !errors.As(err, new(*query.UsageError)) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestExportKeepsALinkToItsFolder exports to a symbolic link.
func TestExportKeepsALinkToItsFolder(t *testing.T) {
	parent := t.TempDir()
	dir, link := filepath.Join(parent, "out"), filepath.Join(parent, "link")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.Symlink(dir, link)); err != nil {
		t.Fatal(err)
	}
	q := query.Text("SELECT 1 AS a")
	if _, err := open(t, "").Export(t.Context(), link, query.Export{Query: &q, Format: query.CSV}); err != nil {
		t.Fatal(err)
	}
	if target, err := os.Readlink(link); err != nil || target != dir || readFolder(t, dir)["answer.csv"] == "" {
		t.Errorf("the link leads to %q (%v), and its folder has %v; want the export in the folder of the link", target, err, readFolder(t, dir))
	}
}
