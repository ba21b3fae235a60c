package warehouse

import (
	"context"
	"errors"
	"fmt"

	"placementsync/internal/stream"
)

// PublishedVersion is a version whose catalog is attached to a separate DuckDB instance as the read-only
// database "version". Reading needs no lock, because versions do not change.
type PublishedVersion struct {
	*Instance
	Manifest Manifest
	Dir      string
	// Scratch is a private folder. Close removes it.
	Scratch string

	columns map[string]map[string]stream.Column
}

// OpenVerified opens a published version for reading. It first compares the checksum of the catalog, so
// that no rows of a damaged catalog are copied to another place.
func (w *Warehouse) OpenVerified(ctx context.Context, run string) (*PublishedVersion, error) {
	m, err := w.Versions.ReadManifest(run)
	if err != nil {
		return nil, err
	}
	if err := m.CheckFormat(); err != nil {
		return nil, err
	}
	if err := w.Versions.VerifyCatalog(run); err != nil {
		return nil, w.WithRemedy(err, run)
	}
	v, err := w.OpenUnchecked(ctx, run)
	if err != nil {
		return nil, fmt.Errorf("open version %s: %w", run, err)
	}
	v.Manifest = m
	return v, nil
}

// OpenUnchecked opens a published version without reading its manifest or comparing the checksum. If
// the catalog is damaged, queries fail or return wrong rows.
func (w *Warehouse) OpenUnchecked(ctx context.Context, run string) (*PublishedVersion, error) {
	in, err := w.openMemory(ctx)
	if err != nil {
		return nil, err
	}
	v := &PublishedVersion{Instance: in, Dir: w.Folder.VersionPath(run), Scratch: in.scratch.Dir}
	if err = v.attachReadOnly(ctx, w.Folder.VersionCatalog(run)); err == nil {
		v.columns, err = v.Columns(ctx, "version")
	}
	if err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

// PresentColumns returns the given columns except those that the table lacks in the version. A version of
// an earlier release may lack some columns.
func (v *PublishedVersion) PresentColumns(schema, table string, columns []stream.Column) []stream.Column {
	var present []stream.Column
	for _, c := range columns {
		if _, ok := v.columns[schema+"."+table][c.Name]; ok {
			present = append(present, c)
		}
	}
	return present
}
