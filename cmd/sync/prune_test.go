package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/cli"
	"placementsync/internal/ledger"
	"placementsync/internal/query"
	"placementsync/internal/repair"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// demoHarness is a warehouse of three nights, the days 2 to 4 of November. Commands write to out and messages.
type demoHarness struct {
	g             *globals
	dir           string
	wh            *warehouse.Warehouse
	out, messages bytes.Buffer
}

func newDemoHarness(t *testing.T) *demoHarness {
	t.Helper()
	config := threeNights(t)
	g := &globals{process: hostProcess(), Flags: cli.Flags{Config: config}}
	d := &demoHarness{g: g, dir: filepath.Join(filepath.Dir(config), "warehouse")}
	d.g.stdout, d.g.stderr = &d.out, &d.messages
	d.g.width, d.g.height, d.g.stderrWidth = 0, 0, 0
	var err error
	d.wh, _, err = d.g.openWarehouse()
	harness.Must(t, err)
	return d
}

// expect compares the outcome and the whole output of a command. Sizes and durations are masked.
func (d *demoHarness) expect(t *testing.T, name string, err error, outcome ledger.Outcome, out string) {
	t.Helper()
	got := regexp.MustCompile(` +size\n`).ReplaceAllString(d.out.String(), " size\n")
	got = regexp.MustCompile(` +[0-9.]+ [KM]iB`).ReplaceAllString(got, " <size>")
	got = regexp.MustCompile(`\(\d+ files(.*), [0-9.]+m?s\)`).ReplaceAllString(got, "(<n> files$1, <time>)")
	gotOutcome := cli.OutcomeOf(t.Context(), err)
	if diff := cmp.Diff(out, got); diff != "" || gotOutcome != outcome {
		t.Errorf("%s: got the outcome %q (%v), want %q; output (-want +got):\n%s", name, gotOutcome, err, outcome, diff)
	}
	d.out.Reset()
}

func (d *demoHarness) exists(name string) bool {
	_, err := os.Stat(filepath.Join(d.dir, name))
	return err == nil
}

// TestOldFilesArePruned removes expired files and one version, each first with --dry-run. While another process holds
// the lock of the warehouse, neither prune nor rollback changes anything.
func TestOldFilesArePruned(t *testing.T) {
	t.Parallel()
	d := newDemoHarness(t)
	lock, err := d.wh.LockExisting("other", d.g.Now())
	harness.Must(t, err)
	if _, err := d.g.pruneAfterNight(mustLoad(t, d.g), d.g.Now()); !errors.As(err, new(*warehouse.LockedError)) {
		t.Errorf("a prune after a night ended with %v, want a LockedError", err)
	}
	d.expect(t, "prune of a locked warehouse", runPrune(d.g, false, ""), ledger.Locked, "")
	d.expect(t, "rollback of a locked warehouse", runRollback(d.g, nil), ledger.Locked, "")
	harness.Must(t, lock.Release())

	d.testStoredResponses(t)
	const files = ` size
raw/20261102T020000Z <size>
raw/20261103T020000Z <size>

2 in total, <size>
`
	d.expect(t, "dry run", runPrune(d.g, true, ""), ledger.Complete, "would remove"+files)
	if !d.exists("raw/20261102T020000Z") || !d.exists("raw/20261103T020000Z") {
		t.Error("a dry run removed files")
	}
	d.expect(t, "prune", runPrune(d.g, false, ""), ledger.Complete, "removed"+files)
	if d.exists("raw/20261102T020000Z") || d.exists("raw/20261103T020000Z") || !d.exists("raw/20261104T020000Z") {
		t.Error("prune did not remove the first two nights, or it removed the newest")
	}
	d.expect(t, "second dry run", runPrune(d.g, true, ""), ledger.Complete, "would remove nothing\n")
	d.expect(t, "second prune", runPrune(d.g, false, ""), ledger.Complete, "removed nothing\n")

	const version = "20261102T020000Z"
	d.expect(t, "dry run of a version", runPrune(d.g, true, version), ledger.Complete,
		"would remove version "+version+"\n")
	if !d.exists("versions/" + version) {
		t.Error("a dry run removed a version")
	}
	d.expect(t, "prune of a version", runPrune(d.g, false, version), ledger.Complete, "removed version "+version+"\n")
	if d.exists("versions/" + version) {
		t.Error("prune did not remove the version")
	}
	d.expect(t, "rollback", runRollback(d.g, nil), ledger.Complete,
		"readers see 20261103T020000Z again, the snapshot of 2026-11-03T02:00:00Z\n")
}

