package lake

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/apache/arrow-go/v18/parquet/file"

	"placementsync/internal/checksum"
)

// checkFile compares a published file with its manifest. hasIDs reports whether all of its
// columns have field ids.
func checkFile(path string, want checksum.FileSum) (hasIDs bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return false, &DamagedError{path, "it cannot be read: " + err.Error()}
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	switch n, err := io.Copy(h, f); {
	case err != nil:
		return false, &DamagedError{path, err.Error()}
	case n != want.Bytes:
		return false, &DamagedError{path, fmt.Sprintf("it has %d bytes, but %d in its manifest", n, want.Bytes)}
	case hex.EncodeToString(h.Sum(nil)) != want.SHA256:
		return false, &DamagedError{path, "its checksum differs from its manifest"}
	}
	r, err := file.NewParquetReader(f)
	if err != nil {
		return false, &DamagedError{path, err.Error()}
	}
	columns := r.MetaData().Schema
	hasIDs = true
	for i := range columns.NumColumns() {
		hasIDs = hasIDs && columns.Column(i).SchemaNode().FieldID() >= 0
	}
	return hasIDs, nil
}

// sumBeforeFooter returns the checksum of a Parquet file without its footer. Release 1.0.0
// compared files by it, since each footer named the run. It is used until the table has the
// checksum of the whole file.
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
