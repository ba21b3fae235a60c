package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/checksum"
	"placementsync/internal/cli"
	"placementsync/internal/ledger"
	"placementsync/internal/query"
	"placementsync/internal/report"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// TestHeldNightHasNoFollowUp runs two nights. A check holds the second night. Watches, lake and backup
// must not use the held night, even if an operator starts a watch or a backup. After the night is
// published, all three must run.
func TestHeldNightHasNoFollowUp(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	d := newBucketHarness(t, "product_listings", "orders")
	messages := d.configureFollowUps(t)
	if err := d.night(t); exitCodeOf(t, err) != ledger.Partial.ExitCode() {
		t.Fatalf("the first night ended with %v, want the outcome partial\n%s", err, d.out)
	}
	wh, _, err := d.g.openWarehouse()
	harness.Must(t, err)
	firstRun, _, err := wh.Versions.Latest()
	harness.Must(t, err)
	afterFirst := listFollowUps(t, wh)
	if want := []string{"watch " + firstRun, "lake", "backup " + firstRun}; !slices.Equal(afterFirst, want) || len(messages()) != 1 {
		t.Fatalf("the follow-ups of the first night are %q with %d messages, want %q and one message", afterFirst, len(messages()), want)
	}

	if err := d.night(t); exitCodeOf(t, err) != ledger.Failed.ExitCode() {
		t.Fatalf("the second night ended with %v, want the outcome failed\n%s", err, d.out)
	}
	h, err := findHeld(wh)
	harness.Must(t, err)
	heldRun := h.Manifest.RunID
	if got := listFollowUps(t, wh); !slices.Equal(got, afterFirst) || len(messages()) != 1 {
		t.Errorf("after the held night the follow-ups are %q, want %q; the messages are %q, want one", got, afterFirst, messages())
	}
	harness.Must(t, runWatch(t.Context(), d.g, nil, false))
	harness.Must(t, runBackup(t.Context(), d.g, backupOptions{}))
	if got := messages(); len(got) != 1 {
		t.Errorf("a watch sent a message about the held night: %q", got)
	}
	d.requireHidden(t, wh, firstRun, heldRun)
	d.testReportOptions(t, h.Manifest.SnapshotAt)
	d.testFailedPublish(t, wh, firstRun)

	// The ledger line cannot be written after the switch, so readers see the night, and the follow-ups run.
	d.g.Step = func(_, path string) error {
		if latest, _, _ := wh.Versions.Latest(); latest == heldRun && strings.Contains(path, "runs.jsonl") {
			d.g.Step = nil
			return syscall.EIO
		}
		return nil
	}
	err = runPublishHeld(t.Context(), d.g, []string{"two_nights", "two_nights"})
	if cli.OutcomeOf(t.Context(), err) != ledger.Partial || !errors.Is(err, syscall.EIO) ||
		!strings.Contains(d.out.String(), "published "+heldRun+", the snapshot of ") ||
		!strings.Contains(d.out.String(), "; accepted: two_nights\n") {
		t.Fatalf("publish ended with %v, want the outcome partial, the failed write, and that the night is published:\n%s", err, d.out)
	}
	got, want := listFollowUps(t, wh), []string{"watch " + heldRun, "lake", "backup " + heldRun}
	if !slices.Equal(got[len(got)-3:], want) || len(messages()) != 2 {
		t.Errorf("after the publish the follow-ups are %q and %d messages were sent, want %q at the end, and 2 messages", got, len(messages()), want)
	}
	d.testUnusableManifest(t, wh, firstRun, heldRun)
}

