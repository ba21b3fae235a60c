package warehouse

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/schema"
)

// Definitions reads the embedded schema files: the tables of main by name, and those of
// meta in the order of their names.
func Definitions() (main map[string]stream.Definition, meta []stream.Definition, err error) {
	main = map[string]stream.Definition{}
	err = fs.WalkDir(schema.FS, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Dir(name) == path.Dir(martFiles) {
			return err
		}
		sql, err := schema.FS.ReadFile(name)
		if err != nil {
			return fmt.Errorf("read schema %s: %w", name, err)
		}
		def, err := stream.ParseDefinition(name, string(sql))
		if err != nil {
			return err
		}
		if path.Dir(name) == "meta" {
			meta = append(meta, def)
		} else {
			main[def.Name] = def
		}
		return nil
	})
	return main, meta, err
}

// TableDefinition reads one table of main, which is quicker than all of them; ok is false if
// there is no such table.
func TableDefinition(table string) (def stream.Definition, ok bool) {
	name := table + ".sql"
	sql, err := schema.FS.ReadFile(name)
	if err != nil {
		return stream.Definition{}, false
	}
	def, err = stream.ParseDefinition(name, string(sql))
	return def, err == nil
}

// joinEach joins the texts of items.
func joinEach[T any](items []T, separator string, text func(T) string) string {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = text(item)
	}
	return strings.Join(texts, separator)
}

func quoteNames(names []string) sqltext.SQL { return sqltext.SQL(joinEach(names, ", ", sqltext.Quote)) }

// Columns lists the names of a definition's columns, quoted and joined for
// SQL, each behind a prefix such as "m.".
func Columns(prefix string, def stream.Definition) string {
	return joinEach(def.Columns, ", ", func(c stream.Column) string { return prefix + sqltext.Quote(c.Name) })
}

// FieldIDs is the option of COPY that writes the field ids of columns into a Parquet file.
func FieldIDs(columns []stream.Column) sqltext.SQL {
	return sqltext.SQL("{" + joinEach(columns, ", ", func(c stream.Column) string { return fmt.Sprintf("%s: %d", sqltext.Literal(c.Name), c.FieldID) }) + "}")
}

// SignedHash is row_hash of the catalog as Parquet files have it.
func SignedHash() sqltext.SQL { return parquetSQL.Render("signed_hash", nil) }

// StoredHash is row_hash of a Parquet file as the catalog has it, also of the files of
// earlier programs.
func StoredHash() sqltext.SQL { return parquetSQL.Render("stored_hash", nil) }
