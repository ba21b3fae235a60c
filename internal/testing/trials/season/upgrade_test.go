package season_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/sim"
	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/s3sim"
	"placementsync/internal/testing/torture"
	"placementsync/internal/testing/trials"
	"placementsync/internal/warehouse"
)

// upgradeVariable is the environment variable that enables the upgrade trials.
const upgradeVariable = "PLACEMENTSYNC_UPGRADE"

// upgrade is a trial in which the program of an earlier release and the current program run in turn on one warehouse.
type upgrade struct {
	*trials.Harness
	ref              *trials.Reference
	earlier, current builtProgram
	configFile       string // path
	// nights are the published nights that the history of the warehouse must contain.
	nights []trials.NightData
	// runs counts the runs of both programs.
	runs int
}

// newColumns are columns whose fields the releases up to 1.0.1 store in extra.
var newColumns = []string{"expected_completion_date", "expected_completion_date_title"}

// asEarlierRead changes a response, or a part of it, so that all releases store the same values. It removes the
// newColumns. If metadata is a text that contains JSON, it decodes the text, because releases up to 1.0.1 do not.
func asEarlierRead(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range newColumns {
			delete(v, name)
		}
		if text, ok := v["metadata"].(string); ok && strings.HasPrefix(text, "{") {
			v["metadata"] = trials.Decode(text)
		}
		for name, value := range v {
			v[name] = asEarlierRead(value)
		}
	case []any:
		for i, value := range v {
			v[i] = asEarlierRead(value)
		}
	}
	return v
}

// TestUpgrade runs the program of an earlier release and the current program in turn on the same warehouse. After
// each night, it compares all values and the whole history with the service. After a night of the current program,
// the earlier program must refuse to run: it prints one line of error and changes no file. After a rollback to a
// version of the earlier program, the earlier program must continue.
func TestUpgrade(t *testing.T) {
	if os.Getenv(upgradeVariable) == "" {
		t.Skipf("builds earlier releases: run make upgrade-test, or set %s=1", upgradeVariable)
	}
	current := buildCurrent(t)
	for _, r := range earlierReleases() {
		t.Run(r.version, func(t *testing.T) {
			t.Parallel()
			earlier := buildRelease(t, r)
			startedAt, runs := time.Now(), 0
			run := func(name string, trial func(*upgrade)) {
				t.Run(name, func(t *testing.T) {
					u := newUpgrade(t, earlier, current)
					trial(u)
					runs += u.runs
				})
			}
			run("nights", nightsInTurn)
			run("killed nights", killedNightsInTurn)
			run("held night", heldNightInTurn)
			run("private values", privateNightsInTurn)
			run("backup", backupInTurn)
			trials.RecordTrial(t, startedAt, func() torture.Trial {
				return torture.Trial{Name: "upgrade from " + r.version, Procedure: "that release and this program run in turn on the same warehouse, also after kills, a held night and a rollback",
					Runs: runs, Outcome: "all values and the history equal the service; after a night of this program the release refuses and changes no file"}
			})
		})
	}
}

func newUpgrade(t *testing.T, earlier, current builtProgram) *upgrade {
	t.Helper()
	opts := trials.SmallWorld()
	opts.ListingTurnover, opts.SilentChange, opts.Encodings = 0.1, 0.2, []string{"zstd"}
	u := &upgrade{Harness: trials.NewHarness(t, opts), earlier: earlier, current: current, configFile: filepath.Join(t.TempDir(), "config.yaml")}
	u.useService(u.Service)
	u.configure("privacy: {drop: []}")
	testharness.Must(t, warehouse.New(u.Config.Warehouse).Folder.Create(nil))
	return u
}

// configure writes a configuration that all releases accept.
func (u *upgrade) configure(moreSettings ...string) {
	u.T.Helper()
	text := fmt.Sprintf(`api: {base_url: '%s', token: '${PLACEMENTSYNC_TOKEN}', requests_per_second: 0, page_size: 7}
streams: {details: all}
warehouse: {dir: '%s', keep_versions: 9, threads: 1, memory_limit: 256MB}
schedule: {catch_up: false}
serve: {listen: '127.0.0.1:0', webhook_secrets: [%s], webhook_max_age: 0s}
%s
`, u.Server.URL, u.Config.Warehouse.Dir, trials.HookSecret, strings.Join(moreSettings, "\n"))
	testharness.Must(u.T, os.WriteFile(u.configFile, []byte(text), 0o600))
}

