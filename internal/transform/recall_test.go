package transform_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"placementsync/internal/stream"
	"placementsync/internal/transform"
)

// recordVariants returns states of a record of things: without drift, with several kinds of
// drift, with rejects, and with the key and created_at in unusual places.
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

// randomBody returns a page with up to 30 things in random states. A few occur twice.
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
		for i := range int(b.Record.NumRows()) {
			var row []string
			for c := range int(b.Record.NumCols()) - 1 {
				row = append(row, b.Record.Column(c).ValueStr(i))
			}
			if b.Table == stream.SameTable {
				row = nil
			}
			rows[b.Table+" "+keyAt(b.Record, i)] = append(rows[b.Table+" "+keyAt(b.Record, i)], strings.Join(row, "|"))
		}
		b.Record.Release()
	}
	return rows
}

func keyAt(b arrow.RecordBatch, i int) string { return b.Column(0).ValueStr(i) }

// TestRecallEqualsDecoding decodes random pages in several nights with two decoders. The
// decoder that skips unchanged records must return the same page facts and findings as the
// decoder that decodes all, and the rows of skipped records must be stored.
func TestRecallEqualsDecoding(t *testing.T) {
	b := compile(t, streamNamed(t, "things"))
	skipped := 0
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		states := make([]int, 40)
		for i := range states {
			states[i] = random.IntN(len(recordVariants()))
		}
		known := transform.NewMemory(1)
		stored := map[string][]string{}
		for range 3 {
			all, some := b.NewDecoder(), b.NewDecoder()
			some.Remember(known)
			var entries []byte
			tonight := map[string][]string{}
			for page := range 1 + random.IntN(6) {
				body, o := []byte(randomBody(random, states)), transform.Origin{Seq: uint64(page + 1), Page: 1 + random.IntN(9), Pass: 1}
				wantPage, wantErr := all.Decode(body, o)
				page, err := some.Decode(body, o)
				if diff := cmp.Diff(wantPage, page); diff != "" || fmt.Sprint(err) != fmt.Sprint(wantErr) {
					t.Fatalf("seed %d, %s: page (-want +got):\n%s%v, want %v", seed, body, diff, err, wantErr)
				}
				if random.IntN(3) == 0 {
					skipped += requireSkipped(t, seed, stored, tonight, takeRows(all), takeRows(some))
					if diff := cmp.Diff(all.Findings(), some.Findings()); diff != "" {
						t.Fatalf("seed %d: findings (-want +got):\n%s", seed, diff)
					}
					entries = append(entries, some.Entries()...)
				}
			}
			skipped += requireSkipped(t, seed, stored, tonight, takeRows(all), takeRows(some))
			if diff := cmp.Diff(all.Findings(), some.Findings()); diff != "" {
				t.Fatalf("seed %d: findings (-want +got):\n%s", seed, diff)
			}
			entries = append(entries, some.Entries()...)
			known, stored = transform.NewMemory(1), tonight
			known.Add(entries)
		}
	}
	if skipped < 400 {
		t.Errorf("%d records were skipped, want at least 400", skipped)
	}
}

// requireSkipped compares the rows of all and some, the results of both decoders, and adds them
// to tonight. It returns the number of skipped records.
func requireSkipped(t *testing.T, seed uint64, stored, tonight, all, some map[string][]string) (skipped int) {
	t.Helper()
	for name := range all {
		table, key, _ := strings.Cut(name, " ")
		want := all[name]
		tonight[name] = want
		if n := len(some[stream.SameTable+" "+key]); n == 0 {
			if diff := cmp.Diff(want, some[name]); diff != "" {
				t.Fatalf("seed %d, rows of %s (-want +got):\n%s", seed, name, diff)
			}
			continue
		}
		skipped++
		for _, row := range want {
			// All copies of a record on several pages must be stored or staged.
			if !contains(stored[name], row) && !contains(some[name], row) {
				t.Fatalf("seed %d: %s of %s was skipped, but the stored rows are %q", seed, row, table, stored[name])
			}
		}
	}
	return skipped
}

func contains(rows []string, row string) bool {
	for _, r := range rows {
		if r == row {
			return true
		}
	}
	return false
}

