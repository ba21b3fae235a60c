package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
	"placementsync/internal/transform"
	"placementsync/internal/warehouse"
	"placementsync/schema"
)

// TestParseToken reads the forms of the token info that services send. Errors must not contain the body.
func TestParseToken(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]Token{
		`{"token_type":"custom","scopes":["a","b"],"team_id":"7"}`:  {Type: "custom", Scopes: []string{"a", "b"}, TeamID: "7"},
		`{"token_type":"custom","scopes":"[\"a\"]","team_id":7}`:    {Type: "custom", Scopes: []string{"a"}, TeamID: "7"},
		`{"token_type":"full_access","scopes":null,"team_id":null}`: {Type: "full_access"},
		`{"scopes":[]}`: {Scopes: []string{}},
	} {
		if got, err := parseToken([]byte(body)); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: got %+v (%v), want %+v", body, got, err, want)
		}
	}
	for body, want := range map[string]string{
		"<html>hunter2": "is not the JSON of a token info",
		`{"token_type":"x","scopes":{"a":"hunter2"}}`: "scopes is not a list of texts",
		`{"error":"hunter2"}`:                         "neither token_type nor scopes",
		`{"token_type":"hunter2","scopes":[1]}`:       "scopes is not a list of texts",
	} {
		_, err := parseToken([]byte(body))
		if !errors.Is(err, fetch.ErrMalformed) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v, want ErrMalformed with %q and without the body", body, err, want)
		}
	}
	if got := (Token{Type: "custom", Scopes: []string{"b", "a"}, TeamID: "7"}).describeRights(); got != "custom team=7 scopes=a,b" {
		t.Errorf("the rights are %q, want the scopes in order: another order is no change", got)
	}
}

