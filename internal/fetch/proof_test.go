package fetch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"placementsync/internal/fetch"
	"placementsync/internal/stream"
)

// told is one answer of a sequence: the ids of a page, newest first, and the total
// beside them.
type told struct {
	ids   string
	total int64
}

// sequence answers the requests for a list one after the other, whatever they ask
// for; the last answer stays. Pages hold two records.
type sequence []told

func (s *sequence) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := (*s)[0]
	if len(*s) > 1 {
		*s = (*s)[1:]
	}
	page, _ := strconv.ParseInt(r.URL.Query().Get("page"), 10, 64)
	records := []record{}
	for _, id := range strings.Fields(now.ids) {
		created := int64(id[0])
		records = append(records, record{ID: id, Created: &created})
	}
	body := map[string]any{"records": records, "total_records": now.total, "next_page": nil}
	if page*2 < now.total {
		body["next_page"] = page + 1
	}
	json.NewEncoder(w).Encode(body)
}

// ten is a list of twenty records, ten pages, newest first, as it is read while
// nothing moves.
func ten() sequence {
	var pages sequence
	for i := range 10 {
		pages = append(pages, told{fmt.Sprintf("%c %c", 'z'-2*i, 'z'-2*i-1), 20})
	}
	return pages
}

// with replaces one answer of a sequence.
func (s sequence) with(at int, now told) sequence {
	s[at] = now
	return s
}

// TestEachSignOfMovementKeepsAListFromBeingExact tells every condition of a
// quiet pass apart: each list breaks one of them, once, and would be exact
// without.
func TestEachSignOfMovementKeepsAListFromBeingExact(t *testing.T) {
	first := told{"z y", 20}
	for name, c := range map[string]struct {
		answers sequence
		exact   bool
	}{
		"nothing moves":                             {append(ten(), first), true},
		"the total grows on the second page":        {append(ten().with(1, told{"x w", 21}), first), false},
		"the total grows on the last page":          {append(ten().with(9, told{"h g", 21}), first), false},
		"the total shrinks on the last page":        {append(ten().with(9, told{"h g", 19}), first), false},
		"the total grows after the last page":       {append(ten(), told{"z y", 21}), false},
		"an id comes twice":                         {append(ten().with(5, told{"q p", 20}).with(6, told{"p n", 20}), first), false},
		"an id comes twice and the total is met":    {append(ten().with(6, told{"o n m", 20}), first), false},
		"one record fewer than the total":           {append(ten().with(9, told{"h", 20}), first), false},
		"page 1 has another id at the end":          {append(ten(), told{"~ z", 20}), false},
		"page 1 lacks an id at the end":             {append(ten(), told{"z", 20}), false},
		"a record that is newer than the one above": {append(ten().with(9, told{"h ~", 20}), first), false},
		"a page that is newer than the one above":   {append(ten().with(9, told{"~ }", 20}), first), false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := quick(&c.answers)
			cfg.Concurrency, cfg.PageSize, cfg.MaxPasses = 1, 2, 1
			var got collector
			e, err := client(t, cfg, nil).Walk(t.Context(), sniffed, "", got.read)
			if err != nil || (e.Grade == fetch.Exact) != c.exact {
				t.Errorf("grade is %q, exact should be %v: %s (%v)", e.Grade, c.exact, e.Reason, err)
			}
		})
	}
}

// passes answers each pass over a list with pages of its own. A pass begins with
// page 1; the last one stays.
type passes struct {
	pages [][]string
	total int64
	began int
}

func (s *passes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	if page == 1 {
		s.began++
	}
	now := s.pages[min(s.began, len(s.pages))-1]
	answer := sequence{{total: s.total}}
	if page <= len(now) {
		answer[0].ids = now[page-1]
	}
	answer.ServeHTTP(w, r)
}

// TestAnInstantProvesAListToTheRecord holds the count at an instant: a record
// that one of two passes did not see is not proven to be there, in a list whose
// order rises, so that a pass alone proves nothing.
func TestAnInstantProvesAListToTheRecord(t *testing.T) {
	six, five := []string{"a b", "c d", "e f"}, []string{"a b", "c d", "e"}
	for name, c := range map[string]struct {
		pages [][]string
		grade fetch.Grade
	}{
		"two passes that see all":      {[][]string{six, six}, fetch.Exact},
		"two passes that lack one":     {[][]string{five, five}, fetch.BestEffort},
		"a first pass that lacks one":  {[][]string{five, six}, fetch.BestEffort},
		"a second pass that lacks one": {[][]string{six, five}, fetch.BestEffort},
		"a third pass that sees all":   {[][]string{five, six, six}, fetch.Repaired},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := quick(&passes{pages: c.pages, total: 6})
			cfg.Concurrency, cfg.PageSize, cfg.MaxPasses = 1, 2, len(c.pages)
			var got collector
			e, err := client(t, cfg, nil).Walk(t.Context(), sniffed, "", got.read)
			if err != nil || e.Grade != c.grade {
				t.Errorf("grade is %q, want %q: %s (%v)", e.Grade, c.grade, e.Reason, err)
			}
		})
	}
}

