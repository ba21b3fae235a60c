package fetch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"placementsync/internal/fetch"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
)

// pageResponse is the content of a response for a page: the ids and the total, or -1 for an array. Each id is one
// character. Its character code is also the created_at of the record.
type pageResponse struct {
	ids   string
	total int64
}

// sequence is a service that returns its elements one after the other and ignores the requested page
// number. After the last element it repeats that element. Pages have two records.
type sequence []pageResponse

func (s *sequence) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	response := (*s)[0]
	if len(*s) > 1 {
		*s = (*s)[1:]
	}
	page, _ := strconv.ParseInt(r.URL.Query().Get("page"), 10, 64)
	records := []record{}
	for _, id := range strings.Fields(response.ids) {
		created := int64(id[0])
		records = append(records, record{ID: id, Created: &created})
	}
	if response.total < 0 {
		json.NewEncoder(w).Encode(records)
		return
	}
	body := map[string]any{"records": records, "total_records": response.total, "next_page": nil}
	if page*2 < response.total {
		body["next_page"] = page + 1
	}
	json.NewEncoder(w).Encode(body)
}

// unchangedList returns the ten pages of an unchanged list of twenty records, newest first.
func unchangedList() sequence {
	var pages sequence
	for i := range 10 {
		pages = append(pages, pageResponse{fmt.Sprintf("%c %c", 'z'-2*i, 'z'-2*i-1), 20})
	}
	return pages
}

// withResponse replaces one response of the sequence.
func (s sequence) withResponse(at int, response pageResponse) sequence {
	s[at] = response
	return s
}

// TestEachChangePreventsExact violates one condition of an unchanged pass in each case except "no
// change". Without the violation the list is exact.
func TestEachChangePreventsExact(t *testing.T) {
	first := pageResponse{"z y", 20}
	for name, c := range map[string]struct {
		responses sequence
		exact     bool
	}{
		"no change":                                {append(unchangedList(), first), true},
		"the total grows on the second page":       {append(unchangedList().withResponse(1, pageResponse{"x w", 21}), first), false},
		"the total grows on the last page":         {append(unchangedList().withResponse(9, pageResponse{"h g", 21}), first), false},
		"the total shrinks on the last page":       {append(unchangedList().withResponse(9, pageResponse{"h g", 19}), first), false},
		"the total grows after the last page":      {append(unchangedList(), pageResponse{"z y", 21}), false},
		"an id occurs twice":                       {append(unchangedList().withResponse(5, pageResponse{"q p", 20}).withResponse(6, pageResponse{"p n", 20}), first), false},
		"an id occurs twice and the total matches": {append(unchangedList().withResponse(6, pageResponse{"o n m", 20}), first), false},
		"one record fewer than the total":          {append(unchangedList().withResponse(9, pageResponse{"h", 20}), first), false},
		"page 1 has another id when read again":    {append(unchangedList(), pageResponse{"~ z", 20}), false},
		"page 1 lacks an id when read again":       {append(unchangedList(), pageResponse{"z", 20}), false},
		"a record newer than the record above":     {append(unchangedList().withResponse(9, pageResponse{"h ~", 20}), first), false},
		"a page newer than the page above":         {append(unchangedList().withResponse(9, pageResponse{"~ }", 20}), first), false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := testConfig(&c.responses)
			cfg.Concurrency, cfg.PageSize, cfg.MaxPasses = 1, 2, 1
			var got collector
			e, err := newClient(t, cfg, nil).Walk(t.Context(), sniffedStream, "", got.read)
			want := stream.BestEffort
			if c.exact {
				want = stream.Exact
			}
			if err != nil || e.Grade != want || e.Passes != 1 {
				t.Errorf("grade is %q after %d passes, want %s after one: %s (%v)", e.Grade, e.Passes, want, e.Reason, err)
			}
		})
	}
}

// passes is a service whose list has other pages in each pass. A request for page 1 begins the next
// pass. After the last pass, its pages are sent again.
type passes struct {
	pages [][]string
	total int64
	begun int // number of passes begun
}

func (s *passes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	if page == 1 {
		s.begun++
	}
	pages := s.pages[min(s.begun, len(s.pages))-1]
	response := sequence{{total: s.total}}
	if page <= len(pages) {
		response[0].ids = pages[page-1]
	}
	response.ServeHTTP(w, r)
}