// useService lets both programs read a service, whose responses are changed by asEarlierRead.
func (u *upgrade) useService(service *sim.Service) {
	u.Service = service
	u.Service.SetFaults(sim.Fault{Kind: sim.FaultRewrite, Rewrite: func(body []byte) []byte {
		return []byte(trials.Canonical(asEarlierRead(trials.Decode(string(body)))))
	}})
	u.ref = trials.NewReference(u.T, u.Service, stream.All())
	u.ref.Rewrite = asEarlierRead
	for i := range u.ref.Tables {
		u.ref.Tables[i].MayLack = newColumns
	}
}

// nextNight advances to the next day and runs a night. The night must be published, and all values
// must equal the service.
func (u *upgrade) nextNight(p builtProgram) {
	u.T.Helper()
	u.NextDay()
	u.finishNight(p, u.At)
}

// finishNight runs or resumes a night. It makes the checks that nextNight describes. snapshotAt is the
// expected snapshot time.
func (u *upgrade) finishNight(p builtProgram, snapshotAt time.Time) {
	u.T.Helper()
	u.mustExecute(p, "run")
	u.runs++
	u.nights = append(u.nights, trials.NightData{At: snapshotAt, Rows: u.ref.CurrentRows()})
	u.RequireValues(u.ref)
	u.RequireHistory(u.ref, u.nights)
}

// unchangedNight runs a night an hour after the previous night. No value has changed, so the night must find no
// changed rows.
func (u *upgrade) unchangedNight(p builtProgram) {
	u.T.Helper()
	u.At = u.At.Add(time.Hour)
	u.mustExecute(p, "run")
	u.runs++
	changes := u.QueryOne("SELECT concat_ws(' ', rows_new, rows_changed, rows_gone) FROM meta.runs ORDER BY snapshot_at DESC NULLS LAST LIMIT 1")
	if changes != "0 0 0" {
		u.T.Errorf("a night of %s without changes found %s new, changed and deleted rows, want 0 0 0", p.version, changes)
	}
}

// rollBack rolls back to an earlier version with the current program.
func (u *upgrade) rollBack(run string) {
	u.T.Helper()
	u.At = u.At.Add(time.Hour)
	u.mustExecute(u.current, "rollback", run)
}

// requireVerifiedBut checks that the command "verify" of an earlier release finds no damage but in the stored responses
// of a run of the current program, whose form it does not know.
func (u *upgrade) requireVerifiedBut(p builtProgram, run string) {
	u.T.Helper()
	code, out, stderr := u.execute(p, "verify", "--read-data")
	// The output has one line for the responses of the run, and the summary.
	damaged := regexp.MustCompile(`(?m)^\S+: .*(damaged|missing|lost).*$`).FindAllString(out, -1)
	if code != 1 || len(damaged) != 2 || !strings.HasPrefix(damaged[0], "raw/"+run+": ") || !strings.HasPrefix(damaged[1], "damaged: ") {
		u.T.Errorf("verify of %s ended with exit code %d, want 1 and only damaged responses of run %s:\n%s%s", p.version, code, run, out, stderr)
	}
}

// requireEvents checks that the snapshot contains each event once.
func (u *upgrade) requireEvents(events ...sim.Delivery) {
	u.T.Helper()
	var want []string
	for _, e := range events {
		want = append(want, e.ID+" "+e.Topic+" stored")
	}
	slices.Sort(want)
	u.RequireLines("SELECT concat_ws(' ', event_id, topic, outcome) FROM meta.webhook_events ORDER BY 1", want...)
	if n := u.Count("(SELECT event_id FROM article_status_events UNION ALL SELECT event_id FROM article_comment_events)", "true"); n != len(events) {
		u.T.Errorf("the tables of events have %d rows, want %d", n, len(events))
	}
}

// events returns a status change and a comment of an article.
func (u *upgrade) events() []sim.Delivery {
	u.T.Helper()
	article := u.ArticleWithComment()
	status, err := u.Service.StatusChange(article)
	testharness.Must(u.T, err)
	comment, err := u.Service.CommentChange("comment.created", article, 0)
	testharness.Must(u.T, err)
	return []sim.Delivery{status, comment}
}

