package explore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"placementsync/internal/explore"
	"placementsync/internal/humanize"
	"placementsync/internal/testing/escapes"
	"placementsync/internal/testing/harness"
	"placementsync/internal/testing/pinned"
	"placementsync/schema"
)

var tokenPattern = regexp.MustCompile(`name="token" value="(\w+)"`)

// token returns the token of the forms.
func (s *site) token(t testing.TB) string {
	t.Helper()
	if s.formToken == "" {
		m := tokenPattern.FindStringSubmatch(s.get(t, "/sql", http.StatusOK))
		if m == nil {
			t.Fatal("the page has no token")
		}
		s.formToken = m[1]
	}
	return s.formToken
}

// post sends the form of the SQL page with headers. It returns the response and its body.
func (s *site) post(ctx context.Context, form url.Values, headers map[string]string) (*http.Response, string, error) {
	return s.postTo(ctx, "/sql", form, headers)
}

// postTo sends a form to a path below /explore. It does not follow redirects.
func (s *site) postTo(ctx context.Context, path string, form url.Values, headers map[string]string) (*http.Response, string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/explore"+path, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, "", err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	return s.send(r)
}

// runSQL runs a statement through the page. otherFields contains alternating names and values of the
// other form fields.
func (s *site) runSQL(t testing.TB, text string, status int, otherFields ...string) string {
	t.Helper()
	form := url.Values{"sql": {text}, "token": {s.token(t)}}
	for i := 0; i < len(otherFields); i += 2 {
		form.Set(otherFields[i], otherFields[i+1])
	}
	res, body, err := s.post(t.Context(), form, map[string]string{"Sec-Fetch-Site": "same-origin"})
	harness.Must(t, err)
	if res.StatusCode != status {
		t.Fatalf("%s: got status %d, want %d:\n%s\n%s", text, res.StatusCode, status, textOf(body), s.logText())
	}
	return body
}

// TestStoppedStatements checks statements that end in another way than with a result.
func TestStoppedStatements(t *testing.T) {
	harness.Concurrent(t)
	t.Parallel()
	s := newSite(t, "records.sql")
	t.Run("crashed statement", func(t *testing.T) { testCrashedStatement(t, s) })
	t.Run("cancelled statement", func(t *testing.T) { testCancelledStatement(t, s) })
	t.Run("full queue", func(t *testing.T) { testFullStatementQueue(t, s) })
}

// completionWord is a table, a column or a macro that the editor completes.
type completionWord struct {
	Name, About, Type string
	Columns           []completionWord
	Arguments         []string
}

