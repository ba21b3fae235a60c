package transform_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/stream"
	"placementsync/internal/transform"
)

const richBody = `{"records":[{"id":"a","label":"caf\u00e9","flag":"yes","doc":{"k":[1,2]},"zz":{"n":null},"parts":[{"name":"p"},7,{"colour":1}],` +
	`"at":"2026-03-01","price":1e-7,"token_type":"new"},{"parts":[{"name":"late"}],"id":"b","id":"c"},{"label":"no id"}],"total_records":3,"next_page":null}`

func TestMalformedBodyIsDiscarded(t *testing.T) {
	_, records, _ := strings.Cut(richBody, "[")
	records, _, _ = strings.Cut(records, `],"total_records"`)
	for _, s := range []string{richBody, "[" + records + "]"} {
		d := decoderOf(t, "things")
		kept := decodeAndRender(t, d, `{"id":"before","zz":1,"big":"x","parts":["bare"]}`)
		for n := 1; n < len(s); n++ { // an empty body is an empty list
			page, err := d.Decode([]byte(s[:n]), transform.Origin{Seq: 2})
			if !errors.Is(err, transform.ErrMalformed) {
				t.Fatalf("the first %d bytes gave page %+v, error %v; want ErrMalformed", n, page, err)
			}
		}
		page := stream.PageFacts{Records: 1, IDs: make([]uint64, 1)} // as in kept
		if diff := cmp.Diff(kept, render(t, d, page, nil)); diff != "" {
			t.Errorf("after malformed bodies the result differs (-want +got):\n%s", diff)
		}
	}
}

// decodeAndRender decodes a body with d. It renders a second decoder of the same body, because rendering removes the
// rows from a decoder.
func decodeAndRender(t *testing.T, d *transform.Decoder, body string) string {
	t.Helper()
	if _, err := d.Decode([]byte(body), transform.Origin{Seq: 1}); err != nil {
		t.Fatal(err)
	}
	other := decoderOf(t, "things")
	page, err := other.Decode([]byte(body), transform.Origin{Seq: 1})
	if err != nil {
		t.Fatal(err)
	}
	return render(t, other, page, nil)
}

func TestDecodingIsRepeatable(t *testing.T) {
	d := decoderOf(t, "things")
	var want string
	for i := range 3 {
		page, err := d.Decode([]byte(richBody), transform.Origin{Seq: 1})
		got := render(t, d, page, err)
		if i == 0 {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("decode %d differs (-first +this):\n%s", i, diff)
		}
	}
}

func TestBatchesDoNotChange(t *testing.T) {
	d := decoderOf(t, "things")
	body := []byte(`[{"id":"first","label":"one","doc":{"a":1},"parts":[{"name":"p"}]}]`)
	if _, err := d.Decode(body, transform.Origin{}); err != nil {
		t.Fatal(err)
	}
	clear(body)
	batches := d.Flush()
	want := fmt.Sprint(rowsOf(t, batches))
	if d.Rows() != 0 || len(d.Flush()) != 0 {
		t.Errorf("after Flush %d rows are left, want none", d.Rows())
	}
	for range 100 {
		if _, err := d.Decode([]byte(richBody), transform.Origin{}); err != nil {
			t.Fatal(err)
		}
	}
	d.Flush()
	if got := fmt.Sprint(rowsOf(t, batches)); got != want || !strings.Contains(got, "first") {
		t.Errorf("after more decoding the batch is %s, want %s as before", got, want)
	}
}

func TestDecodersShareABinding(t *testing.T) {
	b := compile(t, streamNamed(t, "things"))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			d := b.NewDecoder()
			for range 50 {
				if _, err := d.Decode([]byte(richBody), transform.Origin{}); err != nil {
					t.Error(err)
				}
			}
			if d.Rows() != 150 {
				t.Errorf("decoded %d rows, want 150", d.Rows())
			}
		})
	}
	wg.Wait()
}

