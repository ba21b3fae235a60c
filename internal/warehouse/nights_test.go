package warehouse_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"placementsync/internal/ledger"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

const (
	tagsTable = "product_listing_tags"
	tagsFile  = tagsTable + ".parquet"
)

// shared is the folder with the warehouses that many tests begin with. The first of these tests creates each warehouse.
var shared struct {
	sync.Mutex
	dir string
}

// openShared returns a copy of the shared warehouse with a name, which create has filled.
func openShared(t *testing.T, versions int, name string, create func(w *warehouse.Warehouse)) *warehouse.Warehouse {
	t.Helper()
	w := openKeeping(t, versions)
	shared.Lock()
	defer shared.Unlock()
	original := filepath.Join(shared.dir, name)
	from, to := original, w.Folder.Dir()
	if !exists(t, original) {
		create(w)
		from, to = to, from
	}
	// cp keeps links, hard links and times.
	out, err := exec.CommandContext(t.Context(), "cp", "-a", from+"/.", to).CombinedOutput()
	if err != nil {
		t.Fatalf("copy the warehouse: %v: %s", err, out)
	}
	return w
}

// openNights returns a warehouse with one night for each tag, a day apart. It keeps a number of versions.
func openNights(t *testing.T, versions int, tags ...string) *warehouse.Warehouse {
	t.Helper()
	return openShared(t, versions, fmt.Sprint("nights ", versions, tags), func(w *warehouse.Warehouse) {
		for i, tag := range tags {
			publish(t, w, firstNightAt.AddDate(0, 0, i).Format("20060102T150405Z"), tag)
		}
	})
}

// openFullNights is like openNights, for nights of publishFull.
func openFullNights(t *testing.T, versions int, tags ...string) *warehouse.Warehouse {
	t.Helper()
	return openShared(t, versions, fmt.Sprint("full nights ", versions, tags), func(w *warehouse.Warehouse) {
		for i, tag := range tags {
			publishFull(t, w, firstNightAt.AddDate(0, 0, i).Format("20060102T150405Z"), tag)
		}
	})
}

// openHeld returns a warehouse with the first night, and with the second night held.
func openHeld(t *testing.T) *warehouse.Warehouse {
	t.Helper()
	return openShared(t, 2, "held", func(w *warehouse.Warehouse) {
		publish(t, w, firstNight, "one")
		harness.Must(t, holdNight(t, w, secondNight, "two"))
	})
}

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