// TestTwoEqualPassesRequireAllRecords reads a list with ascending dates. One pass does not prove
// it: two passes must contain every record. Without totals, a pass that repeats an id may lack a record.
func TestTwoEqualPassesRequireAllRecords(t *testing.T) {
	six, five := []string{"a b", "c d", "e f"}, []string{"a b", "c d", "e"}
	for name, c := range map[string]struct {
		total int64
		pages [][]string
		grade stream.Grade
	}{
		"two complete passes":                         {6, [][]string{six, six}, stream.Exact},
		"two passes that lack a record":               {6, [][]string{five, five}, stream.BestEffort},
		"a first pass that lacks a record":            {6, [][]string{five, six}, stream.BestEffort},
		"a second pass that lacks a record":           {6, [][]string{six, five}, stream.BestEffort},
		"two complete passes after an incomplete one": {6, [][]string{five, six, six}, stream.Repaired},
		"two equal passes without totals":             {-1, [][]string{five, five}, stream.Exact},
		"a record that is new on page 1":              {5, [][]string{{"a b", "c d"}, {"z a", "b c", "d"}}, stream.Repaired},
		"a second pass that repeats an id":            {-1, [][]string{five, {"a b", "b c", "d e"}}, stream.BestEffort},
		"a first pass that repeats an id":             {-1, [][]string{{"a b", "b c", "d e"}, five}, stream.BestEffort},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := testConfig(&passes{pages: c.pages, total: c.total})
			cfg.Concurrency, cfg.PageSize, cfg.MaxPasses = 1, 2, len(c.pages)
			var got collector
			e, err := newClient(t, cfg, nil).Walk(t.Context(), sniffedStream, "", got.read)
			if err != nil || e.Grade != c.grade {
				t.Errorf("grade is %q, want %q: %s (%v)", e.Grade, c.grade, e.Reason, err)
			}
		})
	}
}

// TestRejectedRecordsAndCopies checks the grade of lists with rejected records, and with
// copies within one response.
func TestRejectedRecordsAndCopies(t *testing.T) {
	for name, c := range map[string]struct {
		total    int64
		page     stream.PageFacts
		grade    stream.Grade
		rejected int
	}{
		"a complete list":                {3, stream.PageFacts{Records: 3, IDs: []uint64{1, 2, 3}}, stream.Exact, 0},
		"one of three rejected":          {3, stream.PageFacts{Records: 3, IDs: []uint64{1, 2}, RejectedRecords: 1}, stream.BestEffort, 1},
		"one of three is a copy":         {3, stream.PageFacts{Records: 3, IDs: []uint64{1, 2}, Copies: 1}, stream.Exact, 0},
		"a copy, and one record too few": {4, stream.PageFacts{Records: 3, IDs: []uint64{1, 2}, Copies: 1}, stream.BestEffort, 0},
		"one rejected, and one too few":  {4, stream.PageFacts{Records: 3, IDs: []uint64{1, 2}, RejectedRecords: 1}, stream.BestEffort, 1},
		"no totals":                      {-1, stream.PageFacts{Records: 3, IDs: []uint64{1, 2, 3}}, stream.Exact, 0},
		"no totals, one rejected":        {-1, stream.PageFacts{Records: 3, IDs: []uint64{1, 2}, RejectedRecords: 1}, stream.BestEffort, 1},
		"no totals, copies":              {-1, stream.PageFacts{Records: 3, IDs: []uint64{1}, Copies: 2}, stream.Exact, 0},
		"no totals, all rejected":        {-1, stream.PageFacts{Records: 2, RejectedRecords: 2}, stream.BestEffort, 2},
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
			e, err := newClient(t, testConfig(&listService{}), nil).Walk(t.Context(), sniffedStream, "", read)
			if err != nil || e.Grade != c.grade || e.Rejected != c.rejected {
				t.Errorf("grade is %q with %d rejected, want %q with %d: %s (%v)", e.Grade, e.Rejected, c.grade, c.rejected, e.Reason, err)
			}
		})
	}
}

