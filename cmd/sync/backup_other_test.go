package main

import (
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"placementsync/internal/testing/harness"
)

// verifyBackup returns the output of backup --verify.
func (d *bucketHarness) verifyBackup(t *testing.T, o backupOptions) (string, error) {
	t.Helper()
	start := d.out.Len()
	o.verify, o.readData = true, true
	err := runBackup(t.Context(), d.g, o)
	return d.out.String()[start:], err
}

// currentRun returns the id of the run that created the current version.
func (d *bucketHarness) currentRun(t *testing.T) string {
	t.Helper()
	wh, _, err := d.g.openWarehouse()
	harness.Must(t, err)
	run, _, err := wh.Versions.Latest()
	harness.Must(t, err)
	return run
}

// TestTrialUnreadableNewestManifest makes the manifest of the newest backup unreadable. The older
// backup must be used only with --older. While the manifest is unreadable, backups must remove no
// object, because the manifest may name it.
func TestTrialUnreadableNewestManifest(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	d := newBucketHarness(t)
	d.configureFewStreams(t)
	harness.Must(t, d.night(t))
	olderRun := d.currentRun(t)
	harness.Must(t, d.night(t))
	newestRun := d.currentRun(t)
	names := backupManifests(d.store.Objects("store"))
	damagedManifest := names[len(names)-1]
	d.store.Change("store", func(objects map[string][]byte) {
		objects[damagedManifest] = append([]byte(" "), objects[damagedManifest][1:]...)
	})
	if output, err := d.verifyBackup(t, backupOptions{}); err == nil || !strings.Contains(err.Error(), "s3://store/"+damagedManifest) || !strings.Contains(err.Error(), "--older") {
		t.Errorf("verify printed %q and ended with %v, want an error that names the manifest and --older", output, err)
	}
	if output, err := d.verifyBackup(t, backupOptions{older: true}); err != nil || !strings.Contains(output, "intact: "+olderRun) || !strings.Contains(output, damagedManifest) {
		t.Errorf("verify --older printed %q and ended with %v, want that %s is intact and %s damaged", output, err, olderRun, damagedManifest)
	}
	lostDir := d.dir() + ".lost"
	harness.Must(t, os.Rename(d.dir(), lostDir))
	if err := runRebuild(t.Context(), d.g, rebuildOptions{from: "s3://store/night"}); err == nil || !strings.Contains(err.Error(), "--older uses the newest readable backup") {
		t.Errorf("rebuild ended with %v, want an error that names --older", err)
	}
	harness.Must(t, runRebuild(t.Context(), d.g, rebuildOptions{from: "s3://store/night", older: true}))
	harness.Must(t, os.RemoveAll(d.dir()))
	harness.Must(t, os.Rename(lostDir, d.dir()))

	before := d.store.Objects("store")
	for range 2 {
		harness.Must(t, d.night(t))
	}
	after := d.store.Objects("store")
	for name := range before {
		if after[name] == nil {
			t.Errorf("%s was removed although a manifest could not be read", name)
		}
	}
	if !strings.Contains(d.out.String(), "no object is removed until this manifest can be read") {
		t.Error("the log does not explain why objects are kept")
	}
	if output, err := d.verifyBackup(t, backupOptions{}); err != nil || !strings.Contains(output, "intact: "+d.currentRun(t)) {
		t.Errorf("verify printed %q and ended with %v, want an intact backup newer than %s", output, err, newestRun)
	}
	d.store.Change("store", func(objects map[string][]byte) { delete(objects, damagedManifest) })
	harness.Must(t, d.night(t))
	after = d.store.Objects("store")
	removed := 0
	for name := range before {
		if after[name] == nil && strings.Contains(name, "/data/") {
			removed++
		}
	}
	if names := backupManifests(after); len(names) != 2 || removed == 0 {
		t.Errorf("%d manifests are left, want 2; %d old objects were removed, want some", len(names), removed)
	}
}

// TestTrialTwoMachinesWithOnePrefix makes two machines back up to the same prefix. The second machine
// runs its backup after the first has sent its files and before the first sends its manifest. The
// backup of the first must be whole. If objects are removed during a backup, this backup must fail,
// and the next backup must send them again.
func TestTrialTwoMachinesWithOnePrefix(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	second, first := newBucketHarness(t), newBucketHarness(t)
	store := second.store // both machines use this store
	first.service.Advance(3)
	store.Now = func() time.Time { return first.g.Now() }
	var beforeManifest func() // is called once, before a manifest is sent
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if work := beforeManifest; work != nil && r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/") {
			beforeManifest = nil
			work()
		}
		store.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	first.useServer(t, proxy.URL)
	beforeManifest = func() {
		if err := errors.Join(second.night(t), runBackup(t.Context(), second.g, backupOptions{})); err != nil {
			t.Errorf("the backup of the second machine: %v", err)
		}
	}
	harness.Must(t, first.night(t))
	if output, err := first.verifyBackup(t, backupOptions{}); err != nil || !strings.Contains(output, "intact: "+first.currentRun(t)) {
		t.Errorf("verify on the first machine printed %q and ended with %v, want its own intact backup", output, err)
	}

	before := backupManifests(store.Objects("store"))
	beforeManifest = func() {
		store.Change("store", func(objects map[string][]byte) {
			maps.DeleteFunc(objects, func(name string, _ []byte) bool { return strings.HasPrefix(name, "night/data/") })
		})
	}
	if err := runBackup(t.Context(), first.g, backupOptions{}); err == nil || !strings.Contains(err.Error(), "was removed during the backup") {
		t.Errorf("a backup whose objects were removed ended with %v, want an error", err)
	}
	if after := backupManifests(store.Objects("store")); !slices.Equal(before, after) {
		t.Errorf("the manifests are %v, want %v", after, before)
	}
	harness.Must(t, runBackup(t.Context(), first.g, backupOptions{}))
	if output, err := first.verifyBackup(t, backupOptions{}); err != nil {
		t.Errorf("the next backup did not send the missing objects: %q, %v", output, err)
	}
}

// TestTrialBackupAfterWrongClock makes a backup with a clock in the future. The backup of
// the next night must still become the newest backup, and must warn of the wrong time.
func TestTrialBackupAfterWrongClock(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	d := newBucketHarness(t)
	d.configureFewStreams(t)
	harness.Must(t, d.night(t))
	rightTime := d.g.Now
	d.g.Now = func() time.Time { return rightTime().AddDate(1, 0, 0) }
	harness.Must(t, runBackup(t.Context(), d.g, backupOptions{}))
	const warning = "the newest backup has a time in the future"
	if strings.Contains(d.out.String(), warning) {
		t.Errorf("the backup warned although no earlier backup has a time in the future: %s", d.out)
	}
	harness.Must(t, d.night(t))
	if n := strings.Count(d.out.String(), warning); n != 1 {
		t.Errorf("the backup warned %d times, want once", n)
	}
	if output, err := d.verifyBackup(t, backupOptions{}); err != nil || !strings.Contains(output, "intact: "+d.currentRun(t)) || !strings.Contains(output, warning) {
		t.Errorf("verify printed %q and ended with %v, want that %s is intact, and a warning", output, err, d.currentRun(t))
	}
}
