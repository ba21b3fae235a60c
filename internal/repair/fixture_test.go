package repair_test

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"placementsync/internal/checksum"
	"placementsync/internal/ledger"
	"placementsync/internal/repair"
	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// shared contains warehouses, which tests only read and clone. The first use creates each of them.
var shared struct {
	dir     string
	created map[string]bool
}

// TestMain runs the tests, which must leak no goroutine, and removes the shared warehouses.
func TestMain(m *testing.M) {
	harness.MainWithFolder(m, "repair-test-", &shared.dir)
}

// share returns a shared warehouse. publish publishes its versions.
func share(t *testing.T, name string, cfg warehouse.Config, publish func(w *warehouse.Warehouse)) *warehouse.Warehouse {
	t.Helper()
	cfg.Dir = filepath.Join(shared.dir, name)
	w := warehouse.New(cfg)
	if !shared.created[name] {
		lock, err := w.Lock("test", firstNightAt) // creates the folders
		harness.Must(t, err)
		harness.Must(t, lock.Release())
		publish(w)
		if shared.created == nil {
			shared.created = map[string]bool{}
		}
		shared.created[name] = true
	}
	return w
}

// threeNights returns a shared warehouse with three full nights.
func threeNights(t *testing.T) *warehouse.Warehouse {
	t.Helper()
	return share(t, "three nights", configOf(warehouse.Config{}), func(w *warehouse.Warehouse) {
		publishFull(t, w, firstNight, secondNight, thirdNight)
	})
}

// twoNights returns a new warehouse with two full nights.
func twoNights(t *testing.T) *warehouse.Warehouse {
	t.Helper()
	return clone(t, share(t, "two nights", configOf(warehouse.Config{}), func(w *warehouse.Warehouse) {
		publishFull(t, w, firstNight, secondNight)
	}))
}

// firstNightAt is the snapshot time of the run firstNight.
var firstNightAt = time.Date(2026, 11, 1, 2, 0, 0, 0, time.UTC)

const (
	firstNight  = "20261101T020000Z"
	secondNight = "20261102T020000Z"
	thirdNight  = "20261103T020000Z"
	table       = "product_listing_tags"
)

// open returns a new warehouse that has one table and keeps three versions. As a pattern, its path would not match itself.
func open(t *testing.T) *warehouse.Warehouse {
	t.Helper()
	w := openWith(t, warehouse.Config{Dir: filepath.Join(t.TempDir(), "w[1]")})
	lock, err := w.Lock("test", firstNightAt) // creates the folders
	harness.Must(t, err)
	harness.Must(t, lock.Release())
	return w
}

func openWith(t *testing.T, c warehouse.Config) *warehouse.Warehouse {
	t.Helper()
	return warehouse.New(configOf(c))
}

// configOf returns a configuration with one table and three versions.
func configOf(c warehouse.Config) warehouse.Config {
	c.KeepVersions, c.Threads, c.Program = 3, 1, "test"
	if c.MemoryLimit == "" {
		c.MemoryLimit = "256MB"
	}
	c.Tables = slices.DeleteFunc(stream.Tables(stream.All()), func(definition stream.Table) bool { return definition.Name != table })
	return c
}

// repairConfig returns a configuration for repairs and checks of w at the time of the first night.
func repairConfig(w *warehouse.Warehouse) repair.Config {
	return repair.Config{Warehouse: configOf(warehouse.Config{Dir: w.Folder.Dir()}), Now: func() time.Time { return firstNightAt },
		Log: slog.New(slog.DiscardHandler)}
}

// openFailingAt opens w again, with a disk that fails at a step.
func openFailingAt(t *testing.T, w *warehouse.Warehouse, step string) *warehouse.Warehouse {
	t.Helper()
	return openWith(t, warehouse.Config{Dir: w.Folder.Dir(), Step: func(name, _ string) error {
		if name == step {
			return fmt.Errorf("fail at %s: %w", name, syscall.EIO)
		}
		return nil
	}})
}

// beginDraft begins a draft with one more row than the newest version.
func beginDraft(t *testing.T, w *warehouse.Warehouse, run, tag string) *warehouse.Draft {
	t.Helper()
	at, _ := warehouse.RunTime(run)
	d, err := w.Begin(t.Context(), run, at)
	harness.Must(t, err)
	addTag(t, d, tag)
	return d
}