// requireRefused checks that commands of a program fail with one line of error, send no requests and change no file.
// It does not compare the lock file, which contains the last process that had the lock.
func (u *upgrade) requireRefused(p builtProgram, commands ...[]string) {
	u.T.Helper()
	var requests atomic.Int64
	u.OnRequest(func(*http.Request) { requests.Add(1) })
	defer u.OnRequest(nil)
	files := trials.SumTree(u.T, u.Config.Warehouse.Dir, "state/lock")
	want := fmt.Sprintf("was written by placementsync %s in format ", u.current.version)
	for _, args := range commands {
		code, _, stderr := u.execute(p, args...)
		if code != 1 || strings.Count(strings.TrimSpace(stderr), "\n") != 0 || !strings.Contains(stderr, want) || !strings.Contains(stderr, "nothing was changed") {
			u.T.Errorf("%q of %s ended with exit code %d, want 1 and one line with %q and \"nothing was changed\":\n%s", args, p.version, code, want, stderr)
		}
		if n := requests.Load(); n > 0 {
			u.T.Errorf("%q of %s sent %d requests, want none", args, p.version, n)
		}
		if diff := cmp.Diff(files, trials.SumTree(u.T, u.Config.Warehouse.Dir, "state/lock")); diff != "" {
			u.T.Fatalf("%q of %s changed files (-before +after):\n%s", args, p.version, diff)
		}
	}
}

func nightsInTurn(u *upgrade) {
	u.nextNight(u.earlier)
	u.nextNight(u.earlier)
	earlierRun := u.LatestRun()
	deliveries := u.events()
	u.deliverEvents(u.earlier, deliveries...)

	u.nextNight(u.current)
	u.requireEvents(deliveries...)
	u.mustExecute(u.current, "verify", "--read-data")
	currentRun := u.LatestRun()
	u.At = u.At.Add(time.Hour)
	u.mustExecute(u.current, "rebuild")
	u.RequireValues(u.ref)
	u.RequireHistory(u.ref, u.nights)
	u.requireEvents(deliveries...)
	out := u.T.TempDir()
	u.requireRefused(u.earlier, []string{"run"}, []string{"run", "--dry-run"}, []string{"query", "SELECT 1"}, []string{"query", "headline"},
		[]string{"report", "-o", filepath.Join(out, "report.html")}, []string{"diff"}, []string{"export", "--to", out}, []string{"explore", "--listen", "127.0.0.1:0"},
		[]string{"rollback"}, []string{"rollback", earlierRun}, []string{"prune"}, []string{"replay", currentRun}, []string{"rebuild"}, []string{"rebuild", "--series"},
		[]string{"verify"}, []string{"verify", "--read-data"})

	// After a rollback to a version of the earlier release, that release continues.
	u.rollBack(earlierRun)
	u.nights = u.nights[:2]
	u.RequireHistory(u.ref, u.nights)
	u.requireVerifiedBut(u.earlier, currentRun)
	u.nextNight(u.earlier)
	u.requireVerifiedBut(u.earlier, currentRun)
	u.nextNight(u.current)
	u.mustExecute(u.current, "verify", "--read-data")
	u.RequireSeries(u.ref, u.nights)
}

// killNight advances to the next day, starts a night, and kills its process with SIGKILL while it
// reads records of campaigns. It returns the id of the run.
func (u *upgrade) killNight(p builtProgram) string {
	u.T.Helper()
	u.NextDay()
	cmd := u.command(p, "--quiet", "run")
	var once sync.Once
	testharness.Must(u.T, cmd.Start())
	u.OnRequest(func(r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/campaigns/") {
			once.Do(func() { testharness.Must(u.T, cmd.Process.Kill()) })
		}
	})
	err := cmd.Wait()
	u.OnRequest(nil)
	if cmd.ProcessState.ExitCode() != -1 {
		u.T.Fatalf("the night of %s ended before it was killed: %v", p.version, err)
	}
	u.runs++
	return u.newestRun()
}

// newestRun returns the newest run with stored responses, which need not be published.
func (u *upgrade) newestRun() string {
	u.T.Helper()
	runs, err := os.ReadDir(u.Path("raw"))
	testharness.Must(u.T, err)
	return runs[len(runs)-1].Name()
}

// resumeNight resumes a killed night with another program.
func (u *upgrade) resumeNight(p builtProgram, run string) {
	u.T.Helper()
	snapshotAt := u.At
	u.At = u.At.Add(time.Hour)
	requested := map[string]int{}
	var mu sync.Mutex
	u.OnRequest(func(r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		requested[r.URL.Path]++
	})
	u.finishNight(p, snapshotAt)
	u.OnRequest(nil)
	if got := u.LatestRun(); got != run {
		u.T.Errorf("%s published %s, want the resumed run %s", p.version, got, run)
	}
	// An earlier release does not know the form of the stored responses, and reads the lists again.
	if n := requested["/orders"] + requested["/outlets"]; n > 0 && p.version == u.current.version {
		u.T.Errorf("%s repeated %d requests for lists, want none", p.version, n)
	}
}

