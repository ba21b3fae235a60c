package warehouse

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"placementsync/internal/sqltext"
)

// A DuckDB file is made of blocks of one size, and a table takes at least some of its
// own. With the usual 256 KiB, what little a hundred small tables hold takes four times
// the space that it needs, and with 16 KiB, what a million rows hold takes a third more.
// docs/performance.md has the measurement.
const (
	smallBlock = 16 << 10
	largeBlock = 256 << 10
	// A catalog gets large blocks with more rows than manyRows, and small ones with fewer
	// than fewRows. Between the two it keeps what it has.
	fewRows, manyRows = 250_000, 500_000
	// compactSize is the size of a file up to which all of it is written as fast as what
	// changed. What was written before would stay in it as free blocks.
	compactSize = 8 << 20
)

// writeCatalog writes what the draft holds to its file and closes it. A catalog that has
// outgrown its blocks, or is too small for them, moves to a new file: DuckDB chooses the
// size of blocks when it makes a file.
func (d *Draft) writeCatalog(ctx context.Context, changed bool) error {
	path := filepath.Join(d.Dir, CatalogFile)
	moved := path + ".moved"
	size, err := d.findBlockSize(ctx, changed)
	if err != nil {
		return fmt.Errorf("choose the blocks of the catalog: %w", err)
	}
	write := "CHECKPOINT"
	if size != 0 {
		write = string(instanceSQL.Render("move_catalog", sqltext.Values{"file": moved, "size": size, "storage": StorageVersion}))
	}
	err = d.Exec(ctx, write)
	if err == nil {
		err = errors.Join(d.Instance.Close(), os.RemoveAll(filepath.Join(d.Dir, "spill")))
		d.Instance = nil
	}
	if err == nil && size != 0 {
		err = d.w.Folder.disk.Rename(moved, path)
	}
	return err
}

// findBlockSize returns the size of blocks that the catalog is to be written anew with. 0
// means that the changes are written to the file that it has.
func (d *Draft) findBlockSize(ctx context.Context, changed bool) (int, error) {
	var block, rows int64
	err := d.DB.QueryRowContext(ctx, string(instanceSQL.Render("measure_catalog", nil))).Scan(&block, &rows)
	isSmall := block == smallBlock
	switch {
	case isSmall && !changed:
		return 0, err
	case rows > manyRows && isSmall:
		return largeBlock, err
	case rows < fewRows && (!isSmall || d.baseBytes <= compactSize):
		return smallBlock, err
	}
	return 0, err
}
