package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
