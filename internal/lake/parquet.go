package lake

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"

	"github.com/apache/arrow-go/v18/parquet/file"

	"placementsync/internal/warehouse"
)

// checkFile reads a published file and compares it with its manifest. The content that
// it returns is a checksum of all before the footer, which names the run: it is the same
// in every night in which the table did not change. hasIDs reports whether all columns
// have field ids.
func checkFile(dir string, want warehouse.ManifestFileSum) (path, content string, hasIDs bool, err error) {
	path = filepath.Join(dir, want.File)
	f, err := os.Open(path)
	if err != nil {
		return path, "", false, &DamagedError{path, "it cannot be read: " + err.Error()}
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	content, err = sumFile(f, want)
	if err != nil {
		return path, "", false, &DamagedError{path, err.Error()}
	}
	r, err := file.NewParquetReader(f)
	if err != nil {
		return path, "", false, &DamagedError{path, err.Error()}
	}
	columns := r.MetaData().Schema
	hasIDs = true
	for i := range columns.NumColumns() {
		hasIDs = hasIDs && columns.Column(i).SchemaNode().FieldID() >= 0
	}
	return path, content, hasIDs, nil
}

// sumFile compares the size and the checksum of a file, and returns the checksum of what
// stands before its footer.
func sumFile(f *os.File, want warehouse.ManifestFileSum) (string, error) {
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if info.Size() != want.Bytes {
		return "", fmt.Errorf("it has %d bytes, and %d in the manifest", info.Size(), want.Bytes)
	}
	// The footer is followed by its length in four bytes, and by PAR1.
	const tail = 8
	end := make([]byte, tail)
	if _, err := f.ReadAt(end, max(0, want.Bytes-tail)); err != nil {
		return "", err
	}
	body := want.Bytes - tail - int64(binary.LittleEndian.Uint32(end))
	if body < 0 {
		return "", errors.New("it is no Parquet file")
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, body)); err != nil {
		return "", err
	}
	before, err := h.(hash.Cloner).Clone()
	if err != nil {
		return "", err
	}
	if _, err := io.Copy(h, io.NewSectionReader(f, body, want.Bytes-body)); err != nil {
		return "", err
	}
	if sum := hex.EncodeToString(h.Sum(nil)); sum != want.SHA256 {
		return "", errors.New("its checksum is not the one of its manifest")
	}
	return hex.EncodeToString(before.Sum(nil)), nil
}
