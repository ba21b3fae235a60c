package warehouse

import (
	"path/filepath"
	"time"

	"placementsync/internal/dictionary"
)

// Label is a key with its value in the metadata of a Parquet file.
type Label struct{ Key, Value string }

// Labels returns the labels of the Parquet files that the draft writes. Later nights copy the file while its
// table is unchanged, so the run in the labels can be earlier than the run of the version. Releases up to 1.0.0
// wrote run_id and snapshot_at instead of changed_run and changed_at.
func (d *Draft) Labels() []Label {
	return []Label{{"changed_run", d.Run}, {"changed_at", d.At.Format(time.RFC3339Nano)}, {"schema_version", dictionary.SchemaVersion()}}
}

// CopyUnchanged copies the Parquet file of an unchanged table from Previous into the draft. It does not
// link the file, because repairs rely on independent copies. isCopied is false if the file must be written
// again: Previous has no such file, it could not be copied or is damaged, or another program version or schema
// version wrote it, because the layout may differ. Damage is found by a verify.
func (d *Draft) CopyUnchanged(table string) (isCopied bool, err error) {
	previous := d.previousManifest.Table(table)
	if previous.File == "" || d.previousManifest.Program != d.w.cfg.Program || d.previousManifest.Schema != dictionary.SchemaVersion() {
		return false, nil
	}
	from, to := filepath.Join(d.w.Folder.VersionPath(d.Previous), previous.File), filepath.Join(d.Dir, previous.File)
	if err := d.w.Folder.copyIntact(from, to, previous.FileSum); err != nil {
		// The caller writes the file. If the disk is full or failing, writing reports the error.
		return false, d.w.Folder.disk.Remove(to)
	}
	d.copied[table] = previous
	return true, nil
}
