package load_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// setFindings makes the following nights write the given rejects and drift.
func (h *fixture) setFindings(rejects []stream.Reject, records []stream.DriftRecord, drift []stream.Drift) {
	h.beforeMerge = func(s *load.Stage, _ *warehouse.Draft) {
		for _, r := range rejects {
			harness.Must(h.t, s.AddRejects(h.t.Context(), []stream.Reject{r}))
		}
		harness.Must(h.t, s.AddDriftRecords(h.t.Context(), records))
	}
	h.afterMerge = func(s *load.Stage, d *warehouse.Draft, coverage map[string]load.Coverage, changes []load.Change) {
		err := s.WriteRejects(h.t.Context(), coverage)
		harness.Must(h.t, err)
		harness.Must(h.t, s.WriteSummary(h.t.Context(), load.Summary{Drift: drift, Changes: changes,
			Run: ledger.Run{ID: d.Run, StartedAt: d.At, SnapshotAt: d.At}}))
	}
}

// TestRejectsAreNumberedInOrder stages rejects in reverse order. They must be written in the order of tables,
// pages, positions, records, keys and columns, and equal rejects of several passes must be written once.
func TestRejectsAreNumberedInOrder(t *testing.T) {
	staged := func(pass, page, position int, seq uint64, r stream.Reject) stream.Reject {
		r.Stream, r.Pass, r.Page, r.Position, r.Seq, r.ResponseHash = "orders", pass, page, position, seq, uint64(page)
		return r
	}
	value := func(key, column, raw string) stream.Reject {
		return stream.Reject{Table: "orders", Key: key, Column: column, Raw: raw, Reason: "no number"}
	}
	item := func(key string) stream.Reject {
		return stream.Reject{Table: "order_line_items", Key: key, Parent: "a", Column: "total", Raw: "x"}
	}
	noID := stream.Reject{Table: "orders", Raw: "{}", Reason: "no id"}
	noObject := stream.Reject{Table: "orders", Key: "n", Raw: "[]"}
	// The response of page 1 was also received as page 9.
	noIDOfPage9 := staged(1, 9, 7, 109, noID)
	noIDOfPage9.ResponseHash = 1
	detail := value("d", "total", "x")
	detail.Stream, detail.Position, detail.Seq = "order_details", 1, 300
	// A detail has the same reject as two records of page 3, and the same response as page 1.
	inDetail := value("", "total", "2")
	inDetail.Stream, inDetail.Pass, inDetail.Seq, inDetail.ResponseHash = "order_details", 1, 301, 1
	rejects := []stream.Reject{
		inDetail,
		{Stream: "files", Table: "files", Key: "f", Raw: "x"}, // this list was not read
		noIDOfPage9,
		detail, staged(1, 2, 6, 116, value("d", "total", "x")),
		// The second pass has two of these, and the first pass has one.
		staged(2, 4, 2, 207, noID), staged(2, 4, 1, 206, noID), staged(1, 1, 7, 107, noID),
		// Both passes have one of these.
		staged(2, 5, 1, 209, value("", "total", "1")), staged(1, 3, 3, 119, value("", "total", "1")),
		// Only the first pass has these.
		staged(1, 3, 2, 118, value("", "total", "2")), staged(1, 3, 1, 117, value("", "total", "2")),
		staged(1, 2, 5, 115, noObject), staged(1, 2, 4, 114, noObject),
		staged(1, 2, 3, 113, value("c", "total", "x")), staged(1, 2, 2, 112, value("b", "total", "x")), staged(1, 2, 1, 111, value("b", "total", "x")),
		// The second pass has another value of a.
		staged(2, 1, 1, 201, value("a", "total", "z")), staged(1, 1, 1, 101, value("a", "total", "x")),
		staged(1, 1, 1, 101, value("a", "status", "x")), staged(1, 1, 1, 101, item("a/2")), staged(1, 1, 1, 101, item("a/1")),
	}
	h := newFixture(t, "orders", "order_details", "files")
	h.setFindings(rejects, nil, nil)
	_, err := h.run(map[string]streamInput{"orders": {coverage: load.Whole}, "order_details": {coverage: load.ByID}}, load.Limits{})
	harness.Must(t, err)
	// run_id[7:8] is the day of the run.
	h.requireRows("SELECT run_id[7:8], seq, table_name, key, parent, column_name, raw, reason, page, position FROM meta.rejects ORDER BY seq",
		"01 1 order_line_items a/1 a total x <nil> 1 1",
		"01 2 order_line_items a/2 a total x <nil> 1 1",
		"01 3 orders a <nil> status x no number 1 1",
		"01 4 orders a <nil> total x no number 1 1",
		"01 5 orders a <nil> total z no number 1 1",
		"01 6 orders b <nil> total x no number 2 1",
		"01 7 orders c <nil> total x no number 2 3",
		"01 8 orders n <nil> <nil> [] <nil> 2 4",
		"01 9 orders n <nil> <nil> [] <nil> 2 5",
		"01 10 orders <nil> <nil> total 2 no number 3 1",
		"01 11 orders <nil> <nil> total 2 no number 3 2",
		"01 12 orders <nil> <nil> total 1 no number 3 3",
		"01 13 orders <nil> <nil> <nil> {} no id 4 1",
		"01 14 orders <nil> <nil> <nil> {} no id 4 2",
		"01 15 orders d <nil> total x no number <nil> 1")
}