// TestRejectedRecordsInSeveralPasses reads lists in which the record "!" is rejected. It counts as one of the records of
// the total only if the list does not change.
func TestRejectedRecordsInSeveralPasses(t *testing.T) {
	for name, c := range map[string]struct {
		total  int64
		pages  [][]string
		reason string
	}{
		"without totals":    {-1, [][]string{{"a b", "c !", "e"}, {"a b", "c !", "e"}}, "1 record rejected (meta.rejects); apart from that: the service states no totals; "},
		"an unchanged list": {6, [][]string{{"a b", "c !", "e f"}, {"a b", "c !", "e f"}}, "1 record rejected (meta.rejects); apart from that: at one moment, "},
		"a changed list":    {6, [][]string{{"a b", "c !", "e f"}, {"a b", "d !", "e f"}, {"a b", "d !", "e f"}}, "two passes were identical but do not prove completeness: "},
	} {
		cfg := testConfig(&passes{pages: c.pages, total: c.total})
		cfg.Concurrency, cfg.PageSize, cfg.MaxPasses = 1, 2, len(c.pages)
		var got collector
		read := func(ctx context.Context, r fetch.Response) (stream.PageFacts, error) {
			p, err := got.read(ctx, r)
			p.IDs = slices.DeleteFunc(p.IDs, func(id uint64) bool { return id == hashID("!") })
			p.RejectedRecords = p.Records - len(p.IDs)
			return p, err
		}
		e, err := newClient(t, cfg, nil).Walk(t.Context(), sniffedStream, "", read)
		if err != nil || e.Grade != stream.BestEffort || e.Rejected != 1 || !strings.HasPrefix(e.Reason, c.reason) {
			t.Errorf("%s: got %+v and %v, want one rejected record and the reason %q", name, e, err, c.reason)
		}
	}
}

// TestPagesOfOneRecord asks for one record a page, without totals. An insert moves page 1 to page 2, which is not the
// end of the list. A service that ignores the page number repeats the page twice.
func TestPagesOfOneRecord(t *testing.T) {
	moving := sequence{{"a", -1}, {"a", -1}, {"b", -1}, {"", -1}, {"z", -1}, {"a", -1}, {"b", -1}, {"", -1}}
	unpaged := &listService{n: 1, shape: "fixed"}
	for _, c := range []struct {
		service http.Handler
		ids     int
		grade   stream.Grade
	}{{&moving, 3, stream.BestEffort}, {unpaged, 1, stream.Exact}} {
		cfg := testConfig(c.service)
		cfg.Concurrency, cfg.PageSize, cfg.MaxPasses, cfg.MaxPages = 1, 1, 2, 20
		var got collector
		e, err := newClient(t, cfg, nil).Walk(t.Context(), sniffedStream, "", got.read)
		if err != nil || len(got.ids) != c.ids || e.Grade != c.grade {
			t.Errorf("read %q, %+v and %v, want %d ids and %s", got.sorted(), e, err, c.ids, c.grade)
		}
	}
	if n := unpaged.requests(); n != 6 {
		t.Errorf("a list of one record took %d requests, want two passes of 3", n)
	}
}

// TestRepeatedPageCountsOnce reads a list that is not paged: page 2 is page 1 again.
func TestRepeatedPageCountsOnce(t *testing.T) {
	cfg := testConfig(&listService{})
	cfg.PageSize = 2
	read := func(context.Context, fetch.Response) (stream.PageFacts, error) {
		return stream.PageFacts{Records: 2, IDs: []uint64{1}, RejectedRecords: 1}, nil
	}
	e, err := newClient(t, cfg, nil).Walk(t.Context(), sniffedStream, "", read)
	if err != nil || e.Rejected != 1 || !strings.HasPrefix(e.Reason, "1 record rejected") {
		t.Errorf("got %+v and %v, want one rejected record", e, err)
	}
}

// TestCopiesCountAsRecords reads a list newest first in which a page contains a record twice. The total counts both.
func TestCopiesCountAsRecords(t *testing.T) {
	responses := append(unchangedList().withResponse(5, pageResponse{"p p", 20}), pageResponse{"z y", 20})
	cfg := testConfig(&responses)
	cfg.Concurrency, cfg.PageSize, cfg.MaxPasses = 1, 2, 1
	var got collector
	read := func(ctx context.Context, r fetch.Response) (stream.PageFacts, error) {
		p, err := got.read(ctx, r)
		p.IDs = slices.Compact(p.IDs)
		p.Copies = p.Records - len(p.IDs)
		return p, err
	}
	e, err := newClient(t, cfg, nil).Walk(t.Context(), sniffedStream, "", read)
	if err != nil || e.Grade != stream.Exact || e.Distinct != 19 {
		t.Errorf("got %+v and %v, want exact with 19 ids", e, err)
	}
}

