package main

import (
	"archive/zip"
	"errors"
	"html"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"placementsync/internal/cli"
	"placementsync/internal/ledger"
	"placementsync/internal/query"
	"placementsync/internal/testing/harness"
)

// TestFormatsOfOutput combines the flags of commands that print rows.
func TestFormatsOfOutput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, c := range map[string]struct {
		flags   outputOptions
		want    query.Format
		wantErr string
	}{
		"default":                {outputOptions{}, query.Table, ""},
		"the extension":          {outputOptions{file: dir + "/a.csv", bom: true}, query.CSV, ""},
		"the flag comes first":   {outputOptions{file: dir + "/a.csv", format: "json", withGrades: true}, query.JSON, ""},
		"vertical in a file":     {outputOptions{file: dir + "/a.csv", vertical: true}, query.Vertical, ""},
		"vertical twice":         {outputOptions{format: "vertical", vertical: true}, query.Vertical, ""},
		"vertical json":          {outputOptions{format: "json", vertical: true}, "", "--vertical and --format json exclude each other"},
		"a mark in another text": {outputOptions{format: "json", bom: true}, "", "--bom needs the format csv, not json"},
		"grades in a table":      {outputOptions{withGrades: true}, "", "--with-grades needs --format json"},
		"negative rows":          {outputOptions{maxRows: -1}, "", "--rows is -1: use 0 or more"},
		"unknown format":         {outputOptions{format: "xml"}, "", `unknown format "xml"`},
		"unknown extension":      {outputOptions{file: dir + "/a.xml"}, "", "names no format"},
		"missing folder":         {outputOptions{file: dir + "/none/a.csv"}, "", "/none does not exist"},
	} {
		got, err := c.flags.parseFormat()
		if got != c.want || (err == nil) != (c.wantErr == "") || err != nil && !strings.Contains(err.Error(), c.wantErr) {
			t.Errorf("%s: got the format %q and the error %v, want %q and %q", name, got, err, c.want, c.wantErr)
		}
		if err != nil && cli.OutcomeOf(t.Context(), err) != ledger.Misused {
			t.Errorf("%s: %v is no error of usage", name, err)
		}
	}
}

// TestFilesOfAnExportAreSummed shows an export of a table in two files, and of one in one file.
func TestFilesOfAnExportAreSummed(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	g := &globals{process: process{stdout: &text}}
	err := showExport(g, "out", query.ExportManifest{RunID: "r1", Files: []query.ExportFile{{Source: "orders", Rows: 5, Bytes: 1 << 20},
		{Source: "orders", Rows: 5, Bytes: 1 << 20}, {Source: "tags", Rows: 1, Bytes: 1 << 10}}})
	const want = `source  rows     size
orders     5  2.0 MiB
tags       1  1.0 KiB

snapshot r1 in out: 3 files and manifest.json
`
	if diff := cmp.Diff(want, text.String()); diff != "" || err != nil {
		t.Errorf("export (-want +got), %v:\n%s", err, diff)
	}
}

// TestFlagsOfAWorkbook combines the flags of an exported workbook.
func TestFlagsOfAWorkbook(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/a.XLSX"
	for want, c := range map[string]struct {
		flags exportOptions
		names []string
	}{
		"":                                     {exportOptions{workbook: file, asOf: "2026-11-01"}, []string{"headline"}},
		"--profile needs --workbook":           {exportOptions{profile: "c"}, nil},
		"can only be combined with":            {exportOptions{workbook: file, raw: true}, nil},
		"leave out headline, margins, or":      {exportOptions{workbook: file, profile: "c"}, []string{"headline", "margins"}},
		"name a file that ends with .xlsx":     {exportOptions{workbook: "a.csv"}, nil},
		"/none does not exist: create it":      {exportOptions{workbook: t.TempDir() + "/none/a.xlsx"}, nil},
		"--workbook can only be combined with": {exportOptions{workbook: file, params: []string{"a=1"}}, nil},
		"--workbook can only":                  {exportOptions{workbook: file, to: "dir"}, nil},
		"--workbook can":                       {exportOptions{workbook: file, out: "a.csv"}, nil},
		"can only be combined with --profile":  {exportOptions{workbook: file, query: "headline"}, nil},
		"can only be combined":                 {exportOptions{workbook: file, format: "csv"}, nil},
		"can only be":                          {exportOptions{workbook: file, partition: "country"}, nil},
	} {
		err := c.flags.checkWorkbook(c.names)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v with %q: got the error %v, want %q", c.flags, c.names, err, want)
		}
	}
}

