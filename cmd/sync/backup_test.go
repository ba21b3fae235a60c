package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/checksum"
	"placementsync/internal/cli"
	"placementsync/internal/ledger"
	"placementsync/internal/query"
	"placementsync/internal/sim"
	"placementsync/internal/testing/harness"
	"placementsync/internal/testing/s3sim"
)

// bucketHarness is a warehouse with a backup in a bucket.
type bucketHarness struct {
	store   *s3sim.Server
	service *sim.Service
	root    string
	g       *globals
	// out contains the output of all commands.
	out *bytes.Buffer
}

// newBucketHarness returns an empty warehouse, whose nights read the named streams. Without names they read
// all streams.
func newBucketHarness(t *testing.T, names ...string) *bucketHarness {
	t.Helper()
	d := &bucketHarness{store: s3sim.New("store"), root: t.TempDir(), out: &bytes.Buffer{}}
	server := httptest.NewServer(d.store)
	t.Cleanup(server.Close)
	d.service = sim.New(sim.Options{Seed: 5, Token: demoToken, Outlets: 4, Listings: 10, Profiles: 2, Campaigns: 3, Orders: 8, Files: 2, Folders: 1})
	base, stop, err := d.service.Serve()
	harness.Must(t, err)
	t.Cleanup(func() { harness.Must(t, stop()) })
	harness.Must(t, os.WriteFile(filepath.Join(d.root, "access"), []byte(s3sim.AccessKey), 0o600))
	harness.Must(t, os.WriteFile(filepath.Join(d.root, "secret"), []byte(s3sim.SecretKey), 0o600))
	harness.Must(t, os.WriteFile(filepath.Join(d.root, "config.yaml"), []byte(fmt.Sprintf(`
api: {base_url: %s, token: %s, requests_per_second: 0}
warehouse: {dir: warehouse, threads: 1}
s3: {endpoint: "%s", region: eu-test-1, path_style: true, access_key_file: access, secret_key_file: secret}
backup: s3://store/night
streams: {include: [%s]}
`, base, demoToken, server.URL, strings.Join(names, ", "))), 0o600))
	d.g = &globals{process: hostProcess(), Flags: cli.Flags{Config: filepath.Join(d.root, "config.yaml")}}
	d.g.stdout, d.g.stderr = d.out, d.out
	createWarehouse(t, d.dir())
	d.store.Now = func() time.Time { return d.g.Now() }
	return d
}

// newBackup returns a warehouse that is a copy of from, and its backup.
func newBackup(t *testing.T, from string) *bucketHarness {
	t.Helper()
	d := newBucketHarness(t)
	harness.Must(t, errors.Join(os.RemoveAll(d.dir()), copyTree(from, d.dir())))
	harness.Must(t, runBackup(t.Context(), d.g, backupOptions{}))
	return d
}

func (d *bucketHarness) dir() string { return filepath.Join(d.root, "warehouse") }

// night advances the service by a day and runs a night.
func (d *bucketHarness) night(t *testing.T) error {
	t.Helper()
	d.service.Advance(1)
	at := d.service.Now().Add(2 * time.Hour)
	d.g.Now = func() time.Time { return at }
	return runNight(t.Context(), d.g, runOptions{})
}

// exitCodeOf returns the exit code of the program for an error.
func exitCodeOf(t *testing.T, err error) int { return cli.OutcomeOf(t.Context(), err).ExitCode() }

// files returns the files below parquet/ and state/ that belong to a backup: names and contents.
func (d *bucketHarness) files(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, top := range []string{"parquet", "state"} {
		harness.Must(t, filepath.WalkDir(filepath.Join(d.dir(), top), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			name, _ := filepath.Rel(d.dir(), path)
			if strings.HasPrefix(name, "state/seen/") || strings.HasSuffix(name, "lock") {
				return nil
			}
			data, err := os.ReadFile(path)
			all[name] = string(data)
			return err
		}))
	}
	return all
}