// TestRejectsAreKeptWithTheirRows reads only some of the rows in a second night. The rejects of the
// unread rows must be kept. Two outlets without rows are also requested: one request fails, the other
// returns 404.
func TestRejectsAreKeptWithTheirRows(t *testing.T) {
	reject := func(table, key, parent, column string) stream.Reject {
		return stream.Reject{Stream: "outlets", Table: table, Key: key, Parent: parent, Column: column, Raw: "x", Reason: "r"}
	}
	outlet := func(id string, hash int) string { return jsonRow(hash, hash, "id", quote(id)) }
	channel := func(id, outlet string, hash int) string {
		return jsonRow(hash, hash, "id", quote(id), "outlet_id", quote(outlet))
	}
	first := []stream.Reject{
		reject("outlets", "read", "", "logo"), reject("outlets", "carried", "", "logo"),
		reject("outlets", "", "missed", ""), reject("outlets", "", "gone", ""),
		reject("outlet_channels", "c1", "read", "logo"), reject("outlet_channels", "c2", "carried", "logo"),
		reject("outlet_channels", "c3", "carried", "logo"), reject("outlet_channels", "c3", "carried", "country"), reject("outlet_channels", "", "carried", ""),
		reject("outlet_channel_social_links", "", "c1", ""), reject("outlet_channel_social_links", "", "c2", ""),
	}
	h := newRaceFixture(t, "outlets", "outlet_listings")
	h.setFindings(first, nil, nil)
	_, err := h.run(map[string]streamInput{"outlets": {coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: {"read", "carried"}}, rows: rows{
		"outlets":         outlet("read", 1) + "," + outlet("carried", 2),
		"outlet_channels": channel("c1", "read", 1) + "," + channel("c2", "carried", 2) + "," + channel("c3", "carried", 3),
	}}}, load.Limits{})
	harness.Must(t, err)
	h.requireRows("SELECT table_name, key FROM meta.rejects ORDER BY ALL",
		"outlet_channel_social_links <nil>", "outlet_channel_social_links <nil>",
		"outlet_channels c1", "outlet_channels c2", "outlet_channels c3", "outlet_channels c3", "outlet_channels <nil>",
		"outlets carried", "outlets read", "outlets <nil>", "outlets <nil>")

	// The logos of c3 and of the carried outlet are rejected again. The reject with the key c2 is of another table. The
	// reject without a key is of another outlet. So neither replaces a reject of the first night.
	h.setFindings([]stream.Reject{reject("outlets", "read", "", "country"), reject("outlet_channels", "c3", "carried", "logo"),
		reject("outlets", "carried", "", "logo"), reject("outlet_channel_social_links", "c2", "carried", "logo"),
		reject("outlet_channels", "", "read", "")}, nil, nil)
	stageFindings := h.beforeMerge
	h.beforeMerge = func(s *load.Stage, d *warehouse.Draft) {
		stageFindings(s, d)
		outlets, _ := stream.Find(h.streams, "outlets")
		_, err := s.PlanIDs(t.Context(), outlets, []string{"read", "missed", "gone"})
		harness.Must(t, err)
	}
	outcomes := map[load.Outcome][]string{load.Answered: {"read"}, load.Missed: {"missed"}, load.NotFound: {"gone"}}
	_, err = h.run(map[string]streamInput{"outlets": {coverage: load.ByID, outcomes: outcomes, rows: rows{
		"outlets": outlet("read", 1), "outlet_channels": channel("c1", "read", 1)}}}, load.Limits{})
	harness.Must(t, err)
	h.requireRows("SELECT run_id[7:8], table_name, key, parent, column_name FROM meta.rejects ORDER BY ALL",
		"01 outlet_channel_social_links <nil> c2 <nil>", "01 outlet_channels c2 carried logo", "01 outlet_channels c3 carried country",
		"01 outlet_channels <nil> carried <nil>", "01 outlets <nil> missed <nil>",
		"02 outlet_channel_social_links c2 carried logo", "02 outlet_channels c3 carried logo", "02 outlet_channels <nil> read <nil>",
		"02 outlets carried <nil> logo", "02 outlets read <nil> country")

	h.setFindings(nil, nil, nil)
	_, err = h.run(map[string]streamInput{"outlets": {coverage: load.Carried}}, load.Limits{})
	harness.Must(t, err)
	h.requireRows("SELECT count(*) FROM meta.rejects", "10")
}

