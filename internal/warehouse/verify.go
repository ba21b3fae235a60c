package warehouse

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"placementsync/schema"
)

// verify opens a sealed version as a reader would, read only and in its own
// DuckDB, and compares it with its manifest: rows in the catalogue, rows in
// Parquet, and no key twice.
func (w *Warehouse) verify(ctx context.Context, dir string, m Manifest) (err error) {
	scratch := filepath.Join(dir, "..", "."+m.RunID+".verify")
	in, err := w.newInstance(ctx, "", scratch)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	catalog := filepath.Join(dir, CatalogFile)
	if err := in.Exec(ctx, fmt.Sprintf("ATTACH %s AS sealed (READ_ONLY)", Literal(catalog))); err != nil {
		return err
	}
	// Hashes of keys take a fraction of the memory of keys. Where two are the
	// same, the keys themselves are compared.
	var suspects []ManifestTable
	var parts []string
	for i, t := range m.Tables {
		parts = append(parts, fmt.Sprintf(`SELECT %d, (SELECT count(*) FROM sealed.main.%[2]s),
			(SELECT count(DISTINCT hash(%[3]s)) FROM sealed.main.%[2]s), (SELECT count(*) FROM read_parquet(%[4]s))`,
			i, Quote(t.Name), w.keyColumns("", t.Name), Literal(filepath.Join(dir, t.File))))
	}
	err = eachRow(ctx, in, parts, func(scan func(...any) error) error {
		var i int
		var rows, keys, parquet int64
		if err := scan(&i, &rows, &keys, &parquet); err != nil {
			return err
		}
		if keys != rows {
			suspects = append(suspects, m.Tables[i])
		}
		return compare(m.RunID, m.Tables[i], rows, parquet)
	})
	if err == nil {
		err = w.searchCopies(ctx, in, m.RunID, suspects)
	}
	var failed *VerifyError
	if err != nil && !errors.As(err, &failed) {
		err = &VerifyError{m.RunID, "(any)", err.Error()}
	}
	return errors.Join(err, in.Exec(ctx, "DETACH sealed"))
}

// searchCopies looks for rows that share a key.
func (w *Warehouse) searchCopies(ctx context.Context, in *Instance, run string, tables []ManifestTable) error {
	for _, t := range tables {
		var keys int64
		err := in.DB.QueryRowContext(ctx, fmt.Sprintf("SELECT count(*) FROM (SELECT DISTINCT %s FROM sealed.main.%s)",
			w.keyColumns("", t.Name), Quote(t.Name))).Scan(&keys)
		if err != nil {
			return err
		}
		if keys != t.Rows {
			return &VerifyError{run, t.Name, fmt.Sprintf("%d rows share a key with another", t.Rows-keys)}
		}
	}
	return nil
}

// compare holds what a reader counted against the manifest.
func compare(run string, t ManifestTable, rows, parquet int64) error {
	switch {
	case rows != t.Rows:
		return &VerifyError{run, t.Name, fmt.Sprintf("%d rows in the catalog, %d in the manifest", rows, t.Rows)}
	case parquet != t.Rows:
		return &VerifyError{run, t.Name, fmt.Sprintf("%d rows in Parquet, %d in the manifest", parquet, t.Rows)}
	}
	return nil
}

// keyColumns lists a table's key for SQL, each column behind a prefix.
func (w *Warehouse) keyColumns(prefix, table string) string {
	var quoted []string
	for _, t := range w.cfg.Tables {
		if t.Name == table {
			for _, k := range t.Key {
				quoted = append(quoted, prefix+Quote(k))
			}
		}
	}
	return strings.Join(quoted, ", ")
}

// SchemaVersion names the schema files by their content, so that a version
// says which tables it was written for without anybody counting.
func SchemaVersion() string {
	h := sha256.New()
	fmt.Fprintf(h, "generated %d\n", generatedVersion)
	_ = fs.WalkDir(schema.FS, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			data, _ := schema.FS.ReadFile(name)
			fmt.Fprintf(h, "%s %d\n%s", name, len(data), data)
		}
		return err
	})
	return hex.EncodeToString(h.Sum(nil))[:12]
}
