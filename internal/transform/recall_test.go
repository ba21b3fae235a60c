package transform_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/go-cmp/cmp"

	"placementsync/internal/stream"
	"placementsync/internal/transform"
)

// recordVariants returns variants of a record of the stream things: without drift, with several kinds of
// drift, with rejects, and with the key in unusual places.
func recordVariants() []string {
	return []string{
		`{"id":%q,"label":"x","parts":[{"name":"1"},{"name":"2"}]}`,
		`{"id":%q,"label":"x","parts":[{"name":"2"},{"name":"1"}]}`,
		`{ "label" : "y" , "id" : %q }`,
		`{"id":%q,"label":"y"}`,
		`{"doc":{"id":"other"},"id":%q}`,
		`{"id":%q,"doc":{"id":"other","label":"\"id\":"}}`,
		`{"id":%q,"new_field":7}`,
		`{"id":%q,"new_field":8,"flag":"yes"}`,
		`{"id":%q,"flag":"yes","price":1.23456789}`,
		`{"id":%q,"flag":"perhaps"}`,
		`{"id":%q,"label":"x","label":"y"}`,
		"{\"id\":%q,\"label\":\"\xff\"}",
		`{"id":%q,"parts":"none"}`,
		`{"id":%q,"parts":[{"name":"1","weight":3}]}`,
		`{"id":%q,"at":"2026-01-02T03:04:05"}`,
		`{"id":%q,"owner":{"id":"o","name":"n"}}`,
		`{"label":%q}`,
	}
}

// randomBody returns a page with up to 30 records. states contains the variant of each record; randomBody
// changes some states. A few records occur twice. Some pages contain the list twice, and some are truncated.
func randomBody(random *rand.Rand, states []int) string {
	var all []string
	for range random.IntN(30) {
		id := random.IntN(len(states))
		if random.IntN(5) == 0 {
			states[id] = random.IntN(len(recordVariants()))
		}
		all = append(all, fmt.Sprintf(recordVariants()[states[id]], fmt.Sprintf("k%d", id)))
		if random.IntN(40) == 0 {
			all = append(all, fmt.Sprintf(recordVariants()[random.IntN(len(recordVariants()))], fmt.Sprintf("k%d", id)))
		}
	}
	body := `{"records":[` + strings.Join(all, ",") + `],"total_records":9}`
	if random.IntN(15) == 0 {
		body = strings.Replace(body, `"total_records"`, `"records":[`+strings.Join(all, ",")+`],"stranger"`, 1)
	}
	if random.IntN(15) == 0 {
		return body[:len(body)-1-random.IntN(len(body)/2)]
	}
	return body
}

// takeRows returns the rows of a decoder by table and record, without their seq.
func takeRows(d *transform.Decoder) map[string][]string {
	rows := map[string][]string{}
	for _, b := range d.Flush() {
		for i := range int(b.Rows.NumRows()) {
			var row []string
			for c := range int(b.Rows.NumCols()) - 1 {
				row = append(row, b.Rows.Column(c).ValueStr(i))
			}
			if b.Table == stream.UnchangedTable {
				row = nil
			}
			rows[b.Table+" "+keyAt(b.Rows, i)] = append(rows[b.Table+" "+keyAt(b.Rows, i)], strings.Join(row, "|"))
		}
		b.Rows.Release()
	}
	return rows
}

func keyAt(b arrow.RecordBatch, i int) string { return b.Column(0).ValueStr(i) }

// TestRecallEqualsDecoding decodes random pages in several nights with two decoders: full decodes all
// records, and skipping skips unchanged records. Both must return the same page facts and findings. The
// rows of skipped records must be stored.
func TestRecallEqualsDecoding(t *testing.T) {
	b := compile(t, streamNamed(t, "things"))
	skipped := 0
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		states := make([]int, 40)
		for i := range states {
			states[i] = random.IntN(len(recordVariants()))
		}
		known := transform.NewMemory(1, nil)
		stored := map[string][]string{}
		for range 3 {
			full, skipping := b.NewDecoder(), b.NewDecoder()
			skipping.Remember(known)
			var entries []byte
			tonight := map[string][]string{}
			for i := range 1 + random.IntN(6) {
				body, o := []byte(randomBody(random, states)), transform.Origin{Seq: uint64(i + 1), Page: 1 + random.IntN(9), Pass: 1}
				wantPage, wantErr := full.Decode(body, o)
				page, err := skipping.Decode(body, o)
				if diff := cmp.Diff(wantPage, page); diff != "" || fmt.Sprint(err) != fmt.Sprint(wantErr) {
					t.Fatalf("seed %d, %s: page (-want +got):\n%serror %v, want %v", seed, body, diff, err, wantErr)
				}
				if random.IntN(3) == 0 {
					skipped += compareRows(t, seed, stored, tonight, takeRows(full), takeRows(skipping))
					if diff := cmp.Diff(full.Findings(), skipping.Findings()); diff != "" {
						t.Fatalf("seed %d: findings (-want +got):\n%s", seed, diff)
					}
					entries = append(entries, skipping.Entries()...)
				}
			}
			skipped += compareRows(t, seed, stored, tonight, takeRows(full), takeRows(skipping))
			if diff := cmp.Diff(full.Findings(), skipping.Findings()); diff != "" {
				t.Fatalf("seed %d: findings (-want +got):\n%s", seed, diff)
			}
			entries = append(entries, skipping.Entries()...)
			known, stored = transform.NewMemory(1, entries), tonight
		}
	}
	if skipped < 400 {
		t.Errorf("%d records were skipped, want at least 400", skipped)
	}
}

