package explore_test

import (
	"context"
	"encoding/csv"
	"errors"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"placementsync/internal/config"
	"placementsync/internal/explore"
	"placementsync/internal/query"
	"placementsync/internal/report"
	"placementsync/internal/testing/fixture"
	"placementsync/internal/testing/harness"
)

// If the first argument is statementWord, this test program is a child process that runs a statement.
// The second argument is the file into which the child writes its process id.
const statementWord = "statement"

func TestMain(m *testing.M) {
	harness.Main(m, statementWord, func() error {
		err := os.WriteFile(os.Args[2], []byte(strconv.Itoa(os.Getpid())), 0o600)
		if err == nil {
			err = query.Work(context.Background(), os.Stdin, os.Stdout)
		}
		return err
	})
}

// firstRun is the run id of the first snapshot in the fixtures.
const firstRun = "20261101T020000Z"

// filledCatalogs contains the catalogs that newCatalog has created, by the names of their fixtures.
var filledCatalogs struct {
	sync.Mutex
	content map[string][]byte
}

// newCatalog returns a DuckDB file with the rows of fixtures in testdata. The first call with these fixtures creates the
// rows, and later calls copy the file. No row stays in the write-ahead log.
func newCatalog(t testing.TB, fixtures ...string) string {
	t.Helper()
	filledCatalogs.Lock()
	defer filledCatalogs.Unlock()
	key := strings.Join(fixtures, " ")
	if filledCatalogs.content[key] == nil {
		content, err := os.ReadFile(fillCatalog(t, fixtures))
		harness.Must(t, err)
		if filledCatalogs.content == nil {
			filledCatalogs.content = map[string][]byte{}
		}
		filledCatalogs.content[key] = content
	}
	path := filepath.Join(t.TempDir(), "catalog.duckdb")
	harness.Must(t, os.WriteFile(path, filledCatalogs.content[key], 0o600))
	return path
}

func fillCatalog(t testing.TB, fixtures []string) string {
	t.Helper()
	rows := "INSERT INTO meta.runs (run_id, snapshot_at, outcome) VALUES ('" + firstRun + "', '2026-11-01 02:00:00+00', 'complete');\n"
	for _, name := range fixtures {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		harness.Must(t, err)
		rows += string(text)
	}
	return fixture.NewEmptyCatalog(t).Fill(t, rows+"; CHECKPOINT")
}

// site is a server with the pages of a catalog.
type site struct {
	*httptest.Server
	mu      sync.Mutex // guards version and log
	version explore.Version
	// queriesDir is the folder of the user's queries. Empty means none.
	queriesDir string
	// notices are shown in the report.
	notices  []report.Notice
	explorer *explore.Explorer
	// pidFile contains the process id of the newest child process.
	pidFile string
	log     strings.Builder
	// records contains the pages that the method record has requested.
	records map[string]string
	// db and formToken are set by the methods reference and token.
	db        *query.DB
	formToken string
}

// newSite serves the pages of a catalog with the rows of fixtures in testdata.
func newSite(t testing.TB, fixtures ...string) *site {
	t.Helper()
	return newSiteOf(t, newCatalog(t, fixtures...))
}

// newSiteOf serves the pages of a catalog. changes change the configuration.
func newSiteOf(t testing.TB, catalog string, changes ...func(*explore.Config)) *site {
	t.Helper()
	self, err := os.Executable()
	harness.Must(t, err)
	s := &site{version: explore.Version{Run: firstRun, Catalog: catalog}, pidFile: filepath.Join(t.TempDir(), "child")}
	cfg := explore.Config{Warehouse: s, MemoryLimit: "512MB", Threads: 1, Program: "placementsync query",
		Settings: config.Default().QuerySettings(), Child: []string{self, statementWord, s.pidFile}, Log: slog.New(slog.NewTextHandler(s, nil))}
	for _, change := range changes {
		change(&cfg)
	}
	s.explorer, err = explore.New(cfg)
	harness.Must(t, err)
	s.Server = httptest.NewUnstartedServer(s.explorer.Handler())
	s.Config.WriteTimeout = 2 * time.Second // pages must extend the write deadline
	s.Start()
	t.Cleanup(func() {
		s.Close()
		s.explorer.Close()
		if s.db != nil {
			harness.Must(t, s.db.Close())
		}
	})
	return s
}

