package fetch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"placementsync/internal/fetch"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
)

const token = "pc_verysecret"

// handlerTransport is a transport that calls a handler without a network.
type handlerTransport struct{ http.Handler }

func (h handlerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result(), r.Context().Err()
}

// testConfig returns a configuration with very short retry delays.
func testConfig(h http.Handler) fetch.Config {
	return fetch.Config{
		BaseURL:   "http://service.test/v1",
		Token:     func(context.Context) (string, error) { return token, nil },
		Transport: handlerTransport{h},
		Retry:     fetch.Retry{MaxRetries: 2, Base: time.Microsecond, Max: time.Millisecond},
		PageSize:  10,
	}
}

// serverConfig returns the configuration of testConfig for a real HTTP server.
func serverConfig(t *testing.T, h http.Handler) fetch.Config {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	cfg := testConfig(nil)
	cfg.BaseURL, cfg.Transport = server.URL+"/v1", nil
	return cfg
}

func newClient(t *testing.T, cfg fetch.Config, store *fetch.ResponseStore) *fetch.Client {
	t.Helper()
	c, err := fetch.New(cfg, store, slog.New(slog.DiscardHandler))
	harness.Must(t, err)
	t.Cleanup(c.Close)
	return c
}

// testStore opens a store and closes it at the end of the test.
func testStore(t *testing.T, dir string) *fetch.ResponseStore {
	t.Helper()
	l, err := fetch.OpenResponseStore(dir, fetch.StoreOptions{})
	harness.Must(t, err)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

var (
	ordersStream  = stream.Stream{Name: "orders", Path: "/orders", Envelope: stream.Paginated}
	sniffedStream = stream.Stream{Name: "items", Path: "/items", Envelope: stream.Sniffed}
	outletDetail  = stream.Stream{
		Name: "outlets", Path: "/outlets/{outlet_id}", Envelope: stream.Object,
		IDColumns: []stream.IDColumn{{Table: "listings", Column: "outlet_id"}},
	}
	articleLists = stream.Stream{
		Name: "articles", Path: "/campaigns/{id}/articles", Envelope: stream.Sniffed,
		IDColumns: []stream.IDColumn{{Table: "campaigns", Column: "id"}},
	}
)

// record is a record of the test services.
type record struct {
	ID      string `json:"id"`
	Created *int64 `json:"created_at,omitempty"`
}

// envelope distinguishes absent from null in next_page.
type envelope struct {
	Records      []record        `json:"records"`
	TotalRecords *int64          `json:"total_records"`
	TotalPages   *int64          `json:"total_pages"`
	NextPage     json.RawMessage `json:"next_page"`
}

// collector is a Reader that collects ids.
type collector struct {
	mu  sync.Mutex
	ids map[string]uint64 // id to the Seq of its latest copy
	// isEmptyList reports whether a body is a list without records. Nil means that every body is parsed.
	isEmptyList func(body []byte) bool
}

func (c *collector) read(_ context.Context, r fetch.Response) (stream.PageFacts, error) {
	if c.isEmptyList != nil && c.isEmptyList(r.Body) {
		return stream.PageFacts{}, nil
	}
	e, paginated, err := parse(r.Body)
	if err != nil {
		return stream.PageFacts{}, fmt.Errorf("%w: %w", fetch.ErrMalformed, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ids == nil {
		c.ids = make(map[string]uint64)
	}
	p := stream.PageFacts{
		Records: len(e.Records), Paginated: paginated, IsNewestFirst: true,
		Total: intOrMinusOne(e.TotalRecords), TotalPages: intOrMinusOne(e.TotalPages), Next: nextPage(e.NextPage),
	}
	for i, rec := range e.Records {
		c.ids[rec.ID] = max(c.ids[rec.ID], r.Seq)
		p.IDs = append(p.IDs, hashID(rec.ID))
		addDate(&p, e.Records, i)
	}
	return p, nil
}

// addDate adds the created_at of record i to the facts.
func addDate(p *stream.PageFacts, records []record, i int) {
	created := records[i].Created
	if created == nil {
		p.IsNewestFirst = false
		return
	}
	at := time.Unix(*created, 0)
	if i == 0 {
		p.First, p.Last = at, at
	}
	p.IsNewestFirst = p.IsNewestFirst && !at.After(p.Last)
	if at.Before(p.Last) {
		p.Falls++
	}
	p.Last = at
}

func (c *collector) sorted() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ids []string
	for id := range c.ids {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func parse(body []byte) (e envelope, paginated bool, err error) {
	if len(body) > 0 && body[0] == '[' {
		return e, false, json.Unmarshal(body, &e.Records)
	}
	var one record
	if err := json.Unmarshal(body, &e); err != nil {
		return e, false, err
	}
	isDetail := e.Records == nil && json.Unmarshal(body, &one) == nil && one.ID != ""
	if isDetail {
		e.Records = []record{one}
	}
	return e, e.TotalRecords != nil || e.NextPage != nil, nil
}

func intOrMinusOne(n *int64) int64 {
	if n == nil {
		return -1
	}
	return *n
}

// nextPage returns -1 for an absent next_page, and 0 for null.
func nextPage(raw json.RawMessage) int64 {
	if raw == nil {
		return -1
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func hashID(id string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(id))
	return h.Sum64()
}

// listService is a service with a list of n records.
type listService struct {
	n int
	// cap limits the page size. 0 means no limit.
	cap int
	// shape is "" for the paginated envelope, "array", "records", or "fixed" for an array
	// that ignores page and limit.
	shape string
	// dated means that the records have a created_at and are sorted newest first.
	dated bool
	// totalError is added to total_records.
	totalError int
	// correctNext means that next_page depends on the number of records, and not on total_records.
	correctNext bool
	// endless means that every page states a next page.
	endless bool
	// clamp means that requests beyond the end return the last page.
	clamp bool
	// noNext means that next_page is absent.
	noNext bool
	// noTotal means that total_records and total_pages are absent.
	noTotal bool

	mu          sync.Mutex
	requestURIs []string
}

func (s *listService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	s.mu.Lock()
	s.requestURIs = append(s.requestURIs, r.URL.RequestURI())
	s.mu.Unlock()
	if limit == 0 {
		limit, page = 25, 1 // the defaults of spec 4.1
	}
	if s.cap > 0 {
		limit = min(limit, s.cap)
	}
	if s.shape == "fixed" {
		limit, page = s.n, 1
	}
	if s.clamp {
		page = min(page, max(1, (s.n+limit-1)/limit))
	}
	var records []record
	for i := (page - 1) * limit; i < min(page*limit, s.n); i++ {
		records = append(records, s.record(i))
	}
	s.write(w, records, page, limit)
}

func (s *listService) record(i int) record {
	r := record{ID: fmt.Sprintf("r%05d", i)}
	if s.dated {
		at := int64(1_000_000 - i)
		r.Created = &at
	}
	return r
}

func (s *listService) write(w http.ResponseWriter, records []record, page, limit int) {
	if records == nil {
		records = []record{}
	}
	switch s.shape {
	case "array", "fixed":
		json.NewEncoder(w).Encode(records)
		return
	case "records":
		json.NewEncoder(w).Encode(map[string]any{"records": records})
		return
	}
	total := s.n + s.totalError
	end := total
	if s.correctNext {
		end = s.n
	}
	body := map[string]any{
		"records": records, "total_records": total, "total_pages": (total + limit - 1) / limit,
		"current_page": page, "next_page": page + 1, "previous_page": nil,
	}
	if page*limit >= end && !s.endless {
		body["next_page"] = nil
	}
	if s.noNext {
		delete(body, "next_page")
	}
	if s.noTotal {
		delete(body, "total_records")
		delete(body, "total_pages")
	}
	json.NewEncoder(w).Encode(body)
}

func (s *listService) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requestURIs)
}