// TestRejectsOfUnreadRowsAreKept rejects a reply in the comments of an article, and an event. The second night reads the
// comments of another article, so the reply is still missing. An event is read only once, so it is not rejected again.
func TestRejectsOfUnreadRowsAreKept(t *testing.T) {
	h := newFixture(t, "articles", "article_comments", "article_status_events")
	h.planDetails = true
	h.setFindings([]stream.Reject{
		{Stream: "article_comments", Table: "article_comments", Parent: "a/c", Raw: "7", Reason: "expected an object"},
		{Stream: "article_status_events", Table: "article_status_events", Key: "event", Raw: "{", Reason: "the body is not JSON"},
	}, nil, nil)
	for _, article := range []string{"a", "b"} {
		_, err := h.run(map[string]streamInput{"article_comments": {coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: {article}},
			rows: rows{"article_comments": jsonRow(1, 1, "article_id", quote(article), "id", `"c"`)}}, "article_status_events": {coverage: load.Unproven}}, load.Limits{})
		harness.Must(t, err)
		h.requireRows("SELECT run_id[7:8], key, parent, reason FROM meta.rejects ORDER BY key", "01 event <nil> the body is not JSON", "01 <nil> a/c expected an object")
		h.setFindings(nil, nil, nil)
	}
}

// TestDriftIsCountedByRecord stages records of drift in two nights. A record that occurs several times in one night,
// for example in two passes, counts once.
func TestDriftIsCountedByRecord(t *testing.T) {
	seen := func(driftIndex int, records ...uint64) (all []stream.DriftRecord) {
		for _, record := range records {
			all = append(all, stream.DriftRecord{DriftIndex: driftIndex, Record: record})
		}
		return all
	}
	drifts := []stream.Drift{
		{Table: "orders", Path: "colour", Kind: "unknown_field", Sample: `"red"`, Key: "a"},
		{Table: "orders", Path: "status=lost", Kind: "unknown_enum", Sample: `"lost"`},
		{Table: "orders", Path: "unseen", Kind: "unknown_field"},
		// Each of these differs from the first element in one column.
		{Table: "orders", Path: "colour", Kind: "conflict"},
		{Table: "orders", Path: "size", Kind: "unknown_field"},
		{Table: "products", Path: "colour", Kind: "unknown_field"},
		{Table: "orders", Path: "size", Kind: "conflict"}, // only on the second night
	}
	h := newFixture(t, "orders")
	const driftQuery = "SELECT table_name, path, kind, first_run[7:8], last_run[7:8], count, sample, key FROM meta.drift ORDER BY ALL"
	h.setFindings(nil, slices.Concat(seen(0, 1, 1), seen(1, 1), seen(0, 2), seen(1, 2), seen(3, 1), seen(4, 1), seen(5, 3)), drifts)
	_, err := h.run(map[string]streamInput{"orders": {coverage: load.Whole}}, load.Limits{})
	harness.Must(t, err)
	h.requireRows(driftQuery,
		"orders colour conflict 01 01 1  <nil>",
		`orders colour unknown_field 01 01 2 "red" a`,
		"orders size unknown_field 01 01 1  <nil>",
		`orders status=lost unknown_enum 01 01 2 "lost" <nil>`,
		"products colour unknown_field 01 01 1  <nil>")

	drifts[0].Sample, drifts[0].Key = `"blue"`, "z"
	h.setFindings(nil, slices.Concat(seen(0, 1), seen(2, 5, 5, 6), seen(6, 6)), drifts)
	_, err = h.run(map[string]streamInput{"orders": {coverage: load.Whole}}, load.Limits{})
	harness.Must(t, err)
	h.requireRows(driftQuery,
		"orders colour conflict 01 01 1  <nil>",
		`orders colour unknown_field 01 02 3 "red" a`, // the first sample and key are kept
		"orders size conflict 02 02 1  <nil>",
		"orders size unknown_field 01 01 1  <nil>",
		`orders status=lost unknown_enum 01 01 2 "lost" <nil>`,
		"orders unseen unknown_field 02 02 2  <nil>",
		"products colour unknown_field 01 01 1  <nil>")
}