// TestDamageIsReportedAndRepaired damages a file that the catalog contains, then loses stored responses, then the link
// to the newest version, then the catalog itself.
func TestDamageIsReportedAndRepaired(t *testing.T) {
	t.Parallel()
	d := newDemoHarness(t)
	ctx := t.Context()
	const whole = "intact (<n> files, names and sizes; --read-data reads every byte, <time>)\n"
	d.expect(t, "verify", runVerify(ctx, d.g, verifyOptions{format: "text"}), ledger.Complete, whole)
	d.expect(t, "series", runRebuild(ctx, d.g, rebuildOptions{series: true}), ledger.Complete,
		"no file of the series is damaged\n")
	const file = "parquet/orders/snapshot_date=2026-11-02/orders.parquet"
	harness.Must(t, os.Remove(filepath.Join(d.dir, file)))
	err := runVerify(ctx, d.g, verifyOptions{format: "json"})
	var report verifyJSON
	harness.Must(t, json.Unmarshal(d.out.Bytes(), &struct {
		*verifyJSON
		Damage  []any `json:"damage"`
		Repairs []any `json:"repairs"`
	}{verifyJSON: &report}))
	if cli.OutcomeOf(ctx, err) != ledger.Partial || report.Result != repair.Rebuildable || report.ReadData ||
		report.Files < 100 || report.Bytes != 0 || report.Seconds <= 0 ||
		!strings.Contains(d.out.String(), `"file": "`+file+`"`) || !strings.Contains(d.out.String(), `
  "repairs": [
    "placementsync rebuild --series"
  ],
  "notes": []
`) {
		t.Errorf("verify ended with %v, want the outcome partial and the missing file with its repair:\n%s", err, &d.out)
	}
	record, ok, err := repair.LastRecord(d.wh.Folder, false)
	if err != nil || !ok || record.Result != repair.Rebuildable || record.At.IsZero() {
		t.Errorf("the stored result is %+v (%t, %v), want that of the verification", record, ok, err)
	}
	d.out.Reset()
	d.expect(t, "repair", runRebuild(ctx, d.g, rebuildOptions{series: true}), ledger.Complete, "restored "+file+"\n")

	d.testWatchesOfAnotherProcess(t)
	const newest = "20261104T020000Z"
	journal := filepath.Join(d.dir, "raw", newest, "journal.jsonl")
	harness.Must(t, os.Rename(journal, journal+".lost"))
	noIndex := "open the responses of run " + newest + ": it has no index of its responses"
	if err := runRaw(d.g, rawOptions{}, nil); err == nil || !strings.HasPrefix(err.Error(), noIndex) {
		t.Errorf("raw ended with %v, want the newest run and that its index is missing", err)
	}
	d.out.Reset()
	if err := runVerify(ctx, d.g, verifyOptions{format: "text"}); cli.OutcomeOf(ctx, err) != ledger.Failed {
		t.Errorf("verify ended with %v, want the outcome failed, because the responses are lost", err)
	}
	harness.Must(t, os.Rename(journal+".lost", journal))

	harness.Must(t, os.Rename(filepath.Join(d.dir, "latest"), filepath.Join(d.dir, "lost")))
	const linkLost = `the link "latest" is missing, and ` + newest + ` was published last`
	if _, err := openCatalog(ctx, d.g, query.Options{}); err == nil || !strings.Contains(err.Error(), linkLost) {
		t.Errorf("a query without the link ended with %v, want the version that was published last", err)
	}
	harness.Must(t, os.Rename(filepath.Join(d.dir, "lost"), filepath.Join(d.dir, "latest")))

	catalog := d.wh.Folder.VersionCatalog(newest)
	harness.Must(t, os.Remove(catalog))
	harness.Must(t, os.WriteFile(catalog, []byte("cut"), 0o600))
	_, err = query.Open(ctx, catalog, query.Options{})
	if err := (mcpWarehouse{d.g}).Explain(err); !strings.HasPrefix(fmt.Sprint(err), "read versions/") {
		t.Errorf("the error of an assistant is %v, want the damaged file and its repair", err)
	}
	damaged := "read versions/" + newest + "/catalog.duckdb: it has 3 bytes"
	for name, run := range map[string]func() error{
		"query":  func() error { return runQuery(ctx, d.g, queryOptions{}, []string{"SELECT 1"}) },
		"report": func() error { return runReport(ctx, d.g, reportOptions{file: "-"}) },
	} {
		err := run()
		if err == nil || !strings.Contains(err.Error(), damaged) ||
			!strings.Contains(err.Error(), `"placementsync rollback 20261103T020000Z"`) {
			t.Errorf("%s of a damaged catalog ended with %v, want %q and the commands that repair it", name, err, damaged)
		}
	}
}