func testStatements(t *testing.T, s *site) {
	body := s.get(t, "/sql?sql=DROP+TABLE+%3Cb%3E", http.StatusOK) // shown, not run
	if !strings.Contains(body, ">DROP TABLE &lt;b&gt;</textarea>") || strings.Contains(body, "refused") {
		t.Errorf("the page must show the statement of its address and not run it:\n%s", body)
	}
	want := s.sql(t, "SELECT id, name FROM product_listings ORDER BY id")
	body = s.runSQL(t, "SELECT id, name FROM product_listings ORDER BY id", http.StatusOK)
	wantTexts(t, body, strconv.Itoa(len(want)-1)+" rows", "As a question", "-- title: Title of the question")
	for _, row := range want[1:] {
		wantTexts(t, body, row[0], row[1])
	}
	wantTexts(t, s.runSQL(t, "FROM range(2500)", http.StatusOK), "More than 1,000 rows; the table shows the first 1,000, a file contains all")
	const dated = "SELECT DATE '2026-01-01' + i::INTEGER AS day, i AS n, i * 2 AS m FROM range(5) AS t(i)"
	if body := s.runSQL(t, "-- chart: bar x=day y=m\n"+dated, http.StatusOK); !strings.Contains(body, `&#34;M by day&#34;`) {
		t.Errorf("the result has no chart of the column m:\n%s", body)
	}
	body = s.runSQL(t, "SELECT 1,\n nam FROM product_listings", http.StatusBadRequest)
	wantTexts(t, body, `Referenced column "nam" not found`, "Line 2, column 2")
	wantTexts(t, s.runSQL(t, "FROM article_comments", http.StatusOK), "3 rows", "missing scope comments.read")
	if !strings.Contains(body, `data-limit="20"`) {
		t.Error("the page lacks the time limit of a statement")
	}
	wantTexts(t, s.runSQL(t, "SELECT run_id FROM mart.snapshot", http.StatusOK, "as_of", "2026-11-01"), firstRun)
	const limits = "-- param: s STATUSES statuses.orders_ended -- configured statuses\nSELECT current_setting('memory_limit') AS m, " +
		"current_setting('threads') AS t, current_setting('max_temp_directory_size') AS d, $s AS s, '<script>' AS \"<b>\""
	wantTexts(t, s.runSQL(t, limits, http.StatusOK), "m t d s <b> 488.2 MiB 1 2.0 GiB cancelled,", "<script>")
	// The policy allows the styles of the editor with a nonce that differs on each page.
	first, _, err := s.fetch(t.Context(), "/sql")
	harness.Must(t, err)
	second, _, err := s.fetch(t.Context(), "/sql")
	harness.Must(t, err)
	policy := first.Header.Get("Content-Security-Policy")
	if !regexp.MustCompile(`script-src 'self'; style-src 'self' 'nonce-\w{20,}';`).MatchString(policy) || policy == second.Header.Get("Content-Security-Policy") {
		t.Errorf("the policies of two pages are %s and %s, want a different nonce in each", policy, second.Header.Get("Content-Security-Policy"))
	}
	var completion struct {
		Schemas map[string][]completionWord
		Macros  []completionWord
	}
	harness.Must(t, json.Unmarshal([]byte(s.get(t, "/assets/completion.json", http.StatusOK)), &completion))
	for _, row := range s.sql(t, "SELECT DISTINCT schema_name, table_name FROM duckdb_columns() WHERE database_name = 'catalog' AND NOT internal")[1:] {
		if !slices.ContainsFunc(completion.Schemas[row[0]], func(w completionWord) bool { return w.Name == row[1] }) {
			t.Errorf("the completion lacks the table %s.%s", row[0], row[1])
		}
	}
	for _, row := range s.sql(t, "SELECT DISTINCT function_name FROM duckdb_functions() WHERE database_name = 'catalog'")[1:] {
		if !slices.ContainsFunc(completion.Macros, func(m completionWord) bool { return m.Name == row[0] }) {
			t.Errorf("the completion lacks the macro %s", row[0])
		}
	}
	for _, words := range completion.Schemas {
		for _, table := range words {
			if table.About == "" || !slices.ContainsFunc(table.Columns, func(c completionWord) bool {
				return c.Type != "" &&
					c.About != ""
			}) {
				t.Errorf("the completion lacks the description of the table or all its columns: %v", table)
			}
		}
	}
	isChanges := func(m completionWord) bool {
		return m.Name == "changes" && m.About != "" && slices.Equal(m.Arguments, []string{"from_time", "to_time"})
	}
	if !slices.ContainsFunc(completion.Macros, isChanges) {
		t.Errorf("the completion lacks the macro changes with its arguments: %v", completion.Macros)
	}
}

func testStatementFiles(t *testing.T, s *site) {
	for format, prefix := range map[string]string{"csv": "\ufeffa\r\n'=1\r\n", "xlsx": "PK", "parquet": "PAR1"} {
		if body := s.runSQL(t, "SELECT '=1' AS a", http.StatusOK, "format", format); !strings.HasPrefix(body, prefix) {
			t.Errorf("the file in %s begins with %.20q, want %q", format, body, prefix)
		}
	}
	wantTexts(t, s.runSQL(t, "SELECT nam", http.StatusBadRequest, "format", "csv"), `Referenced column "nam"`)
	wantTexts(t, s.runSQL(t, "SELECT 1", http.StatusBadRequest, "format", "exe"), "Unknown format")
	broken := &site{Server: httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.Config.Handler.ServeHTTP(&brokenWriter{w, false}, r) }))}
	defer broken.Close()
	if res, body, err := broken.post(t.Context(), url.Values{"sql": {"FROM range(100000)"}, "format": {"csv"}, "token": {s.token(t)}}, nil); err == nil {
		t.Errorf("a file that fails in its middle: got %s with %d bytes, want an aborted connection", res.Status, len(body))
	}
	if !strings.Contains(s.logText(), `level=WARN msg="download cut off" url=/explore/sql error="disk failure"`) {
		t.Errorf("the log lacks the cut-off download:\n%s", s.logText())
	}
}

