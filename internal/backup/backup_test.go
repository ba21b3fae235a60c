package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/bucket"
	"placementsync/internal/checksum"
	"placementsync/internal/ledger"
	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
	"placementsync/internal/testing/s3sim"
	"placementsync/internal/warehouse"
)

const table = "product_listing_tags"

// beginning is the time at which each test begins.
var beginning = time.Date(2026, 11, 1, 2, 0, 0, 0, time.UTC)

// fixture is a warehouse with one table, and its bucket. Each night and each backup is a day after the one before.
type fixture struct {
	t      *testing.T
	clock  atomic.Int64 // Unix nanoseconds: the store reads it while a test changes it
	store  *s3sim.Server
	config Config
}

func (f *fixture) now() time.Time { return time.Unix(0, f.clock.Load()).UTC() }

// pass changes the time of the warehouse and of the store.
func (f *fixture) pass(d time.Duration) { f.clock.Add(int64(d)) }

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, store: s3sim.New("store")}
	f.clock.Store(beginning.UnixNano())
	f.store.Now = f.now
	server := httptest.NewServer(f.store)
	t.Cleanup(server.Close)
	bucket, err := bucket.Open(t.Context(), bucket.Config{Endpoint: server.URL, Region: "eu-test-1", PathStyle: true,
		AccessKey: s3sim.AccessKey, SecretKey: s3sim.SecretKey, MaxPause: time.Millisecond}, "store", "a")
	harness.Must(t, err)
	f.config = Config{Warehouse: openWarehouse(t), Bucket: bucket, Program: "test", Now: f.now, Log: slog.New(slog.DiscardHandler)}
	return f
}

func openWarehouse(t *testing.T) *warehouse.Warehouse {
	t.Helper()
	others := slices.DeleteFunc(stream.Tables(stream.All()), func(definition stream.Table) bool { return definition.Name != table })
	return warehouse.New(warehouse.Config{Dir: filepath.Join(t.TempDir(), "w"), KeepVersions: 3, Threads: 1, MemoryLimit: "256MB", Program: "test", Tables: others})
}

// sharedDir contains a copy of the warehouse after the first night, which is the same in all tests.
var sharedDir string

// TestMain creates sharedDir and checks that backups leak no goroutine.
func TestMain(m *testing.M) { harness.MainWithFolder(m, "backup-test-", &sharedDir) }

// copyWarehouse copies the folder of a warehouse to a new folder. cp keeps links, hard links and times.
func (f *fixture) copyWarehouse(from, to string) {
	f.t.Helper()
	if out, err := exec.CommandContext(f.t.Context(), "cp", "-a", from, to).CombinedOutput(); err != nil {
		f.t.Fatalf("copy the warehouse: %v: %s", err, out)
	}
}

// night publishes a version with one more row.
func (f *fixture) night() {
	f.t.Helper()
	f.pass(24 * time.Hour)
	w := f.config.Warehouse
	_, folderErr := os.Stat(w.Folder.Dir())
	sharedNight := filepath.Join(sharedDir, "w")
	isFirst := f.now().Equal(beginning.Add(24*time.Hour)) && errors.Is(folderErr, fs.ErrNotExist)
	if _, err := os.Stat(sharedNight); isFirst && err == nil {
		f.copyWarehouse(sharedNight, w.Folder.Dir())
		return
	}
	lock, err := w.Lock("test", f.now()) // creates the folders
	harness.Must(f.t, err)
	run := f.now().Format("20060102T150405Z")
	d, err := w.Begin(f.t.Context(), run, f.now())
	harness.Must(f.t, err)
	harness.Must(f.t, d.Exec(f.t.Context(),
		sqltext.SQL(fmt.Sprintf("INSERT INTO main.product_listing_tags (product_listing_id, position, name, valid_from, row_hash) "+
			"SELECT 'p', count(*) + 1, %s, %s, 1 FROM main.product_listing_tags", sqltext.Literal(run), "TIMESTAMPTZ "+sqltext.Literal(d.At.Format(time.RFC3339Nano)))),
		sqltext.SQL("COPY main.product_listing_tags TO "+sqltext.Literal(filepath.Join(d.Dir, table+".parquet"))+" (FORMAT parquet)")))
	harness.Must(f.t, os.WriteFile(filepath.Join(d.Dir, warehouse.MetaFile), []byte("changes of "+run), 0o600))
	d.RecordMetaBase(d.MetaBase())
	m, err := d.Publish(f.t.Context(), []warehouse.ManifestTable{{Name: table, Grade: "exact", FileSum: checksum.FileSum{File: table + ".parquet"}}})
	harness.Must(f.t, err)
	harness.Must(f.t, w.RunLog.Record(ledger.Run{ID: m.RunID, Outcome: ledger.Complete, SnapshotAt: m.SnapshotAt}))
	harness.Must(f.t, lock.Release())
	if isFirst {
		f.copyWarehouse(w.Folder.Dir(), sharedNight)
	}
}

func (f *fixture) backUp() Result {
	f.t.Helper()
	f.pass(24 * time.Hour)
	result, err := Run(f.t.Context(), f.config)
	harness.Must(f.t, err)
	return result
}

// manifests returns the names of the manifests in the bucket, oldest first.
func (f *fixture) manifests() []string {
	names := slices.Sorted(maps.Keys(f.store.Objects("store")))
	return slices.DeleteFunc(names, func(name string) bool { return !strings.Contains(name, "/manifests/") })
}