func TestIDWithRejectedRecordIsUnproven(t *testing.T) {
	read := func(_ context.Context, r fetch.Response) (stream.PageFacts, error) {
		switch r.Param {
		case "rejected":
			return stream.PageFacts{Records: 1, RejectedRecords: 1}, nil
		case "empty":
			return stream.PageFacts{IsDoubtful: true}, nil
		}
		return stream.PageFacts{Records: 1, IDs: []uint64{hashID(r.Param)}}, nil
	}
	ids := slices.Values([]string{"complete", "rejected", "empty"})
	d, err := newClient(t, testConfig(textBody(`{}`)), nil).Details(t.Context(), outletDetail, ids, read)
	harness.Must(t, err)
	if got := fmt.Sprintf("%v %v %d %d %s", d.Unproven, d.Doubtful, d.Rejected, d.Failed, d.Grade); got != "[rejected] [empty] 1 0 best_effort" {
		t.Errorf("unproven ids, empty objects, rejected, failed, grade are %s, want [rejected] [empty] 1 0 best_effort", got)
	}
}

// TestPageSizeIsLearned reads a list with totals and then an array. If the array is shorter than
// the pages of the list, it must be accepted as complete after one request.
func TestPageSizeIsLearned(t *testing.T) {
	for name, c := range map[string]struct {
		paged, array *listService
		requests     int // number of requests for the array; 0 means more than one
	}{
		"shorter than the default page":                  {&listService{n: 3, dated: true}, &listService{n: 24, shape: "array"}, 1},
		"as long as the default page":                    {&listService{n: 3, dated: true}, &listService{n: 25, shape: "array"}, 0},
		"shorter than the requested size":                {&listService{n: 200, dated: true}, &listService{n: 99, shape: "array"}, 1},
		"as long as the requested size":                  {&listService{n: 200, dated: true}, &listService{n: 100, shape: "array"}, 0},
		"as long as a page of a lower cap":               {&listService{n: 9, cap: 4, dated: true}, &listService{n: 9, cap: 4, shape: "array"}, 0},
		"shorter than a page of a cap above the default": {&listService{n: 90, cap: 40, dated: true}, &listService{n: 39, cap: 40, shape: "array"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			mux := http.NewServeMux()
			mux.Handle("/v1/orders", c.paged)
			mux.Handle("/v1/items", c.array)
			cfg := testConfig(mux)
			cfg.PageSize = 100
			client := newClient(t, cfg, nil)
			var orders, items collector
			if _, err := client.Walk(t.Context(), ordersStream, "", orders.read); err != nil {
				t.Fatal(err)
			}
			e, err := client.Walk(t.Context(), sniffedStream, "", items.read)
			if err != nil || e.Grade != stream.Exact || len(items.ids) != c.array.n {
				t.Errorf("read %d records, %s: %s (%v); want %d, exact", len(items.ids), e.Grade, e.Reason, err, c.array.n)
			}
			n := c.array.requests()
			if c.requests == 0 && n < 2 {
				t.Errorf("the array took %d requests, want more than one", n)
			}
			if c.requests > 0 && n != c.requests {
				t.Errorf("the array took %d requests, want %d", n, c.requests)
			}
		})
	}
}

// TestEvidenceOfAChangedList reads a list with an id on two pages, and with another total at the end.
func TestEvidenceOfAChangedList(t *testing.T) {
	responses := unchangedList().withResponse(6, pageResponse{"p n", 20}).withResponse(9, pageResponse{"h g", 21})
	cfg := testConfig(&responses)
	cfg.Concurrency, cfg.PageSize, cfg.MaxPasses = 1, 2, 1
	var got collector
	e, err := newClient(t, cfg, nil).Walk(t.Context(), ordersStream, "", got.read)
	if err != nil || e.TotalFirst != 20 || e.TotalLast != 21 || e.Repeated != 1 || e.Distinct != 19 {
		t.Errorf("got %+v and %v, want the totals 20 and 21, one repeated id and 19 different ones", e, err)
	}
	responses = unchangedList().withResponse(6, pageResponse{"p n", 20})
	d, err := newClient(t, cfg, nil).Details(t.Context(), articleLists, numberedIDs(1), got.read)
	if err != nil || d.Repeated != 1 || d.Distinct != 19 {
		t.Errorf("the list of an id: got %+v and %v, want one repeated id and 19 different ones", d, err)
	}
}