// testFailedPublish publishes the held night while another process holds the lock, and on a full disk.
func (d *bucketHarness) testFailedPublish(t *testing.T, wh *warehouse.Warehouse, firstRun string) {
	t.Helper()
	publish := func() error { return runPublishHeld(t.Context(), d.g, []string{"two_nights"}) }
	lock, err := wh.LockExisting("other", d.g.Now())
	harness.Must(t, err)
	if err := publish(); exitCodeOf(t, err) != ledger.Locked.ExitCode() {
		t.Errorf("publish ended with %v, want the outcome locked", err)
	}
	harness.Must(t, lock.Release())
	d.g.Step = func(string, string) error { return syscall.ENOSPC }
	if err := publish(); !errors.As(err, new(*warehouse.DiskFullError)) || exitCodeOf(t, err) != ledger.Failed.ExitCode() {
		t.Errorf("publish on a full disk ended with %v, want advice to free some space", err)
	}
	d.g.Step = nil
	if latest, _, err := wh.Versions.Latest(); err != nil || latest != firstRun {
		t.Errorf("after failures readers see %s (%v), want %s", latest, err, firstRun)
	}
}

// configureFollowUps adds a watch, a lake and a check that holds the second night. The returned function returns the
// messages of the watch.
func (d *bucketHarness) configureFollowUps(t *testing.T) (messages func() []string) {
	t.Helper()
	var mu sync.Mutex
	var sent []string
	chat := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // an error is ignored: the test only counts messages
		mu.Lock()
		sent = append(sent, string(body))
		mu.Unlock()
	}))
	t.Cleanup(chat.Close)
	text, err := os.ReadFile(d.g.Config)
	harness.Must(t, err)
	// The lake program does not exist, so each attempt is a failure in the ledger.
	harness.Must(t, os.WriteFile(d.g.Config, fmt.Appendf(text, `
lake: {catalog: sqlite, warehouse: ./lake}
schedule: {timezone: Europe/Berlin}
checks: {dir: checks, rules: {dates_implausible: {severity: off}}}
notify: {channels: [{name: chat, type: webhook, url: "%s"}]}
watch: [{name: nights, query: "SELECT run_id FROM meta.runs", key: [run_id], send: [chat]}]
`, chat.URL), 0o600))
	harness.Must(t, os.Mkdir(filepath.Join(d.root, "checks"), 0o700))
	harness.Must(t, os.WriteFile(filepath.Join(d.root, "checks", "two_nights.sql"), []byte(`-- title: Two nights
-- severity: hold
SELECT run_id FROM meta.runs
WHERE snapshot_at IS NOT NULL AND (SELECT count(*) FROM meta.runs WHERE snapshot_at IS NOT NULL) > 1 ORDER BY 1`), 0o600))
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(sent)
	}
}

// listFollowUps returns the kind and the version of each follow-up in the ledger.
func listFollowUps(t *testing.T, wh *warehouse.Warehouse) (all []string) {
	t.Helper()
	entries, err := wh.RunLog.RunsAndFollowUps()
	harness.Must(t, err)
	for _, r := range entries {
		if r.IsFollowUp() {
			all = append(all, strings.TrimSpace(r.Kind+" "+r.Version))
		}
	}
	return all
}

// requireHidden checks that readers and backups do not see the held night, and that an assistant sees it only on request.
func (d *bucketHarness) requireHidden(t *testing.T, wh *warehouse.Warehouse, firstRun, heldRun string) {
	t.Helper()
	for _, held := range []bool{false, true} {
		db, err := mcpWarehouse{d.g}.Open(t.Context(), query.Options{}, held)
		harness.Must(t, err)
		snapshot, err := db.SelectedSnapshot(t.Context())
		harness.Must(t, errors.Join(err, db.Close()))
		shown, err := exploreWarehouse{wh: wh, held: held}.ShownVersion()
		harness.Must(t, err)
		if isHeld := snapshot.Run == heldRun; isHeld != held || shown.Run != snapshot.Run {
			t.Errorf("with held=%t, an assistant sees %s and the pages %s; the held night is %s",
				held, snapshot.Run, shown.Run, heldRun)
		}
		if _, err := os.Stat(shown.Catalog); err != nil || !strings.Contains(shown.Catalog, snapshot.Run) {
			t.Errorf("with held=%t, the pages read %s (%v), want a catalog of %s", held, shown.Catalog, err, snapshot.Run)
		}
	}
	for name, data := range d.store.Objects("store") {
		isInSeries := strings.HasPrefix(name, "night/parquet") && strings.Contains(string(data), heldRun)
		if strings.Contains(name, heldRun) || strings.Contains(name, "/held") || isInSeries {
			t.Errorf("the backup contains %s of the held night", name)
		}
	}
	for isHeld, want := range map[bool]string{true: wh.Folder.VersionCatalog(firstRun), false: ""} {
		if previous, err := previousCatalog(wh, isHeld); err != nil || previous != want {
			t.Errorf("with held=%t, an audit compares with %q (%v), want %q", isHeld, previous, err, want)
		}
	}
	// The lake publishes the versions of the lineage, so the held night must not be in the lineage.
	latest, _, err := wh.Versions.Latest()
	harness.Must(t, err)
	lineage, err := wh.Versions.Lineage(latest)
	harness.Must(t, err)
	if len(lineage) != 1 || lineage[0].RunID != firstRun || latest != firstRun {
		t.Errorf("readers see %s and the lineage is %+v, want only %s", latest, lineage, firstRun)
	}
}

