package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/cli"
	"placementsync/internal/query"
	"placementsync/internal/sim"
	"placementsync/internal/testing/harness"
)

// TestTrialRestoreDrill runs the commands of "Backup and restore" in docs/guide/recovery.md.
// The restored warehouse must give the same results as the lost warehouse: for all named queries on
// the newest and on the first snapshot, for the report, and for the command "diff".
func TestTrialRestoreDrill(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	d := newTestMachine(t)
	resultsBeforeLoss := map[string]string{}
	for _, line := range d.commands(t) {
		if strings.HasPrefix(line, "rm ") {
			resultsBeforeLoss = d.results(t)
		}
		if strings.HasPrefix(line, "placementsync run ") {
			if diff := cmp.Diff(resultsBeforeLoss, d.results(t)); diff != "" {
				t.Errorf("the results of the restored warehouse differ (-lost +restored):\n%s", diff)
			}
		}
		d.run(t, line)
	}
	if len(resultsBeforeLoss) < 70 {
		t.Errorf("%d results were compared, want at least 70", len(resultsBeforeLoss))
	}
}

// testMachine runs the commands of docs/guide/recovery.md in a folder of its own, as on a
// separate machine.
type testMachine struct {
	root string
	g    *globals
}

func newTestMachine(t *testing.T) testMachine {
	t.Helper()
	service := sim.New(sim.Options{Seed: 5, Token: demoToken, Outlets: 10, Listings: 30, Profiles: 3, Campaigns: 6, Orders: 25, Files: 5, Folders: 2})
	base, stop, err := service.Serve()
	harness.Must(t, err)
	t.Cleanup(func() { harness.Must(t, stop()) })
	d := testMachine{root: t.TempDir()}
	for _, dir := range []string{"etc/placementsync", "var/lib/placementsync", "backup"} {
		harness.Must(t, os.MkdirAll(filepath.Join(d.root, dir), 0o755))
	}
	text := fmt.Sprintf("api: {base_url: %s, token: %s, requests_per_second: 0}\nwarehouse: {dir: %s, threads: 1}\n", base, demoToken,
		filepath.Join(d.root, "var/lib/placementsync/warehouse"))
	harness.Must(t, os.WriteFile(filepath.Join(d.root, "etc/placementsync/config.yaml"), []byte(text), 0o600))
	g := &globals{process: hostProcess(), Flags: cli.Flags{Config: filepath.Join(d.root, "etc/placementsync/config.yaml"), Quiet: true}}
	g.stdout, g.stderr = io.Discard, io.Discard
	d.g = g
	createWarehouse(t, filepath.Join(d.root, "var/lib/placementsync/warehouse"))
	for range 3 {
		service.Advance(1)
		startTime := service.Now().Add(2 * time.Hour)
		g.Now = func() time.Time { return startTime }
		harness.Must(t, runNight(t.Context(), g, runOptions{}))
	}
	return d
}

// commands returns the commands in the code blocks of the section "Backup and restore".
func (d testMachine) commands(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile("../../docs/guide/recovery.md")
	harness.Must(t, err)
	_, section, found := strings.Cut(string(page), "\n## Backup and restore\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var lines []string
	for _, block := range strings.Split(section, "```sh\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		lines = append(lines, strings.Split(strings.TrimSpace(block), "\n")...)
	}
	if !found || len(lines) < 8 {
		t.Fatalf("the section has %d commands, want at least 8", len(lines))
	}
	return lines
}

// run runs one command of the page. Its absolute folders, such as /backup, are below root.
func (d testMachine) run(t *testing.T, line string) {
	t.Helper()
	for _, dir := range []string{"/var/lib/placementsync", "/etc/placementsync", "/backup"} {
		line = strings.ReplaceAll(line, dir, d.root+dir)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, output)
	}
}

// results returns the results of all named queries on the newest and on the first snapshot,
// the report, and the output of diff.
func (d testMachine) results(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	queries := query.List()
	for _, asOf := range []string{"", "2026-11-02"} {
		db, err := openCatalog(t.Context(), d.g, query.Options{AsOf: asOf})
		harness.Must(t, err)
		for _, q := range queries {
			var text bytes.Buffer
			w, err := query.NewWriter(query.Output{Format: query.CSV}, &text, query.Screen{})
			harness.Must(t, err)
			_, err = db.Run(t.Context(), q, nil, w)
			all[q.Name+" "+asOf] = fmt.Sprint(text.String(), err)
		}
		harness.Must(t, db.Close())
	}
	g := *d.g
	var report, diff bytes.Buffer
	g.stdout = &report
	harness.Must(t, runReport(t.Context(), &g, reportOptions{file: "-"}))
	g.stdout = &diff
	harness.Must(t, runDiff(t.Context(), &g, diffOptions{output: outputOptions{format: "jsonl"}}, nil))
	all["report"], all["diff"] = report.String(), diff.String()
	return all
}