// TestEachRunIsInMetaOnce writes a run and the runs of the ledger, and writes them again after a resume.
func TestEachRunIsInMetaOnce(t *testing.T) {
	run := func(id string, day int, r ledger.Run) ledger.Run {
		r.ID, r.StartedAt = id, time.Date(2026, 10, day, 2, 0, 0, 0, time.UTC)
		return r
	}
	h := newFixture(t, "orders")
	writeSummary := func(summary load.Summary) {
		t.Helper()
		h.afterMerge = func(s *load.Stage, d *warehouse.Draft, _ map[string]load.Coverage, _ []load.Change) {
			harness.Must(t, s.WriteSummary(t.Context(), summary))
			draftRun := d.Run
			d.Run = summary.Run.ID
			harness.Must(t, load.WriteChecks(t.Context(), d, []ledger.CheckResult{{Name: "check of a " + string(summary.Run.Outcome) + " run",
				Severity: "warn", Outcome: ledger.CheckFailed, Reason: "why", Rows: 71, Sample: json.RawMessage(`[{"a":1}]`), Seconds: 72}}))
			d.Run = draftRun
		}
		_, err := h.run(nil, load.Limits{})
		harness.Must(t, err)
	}
	failed := run("failed", 1, ledger.Run{Outcome: "failed", ExitCode: -1, SnapshotAt: night, Error: "no token",
		Streams: []ledger.Stream{{Stream: "files", Grade: "skipped", Requests: 2, TotalFirst: -1, TotalLast: -1}}})
	writeSummary(load.Summary{Run: run("one", 2, ledger.Run{Outcome: "partial", SnapshotAt: night, Rows: 5, Streams: []ledger.Stream{
		{Stream: "orders", Grade: "bounded", Reason: "why", TotalFirst: -1, TotalLast: 7, Requests: 3, RateUsed: 0.5}, {Stream: "files", Grade: "skipped"}}}),
		Ledger: []ledger.Run{failed}, Changes: []load.Change{{Table: "orders", Before: 1, After: 5, New: 4}}})
	// Each value of the last attempt is different, so that no column can have the value of another.
	writeSummary(load.Summary{Run: run("one", 2, ledger.Run{Kind: ledger.Refresh, Outcome: "complete", SnapshotAt: night, EndedAt: night.Add(time.Hour),
		Requests: 11, Bytes: 12, Retries: 13, ThrottledSeconds: 14, Rows: 15, New: 16, Changed: 17, Gone: 18, Program: "p",
		Streams: []ledger.Stream{{Stream: "orders", Grade: "exact", Pages: 21, Requests: 22, Passes: 23, TotalFirst: 24, TotalLast: 25, Distinct: 26, Repeated: 27,
			Rows: 28, RowsOld: 29, Fetched: 30, Carried: 31, Rechecked: 32, Failed: 33, Unread: 34, AgeSince: night, Bytes: 35, Retries: 36, RateLimited: 37,
			LatencyP50: 38, LatencyP95: 39, LatencyMax: 40, RateWaitSeconds: 41, RetryAfterSeconds: 42, RateUsed: 0.5, Reused: 43}}}),
		Ledger:  []ledger.Run{failed, run("one", 2, ledger.Run{Outcome: "other"}), run("two", 3, ledger.Run{Outcome: "killed", ExitCode: -1})},
		Changes: []load.Change{{Table: "orders", Before: 60, After: 61, New: 62, Changed: 63, Gone: 64}}})
	for table, want := range map[string]string{
		"runs": `{"run_id":"one","kind":"refresh","started_at":"2026-10-02 02:00:00+00","ended_at":"2026-11-01 03:00:00+00","snapshot_at":"2026-11-01 02:00:00+00",` +
			`"outcome":"complete","exit_code":0,"requests":11,"bytes":12,"retries":13,"throttled_seconds":14.000000,"rows":15,"rows_new":16,"rows_changed":17,"rows_gone":18,` +
			`"program_version":"p","error":null}`,
		"streams": `{"run_id":"one","stream":"orders","grade":"exact","reason":null,"pages":21,"requests":22,"passes":23,"total_first":24,"total_last":25,` +
			`"distinct_ids":26,"repeated_ids":27,"rows":28,"rows_old":29,"fetched":30,"carried":31,"rechecked":32,"failed":33,"unread":34,"age_since":"2026-11-01 02:00:00+00"}`,
		"requests": `{"run_id":"one","stream":"orders","requests":22,"bytes":35,"retries":36,"rate_limited":37,"latency_p50_ms":38.000000,"latency_p95_ms":39.000000,` +
			`"latency_max_ms":40.000000,"rate_wait_seconds":41.000000,"retry_after_seconds":42.000000,"rate_used":0.500000,"landed":43}`,
		"tables": `{"run_id":"20261102T020000Z","table_name":"orders","rows":61,"rows_new":62,"rows_changed":63,"rows_gone":64}`,
		"checks": `{"run_id":"one","check_name":"check of a complete run","severity":"warn","outcome":"failed","reason":"why","rows":71,"sample":[{"a":1}],` +
			`"seconds":72.000000,"accepted_at":null}`,
	} {
		h.requireRows("SELECT to_json(r)::VARCHAR FROM meta."+table+" r WHERE run_id IN ('one', '20261102T020000Z')", want)
	}
	const runs = "SELECT run_id, kind, outcome, exit_code, snapshot_at IS NULL, ended_at IS NULL, error FROM meta.runs"
	h.requireRows(runs+" ORDER BY 1", "failed night failed <nil> true true no token",
		"one "+string(ledger.Refresh)+" complete 0 false false <nil>", "two night killed <nil> true true <nil>")
	const streams = "SELECT run_id, stream, grade, reason, total_first, total_last, age_since IS NULL FROM meta.streams"
	h.requireRows(streams+" ORDER BY 1",
		"failed files skipped <nil> <nil> <nil> true", "one orders exact <nil> 24 25 false")
	h.requireRows("SELECT run_id, stream, requests, rate_used FROM meta.requests ORDER BY 1", "failed files 2 0", "one orders 22 0.5")
	h.requireRows("SELECT run_id[7:8], table_name, rows, rows_new FROM meta.tables ORDER BY 1", "01 orders 5 4", "02 orders 61 62")
	h.requireRows("SELECT run_id, check_name FROM meta.checks", "one check of a complete run")
}

