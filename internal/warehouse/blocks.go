package warehouse

import (
	"context"
	"fmt"
	"path/filepath"

	"placementsync/internal/sqltext"
)

// A DuckDB file consists of blocks of one size, and tables do not share blocks. With blocks of the
// default size of 256 KiB, a hundred small tables take four times the space of their rows. With blocks
// of 16 KiB, a million rows take a third more space than with large blocks.
// docs/performance.md contains the measurement.
const (
	smallBlock = 16 << 10
	largeBlock = 256 << 10
	// An unchanged catalog with small blocks keeps them. Of the other catalogs, those with more than manyRows
	// get large blocks, those with fewer than fewRows get small blocks, and the rest keep the size of blocks.
	fewRows, manyRows = 250_000, 500_000
	// If a catalog with fewer than fewRows changed, and the file of the previous version has at most
	// compactSize bytes, the whole catalog is written to a new file. This takes no longer than writing the
	// changes, and leaves no free blocks in the file.
	compactSize = 8 << 20
)

// writeCatalog writes the catalog of the draft and closes it. isChanged means that a table of the schema
// main changed. If chooseBlockSize returns a size, writeCatalog copies the catalog to a new file, because
// DuckDB sets the size of blocks when it creates a file.
func (d *Draft) writeCatalog(ctx context.Context, isChanged bool) error {
	path := filepath.Join(d.Dir, CatalogFile)
	newFile := path + ".moved"
	newSize, err := d.chooseBlockSize(ctx, isChanged)
	if err != nil {
		return fmt.Errorf("choose the blocks of the catalog: %w", err)
	}
	write := sqltext.SQL("CHECKPOINT")
	if newSize != 0 {
		write = instanceSQL.Render("copy_catalog", sqltext.Values{"file": newFile, "size": newSize, "storage": StorageVersion})
	}
	err = d.Exec(ctx, write)
	if err == nil {
		err = d.Instance.Close()
		d.Instance = nil
	}
	if err == nil && newSize != 0 {
		err = d.w.Folder.disk.Rename(newFile, path)
	}
	return err
}

// chooseBlockSize returns the size of blocks for a new file, or 0 if the changes are written to the
// existing file.
func (d *Draft) chooseBlockSize(ctx context.Context, isChanged bool) (int, error) {
	var blockSize, rows int64
	err := d.DB.QueryRowContext(ctx, string(instanceSQL.Render("measure_catalog", nil))).Scan(&blockSize, &rows)
	hasSmallBlocks := blockSize == smallBlock
	switch {
	case hasSmallBlocks && !isChanged:
		return 0, err
	case rows > manyRows && hasSmallBlocks:
		return largeBlock, err
	case rows < fewRows && (!hasSmallBlocks || d.previousManifest.Catalog.Bytes <= compactSize):
		return smallBlock, err
	}
	return 0, err
}
