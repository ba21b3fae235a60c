package watch_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"placementsync/internal/ledger"
	"placementsync/internal/query"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
	"placementsync/internal/watch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a warehouse folder, a catalog whose queries return the given rows, and the channels.
type fixture struct {
	dir         string
	failAt      func(name, path string) error // fault injection, may be nil
	nights      int
	clockOffset time.Duration
	snapshots   []query.Snapshot
	// columns are the names of the columns. The name of a numeric column is followed by #.
	columns []string
	// rows are the rows of every query. Values are separated by bars. The text NULL means NULL.
	rows        []string
	sources     []query.Source
	sourcesErr  error
	readPlan    func(ctx context.Context) error // is called before the sources are returned, if not nil
	runQuery    func(ctx context.Context) error // replaces the query if not nil
	channelErrs map[string]error                // errors of Send, by channel
	delivered   []delivery
}

type delivery struct {
	channel string
	message watch.Message
}

var _ watch.Catalog = (*fixture)(nil)

// condition returns a condition with a bound in decimal digits.
func condition(column string, over bool, bound string) watch.Condition {
	number, _ := new(big.Rat).SetString(bound)
	return watch.Condition{Column: column, Over: over, Bound: number}
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{dir: t.TempDir(), columns: []string{"id", "amount#"}, channelErrs: map[string]error{}}
	harness.Must(t, os.Mkdir(filepath.Join(f.dir, "queries"), 0o700))
	f.writeQuery(t, "q", "SELECT 1")
	f.writeQuery(t, "r", "SELECT 1")
	return f
}

// writeQuery writes a named query. Its SQL is not run: the result is f.rows.
func (f *fixture) writeQuery(t *testing.T, name, text string) {
	t.Helper()
	harness.Must(t, os.WriteFile(filepath.Join(f.dir, "queries", name+".sql"), []byte("-- title: "+name+"\n"+text), 0o600))
}

func unreadTable(table, reason string) []query.Source {
	return []query.Source{{Table: table, Standing: ledger.NotRead, Reason: reason}}
}

// publish adds a snapshot, a day after the previous snapshot, and sets the rows of the query.
func (f *fixture) publish(rows ...string) {
	f.nights++
	at := time.Date(2026, time.November, f.nights, 2, 0, 0, 0, time.UTC).Add(f.clockOffset)
	f.snapshots = append(slices.Clone(f.snapshots), query.Snapshot{Run: at.Format("20060102T150405Z"), At: at})
	f.rows = rows
}

func (f *fixture) Snapshots(context.Context) ([]query.Snapshot, error) { return f.snapshots, nil }

func (f *fixture) Sources(ctx context.Context, _ query.Query, _ map[string]string) ([]query.Source, error) {
	if f.readPlan != nil {
		return nil, f.readPlan(ctx)
	}
	return f.sources, f.sourcesErr
}

func (f *fixture) Run(ctx context.Context, _ query.Query, _ map[string]string, w query.Writer) (int64, error) {
	if f.runQuery != nil {
		return 0, f.runQuery(ctx)
	}
	columns := make([]query.Column, len(f.columns))
	for i, name := range f.columns {
		columns[i].Name, columns[i].Numeric = strings.CutSuffix(name, "#")
	}
	if err := w.Begin(columns); err != nil {
		return 0, err
	}
	for _, row := range f.rows {
		var values []query.Value
		for text := range strings.SplitSeq(row, "|") {
			values = append(values, query.Value{Text: strings.TrimPrefix(text, "NULL"), Null: text == "NULL"})
		}
		if err := w.Row(values); err != nil {
			return 0, err
		}
	}
	return int64(len(f.rows)), w.End()
}

func (f *fixture) folder(t *testing.T) *warehouse.Folder {
	t.Helper()
	return warehouse.New(warehouse.Config{Dir: f.dir, Step: f.failAt}).Folder
}

// statePath returns the path of the state file of a watch.
func (f *fixture) statePath(name string) string {
	return filepath.Join(f.dir, "state", "watches", name+".json")
}

func (f *fixture) config(t *testing.T) watch.Config {
	t.Helper()
	queries, err := query.Load(filepath.Join(f.dir, "queries"))
	harness.Must(t, err)
	return watch.Config{Catalog: f, Queries: queries, Folder: f.folder(t), Program: "test", Send: f.send, Now: time.Now}
}

func (f *fixture) send(_ context.Context, channel string, m watch.Message) error {
	if f.failAt != nil {
		if err := f.failAt("before delivery", ""); err != nil {
			return err
		}
	}
	if err := f.channelErrs[channel]; err != nil {
		return err
	}
	f.delivered = append(f.delivered, delivery{channel, m})
	if f.failAt != nil {
		return f.failAt("after delivery", "")
	}
	return nil
}

// evaluate runs one watch and returns its result and the messages that it delivered.
func (f *fixture) evaluate(t *testing.T, w watch.Watch) (watch.Result, []delivery) {
	t.Helper()
	countBefore := len(f.delivered)
	results, err := watch.Run(t.Context(), f.config(t), []watch.Watch{w})
	harness.Must(t, err)
	return results[0], f.delivered[countBefore:]
}

func billsWatch() watch.Watch {
	return watch.Watch{Name: "bills", Query: "q", Key: []string{"id"}, NewOnly: true, Channels: []string{"chat"}}
}

// formatDeliveries lists channels with the ids of their findings. New findings are marked
// by a star, as in chat(a b*).
func formatDeliveries(got []delivery) string {
	var all []string
	for _, d := range got {
		var ids []string
		for _, f := range d.message.Findings {
			id := "NULL"
			if v := f.Values["id"]; v != nil {
				id = *v
			}
			if f.New {
				id += "*"
			}
			ids = append(ids, id)
		}
		all = append(all, fmt.Sprintf("%s(%s)", d.channel, strings.Join(ids, " ")))
	}
	return strings.Join(all, " ")
}

var errReceiver = errors.New("the receiver returned 500")
