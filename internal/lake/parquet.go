package lake

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/parquet/file"

	"placementsync/internal/checksum"
)

// checkFile compares a published file with its manifest. hasIDs reports whether all columns of the
// file have field ids.
func checkFile(ctx context.Context, path string, want checksum.FileSum) (hasIDs bool, err error) {
	if problem := checksum.NewCache(ctx).Compare(path, want, true); problem != "" {
		return false, damagedErr(path, problem)
	}
	r, err := file.OpenParquetFile(path, false)
	if err != nil {
		return false, damagedErr(path, err.Error())
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	columns := r.MetaData().Schema
	hasIDs = true
	for i := range columns.NumColumns() {
		hasIDs = hasIDs && columns.Column(i).SchemaNode().FieldID() >= 0
	}
	return hasIDs, nil
}
