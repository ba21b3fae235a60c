package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"placementsync/internal/mcp"
	"placementsync/internal/query"
	"placementsync/internal/testing/fixture"
	"placementsync/internal/testing/harness"
)

// busyWarehouse opens nothing until release is closed, and counts the attempts.
type busyWarehouse struct {
	testWarehouse
	opens      *atomic.Int64
	spillLimit *atomic.Value
	release    chan struct{}
}

// Open implements mcp.Warehouse.
func (w busyWarehouse) Open(ctx context.Context, opts query.Options, _ bool) (*query.DB, error) {
	w.opens.Add(1)
	w.spillLimit.Store(opts.SpillLimit)
	select {
	case <-w.release:
	case <-ctx.Done():
	}
	return nil, errors.New("not opened")
}

// TestOneQueryRunsAtATime calls a tool twice, and cancels the second call while it waits for the first.
func TestOneQueryRunsAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config("")
		busy := busyWarehouse{opens: &atomic.Int64{}, spillLimit: &atomic.Value{}, release: make(chan struct{})}
		cfg.Warehouse = busy
		session := connect(t, cfg)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for _, ctx := range []context.Context{t.Context(), ctx} {
			go func() {
				_, _ = session.CallTool(ctx, &sdk.CallToolParams{Name: "sql", Arguments: map[string]any{"sql": "SELECT 1"}})
			}()
			synctest.Wait()
		}
		if n := busy.opens.Load(); n != 1 {
			t.Errorf("%d calls opened the catalog at the same time, want one", n)
		}
		if limit := busy.spillLimit.Load(); limit != "2000000000B" {
			t.Errorf("a query may write temporary files of %v, want 2 GB", limit)
		}
		cancel()
		synctest.Wait()
		close(busy.release)
		synctest.Wait()
		if n := busy.opens.Load(); n != 1 {
			t.Errorf("a cancelled call still opened the catalog (%d in all)", n)
		}
	})
}

// ownWarehouse has named queries of the user, and explains errors.
type ownWarehouse struct {
	testWarehouse
	dir string
}

// Queries implements mcp.Warehouse.
func (w ownWarehouse) Queries() (query.Library, error) { return query.Load(w.dir) }

// Explain implements mcp.Warehouse.
func (ownWarehouse) Explain(err error) error { return fmt.Errorf("the file is damaged: %w", err) }

// TestUnknownValuesExplainOnlyEmptyResults runs a query with a value that its list lacks. The query has a row.
func TestUnknownValuesExplainOnlyEmptyResults(t *testing.T) {
	harness.Slow(t)
	cfg := config(catalogOfTwoNights(t))
	dir := t.TempDir()
	const text = "-- title: Own\n-- param: x VARCHAR a -- a text\n-- values: SELECT 'a'\n" +
		"-- param: y VARCHAR v1 -- A text.\n-- values: SELECT 'v' || i FROM range(60) AS t(i)\nSELECT $x AS x, $y AS y"
	harness.Must(t, os.WriteFile(filepath.Join(dir, "own.sql"), []byte(text), 0o600))
	cfg.Warehouse = ownWarehouse{cfg.Warehouse.(testWarehouse), dir}
	session := connect(t, cfg)
	if got := callQuery(t, session, "run_query", map[string]any{"name": "own", "parameters": map[string]any{"x": "b"}}); got.Warning != "" || len(got.Rows) != 1 {
		t.Errorf("got %d rows and the warning %q, want a row without a warning", len(got.Rows), got.Warning)
	}
	if text, _ := call(t, session, "list_queries", map[string]any{"name": "own"}); !strings.Contains(text, "A text. (the examples are the first 50 values)") {
		t.Errorf("got %s, want a note that there are more than 50 values", text)
	}
	withoutChecks := config(fixture.NewEmptyCatalog(t).Fill(t, twoNights+"DROP TABLE meta.checks;"))
	if got := callQuery(t, connect(t, withoutChecks), "run_query", map[string]any{"name": "snapshots"}); got.Warning != "the failed checks of the snapshot are unknown" {
		t.Errorf("got the warning %q without the table of checks, want that they are unknown", got.Warning)
	}
	if text, failed := call(t, session, "sql", map[string]any{"sql": "SELECT nothing"}); !failed || !strings.Contains(text, "the file is damaged: ") {
		t.Errorf("got %s, want the cause that the warehouse adds", text)
	}
}

// TestTheLastResponseIsWritten ends the input before anyone reads the output. A notification has no response, so Run
// does not wait for one.
func TestTheLastResponseIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		responses, out := io.Pipe()
		done, began := make(chan error, 1), time.Now()
		go func() {
			const input = initialize + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + ping + "\n"
			done <- mcp.Run(t.Context(), config(""), io.NopCloser(strings.NewReader(input)), out)
		}()
		synctest.Wait()
		text, err := io.ReadAll(responses)
		if n := strings.Count(string(text), "\n"); n != 2 || err != nil {
			t.Errorf("read %d responses (%v), want 2: %s", n, err, text)
		}
		if err := <-done; err != nil || time.Since(began) > 0 {
			t.Errorf("Run returned %v after %s, want no error and no wait", err, time.Since(began))
		}
	})
}

