package warehouse

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"placementsync/internal/checksum"
	"placementsync/internal/dictionary"
)

// Label is an entry in the metadata of a Parquet file.
type Label struct{ Key, Value string }

// Keys of labels. Releases up to 1.0.0 wrote run_id and snapshot_at instead of changed_run and
// changed_at.
const (
	changedRunLabel = "changed_run"
	changedAtLabel  = "changed_at"
	schemaLabel     = "schema_version"
)

// Labels returns the labels of the Parquet files that the draft writes. They contain the run and the
// time of the draft, and the schema version. Later snapshots with the same content copy the file, so
// its labels name the run that last changed the content.
func (d *Draft) Labels() []Label {
	return []Label{{changedRunLabel, d.Run}, {changedAtLabel, d.At.Format(time.RFC3339Nano)}, {schemaLabel, dictionary.SchemaVersion()}}
}

// Carry copies the Parquet file of an unchanged table from Previous into the draft, byte for byte. It
// does not link the file, because repairs rely on independent copies. Carry returns false if the file
// must be written again. This is the case if another program or schema version wrote the file, because
// its layout may differ, or if the file is damaged. DamagedFiles lists the damaged files.
func (d *Draft) Carry(table string) (bool, error) {
	entry := d.base.Table(table)
	if entry.File == "" || d.base.Program != d.w.cfg.Program || d.base.Schema != dictionary.SchemaVersion() {
		return false, nil
	}
	path, to := filepath.Join(d.w.Folder.VersionPath(d.Previous), entry.File), filepath.Join(d.Dir, entry.File)
	problem := ""
	err := d.w.Folder.disk.CopyWith(path, to, func(dst, src *os.File) error {
		sum, err := checksum.Copy(dst, src)
		if err == nil && sum != entry.SHA256 {
			problem = checksum.WrongSum
		}
		return err
	})
	if err != nil {
		// If the file is intact, the error was caused by writing the copy.
		problem = checksum.NewCache(context.Background()).Compare(path, entry.FileSum, true)
	}
	if problem != "" {
		d.damaged = append(d.damaged, d.w.Folder.DamagedErr(path, problem, nil))
		err = d.w.Folder.disk.Remove(to)
	}
	if err != nil {
		return false, fmt.Errorf("copy the unchanged %s: %w", entry.File, err)
	}
	if problem == "" {
		d.carried[table] = entry
	}
	return problem == "", nil
}

// DamagedFiles returns the damaged files of the previous version that Carry did not copy. The
// draft contains newly written files instead.
func (d *Draft) DamagedFiles() []*DamagedError { return d.damaged }
