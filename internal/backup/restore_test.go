package backup

import (
	"errors"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/bucket"
	"placementsync/internal/checksum"
	"placementsync/internal/ledger"
	"placementsync/internal/testing/harness"
	"placementsync/internal/testing/s3sim"
	"placementsync/internal/warehouse"
)

// refuse makes the requests of a method whose path contains a text fail, and no other requests.
func (f *fixture) refuse(method, text string, status int, code string) {
	f.store.FailWith(func(w http.ResponseWriter, r *http.Request) bool {
		isRefused := r.Method == method && strings.Contains(r.URL.Path, text)
		if isRefused {
			s3sim.Refuse(w, status, code)
		}
		return isRefused
	})
}

// newTarget returns the configuration of a restore into a new folder.
func (f *fixture) newTarget() Config {
	c := f.config
	c.Warehouse = openWarehouse(f.t)
	return c
}

// fileOfTable returns the only Parquet file of the newest backup.
func (f *fixture) fileOfTable() checksum.FileSum {
	m, err := f.config.readNewest(f.t.Context())
	harness.Must(f.t, err)
	return m.Files[slices.IndexFunc(m.Files, func(s checksum.FileSum) bool { return filepath.Ext(s.File) == ".parquet" })]
}

// damage changes the first byte of an object or, with isShort, removes it.
func damage(data []byte, isShort bool) []byte {
	damaged := slices.Clone(data)
	damaged[0]++
	if isShort {
		damaged = damaged[1:]
	}
	return damaged
}

// TestRestores restores a backup into new folders, while the bucket fails, and after it lost data.
func TestRestores(t *testing.T) {
	f := newFixture(t)
	f.night()
	harness.Must(t, f.config.Warehouse.Folder.StateFile("note.json").Write("backed up"))
	harness.Must(t, os.WriteFile(f.config.Warehouse.Folder.Path("state", "empty"), nil, 0o600))
	f.backUp()
	want, file := contentOf(t, f.config.Warehouse), f.fileOfTable()
	object, intact := "a/"+dataName(file), f.store.Objects("store")
	check := func(t *testing.T, w *warehouse.Warehouse) {
		t.Helper()
		if diff := cmp.Diff(want, contentOf(t, w)); diff != "" {
			t.Errorf("restored files (-want +got):\n%s", diff)
		}
		harness.Must(t, w.Folder.CheckRestored())
	}
	t.Run("the ledger is the last file", func(t *testing.T) {
		defer func() { f.store.FailWith(nil) }()
		c := f.newTarget()
		ledgerObject := "/" + dataName(checksum.SumText("", []byte(want[ledgerName(c.Warehouse)])))
		f.store.FailWith(func(_ http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, ledgerObject) {
				for name := range want {
					if _, err := os.Stat(c.Warehouse.Folder.Path(name)); err != nil && name != ledgerName(c.Warehouse) {
						t.Errorf("%s is missing when the ledger is fetched", name)
					}
				}
			}
			return false
		})
		restored, err := Restore(t.Context(), c)
		harness.Must(t, err)
		if restored.Program != "test" {
			t.Errorf("the manifest names the program %q, want the version test", restored.Program)
		}
		if len(restored.Files) != len(want) || restored.Fetched != len(want) ||
			!slices.ContainsFunc(restored.Files, func(s checksum.FileSum) bool { return s.File == ledgerName(c.Warehouse) }) {
			t.Errorf("fetched %d of %v, want all %d files with the ledger", restored.Fetched, restored.Files, len(want))
		}
		check(t, c.Warehouse)
		if again, err := Restore(t.Context(), c); err != nil || again.Fetched != 0 {
			t.Errorf("a second restore fetched %d files (%v), want none", again.Fetched, err)
		}
	})
	t.Run("a failed restore is repeated", func(t *testing.T) {
		c := f.newTarget()
		f.refuse(http.MethodGet, "/"+object, http.StatusForbidden, "AccessDenied")
		_, err := Restore(t.Context(), c)
		f.store.FailWith(nil)
		if checkErr := c.Warehouse.Folder.CheckRestored(); err == nil || !errors.As(checkErr, new(*warehouse.UnfinishedRestoreError)) {
			t.Fatalf("the restore returned %v, and the next night %v; want errors of both", err, checkErr)
		} else if !strings.Contains(checkErr.Error(), "rebuild --from s3://store/a,") {
			t.Errorf("the next night returned %v, want the address from which the restore continues", checkErr)
		}
		if _, err := os.Stat(c.Warehouse.RunLog.Path()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("after the failed restore the ledger has the error %v, want no ledger: an earlier release could begin a night", err)
		}
		harness.Must(t, c.Warehouse.Folder.StateFile("note.json").Write("of a night that failed meanwhile"))
		harness.Must(t, c.Warehouse.RunLog.Record(ledger.Run{ID: "20261101T020000Z", Outcome: ledger.Failed}))
		_, err = Restore(t.Context(), c)
		harness.Must(t, err)
		check(t, c.Warehouse)
	})
	t.Run("a response with wrong bytes is repeated", func(t *testing.T) {
		defer func() { f.store.FailWith(nil) }()
		c, responses := f.newTarget(), 0
		f.store.FailWith(func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, object) || responses > 0 {
				return false
			}
			responses++
			_, _ = w.Write(make([]byte, file.Bytes+100))
			return true
		})
		_, err := Restore(t.Context(), c)
		harness.Must(t, err)
		check(t, c.Warehouse)
	})
	t.Run("a missing and a damaged object", func(t *testing.T) {
		defer f.store.Change("store", func(objects map[string][]byte) { maps.Copy(objects, intact) })
		changes := "a/" + dataName(checksum.SumText("", []byte("changes of 20261102T020000Z")))
		f.store.Change("store", func(objects map[string][]byte) {
			objects[object] = damage(intact[object], false)
			delete(objects, changes)
		})
		c := f.newTarget()
		restored, err := Restore(t.Context(), c)
		harness.Must(t, err)
		wantDamaged := []DamagedFile{{"parquet/.meta/20261102T020000Z.changes", "the object s3://store/" + changes + " is missing"},
			{file.File, "the bytes of the object s3://store/" + object + " do not match its checksum"}}
		if diff := cmp.Diff(wantDamaged, restored.Damaged); diff != "" || restored.Fetched != len(want)-2 {
			t.Errorf("fetched %d files, want %d; damaged files (-want +got):\n%s", restored.Fetched, len(want)-2, diff)
		}
		harness.Must(t, c.Warehouse.Folder.CheckRestored())
	})
}