// TestSkipReasons checks why a stream is not read.
func TestSkipReasons(t *testing.T) {
	t.Parallel()
	all := Config{Chosen: stream.Names(stream.All()), Details: ChangedDetails}
	lists := all
	lists.Details = NoDetails
	full := Token{Type: "full_access", TeamID: "7"}
	for name, c := range map[string]struct {
		cfg    Config
		token  Token
		stream string
		want   string
	}{
		"a list":                      {all, full, "orders", ""},
		"a list that is not chosen":   {Config{Chosen: []string{"tags"}}, full, "orders", ledger.ReasonNotChosen},
		"events are always read":      {Config{}, Token{}, "article_status_events", ""},
		"details of a night of lists": {lists, full, "order_details", ledger.ReasonNoDetails},
		"a list of a night of lists":  {lists, full, "orders", ""},
		"a missing scope": {all, Token{Type: "read_only", Scopes: []string{"articles.read"}, TeamID: "7"}, "article_comments",
			"missing scope articles.lists"},
		"all scopes":                         {all, Token{Type: "custom", Scopes: []string{"articles.lists", "articles.read"}, TeamID: "7"}, "article_comments", ""},
		"an unknown type may have any scope": {all, Token{Type: "newer", TeamID: "7"}, "article_comments", ""},
		"an undocumented scope":              {all, Token{Type: "custom", TeamID: "7"}, "articles", ""},
		"no team in a path":                  {all, Token{Type: "full_access"}, "profiles", "the token has no team id: set api.team_id"},
		"no team in a column":                {all, Token{Type: "full_access"}, "token", "the token has no team id: set api.team_id"},
		"no team is needed":                  {all, Token{Type: "full_access"}, "orders", ""},
	} {
		s, _ := stream.Find(stream.AllWithEvents(), c.stream)
		if got := c.cfg.skipReason(c.token, s); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// TestLostRights checks streams that this night may not read. The night is partial if an earlier night read them.
func TestLostRights(t *testing.T) {
	t.Parallel()
	first := errors.New("first")
	for name, c := range map[string]struct {
		grade   stream.Grade
		reason  string
		failure error
		isLost  bool
	}{
		"never read":           {stream.Skipped, "missing scope a", nil, false},
		"read earlier":         {stream.CarriedForward, "missing scope a", nil, true},
		"excluded":             {stream.CarriedForward, ledger.ReasonNotChosen, nil, false},
		"without details":      {stream.CarriedForward, ledger.ReasonNoDetails, nil, false},
		"with another failure": {stream.CarriedForward, "missing scope a", first, false},
	} {
		r := resultOf(t, "orders", c.grade, load.Carried)
		r.evidence.Reason, r.failure = c.reason, c.failure
		r.failLostRight()
		isLost := r.failure != nil && r.failure != first
		if isLost != c.isLost {
			t.Errorf("%s: the failure is %v, want a new failure: %t", name, r.failure, c.isLost)
		}
		if isLost && r.failure.Error() != r.evidence.Reason {
			t.Errorf("%s: the failure is %v, want the reason %q", name, r.failure, r.evidence.Reason)
		}
		hasAdvice := strings.HasSuffix(r.evidence.Reason, "restore the right, or add the stream to streams.exclude")
		if hasAdvice != c.isLost || !strings.HasPrefix(r.evidence.Reason, c.reason) {
			t.Errorf("%s: the reason is %q, want %q with advice: %t", name, r.evidence.Reason, c.reason, c.isLost)
		}
	}
}

// TestRefusedIDsAreNamed checks the ids in the reason of a stream. The ids beyond the fifth are counted.
func TestRefusedIDsAreNamed(t *testing.T) {
	t.Parallel()
	for want, ids := range map[string][]string{
		"":                                   nil,
		"; 403 for a":                        {"a"},
		"; 403 for a, b, c, d, e":            {"a", "b", "c", "d", "e"},
		"; 403 for a, b, c, d, e and 2 more": {"a", "b", "c", "d", "e", "f", "g"},
	} {
		if got := describeRefused(ids); got != want {
			t.Errorf("%v: got %q, want %q", ids, got, want)
		}
	}
}

// TestErrorsThatEndTheNight lists the errors with which every other stream would fail too.
func TestErrorsThatEndTheNight(t *testing.T) {
	t.Parallel()
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for name, c := range map[string]struct {
		ctx  context.Context
		err  error
		want bool
	}{
		"no error":              {t.Context(), nil, false},
		"no error after a stop": {stopped, nil, false},
		"a failed stream":       {t.Context(), errors.New("500"), false},
		"a stop":                {stopped, errors.New("500"), true},
		"a rejected token":      {t.Context(), fmt.Errorf("read: %w", fetch.ErrAuth), true},
		"a full disk":           {t.Context(), fmt.Errorf("read: %w", fetch.ErrStore), true},
		"the warehouse":         {t.Context(), markStageErr(errors.New("full")), true},
		"a missing scope":       {t.Context(), fetch.ErrScope, false},
	} {
		if endsNight(c.ctx, c.err) != c.want {
			t.Errorf("%s ends the night: %t, want %t", name, !c.want, c.want)
		}
	}
	full := markStageErr(errors.New("full"))
	for _, err := range []error{nil, errors.New("500")} { // the error of the requests
		if got := (&reading{}).finish(t.Context(), &streamRun{}, &sink{stagingErr: full}, err); !errors.Is(got, full) {
			t.Errorf("a stream with the error %v, whose rows could not be staged, ended with %v, want the error of the rows", err, got)
		}
	}
	if markStageErr(nil) != nil {
		t.Error("no error was marked as an error of the warehouse")
	}
}

// TestRunsOfTheSnapshot finds the night whose snapshot readers see, and whether it has rows of a stream.
func TestRunsOfTheSnapshot(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.November, 1, 2, 0, 0, 0, time.UTC)
	night := ledger.Run{ID: "b", SnapshotAt: at,
		Streams: []ledger.Stream{{Stream: "orders", Grade: stream.CarriedForward}, {Stream: "tags", Grade: stream.Skipped}, {Stream: "files", Grade: stream.BestEffort}}}
	runs := []ledger.Run{{ID: "a", SnapshotAt: at}, night, {ID: "failed"}, {ID: "refresh", Kind: ledger.Refresh, SnapshotAt: at}}
	if got := lastPublishedNight(runs); got.ID != "b" {
		t.Errorf("the last published night is %q, want b", got.ID)
	}
	if got := lastPublishedNight(runs[2:]); got.ID != "" {
		t.Errorf("without a published night: got %q", got.ID)
	}
	for name, want := range map[string]bool{"orders": true, "files": true, "tags": false, "folders": false} {
		if hasRows(night, name) != want {
			t.Errorf("the snapshot has rows of %s: %t, want %t", name, !want, want)
		}
	}
}

// TestRecordsOfDrift checks that each record is counted for its own drift, in each order in which the decoders can find it.
func TestRecordsOfDrift(t *testing.T) {
	t.Parallel()
	d := newDriftCollector()
	findings := func(records []stream.DriftRecord, drifts ...stream.Drift) transform.Findings {
		f := transform.Findings{DriftRecords: records}
		for _, drift := range drifts {
			f.Drift = append(f.Drift, transform.Drift{Drift: drift, First: transform.Place{Seq: 1}})
		}
		return f
	}
	a, b := stream.Drift{Table: "orders", Path: "a", Kind: "unknown_field"}, stream.Drift{Table: "orders", Path: "b", Kind: "unknown_field"}
	otherKind, otherTable := a, a
	otherKind.Kind, otherTable.Table = "converted", "tags"
	d.addFindings(findings(nil, a, b))
	earlier := a
	earlier.Key = "earlier"
	d.addFindings(transform.Findings{Drift: []transform.Drift{{Drift: earlier}}})
	got := d.addFindings(findings([]stream.DriftRecord{{DriftIndex: 0, Record: 7}, {DriftIndex: 1, Record: 8}, {DriftIndex: 2, Record: 9},
		{DriftIndex: 3, Record: 7}}, b, otherKind, otherTable, a))
	want := []stream.DriftRecord{{DriftIndex: 1, Record: 7}, {DriftIndex: 2, Record: 8}, {DriftIndex: 3, Record: 9}, {DriftIndex: 0, Record: 7}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records of drift (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]stream.Drift{earlier, b, otherKind, otherTable}, d.drifts); diff != "" {
		t.Errorf("drift (-want +got):\n%s", diff)
	}
}

// TestDecodedBodies decodes two bodies with one decoder. The facts of the first body must not change, and the sizes of
// both bodies count for the next staging of rows. Large bodies are staged even if they have few rows.
func TestDecodedBodies(t *testing.T) {
	t.Parallel()
	tags, _ := stream.Find(stream.All(), "tags")
	definitions, _ := schema.Definitions()
	binding, err := transform.Bind(tags, definitions, transform.Privacy{})
	if err != nil {
		t.Fatal(err)
	}
	d := &decoder{Decoder: binding.NewDecoder()}
	var ids transform.IDCase
	d.UnifyIDs(&ids)
	streams := []stream.Stream{tags}
	wh := warehouse.New(warehouse.Config{Dir: t.TempDir(), MemoryLimit: "256MB", Threads: 1, Program: "test", Tables: stream.Tables(streams)})
	at := time.Date(2026, time.November, 1, 2, 0, 0, 0, time.UTC)
	lock, err := wh.Lock(ledger.Night, at)
	harness.Must(t, err)
	draft, err := wh.Begin(t.Context(), "20261101T020000Z", at)
	harness.Must(t, err)
	stage, err := load.Open(t.Context(), draft, streams, nil)
	harness.Must(t, err)
	defer func() { harness.Must(t, errors.Join(draft.Discard(), lock.Release())) }()
	cfg := Config{Log: slog.New(slog.DiscardHandler), Fetch: fetch.Config{BaseURL: "http://127.0.0.1/"}}
	client, err := fetch.New(cfg.Fetch, nil, cfg.Log)
	harness.Must(t, err)
	defer client.Close()
	read := &reading{prepared: &prepared{locked: &locked{cfg: cfg}, client: client}, drift: newDriftCollector(), stage: stage}
	harness.Must(t, read.unifyStoredIDs(t.Context()))
	if id := read.idCase.Unify("A0000000-0000-0000-0000-000000000000"); id[0] != 'A' {
		t.Errorf("in an empty warehouse, the first id is written as %s, want it as the service sent it", id)
	}
	k := &sink{reading: read, stream: tags, free: make(chan *decoder, 1)}
	k.free <- d
	first, err := k.decodeBody(t.Context(), fetch.Response{Seq: 1, Body: []byte(`["a","b"]`)})
	if err != nil {
		t.Fatal(err)
	}
	known := slices.Clone(first.IDs)
	if _, err := k.decodeBody(t.Context(), fetch.Response{Seq: 2, Body: []byte(`["c","d"]`)}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(first.IDs, known) || len(known) != 2 {
		t.Errorf("the ids of the first body are now %v, want %v", first.IDs, known)
	}
	if d.unstagedBytes != 18 || k.records.Load() != 4 || d.Rows() != 4 {
		t.Errorf("%d bytes with %d records and %d rows are not staged, want 18 bytes, 4 and 4", d.unstagedBytes, k.records.Load(), d.Rows())
	}
	stopped, stop := context.WithCancelCause(t.Context())
	cause := errors.New("stopped")
	stop(cause)
	// The decoder has rows of other requests too.
	if err := k.flushDecoders(stopped, d); err != nil || d.Rows() != 0 {
		t.Errorf("the stop of one request left %d rows: %v, want all rows staged", d.Rows(), err)
	}
	d.unstagedBytes = batchBytes - 2
	if _, err := k.decodeBody(t.Context(), fetch.Response{Seq: 3, Body: []byte(`[]`)}); err != nil || d.unstagedBytes != 0 {
		t.Errorf("%d bytes are not staged (%v), want 0 after a batch of %d bytes", d.unstagedBytes, err, batchBytes)
	}
	if _, err := k.decodeBody(t.Context(), fetch.Response{Seq: 4, Body: []byte(`["e`)}); !errors.Is(err, transform.ErrMalformed) || len(k.free) != 1 {
		t.Errorf("a truncated body: got %v with %d free decoders, want ErrMalformed and the decoder to be free", err, len(k.free))
	}
	<-k.free
	if _, err := k.decodeBody(stopped, fetch.Response{}); err != cause {
		t.Errorf("after a stop: got %v, want its cause", err)
	}
	run := &streamRun{stream: tags, distinct: 3, coverage: load.Whole}
	harness.Must(t, read.finish(t.Context(), run, k, nil))
	if run.rows != 3 {
		t.Errorf("a list of 3 ids, of which one was read twice, has %d rows, want 3", run.rows)
	}
	// The stream may have failed already, so the error of its rows is also kept.
	harness.Must(t, stage.Close(t.Context()))
	k.free <- d
	if _, err := k.decodeBody(t.Context(), fetch.Response{Seq: 5, Body: []byte(`["f"]`)}); err != nil {
		t.Fatal(err)
	}
	if err := k.flushDecoders(t.Context(), d); !errors.Is(err, errStage) || !errors.Is(k.stagingErr, errStage) {
		t.Errorf("rows that could not be staged: got %v and kept %v, want the error of the warehouse", err, k.stagingErr)
	}
}
