package load_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"placementsync/internal/load"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

var night = time.Date(2026, 11, 1, 2, 0, 0, 0, time.UTC)

// fixture is a new warehouse with the streams under test.
type fixture struct {
	t       *testing.T
	dir     string
	w       *warehouse.Warehouse
	streams []stream.Stream
	nights  int // the number of nights so far
	// planDetails makes nights plan their details, as real nights do.
	planDetails bool
	reread      load.Rereading
	// plan is the plan of the last planned stream, after its unread ids were marked.
	plan load.Plan
	// pendingIDs are the planned ids of this stream that are still to be requested.
	pendingIDs []string
	// steps are the names of the steps that the warehouse reported.
	steps []string
	// copies are the copies of stored listings in the responses of a night.
	copies []listingCopy
	// beforeRead is called before rows are staged. beforeMerge and afterMerge are called before and after the merge.
	beforeRead  func(*load.Stage, *warehouse.Draft)
	beforeMerge func(*load.Stage, *warehouse.Draft)
	afterMerge  func(*load.Stage, *warehouse.Draft, map[string]load.Coverage, []load.Change)
	ignored     []string         // columns and members
	reader      *warehouse.Draft // a copy of the newest version, or nil
	allocator   memory.Allocator // of batches
}

// newFixture returns a new warehouse with the tables of streams. The race detector makes these tests slow, so they run
// only without it. Tests of goroutines use newRaceFixture.
func newFixture(t *testing.T, names ...string) *fixture {
	t.Helper()
	harness.Slow(t)
	return createFixture(t, names...)
}

// newRaceFixture is like newFixture, but the tests also run with the race detector.
func newRaceFixture(t *testing.T, names ...string) *fixture {
	t.Helper()
	return createFixture(t, names...)
}

func createFixture(t *testing.T, names ...string) *fixture {
	t.Helper()
	streams := slices.DeleteFunc(stream.AllWithEvents(), func(s stream.Stream) bool { return !slices.Contains(names, s.Name) })
	h := &fixture{t: t, dir: t.TempDir(), streams: streams, allocator: memory.DefaultAllocator}
	h.open()
	return h
}

// copy returns a fixture with a copy of the warehouse.
func (h *fixture) copy(t *testing.T) *fixture {
	t.Helper()
	c := &fixture{t: t, dir: t.TempDir(), streams: h.streams, nights: h.nights, allocator: h.allocator}
	harness.Must(t, os.CopyFS(c.dir, os.DirFS(h.dir)))
	c.open()
	return c
}

func (h *fixture) open() {
	h.t.Helper()
	h.t.Cleanup(h.closeReader)
	var mu sync.Mutex // guards steps
	step := func(name, _ string) error {
		mu.Lock()
		defer mu.Unlock()
		h.steps = append(h.steps, name)
		return nil
	}
	h.w = warehouse.New(warehouse.Config{Dir: h.dir, KeepVersions: 2, MemoryLimit: "270MB", Threads: 2,
		Program: "test", Tables: stream.Tables(h.streams), Step: step})
}

// rows contains the rows of one stream by table, as JSON objects with the columns that are not
// NULL.
type rows map[string]string

// streamInput is the input of a night from one stream.
type streamInput struct {
	rows     rows
	coverage load.Coverage
	// outcomes contains the requested ids of details by outcome.
	outcomes map[load.Outcome][]string
}

// begin begins a night and stages its rows.
func (h *fixture) begin(inputs map[string]streamInput) (*warehouse.Draft, *load.Stage, map[string]load.Coverage) {
	h.t.Helper()
	h.closeReader()
	ctx := h.t.Context()
	at := night.AddDate(0, 0, h.nights)
	h.nights++
	d, err := h.w.Begin(ctx, at.Format("20060102T150405Z"), at)
	harness.Must(h.t, err)
	s, err := load.Open(ctx, d, h.streams, h.ignored)
	harness.Must(h.t, err)
	if h.beforeRead != nil {
		h.beforeRead(s, d)
	}
	h.addCopies(s)
	coverage := map[string]load.Coverage{}
	for name, input := range inputs {
		coverage[name] = input.coverage
		h.stage(ctx, s, name, input)
	}
	for _, st := range h.streams {
		harness.Must(h.t, s.FinishStream(ctx, st, coverage[st.Name]))
		if h.planDetails && st.IsDetail() {
			_, err := s.PlanDetails(ctx, st, h.reread, func(string) bool { return true })
			harness.Must(h.t, err)
			h.pendingIDs, err = s.IDsToRequest(ctx, st)
			harness.Must(h.t, err)
			h.plan, err = s.MarkUnread(ctx, st)
			harness.Must(h.t, err)
		}
	}
	return d, s, coverage
}

