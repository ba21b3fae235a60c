package warehouse_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"placementsync/internal/ledger"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

const (
	tagsTable = "product_listing_tags"
	tagsFile  = tagsTable + ".parquet"
)

// publishFull publishes a night with all kinds of files, including the ledger line and the changes of the
// schemas meta and past. tag is the value in the new row.
func publishFull(t *testing.T, w *warehouse.Warehouse, run, tag string) warehouse.Manifest {
	t.Helper()
	d := beginDraft(t, w, run, tag)
	m, err := publishDraft(t, w, d)
	harness.Must(t, err)
	return m
}

// publishDraft publishes a draft with its ledger line and its file of changes.
func publishDraft(t *testing.T, w *warehouse.Warehouse, d *warehouse.Draft) (warehouse.Manifest, error) {
	t.Helper()
	r := ledger.Run{ID: d.Run, Kind: d.Kind, Outcome: ledger.Complete, SnapshotAt: d.At}
	harness.Must(t, d.WriteLedgerCopy(r))
	harness.Must(t, os.WriteFile(filepath.Join(d.Dir, warehouse.MetaFile), []byte("changes of the schemas meta and past in run "+d.Run), 0o600))
	d.RecordMetaBase(d.MetaBase())
	m, err := d.Publish(t.Context(), slices.Clone(tableFiles))
	if err == nil || errors.As(err, new(*warehouse.AfterSwitchError)) {
		err = errors.Join(err, w.RunLog.Record(r))
	}
	return m, err
}

// path joins names below the folder of a warehouse.
func path(w *warehouse.Warehouse, names ...string) string {
	return filepath.Join(append([]string{w.Folder.Dir()}, names...)...)
}

// seriesFile returns the path of the Parquet file of a day.
func seriesFile(w *warehouse.Warehouse, day string) string {
	return path(w, "parquet", tagsTable, "snapshot_date="+day, tagsFile)
}

// contentOf returns the content of a file, or "" if the file does not exist.
func contentOf(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if !errors.Is(err, fs.ErrNotExist) {
		harness.Must(t, err)
	}
	return string(data)
}

func exists(t *testing.T, file string) bool {
	t.Helper()
	_, err := os.Lstat(file)
	if !errors.Is(err, fs.ErrNotExist) {
		harness.Must(t, err)
	}
	return err == nil
}

// openRecording opens w again and records the names of its disk operations.
func openRecording(t *testing.T, w *warehouse.Warehouse) (recording *warehouse.Warehouse, steps *[]string) {
	t.Helper()
	steps = new([]string)
	return openWith(t, warehouse.Config{Dir: w.Folder.Dir(), Step: func(name, _ string) error {
		*steps = append(*steps, name)
		return nil
	}}), steps
}