// compareRows compares the rows of the full decoder with the rows of the skipping decoder. It adds the
// rows of the full decoder to tonight and returns the number of skipped records.
func compareRows(t *testing.T, seed uint64, stored, tonight, full, skipping map[string][]string) (skipped int) {
	t.Helper()
	for tableAndKey, want := range full {
		table, key, _ := strings.Cut(tableAndKey, " ")
		tonight[tableAndKey] = want
		if n := len(skipping[stream.UnchangedTable+" "+key]); n == 0 {
			if diff := cmp.Diff(want, skipping[tableAndKey]); diff != "" {
				t.Fatalf("seed %d, rows of %s (-want +got):\n%s", seed, tableAndKey, diff)
			}
			continue
		}
		skipped++
		for _, row := range want {
			// All copies of a record on several pages must be stored or staged.
			if !slices.Contains(stored[tableAndKey], row) && !slices.Contains(skipping[tableAndKey], row) {
				t.Fatalf("seed %d: %s of %s was skipped, but the stored rows are %q", seed, row, table, stored[tableAndKey])
			}
		}
	}
	return skipped
}

// TestRecalledRecordsKeepCreatedAt checks the order of creation, which is part of the proof of a
// list. The order must be correct wherever created_at is in the record, and even if the name occurs
// more than once.
func TestRecalledRecordsKeepCreatedAt(t *testing.T) {
	b := compile(t, streamNamed(t, "product_listings"))
	list := func(records ...string) string { return `{"records":[` + strings.Join(records, ",") + `]}` }
	for name, c := range map[string]struct {
		body string
		// skippedLater counts the skipped records when the same decoder reads the page again.
		// It then knows the drift of the records.
		skipped, skippedLater int
	}{
		"a realistic page":            {string(listingsPage()), 99, 100}, // 10 records have the same drift: the first is decoded, the others are skipped
		"newest first":                {list(`{"id":"a","created_at":"2026-01-03T00:00:00Z"}`, `{"created_at":"2026-01-02T00:00:00Z","id":"b"}`), 2, 2},
		"oldest first":                {list(`{"id":"a","created_at":"2026-01-02T00:00:00Z"}`, `{"id":"b","created_at":"2026-01-03T00:00:00Z"}`), 2, 2},
		"absent in the last record":   {list(`{"id":"a","created_at":"2026-01-02T00:00:00Z"}`, `{"id":"b"}`), 2, 2},
		"null":                        {list(`{"id":"a","created_at":null}`), 1, 1},
		"spaces before the colon":     {list(`{ "id" : "a" , "created_at" : "2026-01-02T00:00:00Z" }`), 0, 0},
		"created_at as a value":       {list(`{"id":"a","name":"created_at","created_at":"2026-01-02T00:00:00Z"}`), 1, 1},
		"created_at within a text":    {list(`{"id":"a","name":"\"created_at\":\"2020-01-01T00:00:00Z\"","created_at":"2026-01-02T00:00:00Z"}`), 1, 1},
		"created_at twice":            {list(`{"id":"a","created_at":"2026-01-02T00:00:00Z","created_at":"2026-01-01T00:00:00Z"}`), 0, 1},
		"a second created_at is null": {list(`{"id":"a","created_at":"2026-01-02T00:00:00Z","created_at":null}`), 0, 1},
		"absent in the first record":  {list(`{"id":"a"}`, `{"id":"b","created_at":"2026-01-02T00:00:00Z"}`), 2, 2},
		"without a zone, rounded":     {list(`{"id":"a","created_at":"2026-01-02T00:00:00.1234567"}`), 0, 1},
		"with microseconds":           {list(`{"id":"a","created_at":"2026-01-02T00:00:00.123456Z"}`), 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			first := b.NewDecoder()
			first.Remember(transform.NewMemory(1, nil))
			decode(t, first, c.body)
			d := b.NewDecoder()
			d.Remember(transform.NewMemory(1, first.Entries()))
			want, err := b.NewDecoder().Decode([]byte(c.body), transform.Origin{Seq: 1})
			if err != nil {
				t.Fatal(err)
			}
			for round, wantSkipped := range []int{c.skipped, c.skippedLater} {
				got, err := d.Decode([]byte(c.body), transform.Origin{Seq: 1})
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("page in round %d (-want +got):\n%serror %v", round, diff, err)
				}
				skipped := 0
				for name := range takeRows(d) {
					if strings.HasPrefix(name, stream.UnchangedTable+" ") {
						skipped++
					}
				}
				if skipped != wantSkipped {
					t.Errorf("round %d skipped %d records, want %d", round, skipped, wantSkipped)
				}
			}
		})
	}
}

