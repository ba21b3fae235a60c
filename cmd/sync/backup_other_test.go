package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"placementsync/internal/s3sim"
)

// TestBackupLeavesUploadsOfOthers holds that a backup removes parts of uploads of its own
// folder, and only when they are too old to be of a program at work.
func TestBackupLeavesUploadsOfOthers(t *testing.T) {
	d := newDepot(t)
	text, err := os.ReadFile(d.g.config)
	fatal(t, err)
	fatal(t, os.WriteFile(d.g.config, bytes.Replace(text, []byte("s3://store/night"), []byte("s3://store"), 1), 0o600))
	begin := func(name string, at time.Time) {
		d.store.Now = func() time.Time { return at }
		r := httptest.NewRequest(http.MethodPost, "/store/"+name+"?uploads", nil)
		r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+s3sim.AccessKey+"/x")
		d.store.ServeHTTP(httptest.NewRecorder(), r)
	}
	night := d.service.Now().AddDate(0, 0, 1)
	begin("somebody/else/big.bin", night.AddDate(0, 0, -9))
	begin("data/of-another-program", night.Add(-time.Hour))
	begin("data/of-a-killed-backup", night.AddDate(0, 0, -9))
	d.store.Now = func() time.Time { return d.g.now() }
	if n := d.store.Uploads(); n != 3 {
		t.Fatalf("%d uploads began, want 3", n)
	}
	fatal(t, d.night(t))
	if n := d.store.Uploads(); n != 2 {
		t.Errorf("%d uploads are left, want 2: that of another folder, and the young one", n)
	}
}

// verified is what verify says of the backup.
func (d *depot) verified(t *testing.T, o backupOptions) (string, error) {
	t.Helper()
	at := d.out.Len()
	o.verify, o.readData = true, true
	err := runBackup(t.Context(), d.g, o)
	return d.out.String()[at:], err
}

// shownRun is the version that readers see.
func (d *depot) shownRun(t *testing.T) string {
	t.Helper()
	wh, _, err := d.g.openWarehouse()
	fatal(t, err)
	run, _, err := wh.Versions.Latest()
	fatal(t, err)
	return run
}

// TestNewestManifestThatCannotBeRead holds that no older backup passes for it unasked, and
// that what only it may name stays.
func TestNewestManifestThatCannotBeRead(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	d := newDepot(t)
	fatal(t, d.night(t))
	older := d.shownRun(t)
	fatal(t, d.night(t))
	newest := d.shownRun(t)
	names := manifestsIn(d.store.Objects("store"))
	damaged := names[len(names)-1]
	d.store.Change("store", func(objects map[string][]byte) {
		objects[damaged] = append([]byte(" "), objects[damaged][1:]...)
	})
	if said, err := d.verified(t, backupOptions{}); err == nil || !strings.Contains(err.Error(), "s3://store/"+damaged) || !strings.Contains(err.Error(), "--older") {
		t.Errorf("verify says %q, and ended with %v", said, err)
	}
	if said, err := d.verified(t, backupOptions{older: true}); err != nil || !strings.Contains(said, "whole: "+older) || !strings.Contains(said, damaged) {
		t.Errorf("verify --older says %q, and ended with %v", said, err)
	}
	lost := d.dir() + ".lost"
	fatal(t, os.Rename(d.dir(), lost))
	if err := runRebuild(t.Context(), d.g, rebuildOptions{from: "s3://store/night"}); err == nil || !strings.Contains(err.Error(), "--older takes that one") {
		t.Errorf("rebuild took another backup: %v", err)
	}
	fatal(t, runRebuild(t.Context(), d.g, rebuildOptions{from: "s3://store/night", older: true}))
	fatal(t, os.RemoveAll(d.dir()))
	fatal(t, os.Rename(lost, d.dir()))

	before := d.store.Objects("store")
	for range 2 {
		fatal(t, d.night(t))
	}
	after := d.store.Objects("store")
	for name := range before {
		if after[name] == nil {
			t.Errorf("%s was removed while a manifest cannot be read", name)
		}
	}
	if !strings.Contains(d.out.String(), "nothing is removed while it is there") {
		t.Error("nothing says why objects stay")
	}
	if said, err := d.verified(t, backupOptions{}); err != nil || !strings.Contains(said, "whole: "+d.shownRun(t)) {
		t.Errorf("after %s, a newer backup is there, and verify says %q, %v", newest, said, err)
	}
	d.store.Change("store", func(objects map[string][]byte) { delete(objects, damaged) })
	fatal(t, d.night(t))
	if names := manifestsIn(d.store.Objects("store")); len(names) != 2 {
		t.Errorf("%d manifests are left, want 2", len(names))
	}
}
