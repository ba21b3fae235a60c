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

// Labels are what the draft's Parquet files say about themselves.
func (d *Draft) Labels() []Label { return fileLabels(d.Run, d.At) }

func fileLabels(run string, at time.Time) []Label {
	return []Label{{"run_id", run}, {"snapshot_at", at.Format(time.RFC3339Nano)}, {"schema_version", SchemaVersion()}}
}

// Carrier takes Parquet files over from the version that a draft was built on.
type Carrier struct {
	draft *Draft
	from  Manifest
}

// NewCarrier looks at the version before. One that another program or another
// schema has written gives nothing: its files may be laid out differently.
func (d *Draft) NewCarrier() *Carrier {
	m := d.w.Versions.manifestOrNone(d.Previous)
	if m.Program != d.w.cfg.Program || m.Schema != SchemaVersion() {
		m.Tables = nil
	}
	return &Carrier{d, m}
}

// Carry puts the file of a table whose rows are those of the version before into
// the draft, labelled with the draft's run and time. It is false when the file
// has to be written anew: there is none, or it is not what its manifest says, so
// that damage does not travel from night to night.
func (c *Carrier) Carry(table string) (bool, error) {
	for _, t := range c.from.Tables {
		if t.Name == table {
			return c.copyIfIntact(t.ManifestFileSum)
		}
	}
	return false, nil
}

func (c *Carrier) copyIfIntact(sum ManifestFileSum) (bool, error) {
	from, err := os.Open(filepath.Join(c.draft.w.Folder.VersionPath(c.from.RunID), sum.File))
	if err != nil {
		return false, fmt.Errorf("carry %s: %w", sum.File, err)
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
	return whole, nil
}

// copyRelabeled writes a file with labels of its own. It is false when what it has read is
// not what the manifest tells of.
func (c *Carrier) copyRelabeled(from *os.File, to string, sum ManifestFileSum) (whole bool, err error) {
	old, ok, err := readFooter(from, sum.Bytes)
	if err != nil || !ok {
		return false, err
	}
	next, ok := relabelFooter(old, fileLabels(c.from.RunID, c.from.SnapshotAt), c.draft.Labels())
	if !ok {
		return false, nil
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, publicFile)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	seen, end := sha256.New(), footerEnding(old)
	body := io.NewSectionReader(from, 0, sum.Bytes-int64(len(end)))
	if _, err := io.Copy(io.MultiWriter(out, seen), body); err != nil {
		return false, err
	}
	seen.Write(end) // never fails
	if hex.EncodeToString(seen.Sum(nil)) != sum.SHA256 {
		return false, nil
	}
	_, err = out.Write(footerEnding(next))
	return err == nil, err
}

// A Parquet file ends with its footer, the length of that in four bytes, and a
// name of four bytes.
const (
	parquetMagic = "PAR1"
	footerTail   = 4 + len(parquetMagic)
)

// footerEnding is a footer with what follows it.
func footerEnding(footer []byte) []byte {
	end := binary.LittleEndian.AppendUint32(bytes.Clone(footer), uint32(len(footer)))
	return append(end, parquetMagic...)
}

// readFooter is false for what is no Parquet file of that size.
func readFooter(f *os.File, size int64) (footer []byte, ok bool, err error) {
	info, err := f.Stat()
	if err != nil || info.Size() != size || size < int64(footerTail) {
		return nil, false, err
	}
	tail := make([]byte, footerTail)
	if _, err := f.ReadAt(tail, size-int64(footerTail)); err != nil {
		return nil, false, err
	}
	start := size - int64(footerTail) - int64(binary.LittleEndian.Uint32(tail))
	if start < 0 || string(tail[4:]) != parquetMagic {
		return nil, false, nil
	}
	footer = make([]byte, binary.LittleEndian.Uint32(tail))
	_, err = f.ReadAt(footer, start)
	return footer, err == nil, err
}

// relabelFooter replaces the values of labels in a footer. It is false unless each is
// there once. Nothing in a footer counts bytes of what lies behind in it, so that
// a value may change its length.
func relabelFooter(footer []byte, old, next []Label) ([]byte, bool) {
	for i := range old {
		was := old[i].thriftBytes()
		if bytes.Count(footer, was) != 1 {
			return nil, false
		}
		footer = bytes.Replace(footer, was, next[i].thriftBytes(), 1)
	}
	return footer, true
}

// thriftBytes is the label as a footer has it: a struct of two texts in Thrift's
// compact protocol (parquet.thrift, KeyValue), each a field with its number one
// above the last and of the type "binary", a length and the bytes; then a zero.
func (l Label) thriftBytes() []byte {
	const nextBinary = 1<<4 | 8
	var b []byte
	for _, text := range []string{l.Key, l.Value} {
		b = binary.AppendUvarint(append(b, nextBinary), uint64(len(text)))
		b = append(b, text...)
	}
	return append(b, 0)
}
