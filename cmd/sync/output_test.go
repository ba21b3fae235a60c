package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/cli"
	"placementsync/internal/ledger"
	"placementsync/internal/query"
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
	} {
		err := c.flags.checkWorkbook(c.names)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v with %q: got the error %v, want %q", c.flags, c.names, err, want)
		}
	}
}