func (d *bucketHarness) queryCSV(t *testing.T, sql string) string {
	t.Helper()
	var out bytes.Buffer
	g := *d.g
	g.stdout = &out
	harness.Must(t, runQuery(t.Context(), &g, queryOptions{output: outputOptions{format: "csv"}}, []string{sql}))
	return out.String()
}

func (d *bucketHarness) prices(t *testing.T) string {
	return d.queryCSV(t, "select currency, count(*), sum(unit_amount) from history.product_listing_prices group by all order by all")
}

// TestTrialBackupFailures runs nights and backups with failures of the bucket, and checks the exit codes and the
// messages. The tests of the package backup check the objects.
func TestTrialBackupFailures(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	d := newBucketHarness(t, "product_listings", "orders")
	harness.Must(t, d.night(t))
	harness.Must(t, d.night(t))
	t.Run("the bucket is lost during a backup", d.testLostBucket)
	t.Run("wrong keys are reported", d.testWrongKeys)
	harness.Must(t, runBackup(t.Context(), d.g, backupOptions{}))
	t.Run("an older backup is used on request", d.testOlderBackup)
	t.Run("damage in the bucket is found", d.testDamagedBucket)

	for _, key := range []string{s3sim.SecretKey, s3sim.AccessKey} {
		if strings.Contains(d.out.String(), key) {
			t.Errorf("the output contains a key")
		}
		for name, text := range d.files(t) {
			if strings.Contains(text, key) {
				t.Errorf("%s contains a key", name)
			}
		}
	}
}

func (d *bucketHarness) testLostBucket(t *testing.T) {
	objectsBefore := d.store.Objects("store")
	puts := 0
	d.store.FailWith(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			puts++
		}
		if puts > 5 {
			s3sim.Refuse(w, http.StatusNotFound, "NoSuchBucket")
		}
		return puts > 5
	})
	err := d.night(t)
	if exitCodeOf(t, err) != ledger.Partial.ExitCode() || !strings.Contains(err.Error(), "s3://store/night/") || !strings.Contains(err.Error(), "the bucket does not exist") {
		t.Errorf("the night without a bucket ended with %d: %v; want the outcome partial and the reason", exitCodeOf(t, err), err)
	}
	d.store.FailWith(nil)
	if diff := cmp.Diff(backupManifests(objectsBefore), backupManifests(d.store.Objects("store"))); diff != "" {
		t.Errorf("the previous backup changed:\n%s", diff)
	}
	harness.Must(t, runBackup(t.Context(), d.g, backupOptions{verify: true, readData: true}))
	wh, _, err := d.g.openWarehouse()
	harness.Must(t, err)
	entries, err := wh.RunLog.RunsAndFollowUps()
	harness.Must(t, err)
	followUps := ledger.FollowUps(entries)
	if len(followUps) != 1 || !followUps[0].IsBehind() || followUps[0].Last.Outcome != ledger.Failed || followUps[0].SucceededAt.IsZero() {
		t.Errorf("the ledger contains %+v, want one failed backup after a complete one", followUps)
	}
	if nights := d.queryCSV(t, "select count(*) as nights from meta.runs where snapshot_at is not null"); strings.Join(strings.Fields(nights), " ") != "nights 3" {
		t.Errorf("readers do not see the last night: %s", nights)
	}
	harness.Must(t, runBackup(t.Context(), d.g, backupOptions{}))
}

func (d *bucketHarness) testWrongKeys(t *testing.T) {
	keyFile := filepath.Join(d.root, "access")
	harness.Must(t, os.WriteFile(keyFile, []byte("AKIAOTHER"), 0o600))
	err := d.night(t)
	if exitCodeOf(t, err) != ledger.Partial.ExitCode() || !strings.Contains(err.Error(), "does not know the access key") {
		t.Errorf("the night with wrong keys ended with %d: %v; want the outcome partial and the reason", exitCodeOf(t, err), err)
	}
	harness.Must(t, os.WriteFile(keyFile, []byte(s3sim.AccessKey), 0o600))
}