// TestParametersOfAllTypes lists a query with a parameter of each type, and passes each kind of JSON value.
func TestParametersOfAllTypes(t *testing.T) {
	harness.Slow(t)
	cfg := config(catalogOfTwoNights(t))
	dir := t.TempDir()
	const text = "-- title: Own\n-- grain: one row\n-- about: Notes.\n-- param: flag BOOLEAN yes -- A flag.\n-- param: off BOOLEAN no -- A flag.\n" +
		"-- param: at TIMESTAMPTZ 2026-11-01 -- A time.\n-- param: day DATE snapshot-7d -- A day.\n-- param: share DECIMAL 12.5 -- A share.\n" +
		"-- param: n BIGINT? NULL -- A number.\n-- param: top COUNT 3 -- A count.\n-- param: side left|right left -- A side.\n" +
		"-- param: must VARCHAR REQUIRED -- A text.\n-- param: zone TIMEZONE schedule.timezone -- A zone.\n" +
		"-- param: ended STATUSES lost -- Statuses.\n" +
		"SELECT $flag AS flag, $at AS at, $share AS share, $n AS n, $top AS top, $side AS side, $must AS must, $off AS off, $day AS day, " +
		"$zone AS zone, $ended AS ended"
	harness.Must(t, os.WriteFile(filepath.Join(dir, "own.sql"), []byte(text), 0o600))
	cfg.Warehouse = ownWarehouse{cfg.Warehouse.(testWarehouse), dir}
	session := connect(t, cfg)
	listed, _ := call(t, session, "list_queries", map[string]any{"name": "own"})
	var list struct {
		Queries []struct {
			Row, About string
			Parameters struct {
				Type                 string
				Properties           map[string]json.RawMessage
				Required             []string
				AdditionalProperties *bool
			}
		}
	}
	if err := json.Unmarshal([]byte(listed), &list); err != nil || len(list.Queries) != 1 {
		t.Fatalf("got %s (%v), want one query", listed, err)
	}
	q := list.Queries[0]
	properties := map[string]string{}
	for name, property := range q.Parameters.Properties {
		properties[name] = string(property)
	}
	diff := cmp.Diff(propertiesOfAllTypes(), properties)
	if p := q.Parameters; diff != "" || p.Type != "object" || !slices.Equal(p.Required, []string{"must"}) || *p.AdditionalProperties ||
		q.Row != "one row" || q.About != "Notes." {
		t.Errorf("got %s, properties (-want +got):\n%s", listed, diff)
	}
	got := callQuery(t, session, "run_query", map[string]any{"name": "own",
		"parameters": map[string]any{"flag": false, "n": nil, "top": 7, "share": "1.25", "must": "x"}})
	if want := `[false,"2026-11-01T00:00:00Z","1.25",null,7,"left","x",false,"2026-10-26","UTC","lost"]`; len(got.Rows) != 1 || string(got.Rows[0]) != want {
		t.Errorf("got the rows %q, want one with the given values, %s", got.rows(), want)
	}
	for name, value := range map[string]any{"top": nil, "must": []string{"a"}} {
		if text, failed := call(t, session, "run_query", map[string]any{"name": "own", "parameters": map[string]any{"must": "x", name: value}}); !failed {
			t.Errorf("the value %v of %s returned %s, want an error", value, name, text)
		}
	}
	var log bytes.Buffer
	cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
	for want, child := range map[string][]string{
		"the path of this program is unknown": nil, "ended without a result (signal: segmentation fault)": {"sh", "-c", "echo broken >&2; kill -SEGV $$"},
	} {
		cfg.Child = child
		if text, failed := call(t, connect(t, cfg), "sql", map[string]any{"sql": "SELECT 1"}); !failed || !strings.Contains(text, want) {
			t.Errorf("SQL with the child process %q returned %s, want the error %q", child, text, want)
		}
	}
	if !strings.Contains(log.String(), `state="signal: segmentation fault" error="broken\n"`) {
		t.Errorf("the log lacks the output of the crashed process: %s", log.String())
	}
}

func propertiesOfAllTypes() map[string]string {
	return map[string]string{
		"at": `{"default":"2026-11-01","description":"A time. (a time such as 2026-11-01T02:00:00Z)","type":"string"}`,
		"day": `{"default":"snapshot-7d","description":"A day. (a date such as 2026-11-01, a month such as 2026-11 (its first day), ` +
			`or snapshot-7d for seven days before the snapshot)","type":"string"}`,
		"ended": `{"default":"lost","description":"Statuses. (a list of statuses such as cancelled,refunded, ` +
			`or the default for the list of the configuration)","type":"string"}`,
		"flag":  `{"default":true,"description":"A flag.","type":"boolean"}`,
		"must":  `{"description":"A text.","type":"string"}`,
		"n":     `{"default":null,"description":"A number.","type":["integer","null"]}`,
		"off":   `{"default":false,"description":"A flag.","type":"boolean"}`,
		"share": `{"default":"12.5","description":"A share. (a number such as 12.50)","type":"string"}`,
		"side":  `{"default":"left","description":"A side.","enum":["left","right"],"type":"string"}`,
		"top":   `{"default":3,"description":"A count.","minimum":0,"type":"integer"}`,
		"zone": `{"default":"schedule.timezone","description":"A zone. (a time zone such as Europe/Berlin, ` +
			`or schedule.timezone for the time zone of the configuration)","type":"string"}`,
	}
}
