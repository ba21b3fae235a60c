package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/cli"
	"placementsync/internal/ledger"
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

// TestNightWithoutItsBucket loses the bucket during the backup of a second night. The night is published, the previous
// backup is kept, and neither the output nor a file of the backup contains a key.
func TestNightWithoutItsBucket(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	d := newBucketHarness(t, "orders")
	harness.Must(t, d.night(t))
	manifests := backupManifests(d.store.Objects("store"))
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
	if diff := cmp.Diff(manifests, backupManifests(d.store.Objects("store"))); diff != "" {
		t.Errorf("the previous backup changed:\n%s", diff)
	}
	if followUp := d.lastFollowUp(t, ledger.Backup); !followUp.IsBehind() || followUp.Last.Outcome != ledger.Failed || followUp.SucceededAt.IsZero() {
		t.Errorf("the ledger contains %+v, want one failed backup after a complete one", followUp)
	}
	if nights := d.queryCSV(t, "select count(*) as nights from meta.runs where snapshot_at is not null"); nights != "nights\r\n2\r\n" {
		t.Errorf("readers see %q, want both nights", nights)
	}
	texts := d.files(t)
	texts["the output"] = d.out.String()
	for name, text := range texts {
		if strings.Contains(text, s3sim.SecretKey) || strings.Contains(text, s3sim.AccessKey) {
			t.Errorf("%s contains a key", name)
		}
	}
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