// TestFollowUpInAnotherProcess runs the follow-ups of a night while another process makes the backup, which is no
// failure.
func TestFollowUpInAnotherProcess(t *testing.T) {
	t.Parallel()
	d := newBucketHarness(t)
	wh, cfg, err := d.g.openWarehouse()
	harness.Must(t, err)
	cfg.Backup = "s3://store/night"
	unlock, err := wh.Folder.LockJob(ledger.Backup)
	harness.Must(t, err)
	err = d.g.runFollowUps(t.Context(), cfg)
	if err := runBackup(t.Context(), d.g, backupOptions{}); exitCodeOf(t, err) != ledger.Locked.ExitCode() {
		t.Errorf("the command backup ended with %v, want the outcome locked", err)
	}
	harness.Must(t, unlock())
	if entries, _ := wh.RunLog.RunsAndFollowUps(); err != nil || len(entries) > 0 {
		t.Errorf("the follow-ups ended with %v and the ledger entries %+v, want neither", err, entries)
	}
}

// TestCheckReadsTheTestObjectBack checks a bucket that returns another content than it received.
func TestCheckReadsTheTestObjectBack(t *testing.T) {
	t.Parallel()
	d := newBucketHarness(t)
	cfg, err := d.g.loadConfig()
	harness.Must(t, err)
	harness.Must(t, checkBucket(t.Context(), d.g, cfg))
	if n := len(d.store.Objects("store")); n > 0 || d.out.String() != "backup         s3://store/night can be written\n" {
		t.Errorf("the check printed %q and left %d objects, want that the bucket can be written, and none", d.out, n)
	}
	d.store.FailWith(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet {
			_, _ = w.Write([]byte("of another program"))
		}
		return r.Method == http.MethodGet
	})
	if err := checkBucket(t.Context(), d.g, cfg); err == nil || !strings.Contains(err.Error(), "had different content when it was read back") {
		t.Errorf("the check ended with %v, want an error", err)
	}
}

// TestFlagsOfABackup combines the flags of the command.
func TestFlagsOfABackup(t *testing.T) {
	t.Parallel()
	d := newBucketHarness(t)
	for want, o := range map[string]backupOptions{
		"--read-data needs --verify":                   {readData: true, rehearse: true},
		"--older needs --verify":                       {older: true},
		"--verify and --rehearse cannot be combined: ": {verify: true, rehearse: true},
	} {
		err := runBackup(t.Context(), d.g, o)
		if exitCodeOf(t, err) != ledger.Misused.ExitCode() || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got the error %v, want %q", o, err, want)
		}
	}
	harness.Must(t, os.RemoveAll(d.dir()))
	err := runBackup(t.Context(), d.g, backupOptions{rehearse: true})
	if exitCodeOf(t, err) != ledger.Misused.ExitCode() || !strings.Contains(err.Error(), "contains no warehouse") {
		t.Errorf("without a warehouse, the rehearsal ended with %v, want an error of usage", err)
	}
	harness.Must(t, os.WriteFile(d.g.Config, []byte(strings.Replace(read(t, d.g.Config), "backup: ", "# ", 1)), 0o600))
	err = runBackup(t.Context(), d.g, backupOptions{})
	const advice = `add the line "backup: s3://bucket/prefix" to `
	if exitCodeOf(t, err) != ledger.Misused.ExitCode() || !strings.Contains(err.Error(), advice) {
		t.Errorf("without a bucket, the backup ended with %v, want the line to add", err)
	}
}

