package enginetest_test

import (
	"database/sql"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"
	"github.com/rogpeppe/go-internal/txtar"

	"placementsync/internal/dialect"
	"placementsync/internal/query"
	"placementsync/internal/sqltext"
	"placementsync/internal/testing/fixture"
	"placementsync/internal/testing/harness"
	"placementsync/schema"
)

// job is the input of a script for an engine.
type job struct {
	// Scratch is a folder for files of the engine.
	Scratch string `json:"scratch"`
	// Timezone is the time zone of the session. Results must not depend on it.
	Timezone string `json:"timezone,omitempty"`
	// Spark is the configuration of the Spark session.
	Spark map[string]string `json:"spark,omitempty"`
	Cases []sqlCase         `json:"cases"`

	// The following fields are for lakes. CatalogKind is the kind of the lake's catalog, such as SQLite, for the
	// report. LakeCatalog is the name of the catalog, and Prefix the prefix of its namespaces.
	CatalogKind string  `json:"catalog_kind,omitempty"`
	LakeCatalog string  `json:"lake_catalog,omitempty"`
	Prefix      string  `json:"prefix,omitempty"`
	Nights      []night `json:"nights,omitempty"`
	// Trino and PyIceberg are the properties with which these engines open the lake's catalog.
	Trino     string            `json:"trino,omitempty"`
	PyIceberg map[string]string `json:"pyiceberg,omitempty"`
}

// night is a run with the path of its DuckDB file.
type night struct {
	Run        string `json:"run"`
	DuckDBPath string `json:"duckdb_path"`
}

// sqlCase is a DuckDB file and the views that an engine computes from the data of this file.
type sqlCase struct {
	Name string `json:"name"`
	// Prefix is the prefix of the engine's namespaces. ViewNamespace is the namespace of the views.
	Prefix        string      `json:"prefix"`
	ViewNamespace string      `json:"view_namespace"`
	DuckDBPath    string      `json:"duckdb_path"`
	Tables        []tableFile `json:"tables"`
	// ViewStatements create the views.
	ViewStatements []string `json:"views"`
	// ComparedViews are the views whose rows are compared.
	ComparedViews []comparedView `json:"marts,omitempty"`
}

// tableFile is a table exported as a Parquet file. Part is current, past or meta.
type tableFile struct {
	Part string `json:"part"`
	Name string `json:"name"`
	Path string `json:"path"`
}

// comparedView is a view whose rows are compared. NearlyEqual lists floating-point columns. Their
// last digits may differ, because these digits depend on the order of additions.
type comparedView struct {
	Name        string   `json:"name"`
	NearlyEqual []string `json:"nearly,omitempty"`
}

// testdataDir is the folder with the tests of the named queries and of the views of mart.
const testdataDir = "../../../queries/testdata"

// fixtureCases returns a case for each test of a view, and for each test of a named query that reads a
// view. A case compares these views. engineCatalog is the name of the engine's catalog for the tables. dir
// is the scratch folder of the job.
func fixtureCases(t *testing.T, engine dialect.Engine, engineCatalog, dir string) []sqlCase {
	t.Helper()
	viewsByFolder := map[string][]string{}
	for _, v := range schema.MartViews() {
		viewsByFolder["mart/"+v.Name] = []string{v.Name}
	}
	for _, q := range query.List() {
		viewsByFolder[q.Name] = q.Marts()
	}
	empty := fixture.NewEmptyCatalog(t)
	var cases []sqlCase
	for _, folder := range slices.Sorted(maps.Keys(viewsByFolder)) {
		if len(viewsByFolder[folder]) == 0 {
			continue // a query that reads no view
		}
		tests, err := filepath.Glob(filepath.Join(testdataDir, folder, "*.test"))
		harness.Must(t, err)
		for _, file := range tests {
			name := strings.ReplaceAll(folder, "/", "_") + "_" + strings.TrimSuffix(filepath.Base(file), ".test")
			spec := caseSpec{
				name:       name,
				duckDBPath: empty.Fill(t, readFixture(t, file)),
				dir:        filepath.Join(dir, name),
				views:      viewsByFolder[folder],
			}
			cases = append(cases, newCase(t, engine, engineCatalog, spec))
		}
	}
	return cases
}

// readFixture returns the SQL that fills the tables of a test. A test of empty tables has none.
func readFixture(t *testing.T, file string) string {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	harness.Must(t, err)
	for _, f := range archive.Files {
		if f.Name == "fixture.sql" {
			return string(f.Data)
		}
	}
	return ""
}

// caseSpec specifies a case for newCase.
type caseSpec struct {
	name, duckDBPath string
	// dir is the folder for the exported tables. It is inside the scratch folder of the job,
	// because Trino reads no files outside of that folder.
	dir string
	// views are the names of the compared views. Nil selects all views.
	views []string
	// lakePrefix is the prefix of the namespaces if the tables are in a lake.
	lakePrefix string
}

