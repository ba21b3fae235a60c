package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/cli"
	"placementsync/internal/ledger"
	"placementsync/internal/sim"
	"placementsync/internal/testing/harness"
)

// TestDemoFolderIsPreparedAgain prepares the folder of an earlier demo, and then a folder of somebody else.
func TestDemoFolderIsPreparedAgain(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "parent", "demo")
	file, oldFile := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "warehouse", "old")
	harness.Must(t, prepareDemo(dir, "http://127.0.0.1:1"))
	harness.Must(t, os.MkdirAll(oldFile, 0o755))
	harness.Must(t, prepareDemo(dir, "http://127.0.0.1:2"))
	if _, err := os.Stat(oldFile); !os.IsNotExist(err) {
		t.Errorf("the warehouse of the earlier demo was kept (%v)", err)
	}
	const want = `# written by placementsync demo
api:
  base_url: http://127.0.0.1:2
  token: pc_demo
  requests_per_second: 0 # the demo service has no limit
warehouse:
  dir: ./warehouse
  threads: 1 # more threads are slower for such a small warehouse
`
	if got := read(t, file); got != want || modeOf(t, file) != 0o600 {
		t.Errorf("the configuration has the mode %v, want 0600 and the new address:\n%s", modeOf(t, file), got)
	}
	harness.Must(t, os.WriteFile(file, []byte(strings.TrimPrefix(want, "#")), 0o600))
	harness.Must(t, os.MkdirAll(oldFile, 0o755))
	if err := prepareDemo(dir, "http://127.0.0.1:3"); cli.OutcomeOf(t.Context(), err) != ledger.Misused {
		t.Errorf("a folder of somebody else: got %v, want an error of usage", err)
	}
	if _, err := os.Stat(oldFile); err != nil {
		t.Errorf("the warehouse of somebody else was removed: %v", err)
	}
}

// TestCommandsAfterADemo shows what to try after a demo whose service has ended, and while it runs.
func TestCommandsAfterADemo(t *testing.T) {
	t.Parallel()
	for keep, want := range map[bool]string{
		false: "or, to use check, keep a demo service running and open a second terminal:\n" +
			"  bin/placementsync demo --keep-serving\n",
		true: "or, in a second terminal, while the demo service runs:\n",
	} {
		var text strings.Builder
		g := &globals{process: process{stdout: &text}, Flags: cli.Flags{Config: "my demo/config.yaml"}}
		harness.Must(t, showCommands(g, keep))
		want = "or in the browser: bin/placementsync explore --config 'my demo/config.yaml'\n" + want +
			`  bin/placementsync check --config 'my demo/config.yaml'
Any DuckDB reads my demo/warehouse/catalog.duckdb, any Parquet tool my demo/warehouse/latest/*.parquet.
A further demo replaces the warehouse in my demo.
`
		if !strings.HasSuffix(text.String(), want) {
			t.Errorf("the commands are\n%s\nwant\n%s at the end", &text, want)
		}
	}
}

// TestNightOfADemo runs a night in a warehouse with stored responses of an earlier year.
func TestNightOfADemo(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	dir := t.TempDir()
	service := sim.New(sim.Options{Seed: 1, Outlets: 3, Listings: 5, Profiles: 1, Orders: 4, Token: demoToken})
	baseURL, stop, err := service.Serve()
	harness.Must(t, err)
	t.Cleanup(func() { harness.Must(t, stop()) })
	harness.Must(t, prepareDemo(dir, baseURL))
	var text strings.Builder
	g := &globals{process: hostProcess(), Flags: cli.Flags{Config: filepath.Join(dir, "config.yaml")}}
	g.stdout, g.stderr = &text, t.Output()
	cfg, err := g.loadConfig()
	harness.Must(t, err)
	cfg.Streams.Include = []string{"countries"}
	createWarehouse(t, cfg.Warehouse.Dir)
	folder := g.newWarehouse(cfg).Folder
	harness.Must(t, os.Mkdir(folder.RawPath("20250101T020000Z"), 0o700))
	last, err := runDemoNights(t.Context(), g, 1, service, cfg)
	harness.Must(t, err)
	today := service.Now()
	want := today.Format("20060102") + "T020000Z"
	stored, err := folder.RunsWithResponses()
	if err != nil || last.Run.ID != want || !slices.Equal(stored, []string{want}) {
		t.Errorf("the night is %s, and responses of %v are stored (%v), want only %s", last.Run.ID, stored, err, want)
	}
	lines := strings.Split(text.String(), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[1], today.Format("2006-01-02 02:00  ")+"complete ") {
		t.Errorf("the table of the nights is\n%s\nwant a heading and the complete night of %s", &text, today)
	}
}
