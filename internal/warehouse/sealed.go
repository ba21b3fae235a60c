package warehouse

import (
	"context"
	"errors"
	"fmt"

	"placementsync/internal/stream"
)

// SealedVersion is a published version in a DuckDB of its own, attached read-only under the name
// "sealed". It needs no lock, because versions do not change.
type SealedVersion struct {
	*Instance
	Manifest Manifest
	// Dir is the folder of the version.
	Dir string
	// Scratch is a private folder, which Close removes.
	Scratch string

	columns map[string]map[string]stream.Column
}

// OpenSealed opens a published version for reading. It reads all of the catalog to compare its
// checksum, even directly after the night. The rows are copied elsewhere and outlive the version, so
// disk damage must be found first. This takes 0.5 CPU seconds for the 550 MB of 1,000,000 listings.
func (w *Warehouse) OpenSealed(ctx context.Context, run string) (*SealedVersion, error) {
	m, err := w.Versions.ReadManifest(run)
	if err != nil {
		return nil, err
	}
	if m.Format > Format {
		return nil, &NewerError{run, m.Program, m.Format}
	}
	if err := w.Versions.CheckCatalog(run); err != nil {
		return nil, w.WithRemedy(err, run)
	}
	s, err := w.OpenUnchecked(ctx, run)
	if err != nil {
		return nil, fmt.Errorf("open version %s: %w", run, err)
	}
	s.Manifest = m
	return s, nil
}

// OpenUnchecked opens a published version without its manifest, and compares no checksum. Reading
// a damaged catalog fails or returns wrong rows.
func (w *Warehouse) OpenUnchecked(ctx context.Context, run string) (*SealedVersion, error) {
	in, err := w.engine.openMemory(ctx, w.Folder)
	if err != nil {
		return nil, err
	}
	s := &SealedVersion{Instance: in, Dir: w.Folder.VersionPath(run), Scratch: in.scratch.Dir}
	if err = s.attachSealed(ctx, w.Folder.VersionCatalog(run)); err == nil {
		s.columns, err = s.Columns(ctx, "sealed")
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// PresentColumns returns the columns that a table has in the version, which an earlier program may
// have written.
func (s *SealedVersion) PresentColumns(schema, table string, columns []stream.Column) []stream.Column {
	var present []stream.Column
	for _, c := range columns {
		if _, ok := s.columns[schema+"."+table][c.Name]; ok {
			present = append(present, c)
		}
	}
	return present
}