// TestRowAgesAreCounted counts all rows of lists and details, and the old rows, which the night did not
// read. The oldest detail was read before the first night. A detail of another stream must not count.
func TestRowAgesAreCounted(t *testing.T) {
	h := newFixture(t, "orders", "order_details", "countries", "cities", "article_status_events")
	h.planDetails = true
	location := func(kind, name string, hash int) string {
		return jsonRow(hash, 1, "kind", quote(kind), "name", quote(name))
	}
	order := func(id string, hash int) string { return jsonRow(hash, hash, "id", quote(id)) }
	_, err := h.run(map[string]streamInput{
		"orders": {coverage: load.Whole, rows: rows{"orders": order("a", 1) + "," + order("b", 2) + "," + order("c", 3)}},
		"order_details": {coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: {"a", "b", "c"}},
			rows: rows{"orders": order("a", 11) + "," + order("b", 12) + "," + order("c", 13)}},
		"countries": {coverage: load.Whole, rows: rows{"locations": location("country", "x", 1) + "," + location("country", "y", 2) + "," + location("country", "z", 4)}},
		"cities":    {coverage: load.Whole, rows: rows{"locations": location("city", "x", 3)}},
		// An event is read once, so it is never old.
		"article_status_events": {coverage: load.Unproven, rows: rows{"article_status_events": jsonRow(1, 1, "event_id", `"e"`)}},
	}, load.Limits{})
	harness.Must(t, err)
	h.afterMerge = func(s *load.Stage, d *warehouse.Draft, coverage map[string]load.Coverage, _ []load.Change) {
		harness.Must(t, d.Exec(t.Context(), "UPDATE meta.details SET read_at = '2026-10-31 02:00:00+00' WHERE id = 'c'",
			"INSERT INTO meta.details (stream, id, run_id, read_at) VALUES ('products', 'b', 'earlier', '2026-10-01 02:00:00+00')"))
		ages, err := s.CountRowAges(t.Context(), coverage)
		harness.Must(t, err)
		for name, want := range map[string]string{
			"orders":        "3 rows, 0 old, none",
			"order_details": "3 rows, 2 old, 2026-10-31",
			"countries":     "3 rows, 2 old, none",
			"cities":        "1 rows, 1 old, none",

			"article_status_events": "1 rows, 0 old, none",
		} {
			since := "none"
			if !ages[name].Since.IsZero() {
				since = ages[name].Since.Format(time.DateOnly)
			}
			if got := fmt.Sprintf("%d rows, %d old, %s", ages[name].Rows, ages[name].Old, since); got != want {
				t.Errorf("%s: the row ages are %q, want %q", name, got, want)
			}
		}
	}
	_, err = h.run(map[string]streamInput{
		"orders": {coverage: load.Whole, rows: rows{"orders": order("a", 1) + "," + order("b", 9) + "," + order("c", 9)}},
		"order_details": {coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: {"b"}, load.Missed: {"c"}},
			rows: rows{"orders": order("b", 12)}},
		"countries": {coverage: load.Unproven, rows: rows{"locations": location("country", "x", 1)}},
		"cities":    {coverage: load.Carried},

		"article_status_events": {coverage: load.Unproven},
	}, load.Limits{})
	harness.Must(t, err)
}

