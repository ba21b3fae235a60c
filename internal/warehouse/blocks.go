package warehouse

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// A DuckDB file is made of blocks of one size, and a table takes at least some of its
// own. With the usual 256 KiB, what little a hundred small tables hold takes four times
// the space that it needs, and with 16 KiB, what a million rows hold takes a third more.
// docs/ARCHITECTURE.md has the measurement.
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
		write = string(instanceSQL.Render("move_catalog", Values{"file": moved, "size": size, "storage": StorageVersion}))
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

// findBlockSize returns the size of blocks that the catalog is to be written anew with; 0:
// what changed is written to the file that it has.
func (d *Draft) findBlockSize(ctx context.Context, changed bool) (int, error) {
	isSmall := d.base.block == smallBlock
	if isSmall && !changed {
		return 0, nil
	}
	var rows int64
	err := d.DB.QueryRowContext(ctx, string(instanceSQL.Render("count_all_rows", nil))).Scan(&rows)
	switch {
	case rows > manyRows && isSmall:
		return largeBlock, err
	case rows < fewRows && (!isSmall || d.base.bytes <= compactSize):
		return smallBlock, err
	}
	return 0, err
}

// fileSize is the size of a DuckDB file and of its blocks.
type fileSize struct{ bytes, block int64 }

// readFileSize reads both. Nobody may have the file open: to close a second handle would
// drop the lock that DuckDB has on it.
func readFileSize(path string) (size fileSize, err error) {
	f, err := os.Open(path)
	if err != nil {
		return size, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return size, err
	}
	// Behind the main header of 4 KiB are two others that agree in this: a checksum, the
	// iteration, two positions and the number of blocks come before the size of a block.
	const place = 4<<10 + 5*8
	field := make([]byte, 8)
	if _, err := f.ReadAt(field, place); err != nil {
		return size, fmt.Errorf("read the header of %s: %w", path, err)
	}
	return fileSize{info.Size(), int64(binary.LittleEndian.Uint64(field))}, nil
}
