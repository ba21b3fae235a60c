package transform_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/go-cmp/cmp"

	"placementsync/internal/stream"
	"placementsync/internal/transform"
)

// TestUnchangedRecordsAreSkipped decodes a list a second time, with some records unchanged
// and others changed in one place.
func TestUnchangedRecordsAreSkipped(t *testing.T) {
	const first = `[{"id":"a","label":"x","parts":[{"name":"1"},{"name":"2"}]},{"id":"b","label":"y"},{"id":"c","label":"z","parts":[{"name":"1"}]}]`
	b := compile(t, streamNamed(t, "things"))
	if !b.CanRecall() {
		t.Fatal("CanRecall is false for things")
	}
	stored := b.NewDecoder()
	stored.Remember(transform.NewMemory(1))
	decode(t, stored, first)
	entries := stored.Entries()
	for name, c := range map[string]struct {
		body          string
		same, decoded []string
	}{
		"nothing changed":                  {first, []string{"a", "b", "c"}, nil},
		"a value changed":                  {`[{"id":"b","label":"Y"},{"id":"c","label":"z","parts":[{"name":"1"}]}]`, []string{"c"}, []string{"b"}},
		"a child changed":                  {`[{"id":"c","label":"z","parts":[{"name":"9"}]}]`, nil, []string{"c"}},
		"a child added":                    {`[{"id":"b","label":"y","parts":[{"name":"1"}]}]`, nil, []string{"b"}},
		"a child removed":                  {`[{"id":"a","label":"x","parts":[{"name":"1"}]}]`, nil, []string{"a"}},
		"children swap a value":            {`[{"id":"a","label":"x","parts":[{"name":"2"},{"name":"1"}]}]`, nil, []string{"a"}},
		"a record is new":                  {`[{"id":"d","label":"x"},{"id":"b","label":"y"}]`, []string{"b"}, []string{"d"}},
		"another record has the same text": {`[{"id":"z","label":"y"}]`, nil, []string{"z"}},
	} {
		t.Run(name, func(t *testing.T) {
			for seed, same := range [][]string{nil, c.same} { // with another seed no hash matches
				known := transform.NewMemory(uint64(seed))
				known.Add(entries)
				d := b.NewDecoder()
				d.Remember(known)
				decode(t, d, c.body)
				seen := map[string][]string{}
				for _, batch := range d.Flush() {
					keys := batch.Record.Column(0).(*array.String)
					for i := range keys.Len() {
						seen[batch.Table] = append(seen[batch.Table], keys.Value(i))
					}
					batch.Record.Release()
				}
				decoded := c.decoded
				if same == nil {
					decoded = slices.Sorted(slices.Values(append(slices.Clone(c.same), c.decoded...)))
				}
				slices.Sort(seen["things"])
				if diff := cmp.Diff([][]string{same, decoded}, [][]string{seen[stream.SameTable], seen["things"]}); diff != "" {
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
	stored, known := b.NewDecoder(), transform.NewMemory(1)
	stored.Remember(transform.NewMemory(1))
	for _, label := range []string{"old", "new", "old"} {
		decode(t, stored, `[{"id":"moved","label":"`+label+`"},{"id":"still","label":"x"}]`)
	}
	known.Add(stored.Entries())
	for _, label := range []string{"old", "new"} {
		d := b.NewDecoder()
		d.Remember(known)
		decode(t, d, `[{"id":"moved","label":"`+label+`"},{"id":"still","label":"x"}]`)
		seen := map[string]string{}
		for _, batch := range d.Flush() {
			for i := range int(batch.Record.NumRows()) {
				seen[batch.Record.Column(0).(*array.String).Value(i)] = batch.Table
			}
			batch.Record.Release()
		}
		if want := map[string]string{"moved": "things", "still": stream.SameTable}; !maps.Equal(seen, want) {
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