// Write appends to the log.
func (s *site) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(p)
}

func (s *site) logText() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// ShownVersion implements explore.Warehouse.
func (s *site) ShownVersion() (explore.Version, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.version.Catalog == "" {
		return s.version, errors.New("open catalog: nothing is published yet: start a night with placementsync run")
	}
	return s.version, nil
}

// publish replaces the newest version.
func (s *site) publish(v explore.Version) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = v
}

// fetch requests a path below /explore. It does not follow redirects.
func (s *site) fetch(ctx context.Context, path string) (*http.Response, string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/explore"+path, nil)
	if err != nil {
		return nil, "", err
	}
	return s.send(r)
}

// send returns a response and its body. It does not follow redirects.
func (s *site) send(r *http.Request) (*http.Response, string, error) {
	client := *s.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := client.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res, string(body), err
}

// get requests a page and checks its status.
func (s *site) get(t testing.TB, path string, status int) string {
	t.Helper()
	res, body, err := s.fetch(t.Context(), path)
	harness.Must(t, err)
	if res.StatusCode != status {
		t.Fatalf("%s: got status %d, want %d:\n%s\n%s", path, res.StatusCode, status, textOf(body), s.logText())
	}
	return body
}

// record returns the page of a record of the newest snapshot. The tests of a site share the page, because it takes many
// queries.
func (s *site) record(t testing.TB, path string) string {
	t.Helper()
	if s.records == nil {
		s.records = map[string]string{}
	}
	if s.records[path] == "" {
		s.records[path] = s.get(t, path, http.StatusOK)
	}
	return s.records[path]
}

// csv requests a download and returns its rows. The first row has the names of the columns. The file must begin with
// a byte order mark.
func (s *site) csv(t testing.TB, path string) [][]string {
	t.Helper()
	text, hasMark := strings.CutPrefix(s.get(t, path, http.StatusOK), "\ufeff")
	if !hasMark {
		t.Errorf("%s: the file does not begin with a byte order mark", path)
	}
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	harness.Must(t, err)
	return rows
}

// sql runs a query on the catalog and returns its rows in the same form as csv.
func (s *site) sql(t testing.TB, text string) [][]string {
	t.Helper()
	var out strings.Builder
	_, err := s.reference(t).Send(t.Context(), query.Text(text), nil, query.Output{Format: query.CSV, Defuse: true}, &out)
	harness.Must(t, err)
	rows, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
	harness.Must(t, err)
	return rows
}

// reference returns the catalog, opened once for the reference queries of all tests of the site.
func (s *site) reference(t testing.TB) *query.DB {
	t.Helper()
	if s.db == nil {
		db, err := query.Open(context.Background(), s.version.Catalog, query.Options{MemoryLimit: "512MB", Threads: 1})
		harness.Must(t, err)
		s.db = db
	}
	return s.db
}

var (
	tagPattern   = regexp.MustCompile(`(?s)<head>.*</head>|<[^>]*>`)
	blankPattern = regexp.MustCompile(`\s+`)
)

// textOf returns the text of a page without tags.
func textOf(body string) string {
	return strings.TrimSpace(html.UnescapeString(blankPattern.ReplaceAllString(tagPattern.ReplaceAllString(body, " "), " ")))
}

// wantTexts checks that a page contains texts.
func wantTexts(t testing.TB, body string, texts ...string) {
	t.Helper()
	got := textOf(body)
	for _, text := range texts {
		if !strings.Contains(got, text) {
			t.Errorf("the page lacks %q:\n%s", text, got)
		}
	}
}

// Notices implements explore.Warehouse.
func (s *site) Notices() ([]report.Notice, error) { return s.notices, nil }

// Queries implements explore.Warehouse.
func (s *site) Queries() (query.Library, error) { return query.Load(s.queriesDir) }

// QueriesDir implements explore.Warehouse.
func (s *site) QueriesDir() string { return s.queriesDir }

// WatchLines implements explore.Warehouse.
func (s *site) WatchLines(queryName string, params map[string]string, key []string) string {
	return config.FormatWatch(config.Watch{Query: queryName, Params: params, Key: key}, nil, nil)
}
