package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"placementsync/internal/backup"
	"placementsync/internal/ledger"
	"placementsync/internal/query"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
	"placementsync/internal/testing/s3sim"
	"placementsync/internal/warehouse"
)

// restoreHarness is a backup of three nights, and what a restore of it must contain.
type restoreHarness struct {
	*bucketHarness
	// objects is the content of the bucket.
	objects map[string][]byte
	// objectOf contains the name of the object of each file.
	objectOf map[string]string
	// rows contains the number and a checksum of the rows in history, by table.
	rows map[string]string
}

func newRestoreHarness(t *testing.T) *restoreHarness {
	t.Helper()
	demo, err := shared.nights()
	harness.Must(t, err)
	d := newBackup(t, filepath.Join(demo, "warehouse"))
	h := &restoreHarness{bucketHarness: d, objects: d.store.Objects("store"), objectOf: map[string]string{}, rows: d.historyRows(t)}
	manifests := backupManifests(h.objects)
	var newest backup.Manifest
	harness.Must(t, json.Unmarshal(h.objects[manifests[len(manifests)-1]], &newest))
	for _, f := range newest.Files {
		h.objectOf[f.File] = "night/data/" + f.SHA256
	}
	return h
}

func (d *bucketHarness) historyRows(t *testing.T) map[string]string {
	t.Helper()
	var parts []string
	for _, table := range stream.Tables(stream.AllWithEvents()) {
		parts = append(parts, fmt.Sprintf("select '%s', count(*) || ' ' || coalesce(sum(hash(to_json(x)::varchar)::hugeint), 0) from history.%[1]s x", table.Name))
	}
	rows := map[string]string{}
	for line := range strings.Lines(d.queryCSV(t, strings.Join(parts, " union all "))) {
		table, sum, _ := strings.Cut(strings.TrimSpace(line), ",")
		rows[table] = sum
	}
	return rows
}

// restoreDamaged damages the objects of files in a copy of the bucket, and restores the backup into a new
// folder.
func (h *restoreHarness) restoreDamaged(t *testing.T, damage func(objects map[string][]byte, name string), files ...string) (output string, err error) {
	t.Helper()
	h.store.Change("store", func(objects map[string][]byte) {
		clear(objects)
		maps.Copy(objects, h.objects)
		for _, file := range files {
			if h.objectOf[file] == "" {
				t.Fatalf("the backup has no object of %s", file)
			}
			damage(objects, h.objectOf[file])
		}
	})
	harness.Must(t, os.RemoveAll(h.dir()))
	at := h.g.Now().Add(time.Hour)
	h.g.Now = func() time.Time { return at }
	h.out.Reset()
	err = runRebuild(t.Context(), h.g, rebuildOptions{from: "s3://store/night"})
	return h.out.String(), err
}

// unsharedFile returns the first file that matches pattern and shares its object with no other file.
func (h *restoreHarness) unsharedFile(t *testing.T, pattern string) string {
	t.Helper()
	for _, file := range slices.Sorted(maps.Keys(h.objectOf)) {
		isMatch, err := filepath.Match(pattern, file)
		harness.Must(t, err)
		if !isMatch {
			continue
		}
		users := 0
		for _, name := range h.objectOf {
			if name == h.objectOf[file] {
				users++
			}
		}
		if users == 1 {
			return file
		}
	}
	t.Fatalf("no file matches %s and shares its object with no other file", pattern)
	return ""
}

// TestRestore restores the same backup with different faults.
func TestRestore(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	h := newRestoreHarness(t)
	t.Run("export", h.testExportToBucket)
	t.Run("damaged backup", h.testDamagedBackup)
	t.Run("unfinished restore", h.testUnfinishedRestore)
}

// testExportToBucket exports a table into the bucket of the backup.
func (h *restoreHarness) testExportToBucket(t *testing.T) {
	h.out.Reset()
	harness.Must(t, runExport(t.Context(), h.g, exportOptions{to: "s3://store/for/them"}, []string{"orders"}))
	var m query.BucketManifest
	objects := h.store.Objects("store")
	harness.Must(t, json.Unmarshal(objects["for/them/manifest.json"], &m))
	if len(m.Files) != 1 || m.Files[0].Rows == 0 || objects["for/them/"+m.Folder+"/orders.parquet"] == nil ||
		!strings.Contains(h.out.String(), " in s3://store/for/them: 1 file and manifest.json\n") {
		t.Errorf("the export printed\n%s\nand its manifest is %+v, want one file with rows", h.out, m)
	}
}

