package warehouse

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"placementsync/internal/checksum"
	"placementsync/internal/dictionary"
)

// Label is an entry of the metadata of a Parquet file.
type Label struct{ Key, Value string }

// Keys of the metadata of a Parquet file. Releases up to 1.0.0 wrote run_id and
// snapshot_at instead of the first two, and rewrote them every night.
const (
	changedRunLabel = "changed_run"
	changedAtLabel  = "changed_at"
	schemaLabel     = "schema_version"
)

// Labels are the metadata of the Parquet files that the draft writes: the snapshot in which
// their content changed, and the schema that they were written for. The manifest says which
// later snapshots have the same file.
func (d *Draft) Labels() []Label {
	return []Label{{changedRunLabel, d.Run}, {changedAtLabel, d.At.Format(time.RFC3339Nano)}, {schemaLabel, dictionary.SchemaVersion()}}
}

// Carrier copies Parquet files from the version that a draft was built on.
type Carrier struct {
	draft *Draft
	from  Manifest
}

// NewCarrier makes a Carrier. It carries nothing when the earlier version was written by
// another program or schema: its files may have another layout.
func (d *Draft) NewCarrier() *Carrier {
	m := d.w.Versions.manifestOrNone(d.Previous)
	if m.Program != d.w.cfg.Program || m.Schema != dictionary.SchemaVersion() {
		m.Tables = nil
	}
	return &Carrier{d, m}
}

// Carry copies the file of an unchanged table into the draft, byte for byte, so that its
// checksum stays. It is a copy and no link: two files can be damaged independently, and
// repairs rely on that. Carry returns false when the file must be written anew: it is of
// another layout, or it is damaged, which DamagedFiles then names.
func (c *Carrier) Carry(table string) (bool, error) {
	entry := c.from.Table(table)
	if entry.File == "" {
		return false, nil
	}
	path := filepath.Join(c.draft.w.Folder.VersionPath(c.from.RunID), entry.File)
	from, err := os.Open(path)
	if err != nil {
		c.draft.addDamagedFile(path, ProblemOf(err))
		return false, nil
	}
	defer from.Close()
	to := filepath.Join(c.draft.Dir, entry.File)
	disk, problem := c.draft.w.Folder.disk, ""
	err = disk.Do("copy", to, func() (err error) {
		problem, err = copyWhole(from, to, entry.FileSum)
		return err
	})
	if err == nil && problem != "" {
		c.draft.addDamagedFile(path, problem)
		err = disk.Remove(to)
	}
	if err != nil {
		return false, fmt.Errorf("copy the unchanged %s: %w", entry.File, err)
	}
	if problem != "" {
		return false, nil
	}
	c.draft.carried[table] = entry
	return true, nil
}

func (d *Draft) addDamagedFile(path, problem string) {
	d.damaged = append(d.damaged, d.w.Folder.DamagedErr(path, problem, nil))
}

// DamagedFiles are the damaged files of the previous version that Carry did not copy. The draft
// has files of its own in their place.
func (d *Draft) DamagedFiles() []*DamagedError { return d.damaged }

// copyWhole copies a file and says what is wrong with it; "" means that its bytes are those
// of the checksum. An error is one of writing.
func copyWhole(from *os.File, to string, want checksum.FileSum) (problem string, err error) {
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, publicFile)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	source := &failingReader{Reader: from}
	sum, err := checksum.Copy(out, source)
	switch {
	case source.err != nil:
		return source.err.Error(), nil
	case err == nil && sum != want.SHA256:
		return checksum.WrongSum, nil
	}
	return "", err
}

// failingReader keeps the error of reading, to tell it from an error of writing.
type failingReader struct {
	io.Reader
	err error
}

func (r *failingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}
