package main

import (
	"bytes"
	"database/sql"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"placementsync/internal/checksum"
	"placementsync/internal/ledger"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// TestRehearsal rehearses the restore of an intact backup, and of a backup with a truncated object.
func TestRehearsal(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	warehouseDir, err := shared.night()
	harness.Must(t, err)
	d := newBackup(t, warehouseDir)
	filesBefore := d.files(t)
	d.out.Reset()
	harness.Must(t, runBackup(t.Context(), d.g, backupOptions{rehearse: true}))
	if !strings.Contains(d.out.String(), " can be restored: ") {
		t.Errorf("the rehearsal printed %q, want that the backup can be restored", d.out)
	}
	success := d.lastRehearsal(t)
	if success.Last.Outcome != ledger.Complete || success.Last.Bytes == 0 || success.SucceededAt.IsZero() {
		t.Errorf("the ledger contains %+v, want a complete rehearsal with its bytes and time", success)
	}

	d.requireVerified(t, backupOptions{}, ledger.Complete, "^intact: "+success.Last.Version+
		` of 20\S+ \S+ \(\d+ files, names and sizes; --read-data reads every byte\)\n$`)
	d.requireVerified(t, backupOptions{readData: true}, ledger.Complete,
		`^intact: .* \(\d+ files, [\d.]+ [KM]iB read\)\n$`)
	d.testDifferentRows(t, success.Last.Version)

	// The largest object is a Parquet file or the ledger. A restore needs both.
	truncated := ""
	d.store.Change("store", func(objects map[string][]byte) {
		for name, data := range objects {
			if strings.Contains(name, "/data/") && len(data) > len(objects[truncated]) {
				truncated = name
			}
		}
		objects[truncated] = objects[truncated][:len(objects[truncated])-1]
	})
	d.requireVerified(t, backupOptions{}, ledger.Failed, `^(state|parquet)/.*: .*\ndamaged: `)
	err = runBackup(t.Context(), d.g, backupOptions{rehearse: true})
	if err == nil || !strings.Contains(err.Error(), filepath.Base(truncated)) {
		t.Errorf("the rehearsal with the truncated object %s ended with %v, want an error with its name", truncated, err)
	}
	if failure := d.lastRehearsal(t); failure.Last.Outcome != ledger.Failed || !failure.IsBehind() || failure.SucceededAt != success.SucceededAt {
		t.Errorf("after a failure the ledger contains %+v, want a failed rehearsal and the time of the earlier success", failure)
	}

	// The backup lacks a file of the warehouse that was damaged before it was sent.
	damaged, err := filepath.Glob(filepath.Join(d.dir(), "parquet/orders/*/*.parquet"))
	harness.Must(t, err)
	intact, err := os.ReadFile(damaged[0])
	harness.Must(t, err)
	harness.Must(t, os.WriteFile(damaged[0], intact[:len(intact)-1], 0o600))
	d.store.Change("store", func(objects map[string][]byte) {
		maps.DeleteFunc(objects, func(_ string, data []byte) bool { return bytes.Equal(data, intact) })
	})
	at := d.g.Now().Add(time.Hour)
	d.g.Now = func() time.Time { return at }
	d.out.Reset()
	err = runBackup(t.Context(), d.g, backupOptions{})
	if !strings.Contains(d.out.String(), "backed up "+success.Last.Version+" to s3://store/night: ") {
		t.Errorf("the backup of a damaged file printed %q, want the version and the bucket", d.out)
	}
	entry := d.lastFollowUp(t, ledger.Backup).Last
	const problem = "the warehouse has 1 damaged file, such as parquet/"
	if exitCodeOf(t, err) != ledger.Partial.ExitCode() || entry.Outcome != ledger.Partial || entry.ExitCode != 3 ||
		entry.Version != success.Last.Version || entry.Bytes == 0 || !strings.Contains(entry.Error, problem) {
		t.Errorf("the backup of a damaged file ended with %v and the ledger line %+v, want the outcome partial", err, entry)
	}
	d.requireVerified(t, backupOptions{}, ledger.Complete,
		`^note: the backup does not contain parquet/orders/.*\nintact: `)
	err = runBackup(t.Context(), d.g, backupOptions{rehearse: true})
	if err == nil || !strings.Contains(err.Error(), "rehearse the restore: the backup lacks 1 file, such as ") {
		t.Errorf("the rehearsal of a backup without a file ended with %v, want an error with this file", err)
	}
	harness.Must(t, os.WriteFile(damaged[0], intact, 0o600))
	manifests := backupManifests(d.store.Objects("store"))
	d.store.Change("store", func(objects map[string][]byte) { objects[manifests[len(manifests)-1]] = []byte("{}") })
	err = runBackup(t.Context(), d.g, backupOptions{verify: true})
	if err == nil || !strings.Contains(err.Error(), "--older uses the newest readable backup") {
		t.Errorf("with an unreadable manifest, the check ended with %v, want advice to use --older", err)
	}
	d.requireVerified(t, backupOptions{older: true}, ledger.Failed, `\ndamaged: `)
	lost := d.dir() + ".lost"
	harness.Must(t, os.Rename(d.dir(), lost))
	err = runRebuild(t.Context(), d.g, rebuildOptions{from: "s3://store/night", older: true})
	if exitCodeOf(t, err) != ledger.Partial.ExitCode() {
		t.Errorf("the restore of the older backup, which lacks a file, ended with %v, want the outcome partial", err)
	}
	harness.Must(t, errors.Join(os.RemoveAll(d.dir()), os.Rename(lost, d.dir())))

	entries, err := os.ReadDir(d.root)
	harness.Must(t, err)
	if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.Contains(e.Name(), "rehearsal") }) {
		t.Errorf("a rehearsal did not remove its folder: %v", entries)
	}
	filesAfter := d.files(t)
	for name, text := range filesBefore {
		if filesAfter[name] != text && name != "state/runs.jsonl" {
			t.Errorf("a rehearsal changed %s", name)
		}
	}
}

