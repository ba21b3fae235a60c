package transform_test

import (
	"fmt"
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

// storedRecords is a transform.Stored of decoded rows.
type storedRecords struct {
	keys   []string
	sums   map[string]uint64 // by key
	copies []stream.RecordCopy
}

// store returns the records of rows, in the order of the tables of the stream things.
func store(batches []transform.Batch) *storedRecords {
	s := &storedRecords{sums: map[string]uint64{}}
	for _, b := range batches {
		table := slices.Index([]string{"things", "parts"}, b.Table)
		hashes := b.Rows.Column(int(b.Rows.NumCols()) - 2).(*array.Uint64)
		for i := range hashes.Len() {
			key := keyAt(b.Rows, i)
			if table == 0 {
				s.keys = append(s.keys, key)
			}
			hash := hashes.Value(i)
			if table == 1 {
				// The sum of a record does not depend on the order of its parts.
				hash -= stream.PositionHash(b.Rows.Column(1).(*array.Int64).Value(i))
			}
			s.sums[key] += stream.RowSum(table, hash)
		}
	}
	return s
}

func (s *storedRecords) Find(key []byte, sum uint64, _ int) (int, bool) {
	return slices.Index(s.keys, string(key)), s.sums[string(key)] == sum
}

func (s *storedRecords) AddCopies(copies []stream.RecordCopy) { s.copies = append(s.copies, copies...) }

func keyAt(b arrow.RecordBatch, i int) string { return b.Column(0).ValueStr(i) }

// keysByTable returns the first column of the rows of a decoder, and removes the rows.
func keysByTable(d *transform.Decoder) map[string][]string {
	keys := map[string][]string{}
	for _, b := range d.Flush() {
		for i := range int(b.Rows.NumRows()) {
			keys[b.Table] = append(keys[b.Table], keyAt(b.Rows, i))
		}
		b.Rows.Release()
	}
	return keys
}

func decode(t *testing.T, d *transform.Decoder, body string) {
	t.Helper()
	if _, err := d.Decode([]byte(body), transform.Origin{Seq: 1}); err != nil {
		t.Fatal(err)
	}
}

// TestUnchangedRecordsHaveNoRows decodes a list a second time, with some records unchanged and others changed
// in one place. Only the rows of changed records may be returned.
func TestUnchangedRecordsHaveNoRows(t *testing.T) {
	const first = `[{"id":"a","label":"x","parts":[{"name":"1"},{"name":"2"}]},{"id":"b","label":"y"},{"id":"c","label":"z","parts":[{"name":"1"}]}]`
	b := compile(t, streamNamed(t, "things"))
	firstNight := b.NewDecoder()
	decode(t, firstNight, first)
	rows := firstNight.Flush()
	for name, c := range map[string]struct {
		body             string
		unchanged, other string // keys of the copies, separated by spaces
		things           []string
	}{
		"nothing changed":             {first, "a b c", "", nil},
		"a value changed":             {`[{"id":"b","label":"Y"},{"id":"c","label":"z","parts":[{"name":"1"}]}]`, "c", "b", []string{"b"}},
		"a child changed":             {`[{"id":"c","label":"z","parts":[{"name":"9"}]}]`, "", "c", []string{"c"}},
		"a child added":               {`[{"id":"b","label":"y","parts":[{"name":"1"}]}]`, "", "b", []string{"b"}},
		"a child removed":             {`[{"id":"a","label":"x","parts":[{"name":"1"}]}]`, "", "a", []string{"a"}},
		"children in another order":   {`[{"id":"a","label":"x","parts":[{"name":"2"},{"name":"1"}]}]`, "a", "", nil},
		"a child is repeated":         {`[{"id":"a","label":"x","parts":[{"name":"1"},{"name":"2"},{"name":"2"}]}]`, "", "a", []string{"a"}},
		"a record is new":             {`[{"id":"d","label":"x"},{"id":"b","label":"y"}]`, "b", "", []string{"d"}},
		"the body is a single record": {`{"id":"b","label":"y"}`, "b", "", nil},
		"only the id differs":         {`[{"id":"z","label":"y"}]`, "", "", []string{"z"}},
		"members in another order":    {`[{"label":"y","id":"b"}]`, "b", "", nil},
		"a record occurs twice":       {`[{"id":"b","label":"y"},{"id":"b","label":"y"}]`, "", "b", []string{"b"}},
	} {
		t.Run(name, func(t *testing.T) {
			stored, d := store(rows), b.NewDecoder()
			d.SkipUnchanged(stored)
			decode(t, d, c.body)
			var unchanged, other []string
			for _, copied := range stored.copies {
				if copied.IsUnchanged {
					unchanged = append(unchanged, stored.keys[copied.Record])
				} else {
					other = append(other, stored.keys[copied.Record])
				}
			}
			rows := keysByTable(d)
			got := [][]string{unchanged, other, rows["things"]}
			want := [][]string{strings.Fields(c.unchanged), strings.Fields(c.other), c.things}
			for i, name := range []string{"unchanged copies", "other copies", "rows"} {
				if !slices.Equal(want[i], got[i]) {
					t.Errorf("%s are of %q, want %q", name, got[i], want[i])
				}
			}
			for _, key := range rows["parts"] {
				if !slices.Contains(c.things, key) {
					t.Errorf("a part of the unchanged record %q is staged", key)
				}
			}
		})
	}
}

// TestMalformedBodyHasNoCopies decodes bodies that end early. The night requests them again, so the copies in
// them must not count.
func TestMalformedBodyHasNoCopies(t *testing.T) {
	b := compile(t, streamNamed(t, "things"))
	firstNight := b.NewDecoder()
	decode(t, firstNight, `[{"id":"a","label":"x"}]`)
	stored, d := store(firstNight.Flush()), b.NewDecoder()
	d.SkipUnchanged(stored)
	if _, err := d.Decode([]byte(`[{"id":"a","label":"y"},{"id":`), transform.Origin{Seq: 1}); err == nil {
		t.Fatal("the malformed body was decoded, want an error")
	}
	decode(t, d, `[{"id":"a","label":"x"}]`)
	if len(stored.copies) != 1 || !stored.copies[0].IsUnchanged {
		t.Errorf("the copies are %+v, want one unchanged copy", stored.copies)
	}
}

// recordVariants returns variants of a record of the stream things: without drift, with several kinds of
// drift, with rejects, and with the key in unusual places.
func recordVariants() []string {
	return []string{
		`{"id":%q,"label":"x","parts":[{"name":"1"},{"name":"2"}]}`,
		`{"id":%q,"label":"x","parts":[{"name":"2"},{"name":"1"}]}`,
		`{ "label" : "y" , "id" : %q }`,
		`{"doc":{"id":"other"},"id":%q}`,
		`{"id":%q,"new_field":7}`,
		`{"id":%q,"new_field":8,"flag":"yes"}`,
		`{"id":%q,"flag":"yes","price":1.23456789}`,
		`{"id":%q,"label":"x","label":"y"}`,
		"{\"id\":%q,\"label\":\"\xff\"}",
		`{"id":%q,"parts":"none"}`,
		`{"id":%q,"parts":[{"name":"1","weight":3}]}`,
		`{"id":%q,"owner":{"id":"o","name":"n"}}`,
		`{"label":%q}`,
	}
}

// randomBody returns a page with fewer than 30 records. Most records have the same variant in all pages, and some
// records occur twice. Some pages contain the list twice, and some pages are truncated.
func randomBody(random *rand.Rand) string {
	var all []string
	for range random.IntN(30) {
		id := random.IntN(40)
		variant := id % len(recordVariants())
		if random.IntN(5) == 0 {
			variant = random.IntN(len(recordVariants()))
		}
		all = append(all, fmt.Sprintf(recordVariants()[variant], fmt.Sprintf("k%d", id)))
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

// TestSkippingChangesNoFacts decodes random pages with two decoders, one of which skips unchanged records. Both
// must return the same page facts and findings, and the same rows of the records that are not unchanged.
func TestSkippingChangesNoFacts(t *testing.T) {
	b := compile(t, streamNamed(t, "things"))
	skipped := 0
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		first := b.NewDecoder()
		for first.Rows() == 0 {
			_, _ = first.Decode([]byte(randomBody(random)), transform.Origin{Seq: 1}) // some bodies are malformed
		}
		stored, full, skipping := store(first.Flush()), b.NewDecoder(), b.NewDecoder()
		skipping.SkipUnchanged(stored)
		for i := range 6 {
			body, o := []byte(randomBody(random)), transform.Origin{Seq: uint64(i + 1), Page: 1 + random.IntN(9), Pass: 1}
			wantPage, wantErr := full.Decode(body, o)
			page, err := skipping.Decode(body, o)
			if diff := cmp.Diff(wantPage, page); diff != "" || fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Fatalf("seed %d, %s: page (-want +got):\n%serror %v, want %v", seed, body, diff, err, wantErr)
			}
		}
		if diff := cmp.Diff(full.Findings(), skipping.Findings()); diff != "" {
			t.Fatalf("seed %d: findings (-want +got):\n%s", seed, diff)
		}
		var want []string
		allKeys := keysByTable(full)["things"]
		got := keysByTable(skipping)["things"]
		unchangedCopies := map[string]int{} // by key
		for _, copied := range stored.copies {
			if copied.IsUnchanged {
				unchangedCopies[stored.keys[copied.Record]]++
				skipped++
			}
		}
		for _, key := range allKeys {
			if unchangedCopies[key] > 0 {
				unchangedCopies[key]--
				continue
			}
			want = append(want, key)
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: keys of the rows (-want +got):\n%s", seed, diff)
		}
	}
	if skipped < 400 {
		t.Errorf("%d records were skipped, want at least 400", skipped)
	}
}