// brokenWriter fails after the first write.
type brokenWriter struct {
	http.ResponseWriter
	hasWritten bool
}

func (w *brokenWriter) Write(p []byte) (int, error) {
	if w.hasWritten {
		return 0, errors.New("disk failure")
	}
	w.hasWritten = true
	return w.ResponseWriter.Write(p)
}

// testForgedStatements checks that a statement is not run if another site sent it, or if it has no valid
// token.
func testForgedStatements(t *testing.T, s *site) {
	token := s.token(t)
	harness.Must(t, os.WriteFile(s.pidFile, []byte("no child"), 0o600))
	for _, c := range []struct {
		name, token string
		headers     map[string]string
	}{
		{"another site", token, map[string]string{"Sec-Fetch-Site": "cross-site"}},
		{"another host of the site", token, map[string]string{"Sec-Fetch-Site": "same-site"}},
		{"another origin", token, map[string]string{"Origin": "https://evil.example.com"}},
		{"no origin", token, map[string]string{"Origin": "null"}},
		{"no token", "", map[string]string{"Sec-Fetch-Site": "same-origin"}},
		{"wrong token", token + "x", map[string]string{"Sec-Fetch-Site": "same-origin"}},
	} {
		res, body, err := s.post(t.Context(), url.Values{"sql": {"SELECT 42 AS answer"}, "token": {c.token}}, c.headers)
		harness.Must(t, err)
		if res.StatusCode != http.StatusForbidden || !strings.Contains(body, "The statement was not run") {
			t.Errorf("%s: got status %d, want 403 and no result:\n%s", c.name, res.StatusCode, textOf(body))
		}
	}
	if pid, err := os.ReadFile(s.pidFile); err != nil || string(pid) != "no child" {
		t.Errorf("a process was started: the pid file contains %s (%v), want no child", pid, err)
	}
	if res, _, err := s.post(t.Context(), url.Values{"sql": {"SELECT " + strings.Repeat("1", 300<<10)}, "token": {token}}, nil); err != nil || res.StatusCode != http.StatusBadRequest {
		t.Errorf("a form of 300 KiB: got %v (%v), want status 400", res.Status, err)
	}
	if res, _, err := s.post(t.Context(), url.Values{"sql": {"SELECT 1"}, "token": {token}}, map[string]string{"Origin": s.URL}); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("the server's own origin: got %v (%v), want status 200", res.Status, err)
	}
}

const endlessQuery = "SELECT count(*) FROM range(1000000000000) AS t(i) WHERE i % 7 = 3"

// waitForChild waits until the child process of a statement has started, and returns the process.
func (s *site) waitForChild(t *testing.T) *os.Process {
	t.Helper()
	for startedAt := time.Now(); time.Since(startedAt) < time.Minute; {
		text, err := os.ReadFile(s.pidFile)
		if pid, numberErr := strconv.Atoi(string(text)); err == nil && numberErr == nil {
			child, err := os.FindProcess(pid)
			harness.Must(t, err)
			return child
		}
	}
	t.Fatal("no process was started")
	return nil
}

// testFullStatementQueue checks the response to a statement while too many wait.
func testFullStatementQueue(t *testing.T, s *site) {
	form := url.Values{"sql": {"SELECT 1"}, "token": {s.token(t)}}
	// A waiting statement uses no session of the snapshot, so the pages stay available.
	waiting, release := s.explorer.HoldStatements()
	var statements sync.WaitGroup
	for range 4 { // as many as there are sessions
		statements.Go(func() {
			if res, _, err := s.post(t.Context(), form, nil); err != nil || res.StatusCode != http.StatusOK {
				t.Errorf("a waiting statement: got %v (%v), want its result", res, err)
			}
		})
	}
	for startedAt := time.Now(); waiting() < 4 && time.Since(startedAt) < time.Minute; {
	}
	s.get(t, "/snapshot", http.StatusOK)
	release()
	statements.Wait()

	release = s.explorer.FillStatementQueue()
	for _, format := range []string{"", "csv"} {
		form.Set("format", format)
		res, body, err := s.post(t.Context(), form, nil)
		harness.Must(t, err)
		seconds, err := strconv.Atoi(res.Header.Get("Retry-After"))
		if res.StatusCode != http.StatusServiceUnavailable || err != nil || seconds < 1 || !strings.Contains(body, "2 statements are running and 8 are waiting") {
			t.Errorf("format %q: got status %d and Retry-After %q (%v), want 503 and seconds:\n%s", format, res.StatusCode, res.Header.Get("Retry-After"), err,
				textOf(body))
		}
	}
	release()
	s.runSQL(t, "SELECT 1", http.StatusOK)
}

