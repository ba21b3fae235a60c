package warehouse

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Label is an entry of the metadata of a Parquet file.
type Label struct{ Key, Value string }

func fileLabels(run string, at time.Time) []Label {
	return []Label{{"run_id", run}, {"snapshot_at", at.Format(time.RFC3339Nano)}, {"schema_version", SchemaVersion()}}
}

// Carrier copies Parquet files from the version that a draft was built on.
type Carrier struct {
	draft *Draft
	from  Manifest
}

// Carry copies the file of an unchanged table into the draft, with the draft's run and
// time in its metadata. It returns false when the file must be written anew: it cannot be
// read, or its checksum is not that of its manifest, so that damage is not copied from
// night to night.
func (c *Carrier) Carry(table string) (bool, error) {
	was := c.from.tableNamed(table)
	sum := was.ManifestFileSum
	if sum.File == "" {
		return false, nil
	}
	from, err := os.Open(filepath.Join(c.draft.w.Folder.VersionPath(c.from.RunID), sum.File))
	if err != nil {
		return false, nil
	}
	to, whole := filepath.Join(c.draft.Dir, sum.File), false
	err = c.draft.w.Folder.disk.Do("copy", to, func() (err error) {
		whole, err = c.copyRelabeled(from, to, sum)
		return err
	})
	err = errors.Join(err, from.Close())
	if err == nil && !whole {
		err = c.draft.w.Folder.disk.Remove(to)
	}
	if err != nil {
		return false, fmt.Errorf("carry %s: %w", sum.File, err)
	}
	if whole {
		c.draft.carried[table] = was
	}
	return whole, nil
}

// copyRelabeled copies a file with the labels of the draft. It returns false when what
// it read is not what the manifest says.
func (c *Carrier) copyRelabeled(from *os.File, to string, sum ManifestFileSum) (whole bool, err error) {
	old, ok := readFooter(from, sum.Bytes)
	if !ok {
		return false, nil
	}
	// A value may change its length: no offset in a footer depends on it.
	next, labels := old, c.draft.Labels()
	for i, label := range fileLabels(c.from.RunID, c.from.SnapshotAt) {
		was := label.thriftBytes()
		if bytes.Count(next, was) != 1 {
			return false, nil
		}
		next = bytes.Replace(next, was, labels[i].thriftBytes(), 1)
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, publicFile)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	seen, end := sha256.New(), footerEnding(old)
	body := &watchedReader{Reader: io.NewSectionReader(from, 0, sum.Bytes-int64(len(end)))}
	if _, err := io.Copy(io.MultiWriter(out, seen), body); body.failed {
		return false, nil
	} else if err != nil {
		return false, err
	}
	seen.Write(end) // never fails
	if hex.EncodeToString(seen.Sum(nil)) != sum.SHA256 {
		return false, nil
	}
	_, err = out.Write(footerEnding(next))
	return err == nil, err
}

// watchedReader records that reading failed, and not writing.
type watchedReader struct {
	io.Reader
	failed bool
}

func (r *watchedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.failed = err != nil && err != io.EOF
	return n, err
}

// A Parquet file ends with its footer, the length of the footer in four bytes, and
// four bytes "PAR1".
const (
	parquetMagic = "PAR1"
	footerTail   = 4 + len(parquetMagic)
)

// footerEnding is a footer with the bytes that follow it.
func footerEnding(footer []byte) []byte {
	end := binary.LittleEndian.AppendUint32(bytes.Clone(footer), uint32(len(footer)))
	return append(end, parquetMagic...)
}

// readFooter returns false when the file is not a Parquet file of that size, or cannot be
// read.
func readFooter(f *os.File, size int64) (footer []byte, ok bool) {
	info, err := f.Stat()
	if err != nil || info.Size() != size || size < int64(footerTail) {
		return nil, false
	}
	tail := make([]byte, footerTail)
	if _, err := f.ReadAt(tail, size-int64(footerTail)); err != nil || string(tail[4:]) != parquetMagic {
		return nil, false
	}
	start := size - int64(footerTail) - int64(binary.LittleEndian.Uint32(tail))
	if start < 0 {
		return nil, false
	}
	footer = make([]byte, binary.LittleEndian.Uint32(tail))
	_, err = f.ReadAt(footer, start)
	return footer, err == nil
}

// thriftBytes is the label as a footer holds it: a struct of two texts in Thrift's
// compact protocol (parquet.thrift, KeyValue), each a field with the next number and the
// type "binary", a length and the bytes; then a zero.
func (l Label) thriftBytes() []byte {
	const nextBinary = 1<<4 | 8
	var b []byte
	for _, text := range []string{l.Key, l.Value} {
		b = binary.AppendUvarint(append(b, nextBinary), uint64(len(text)))
		b = append(b, text...)
	}
	return append(b, 0)
}
