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

// Label is an entry in the metadata of a Parquet file.
type Label struct{ Key, Value string }

// Keys in the metadata of a Parquet file. Releases up to 1.0.0 wrote run_id and snapshot_at
// instead of the first two.
const (
	changedRunLabel = "changed_run"
	changedAtLabel  = "changed_at"
	schemaLabel     = "schema_version"
)

// Labels are the metadata of the draft's Parquet files: the snapshot in which their content last
// changed, and the schema version. Later snapshots with the same content have the same file.
func (d *Draft) Labels() []Label {
	return []Label{{changedRunLabel, d.Run}, {changedAtLabel, d.At.Format(time.RFC3339Nano)}, {schemaLabel, dictionary.SchemaVersion()}}
}

// Carrier copies Parquet files from the version that a draft was built on.
type Carrier struct {
	draft *Draft
	from  Manifest
}

// NewCarrier returns a Carrier. It copies no file of another program or schema version, because
// the layout may differ.
func (d *Draft) NewCarrier() *Carrier {
	m := d.w.Versions.manifestOrNone(d.Previous)
	if m.Program != d.w.cfg.Program || m.Schema != dictionary.SchemaVersion() {
		m.Tables = nil
	}
	return &Carrier{d, m}
}

// Carry copies the file of an unchanged table into the draft, byte for byte, so that its checksum
// is the same. It does not link it, because repairs rely on independent copies. It returns false
// if the file must be written again: its layout may differ, or it is damaged. DamagedFiles then
// contains it.
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
		problem, err = copyIntact(from, to, entry.FileSum)
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

// DamagedFiles returns the damaged files of the previous version that Carry did not copy. The
// draft contains newly written files instead.
func (d *Draft) DamagedFiles() []*DamagedError { return d.damaged }

// copyIntact copies a file and compares its checksum. problem describes an error of reading or a
// wrong checksum. err is an error of writing.
func copyIntact(from *os.File, to string, want checksum.FileSum) (problem string, err error) {
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, publicFile)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	source := &errorReader{Reader: from}
	sum, err := checksum.Copy(out, source)
	switch {
	case source.err != nil:
		return source.err.Error(), nil
	case err == nil && sum != want.SHA256:
		return checksum.WrongSum, nil
	}
	return "", err
}

// errorReader keeps the error of reading, to distinguish it from an error of writing.
type errorReader struct {
	io.Reader
	err error
}

func (r *errorReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}
