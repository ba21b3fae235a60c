package load_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"placementsync/internal/checksum"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/repair"
	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// statement is a named statement of an .sql file, split at its parameters.
type statement struct {
	name   string
	pieces []string
}

// parseStatements parses the .sql files, without the parser of the program.
func parseStatements(t *testing.T) []statement {
	t.Helper()
	files, err := filepath.Glob("sql/*.sql")
	harness.Must(t, err)
	parameter := regexp.MustCompile(`\{\w+\}`)
	var all []statement
	for _, file := range files {
		text, err := os.ReadFile(file)
		harness.Must(t, err)
		for _, section := range strings.Split(string(text), "-- name: ")[1:] {
			name, body, _ := strings.Cut(section, "\n")
			body = regexp.MustCompile(`(?m)^--.*\n`).ReplaceAllString(body, "")
			for _, part := range strings.Split(strings.TrimSpace(body), ";\n") {
				all = append(all, statement{file + " " + name, parameter.Split(strings.TrimSuffix(part, ";"), -1)})
			}
		}
	}
	return all
}

// isIn reports whether a text contains the pieces of the statement in order.
func (s statement) isIn(text string) bool {
	for _, piece := range s.pieces {
		_, rest, found := strings.Cut(text, piece)
		if !found {
			return false
		}
		text = rest
	}
	return true
}

// TestEveryStatementOfTheFilesRuns runs nights with all kinds of input, and a rebuild. DuckDB must
// execute each statement of the .sql files, alone or as a part of another statement.
func TestEveryStatementOfTheFilesRuns(t *testing.T) {
	h := newFixture(t, "product_listings", "products", "outlet_listings", "outlets", "outlet_products", "orders", "order_details",
		"order_items", "campaigns", "campaign_details", "campaign_articles", "campaign_status_counts", "articles", "profiles",
		"profile_orders", "countries", "files", "folders", "cities", "article_status_events", "article_comment_events")
	h.ignored = []string{"orders.metadata"}
	h.logStatements, h.planDetails, h.reread = true, true, load.Rereading{LiveDays: 45, RecheckNights: 2}
	h.beforeMerge = func(s *load.Stage, d *warehouse.Draft) { runAllQueries(t, h, s, d) }
	h.afterMerge = func(s *load.Stage, d *warehouse.Draft, coverage map[string]load.Coverage, changes []load.Change) {
		writeAllMeta(t, h, s, d, coverage, changes)
	}
	limits := load.Limits{Rows: 5_000}
	_, err := h.run(firstNightInput(), limits)
	harness.Must(t, err)
	h.changeSchemaVersion()
	h.beforeRead = func(s *load.Stage, _ *warehouse.Draft) {
		_, err := s.UnifyIDs(t.Context())
		harness.Must(t, err)
	}
	h.copies = []listingCopy{{"p0001", 9, true}, {"p0002", 9, true}, {"p0002", 8, false}}
	_, err = h.run(secondNightInput(), limits)
	harness.Must(t, err)
	h.afterMerge = nil
	runRebuild(t, h)
	log := strings.Join(h.statements, "\n")
	for _, s := range parseStatements(t) {
		if !slices.ContainsFunc(h.statements, s.isIn) {
			t.Errorf("%s did not run", s.name)
		}
	}
	isMistaken := strings.Contains(log, "render ") // see sqltext.File.Render
	if isMistaken || strings.Contains(log, "{columns}") {
		t.Error("DuckDB executed a statement with an unfilled parameter")
	}
}

// changeSchemaVersion changes the schema version in the manifest of the newest snapshot, so that the
// next night writes all Parquet files again.
func (h *fixture) changeSchemaVersion() {
	h.t.Helper()
	run, _, err := h.w.Versions.Latest()
	harness.Must(h.t, err)
	m, err := h.w.Versions.ReadManifest(run)
	harness.Must(h.t, err)
	m.Schema = "another"
	data, err := checksum.Seal(m)
	harness.Must(h.t, err)
	harness.Must(h.t, os.WriteFile(filepath.Join(h.w.Folder.VersionPath(run), warehouse.ManifestFile), data, 0o600))
}