// testCrashedStatement kills the process of a statement and checks that the server continues.
func testCrashedStatement(t *testing.T, s *site) {
	form := url.Values{"sql": {endlessQuery}, "token": {s.token(t)}}
	_ = os.Remove(s.pidFile)
	pageText := make(chan string, 1)
	go func() {
		_, body, err := s.post(t.Context(), form, nil)
		pageText <- textOf(body)
		if err != nil {
			t.Error(err)
		}
	}()
	harness.Must(t, s.waitForChild(t).Signal(syscall.SIGSEGV))
	if got := <-pageText; !strings.Contains(got, "ended without a result (") || !strings.Contains(s.logText(), "process of a statement ended") {
		t.Errorf("the page is %q and the log is %q, want the end of the process in both", got, s.logText())
	}
	wantTexts(t, s.runSQL(t, "SELECT 42 AS answer", http.StatusOK), "42")
	s.get(t, "/snapshot", http.StatusOK)
}

// testCancelledStatement closes the connection of a statement and checks that its process ends.
func testCancelledStatement(t *testing.T, s *site) {
	form := url.Values{"sql": {endlessQuery}, "token": {s.token(t)}}
	_ = os.Remove(s.pidFile)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, _, err := s.post(ctx, form, nil)
		ended <- err
	}()
	child := s.waitForChild(t)
	cancel()
	if err := <-ended; err == nil {
		t.Error("the cancelled request has a result")
	}
	for startedAt := time.Now(); child.Signal(syscall.Signal(0)) == nil; {
		if time.Since(startedAt) > time.Minute {
			t.Fatal("the process is still running a minute after the request was cancelled")
		}
	}
}

func TestTypedSQLCanBeDisabled(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	s := newSiteOf(t, newCatalog(t), func(cfg *explore.Config) { cfg.Child = nil })
	s.get(t, "/sql", http.StatusNotFound)
	if res, body, err := s.post(t.Context(), url.Values{"sql": {"SELECT 1"}}, nil); err != nil || res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("a statement: got %v (%v), want status 405:\n%s", res.Status, err, body)
	}
	if body := s.get(t, "/schema", http.StatusOK); strings.Contains(body, "/explore/sql") {
		t.Error("the page /schema links to the editor, although SQL is disabled")
	}
}

// testWritingStatements sends a statement that would overwrite the catalog.
func testWritingStatements(t *testing.T, s *site) {
	testRefusedStatements(t, s, map[string][]string{"the SQL is refused: it uses files": {escapes.OverwriteCatalog}})
}

// TestTrialTypedSQLOnlyReads sends all statements that must be refused, each to its own process.
func TestTrialTypedSQLOnlyReads(t *testing.T) {
	harness.Long(t)
	testRefusedStatements(t, newSite(t, "records.sql"), escapes.RefusedStatements())
}

// testRefusedStatements sends statements by the beginning of their error. The catalog must stay unchanged.
func testRefusedStatements(t *testing.T, s *site, statements map[string][]string) {
	t.Helper()
	outside := t.TempDir()
	harness.Must(t, os.WriteFile(filepath.Join(outside, "x.csv"), []byte("a\nroot:\n"), 0o600))
	before, err := os.ReadFile(s.version.Catalog)
	harness.Must(t, err)
	placeholders := strings.NewReplacer("DIR", outside, "CATALOG", s.version.Catalog)
	for reason, texts := range statements {
		reason = humanize.UpperFirst(reason)
		for _, text := range texts {
			_, result, _ := strings.Cut(s.runSQL(t, placeholders.Replace(text), http.StatusBadRequest), `<section id="result"`)
			if !strings.Contains(textOf(result), reason) || strings.Contains(result, "root:") {
				t.Errorf("%s: want the error %q:\n%s", text, reason, textOf(result))
			}
		}
	}
	if after, err := os.ReadFile(s.version.Catalog); err != nil || !bytes.Equal(before, after) {
		t.Errorf("a statement changed the catalog (%v)", err)
	}
	if files, err := os.ReadDir(outside); err != nil || len(files) != 1 {
		t.Errorf("the folder has the files %v (%v), want only x.csv", files, err)
	}
}

