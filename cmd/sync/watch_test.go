package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/emersion/go-smtp"
	"github.com/google/go-cmp/cmp"

	"placementsync/internal/config"
	"placementsync/internal/query"
	"placementsync/internal/testing/harness"
	"placementsync/internal/watch"
)

// mailServer is an SMTP server that keeps the received messages.
type mailServer struct {
	mu       sync.Mutex
	messages []string
}

func (m *mailServer) NewSession(*smtp.Conn) (smtp.Session, error) { return mailSession{m}, nil }

type mailSession struct{ server *mailServer }

func (mailSession) Mail(string, *smtp.MailOptions) error { return nil }

func (mailSession) Rcpt(string, *smtp.RcptOptions) error { return nil }

func (s mailSession) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.server.messages = append(s.server.messages, string(text))
	return err
}

func (mailSession) Reset() {}

func (mailSession) Logout() error { return nil }

// serve starts the server and returns its port.
func (m *mailServer) serve(t *testing.T) int {
	t.Helper()
	s := smtp.NewServer(m)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	harness.Must(t, err)
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	t.Cleanup(func() {
		harness.Must(t, s.Close())
		<-served
	})
	return listener.Addr().(*net.TCPAddr).Port
}

// exampleText returns config.example.yaml, and enables its commented-out channels and watches.
func exampleText(t *testing.T) string {
	t.Helper()
	text := read(t, "../../config.example.yaml")
	for _, list := range []string{"  channels: []", "watch: []"} {
		before, after, found := strings.Cut(text, "\n"+list)
		if !found {
			t.Fatalf("the example has no %q", list)
		}
		_, after, _ = strings.Cut(after, "\n")
		indent := strings.Repeat(" ", len(list)-len(strings.TrimLeft(list, " ")))
		commentMarks := regexp.MustCompile(`(?m)^` + indent + `# `)
		end := strings.Index(after+"\n\n", "\n\n")
		first := strings.Index(after, indent+"# - ")
		block := commentMarks.ReplaceAllString(after[first:end], indent)
		text = before + "\n" + strings.TrimSuffix(list, " []") + "\n" + block + after[end:]
	}
	return text
}

// TestTrialWatchesOfTheExample runs the channels and watches of config.example.yaml after three
// nights, and compares the received messages with the results of independent SQL.
func TestTrialWatchesOfTheExample(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	d := newTestMachine(t)
	var mu sync.Mutex
	var chat []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m struct{ Text string }
		_ = json.Unmarshal(body, &m)
		mu.Lock()
		defer mu.Unlock()
		chat = append(chat, m.Text)
	}))
	defer server.Close()
	mail := &mailServer{}
	baseURL := regexp.MustCompile(`base_url: (\S+),`).FindStringSubmatch(read(t, d.g.Config))[1]
	text := exampleText(t)
	for _, c := range []struct{ from, to string }{
		{"https://api.example.com", baseURL},
		{"dir: ./warehouse", "dir: " + filepath.Join(d.root, "var/lib/placementsync/warehouse")},
		{"host: smtp.example.com", "host: 127.0.0.1"},
		{"port: 0  ", fmt.Sprintf("port: %d  ", mail.serve(t))},
		{"tls: starttls ", "tls: none "},
		{"IN ('Example News', 'Example Weekly')", "IN (SELECT outlet_name FROM product_listings)"},
		{"amount over 10000", "amount over 1"},
		{"nights: 3", "nights: 1"},
	} {
		if !strings.Contains(text, c.from) {
			t.Fatalf("the example has no %q:\n%s", c.from, text)
		}
		text = strings.ReplaceAll(text, c.from, c.to)
	}
	d.g.Config = filepath.Join(d.root, "example.yaml")
	harness.Must(t, os.WriteFile(d.g.Config, []byte(text), 0o600))
	d.g.LookupEnv = func(name string) (string, bool) {
		value, ok := map[string]string{"PLACEMENTSYNC_TOKEN": demoToken, "CHAT_URL": server.URL, "MAIL_USER": "", "MAIL_PASSWORD": ""}[name]
		return value, ok
	}
	var out bytes.Buffer
	d.g.stdout = &out
	harness.Must(t, checkUserSQL(t.Context(), d.g, mustLoad(t, d.g)))
	harness.Must(t, runWatch(t.Context(), d.g, nil, false))
	harness.Must(t, runWatch(t.Context(), d.g, nil, false)) // must not repeat a message

	receivedLines := map[string]string{}
	for _, text := range chat {
		name, _, _ := strings.Cut(text, ":")
		receivedLines[name] += firstLine(text)
	}
	d.g.stdout = io.Discard
	want := map[string]string{}
	for name, sql := range map[string]string{
		"price-drops":      "select count(*) from mart.price_changes where new_amount < old_amount and listing_id in (select id from product_listings)",
		"overdue-articles": "select count(*) from mart.article_progress as p join mart.sold_items as s using (order_item_id) where p.state = 'open' and not s.is_refunded and s.promised_at < (select snapshot_at from mart.snapshot) - interval 2 days",
	} {
		if n := queryValue(t, d.g, sql); n != "0" {
			want[name] = n
		}
	}
	got := map[string]string{}
	for name, line := range receivedLines {
		if name == "price-drops" || name == "overdue-articles" {
			got[name] = regexp.MustCompile(`\d+`).FindString(strings.TrimPrefix(line, name))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
		t.Errorf("the numbers of findings differ (-want +got):\n%s\nall: %v\n%s", diff, receivedLines, &out)
	}
	if len(mail.messages) != 1 || !strings.Contains(mail.messages[0], "Subject: placementsync: payables: ") || receivedLines["payables"] == "" {
		t.Errorf("the mail server got %q and the chat %v, want the watch \"payables\" once in each", mail.messages, receivedLines)
	}
}

