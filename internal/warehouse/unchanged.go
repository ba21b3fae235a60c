package warehouse

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"placementsync/internal/checksum"
	"placementsync/schema"
)

// Label is a key with its value in the metadata of a Parquet file.
type Label struct{ Key, Value string }

// Labels returns the labels of the Parquet files that the draft writes. Later nights copy the file while its
// table is unchanged, so the run in the labels can be earlier than the run of the version. Releases up to 1.0.0
// wrote run_id and snapshot_at instead of changed_run and changed_at.
func (d *Draft) Labels() []Label {
	return []Label{{"changed_run", d.Run}, {"changed_at", d.At.Format(time.RFC3339Nano)}, {"schema_version", schema.SchemaVersion()}}
}

// CopyUnchanged copies the Parquet file of an unchanged table from Previous into the draft. It does not
// link the file, because repairs rely on independent copies. isCopied is false if the file must be written
// again: Previous has no such file, the file is damaged, or another program version or schema version wrote it,
// because the layout may differ. Damage is reported by a verify.
func (d *Draft) CopyUnchanged(table string) (isCopied bool, err error) {
	previous := d.previousManifest.Table(table)
	if previous.File == "" || d.previousManifest.Program != d.w.cfg.Program || d.previousManifest.Schema != schema.SchemaVersion() {
		return false, nil
	}
	from, to := filepath.Join(d.w.Folder.VersionPath(d.Previous), previous.File), filepath.Join(d.Dir, previous.File)
	err = d.w.Folder.copyIntact(from, to, previous.FileSum)
	if err == nil {
		d.copied[table] = previous
		return true, nil
	}
	isDamaged := errors.As(err, new(*DamagedError))
	if !isDamaged { // reading the file may have failed, or writing the copy
		isDamaged = checksum.NewCache(context.Background()).Compare(from, previous.FileSum, true) != ""
	}
	if !isDamaged {
		return false, fmt.Errorf("copy the unchanged %s: %w", previous.File, err)
	}
	return false, d.w.Folder.disk.Remove(to)
}
