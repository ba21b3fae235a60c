package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"placementsync/internal/checksum"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
	testfixture "placementsync/internal/testing/fixture"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
	"placementsync/schema"
)

// fixtureRelease is the release whose fixture TestWriteFixture writes. A fixture contains a
// warehouse of that release with nights, webhook events that no night has read, and an interrupted
// run. It also contains the tables and the ledger as the release printed them.
var fixtureRelease = flag.String("release", "", "write the fixture of this release; the program under test must have this version")

const (
	releasesDir   = "testdata/releases"
	fixtureSuffix = ".tar.zst"
	// printedDir is the folder of a fixture with the output of the release: one file for each table, and
	// ledgerFile.
	printedDir = "answers"
	ledgerFile = "runs.json"
)

// TestWriteFixture makes the fixture of a release. "make fixture" runs this test.
func TestWriteFixture(t *testing.T) {
	if *fixtureRelease == "" {
		t.Skip("writes the fixture of a release: run make fixture")
	}
	if version != *fixtureRelease {
		t.Fatalf("this program is version %s, want %s: run make fixture", version, *fixtureRelease)
	}
	root := t.TempDir()
	l := newTestWarehouse(t, filepath.Join(root, "warehouse"))
	l.runFixtureNights()
	l.interruptNight()
	printed := l.readHistory()
	printed[ledgerFile] = l.mustRun("runs", "--format", "json")
	harness.Must(t, os.Mkdir(filepath.Join(root, printedDir), 0o755))
	for name, text := range printed {
		harness.Must(t, os.WriteFile(filepath.Join(root, printedDir, name), []byte(text), 0o644))
	}
	file := filepath.Join(releasesDir, version+fixtureSuffix)
	harness.Must(t, packFolder(root, file))
	info, err := os.Stat(file)
	harness.Must(t, err)
	const maxBytes = 2 << 20
	if info.Size() > maxBytes {
		t.Errorf("%s has %d bytes, want at most %d", file, info.Size(), maxBytes)
	}
}

// packFolder writes a folder with its symbolic links to an archive. Copies of a file take almost no
// space, because the compression window is large.
func packFolder(root, archive string) error {
	var packed bytes.Buffer
	z, err := zstd.NewWriter(&packed, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(32<<20))
	if err != nil {
		return err
	}
	out := tar.NewWriter(z)
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		link := ""
		if info.Mode().Type() == fs.ModeSymlink {
			if link, err = os.Readlink(path); err != nil {
				return err
			}
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if err := out.WriteHeader(&tar.Header{Typeflag: typeOf(info), Name: name, Linkname: link, Mode: int64(info.Mode().Perm()), Size: sizeOf(info)}); err != nil || !info.Mode().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if err == nil {
			_, err = out.Write(content)
		}
		return err
	})
	if err := errors.Join(err, out.Close(), z.Close()); err != nil {
		return err
	}
	return os.WriteFile(archive, packed.Bytes(), 0o644)
}

func typeOf(info fs.FileInfo) byte {
	switch info.Mode().Type() {
	case fs.ModeDir:
		return tar.TypeDir
	case fs.ModeSymlink:
		return tar.TypeSymlink
	}
	return tar.TypeReg
}

func sizeOf(info fs.FileInfo) int64 {
	if info.Mode().IsRegular() {
		return info.Size()
	}
	return 0
}

// releases returns the releases that have a fixture.
func releases(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(releasesDir, "*"+fixtureSuffix))
	if err != nil || len(files) == 0 {
		t.Fatalf("there is no fixture of a release (%v)", err)
	}
	for i, file := range files {
		files[i] = strings.TrimSuffix(filepath.Base(file), fixtureSuffix)
	}
	return files
}

// fixture is the unpacked fixture of a release. history contains the rows of each table as the release printed
// them, and ledger the output of the command "runs" of the release.
type fixture struct {
	*testWarehouse
	dir     string
	history map[string]string
	ledger  string
}