// firstNightInput is the input of a first night that fills tables directly and by staging. Some records
// are read twice.
func firstNightInput() map[string]streamInput {
	var listings, prices []string
	for i := range 1_100 {
		id := fmt.Sprintf("p%04d", i)
		listings = append(listings, fmt.Sprintf(`{"id":%q,"outlet_id":"o1","row_hash":%d,"seq":1}`, id, i))
		prices = append(prices, price(id, 1, "1", i, 1))
	}
	inputs := wholeList(strings.Join(listings, ","), strings.Join(prices, ","))
	inputs["orders"] = streamInput{coverage: load.Whole, rows: rows{
		"orders":                   `{"id":"a","extra":"{\"x\":1}","row_hash":1,"seq":1},{"id":"b","row_hash":2,"seq":2},{"id":"a","extra":"{\"x\":2}","row_hash":3,"seq":3}`,
		"order_line_items":         `{"order_id":"a","position":1,"row_hash":1,"seq":1}`,
		"order_line_item_includes": `{"order_id":"a","line_position":1,"position":1,"row_hash":1,"seq":1}`}}
	inputs["order_details"] = streamInput{coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: {"a", "c"}, load.NotFound: {"b"}},
		rows: rows{"orders": `{"id":"a","extra":"{\"y\":1}","row_hash":4,"seq":4},{"id":"c","metadata":"{\"m\":1,\"n\":2}","row_hash":6,"seq":6}`,
			"order_line_items": `{"order_id":"a","position":1,"row_hash":4,"seq":4},{"order_id":"c","position":1,"product_id":"p1","row_hash":1,"seq":6},` +
				`{"order_id":"c","position":2,"product_id":"p2","row_hash":2,"seq":6}`}}
	inputs["outlets"] = streamInput{coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: {"o1"}, load.Missed: {"o2"}}, rows: rows{
		"outlets": `{"id":"o1","row_hash":1,"seq":5}`, "outlet_channels": `{"id":"c","outlet_id":"o1","row_hash":1,"seq":5}`,
		"outlet_channel_social_links": `{"outlet_channel_id":"c","position":1,"url":"u","row_hash":1,"seq":5}`}}
	inputs["campaigns"] = streamInput{coverage: load.Whole, rows: rows{"campaigns": `{"id":"c1","profile_id":"f1","created_at":"2026-10-30T00:00:00Z","row_hash":1,"seq":6}`}}
	inputs["countries"] = streamInput{coverage: load.Whole, rows: rows{"locations": `{"kind":"country","name":"x","row_hash":1,"seq":7},{"kind":"country","name":"y","row_hash":2,"seq":7}`}}
	inputs["cities"] = streamInput{coverage: load.Whole, rows: rows{"locations": `{"kind":"city","name":"x","row_hash":1,"seq":8}`}}
	inputs["order_items"] = streamInput{coverage: load.Whole, rows: rows{"order_items": `{"id":"i","order_id":"a","row_hash":1,"seq":9}`}}
	inputs["files"] = streamInput{coverage: load.Whole, rows: rows{"files": jsonRow(1, 10, "id", quote(firstID+"1"))}}
	inputs["folders"] = streamInput{coverage: load.Whole, rows: rows{"folders": jsonRow(1, 10, "id", quote(strings.ToUpper(firstID)+"2"))}}
	return inputs
}