// requireVerified checks the newest backup, and compares the outcome and the output.
func (d *bucketHarness) requireVerified(t *testing.T, o backupOptions, want ledger.Outcome, pattern string) {
	t.Helper()
	d.out.Reset()
	o.verify = true
	err := runBackup(t.Context(), d.g, o)
	if exitCodeOf(t, err) != want.ExitCode() || !regexp.MustCompile(pattern).MatchString(d.out.String()) {
		t.Errorf("the check of the backup printed %q and ended with %v, want %s and %s", d.out, err, pattern, want)
	}
}

// testDifferentRows rehearses the restore while the published version has other rows than the backup.
func (d *bucketHarness) testDifferentRows(t *testing.T, run string) {
	t.Helper()
	wh, _, err := d.g.openWarehouse()
	harness.Must(t, err)
	dir := wh.Folder.VersionPath(run)
	catalog, manifest := wh.Folder.VersionCatalog(run), filepath.Join(dir, warehouse.ManifestFile)
	m, err := wh.Versions.ReadManifest(run)
	harness.Must(t, err)
	intact, sealed := []byte(read(t, catalog)), []byte(read(t, manifest))
	harness.Must(t, errors.Join(os.Chmod(catalog, 0o600), os.Chmod(manifest, 0o600)))
	db, err := sql.Open("duckdb", catalog)
	harness.Must(t, err)
	_, err = db.ExecContext(t.Context(), "DELETE FROM main.orders")
	harness.Must(t, errors.Join(err, db.Close()))
	m.Catalog, err = checksum.SumFile(t.Context(), dir, m.Catalog.File)
	harness.Must(t, err)
	text, err := checksum.Seal(m)
	harness.Must(t, errors.Join(err, os.WriteFile(manifest, text, 0o600)))
	err = runBackup(t.Context(), d.g, backupOptions{rehearse: true})
	want := "the restored warehouse differs from version " + run + ": main.orders has "
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the rehearsal with other rows ended with %v, want an error with the table", err)
	}
	harness.Must(t, errors.Join(os.WriteFile(catalog, intact, 0o600), os.WriteFile(manifest, sealed, 0o600)))
}

func (d *bucketHarness) lastRehearsal(t *testing.T) ledger.FollowUp {
	return d.lastFollowUp(t, ledger.Rehearsal)
}

// lastFollowUp returns the state of a kind of follow-up in the ledger.
func (d *bucketHarness) lastFollowUp(t *testing.T, kind string) ledger.FollowUp {
	t.Helper()
	wh, _, err := d.g.openWarehouse()
	harness.Must(t, err)
	entries, err := wh.RunLog.RunsAndFollowUps()
	harness.Must(t, err)
	for _, f := range ledger.FollowUps(entries) {
		if f.Last.Kind == kind {
			return f
		}
	}
	t.Fatalf("the ledger has no %s", kind)
	return ledger.FollowUp{}
}