// testStatementAsQuestion saves the query file that the page shows, and opens the query.
func testStatementAsQuestion(t *testing.T, s *site) {
	body := s.runSQL(t, "SELECT count(*) AS listings FROM product_listings", http.StatusOK)
	_, text, _ := strings.Cut(body, `<pre id="file">`)
	text, _, _ = strings.Cut(text, "</pre>")
	s.queriesDir = t.TempDir()
	defer func() { s.queriesDir = "" }()
	harness.Must(t, os.WriteFile(filepath.Join(s.queriesDir, "mine.sql"), []byte(text), 0o600))
	wantTexts(t, s.get(t, "/questions/mine", http.StatusOK), "Title of the question", "Listings")
	if body := s.runSQL(t, "-- title: Mine\nSELECT 1", http.StatusOK); strings.Contains(body, "Title of the question") {
		t.Error("the file of a statement with a title has a second title")
	}
}

// testSchema checks that the schema page has all tables, columns and relations.
func testSchema(t *testing.T, s *site) {
	body := s.get(t, "/schema", http.StatusOK)
	text := textOf(body)
	tables := schema.All()
	for _, table := range tables {
		if !strings.Contains(body, `href="/explore/sql?sql=FROM&#43;`+table.Name()+`&#43;LIMIT&#43;100"`) && !strings.Contains(body, `href="/explore/sql?sql=FROM+`+table.Name()+`+LIMIT+100"`) {
			t.Errorf("the page has no link to the editor with %s", table.Name())
		}
		for _, c := range table.Columns {
			if !strings.Contains(text, c.Name+" "+c.Type) {
				t.Errorf("the page lacks the column %s.%s", table.Name(), c.Name)
			}
		}
	}
	var subjects []string
	for _, m := range regexp.MustCompile(`<section id="(\w+)"`).FindAllStringSubmatch(body, -1) {
		subjects = append(subjects, m[1])
	}
	if n := len(subjects); n < 4 || !slices.Equal(subjects[n-3:], []string{"shared", "mart", "meta"}) {
		t.Errorf("the subjects are %v, want shared, mart and meta at the end", subjects)
	}
	wantTexts(t, body, "orders 4,711 rows proven", "The total did not change.", "article_comments not read",
		"Missing scope comments.read.")
	for _, r := range tables.Relations() {
		if !strings.Contains(body, "<title>"+r.From+"."+r.Column+" references "+r.To+"."+r.ToColumn+"</title>") {
			t.Errorf("no map shows the relation %v", r)
		}
	}
}

// TestTrialEditorIsReproducible builds the editor from its packages and compares the result with
// editor.min.js.
func TestTrialEditorIsReproducible(t *testing.T) {
	harness.Long(t)
	dir := t.TempDir()
	harness.Must(t, os.CopyFS(filepath.Join(dir, "editor"), os.DirFS("editor")))
	harness.Must(t, os.Mkdir(filepath.Join(dir, "assets"), 0o700))
	if err := pinned.InstallNodePackages(t.Context(), filepath.Join(dir, "editor")); err != nil {
		t.Skip(err)
	}
	build := exec.CommandContext(t.Context(), "npm", "run", "build")
	build.Dir = filepath.Join(dir, "editor")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, err := os.ReadFile(filepath.Join(dir, "assets", "editor.min.js"))
	harness.Must(t, err)
	want, err := os.ReadFile("assets/editor.min.js")
	harness.Must(t, err)
	if !bytes.Equal(got, want) {
		t.Error("editor.min.js differs from the build of editor.entry.js")
	}
}
