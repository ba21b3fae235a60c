package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/cli"
	"placementsync/internal/testing/harness"
)

// TestTrialBackupDuringNights runs two nights during a backup, on the same day or on the next days.
// The restored warehouse must have all current and closed rows of one night, and "verify" must
// find no damage.
func TestTrialBackupDuringNights(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	for name, interval := range map[string]time.Duration{"on the same day": 3 * time.Hour, "on the next days": 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newBucketHarness(t)
			configText, err := os.ReadFile(d.g.Config)
			harness.Must(t, err)
			noBackupGlobals := &globals{process: hostProcess(), Flags: cli.Flags{Config: filepath.Join(d.root, "no-backup.yaml")}}
			noBackupGlobals.stdout, noBackupGlobals.stderr = &bytes.Buffer{}, &bytes.Buffer{}
			harness.Must(t, os.WriteFile(noBackupGlobals.Config, bytes.ReplaceAll(configText, []byte("backup: s3://store/night\n"), nil), 0o600))
			at := time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)
			// runNightAfter runs a night and returns the checksums of its rows.
			runNightAfter := func(wait time.Duration) string {
				d.service.Advance(1)
				at = at.Add(wait)
				now := at
				noBackupGlobals.Now = func() time.Time { return now }
				d.g.Now = noBackupGlobals.Now
				harness.Must(t, runNight(t.Context(), noBackupGlobals, runOptions{}))
				return d.historyChecksums(t)
			}
			checksums := []string{runNightAfter(0), runNightAfter(interval), runNightAfter(interval)}
			nightsDuringBackup := 0
			d.store.FailWith(func(_ http.ResponseWriter, r *http.Request) bool {
				if nightsDuringBackup < 2 && r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/data/") {
					nightsDuringBackup++
					checksums = append(checksums, runNightAfter(interval))
				}
				return false
			})
			harness.Must(t, runBackup(t.Context(), d.g, backupOptions{}))
			d.store.FailWith(nil)
			if nightsDuringBackup != 2 {
				t.Fatalf("%d nights ran during the backup, want 2", nightsDuringBackup)
			}
			harness.Must(t, os.RemoveAll(d.dir()))
			harness.Must(t, runRebuild(t.Context(), d.g, rebuildOptions{from: "s3://store/night"}))
			restored, index := d.historyChecksums(t), -1
			for i, checksum := range checksums {
				if restored == checksum {
					index = i
				}
			}
			const nightsBeforeBackup = 3
			if index+1 < nightsBeforeBackup {
				t.Errorf("the restored warehouse has the rows of night %d of %d (0 means no night), want night %d or later", index+1, len(checksums), nightsBeforeBackup)
			}
			harness.Must(t, runVerify(t.Context(), d.g, verifyOptions{readData: true, format: "text"}))
		})
	}
}

// TestBackupOfChangingSeriesFails adds a manifest to the Parquet series and changes state/ whenever
// the backup sends a file. The backup must fail, and the previous backup must remain the newest.
func TestBackupOfChangingSeriesFails(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	d := newBucketHarness(t, "product_listings", "orders")
	harness.Must(t, d.night(t))
	before := backupManifests(d.store.Objects("store"))
	if len(before) != 1 {
		t.Fatalf("the bucket has %d backups after a night, want 1", len(before))
	}
	seriesManifests, err := filepath.Glob(filepath.Join(d.dir(), "parquet", ".meta", "*.json"))
	harness.Must(t, err)
	seriesManifest, err := os.ReadFile(seriesManifests[0])
	harness.Must(t, err)
	stateFile := func(n int) string { return filepath.Join(d.dir(), "state", fmt.Sprintf("note%d.json", n)) }
	seriesManifestFile := func(n int) string {
		return filepath.Join(d.dir(), "parquet", ".meta", fmt.Sprintf("20300101T00000%dZ.json", n))
	}
	changes := 0
	harness.Must(t, os.WriteFile(stateFile(changes), []byte("0"), 0o600)) // a file that the backup sends
	d.store.FailWith(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/data/") {
			changes++
			harness.Must(t, os.WriteFile(seriesManifestFile(changes), seriesManifest, 0o600))
			harness.Must(t, os.WriteFile(stateFile(changes), []byte(fmt.Sprint(changes)), 0o600))
		}
		return false
	})
	err = runBackup(t.Context(), d.g, backupOptions{})
	d.store.FailWith(nil)
	if err == nil || !strings.Contains(err.Error(), "changed during each of 5 attempts") {
		t.Fatalf("the backup ended with %v after %d changes, want an error after 5 attempts", err, changes)
	}
	if diff := cmp.Diff(before, backupManifests(d.store.Objects("store"))); diff != "" {
		t.Errorf("the backups in the bucket changed (-before +after):\n%s", diff)
	}
	for n := range changes {
		harness.Must(t, errors.Join(os.Remove(seriesManifestFile(n+1)), os.Remove(stateFile(n+1))))
	}
	harness.Must(t, runBackup(t.Context(), d.g, backupOptions{}))
	if after := backupManifests(d.store.Objects("store")); len(after) != 2 {
		t.Errorf("the bucket has %d backups after a backup without changes, want 2", len(after))
	}
}

// historyChecksums returns, for each of the tables with the most changes, the number of its current
// and closed rows and a checksum of these rows.
func (d *bucketHarness) historyChecksums(t *testing.T) string {
	t.Helper()
	var selects []string
	for _, table := range []string{"product_listings", "product_listing_prices", "orders", "order_line_items", "campaigns", "articles"} {
		selects = append(selects, fmt.Sprintf("select '%s', count(*), sum(hash(x::varchar)::hugeint) from history.%[1]s x", table))
	}
	return d.queryCSV(t, strings.Join(selects, " union all ")+" order by 1")
}
