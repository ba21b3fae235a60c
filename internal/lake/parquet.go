package lake

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"os"

	"github.com/apache/arrow-go/v18/parquet/file"

	"placementsync/internal/checksum"
)

// checkFile compares a published file with its manifest. hasIDs reports whether all columns of the
// file have field ids.
func checkFile(ctx context.Context, path string, want checksum.FileSum) (hasIDs bool, err error) {
	if problem := checksum.NewCache(ctx).Compare(path, want, true); problem != "" {
		return false, &DamagedError{path, problem}
	}
	r, err := file.OpenParquetFile(path, false)
	if err != nil {
		return false, &DamagedError{path, err.Error()}
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	columns := r.MetaData().Schema
	hasIDs = true
	for i := range columns.NumColumns() {
		hasIDs = hasIDs && columns.Column(i).SchemaNode().FieldID() >= 0
	}
	return hasIDs, nil
}

// sumBeforeFooter returns the checksum of a Parquet file without its footer. Release 1.0.0
// recorded this checksum for the rows of a table, because each footer contained the id of the run.
func sumBeforeFooter(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	const tail = 8 // the length of the footer in four bytes, and PAR1
	ending := make([]byte, tail)
	if _, err := f.ReadAt(ending, max(0, info.Size()-tail)); err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.CopyN(h, f, info.Size()-tail-int64(binary.LittleEndian.Uint32(ending)))
	return hex.EncodeToString(h.Sum(nil)), err
}