// testOlderBackup makes the manifest of the newest backup unreadable.
func (d *bucketHarness) testOlderBackup(t *testing.T) {
	manifests := backupManifests(d.store.Objects("store"))
	newest := manifests[len(manifests)-1]
	intact := d.store.Objects("store")[newest]
	d.store.Change("store", func(objects map[string][]byte) { objects[newest] = []byte("{}") })
	lost := d.dir() + ".lost"
	for _, older := range []bool{false, true} {
		verifyErr := runBackup(t.Context(), d.g, backupOptions{verify: true, older: older})
		harness.Must(t, os.Rename(d.dir(), lost))
		rebuildErr := runRebuild(t.Context(), d.g, rebuildOptions{from: "s3://store/night", older: older})
		harness.Must(t, errors.Join(os.RemoveAll(d.dir()), os.Rename(lost, d.dir())))
		for command, err := range map[string]error{"backup --verify": verifyErr, "rebuild --from": rebuildErr} {
			if older && err != nil || !older && (err == nil || !strings.Contains(err.Error(), "--older uses the newest readable backup")) {
				t.Errorf("%s with --older=%t ended with %v, want success with --older, and otherwise advice to use it", command, older, err)
			}
		}
	}
	d.store.Change("store", func(objects map[string][]byte) { objects[newest] = intact })
}

func (d *bucketHarness) testDamagedBucket(t *testing.T) {
	d.store.Change("store", func(objects map[string][]byte) {
		for name, data := range objects {
			if strings.Contains(name, "/data/") && len(data) > 1000 {
				objects[name] = append([]byte{data[0] ^ 1}, data[1:]...)
				break
			}
		}
	})
	if err := runBackup(t.Context(), d.g, backupOptions{verify: true, readData: true}); exitCodeOf(t, err) != ledger.Failed.ExitCode() {
		t.Errorf("backup --verify ended with %v, want the outcome failed", err)
	}
}

func backupManifests(objects map[string][]byte) []string {
	var names []string
	for name := range objects {
		if strings.Contains(name, "/manifests/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// checkLeftovers checks which files the next export removes. On the disk, this export must remove the
// temporary folder of a killed export, but not that of a running export. In the bucket, it must remove the
// folder of a failed export when the folder is a day old, but not the files of another program. advance
// advances the clock.
func (d *bucketHarness) checkLeftovers(t *testing.T, export func() error, advance func(hours int)) {
	t.Helper()
	const deadPID = 1<<31 - 2 // no process has this id
	killed, running := filepath.Join(os.TempDir(), fmt.Sprintf("placementsync-export-%d.7", deadPID)), filepath.Join(os.TempDir(), fmt.Sprintf("placementsync-export-%d.7", os.Getpid()))
	for _, dir := range []string{killed, running} {
		harness.Must(t, os.MkdirAll(filepath.Join(dir, "files"), 0o700))
		t.Cleanup(func() { harness.Must(t, os.RemoveAll(dir)) })
	}
	puts := 0
	d.store.FailWith(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			puts++
		}
		if puts > 1 {
			s3sim.Refuse(w, http.StatusForbidden, "AccessDenied")
		}
		return puts > 1
	})
	if err := export(); err == nil || !strings.Contains(err.Error(), "from s3://store/for/them/2026") || !strings.Contains(err.Error(), ", which still contains them") {
		t.Errorf("export ended with %v, want an error that names the kept objects", err)
	}
	d.store.FailWith(nil)
	if _, err := os.Stat(killed); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the temporary folder of a killed export was not removed (%v)", err)
	}
	if _, err := os.Stat(running); err != nil {
		t.Errorf("the temporary folder of a running export was removed: %v", err)
	}
	exportFolders := func() (folders []string) {
		for name := range d.store.Objects("store") {
			if name, ok := strings.CutPrefix(name, "for/them/"); ok && name != "manifest.json" {
				folders = append(folders, path.Dir(name))
			}
		}
		slices.Sort(folders)
		return slices.Compact(folders)
	}
	d.store.Change("store", func(objects map[string][]byte) { objects["for/them/20251101/theirs.parquet"] = []byte("x") })
	harness.Must(t, export())
	afterAnHour := exportFolders()
	if len(afterAnHour) != 4 {
		t.Fatalf("an hour later the bucket has %v, want the folders of two exports, of the failed export and of another program", afterAnHour)
	}
	failedFolder := afterAnHour[2] // by time: another program, an export, the failed export, an export
	advance(48)
	harness.Must(t, export())
	if afterTwoDays := exportFolders(); len(afterTwoDays) != 3 || slices.Contains(afterTwoDays, failedFolder) || !slices.Contains(afterTwoDays, "20251101") {
		t.Errorf("two days later the bucket has %v, want three folders without %s of the failed export", afterTwoDays, failedFolder)
	}
}