func killedNightsInTurn(u *upgrade) {
	u.nextNight(u.earlier)
	deliveries := u.events()
	u.deliverEvents(u.current, deliveries...)
	u.resumeNight(u.earlier, u.killNight(u.current))
	u.requireEvents(deliveries...)
	u.mustExecute(u.earlier, "verify", "--read-data")

	u.resumeNight(u.current, u.killNight(u.earlier))
	u.requireEvents(deliveries...)
	u.mustExecute(u.current, "verify", "--read-data")
	u.killNight(u.current)
	u.requireRefused(u.earlier, []string{"run"})
}

func heldNightInTurn(u *upgrade) {
	u.useService(sim.New(sim.Options{Seed: 1, Token: trials.Token}))
	u.nextNight(u.earlier)
	u.nextNight(u.earlier)
	u.Service.SetValueFaults(sim.ValueFault{Change: trials.PricesTimes(100, 1), Day: u.Service.Day() + 1})
	u.NextDay()
	if code, _, stderr := u.execute(u.current, "run"); code != 1 || !strings.Contains(stderr, "prices_scaled") {
		u.T.Fatalf("the night ended with exit code %d, want 1 and prices_scaled in the error:\n%s", code, stderr)
	}
	u.runs++
	u.Service.SetValueFaults()
	heldRun := u.newestRun()
	u.nextNight(u.earlier)
	u.requireVerifiedBut(u.earlier, heldRun)
	u.nextNight(u.current)
	u.mustExecute(u.current, "verify", "--read-data")
	if files, err := os.ReadDir(u.Path("held")); err != nil || len(files) > 0 {
		u.T.Errorf("held/ contains %v after the next nights (%v), want no files", files, err)
	}
}

func privateNightsInTurn(u *upgrade) {
	u.configure("privacy: {hash: [profiles.name, article_comments.author_email], drop: [orders.client_secret, order_items.client_last_name]}")
	requireHidden := func(when string) {
		u.T.Helper()
		for _, p := range u.ref.CurrentRows()["profiles"] {
			if n := u.Count("profiles", "name = ?", p["name"]); n > 0 {
				u.T.Errorf("%s: profiles contains the name of a profile, want its hash", when)
			}
		}
		if n := u.Count("history.order_items", "client_last_name IS NOT NULL"); n > 0 {
			u.T.Errorf("%s: %d rows have a value of the dropped column client_last_name, want none", when, n)
		}
	}
	u.NextDay()
	u.mustExecute(u.earlier, "run")
	earlierRun := u.LatestRun()
	requireHidden("earlier release")
	u.unchangedNight(u.current)
	requireHidden("this program")
	u.requireRefused(u.earlier, []string{"run"})
	u.rollBack(earlierRun)
	u.unchangedNight(u.earlier)
	requireHidden("earlier release again")
	u.unchangedNight(u.current)
}

func backupInTurn(u *upgrade) {
	store := s3sim.New("store")
	store.Now = func() time.Time { return u.At }
	store.KeepsAcceptEncoding = true // releases up to 1.0.1 sign this header
	server := httptest.NewServer(store)
	u.T.Cleanup(server.Close)
	dir := filepath.Dir(u.configFile)
	testharness.Must(u.T, os.WriteFile(filepath.Join(dir, "access"), []byte(s3sim.AccessKey), 0o600))
	testharness.Must(u.T, os.WriteFile(filepath.Join(dir, "secret"), []byte(s3sim.SecretKey), 0o600))
	u.configure("privacy: {drop: []}", "backup: s3://store/night",
		fmt.Sprintf("s3: {endpoint: '%s', region: eu-test-1, path_style: true, access_key_file: access, secret_key_file: secret}", server.URL))
	u.nextNight(u.earlier)
	u.mustExecute(u.earlier, "backup")
	u.At = u.At.Add(time.Hour)
	u.mustExecute(u.current, "backup", "--rehearse")
	u.mustExecute(u.earlier, "runs")
	u.nextNight(u.earlier)
	// A rehearsal restores a backup for a test. Releases up to 1.0.1 do not have rehearsals. A
	// night of such a release records a rehearsal in meta.runs as a run without a snapshot.
	if n := u.Count("meta.runs", "snapshot_at IS NULL AND kind <> 'rehearsal'"); n > 0 {
		u.T.Errorf("meta.runs has %d runs without a snapshot besides the rehearsal, want none", n)
	}
	u.nextNight(u.current)
	u.mustExecute(u.current, "backup")
	u.requireRefused(u.earlier, []string{"run"})
	u.mustExecute(u.current, "backup", "--rehearse")
}