func openFixture(t *testing.T, release string) fixture {
	t.Helper()
	root := t.TempDir()
	harness.Must(t, testfixture.Unpack(filepath.Join(releasesDir, release+fixtureSuffix), root))
	f := fixture{dir: filepath.Join(root, "warehouse"), history: map[string]string{}}
	printedFiles, err := os.ReadDir(filepath.Join(root, printedDir))
	harness.Must(t, err)
	for _, file := range printedFiles {
		f.history[file.Name()] = read(t, filepath.Join(root, printedDir, file.Name()))
	}
	f.ledger = f.history[ledgerFile]
	delete(f.history, ledgerFile)
	f.testWarehouse = newTestWarehouse(t, f.dir)
	f.advance(fixtureNights + 1)
	return f
}

// latestManifest returns the manifest of the newest version.
func (f fixture) latestManifest() warehouse.Manifest {
	f.Helper()
	wh := f.open()
	run, _, err := wh.Versions.Latest()
	harness.Must(f.T, err)
	m, err := wh.Versions.ReadManifest(run)
	harness.Must(f.T, err)
	return m
}

// columnsOf returns the columns of a table in the release, or none if the table is empty.
func (f fixture) columnsOf(table string) []string {
	f.Helper()
	rows := readRows(f.T, f.history[table])
	if len(rows) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(rows[0]))
}

// requireHistory compares two histories. It compares only columns that the release has.
func (f fixture) requireHistory(when string, want, got map[string]string) {
	f.Helper()
	for table := range f.history {
		columns := f.columnsOf(table)
		if diff := cmp.Diff(textsOf(f.T, readRows(f.T, want[table]), columns), textsOf(f.T, readRows(f.T, got[table]), columns)); diff != "" {
			f.Errorf("%s: the history of %s differs (-want +got):\n%s", when, table, diff)
		}
	}
}

// requireRowsKept checks that each row of the release is unchanged or was closed.
func (f fixture) requireRowsKept(when string, got map[string]string) {
	f.Helper()
	for table := range f.history {
		columns := f.columnsOf(table)
		columnsWithoutEnd := slices.DeleteFunc(slices.Clone(columns), func(c string) bool { return c == "valid_to" })
		rows := readRows(f.T, got[table])
		texts, textsWithoutEnd := textsOf(f.T, rows, columns), textsOf(f.T, rows, columnsWithoutEnd)
		for _, r := range readRows(f.T, f.history[table]) {
			isKept := slices.Contains(texts, r.textOf(f.T, columns))
			if r.isCurrent() {
				isKept = slices.Contains(textsWithoutEnd, r.textOf(f.T, columnsWithoutEnd))
			}
			if !isKept {
				f.Errorf("%s: %s lost the row %s", when, table, r.textOf(f.T, columns))
			}
		}
	}
}

// TestTrialReadReleaseWarehouses checks that this program reads the warehouses of all releases,
// and that reading needs neither token nor service.
func TestTrialReadReleaseWarehouses(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	for _, release := range releases(t) {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			f := openFixture(t, release)
			f.requireHistory("opened", f.history, f.readHistory())
			var want, got []runJSON
			harness.Must(t, errors.Join(json.Unmarshal([]byte(f.ledger), &want), json.Unmarshal([]byte(f.mustRun("runs", "--format", "json")), &got)))
			if diff := cmp.Diff(want, got); diff != "" || len(got) != fixtureNights+1 {
				t.Errorf("the ledger differs (-want +got):\n%s", diff)
			}
			watchConfig := filepath.Join(t.TempDir(), "config.yaml")
			harness.Must(t, os.WriteFile(watchConfig, []byte(read(t, f.config)+"notify: {channels: [{name: chat, type: webhook, url: 'http://127.0.0.1:1/'}]}\n"+
				"watch: [{name: orders, query: SELECT id FROM orders, send: [chat]}]\n"), 0o600))
			for _, args := range [][]string{
				{"watch", "--dry-run", "--config", watchConfig}, {"query", "SELECT count(*) FROM orders"}, {"query", "--as-of", got[0].ID, "headline"}, {"query", "--list"},
				{"verify"}, {"verify", "--read-data"}, {"diff"}, {"schema", "orders"}, {"runs"}, {"version"}, {"prune", "--dry-run"},
				{"raw"}, {"raw", got[0].ID, "--stream", "orders", "--pass", "1", "--page", "1"}, {"mcp"},
				{"export", "--to", filepath.Join(t.TempDir(), "out"), "orders"},
			} {
				f.mustRun(args...)
			}
			f.mustExplore()
			if code, errorOutput := f.execute(t.Context(), nil, io.Discard, "backup"); code != 2 || !strings.Contains(errorOutput, "no bucket is configured") {
				t.Errorf("backup ended with %d: %s; want 2, because no bucket is configured", code, errorOutput)
			}
		})
	}
}