// check stages a night, calls inspect, and discards the night.
func (h *fixture) check(inputs map[string]streamInput, inspect func(*load.Stage, *warehouse.Draft)) {
	h.t.Helper()
	d, s, _ := h.begin(inputs)
	defer func() { harness.Must(h.t, d.Discard()) }()
	inspect(s, d)
	harness.Must(h.t, s.Close(h.t.Context()))
	h.nights--
}

// run stages, merges and publishes a night, and returns the changes.
func (h *fixture) run(inputs map[string]streamInput, limits load.Limits) (map[string]load.Change, error) {
	h.t.Helper()
	ctx := h.t.Context()
	d, s, coverage := h.begin(inputs)
	defer func() { harness.Must(h.t, d.Discard()) }()
	if h.beforeMerge != nil {
		h.beforeMerge(s, d)
	}
	changes, err := s.Merge(ctx, coverage, limits)
	if err != nil {
		harness.Must(h.t, s.Close(ctx))
		return nil, err
	}
	if h.afterMerge != nil {
		h.afterMerge(s, d, coverage, changes)
	}
	files, err := load.WriteParquet(ctx, d, h.w.Schema.Tables, changes)
	harness.Must(h.t, err)
	harness.Must(h.t, s.Close(ctx))
	_, err = d.Publish(ctx, files)
	harness.Must(h.t, err)
	byTable := map[string]load.Change{}
	for _, c := range changes {
		byTable[c.Table] = c
	}
	return byTable, nil
}

func (h *fixture) stage(ctx context.Context, s *load.Stage, name string, input streamInput) {
	h.t.Helper()
	for table, text := range input.rows {
		harness.Must(h.t, s.AddRows(ctx, name, table, h.batch(table, text)))
	}
	for outcome, ids := range input.outcomes {
		harness.Must(h.t, s.AddOutcomes(ctx, name, ids, outcome))
	}
}

type listingCopy struct {
	id          string
	seq         uint64
	isUnchanged bool
}

// addCopies reports copies of stored listings, as the decoder does.
func (h *fixture) addCopies(s *load.Stage) {
	h.t.Helper()
	if len(h.copies) == 0 {
		return
	}
	st, _ := stream.Find(h.streams, "product_listings")
	stored, err := s.StoredRecords(h.t.Context(), st)
	harness.Must(h.t, err)
	for _, c := range h.copies {
		record, _ := stored.Find([]byte(c.id), 0, -1)
		if record < 0 {
			h.t.Fatalf("the listing %q is not stored", c.id)
		}
		stored.AddCopies([]stream.RecordCopy{{Record: record, Seq: c.seq, IsUnchanged: c.isUnchanged}})
	}
}

// openStage opens a stage in the draft of the first night. Both are closed when the test ends.
func (h *fixture) openStage() *load.Stage {
	h.t.Helper()
	d, err := h.w.Begin(h.t.Context(), "20261101T020000Z", night)
	harness.Must(h.t, err)
	s, err := load.Open(h.t.Context(), d, h.streams, h.ignored)
	harness.Must(h.t, err)
	h.t.Cleanup(func() {
		harness.Must(h.t, s.Close(context.Background()))
		harness.Must(h.t, d.Discard())
	})
	return s
}

// batch returns the record batch that the decoder would make of the rows.
func (h *fixture) batch(table, text string) arrow.RecordBatch {
	h.t.Helper()
	arrowTypes := map[stream.Type]arrow.DataType{stream.Text: arrow.BinaryTypes.String, stream.JSON: arrow.BinaryTypes.String,
		stream.Bool: arrow.FixedWidthTypes.Boolean, stream.Int32: arrow.PrimitiveTypes.Int32, stream.Int64: arrow.PrimitiveTypes.Int64,
		stream.Money: &arrow.Decimal128Type{Precision: 18, Scale: 6}, stream.Instant: arrow.FixedWidthTypes.Timestamp_us}
	var fields []arrow.Field
	for _, c := range h.w.Schema.Definitions[table].Columns {
		fields = append(fields, arrow.Field{Name: c.Name, Type: arrowTypes[c.Type], Nullable: true})
	}
	for _, name := range []string{"row_hash", "seq"} {
		fields = append(fields, arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Uint64})
	}
	b, _, err := array.RecordFromJSON(h.allocator, arrow.NewSchema(fields, nil), strings.NewReader("["+text+"]"))
	harness.Must(h.t, err)
	return b
}

// closeReader discards the draft with which queryRows reads the newest version.
func (h *fixture) closeReader() {
	if h.reader != nil {
		harness.Must(h.t, h.reader.Discard())
		h.reader = nil
	}
}