// TestTrialExportToBucketIsAtomic checks that readers of the manifest see the previous
// export until the next export is complete. The files of the previous export are then kept until
// one more export is complete.
func TestTrialExportToBucketIsAtomic(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	d := newBucketHarness(t)
	text, err := os.ReadFile(d.g.Config)
	harness.Must(t, err)
	harness.Must(t, os.WriteFile(d.g.Config, bytes.Replace(text, []byte("backup: s3://store/night"), nil, 1), 0o600))
	harness.Must(t, d.night(t))
	hour := 0
	export := func() error {
		hour++
		at := d.service.Now().Add(time.Duration(hour) * time.Hour)
		d.g.Now = func() time.Time { return at }
		return runExport(t.Context(), d.g, exportOptions{to: "s3://store/for/them", format: "parquet"}, []string{"outlets", "product_listing_prices"})
	}
	// readPublished reads the files in the manifest, as a reader does.
	readPublished := func() map[string]string {
		objects := d.store.Objects("store")
		var m query.BucketManifest
		harness.Must(t, json.Unmarshal(objects["for/them/manifest.json"], &m))
		files := map[string]string{}
		for _, f := range m.Files {
			data := objects["for/them/"+m.Folder+"/"+f.File]
			if sum := checksum.SumText("", data); sum.SHA256 != f.SHA256 || sum.Bytes != f.Bytes {
				t.Errorf("%s has %d bytes, want %d", f.File, len(data), f.Bytes)
			}
			files[m.Folder+"/"+f.File] = f.SHA256
		}
		return files
	}
	harness.Must(t, export())
	first, objectCount := readPublished(), len(d.store.Objects("store"))
	puts := 0
	d.store.FailWith(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			puts++
		}
		refused := r.Method == http.MethodPut && puts > 1
		if refused {
			s3sim.Refuse(w, http.StatusForbidden, "AccessDenied")
		}
		return refused
	})
	if err := export(); err == nil || !strings.Contains(err.Error(), "readers of s3://store/for/them keep the previous export") {
		t.Errorf("export ended with %v, want an error that names the previous export", err)
	}
	d.store.FailWith(nil)
	if diff := cmp.Diff(first, readPublished()); diff != "" {
		t.Errorf("readers do not see the previous export:\n%s", diff)
	}
	if n := len(d.store.Objects("store")); n != objectCount {
		t.Errorf("the bucket has %d objects after a failed export, want %d", n, objectCount)
	}
	harness.Must(t, export())
	for name := range first {
		if d.store.Objects("store")["for/them/"+name] == nil {
			t.Errorf("the next export removed %s", name)
		}
	}
	harness.Must(t, export())
	for name := range first {
		if d.store.Objects("store")["for/them/"+name] != nil {
			t.Errorf("%s was not removed by two more exports", name)
		}
	}
	d.checkLeftovers(t, export, func(hours int) { hour += hours })
	readPublished()
	d.store.Change("store", func(objects map[string][]byte) { objects["for/them/manifest.json"] = []byte(`{"kind": "other"}`) })
	if err := export(); exitCodeOf(t, err) != ledger.Misused.ExitCode() {
		t.Errorf("with a manifest of another program the export ended with %v, want a usage error", err)
	}
	if strings.Contains(d.out.String(), s3sim.SecretKey) {
		t.Error("the output contains a key")
	}
}
