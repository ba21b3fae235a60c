// Package schema contains the tables and views of the warehouse, one SQL file each, and reads them. These files are
// the only definition of columns, types and meanings. The files in the top folder are the tables of the schema main.
// The tables of meta/ describe the runs. The views of mart/ are for analysis. sql/ has SQL that depends only on these
// definitions.
//
// The package must not know where tables are stored, or who fills and reads them. It opens no database.
package schema

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"sync"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
)

// FS contains <table>.sql for each table of main and meta/<table>.sql for each table of meta, in the
// form that stream.ParseDefinition parses. Each column has its permanent field id and, if it refers
// to another table, the referenced column. The program adds the columns of stream.SystemColumns to the
// tables of main. mart/<view>.sql is a CREATE VIEW that qualifies all tables with their schema. After it,
// each line is a COMMENT ON statement: for the view, and then for each column in their order. The SQL
// comment at the end of a line is the type of the column.
//
//go:embed *.sql meta/*.sql mart/*.sql
var FS embed.FS

var (
	//go:embed sql/history.sql
	historySQL sqltext.File
	//go:embed sql/parquet.sql
	parquetSQL sqltext.File
)

// Definitions returns the tables of the schema main by name, and the tables of the schema meta
// sorted by name. Callers must not change their columns. It panics if a file embedded from schema/ is not valid.
func Definitions() (main map[string]stream.Definition, meta []stream.Definition) {
	main, meta = parsedDefinitions()
	return maps.Clone(main), slices.Clone(meta)
}

// parsedDefinitions parses the files once, because a night needs the definitions a dozen times.
var parsedDefinitions = sync.OnceValues(parseDefinitions)

func parseDefinitions() (main map[string]stream.Definition, meta []stream.Definition) {
	main = map[string]stream.Definition{}
	err := fs.WalkDir(FS, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Dir(file) == path.Dir(martGlob) {
			return err
		}
		sql, err := FS.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read schema %s: %w", file, err)
		}
		def, err := stream.ParseDefinition(file, string(sql))
		if err != nil {
			return err
		}
		if path.Dir(file) == "meta" {
			meta = append(meta, def)
		} else {
			main[def.Name] = def
		}
		return nil
	})
	if err != nil {
		panic(err)
	}
	return main, meta
}

// generatedVersion is part of SchemaVersion. Raise it when HistoryStatements or
// AllChangesStatement return different SQL for the same schema files.
const generatedVersion = 3

// SchemaVersion returns a hash of the schema files, generatedVersion and the columns that the program
// adds. A catalog with another hash gets the missing tables and columns, and new views.
func SchemaVersion() string {
	h := sha256.New()
	fmt.Fprintf(h, "generated %d %+v %+v\n", generatedVersion, stream.SystemColumns(), stream.ClosedColumns())
	_ = fs.WalkDir(FS, ".", func(file string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			data, _ := FS.ReadFile(file)
			fmt.Fprintf(h, "%s %d\n%s", file, len(data), data)
		}
		return err
	})
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// ColumnNames returns the quoted names of a definition's columns, each with a prefix such as
// "m.".
func ColumnNames(prefix string, def stream.Definition) sqltext.SQL {
	return sqltext.Join(def.Columns, ", ", func(c stream.Column) string { return prefix + sqltext.Quote(c.Name) })
}

// FieldIDs returns the value of FIELD_IDS, an option of COPY. The option writes the field ids of
// columns into a Parquet file.
func FieldIDs(columns []stream.Column) sqltext.SQL {
	return "{" + sqltext.Join(columns, ", ", func(c stream.Column) string {
		return fmt.Sprintf("%s: %d", sqltext.Literal(c.Name), c.FieldID)
	}) + "}"
}

// SignedHash returns the expression that converts row_hash of the catalog to its form in Parquet.
func SignedHash() sqltext.SQL { return parquetSQL.Render("signed_hash", nil) }

// UnsignedHash returns the expression that converts row_hash of a Parquet file to its form in the
// catalog. It also accepts the unsigned form of earlier releases.
func UnsignedHash() sqltext.SQL { return parquetSQL.Render("unsigned_hash", nil) }