// testReportOptions compares the options of the reports of the published and of the held night.
func (d *bucketHarness) testReportOptions(t *testing.T, heldAt time.Time) {
	t.Helper()
	lines := []string{"check two_nights failed in 2 rows", "Run placementsync diff --held to compare it with the published snapshot. " +
		"Then run placementsync publish --accept two_nights to publish it, or placementsync discard to discard it."}
	program := "placementsync query --config " + d.g.Config
	night := heldAt.UTC().Format("2006-01-02 15:04") + " UTC"
	for _, want := range []report.Options{
		{Program: program, Timezone: "Europe/Berlin", Earlier: true, QueryPages: "/questions/", Notices: []report.Notice{{Alarm: true, Lines: lines,
			Title: "The night of " + night + " is held and not published, because of these checks:"}}},
		{Program: program + " --held", Timezone: "Europe/Berlin", Held: true, Notices: []report.Notice{{Alarm: true, Lines: lines,
			Title: "This snapshot is held and not published, because of these checks:"}}},
	} {
		g, o := *d.g, reportOptions{queryPages: want.QueryPages}
		g.held = want.Held
		if want.Earlier {
			o.asOf = "2026-11-01"
		}
		got, err := newReportOptions(&g, o)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("options of a report (-want +got), %v:\n%s", err, diff)
		}
	}
}

// testUnusableManifest gives the manifest of the newest version a later format, and then damages it.
func (d *bucketHarness) testUnusableManifest(t *testing.T, wh *warehouse.Warehouse, previousRun, newestRun string) {
	t.Helper()
	if previous, err := previousCatalog(wh, false); err != nil || previous != wh.Folder.VersionCatalog(previousRun) {
		t.Errorf("the previous catalog is %q (%v), want that of %s", previous, err, previousRun)
	}
	manifest := filepath.Join(wh.Folder.VersionPath(newestRun), warehouse.ManifestFile)
	m, err := wh.Versions.ReadManifest(newestRun)
	harness.Must(t, err)
	m.Format = warehouse.Format + 1
	text, err := checksum.Seal(m)
	harness.Must(t, errors.Join(err, os.WriteFile(manifest, text, 0o644)))
	if _, err := openCatalog(t.Context(), d.g, query.Options{}); !errors.As(err, new(*warehouse.NewerError)) {
		t.Errorf("a version of a later program: got %v, want an error that names its format", err)
	}
	previousFile := wh.Folder.VersionCatalog(previousRun)
	harness.Must(t, os.Rename(previousFile, previousFile+".lost"))
	if previous, err := previousCatalog(wh, false); err != nil || previous != "" {
		t.Errorf("with a lost catalog, the previous catalog is %q (%v), want none", previous, err)
	}
	harness.Must(t, os.Rename(previousFile+".lost", previousFile))
	harness.Must(t, os.WriteFile(manifest, []byte("damaged"), 0o644))
	if previous, err := previousCatalog(wh, false); err != nil || previous != "" {
		t.Errorf("with a damaged manifest, the previous catalog is %q (%v), want none: opening the snapshot reports the damage", previous, err)
	}
}