// TestRestoreKeepsOtherFiles restores a backup into folders with files that are not from it. Each must be refused.
func TestRestoreKeepsOtherFiles(t *testing.T) {
	f := newFixture(t)
	f.night()
	f.backUp()
	t.Run("a folder with a warehouse", func(t *testing.T) {
		if _, err := Restore(t.Context(), f.config); err == nil || !strings.Contains(err.Error(), "it has a warehouse; nothing was changed") {
			t.Errorf("got %v, want an error", err)
		}
	})
	t.Run("a different file of the series", func(t *testing.T) {
		c := f.newTarget()
		path := c.Warehouse.Folder.Path(f.fileOfTable().File)
		harness.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		harness.Must(t, os.WriteFile(path, []byte("of the user"), 0o600))
		_, err := Restore(t.Context(), c)
		if kept, _ := os.ReadFile(path); err == nil || string(kept) != "of the user" {
			t.Errorf("the restore returned %v and wrote %q; want an error and the file of the user", err, kept)
		}
	})
	t.Run("the ledger of another warehouse", func(t *testing.T) {
		c := f.newTarget()
		lock, err := c.Warehouse.Lock("test", f.now()) // creates the folders
		harness.Must(t, errors.Join(err, lock.Release()))
		harness.Must(t, c.Warehouse.RunLog.Record(ledger.Run{ID: "20260101T020000Z", Outcome: ledger.Complete, SnapshotAt: f.now()}))
		before := contentOf(t, c.Warehouse)
		_, err = Restore(t.Context(), c)
		if diff := cmp.Diff(before, contentOf(t, c.Warehouse)); err == nil || diff != "" {
			t.Errorf("the restore returned %v, want an error and no change (-before +after):\n%s", err, diff)
		}
	})
}