// secondNightInput is the input of a night that changes and deletes rows. It has an unproven list, carried
// streams and an event.
func secondNightInput() map[string]streamInput {
	inputs := wholeList(`{"id":"p0002","name":"new","outlet_id":"o1","row_hash":9,"seq":1}`, "")
	inputs["orders"] = streamInput{coverage: load.Unproven, rows: rows{"orders": `{"id":"b","row_hash":5,"seq":1}`}}
	inputs["order_details"] = streamInput{coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: {"c"}, load.NotFound: {"a"}}, rows: rows{
		"orders": `{"id":"c","metadata":"{\"n\":2,\"m\":1}","row_hash":6,"seq":6}`, "order_line_items": `{"order_id":"c","position":1,"product_id":"p2","row_hash":2,"seq":6},` +
			`{"order_id":"c","position":2,"product_id":"p1","row_hash":1,"seq":6}`}}
	inputs["outlets"] = streamInput{coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: {"o1"}}, rows: rows{"outlets": `{"id":"o1","row_hash":2,"seq":5}`}}
	inputs["countries"] = streamInput{coverage: load.Whole, rows: rows{"locations": `{"kind":"country","name":"x","row_hash":1,"seq":7}`}}
	inputs["article_status_events"] = streamInput{coverage: load.Unproven, rows: rows{
		"article_status_events": `{"event_id":"e1","article_id":"a1","received_at":"2026-11-01T03:00:00Z","row_hash":1,"seq":1}`}}
	inputs["order_items"] = streamInput{coverage: load.Carried}
	inputs["products"] = streamInput{coverage: load.Carried}
	return inputs
}

// runAllQueries runs all queries of a night between staging and merge.
func runAllQueries(t *testing.T, h *fixture, s *load.Stage, d *warehouse.Draft) {
	t.Helper()
	ctx := t.Context()
	wasRead := func(string) bool { return true }
	find := func(name string) stream.Stream {
		st, ok := stream.Find(h.streams, name)
		if !ok {
			t.Fatalf("no stream %s", name)
		}
		return st
	}
	_, err := s.PlanIDs(ctx, find("articles"), []string{"a1"})
	harness.Must(t, err)
	for _, name := range []string{"order_details", "articles", "profile_orders", "campaign_status_counts"} {
		_, err = s.PlanDetails(ctx, find(name), h.reread, wasRead)
		harness.Must(t, err)
	}
	_, err = s.IDsToRequest(ctx, find("articles"))
	harness.Must(t, err)
	_, err = s.KeepListed(ctx, find("articles"), wasRead)
	harness.Must(t, err)
	_, err = s.KnownIDs(ctx, find("campaign_status_counts"))
	harness.Must(t, err)
	_, err = s.PublishedRuns(ctx)
	harness.Must(t, err)
	event := stream.Event{ID: d.Run, Topic: "t", Received: d.At, Body: []byte("{}"), Seq: 1}
	harness.Must(t, s.AddEvents(ctx, []load.EventRow{{Event: event, Outcome: load.EventUnknown}}))
	known, err := s.KnownEvents(ctx, []string{d.Run, "another"})
	harness.Must(t, err)
	if !maps.Equal(known, map[string]bool{d.Run: true}) {
		t.Errorf("known events are %v, want only %s", known, d.Run)
	}
	harness.Must(t, s.AddRejects(ctx, []stream.Reject{{Stream: "products", Table: "products", Key: "p0001", Raw: "x", Seq: 1},
		{Stream: "orders", Table: "order_line_items", Key: "a/1", Column: "c", Raw: "x", Seq: 2}}))
	harness.Must(t, s.AddDriftRecords(ctx, []stream.DriftRecord{{Record: 7}}))
}