// TestRefusedRecordsAndCopies holds what records that were not taken, and copies
// within one answer, do to the grade.
func TestRefusedRecordsAndCopies(t *testing.T) {
	for name, c := range map[string]struct {
		total  int64
		page   stream.PageFacts
		grade  fetch.Grade
		refuse int
	}{
		"a whole list":                        {3, stream.PageFacts{Records: 3, IDs: []uint64{1, 2, 3}}, fetch.Exact, 0},
		"one of three refused":                {3, stream.PageFacts{Records: 3, IDs: []uint64{1, 2}, Refused: 1}, fetch.BestEffort, 1},
		"one of three a copy":                 {3, stream.PageFacts{Records: 3, IDs: []uint64{1, 2}, Copies: 1}, fetch.Exact, 0},
		"a copy, and a record too few":        {4, stream.PageFacts{Records: 3, IDs: []uint64{1, 2}, Copies: 1}, fetch.BestEffort, 0},
		"a bare list":                         {-1, stream.PageFacts{Records: 3, IDs: []uint64{1, 2, 3}}, fetch.Exact, 0},
		"a bare list with one refused":        {-1, stream.PageFacts{Records: 3, IDs: []uint64{1, 2}, Refused: 1}, fetch.BestEffort, 1},
		"a bare list of copies":               {-1, stream.PageFacts{Records: 3, IDs: []uint64{1}, Copies: 2}, fetch.Exact, 0},
		"a bare list of which all is refused": {-1, stream.PageFacts{Records: 2, Refused: 2}, fetch.BestEffort, 2},
	} {
		t.Run(name, func(t *testing.T) {
			read := func(_ context.Context, r fetch.Response) (stream.PageFacts, error) {
				p := c.page
				p.Paginated, p.Total, p.TotalPages = c.total >= 0, c.total, -1
				if r.Page > 1 {
					p = stream.PageFacts{Paginated: p.Paginated, Total: p.Total, TotalPages: -1}
				}
				return p, nil
			}
			e, err := client(t, quick(&shelf{}), nil).Walk(t.Context(), sniffed, "", read)
			if err != nil || e.Grade != c.grade || e.Refused != c.refuse {
				t.Errorf("grade is %q with %d refused, want %q with %d: %s (%v)", e.Grade, e.Refused, c.grade, c.refuse, e.Reason, err)
			}
		})
	}
}

// TestAnIdWhoseRecordIsRefusedIsNotProven holds that the rows of such an id are
// not known whole.
func TestAnIdWhoseRecordIsRefusedIsNotProven(t *testing.T) {
	read := func(_ context.Context, r fetch.Response) (stream.PageFacts, error) {
		switch r.Param {
		case "refused":
			return stream.PageFacts{Records: 1, Refused: 1}, nil
		case "bare":
			return stream.PageFacts{Bare: true}, nil
		}
		return stream.PageFacts{Records: 1, IDs: []uint64{hash(r.Param)}}, nil
	}
	ids := func(yield func(string, error) bool) {
		_ = yield("whole", nil) && yield("refused", nil) && yield("bare", nil)
	}
	d, err := client(t, quick(body(`{}`)), nil).Details(t.Context(), detail, ids, read)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%v %v %d %d %s", d.Unproven, d.Bare, d.Refused, d.Failed, d.Grade); got != "[refused] [bare] 1 0 best_effort" {
		t.Errorf("unproven, bare, refused, failed, grade are %s", got)
	}
}

// TestHowLongAPageIsIsLearned holds which arrays are taken for whole after one
// request: those shorter than any page that lists with a total were seen to have.
func TestHowLongAPageIsIsLearned(t *testing.T) {
	for name, c := range map[string]struct {
		paged, array *shelf
		requests     int // for the array; 0: more than one
	}{
		"shorter than what is cut by default":          {&shelf{n: 3, dated: true}, &shelf{n: 24, shape: "array"}, 1},
		"longer than what is cut by default":           {&shelf{n: 3, dated: true}, &shelf{n: 25, shape: "array"}, 0},
		"shorter than a page of the limit":             {&shelf{n: 200, dated: true}, &shelf{n: 99, shape: "array"}, 1},
		"as long as a page of the limit":               {&shelf{n: 200, dated: true}, &shelf{n: 100, shape: "array"}, 0},
		"shorter than a list that came in one page":    {&shelf{n: 60, dated: true}, &shelf{n: 59, shape: "array"}, 1},
		"as long as a list that came in one page":      {&shelf{n: 60, dated: true}, &shelf{n: 60, shape: "array"}, 0},
		"as long as a page of a lower cap":             {&shelf{n: 9, cap: 4, dated: true}, &shelf{n: 9, cap: 4, shape: "array"}, 0},
		"shorter than a page of a cap above the usual": {&shelf{n: 90, cap: 40, dated: true}, &shelf{n: 39, cap: 40, shape: "array"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			mux := http.NewServeMux()
			mux.Handle("/v1/orders", c.paged)
			mux.Handle("/v1/items", c.array)
			cfg := quick(mux)
			cfg.PageSize = 100
			reader := client(t, cfg, nil)
			var orders, items collector
			if _, err := reader.Walk(t.Context(), ordersStream, "", orders.read); err != nil {
				t.Fatal(err)
			}
			e, err := reader.Walk(t.Context(), sniffed, "", items.read)
			if err != nil || e.Grade != fetch.Exact || len(items.ids) != c.array.n {
				t.Errorf("read %d of %d records, %s: %s (%v)", len(items.ids), c.array.n, e.Grade, e.Reason, err)
			}
			if n := c.array.requests(); c.requests > 0 && n != c.requests || c.requests == 0 && n < 2 {
				t.Errorf("the array was asked for %d times", n)
			}
		})
	}
}
