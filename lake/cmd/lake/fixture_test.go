package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver for catalog.db

	"placementsync/internal/cli"
	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
	"placementsync/lake/internal/lake"
)

// fixture is a demo service, a warehouse with its nights, and a lake.
type fixture struct {
	*testing.T
	service *sim.Service
	cfg     pipeline.Config
	now     time.Time
	dir     string
	// step, if set, is called at each step of a command and may return an error.
	step func(name, path string) error
}

const token = "pc_top-secret-of-the-test"

// newFixture fills a warehouse with nights of a few streams. Some of the tables are empty, some
// change every night, and some never change.
func newFixture(t *testing.T, nights int) *fixture {
	t.Helper()
	t.Parallel()
	h := newEmptyFixture(t, t.TempDir())
	for range nights {
		h.night()
	}
	return h
}

// newEmptyFixture returns a fixture whose warehouse has no nights.
func newEmptyFixture(t *testing.T, dir string) *fixture {
	t.Helper()
	h := &fixture{T: t, dir: dir, service: sim.New(sim.Options{Seed: 3, Token: token, Outlets: 5, Listings: 30, Profiles: 3,
		Campaigns: 3, Orders: 12, Files: 6, Folders: 2, ListingTurnover: 0.2, SilentChange: 0.2})}
	server := httptest.NewServer(h.service)
	t.Cleanup(server.Close)
	names := []string{"product_listings", "orders", "order_details", "tags", "disclaimers", "files"}
	streams := slices.DeleteFunc(stream.All(), func(s stream.Stream) bool { return !slices.Contains(names, s.Name) })
	h.cfg = pipeline.Config{
		NewWarehouse: true,
		Warehouse: warehouse.Config{Dir: filepath.Join(h.dir, "warehouse"), KeepVersions: 9, MemoryLimit: "256MB", Threads: 1,
			Program: "test", Tables: stream.Tables(streams)},
		Fetch: fetch.Config{BaseURL: server.URL, PageSize: 100, Token: func(context.Context) (string, error) { return token, nil },
			Retry: fetch.Retry{MaxRetries: 3, Base: time.Millisecond, Max: 5 * time.Millisecond}},
		Streams: streams, Details: "all", Limits: load.Limits{Share: 0.9, Rows: 500},
		Now: func() time.Time { return h.now }, Log: slog.New(slog.DiscardHandler),
	}
	for _, s := range streams {
		h.cfg.Chosen = append(h.cfg.Chosen, s.Name)
	}
	h.configureLake("catalog: sqlite, warehouse: ./lake")
	return h
}

// configureLake writes the section "lake" of the configuration.
func (h *fixture) configureLake(section string) {
	h.Helper()
	h.write("config.yaml", "warehouse: {dir: ./warehouse, keep_versions: 9, memory_limit: 256MB, threads: 1}\nlake: {"+section+"}\n")
}

// keepNights sets the number of nights that the lake keeps.
func (h *fixture) keepNights(n int) {
	h.Helper()
	h.configureLake(fmt.Sprintf("catalog: sqlite, warehouse: ./lake, keep_nights: %d", n))
}

func (h *fixture) path(name string) string { return filepath.Join(h.dir, name) }

func (h *fixture) write(name, text string) {
	h.Helper()
	// The file may be a hard link to a file of the night cache, which must not change.
	h.must(errors.Join(os.MkdirAll(filepath.Dir(h.path(name)), 0o700), removeAny(h.path(name))))
	h.must(os.WriteFile(h.path(name), []byte(text), 0o600))
}

func (h *fixture) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// night advances the service by a day, and runs a night or takes it from the cache.
func (h *fixture) night() string {
	h.Helper()
	if run := h.cachedNight(&sharedNights); run != "" {
		return run
	}
	return h.runNight()
}

func (h *fixture) advance() {
	h.service.Advance(1)
	h.now = h.service.Now().Add(2 * time.Hour)
}

func (h *fixture) runNight() string {
	h.Helper()
	h.advance()
	res, err := pipeline.Run(h.Context(), h.cfg)
	h.must(err)
	if res.Run.Outcome != ledger.Complete {
		h.Fatalf("night %s ended with the outcome %s, want complete", res.Run.ID, res.Run.Outcome)
	}
	return res.Run.ID
}

// output is the exit code and output of a command.
type output struct {
	code           int
	stdout, stderr string
}

func (h *fixture) run(args ...string) output {
	h.Helper()
	var stdout, stderr bytes.Buffer
	p := process{stdout: &stdout, stderr: &stderr, Host: cli.Host{LookupEnv: func(string) (string, bool) { return "", false }, Now: time.Now}}
	if step := h.step; step != nil {
		p.Step = oneAtATime(func(name, path string) error {
			return step(strings.TrimSuffix(name, filepath.Base(path))+kindOfFile(path), path)
		})
	}
	code := executeArgs(h.Context(), append([]string{"--config", h.path("config.yaml")}, args...), p)
	if strings.ContainsAny(stdout.String()+stderr.String(), "\x1b\u202e") {
		h.Errorf("%v printed control characters: %q%q", args, &stdout, &stderr)
	}
	return output{code, stdout.String(), stderr.String()}
}