// requireGrade checks the grade of a table in the newest version.
func (f fixture) requireGrade(table string, grade stream.Grade) {
	f.Helper()
	for _, t := range f.latestManifest().Tables {
		if t.Name == table && t.Grade != grade {
			f.Errorf("%s is %s, want %s", table, t.Grade, grade)
		}
	}
}

// columnNames returns the stored columns of the newest version, one a line.
func (f fixture) columnNames() string {
	f.Helper()
	return f.mustRun("query", "--format", "csv", "SELECT table_schema, table_name, column_name FROM information_schema.columns "+
		"WHERE table_schema IN ('main', 'past', 'meta') ORDER BY ALL")
}

// mustExplore runs the command "explore" until it prints its address.
func (l *testWarehouse) mustExplore() {
	l.Helper()
	ctx, stop := context.WithCancel(l.Context())
	defer stop()
	if code, errorOutput := l.execute(ctx, nil, writerFunc(func(p []byte) (int, error) {
		stop()
		return len(p), nil
	}), "explore", "--listen", "127.0.0.1:0"); code != 0 {
		l.Errorf("explore ended with %d: %s; want 0", code, errorOutput)
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestTrialContinueReleaseWarehouses resumes the interrupted night of each release and runs more
// nights. The rows of the release must be kept. If the schema is the same, the history must equal the
// history of a warehouse in which this program ran all nights. Only the command "run" gets the token. The service sends
// four fields under their other names, which must not change or hold a night.
func TestTrialContinueReleaseWarehouses(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	for _, release := range releases(t) {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			f := openFixture(t, release)
			f.service.SetFaults(sim.Fault{Kind: sim.FaultRewrite, Rewrite: func(body []byte) []byte {
				for name, other := range map[string]string{"drive_link": "google_drive_link", "guest_payment_customer_id": "guest_stripe_customer_id",
					"brief_doc_url": "brief_google_doc_url", "draft_doc_url": "draft_google_doc_url"} {
					body = bytes.ReplaceAll(body, []byte(`"`+name+`":`), []byte(`"`+other+`":`))
				}
				return body
			}})
			const otherNames = "SELECT (SELECT count(drive_link) FROM profiles), (SELECT count(guest_payment_customer_id) FROM orders), " +
				"(SELECT count(brief_doc_url) || ' ' || count(draft_doc_url) || ' ' || count(*) FILTER (extra::VARCHAR LIKE '%google%') FROM campaign_articles)"
			oldManifest, columns := f.latestManifest(), f.columnNames()
			// With a new schema, rows that get a value in a new column are closed, so the histories
			// differ.
			hasSameSchema := oldManifest.Schema == schema.SchemaVersion()
			reference := newTestWarehouse(t, filepath.Join(t.TempDir(), "warehouse"))
			reference.runFixtureNights()
			var want map[string]string
			compare := func(when string) {
				t.Helper()
				got := f.readHistory()
				f.requireRowsKept(when, got)
				if hasSameSchema {
					f.requireHistory(when, want, got)
				}
			}
			if hasSameSchema {
				f.requireHistory("the same nights by this program", f.history, reference.readHistory())
			}
			reference.night()
			want = reference.readHistory()

			run := f.redirectUnfinishedRun()
			f.now = f.now.Add(time.Hour)
			f.mustRun("run")
			if got := f.latestManifest().RunID; got != run {
				t.Errorf("version %s is published, want the resumed run %s", got, run)
			}
			compare("resumed")
			// Order details that an earlier night read keep their age. The table orders is
			// therefore graded bounded, even if the release gave it another grade.
			f.requireGrade("orders", "bounded")
			f.mustRun("replay", run)
			compare("replayed")
			// If tables or columns differ, the format must differ too. Otherwise the old release would
			// detect the difference only after it has sent requests to the service.
			if got := f.latestManifest().Format; got == oldManifest.Format && f.columnNames() != columns {
				t.Errorf("the format is still %d, although the tables differ from the tables of release %s", got, release)
			}
			reference.night()
			want = reference.readHistory()
			f.night()
			compare("the next night")
			wantNames, gotNames := reference.mustRun("query", "--format", "csv", otherNames), f.mustRun("query", "--format", "csv", otherNames)
			if gotNames != wantNames || strings.HasSuffix(gotNames, " 0 0\n") {
				t.Errorf("the columns with other names have the values\n%swant\n%s", gotNames, wantNames)
			}
			f.mustRun("rebuild")
			compare("rebuilt")
			f.mustRun("report", "-o", filepath.Join(t.TempDir(), "report.html"))
			f.mustRun("verify", "--read-data")
			f.mustRun("rollback", oldManifest.RunID)
			f.requireHistory("rolled back", f.history, f.readHistory())
			f.mustRun("prune")
		})
	}
}