// TestPrivateRecordsAreNotRecalledWithoutAHashKey checks CanRecall. Without Privacy.Key, a person who knows the
// other values of a record could guess its dropped values from the hash of the record.
func TestPrivateRecordsAreNotRecalledWithoutAHashKey(t *testing.T) {
	for name, c := range map[string]struct {
		privacy   transform.Privacy
		canRecall bool
	}{
		"no private columns": {transform.Privacy{}, true},
		"dropped":            {transform.Privacy{Drop: []string{"things.owner"}}, false},
		"hashed with a key":  {transform.Privacy{Hash: []string{"things.owner"}, Key: []byte("k")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := compile(t, streamNamed(t, "things"))
			if err := b.Protect(c.privacy); err != nil {
				t.Fatal(err)
			}
			if got := b.CanRecall(); got != c.canRecall {
				t.Errorf("CanRecall is %v, want %v", got, c.canRecall)
			}
		})
	}
}

// TestUnchangedRecordsAreSkipped decodes a list a second time, with some records unchanged
// and others changed in one place.
func TestUnchangedRecordsAreSkipped(t *testing.T) {
	const first = `[{"id":"a","label":"x","parts":[{"name":"1"},{"name":"2"}]},{"id":"b","label":"y"},{"id":"c","label":"z","parts":[{"name":"1"}]}]`
	b := compile(t, streamNamed(t, "things"))
	if !b.CanRecall() {
		t.Fatal("CanRecall is false for things")
	}
	firstNight := b.NewDecoder()
	firstNight.Remember(transform.NewMemory(1, nil))
	decode(t, firstNight, first)
	entries := firstNight.Entries()
	for name, c := range map[string]struct {
		body             string
		skipped, decoded []string
	}{
		"nothing changed":             {first, []string{"a", "b", "c"}, nil},
		"a value changed":             {`[{"id":"b","label":"Y"},{"id":"c","label":"z","parts":[{"name":"1"}]}]`, []string{"c"}, []string{"b"}},
		"a child changed":             {`[{"id":"c","label":"z","parts":[{"name":"9"}]}]`, nil, []string{"c"}},
		"a child added":               {`[{"id":"b","label":"y","parts":[{"name":"1"}]}]`, nil, []string{"b"}},
		"a child removed":             {`[{"id":"a","label":"x","parts":[{"name":"1"}]}]`, nil, []string{"a"}},
		"children swap a value":       {`[{"id":"a","label":"x","parts":[{"name":"2"},{"name":"1"}]}]`, nil, []string{"a"}},
		"a record is new":             {`[{"id":"d","label":"x"},{"id":"b","label":"y"}]`, []string{"b"}, []string{"d"}},
		"the body is a single record": {`{"id":"b","label":"y"}`, []string{"b"}, nil},
		"only the id differs":         {`[{"id":"z","label":"y"}]`, nil, []string{"z"}},
	} {
		t.Run(name, func(t *testing.T) {
			for seed, skipped := range [][]string{nil, c.skipped} { // with another seed no hash matches
				d := b.NewDecoder()
				d.Remember(transform.NewMemory(uint64(seed), entries))
				decode(t, d, c.body)
				seen := map[string][]string{}
				for _, batch := range d.Flush() {
					keys := batch.Rows.Column(0).(*array.String)
					for i := range keys.Len() {
						seen[batch.Table] = append(seen[batch.Table], keys.Value(i))
					}
					batch.Rows.Release()
				}
				decoded := c.decoded
				if skipped == nil {
					decoded = slices.Sorted(slices.Values(append(slices.Clone(c.skipped), c.decoded...)))
				}
				slices.Sort(seen["things"])
				if diff := cmp.Diff([][]string{skipped, decoded}, [][]string{seen[stream.UnchangedTable], seen["things"]}); diff != "" {
					t.Errorf("with seed %d the skipped and the decoded records differ (-want +got):\n%s", seed, diff)
				}
				if len(decoded) == 0 && len(seen["parts"]) > 0 {
					t.Errorf("the decoder returned the rows %q of skipped records, want none", seen["parts"])
				}
			}
		})
	}
}