// TestRecalledRecordsKeepCreatedAt checks the order of creation, which is part of the proof of a
// list. It must be correct wherever created_at is in the record, and if other fields have the same
// name.
func TestRecalledRecordsKeepCreatedAt(t *testing.T) {
	b := compile(t, streamNamed(t, "product_listings"))
	list := func(records ...string) string { return `{"records":[` + strings.Join(records, ",") + `]}` }
	for name, body := range map[string]string{
		"a realistic page":        string(listingsPage()),
		"falling":                 list(`{"id":"a","created_at":"2026-01-03T00:00:00Z"}`, `{"created_at":"2026-01-02T00:00:00Z","id":"b"}`),
		"rising":                  list(`{"id":"a","created_at":"2026-01-02T00:00:00Z"}`, `{"id":"b","created_at":"2026-01-03T00:00:00Z"}`),
		"absent":                  list(`{"id":"a","created_at":"2026-01-02T00:00:00Z"}`, `{"id":"b"}`),
		"null":                    list(`{"id":"a","created_at":null}`),
		"with spaces":             list(`{ "id" : "a" , "created_at" : "2026-01-02T00:00:00Z" }`),
		"another before it":       list(`{"id":"a","x":{"created_at":"2020-01-01T00:00:00Z"},"created_at":"2026-01-02T00:00:00Z"}`),
		"another after it":        list(`{"id":"a","created_at":"2026-01-02T00:00:00Z","x":{"created_at":"2020-01-01T00:00:00Z"}}`),
		"another within a text":   list(`{"id":"a","name":"\"created_at\":\"2020-01-01T00:00:00Z\"","created_at":"2026-01-02T00:00:00Z"}`),
		"a duplicate":             list(`{"id":"a","created_at":"2026-01-02T00:00:00Z","created_at":"2026-01-01T00:00:00Z"}`),
		"a duplicate null":        list(`{"id":"a","created_at":"2026-01-02T00:00:00Z","created_at":null}`),
		"only the second record":  list(`{"id":"a"}`, `{"id":"b","created_at":"2026-01-02T00:00:00Z"}`),
		"without a zone, rounded": list(`{"id":"a","created_at":"2026-01-02T00:00:00.1234567"}`),
	} {
		t.Run(name, func(t *testing.T) {
			first, known := b.NewDecoder(), transform.NewMemory(1)
			first.Remember(transform.NewMemory(1))
			decode(t, first, body)
			known.Add(first.Entries())
			d := b.NewDecoder()
			d.Remember(known)
			want, err := b.NewDecoder().Decode([]byte(body), transform.Origin{Seq: 1})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // records with drift are skipped only the second time
				takeRows(d)
				got, err := d.Decode([]byte(body), transform.Origin{Seq: 1})
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("page (-want +got):\n%s%v", diff, err)
				}
			}
			if rows := takeRows(d); len(rows) != want.Records {
				t.Errorf("got %[2]q, want %[1]d skipped records and no rows", want.Records, rows)
			}
		})
	}
}

// TestPrivateRecordsAreNotRecalledWithoutAKey checks CanRecall. Without a key, a person with the
// other values of a record could guess its dropped values from the hash.
func TestPrivateRecordsAreNotRecalledWithoutAKey(t *testing.T) {
	for name, c := range map[string]struct {
		rules  transform.Privacy
		recall bool
	}{
		"no private columns": {transform.Privacy{}, true},
		"dropped":            {transform.Privacy{Drop: []string{"things.owner"}}, false},
		"hashed with a key":  {transform.Privacy{Hash: []string{"things.owner"}, Key: []byte("k")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := compile(t, streamNamed(t, "things"))
			if err := b.Protect(c.rules); err != nil {
				t.Fatal(err)
			}
			if got := b.CanRecall(); got != c.recall {
				t.Errorf("CanRecall is %v, want %v", got, c.recall)
			}
		})
	}
}

// TestDriftPathsWithZeroBytesAreDistinct decodes a path with zero bytes, which must not equal
// two other paths.
func TestDriftPathsWithZeroBytesAreDistinct(t *testing.T) {
	b := compile(t, streamNamed(t, "things"))
	twoPaths := `{"id":"x","aa":1,"bb":2}`
	zeroBytes := fmt.Sprintf(`{"id":"y","aa\u0000things\u0000%s\u0000bb":3}`, transform.UnknownField)
	body := `{"records":[` + twoPaths + `,` + zeroBytes + `]}`
	first, known := b.NewDecoder(), transform.NewMemory(1)
	first.Remember(transform.NewMemory(1))
	decode(t, first, body)
	known.Add(first.Entries())
	some, all := b.NewDecoder(), b.NewDecoder()
	some.Remember(known)
	for i := range 3 {
		o := transform.Origin{Seq: uint64(i + 1), Page: i + 1, Pass: 1}
		for _, d := range []*transform.Decoder{all, some} {
			if _, err := d.Decode([]byte(body), o); err != nil {
				t.Fatal(err)
			}
		}
	}
	if diff := cmp.Diff(all.Findings(), some.Findings()); diff != "" {
		t.Errorf("findings (-read +recalled):\n%s", diff)
	}
}