// TestExportsComeFromTheFlags compares exports with the flags of the command.
func TestExportsComeFromTheFlags(t *testing.T) {
	t.Parallel()
	named, err := query.Resolve("price_by_segment")
	harness.Must(t, err)
	text := query.Text("SELECT 1")
	tables, file := []string{"orders"}, t.TempDir()+"/a.xlsx"
	g := &globals{process: hostProcess(), Flags: cli.Flags{Config: filepath.Join(t.TempDir(), "config.yaml")}}
	harness.Must(t, os.WriteFile(g.Config, []byte("warehouse: {threads: 1}\n"), 0o600))
	for name, c := range map[string]struct {
		flags   exportOptions
		tables  []string
		want    query.Export
		wantErr string
	}{
		"a folder": {flags: exportOptions{to: "dir", partition: "country"}, tables: tables,
			want: query.Export{Tables: tables, Format: query.Parquet, PartitionBy: "country", Defuse: true, Program: version}},
		"all tables as CSV": {flags: exportOptions{to: "dir", format: "csv", raw: true},
			want: query.Export{Format: query.CSV, Program: version}},
		"a file": {flags: exportOptions{out: file}, tables: tables,
			want: query.Export{Tables: tables, Format: query.Excel, Defuse: true, Program: version}},
		"a file of another format": {flags: exportOptions{out: file, format: "json", query: "SELECT 1"},
			want: query.Export{Query: &text, Values: map[string]string{}, Format: query.JSON, Defuse: true, Program: version}},
		"a query": {flags: exportOptions{to: "dir", query: "price_by_segment", params: []string{"currency=USD"}},
			want: query.Export{Query: &named, Values: map[string]string{"currency": "USD"}, Format: query.Parquet, Defuse: true,
				Program: version}},
		"no place":            {wantErr: "export needs a folder or a file: name it with --to DIR or -o FILE"},
		"two places":          {flags: exportOptions{to: "dir", out: file}, tables: tables, wantErr: "-o cannot be"},
		"a partitioned file":  {flags: exportOptions{out: file, partition: "a"}, tables: tables, wantErr: "-o cannot be"},
		"a file of nothing":   {flags: exportOptions{out: file}, wantErr: "-o writes one table: name it, or a query"},
		"a file of no format": {flags: exportOptions{out: "a.xml"}, tables: tables, wantErr: "names no format"},
		"table and query": {flags: exportOptions{to: "dir", query: "SELECT 1"}, tables: tables,
			wantErr: "export takes either tables or --query, not both"},
		"values without a query": {flags: exportOptions{to: "dir", params: []string{"a=1"}},
			wantErr: "--param needs --query"},
		"an unknown query": {flags: exportOptions{to: "dir", query: "nosuch"}, wantErr: `no query is named "nosuch"`},
		"a parameter without a value": {flags: exportOptions{to: "dir", query: "SELECT 1", params: []string{"a"}},
			wantErr: `--param is "a": use name=value`},
	} {
		got, err := c.flags.newExport(g, c.tables)
		if c.wantErr != "" {
			if err == nil || !strings.Contains(err.Error(), c.wantErr) || cli.OutcomeOf(t.Context(), err) != ledger.Misused {
				t.Errorf("%s: got the error %v, want the error of usage %q", name, err, c.wantErr)
			}
			continue
		}
		if diff := cmp.Diff(c.want, got, cmpopts.IgnoreUnexported(query.Query{})); diff != "" || err != nil {
			t.Errorf("%s: export (-want +got), %v:\n%s", name, err, diff)
		}
	}
}

// TestWorkbookOfAClient writes the questions of the report for one client, who must not see ids.
func TestWorkbookOfAClient(t *testing.T) {
	t.Parallel()
	g := &globals{process: hostProcess(), Flags: cli.Flags{Config: threeNights(t)}}
	id := queryValue(t, g, `SELECT min(id) FROM profiles WHERE regexp_full_match(name, '\pL[^",\s]+[^",]*\S')`)
	name := queryValue(t, g, "SELECT name FROM profiles WHERE id = '"+id+"'")
	var stderr strings.Builder
	g.stderr = &stderr
	file := filepath.Join(t.TempDir(), "client.xlsx")
	harness.Must(t, runWorkbook(t.Context(), g, exportOptions{workbook: file, profile: id}, nil))
	if !strings.HasSuffix(stderr.String(), " written to "+file+"\n") {
		t.Errorf("the command printed %q, want the number of rows and the file", &stderr)
	}
	parts, err := zip.OpenReader(file)
	harness.Must(t, err)
	defer parts.Close()
	var text strings.Builder
	for _, part := range parts.File {
		r, err := part.Open()
		harness.Must(t, err)
		_, err = io.Copy(&text, r)
		harness.Must(t, errors.Join(err, r.Close()))
	}
	if !strings.Contains(html.UnescapeString(text.String()), "Report for "+name) || strings.Contains(text.String(), id) {
		t.Errorf("the workbook of %s has %d bytes, want its title without the id %s", name, text.Len(), id)
	}
}