func TestABackupWithoutALedgerIsNotRestored(t *testing.T) {
	f := newFixture(t)
	_, err := writeManifest(t.Context(), f.config.Bucket, Manifest{Kind: manifestKind, Format: manifestFormat, At: f.now()})
	harness.Must(t, err)
	if _, err := Restore(t.Context(), f.config); err == nil || !strings.Contains(err.Error(), "contains no ledger; nothing was changed") {
		t.Errorf("got %v, want an error", err)
	}
}

// TestVerifyListsAllDamagedObjects damages three objects in three ways. Wrong bytes are found only if the bytes are read.
func TestVerifyListsAllDamagedObjects(t *testing.T) {
	f := newFixture(t)
	f.night()
	f.backUp()
	m, err := f.config.readNewest(t.Context())
	harness.Must(t, err)
	copyOfDay := slices.IndexFunc(m.Files, func(s checksum.FileSum) bool { return s.File == "parquet/.meta/20261102T020000Z.json" })
	m.Files = slices.Delete(m.Files, copyOfDay, copyOfDay+1) // the manifest of the day has the same object
	f.store.Change("store", func(objects map[string][]byte) {
		delete(objects, "a/"+dataName(m.Files[0]))
		for i, isShort := range []bool{true, false} {
			name := "a/" + dataName(m.Files[i+1])
			objects[name] = damage(objects[name], isShort)
		}
	})
	sizes := []string{"its object is missing", "its object has "}
	for _, c := range []struct {
		readData bool
		want     []string
		fetched  int
	}{{false, sizes, 0}, {true, append(sizes, "its bytes do not match"), len(m.Files) - 3}} {
		v, err := Verify(t.Context(), f.config, c.readData)
		harness.Must(t, err)
		v.Damaged = slices.DeleteFunc(v.Damaged, func(d DamagedFile) bool { return d.File == "parquet/.meta/20261102T020000Z.json" })
		isWanted := len(v.Damaged) == len(c.want) && v.Fetched == c.fetched
		for i := range min(len(v.Damaged), len(c.want)) {
			isWanted = isWanted && v.Damaged[i].File == m.Files[i].File && strings.HasPrefix(v.Damaged[i].Problem, c.want[i])
		}
		if !isWanted {
			t.Errorf("with the bytes %v: %v, and %d intact objects were read; want %q of %v, and %d",
				c.readData, v.Damaged, v.Fetched, c.want, m.Files[:len(c.want)], c.fetched)
		}
	}
	f.refuse(http.MethodGet, "/data/", http.StatusForbidden, "AccessDenied")
	if _, err := Verify(t.Context(), f.config, true); !errors.Is(err, bucket.ErrDenied) {
		t.Errorf("with objects that cannot be read: got %v, want %v", err, bucket.ErrDenied)
	}
	f.store.FailWith(nil)
	// The files are sorted, also if the manifest has another order.
	slices.Reverse(m.Files)
	m.At = f.now().AddDate(1, 0, 0)
	_, err = writeManifest(t.Context(), f.config.Bucket, m)
	harness.Must(t, err)
	f.store.Change("store", func(objects map[string][]byte) {
		maps.DeleteFunc(objects, func(name string, _ []byte) bool { return strings.Contains(name, "/data/") })
	})
	v, verifyErr := Verify(t.Context(), f.config, false)
	restored, restoreErr := Restore(t.Context(), f.newTarget())
	harness.Must(t, errors.Join(verifyErr, restoreErr))
	for _, damaged := range [][]DamagedFile{v.Damaged, restored.Damaged} {
		isSorted := slices.IsSortedFunc(damaged, func(x, y DamagedFile) int { return strings.Compare(x.File, y.File) })
		if len(damaged) != len(m.Files) || !isSorted {
			t.Errorf("the damaged files are %v, want all %d, sorted", damaged, len(m.Files))
		}
	}
}