// queryRows queries the published catalog and returns the rows as text.
func (h *fixture) queryRows(query string) []string {
	h.t.Helper()
	if h.reader == nil {
		var err error
		h.reader, err = h.w.Begin(h.t.Context(), "reader", night.AddDate(0, 0, h.nights))
		harness.Must(h.t, err)
	}
	result, err := h.reader.DB.QueryContext(h.t.Context(), query)
	harness.Must(h.t, err)
	defer result.Close()
	cols, err := result.Columns()
	harness.Must(h.t, err)
	var lines []string
	for result.Next() {
		cells := make([]any, len(cols))
		for i := range cells {
			cells[i] = new(any)
		}
		harness.Must(h.t, result.Scan(cells...))
		line := make([]string, len(cells))
		for i, c := range cells {
			line[i] = fmt.Sprint(*c.(*any))
		}
		lines = append(lines, strings.Join(line, " "))
	}
	harness.Must(h.t, result.Err())
	return lines
}

func (h *fixture) requireRows(query string, want ...string) {
	h.t.Helper()
	if diff := cmp.Diff(want, h.queryRows(query)); diff != "" {
		h.t.Errorf("%s (-want +got):\n%s", query, diff)
	}
}

// listing returns a row of product_listings as JSON.
func listing(id, name string, hash, seq int) string {
	return fmt.Sprintf(`{"id":%q,"name":%q,"row_hash":%d,"seq":%d}`, id, name, hash, seq)
}

// price returns a row of product_listing_prices as JSON.
func price(id string, position int, amount string, hash, seq int) string {
	return fmt.Sprintf(`{"product_listing_id":%q,"position":%d,"unit_amount":%q,"row_hash":%d,"seq":%d}`, id, position, amount, hash, seq)
}

// wholeList returns the input of a completely read list of listings with prices.
func wholeList(listings, prices string) map[string]streamInput {
	r := rows{"product_listings": listings}
	if prices != "" {
		r["product_listing_prices"] = prices
	}
	return map[string]streamInput{"product_listings": {rows: r, coverage: load.Whole}}
}

const historyQuery = `SELECT name, strftime(valid_from, '%d'), strftime(valid_to, '%d') FROM history.product_listings ORDER BY id, valid_from`

// TestMergeKeepsOneVersionPerChange adds, changes and deletes rows in three nights.
func TestMergeKeepsOneVersionPerChange(t *testing.T) {
	h := newFixture(t, "product_listings")
	first := wholeList(listing("a", "apple", 1, 1)+","+listing("b", "bear", 2, 2), price("a", 1, "1.5", 5, 1)+","+price("b", 1, "2", 6, 2))
	changes, err := h.run(first, load.Limits{})
	harness.Must(t, err)
	if got, want := changes["product_listings"], (load.Change{Table: "product_listings", After: 2, New: 2}); got != want {
		t.Errorf("first night: got %+v, want %+v", got, want)
	}

	changes, err = h.run(first, load.Limits{})
	harness.Must(t, err)
	if got, want := changes["product_listings"], (load.Change{Table: "product_listings", Before: 2, After: 2}); got != want {
		t.Errorf("a night without changes: got %+v, want %+v", got, want)
	}
	h.requireRows(historyQuery, "apple 01 <nil>", "bear 01 <nil>")

	changes, err = h.run(wholeList(listing("a", "apricot", 9, 1)+","+listing("c", "cat", 3, 2), price("a", 1, "1.75", 7, 1)+","+price("c", 1, "3", 8, 2)), load.Limits{Rows: 10})
	harness.Must(t, err)
	if got, want := changes["product_listings"], (load.Change{Table: "product_listings", Before: 2, After: 2, New: 1, Changed: 1, Gone: 1}); got != want {
		t.Errorf("third night: got %+v, want %+v", got, want)
	}
	h.requireRows(historyQuery, "apple 01 03", "apricot 03 <nil>", "bear 01 03", "cat 03 <nil>")
	h.requireRows(`SELECT product_listing_id, unit_amount::VARCHAR, strftime(valid_to, '%d') FROM history.product_listing_prices ORDER BY 1, valid_from`,
		"a 1.500000 03", "a 1.750000 <nil>", "b 2.000000 03", "c 3.000000 <nil>")
	h.requireRows(`SELECT name FROM product_listings_at(TIMESTAMP '2026-11-02 12:00:00') ORDER BY 1`, "apple", "bear")
	h.requireRows(`SELECT table_name, key, evidence FROM meta.deletions`, "product_listings b absent from a proven walk of product_listings")

	// An unproven list changes rows and deletes none. A list that was not read completely does not change rows either.
	for _, c := range []struct {
		name     string
		coverage load.Coverage
	}{{"avocado", load.Unproven}, {"almond", load.Carried}} {
		r := rows{"product_listings": listing("a", c.name, len(c.name), 1)}
		_, err = h.run(map[string]streamInput{"product_listings": {rows: r, coverage: c.coverage}}, load.Limits{Rows: 10})
		harness.Must(t, err)
		h.requireRows("SELECT name FROM product_listings ORDER BY 1", "avocado", "cat")
		h.requireRows("SELECT product_listing_id FROM product_listing_prices", "c")
	}
}

