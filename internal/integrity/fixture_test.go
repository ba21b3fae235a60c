package integrity_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"placementsync/internal/checksum"
	"placementsync/internal/ledger"
	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var night = time.Date(2026, 11, 1, 2, 0, 0, 0, time.UTC)

const (
	firstNight = "20261101T020000Z"
	table      = "product_listing_tags"
)

// open returns a warehouse with one table in a new folder. It keeps three versions.
func open(t *testing.T) *warehouse.Warehouse {
	t.Helper()
	w := openWith(t, warehouse.Config{Dir: t.TempDir()})
	lock, err := w.Lock("test", night) // creates the folders
	must(t, err)
	must(t, lock.Release())
	return w
}

func openWith(t *testing.T, c warehouse.Config) *warehouse.Warehouse {
	t.Helper()
	c.KeepVersions, c.Threads, c.Program = 3, 1, "test"
	if c.MemoryLimit == "" {
		c.MemoryLimit = "256MB"
	}
	c.Tables = slices.DeleteFunc(stream.Tables(stream.All()), func(x stream.Table) bool { return x.Name != table })
	w, err := warehouse.Open(c)
	must(t, err)
	return w
}

// openFailingAt opens the same warehouse with a disk that fails at a step.
func openFailingAt(t *testing.T, w *warehouse.Warehouse, step string) *warehouse.Warehouse {
	t.Helper()
	return openWith(t, warehouse.Config{Dir: w.Folder.Dir(), Step: func(name, _ string) error {
		if name == step {
			return fmt.Errorf("fail at %s: %w", name, syscall.EIO)
		}
		return nil
	}})
}

// beginDraft begins a version with one more row.
func beginDraft(t *testing.T, w *warehouse.Warehouse, run, tag string) *warehouse.Draft {
	t.Helper()
	at, _ := warehouse.RunTime(run)
	d, err := w.Begin(t.Context(), run, at)
	must(t, err)
	must(t, d.Exec(t.Context(),
		sqltext.SQL(fmt.Sprintf("INSERT INTO main.product_listing_tags (product_listing_id, position, name, valid_from, row_hash) "+
			"SELECT 'p', count(*) + 1, %s, %s, 1 FROM main.product_listing_tags", sqltext.Literal(tag), "TIMESTAMPTZ "+sqltext.Literal(d.At.Format(time.RFC3339Nano)))),
		sqltext.SQL("COPY main.product_listing_tags TO "+sqltext.Literal(filepath.Join(d.Dir, table+".parquet"))+" (FORMAT parquet)")))
	return d
}

// publish publishes a draft and adds its ledger entry.
func publish(t *testing.T, w *warehouse.Warehouse, d *warehouse.Draft) warehouse.Manifest {
	t.Helper()
	m, err := d.Publish(t.Context(), []warehouse.ManifestTable{{Name: table, Grade: "exact", FileSum: checksum.FileSum{File: table + ".parquet"}}})
	must(t, err)
	must(t, w.Ledger.Record(ledger.Run{ID: m.RunID, Outcome: ledger.Complete, SnapshotAt: m.SnapshotAt}))
	return m
}

// publishNights publishes one version for each tag, a day apart.
func publishNights(t *testing.T, w *warehouse.Warehouse, tags ...string) {
	t.Helper()
	for i, tag := range tags {
		publish(t, w, beginDraft(t, w, night.AddDate(0, 0, i).Format("20060102T150405Z"), tag))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