func TestPageIsNewestFirst(t *testing.T) {
	for name, c := range map[string]struct {
		days        []int
		newestFirst bool
		falls       int // the number of records that are older than the record before
	}{
		"newest first":            {[]int{9, 8, 8, 1}, true, 2},
		"oldest first":            {[]int{1, 2}, false, 0},
		"newest last":             {[]int{5, 4, 6}, false, 1},
		"in no order":             {[]int{5, 1, 4, 3}, false, 2},
		"one record":              {[]int{3}, true, 0},
		"no records":              {nil, false, 0},
		"a record without a date": {[]int{5, 0, 4}, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var records []string
			for i, day := range c.days {
				at := "null"
				if day > 0 {
					at = fmt.Sprintf(`"2026-03-0%dT00:00:00Z"`, day)
				}
				records = append(records, fmt.Sprintf(`{"id":"%d","created_at":%s}`, i, at))
			}
			page, err := decoderOf(t, "product_listings").Decode([]byte("["+strings.Join(records, ",")+"]"), transform.Origin{})
			if err != nil || page.IsNewestFirst != c.newestFirst || page.Falls != c.falls {
				t.Errorf("IsNewestFirst is %t with %d falls (error %v), want %t with %d", page.IsNewestFirst, page.Falls, err, c.newestFirst, c.falls)
			}
		})
	}
}

func TestIDsAreHashesOfKeys(t *testing.T) {
	d := decoderOf(t, "campaign_status_counts")
	ids := func(param, body string) []uint64 {
		page, err := d.Decode([]byte(body), transform.Origin{Param: param})
		if err != nil {
			t.Fatal(err)
		}
		return append([]uint64(nil), page.IDs...)
	}
	a := ids("c", `[{"prefix":"x","count":1},{"prefix":"y","count":1}]`)
	if b := ids("c", `[{"prefix":"y","count":2},{"prefix":"x","count":3}]`); len(b) != 2 || a[0] != b[1] || a[1] != b[0] {
		t.Errorf("the keys in reverse order have the ids %v, want %v in reverse order", b, a)
	}
	if b := ids("d", `[{"prefix":"x","count":1}]`); b[0] == a[0] {
		t.Error("records with another parameter have the same id, want different ids")
	}
	if b := ids("x", `[{"prefix":"c","count":1}]`); b[0] == a[0] {
		t.Error("records whose parameter and prefix are swapped have the same id, want different ids")
	}
}

func TestDriftIsBounded(t *testing.T) {
	d := decoderOf(t, "things")
	for i := range 3000 {
		if _, err := d.Decode(fmt.Appendf(nil, `{"id":"a","f%d":%q}`, i, strings.Repeat("é", 300)), transform.Origin{}); err != nil {
			t.Fatal(err)
		}
	}
	drift := d.Findings().Drift
	if n := len(drift); n != 1001 {
		t.Fatalf("%d paths, want 1,000 and one for all other paths", n)
	}
	for _, f := range drift {
		wantCount := int64(1)
		if f.Path == "…" {
			wantCount = 2000
		}
		if f.Count != wantCount {
			t.Errorf("the path %s was found in %d records, want %d", f.Path, f.Count, wantCount)
		}
		if len(f.Sample) > 200 {
			t.Errorf("the sample of %s has %d bytes, want at most 200", f.Path, len(f.Sample))
		}
		if strings.ContainsRune(f.Sample, '\uFFFD') {
			t.Errorf("the sample of %s ends within a character: %q", f.Path, f.Sample)
		}
	}
	if again := d.Findings(); len(again.Drift) != 0 {
		t.Errorf("%d findings were returned a second time, want none", len(again.Drift))
	}
}

func TestAllocationsPerPage(t *testing.T) {
	d := decoderOf(t, "product_listings")
	body := listingsPage()
	allocs := testing.AllocsPerRun(50, func() {
		if _, err := d.Decode(body, transform.Origin{Seq: 1}); err != nil {
			t.Fatal(err)
		}
		if d.Rows() >= 10_000 {
			d.Flush()
		}
	})
	if allocs > 100 {
		t.Errorf("%v allocations for a page of 100 records, want at most 100", allocs)
	}
}