// TestCopiesAreStoredOnce reads a listing twice, with different prices: the response with the latest copy was decoded
// first. Two different outlets contain the same channel, and the table of the outlets has no repeated row. Two different
// comments contain the same reply, which is a row of their own table.
func TestCopiesAreStoredOnce(t *testing.T) {
	h := newFixture(t, "product_listings", "outlets", "article_comments")
	inputs := wholeList(listing("a", "late", 2, 9)+","+listing("a", "early", 1, 1),
		price("a", 1, "10", 5, 9)+","+price("a", 1, "1", 3, 1)+","+price("a", 2, "2", 4, 1))
	outlet := func(id string, seq int) string { return jsonRow(seq, seq, "id", quote(id)) }
	channel := func(outlet string, seq int) string {
		return jsonRow(seq, seq, "id", quote("c"), "outlet_id", quote(outlet))
	}
	inputs["outlets"] = streamInput{
		rows:     rows{"outlets": outlet("a", 1) + "," + outlet("b", 2), "outlet_channels": channel("a", 1) + "," + channel("b", 2)},
		coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: {"a", "b"}},
	}
	comment := func(id string, hash, seq int) string { return jsonRow(hash, seq, "article_id", `"a"`, "id", quote(id)) }
	inputs["article_comments"] = streamInput{
		rows:     rows{"article_comments": strings.Join([]string{comment("c1", 1, 1), comment("r", 2, 1), comment("c2", 3, 2), comment("r", 4, 2)}, ",")},
		coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: {"a"}},
	}
	_, err := h.run(inputs, load.Limits{})
	harness.Must(t, err)
	h.requireRows("SELECT name FROM product_listings", "late")
	h.requireRows("SELECT position, unit_amount::VARCHAR FROM product_listing_prices", "1 10.000000")
	h.requireRows("SELECT id, outlet_id FROM main.outlet_channels", "c b")
	h.requireRows("SELECT id, row_hash FROM main.article_comments ORDER BY id", "c1 1", "c2 3", "r 4")
}

// TestFailedRequestClosesNoRows requests four outlets again. The first has fewer channels, the second is a 404,
// the request of the third fails, and the response of the fourth has no outlet. All rows of the third must be
// kept. The rows that the other responses lack must be deleted.
func TestFailedRequestClosesNoRows(t *testing.T) {
	h := newFixture(t, "outlets", "outlet_listings")
	outlet := func(id string, hash int) string {
		return fmt.Sprintf(`{"id":%q,"row_hash":%d,"seq":%d}`, id, hash, hash)
	}
	channel := func(id, outlet string, hash int) string {
		return fmt.Sprintf(`{"id":%q,"outlet_id":%q,"row_hash":%d,"seq":%d}`, id, outlet, hash, hash)
	}
	link := func(channel string, hash int) string {
		return fmt.Sprintf(`{"outlet_channel_id":%q,"position":1,"url":"u","row_hash":%d,"seq":%d}`, channel, hash, hash)
	}
	first := streamInput{coverage: load.ByID, outcomes: map[load.Outcome][]string{load.Answered: {"a", "b", "c", "d"}}, rows: rows{
		"outlets":                     outlet("a", 1) + "," + outlet("b", 2) + "," + outlet("c", 3) + "," + outlet("d", 4),
		"outlet_channels":             channel("a1", "a", 1) + "," + channel("a2", "a", 1) + "," + channel("b1", "b", 2) + "," + channel("c1", "c", 3),
		"outlet_channel_social_links": link("a2", 1) + "," + link("b1", 2) + "," + link("c1", 3)}}
	_, err := h.run(map[string]streamInput{"outlets": first}, load.Limits{})
	harness.Must(t, err)
	second := streamInput{coverage: load.ByID, rows: rows{"outlets": outlet("a", 1), "outlet_channels": channel("a1", "a", 1)},
		outcomes: map[load.Outcome][]string{load.Answered: {"a", "d"}, load.NotFound: {"b"}, load.Missed: {"c"}}}
	_, err = h.run(map[string]streamInput{"outlets": second}, load.Limits{Rows: 10})
	harness.Must(t, err)
	h.requireRows("SELECT id FROM outlets ORDER BY id", "a", "c")
	h.requireRows("SELECT id FROM outlet_channels ORDER BY id", "a1", "c1")
	h.requireRows("SELECT outlet_channel_id FROM outlet_channel_social_links", "c1")
	h.requireRows("SELECT key, evidence FROM meta.deletions WHERE table_name = 'outlets' ORDER BY key",
		"b 404 from /outlets/{outlet_id}", "d absent from a proven walk of outlets")
}
