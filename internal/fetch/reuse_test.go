package fetch_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/fetch"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
)

// reusingReader is a Reader that returns Response.Previous, if it is set, without decoding the
// body.
type reusingReader struct {
	collector
	decoded, reused atomic.Int64 // numbers of responses
	// rejects is the number of rejects of each page.
	rejects int
}

func (c *reusingReader) readOrReuse(ctx context.Context, r fetch.Response) (stream.PageFacts, error) {
	if r.Previous != nil {
		c.reused.Add(1)
		return *r.Previous, nil
	}
	c.decoded.Add(1)
	p, err := c.collector.read(ctx, r)
	p.Rejects = c.rejects
	return p, err
}

// TestIdenticalPagesAreReused compares walks that reuse pages with walks that decode every
// page.
func TestIdenticalPagesAreReused(t *testing.T) {
	six, fTwice := []string{"a b", "c d", "e f"}, []string{"a b", "c f", "e f"}
	for name, c := range map[string]struct {
		list            func() http.Handler
		decoded, reused int64 // numbers of responses, not compared if decoded is 0
	}{
		"a second pass over an unchanged list":                   {func() http.Handler { return &listService{n: 35} }, 4, 4},
		"the confirmation of a list that is sorted newest first": {func() http.Handler { return &listService{n: 35, dated: true} }, 4, 1},
		"records without totals":                                 {func() http.Handler { return &listService{n: 40, shape: "records"} }, 6, 4},
		"a list that is not paged":                               {func() http.Handler { return &listService{n: 35, shape: "fixed"} }, 2, 0},
		"the last page is repeated":                              {func() http.Handler { return &listService{n: 35, shape: "array", clamp: true} }, 5, 5},
		"one page changes":                                       {func() http.Handler { return &passes{pages: [][]string{six, {"a b", "c g", "e f"}}, total: 6} }, 4, 5},
		"a record occurs twice":                                  {func() http.Handler { return &passes{pages: [][]string{six, fTwice, six}, total: 6} }, 5, 4},
		"the second pass lacks the last page":                    {func() http.Handler { return &passes{pages: [][]string{six, six[:2], six}, total: 6} }, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			walk := func(read fetch.Reader, l *fetch.ResponseStore) fetch.Evidence {
				t.Helper()
				cfg := testConfig(c.list())
				if _, ok := c.list().(*passes); ok {
					cfg.PageSize = 2
				}
				cfg.Concurrency = 1
				e, err := newClient(t, cfg, l).Walk(t.Context(), sniffedStream, "", read)
				harness.Must(t, err)
				return e
			}
			var decoding collector
			var reusing reusingReader
			want := walk(decoding.read, testStore(t, t.TempDir()))
			if diff := cmp.Diff(want, walk(reusing.readOrReuse, testStore(t, t.TempDir()))); diff != "" {
				t.Errorf("evidence with reused pages (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(decoding.sorted(), reusing.sorted()); diff != "" {
				t.Errorf("records read (-want +got):\n%s", diff)
			}
			if c.decoded > 0 && (reusing.decoded.Load() != c.decoded || reusing.reused.Load() != c.reused) {
				t.Errorf("decoded %d and reused %d responses, want %d and %d", reusing.decoded.Load(), reusing.reused.Load(), c.decoded, c.reused)
			}
		})
	}
}

// TestPageThatChangesBackIsReadAgain changes page 2 in the second pass, and back in the third.
// The body is the same as in the first pass, but not as in the second, so it must be decoded.
func TestPageThatChangesBackIsReadAgain(t *testing.T) {
	cfg := testConfig(&passes{pages: [][]string{{"a b", "c d", "e"}, {"a b", "d c", "f"}, {"a b", "c d", "e f"}}, total: 6})
	cfg.Concurrency, cfg.PageSize, cfg.MaxPasses = 1, 2, 3
	var got reusingReader
	first, last := map[int]uint64{}, map[int]fetch.Response{}
	read := func(ctx context.Context, r fetch.Response) (stream.PageFacts, error) {
		if first[r.Page] == 0 {
			first[r.Page] = r.Seq
		}
		last[r.Page] = r
		return got.readOrReuse(ctx, r)
	}
	if _, err := newClient(t, cfg, testStore(t, t.TempDir())).Walk(t.Context(), sniffedStream, "", read); err != nil {
		t.Fatal(err)
	}
	// Page 2 with c was decoded again in the last pass. Page 1 with a did not change and was decoded only once.
	if got.ids["c"] != last[2].Seq || got.ids["a"] != first[1] || last[1].Pass != 3 {
		t.Errorf("the latest copies of c and a are in responses %d and %d, want %d and %d; the last pass is %d, want 3",
			got.ids["c"], got.ids["a"], last[2].Seq, first[1], last[1].Pass)
	}
}

// TestPagesWithRejectsAreNotReused checks that each pass decodes all pages with rejects, because the
// pass with the most rejects is reported.
func TestPagesWithRejectsAreNotReused(t *testing.T) {
	got := reusingReader{rejects: 1}
	if _, err := newClient(t, testConfig(&listService{n: 35}), testStore(t, t.TempDir())).Walk(t.Context(), sniffedStream, "", got.readOrReuse); err != nil {
		t.Fatal(err)
	}
	if got.reused.Load() > 0 {
		t.Errorf("reused %d pages with rejects, want none", got.reused.Load())
	}
}