// newCase exports the tables that the compared views read.
func newCase(t *testing.T, engine dialect.Engine, engineCatalog string, spec caseSpec) sqlCase {
	t.Helper()
	names := dialect.LakeNames{Catalog: engineCatalog, Prefix: spec.name}
	if spec.lakePrefix != "" {
		names.Prefix = spec.lakePrefix
	}
	c := sqlCase{Name: spec.name, Prefix: spec.name, ViewNamespace: engine.Namespace(names, dialect.Mart), DuckDBPath: spec.duckDBPath}
	var sqlTexts []string
	for _, v := range engine.Views(names) {
		if spec.views != nil && !slices.Contains(spec.views, v.Name) {
			continue
		}
		compared := comparedView{Name: v.Name}
		if v.Name == "price_premiums" {
			compared.NearlyEqual = []string{"like_premium_percent"}
		}
		c.ComparedViews = append(c.ComparedViews, compared)
		sqlTexts = append(sqlTexts, "_"+dialect.Mart+"."+v.Name) // a reference to the view
	}
	c.Tables, c.ViewStatements = exportTables(t, engine, names, sqlTexts, spec)
	return c
}

// tableReference matches a table or view that an SQL text reads.
var tableReference = regexp.MustCompile(`_(current|past|meta|mart)\.(\w+)`)

// exportTables exports the tables that the SQL texts read, directly or through views. It returns
// the exported files and the statements that create these views. For a lake, it exports no tables and
// returns the statements of all views.
func exportTables(t *testing.T, engine dialect.Engine, names dialect.LakeNames, sqlTexts []string, spec caseSpec) ([]tableFile, []string) {
	t.Helper()
	views := engine.Views(names)
	statements := engine.ViewStatements(names)
	isRead := map[[2]string]bool{} // by part and name
	for len(sqlTexts) > 0 {
		text := sqlTexts[0]
		sqlTexts = sqlTexts[1:]
		for _, m := range tableReference.FindAllStringSubmatch(text, -1) {
			key := [2]string{m[1], m[2]}
			i := slices.IndexFunc(views, func(v dialect.View) bool { return m[1] == dialect.Mart && v.Name == m[2] })
			if i >= 0 && !isRead[key] {
				sqlTexts = append(sqlTexts, views[i].Select)
			}
			isRead[key] = true
		}
	}
	if spec.lakePrefix != "" {
		return nil, statements
	}
	var files []tableFile
	var copies []string
	for key := range isRead {
		if key[0] == dialect.Mart {
			continue
		}
		f := tableFile{Part: key[0], Name: key[1], Path: filepath.Join(spec.dir, key[0]+"."+key[1], "data.parquet")}
		harness.Must(t, os.MkdirAll(filepath.Dir(f.Path), 0o755))
		schemaName := f.Part
		if f.Part == "current" {
			schemaName = "main"
		}
		columns := "* EXCLUDE (row_hash)" // a lake has no row_hash
		if f.Part == "meta" {
			columns = "*"
		}
		copies = append(copies, fmt.Sprintf("COPY (SELECT %s FROM %s.%s) TO %s (FORMAT parquet)",
			columns, schemaName, sqltext.Quote(f.Name), sqltext.Literal(f.Path)))
		files = append(files, f)
	}
	execute(t, spec.duckDBPath, "SET TimeZone = 'UTC';"+strings.Join(copies, ";"))
	needed := []string{statements[0]} // creates the namespace of the views
	for _, s := range statements[1:] {
		m := tableReference.FindStringSubmatch(s)
		if m != nil && isRead[[2]string{m[1], m[2]}] {
			needed = append(needed, s)
		}
	}
	return files, needed
}

// benchCase returns a case whose DuckDB file is filled by queries/testdata/bench.sql with 100,000 listings. dir is the
// scratch folder of the job.
func benchCase(t *testing.T, engine dialect.Engine, engineCatalog, dir string) sqlCase {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testdataDir, "bench.sql"))
	harness.Must(t, err)
	path := fixture.NewEmptyCatalog(t).Fill(t, fmt.Sprintf("SET VARIABLE listings = 100_000; %s; CHECKPOINT", text))
	return newCase(t, engine, engineCatalog, caseSpec{name: "bench", duckDBPath: path, dir: filepath.Join(dir, engine.Name)})
}

func execute(t *testing.T, path, text string) {
	t.Helper()
	db, err := sql.Open("duckdb", path)
	harness.Must(t, err)
	_, err = db.ExecContext(t.Context(), text)
	harness.Must(t, err)
	harness.Must(t, db.Close())
}