// addTag adds a row to a draft and writes the Parquet file.
func addTag(t *testing.T, d *warehouse.Draft, tag string) {
	t.Helper()
	harness.Must(t, d.Exec(t.Context(),
		sqltext.SQL(fmt.Sprintf("INSERT INTO main.product_listing_tags (product_listing_id, position, name, valid_from, row_hash) "+
			"SELECT 'p', count(*) + 1, %s, %s, 1 FROM main.product_listing_tags", sqltext.Literal(tag), "TIMESTAMPTZ "+sqltext.Literal(d.At.Format(time.RFC3339Nano)))),
		sqltext.SQL("COPY main.product_listing_tags TO "+sqltext.Literal(filepath.Join(d.Dir, table+".parquet"))+" (FORMAT parquet)")))
}

// publish publishes a draft and adds its line to the ledger.
func publish(t *testing.T, w *warehouse.Warehouse, d *warehouse.Draft) warehouse.Manifest {
	t.Helper()
	m, err := d.Publish(t.Context(), []warehouse.ManifestTable{{Name: table, Grade: "exact", FileSum: checksum.FileSum{File: table + ".parquet"}}})
	harness.Must(t, err)
	harness.Must(t, w.RunLog.Record(ledger.Run{ID: m.RunID, Outcome: ledger.Complete, SnapshotAt: m.SnapshotAt}))
	return m
}

// publishNights publishes one version for each tag, a day apart.
func publishNights(t *testing.T, w *warehouse.Warehouse, tags ...string) {
	t.Helper()
	for i, tag := range tags {
		publish(t, w, beginDraft(t, w, firstNightAt.AddDate(0, 0, i).Format("20060102T150405Z"), tag))
	}
}

// publishFull publishes a version for each run. Each version has all kinds of files, including the
// ledger line and the file of changes.
func publishFull(t *testing.T, w *warehouse.Warehouse, runs ...string) {
	t.Helper()
	for _, run := range runs {
		d := beginDraft(t, w, run, run)
		harness.Must(t, d.WriteLedgerCopy(ledger.Run{ID: run, Outcome: ledger.Complete, SnapshotAt: d.At, Attempts: 1}))
		harness.Must(t, os.WriteFile(filepath.Join(d.Dir, warehouse.MetaFile), []byte("changes of "+run), 0o600))
		d.RecordMetaBase(d.MetaBase())
		publish(t, w, d)
	}
}

// clone copies a warehouse with its links and the times of its files, so that a test can damage the
// copy.
func clone(t *testing.T, w *warehouse.Warehouse) *warehouse.Warehouse {
	t.Helper()
	dir, copies := t.TempDir(), map[string]fs.FileInfo{}
	harness.Must(t, filepath.WalkDir(w.Folder.Dir(), func(path string, e fs.DirEntry, err error) error {
		name, relErr := filepath.Rel(w.Folder.Dir(), path)
		if err = errors.Join(err, relErr); err != nil || name == "." {
			return err
		}
		to := filepath.Join(dir, name)
		info, err := e.Info()
		switch {
		case err != nil:
			return err
		case e.IsDir():
			return os.Mkdir(to, 0o700)
		case e.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			return errors.Join(err, os.Symlink(target, to))
		}
		for copyPath, originalInfo := range copies {
			if os.SameFile(info, originalInfo) {
				return os.Link(copyPath, to)
			}
		}
		copies[to] = info
		data, err := os.ReadFile(path)
		return errors.Join(err, os.WriteFile(to, data, 0o600), os.Chtimes(to, info.ModTime(), info.ModTime()))
	}))
	return openWith(t, warehouse.Config{Dir: dir})
}

// contentOf returns the bytes of all files of a warehouse except the lock, by relative path.
func contentOf(t *testing.T, w *warehouse.Warehouse) map[string]string {
	t.Helper()
	content := map[string]string{}
	harness.Must(t, filepath.WalkDir(w.Folder.Dir(), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || e.Name() == "lock" {
			return err
		}
		data, err := os.ReadFile(path)
		content[w.Folder.Relative(path)] = string(data)
		return err
	}))
	return content
}
