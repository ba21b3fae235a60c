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

// verifier reads whole versions in a DuckDB of its own and compares them with their
// manifests.
type verifier struct {
	folder  *Folder
	catalog *Catalog
	engine  engine
}

// newReader is a DuckDB of its own to verify a version with.
func (d *Draft) newReader(ctx context.Context) (*Instance, error) {
	return d.w.engine.open(ctx, "", filepath.Join(d.Dir, "..", "."+d.Run+".verify"))
}

// verifyVersion opens a sealed version as a reader would, read only and in its own
// DuckDB, and compares it with its manifest: rows in the catalogue, rows in
// Parquet, and no key twice.
func (v *verifier) verifyVersion(ctx context.Context, reader *Instance, dir string, m Manifest) error {
	catalog := filepath.Join(dir, CatalogFile)
	if err := reader.Exec(ctx, fmt.Sprintf("ATTACH %s AS sealed (READ_ONLY)", Literal(catalog))); err != nil {
		return err
	}
	err := v.compareRows(ctx, reader, dir, m)
	var failed *VerifyError
	if err != nil && !errors.As(err, &failed) {
		err = &VerifyError{m.RunID, "(any)", err.Error()}
	}
	return errors.Join(err, reader.Exec(ctx, "DETACH sealed"))
}

func (v *verifier) compareRows(ctx context.Context, reader *Instance, dir string, m Manifest) error {
	parquet, err := parquetRows(ctx, reader, dir, m)
	if err != nil {
		return err
	}
	// Hashes of keys take a fraction of the memory of keys. Where two are the
	// same, the keys themselves are compared.
	var suspects []ManifestTable
	var parts []string
	for i, t := range m.Tables {
		parts = append(parts, fmt.Sprintf("SELECT %d, count(*), count(DISTINCT hash(%s)) FROM sealed.main.%s", i, v.catalog.keyColumns("", t.Name), Quote(t.Name)))
	}
	err = reader.EachRow(ctx, parts, func(scan func(...any) error) error {
		var i int
		var rows, keys int64
		if err := scan(&i, &rows, &keys); err != nil {
			return err
		}
		if keys != rows {
			suspects = append(suspects, m.Tables[i])
		}
		return compareCounts(m.RunID, m.Tables[i], rows, parquet[filepath.Join(dir, m.Tables[i].File)])
	})
	if err != nil {
		return err
	}
	return v.findCopies(ctx, reader, m.RunID, suspects)
}

// parquetRows counts the rows of the Parquet files, by path, as their own footers
// tell: all files by one call, since binding a scan of each takes ten times that.
func parquetRows(ctx context.Context, in *Instance, dir string, m Manifest) (map[string]int64, error) {
	files := make([]string, len(m.Tables))
	for i, t := range m.Tables {
		files[i] = Literal(filepath.Join(dir, t.File))
	}
	if len(files) == 0 {
		return nil, nil
	}
	counts := map[string]int64{}
	count := fmt.Sprintf("SELECT file_name, num_rows FROM parquet_file_metadata([%s])", strings.Join(files, ", "))
	return counts, in.EachRow(ctx, []string{count}, func(scan func(...any) error) error {
		var file string
		var rows int64
		err := scan(&file, &rows)
		counts[file] = rows
		return err
	})
}

// findCopies looks for rows that share a key.
func (v *verifier) findCopies(ctx context.Context, in *Instance, run string, tables []ManifestTable) error {
	for _, t := range tables {
		var keys int64
		err := in.DB.QueryRowContext(ctx, fmt.Sprintf("SELECT count(*) FROM (SELECT DISTINCT %s FROM sealed.main.%s)",
			v.catalog.keyColumns("", t.Name), Quote(t.Name))).Scan(&keys)
		if err != nil {
			return err
		}
		if keys != t.Rows {
			return &VerifyError{run, t.Name, fmt.Sprintf("%d rows share a key with another", t.Rows-keys)}
		}
	}
	return nil
}

// compareCounts holds what a reader counted against the manifest.
func compareCounts(run string, t ManifestTable, rows, parquet int64) error {
	switch {
	case rows != t.Rows:
		return &VerifyError{run, t.Name, fmt.Sprintf("%d rows in the catalog, %d in the manifest", rows, t.Rows)}
	case parquet != t.Rows:
		return &VerifyError{run, t.Name, fmt.Sprintf("%d rows in Parquet, %d in the manifest", parquet, t.Rows)}
	}
	return nil
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