// TestRecordWithTwoEntriesIsDecoded decodes a list that contained a record in two states. The
// entries do not show which state was stored, so the record must be decoded. A record that
// occurred twice in the same state must be skipped.
func TestRecordWithTwoEntriesIsDecoded(t *testing.T) {
	b := compile(t, streamNamed(t, "things"))
	firstNight := b.NewDecoder()
	firstNight.Remember(transform.NewMemory(1, nil))
	for _, label := range []string{"old", "new", "old"} {
		decode(t, firstNight, `[{"id":"moved","label":"`+label+`"},{"id":"still","label":"x"}]`)
	}
	known := transform.NewMemory(1, firstNight.Entries())
	for _, label := range []string{"old", "new"} {
		d := b.NewDecoder()
		d.Remember(known)
		decode(t, d, `[{"id":"moved","label":"`+label+`"},{"id":"still","label":"x"}]`)
		seen := map[string]string{}
		for _, batch := range d.Flush() {
			for i := range int(batch.Rows.NumRows()) {
				seen[batch.Rows.Column(0).(*array.String).Value(i)] = batch.Table
			}
			batch.Rows.Release()
		}
		if want := map[string]string{"moved": "things", "still": stream.UnchangedTable}; !maps.Equal(seen, want) {
			t.Errorf("with the label %s the records are in %v, want %v", label, seen, want)
		}
	}
}

func decode(t *testing.T, d *transform.Decoder, body string) {
	t.Helper()
	if _, err := d.Decode([]byte(body), transform.Origin{Seq: 1}); err != nil {
		t.Fatal(err)
	}
}

// TestDriftOfSkippedRecords decodes a page three times in a second night. The decoder that skips
// unchanged records must find the same drift as the decoder that decodes all records. Different sets
// of drift, and paths that look like two other paths, must not be confused.
func TestDriftOfSkippedRecords(t *testing.T) {
	b := compile(t, streamNamed(t, "things"))
	zeroBytes := fmt.Sprintf(`{"id":"y","aa\u0000things\u0000%s\u0000bb":3}`, transform.UnknownField)
	manyFields := make([]string, 3000)
	for i := range manyFields {
		manyFields[i] = fmt.Sprintf(`{"id":"%d","field %d":1}`, i, i)
	}
	for name, c := range map[string]struct {
		records []string
		skipped int
	}{
		"a set and parts of it":           {[]string{`{"id":"x","aa":1,"bb":2}`, `{"id":"y","bb":3}`, `{"id":"z","aa":3}`, `{"id":"w","aa":4,"bb":4}`}, 9},
		"one path that looks like two":    {[]string{`{"id":"x","aa":1,"bb":2}`, zeroBytes}, 4},
		"more paths than the limit":       {manyFields, 2000},
		"a record with drift and rejects": {[]string{`{"id":"x","aa":1,"small":"many"}`}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			body := `{"records":[` + strings.Join(c.records, ",") + `]}`
			first := b.NewDecoder()
			first.Remember(transform.NewMemory(1, nil))
			decode(t, first, body)
			full, skipping := b.NewDecoder(), b.NewDecoder()
			skipping.Remember(transform.NewMemory(1, first.Entries()))
			for i := range 3 {
				o := transform.Origin{Seq: uint64(i + 1), Page: i + 1, Pass: 1}
				for _, d := range []*transform.Decoder{full, skipping} {
					if _, err := d.Decode([]byte(body), o); err != nil {
						t.Fatal(err)
					}
				}
			}
			skipped := 0
			for _, batch := range skipping.Flush() {
				if batch.Table == stream.UnchangedTable {
					skipped += int(batch.Rows.NumRows())
				}
				batch.Rows.Release()
			}
			if skipped != c.skipped {
				t.Errorf("skipped %d records, want %d", skipped, c.skipped)
			}
			if diff := cmp.Diff(full.Findings(), skipping.Findings()); diff != "" {
				t.Errorf("findings (-all decoded, +unchanged skipped):\n%s", diff)
			}
		})
	}
}