// contentOf returns the files of a backup in a warehouse, by name.
func contentOf(t *testing.T, w *warehouse.Warehouse) map[string]string {
	t.Helper()
	files, err := filesOf(w)
	harness.Must(t, err)
	content := map[string]string{}
	for _, file := range files {
		path, err := pathOf(w, file.File)
		harness.Must(t, err)
		data, err := os.ReadFile(path)
		harness.Must(t, err)
		content[file.File] = string(data)
	}
	return content
}

// TestManifestsAreWrittenLastAndRemovedFirst records the uploads of a backup, and fails the second of its removals. A
// manifest in the bucket must always describe a complete backup, also after a kill.
func TestManifestsAreWrittenLastAndRemovedFirst(t *testing.T) {
	f := newFixture(t)
	f.night()
	f.backUp()
	f.night()
	f.backUp()
	f.night()
	var uploads []string
	removals := 0
	f.store.FailWith(func(w http.ResponseWriter, r *http.Request) bool {
		switch r.Method {
		case http.MethodPut:
			uploads = append(uploads, filepath.Base(filepath.Dir(r.URL.Path)))
		case http.MethodPost:
			removals++
			if removals == 2 {
				s3sim.Refuse(w, http.StatusForbidden, "AccessDenied")
				return true
			}
		}
		return false
	})
	f.backUp()
	if diff := cmp.Diff([]string{"data", "manifests"}, slices.Compact(uploads)); diff != "" {
		t.Errorf("uploads (-want +got):\n%s", diff)
	}
	if n := len(f.manifests()); removals != 2 || n != 2 {
		t.Errorf("%d manifests are left after the first of %d removals, want 2 after the first of 2", n, removals)
	}
	f.night()
	removals = 1 // the next removal, of manifests, fails
	if f.backUp(); removals != 2 {
		t.Errorf("after a failed removal of manifests, %d more were sent, want none: the manifests still list the objects", removals-2)
	}
}

// TestTheNewestTwoBackupsAreKept makes four backups, each with files of its own. The last two must be restorable. The
// objects of the others must be gone.
func TestTheNewestTwoBackupsAreKept(t *testing.T) {
	f := newFixture(t)
	var contents []map[string]string
	sent, removed := 0, 0
	for range 4 {
		f.night()
		result := f.backUp()
		sent, removed = sent+result.Sent, removed+result.Removed
		contents = append(contents, contentOf(t, f.config.Warehouse))
	}
	if left := len(f.store.Objects("store")) - len(f.manifests()); removed == 0 || sent-removed != left {
		t.Errorf("%d objects were sent, %d were removed and %d are left, want old objects removed", sent, removed, left)
	}
	for back := range 2 {
		c := f.config
		c.Warehouse = openWarehouse(t)
		restored, err := Restore(t.Context(), c)
		if err != nil || len(restored.Damaged) > 0 {
			t.Fatalf("backup %d from the end: %v, damaged files %v; want all files", back+1, err, restored.Damaged)
		}
		if diff := cmp.Diff(contents[len(contents)-1-back], contentOf(t, c.Warehouse)); diff != "" {
			t.Errorf("files of backup %d from the end (-want +got):\n%s", back+1, diff)
		}
		manifests := f.manifests()
		f.store.Change("store", func(objects map[string][]byte) {
			delete(objects, manifests[len(manifests)-1]) // Restore then uses the manifest before
		})
	}
}

// TestAFailedBackupKeepsTheOneBefore fails the upload of the manifest of a second backup. The first backup must be restorable, and
// the next attempt must send only what is missing.
func TestAFailedBackupKeepsTheOneBefore(t *testing.T) {
	f := newFixture(t)
	f.night()
	f.backUp()
	first := contentOf(t, f.config.Warehouse)
	f.night()
	f.store.FailWith(func(w http.ResponseWriter, r *http.Request) bool {
		isManifest := r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/")
		if isManifest {
			s3sim.Refuse(w, http.StatusForbidden, "AccessDenied")
		}
		return isManifest
	})
	f.pass(24 * time.Hour)
	if _, err := Run(t.Context(), f.config); err == nil {
		t.Fatal("the backup succeeded without its manifest")
	}
	c := f.config
	c.Warehouse = openWarehouse(t)
	_, err := Restore(t.Context(), c)
	harness.Must(t, err)
	if diff := cmp.Diff(first, contentOf(t, c.Warehouse)); diff != "" {
		t.Errorf("files of the first backup (-want +got):\n%s", diff)
	}
	f.store.FailWith(nil)
	if result := f.backUp(); result.Sent != 0 {
		t.Errorf("the next attempt sent %d files, want only the manifest", result.Sent)
	}
}

// TestRecentObjectsAreKept stores two objects that no manifest names, 23 and 25 hours before a backup. The newer one
// may belong to a backup whose manifest is not written yet. The clock of this machine must not matter.
func TestRecentObjectsAreKept(t *testing.T) {
	f := newFixture(t)
	f.night()
	f.pass(-time.Hour) // backUp adds 24 hours
	f.store.Change("store", func(objects map[string][]byte) { objects["a/data/old"] = []byte("x") })
	f.pass(2 * time.Hour)
	f.store.Change("store", func(objects map[string][]byte) { objects["a/data/recent"] = []byte("x") })
	f.pass(-time.Hour)
	f.config.Now = func() time.Time { return f.now().AddDate(0, 0, 2) } // a wrong clock, unlike that of the server
	f.backUp()
	objects := f.store.Objects("store")
	if objects["a/data/old"] != nil || objects["a/data/recent"] == nil {
		t.Errorf("kept: the object of 25 hours %v, that of 23 hours %v; want only that of 23 hours", objects["a/data/old"] != nil, objects["a/data/recent"] != nil)
	}
}