// TestChecksAreWrittenAndAccepted writes the results of a held run. In a later run, it records that an
// operator accepted the failed check. The checks of other runs must not change.
func TestChecksAreWrittenAndAccepted(t *testing.T) {
	h := newFixture(t, "orders")
	h.afterMerge = func(s *load.Stage, d *warehouse.Draft, _ map[string]load.Coverage, _ []load.Change) {
		harness.Must(t, s.WriteSummary(t.Context(), load.Summary{Run: ledger.Run{ID: d.Run, SnapshotAt: d.At}}))
		harness.Must(t, load.WriteChecks(t.Context(), d, []ledger.CheckResult{
			{Name: "hosts", Severity: "warn", Outcome: ledger.CheckSkipped, Reason: "why", Seconds: 0.5},
			{Name: "prices", Severity: "hold", Outcome: ledger.CheckFailed, Rows: 7, Sample: []byte(`[{"id":"a"}]`)}}))
		harness.Must(t, d.Exec(t.Context(), "INSERT INTO meta.runs (run_id) VALUES ('accepted before')", `INSERT INTO meta.checks (run_id, check_name, accepted_at) VALUES
			('accepted before', 'prices', TIMESTAMPTZ '2026-10-01 02:00:00+00'), ('not accepted', 'prices', NULL)`))
	}
	_, err := h.run(nil, load.Limits{})
	harness.Must(t, err)
	held, _, err := h.w.Versions.Latest()
	harness.Must(t, err)
	acceptedRuns := []ledger.Run{{ID: held, Accepted: []string{"prices"}, AcceptedAt: night}, {ID: "accepted before", Accepted: []string{"prices"}, AcceptedAt: night}}
	h.afterMerge = func(s *load.Stage, d *warehouse.Draft, _ map[string]load.Coverage, _ []load.Change) {
		harness.Must(t, s.WriteSummary(t.Context(), load.Summary{Run: ledger.Run{ID: d.Run, SnapshotAt: d.At}, Ledger: acceptedRuns}))
		harness.Must(t, load.WriteChecks(t.Context(), d, []ledger.CheckResult{{Name: "prices", Severity: "hold", Outcome: ledger.CheckFailed}}))
	}
	_, err = h.run(nil, load.Limits{})
	harness.Must(t, err)
	h.requireRows("SELECT run_id, check_name, severity, outcome, reason, rows, sample::VARCHAR, seconds, strftime(accepted_at, '%m-%d') FROM meta.checks ORDER BY run_id, check_name",
		"20261101T020000Z hosts warn skipped why 0 <nil> 0.5 <nil>", `20261101T020000Z prices hold failed <nil> 7 [{"id":"a"}] 0 11-01`,
		"20261102T020000Z prices hold failed <nil> 0 <nil> 0 <nil>",
		"accepted before prices <nil> <nil> <nil> <nil> <nil> <nil> 10-01", "not accepted prices <nil> <nil> <nil> <nil> <nil> <nil> <nil>")
}