// testDamagedBackup cuts a file of the newest day of a backup, and removes the ledger. Everything else must be restored,
// and both files must be named. The rows of all other files must be published. The tests of the packages backup and
// repair damage the other kinds of files.
func (h *restoreHarness) testDamagedBackup(t *testing.T) {
	wh, _, err := h.g.openWarehouse()
	harness.Must(t, err)
	index, err := wh.Series.Index()
	harness.Must(t, err)
	newest := slices.Max(slices.Collect(maps.Keys(index)))
	const ledgerFile, cutTable = "state/runs.jsonl", "product_listing_prices"
	cut := h.unsharedFile(t, "parquet/"+cutTable+"/snapshot_date="+newest+"/*")
	output, err := h.restoreDamaged(t, func(objects map[string][]byte, name string) {
		if name == h.objectOf[ledgerFile] {
			delete(objects, name)
		} else {
			objects[name] = objects[name][:len(objects[name])/2]
		}
	}, cut, ledgerFile)
	if exitCodeOf(t, err) != ledger.Partial.ExitCode() {
		t.Fatalf("the restore ended with %d: %v, want the outcome partial\n%s", exitCodeOf(t, err), err, output)
	}
	for _, file := range []string{cut, ledgerFile} {
		if !strings.Contains(output, "not restored: "+file+": ") || !strings.Contains(output, h.objectOf[file]) {
			t.Errorf("the output does not name %s and its object %s:\n%s", file, h.objectOf[file], output)
		}
	}
	restored := fmt.Sprintf(`(?m)^restored \d+T\d+Z of 20\S+ \S+: %d files, \d+ of them fetched, [\d.]+ [KM]iB$`,
		len(h.objectOf)-2)
	if !regexp.MustCompile(restored).MatchString(output) {
		t.Errorf("the output has no match of %s:\n%s", restored, output)
	}
	rows := h.historyRows(t)
	for table, want := range h.rows {
		if rows[table] != want && table != cutTable {
			t.Errorf("history.%s has %s, want %s", table, rows[table], want)
		}
	}
	if err := runRebuild(t.Context(), h.g, rebuildOptions{series: true}); err != nil {
		t.Errorf("rebuild --series ended with %v", err)
	}
	harness.Must(t, runVerify(t.Context(), h.g, verifyOptions{readData: true, format: "text"}))
	harness.Must(t, runBackup(t.Context(), h.g, backupOptions{}))
}

// testUnfinishedRestore interrupts a restore. Commands must then name the command that finishes the
// restore, also after a night was tried. The finished restore must contain everything.
func (h *restoreHarness) testUnfinishedRestore(t *testing.T) {
	gets := 0
	h.store.FailWith(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/data/") {
			gets++
		}
		if gets > 40 {
			s3sim.Refuse(w, http.StatusForbidden, "AccessDenied")
		}
		return gets > 40
	})
	_, err := h.restoreDamaged(t, nil)
	if err == nil || !strings.Contains(err.Error(), "run the same command again to continue") {
		t.Fatalf("the interrupted restore ended with %v, want advice to run it again", err)
	}
	h.store.FailWith(nil)
	for name, command := range map[string]func() error{
		"run":                    func() error { return h.night(t) },
		"rebuild":                func() error { return runRebuild(t.Context(), h.g, rebuildOptions{}) },
		"rebuild --skip-damaged": func() error { return runRebuild(t.Context(), h.g, rebuildOptions{skipDamaged: true, acceptLoss: true}) },
		"rebuild --series":       func() error { return runRebuild(t.Context(), h.g, rebuildOptions{series: true}) },
		"serve":                  func() error { return runServe(t.Context(), h.g) },
		"verify":                 func() error { return runVerify(t.Context(), h.g, verifyOptions{format: "text"}) },
		"backup":                 func() error { return runBackup(t.Context(), h.g, backupOptions{}) },
		"query": func() error {
			return runQuery(t.Context(), h.g, queryOptions{output: outputOptions{format: "csv"}}, []string{"select 1"})
		},
	} {
		err := command()
		if !errors.As(err, new(*warehouse.UnfinishedRestoreError)) || !strings.Contains(err.Error(), "run placementsync rebuild --from s3://store/night") {
			t.Errorf("%s ended with %v, want an error that names rebuild --from", name, err)
		}
	}
	harness.Must(t, runRebuild(t.Context(), h.g, rebuildOptions{from: "s3://store/night"}))
	rows := h.historyRows(t)
	for table, want := range h.rows {
		if rows[table] != want {
			t.Errorf("history.%s has %s, want %s", table, rows[table], want)
		}
	}
	harness.Must(t, runVerify(t.Context(), h.g, verifyOptions{readData: true, format: "text"}))
}