// TestResultsOfWatchesAreShown prints each kind of result.
func TestResultsOfWatchesAreShown(t *testing.T) {
	t.Parallel()
	snapshot := query.Snapshot{Run: "r1"}
	results := []watch.Result{
		{Watch: "a", Snapshot: snapshot, New: 1, Found: 2, NotProven: "orders is carried", Skipped: 1, Messages: []watch.Message{{Text: "a: 1\n- b\x1b"}}},
		{Watch: "b", Snapshot: snapshot, Unread: []string{"orders was not read", "tags was not read"}},
		{Watch: "c", Snapshot: snapshot, WasEvaluated: true, Pending: 2, Err: errors.New("refused")},
		{Watch: "d", Snapshot: snapshot, Err: errors.New("no column")},
	}
	watches := []config.Watch{{Send: []string{"chat", "mail"}}, {}, {}, {}}
	const want = `a: 1 new, 2 in all in r1
  possibly incomplete: orders is carried
  skipped: 1 row without a number in the column of the condition
  would send to chat, mail:
    a: 1
    - b\x1b
b: not checked, because tables were not read: orders was not read; tags was not read
c: r1 was already checked; waiting to be sent: 2
d: failed
`
	for _, dryRun := range []bool{true, false} {
		var text strings.Builder
		showWatches(&text, watches, results, dryRun)
		want := want
		if !dryRun {
			want = strings.Replace(want, "would send to chat, mail", "sent", 1)
		}
		if diff := cmp.Diff(want, text.String()); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
	}
}

func mustLoad(t *testing.T, g *globals) config.Config {
	t.Helper()
	cfg, err := g.loadConfig()
	harness.Must(t, err)
	return cfg
}

// queryValue returns the value of a query with one row and one column.
func queryValue(t *testing.T, g *globals, sql string) string {
	t.Helper()
	var out bytes.Buffer
	withOutput := *g
	withOutput.stdout = &out
	harness.Must(t, runQuery(t.Context(), &withOutput, queryOptions{output: outputOptions{format: "csv"}}, []string{sql}))
	_, value, _ := strings.Cut(strings.TrimSpace(out.String()), "\n")
	return strings.TrimSpace(value)
}