// TestTrialNewerWarehouseIsRejected checks that this program neither reads nor writes a warehouse
// with the format of a later release.
func TestTrialNewerWarehouseIsRejected(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	all := releases(t)
	f := openFixture(t, all[len(all)-1])
	m := f.latestManifest()
	dayManifest := filepath.Join(f.dir, "parquet", ".manifests", "snapshot_date="+m.SnapshotAt.Format(time.DateOnly)+".json")
	for _, file := range []string{filepath.Join(f.dir, "versions", m.RunID, warehouse.ManifestFile), dayManifest} {
		var manifest map[string]any
		harness.Must(t, json.Unmarshal([]byte(read(t, file)), &manifest))
		delete(manifest, "seal")
		manifest["format"], manifest["program_version"] = warehouse.Format+1, "9.1.0"
		text, err := checksum.Seal(manifest)
		harness.Must(t, errors.Join(err, os.Remove(file))) // the file may have a hard link
		harness.Must(t, os.WriteFile(file, text, 0o600))
	}
	f.now = f.now.Add(24 * time.Hour)
	requireRejected := func(args ...string) {
		t.Helper()
		var out bytes.Buffer
		code, errorOutput := f.execute(t.Context(), map[string]string{"PLACEMENTSYNC_TOKEN": demoToken}, &out, args...)
		if code != 1 || !strings.Contains(errorOutput, fmt.Sprintf("was written by placementsync 9.1.0 in format %d and this program knows %d; nothing was changed: use that program or a newer one",
			warehouse.Format+1, warehouse.Format)) {
			t.Errorf("%q ended with %d, want 1 and the two formats: %s%s", args, code, &out, errorOutput)
		}
	}
	for _, args := range [][]string{
		{"run"}, {"check"}, {"query", "SELECT 1"}, {"report", "-o", filepath.Join(t.TempDir(), "report.html")}, {"diff"},
		{"export", "--to", filepath.Join(t.TempDir(), "out")}, {"explore", "--listen", "127.0.0.1:0"}, {"rollback"}, {"prune"},
		{"replay", m.RunID}, {"rebuild"}, {"rebuild", "--series"}, {"verify"},
	} {
		requireRejected(args...)
	}
	if n := f.requestCount.Load(); n > 1 { // "check" requests the token before it opens the warehouse
		t.Errorf("the service received %d requests, want at most 1", n)
	}
	// A restored backup contains only parquet/ and state/.
	for _, name := range []string{"latest", "versions", "catalog.duckdb", "raw"} {
		harness.Must(t, os.RemoveAll(filepath.Join(f.dir, name)))
	}
	requireRejected("rebuild")
	requireRejected("rebuild", "--skip-damaged")
}
