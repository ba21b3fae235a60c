package houserules_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/licenses.md instead of comparing it")

// TestDocsLicenses compares docs/licenses.md with the licenses of all modules, so that the license
// of each new dependency is reviewed. It reads the licenses from the module cache and needs no network.
func TestDocsLicenses(t *testing.T) {
	if runtime.GOOS+runtime.GOARCH != "linuxamd64" {
		t.Skip("the page lists the modules for linux on amd64")
	}
	without := func(all, listed []builtModule) []builtModule {
		return slices.DeleteFunc(all, func(d builtModule) bool { return slices.Contains(listed, d) })
	}
	built := builtModules(t, ".", "./cmd/sync")
	lake := without(builtModules(t, "lake", "./cmd/lake"), built)
	onlyTests := without(builtModules(t, ".", "-test", "./..."), slices.Concat(built, lake))
	var b bytes.Buffer
	fmt.Fprintf(&b, licensesPage, licenseRows(t, built), duckDBVersion(t, built), licenseRows(t, lake), licenseRows(t, onlyTests))
	if *update {
		if err := os.WriteFile(filepath.Join(root, "docs/licenses.md"), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if readFile(t, "docs/licenses.md") != b.String() {
		t.Error("docs/licenses.md:1: the page differs from the modules: run make docs")
	}
}

const licensesPage = `# Licenses

For distributors: the modules of placementsync for linux on amd64. On other systems, the DuckDB library is another module. ` + "`make docs`" + ` writes this page. The texts of the licenses are in THIRD-PARTY-LICENSES, which is installed by ` + "`make install`" + ` and by the packages. placementsync itself is licensed under [LICENSE](../LICENSE).

## In the program

| module | version | license | also |
|---|---|---|---|
%s| Go's runtime and standard library | as in go.mod | BSD-3-Clause | |
| [DuckDB](https://duckdb.org), within duckdb-go-bindings/lib | %s | MIT | with the third-party libraries that DuckDB's source lists |
| [Apache ECharts](https://echarts.apache.org), within placementsync/internal/html | 6.1.0 | Apache-2.0 | d3 and ZRender: BSD-3-Clause; tslib: 0BSD; the texts are in internal/html/assets/NOTICE and in each report |
| [htmx](https://htmx.org), within placementsync/internal/html | 4.0.1 | 0BSD | the text is in internal/html/assets/NOTICE and at /explore/assets/NOTICE |
| [CodeMirror](https://codemirror.net), within placementsync/internal/explore | 6, see internal/explore/editor/package-lock.json | MIT | with Lezer, crelt, find-cluster-break, style-mod and w3c-keyname, MIT; the text is in internal/html/assets/NOTICE and at /explore/assets/NOTICE |

## Only in placementsync-lake

| module | version | license | also |
|---|---|---|---|
%s
## Only in tests

| module | version | license | also |
|---|---|---|---|
%s`

// duckDBVersion returns the version of DuckDB in the bindings. Their version v0.10506.0 means DuckDB 1.5.6.
func duckDBVersion(t *testing.T, built []builtModule) string {
	t.Helper()
	i := slices.IndexFunc(built, func(m builtModule) bool { return m.path == "github.com/duckdb/duckdb-go-bindings" })
	if i < 0 {
		t.Fatal("the program has no bindings of DuckDB")
	}
	var n, patch int
	if _, err := fmt.Sscanf(built[i].version, "v0.%d.%d", &n, &patch); err != nil || n < 10_000 {
		t.Fatalf("the version %s of the bindings contains no version of DuckDB (%v)", built[i].version, err)
	}
	return fmt.Sprintf("%d.%d.%d", n/10_000, n/100%100, n%100)
}

// builtModule is a module that a build needs. dir is its folder in the module cache.
type builtModule struct{ path, version, dir string }

// builtModules lists the modules of packages below a folder, without those of this project.
func builtModules(t *testing.T, folder string, args ...string) []builtModule {
	t.Helper()
	const format = `{{with .Module}}{{if not (or .Main .Replace)}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}`
	out := run(t, "go", append([]string{"list", "-C", filepath.Join(root, folder), "-deps", "-tags", "duckdb_arrow", "-f", format}, args...)...)
	var all []builtModule
	for line := range strings.Lines(string(out)) {
		if words := strings.Fields(line); len(words) == 3 {
			all = append(all, builtModule{words[0], words[1], words[2]})
		}
	}
	slices.SortFunc(all, func(a, b builtModule) int { return strings.Compare(a.path, b.path) })
	return slices.Compact(all)
}

func licenseRows(t *testing.T, all []builtModule) string {
	t.Helper()
	var b strings.Builder
	for _, d := range all {
		license, notice := licenseOf(t, d)
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", d.path, d.version, license, notice)
	}
	return b.String()
}

// licenseFile matches the names of license files.
var licenseFile = regexp.MustCompile(`(?i)^(un)?licen[sc]e(_apache|_mit)?(\.txt|\.md)?$|^copying$`)

func licenseOf(t *testing.T, d builtModule) (license, notice string) {
	t.Helper()
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		t.Fatalf("read module %s: %v", d.path, err)
	}
	for _, e := range entries {
		switch {
		case licenseFile.MatchString(e.Name()):
			text, err := os.ReadFile(filepath.Join(d.dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			license = strings.TrimPrefix(license+", "+recogniseLicense(string(text)), ", ")
		case strings.HasPrefix(e.Name(), "NOTICE"):
			notice = e.Name()
		}
	}
	if license == "" {
		t.Errorf("the license of module %s %s is unknown: read it, and add it to recogniseLicense if it is acceptable", d.path, d.version)
	}
	return license, notice
}

// recogniseLicense returns the names of the licenses in a text, found by characteristic phrases, or
// "" if the text is unknown.
func recogniseLicense(text string) string {
	text = strings.Join(strings.Fields(strings.ReplaceAll(text, "\n>", "\n")), " ") // some files quote the license as Markdown
	var names []string
	for _, license := range []struct{ name, phrase string }{
		{"Apache-2.0", "Apache License Version 2.0"},
		{"BSD-3-Clause", "may be used to endorse or promote products derived from this software"},
		{"BSD-2-Clause", "Redistributions in binary form must reproduce the above copyright notice"},
		{"MIT", "Permission is hereby granted, free of charge, to any person obtaining a copy"},
		{"MPL-2.0", "Mozilla Public License, version 2.0"}, // acceptable: it applies only to changed files of the module
		{"Unlicense", "This is free and unencumbered software released into the public domain"},
	} {
		// The BSD-3-Clause text contains the BSD-2-Clause text.
		if strings.Contains(text, license.phrase) && !(license.name == "BSD-2-Clause" && slices.Contains(names, "BSD-3-Clause")) {
			names = append(names, license.name)
		}
	}
	return strings.Join(names, ", ")
}
