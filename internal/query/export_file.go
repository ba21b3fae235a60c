package query

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/apache/arrow-go/v18/arrow/array"

	"placementsync/internal/warehouse"
)

// exportOne writes one source into the folder and measures its files.
func (db *DB) exportOne(ctx context.Context, dir string, src source, e Export) ([]ExportFile, error) {
	place := filepath.Join(dir, src.name+"."+string(e.Format))
	if e.PartitionBy != "" {
		place = filepath.Join(dir, src.name)
	}
	about := ExportFile{Source: src.name}
	err := db.readAnswer(ctx, src.query.ofAnyLength(true), e.Values, func(answer array.RecordReader) error {
		columns := columnsOf(answer.Schema())
		about.Columns = exportColumns(columns)
		var err error
		if e.Format == CSV {
			about.Rows, err = writeCSV(answer, place, !e.Raw)
			return err
		}
		if e.PartitionBy != "" {
			if err := partitionColumn(columns, e.PartitionBy); err != nil {
				return err
			}
		}
		about.Rows, err = db.writeParquet(ctx, answer, place, parquetOptions{partitionBy: e.PartitionBy, plainJSON: true})
		return err
	})
	if err != nil {
		return nil, err
	}
	return describeFiles(dir, place, about)
}

func writeCSV(answer array.RecordReader, file string, defuse bool) (rows int64, err error) {
	f, err := os.Create(file)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return copyRows(answer, &csvWriter{out: bufio.NewWriter(f), defuse: defuse})
}

// parquetOptions choose how an answer becomes Parquet.
type parquetOptions struct {
	// partitionBy makes a folder with a folder for each value of the column.
	partitionBy string
	// plainJSON writes JSON as text, without the mark that some readers take
	// for binary.
	plainJSON bool
}

// copyTo is the statement that writes the view answer.
func (o parquetOptions) copyTo(place string) string {
	// A view on Arrow may only be read whole and as it is.
	statement := "COPY (SELECT * FROM answer) TO " + warehouse.Literal(place) + " (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 122880"
	if o.partitionBy == "" {
		return statement + ", USE_TMP_FILE false)"
	}
	return statement + fmt.Sprintf(", PARTITION_BY (%s))", warehouse.Quote(o.partitionBy))
}

// allowPaths are the settings that open the one place that is written.
func (o parquetOptions) allowPaths(place string) []string {
	set := []string{"SET allowed_paths = [" + warehouse.Literal(place) + "]"}
	if o.partitionBy != "" {
		set = append(set, "SET allowed_directories = ["+warehouse.Literal(place+"/")+"]")
	}
	return set
}
