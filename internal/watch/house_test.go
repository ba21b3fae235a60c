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

// house is a warehouse folder, the snapshots that its readers see, and receivers.
type house struct {
	dir    string
	steps  func(name string) error // fault injection; nil: none
	nights int
	ahead  time.Duration // how wrong the clock is
	line   []query.Snapshot
	// columns are names; those that end with # are numeric.
	columns []string
	// rows are texts, separated by bars; NULL is NULL.
	rows    []string
	sources []query.Source
	ask     func(ctx context.Context) error // instead of an answer
	deaf    map[string]error                // what a channel answers
	got     []delivered
}

type delivered struct {
	channel string
	message watch.Message
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{dir: t.TempDir(), columns: []string{"id", "amount#"}, deaf: map[string]error{}}
	must(t, os.Mkdir(filepath.Join(h.dir, "queries"), 0o700))
	h.writeQuery(t, "q", "SELECT 1")
	h.writeQuery(t, "r", "SELECT 1")
	return h
}

// writeQuery writes a query that watches can name. Its rows are those of the house.
func (h *house) writeQuery(t *testing.T, name, text string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(h.dir, "queries", name+".sql"), []byte("-- title: "+name+"\n"+text), 0o600))
}

// unread is a table that was not read.
func unread(table, reason string) []query.Source {
	return []query.Source{{Table: table, Standing: ledger.NotRead, Reason: reason}}
}

// night publishes a snapshot with these findings, a day after the last one.
func (h *house) night(rows ...string) {
	h.nights++
	at := time.Date(2026, time.November, h.nights, 2, 0, 0, 0, time.UTC).Add(h.ahead)
	h.line = append(slices.Clone(h.line), query.Snapshot{Run: at.Format("20060102T150405Z"), At: at})
	h.rows = rows
}

// Snapshots implements watch.Catalog.
func (h *house) Snapshots(context.Context) ([]query.Snapshot, error) { return h.line, nil }

// Sources implements watch.Catalog.
func (h *house) Sources(context.Context, query.Query, map[string]string) ([]query.Source, error) {
	return h.sources, nil
}

// Run implements watch.Catalog.
func (h *house) Run(ctx context.Context, _ query.Query, _ map[string]string, w query.Writer) (int64, error) {
	if h.ask != nil {
		return 0, h.ask(ctx)
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

// folder is on a disk that fails as the steps say.
func (h *house) folder(t *testing.T) *warehouse.Folder {
	t.Helper()
	w, err := warehouse.Open(warehouse.Config{Dir: h.dir, Step: h.steps})
	must(t, err)
	return w.Folder
}

func (h *house) config(t *testing.T) watch.Config {
	t.Helper()
	queries, err := query.Load(filepath.Join(h.dir, "queries"))
	must(t, err)
	return watch.Config{Catalog: h, Queries: queries, Folder: h.folder(t), Program: "test", Send: h.send}
}

func (h *house) send(_ context.Context, channel string, m watch.Message) error {
	if h.steps != nil {
		if err := h.steps("before delivery"); err != nil {
			return err
		}
	}
	if err := h.deaf[channel]; err != nil {
		return err
	}
	h.got = append(h.got, delivered{channel, m})
	if h.steps != nil {
		return h.steps("after delivery")
	}
	return nil
}

// look runs one watch and returns its result, and what arrived meanwhile.
func (h *house) look(t *testing.T, w watch.Watch) (watch.Result, []delivered) {
	t.Helper()
	before := len(h.got)
	results, err := watch.Run(t.Context(), h.config(t), []watch.Watch{w})
	must(t, err)
	return results[0], h.got[before:]
}

// bills is a watch by key.
func bills() watch.Watch {
	return watch.Watch{Name: "bills", Query: "q", Key: []string{"id"}, NewOnly: true, Channels: []string{"chat"}}
}

// ids lists the findings of deliveries: the column id of each, new ones marked.
func ids(got []delivered) string {
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

var errDeaf = errors.New("the receiver answered 500")