// failAt makes a step of the following commands fail. An empty step ends this.
func (h *fixture) failAt(step string) {
	h.step = func(name, _ string) error {
		if name == step {
			return syscall.EIO
		}
		return nil
	}
}

// oneAtATime returns a function that calls step for one file at a time, because a publish writes several files
// at the same time. Between the steps before and after the rename or the removal of a metadata file it calls no other
// step, so that a step sees exactly the changes of the steps before it.
func oneAtATime(step func(name, path string) error) func(name, path string) error {
	var mu sync.Mutex
	return func(name, path string) error {
		isMetadata := kindOfFile(path) == "metadata"
		begins := isMetadata && (strings.HasPrefix(name, "before rename ") || strings.HasPrefix(name, "before removal "))
		ends := isMetadata && (strings.HasPrefix(name, "after rename ") || strings.HasPrefix(name, "after removal "))
		if !ends { // otherwise the step before the change has locked mu
			mu.Lock()
		}
		err := step(name, path)
		if !begins || err != nil {
			mu.Unlock()
		}
		return err
	}
}

// kindOfFile returns the kind of a file, which steps contain in place of its name, because the name
// contains random ids.
func kindOfFile(name string) string {
	base := filepath.Base(name)
	switch {
	case strings.HasSuffix(base, ".parquet"):
		return "data"
	case strings.HasSuffix(base, ".metadata.json"):
		return "metadata"
	case strings.HasPrefix(base, "snap-"):
		return "manifest list"
	case strings.HasSuffix(base, ".avro"):
		return "manifest"
	case name == "":
		return ""
	case strings.Contains(name, "/") && filepath.Ext(base) == "":
		return "folder"
	}
	return base
}

// mustSucceed runs a command that must exit with 0, and decodes its JSON.
func (h *fixture) mustSucceed(into any, args ...string) {
	h.Helper()
	got := h.run(append(args, "--format", "json")...)
	if got.code != 0 {
		h.Fatalf("%v ended with %d, want 0: %s%s", args, got.code, got.stdout, got.stderr)
	}
	if err := json.Unmarshal([]byte(got.stdout), into); err != nil {
		h.Fatalf("parse the output of %v: %v: %s", args, err, got.stdout)
	}
}

// mustFail runs a command that must exit with a code and print a text to stderr.
func (h *fixture) mustFail(code int, text string, args ...string) {
	h.Helper()
	got := h.run(args...)
	if got.code != code || !strings.Contains(got.stderr, text) {
		h.Fatalf("%v ended with %d, want %d and %q: %s%s", args, got.code, code, text, got.stdout, got.stderr)
	}
}

func (h *fixture) publish(args ...string) []lake.Published {
	h.Helper()
	var p struct{ Published []lake.Published }
	h.mustSucceed(&p, append([]string{"publish"}, args...)...)
	return p.Published
}

func (h *fixture) status() (s lake.Status) {
	h.Helper()
	h.mustSucceed(&s, "status")
	return s
}

// requireEqualTables checks that every table of a night in the lake equals the table of the published
// version in the warehouse.
func (h *fixture) requireEqualTables(run string) {
	h.Helper()
	var v lake.VerifyReport
	h.mustSucceed(&v, "verify", run)
	if len(v.Differences) > 0 || v.Tables == 0 || v.Rows == 0 {
		h.Fatalf("verify night %s: got %+v, want rows without differences", run, v)
	}
}

// shownRun returns the run of the night that the lake shows. It checks that all tables show this night
// and can be read.
func (h *fixture) shownRun() (run string) {
	h.Helper()
	s := h.status()
	for _, t := range s.Tables {
		if t.Run != s.Run {
			h.Fatalf("table %s shows the night %q, want %q, the night of the lake", t.Table, t.Run, s.Run)
		}
	}
	if s.Run != "" {
		h.requireEqualTables(s.Run)
	}
	return s.Run
}

func (h *fixture) filesOfLake() []string {
	h.Helper()
	var paths []string
	err := filepath.WalkDir(h.path("lake"), func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && filepath.Base(path) != "catalog.db" {
			paths = append(paths, path)
		}
		return err
	})
	if !errors.Is(err, fs.ErrNotExist) {
		h.must(err)
	}
	return paths
}

// metadataFile returns the path of the current metadata file of a table. The path is read from the
// catalog.
func (h *fixture) metadataFile(namespace, table string) (path string) {
	h.Helper()
	db, err := sql.Open("sqlite", h.path("lake/catalog.db"))
	h.must(err)
	defer db.Close()
	h.must(db.QueryRowContext(h.Context(), "SELECT metadata_location FROM iceberg_tables WHERE table_namespace = ? AND table_name = ?",
		namespace, table).Scan(&path))
	return strings.TrimPrefix(path, "file://")
}
