package main

import (
	"bytes"
	"encoding/json"
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
)

// mailbox is a mail server that keeps the received messages.
type mailbox struct {
	mu  sync.Mutex
	got []string
}

// NewSession implements smtp.Backend.
func (m *mailbox) NewSession(*smtp.Conn) (smtp.Session, error) { return mailSession{m}, nil }

type mailSession struct{ to *mailbox }

// Mail implements smtp.Session.
func (mailSession) Mail(string, *smtp.MailOptions) error { return nil }

// Rcpt implements smtp.Session.
func (mailSession) Rcpt(string, *smtp.RcptOptions) error { return nil }

// Data implements smtp.Session.
func (s mailSession) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	s.to.mu.Lock()
	defer s.to.mu.Unlock()
	s.to.got = append(s.to.got, string(text))
	return err
}

// Reset implements smtp.Session.
func (mailSession) Reset() {}

// Logout implements smtp.Session.
func (mailSession) Logout() error { return nil }

// open serves the mailbox and returns its port.
func (m *mailbox) open(t *testing.T) int {
	t.Helper()
	s := smtp.NewServer(m)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	fatal(t, err)
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	t.Cleanup(func() {
		fatal(t, s.Close())
		<-served
	})
	return listener.Addr().(*net.TCPAddr).Port
}

// exampleText is config.example.yaml with its commented channels and watches enabled.
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
		commented := regexp.MustCompile(`(?m)^` + indent + `# `)
		end := strings.Index(after+"\n\n", "\n\n")
		if end < 0 {
			end = len(after)
		}
		end = min(end, len(after))
		first := strings.Index(after, indent+"# - ")
		block := commented.ReplaceAllString(after[first:end], indent)
		text = before + "\n" + strings.TrimSuffix(list, " []") + "\n" + block + after[end:]
	}
	return text
}

// TestTrialWatchesOfTheExample enables the channels and watches of config.example.yaml for three
// nights, and compares the received messages with the results of the queries.
func TestTrialWatchesOfTheExample(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	d := newDrill(t)
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
	box := &mailbox{}
	base := regexp.MustCompile(`base_url: (\S+),`).FindStringSubmatch(read(t, d.g.Config))[1]
	text := exampleText(t)
	for _, c := range [][2]string{
		{"https://api.example.com", base},
		{"dir: ./warehouse", "dir: " + filepath.Join(d.root, "var/lib/placementsync/warehouse")},
		{"host: smtp.example.com", "host: 127.0.0.1"},
		{"port: 0  ", fmt.Sprintf("port: %d  ", box.open(t))},
		{"tls: starttls ", "tls: none "},
		{"IN ('Example News', 'Example Weekly')", "IN (SELECT outlet_name FROM product_listings)"},
		{"amount over 10000", "amount over 1"},
		{"nights: 3", "nights: 1"},
	} {
		if !strings.Contains(text, c[0]) {
			t.Fatalf("the example has no %q:\n%s", c[0], text)
		}
		text = strings.ReplaceAll(text, c[0], c[1])
	}
	d.g.Config = filepath.Join(d.root, "example.yaml")
	fatal(t, os.WriteFile(d.g.Config, []byte(text), 0o600))
	d.g.LookupEnv = func(name string) (string, bool) {
		value, ok := map[string]string{"PLACEMENTSYNC_TOKEN": demoToken, "CHAT_URL": server.URL, "MAIL_USER": "", "MAIL_PASSWORD": ""}[name]
		return value, ok
	}
	var out bytes.Buffer
	d.g.stdout = &out
	fatal(t, checkWatches(t.Context(), d.g, mustLoad(t, d.g)))
	fatal(t, runWatch(t.Context(), d.g, nil, false))
	fatal(t, runWatch(t.Context(), d.g, nil, false)) // and nothing twice

	arrived := map[string]string{}
	for _, text := range chat {
		name, _, _ := strings.Cut(text, ":")
		arrived[name] += firstLine(text)
	}
	d.g.stdout = io.Discard
	want := map[string]string{}
	for name, sql := range map[string]string{
		"price-drops":      "select count(*) from mart.price_changes where new_amount < old_amount and listing_id in (select id from product_listings)",
		"overdue-articles": "select count(*) from mart.article_progress where live_url is null and status_prefix not in ('published', 'live', 'cancelled', 'canceled', 'rejected', 'archived') and expected_at < (select snapshot_at from mart.snapshot) - interval 2 days",
	} {
		if n := answerOf(t, d.g, sql); n != "0" {
			want[name] = n
		}
	}
	got := map[string]string{}
	for name, line := range arrived {
		if _, ok := want[name]; ok || name == "price-drops" || name == "overdue-articles" {
			got[name] = regexp.MustCompile(`\d+`).FindString(strings.TrimPrefix(line, name))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
		t.Errorf("findings (-want +got):\n%s\nall: %v\n%s", diff, arrived, &out)
	}
	if len(box.got) != 1 || !strings.Contains(box.got[0], "Subject: placementsync: payables: ") || arrived["payables"] == "" {
		t.Errorf("the mailbox has %q; the chat %v", box.got, arrived)
	}
}

func mustLoad(t *testing.T, g *globals) config.Config {
	t.Helper()
	cfg, err := g.loadConfig()
	fatal(t, err)
	return cfg
}

// answerOf returns the single value of a query.
func answerOf(t *testing.T, g *globals, sql string) string {
	t.Helper()
	var out bytes.Buffer
	quiet := *g
	quiet.stdout = &out
	fatal(t, runQuery(t.Context(), &quiet, queryOptions{output: outputOptions{format: "csv"}}, []string{sql}))
	_, value, _ := strings.Cut(strings.TrimSpace(out.String()), "\n")
	return strings.TrimSpace(value)
}
