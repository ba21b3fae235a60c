package watch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

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
	line   []watch.Snapshot
	// columns are names; those that end with # are numeric.
	columns []string
	// rows are texts, separated by bars; NULL is NULL.
	rows   []string
	unread []string
	doubt  string
	ask    func(ctx context.Context) error // instead of an answer
	deaf   map[string]error                // what a channel answers
	memory memory                          // instead of the folder; nil: none
	got    []delivered
}

type delivered struct {
	channel string
	message watch.Message
}

func newHouse(t *testing.T) *house {
	t.Helper()
	return &house{dir: t.TempDir(), columns: []string{"id", "amount#"}, deaf: map[string]error{}}
}

// night publishes a snapshot with these findings, a day after the last one.
func (h *house) night(rows ...string) {
	h.nights++
	at := time.Date(2026, time.November, h.nights, 2, 0, 0, 0, time.UTC).Add(h.ahead)
	h.line = append(slices.Clone(h.line), watch.Snapshot{Run: at.Format("20060102T150405Z"), At: at})
	h.rows = rows
}

// Snapshots implements watch.Catalog.
func (h *house) Snapshots(context.Context) ([]watch.Snapshot, error) { return h.line, nil }

// Judge implements watch.Catalog.
func (h *house) Judge(context.Context, watch.Watch) (watch.Sources, error) {
	return watch.Sources{Unread: h.unread, Doubt: h.doubt}, nil
}

// Ask implements watch.Catalog.
func (h *house) Ask(ctx context.Context, _ watch.Watch, rows watch.Rows) error {
	if h.ask != nil {
		return h.ask(ctx)
	}
	columns := make([]watch.Column, len(h.columns))
	for i, name := range h.columns {
		columns[i].Name, columns[i].Numeric = strings.CutSuffix(name, "#")
	}
	if err := rows.Begin(columns); err != nil {
		return err
	}
	for _, row := range h.rows {
		var values []watch.Value
		for text := range strings.SplitSeq(row, "|") {
			values = append(values, watch.Value{Text: strings.TrimPrefix(text, "NULL"), IsNull: text == "NULL"})
		}
		if err := rows.Add(values); err != nil {
			return err
		}
	}
	return nil
}

// state is that of the folder, on a disk that fails as the steps say.
func (h *house) state(t *testing.T) files {
	t.Helper()
	w, err := warehouse.Open(warehouse.Config{Dir: h.dir, Step: h.steps})
	must(t, err)
	return files{w.Folder}
}

type files struct{ folder *warehouse.Folder }

// Read implements watch.State.
func (f files) Read(name string, into any) (bool, error) {
	return f.folder.StateFile("watches", name+".json").Read(into)
}

// Write implements watch.State.
func (f files) Write(name string, value any) error {
	return f.folder.StateFile("watches", name+".json").Write(value)
}

// memory is a state without a disk, for many nights.
type memory map[string][]byte

// Read implements watch.State.
func (m memory) Read(name string, into any) (bool, error) {
	text, ok := m[name]
	if !ok {
		return false, nil
	}
	return true, json.Unmarshal(text, into)
}

// Write implements watch.State.
func (m memory) Write(name string, value any) (err error) {
	m[name], err = json.Marshal(value)
	return err
}

func (h *house) config(t *testing.T) watch.Config {
	t.Helper()
	if h.memory != nil {
		return watch.Config{Catalog: h, State: h.memory, Program: "test", Send: h.send}
	}
	return watch.Config{Catalog: h, State: h.state(t), Program: "test", Send: h.send}
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