// testWatchesOfAnotherProcess runs watches while another process runs them. This is no failure of a night, whose other
// follow-ups run. The command ends with the exit code of a lock, and the ledger does not record it.
func (d *demoHarness) testWatchesOfAnotherProcess(t *testing.T) {
	t.Helper()
	text := read(t, d.g.Config)
	harness.Must(t, os.WriteFile(d.g.Config, []byte(text+`
watch: [{name: runs, query: "SELECT run_id FROM meta.runs", key: [run_id], send: [chat]}]
notify: {channels: [{name: chat, type: slack, url: "http://127.0.0.1:1/"}]}
lake: {catalog: sqlite, warehouse: ./lake}
`), 0o600))
	unlock, err := d.wh.Folder.LockJob(ledger.Watch)
	harness.Must(t, err)
	if err := runWatch(t.Context(), d.g, nil, false); cli.OutcomeOf(t.Context(), err) != ledger.Locked {
		t.Errorf("the watches ended with %v, want that another process runs them", err)
	}
	// The lake program is missing.
	err = d.g.runFollowUps(t.Context(), mustLoad(t, d.g))
	if err == nil || strings.Contains(err.Error(), "lock") || !slices.Equal(listFollowUps(t, d.wh), []string{"lake"}) {
		t.Errorf("the follow-ups ended with %v and the ledger has %q, want a failed lake", err, listFollowUps(t, d.wh))
	}
	harness.Must(t, errors.Join(unlock(), os.WriteFile(d.g.Config, []byte(text), 0o600)))
}

// testStoredResponses prints a response of the first run on a pipe, and on a terminal, which needs a complete line.
func (d *demoHarness) testStoredResponses(t *testing.T) {
	t.Helper()
	const first = "20261102T020000Z"
	run, responses, err := openStoredResponses(d.g, []string{first})
	harness.Must(t, err)
	harness.Must(t, responses.Close())
	if run != first {
		t.Errorf("the responses are of the run %s, want %s", run, first)
	}
	harness.Must(t, runRaw(d.g, rawOptions{stream: "token", print: true}, []string{first}))
	body := d.out.String()
	d.out.Reset()
	d.g.width = 80
	harness.Must(t, runRaw(d.g, rawOptions{stream: "token", print: true}, []string{first}))
	d.g.width = 0
	if got := d.out.String(); !strings.HasPrefix(body, "{") || strings.HasSuffix(body, "\n") || got != body+"\n" {
		t.Errorf("on a terminal the response is %q, want %q and the end of the line", got, body)
	}
	d.out.Reset()
}
