package watch_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"placementsync/internal/ledger"
	"placementsync/internal/query"
	"placementsync/internal/warehouse"
	"placementsync/internal/watch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fixture is a warehouse folder, a catalog with scripted query results, and receivers.
type fixture struct {
	dir        string
	failAt     func(name, path string) error // fault injection, may be nil
	nights     int
	clockError time.Duration
	snapshots  []query.Snapshot
	// columns are the names of the columns. Those that end with # are numeric.
	columns []string
	// rows have values separated by bars. The text NULL means NULL.
	rows        []string
	sources     []query.Source
	runQuery    func(ctx context.Context) error // replaces the query if not nil
	channelErrs map[string]error                // errors of Send, by channel
	delivered   []delivery
}

type delivery struct {
	channel string
	message watch.Message
}

var _ watch.Catalog = (*fixture)(nil)

func newFixture(t *testing.T) *fixture {
	t.Helper()
	h := &fixture{dir: t.TempDir(), columns: []string{"id", "amount#"}, channelErrs: map[string]error{}}
	must(t, os.Mkdir(filepath.Join(h.dir, "queries"), 0o700))
	h.writeQuery(t, "q", "SELECT 1")
	h.writeQuery(t, "r", "SELECT 1")
	return h
}

// writeQuery writes a named query. Its result is that of the fixture.
func (h *fixture) writeQuery(t *testing.T, name, text string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(h.dir, "queries", name+".sql"), []byte("-- title: "+name+"\n"+text), 0o600))
}

func unreadTable(table, reason string) []query.Source {
	return []query.Source{{Table: table, Standing: ledger.NotRead, Reason: reason}}
}

// publish adds a snapshot, a day after the last one, and sets the rows of the query.
func (h *fixture) publish(rows ...string) {
	h.nights++
	at := time.Date(2026, time.November, h.nights, 2, 0, 0, 0, time.UTC).Add(h.clockError)
	h.snapshots = append(slices.Clone(h.snapshots), query.Snapshot{Run: at.Format("20060102T150405Z"), At: at})
	h.rows = rows
}

func (h *fixture) Snapshots(context.Context) ([]query.Snapshot, error) { return h.snapshots, nil }

func (h *fixture) Sources(context.Context, query.Query, map[string]string) ([]query.Source, error) {
	return h.sources, nil
}

func (h *fixture) Run(ctx context.Context, _ query.Query, _ map[string]string, w query.Writer) (int64, error) {
	if h.runQuery != nil {
		return 0, h.runQuery(ctx)
	}
	columns := make([]query.Column, len(h.columns))
	for i, name := range h.columns {
		columns[i].Name, columns[i].Numeric = strings.CutSuffix(name, "#")
	}
	if err := w.Begin(columns); err != nil {
		return 0, err
	}
	for _, row := range h.rows {
		record := query.Record{Columns: columns}
		for text := range strings.SplitSeq(row, "|") {
			record.Values = append(record.Values, query.Value{Text: strings.TrimPrefix(text, "NULL"), Null: text == "NULL"})
		}
		if err := w.Row(record); err != nil {
			return 0, err
		}
	}
	return int64(len(h.rows)), w.End()
}

func (h *fixture) folder(t *testing.T) *warehouse.Folder {
	t.Helper()
	w, err := warehouse.Open(warehouse.Config{Dir: h.dir, Step: h.failAt})
	must(t, err)
	return w.Folder
}

func (h *fixture) config(t *testing.T) watch.Config {
	t.Helper()
	queries, err := query.Load(filepath.Join(h.dir, "queries"))
	must(t, err)
	return watch.Config{Catalog: h, Queries: queries, Folder: h.folder(t), Program: "test", Send: h.send, Now: time.Now}
}

func (h *fixture) send(_ context.Context, channel string, m watch.Message) error {
	if h.failAt != nil {
		if err := h.failAt("before delivery", ""); err != nil {
			return err
		}
	}
	if err := h.channelErrs[channel]; err != nil {
		return err
	}
	h.delivered = append(h.delivered, delivery{channel, m})
	if h.failAt != nil {
		return h.failAt("after delivery", "")
	}
	return nil
}

// evaluate runs one watch and returns its result and the messages that it delivered.
func (h *fixture) evaluate(t *testing.T, w watch.Watch) (watch.Result, []delivery) {
	t.Helper()
	before := len(h.delivered)
	results, err := watch.Run(t.Context(), h.config(t), []watch.Watch{w})
	must(t, err)
	return results[0], h.delivered[before:]
}

func billsWatch() watch.Watch {
	return watch.Watch{Name: "bills", Query: "q", Key: []string{"id"}, NewOnly: true, Channels: []string{"chat"}}
}

// formatDeliveries lists channels with the ids of their findings. New findings are marked
// by a star, as in chat(a b*).
func formatDeliveries(got []delivery) string {
	var all []string
	for _, d := range got {
		var one []string
		for _, f := range d.message.Findings {
			text := "NULL"
			if v := f.Values["id"]; v != nil {
				text = *v
			}
			if f.New {
				text += "*"
			}
			one = append(one, text)
		}
		all = append(all, fmt.Sprintf("%s(%s)", d.channel, strings.Join(one, " ")))
	}
	return strings.Join(all, " ")
}

var errReceiver = errors.New("the receiver answered 500")
