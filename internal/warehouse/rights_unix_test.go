//go:build unix

package warehouse_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"placementsync/internal/ledger"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// setUmask changes the umask of the process until the end of the test. The test must not run in
// parallel with others.
func setUmask(t *testing.T, mask int) {
	t.Helper()
	oldMask := unix.Umask(mask)
	t.Cleanup(func() { unix.Umask(oldMask) })
}

func TestPublishedFilesHaveTheConfiguredModeOrFollowTheUmask(t *testing.T) {
	for name, c := range map[string]struct {
		umask             int
		configuredMode    fs.FileMode
		fileMode, dirMode string
	}{
		"umask 007":                  {0o007, 0, "-rw-r-----", "drwxr-x---"},
		"umask 077":                  {0o077, 0, "-rw-------", "drwx------"},
		"configured 0644, umask 077": {0o077, 0o644, "-rw-r--r--", "drwxr-xr-x"},
		"configured 0640, umask 022": {0o022, 0o640, "-rw-r-----", "drwxr-x---"},
	} {
		t.Run(name, func(t *testing.T) {
			setUmask(t, c.umask)
			w := openWith(t, warehouse.Config{PublishedMode: c.configuredMode})
			createRunFiles(t, w)
			if diff := cmp.Diff(wantModes(c.dirMode, c.fileMode), fileModes(t, w.Folder.Dir())); diff != "" {
				t.Errorf("modes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestANewPublishedModeChangesExistingFolders configures another mode for an existing warehouse. The
// next night must change the modes of the folders.
func TestANewPublishedModeChangesExistingFolders(t *testing.T) {
	setUmask(t, 0o022)
	w := openWith(t, warehouse.Config{PublishedMode: 0o600})
	createRunFiles(t, w)
	w = openWith(t, warehouse.Config{Dir: w.Folder.Dir(), PublishedMode: 0o644})
	lock, err := w.Lock("20261102T020000Z", firstNightAt.AddDate(0, 0, 1))
	harness.Must(t, err)
	defer lock.Release()
	publish(t, w, "20261102T020000Z", "two")
	for _, path := range []string{"versions", "versions/20261102T020000Z", "parquet", "parquet/product_listing_tags"} {
		if info, err := os.Stat(filepath.Join(w.Folder.Dir(), path)); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("%s has the mode %v (error %v), want 0755", path, info.Mode(), err)
		}
	}
}

// createRunFiles creates all files that a run creates.
func createRunFiles(t *testing.T, w *warehouse.Warehouse) {
	t.Helper()
	const run = "20261101T020000Z"
	lock, err := w.Lock(run, firstNightAt)
	harness.Must(t, err)
	defer lock.Release()
	harness.Must(t, w.RunLog.WriteResumableRun(warehouse.UnfinishedRun{Run: run, StartedAt: firstNightAt}))
	d := beginDraft(t, w, run, "one")
	harness.Must(t, d.WriteLedgerCopy(ledger.Run{ID: run}))
	harness.MustValue(d.Publish(t.Context(), slices.Clone(tableFiles)))
	harness.Must(t, w.RunLog.Record(ledger.Run{ID: run}))
	harness.MustValue(w.Folder.MakeInbox())
}

// wantModes returns the expected modes of the files that createRunFiles creates. dir and file are the
// modes of published folders and files. All other files are private.
func wantModes(dir, file string) map[string]string {
	want := map[string]string{}
	for names, mode := range map[string]string{
		"raw state state/inbox": "drwx------",
		"state/lock state/runs.jsonl state/unfinished.json versions/RUN/run.json":                                          "-rw-------",
		"versions versions/RUN parquet parquet/product_listing_tags parquet/product_listing_tags/snapshot_date=2026-11-01": dir,
		"versions/RUN/catalog.duckdb versions/RUN/manifest.json versions/RUN/product_listing_tags.parquet":                 file,
		"parquet/product_listing_tags/snapshot_date=2026-11-01/product_listing_tags.parquet":                               file,
		"parquet/.manifests": dir,
		"parquet/.manifests/index.json parquet/.manifests/snapshot_date=2026-11-01.json": file,
	} {
		for name := range strings.FieldsSeq(names) {
			want[name] = mode
		}
	}
	return want
}

func fileModes(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir || e.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := e.Info()
		name, _ := filepath.Rel(dir, path)
		got[strings.ReplaceAll(filepath.ToSlash(name), "20261101T020000Z", "RUN")] = fmt.Sprint(info.Mode())
		return err
	})
	harness.Must(t, err)
	return got
}

// TestUnpublishedFilesArePrivate begins a night and holds it. Its files have the mode of published files, so the folders
// around them must be closed to other users.
func TestUnpublishedFilesArePrivate(t *testing.T) {
	setUmask(t, 0o022)
	w := openWith(t, warehouse.Config{Dir: openNights(t, 2, "one").Folder.Dir(), PublishedMode: 0o644})
	d := beginDraft(t, w, secondNight, "two")
	draft, draftErr := os.Stat(d.Dir)
	harness.Must(t, errors.Join(draftErr, d.Discard(), holdNight(t, w, secondNight, "two")))
	held, err := os.Stat(w.Folder.Path("held"))
	if err != nil || held.Mode().Perm() != 0o700 || draft.Mode().Perm() != 0o700 {
		t.Errorf("the folders of a draft and of the held night have the modes %v and %v (%v), want 0700", draft.Mode(), held.Mode(), err)
	}
}