// writeAllMeta writes all tables of meta.
func writeAllMeta(t *testing.T, h *fixture, s *load.Stage, d *warehouse.Draft, coverage map[string]load.Coverage, changes []load.Change) {
	t.Helper()
	ctx := t.Context()
	if coverage["products"] == load.Carried {
		coverage["products"] = load.ByID // the rejects of a stream that was read are replaced
	}
	err := s.WriteRejects(ctx, coverage)
	harness.Must(t, err)
	harness.Must(t, s.WriteEvents(ctx))
	harness.Must(t, s.WriteSummary(ctx, load.Summary{Run: ledger.Run{ID: d.Run, StartedAt: d.At, SnapshotAt: d.At, Streams: []ledger.Stream{{Stream: "orders"}}},
		Ledger:  []ledger.Run{{ID: "held", Accepted: []string{"prices"}}},
		Changes: changes, Drift: []stream.Drift{{Table: "orders", Path: "x", Kind: "unknown_field"}}}))
	coverage["products"] = load.Carried
	_, err = s.CountRowAges(ctx, coverage)
	harness.Must(t, err)
	harness.Must(t, load.WriteMeta(ctx, d, h.w.Schema.MetaDefinitions, h.w.Schema.Tables))
}

// runRebuild runs the statements of a rebuild and of a repair.
func runRebuild(t *testing.T, h *fixture) {
	t.Helper()
	ctx := t.Context()
	run, _, err := h.w.Versions.Latest()
	harness.Must(t, err)
	series, err := repair.ReadSeries(ctx, h.w)
	harness.Must(t, err)
	if len(series.Changes) == 0 || len(series.DamagedChanges) > 0 {
		t.Fatalf("the files of meta for %s are %v, damaged %v, want some and none damaged", run, series.Changes, series.DamagedChanges)
	}
	d, err := h.w.BeginFrom(ctx, "again", night.AddDate(0, 1, 0), "")
	harness.Must(t, err)
	defer func() { harness.Must(t, d.Discard()) }()
	harness.Must(t, d.Exec(ctx, "CALL enable_logging('QueryLog')"))
	harness.Must(t, load.RestoreMeta(ctx, d, h.w.Schema.MetaDefinitions, series.Changes))
	harness.Must(t, load.CopyMeta(ctx, d, h.w.Folder.VersionCatalog(run)))
	at, _ := time.Parse("20060102T150405Z", run)
	old := filepath.Join(t.TempDir(), "old.parquet")
	harness.Must(t, d.Exec(ctx, sqltext.SQL("COPY (SELECT id, valid_from, row_hash FROM read_parquet("+sqltext.Literal(h.file("product_listings"))+")) TO "+sqltext.Literal(old))))
	snapshot := warehouse.Snapshot{Manifest: warehouse.Manifest{RunID: run, SnapshotAt: at}, Files: map[string]string{"product_listings": old}}
	harness.Must(t, load.ApplySnapshot(ctx, d, h.w.Schema.Tables, snapshot))
	harness.Must(t, load.CorrectClosingRuns(ctx, d, h.w.Schema.Tables))
	harness.Must(t, load.CarryStreams(ctx, d, run, []string{"product_listings"}, at, "its file is lost"))
	harness.Must(t, load.ForgetDetails(ctx, d, []string{"product_listings"}, at))
	harness.Must(t, load.MergePast(ctx, d, h.w.Schema.Tables, series.Changes, d.At))
	harness.Must(t, load.CopyPast(ctx, d, h.w.Folder.VersionCatalog(run), d.At))
	harness.Must(t, load.DropClosed(ctx, d, map[string]time.Time{"product_listings": d.At}))
	_, err = load.LastSnapshotsOfDays(ctx, d, d.At)
	harness.Must(t, err)
	_, err = load.RowCounts(ctx, d, run)
	harness.Must(t, err)
	_, err = load.Grades(ctx, d, run)
	harness.Must(t, err)
	_, err = load.WriteParquet(ctx, d, h.w.Schema.Tables, nil)
	harness.Must(t, err)
	countries, _ := stream.Find(h.streams, "countries")
	var rows int64
	harness.Must(t, d.DB.QueryRowContext(ctx, "SELECT count(*) FROM main.locations").Scan(&rows))
	harness.Must(t, load.WriteDay(ctx, d, countries.Root(), warehouse.SeriesFile{DayManifest: warehouse.Manifest{RunID: "again", SnapshotAt: d.At}, Table: warehouse.ManifestTable{Rows: rows}}))
	h.readLog(d)
}
