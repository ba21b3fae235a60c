package sim_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/sim"
)

// testServer is a service behind an HTTP server.
type testServer struct {
	t       *testing.T
	service *sim.Service
	baseURL string
}

func serve(t *testing.T, opts sim.Options) testServer {
	t.Helper()
	service := sim.New(opts)
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	return testServer{t, service, server.URL}
}

// httpResponse is a response whose body was read as far as possible.
type httpResponse struct {
	status int
	header http.Header
	body   []byte
	err    error // the error while the body was read
}

// request sends one request with the token and does not follow redirects.
func (s testServer) request(method, path, token string) (httpResponse, error) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.baseURL+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Accept", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return httpResponse{}, err
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	return httpResponse{response.StatusCode, response.Header, body, err}, nil
}

// get sends a GET with the default token. The response must be complete.
func (s testServer) get(path string) httpResponse {
	s.t.Helper()
	got, err := s.request(http.MethodGet, path, "pc_demo")
	if err != nil || got.err != nil {
		s.t.Fatalf("GET %s: %v", path, errors.Join(err, got.err))
	}
	return got
}

// envelope is the envelope of spec 4.1.
type envelope struct {
	Records      []json.RawMessage `json:"records"`
	TotalRecords int               `json:"total_records"`
	TotalPages   int               `json:"total_pages"`
	CurrentPage  int               `json:"current_page"`
	NextPage     *int              `json:"next_page"`
	PreviousPage *int              `json:"previous_page"`
}

func (s testServer) page(path string) envelope {
	s.t.Helper()
	got := s.get(path)
	if got.status != http.StatusOK {
		s.t.Fatalf("GET %s: status %d: %s", path, got.status, got.body)
	}
	var out envelope
	if err := json.Unmarshal(got.body, &out); err != nil {
		s.t.Fatalf("GET %s: %v", path, err)
	}
	return out
}

// readPages reads all pages of a list by following next_page.
func (s testServer) readPages(path string, limit int) []json.RawMessage {
	s.t.Helper()
	var out []json.RawMessage
	for number := 1; ; {
		page := s.page(fmt.Sprintf("%s?limit=%d&page=%d", path, limit, number))
		out = append(out, page.Records...)
		if page.NextPage == nil {
			return out
		}
		number = *page.NextPage
	}
}

// record parses a record.
func record(t *testing.T, raw json.RawMessage) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatalf("parse the record %s: %v", raw, err)
	}
	return out
}

// sameBytes compares records byte by byte.
func sameBytes(a, b []json.RawMessage) bool {
	return slices.EqualFunc(a, b, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
}

// ids returns the ids of records in order.
func ids(t *testing.T, records []json.RawMessage) []string {
	t.Helper()
	var out []string
	for _, raw := range records {
		var identified struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal(raw, &identified); err != nil || identified.ID == "" {
			t.Fatalf("the record %s has no id: %v", raw, err)
		}
		out = append(out, identified.ID)
	}
	return out
}

// samplePaths returns paths with existing ids for each route, at most maxPerRoute for a route with a
// parameter.
func samplePaths(t *testing.T, service *sim.Service, maxPerRoute int) map[string][]string {
	t.Helper()
	parents := map[string][]string{
		"teams":     {service.TeamID()},
		"outlets":   distinctTexts(t, service.Records("/products/listings"), "outlet_id"),
		"products":  ids(t, service.Records("/products/listings")),
		"orders":    ids(t, service.Records("/orders")),
		"profiles":  distinctTexts(t, service.Records("/orders"), "profile_id"),
		"campaigns": ids(t, service.Records("/campaigns")),
		"articles":  distinctTexts(t, service.Records("/order-items"), "article_id"),
		"files":     ids(t, service.Records("/files")),
	}
	out := map[string][]string{}
	for _, pattern := range service.Routes() {
		before, after, ok := strings.Cut(pattern, "{")
		if !ok {
			out[pattern] = []string{pattern}
			continue
		}
		_, rest, _ := strings.Cut(after, "}")
		parentIDs, known := parents[strings.Trim(before, "/")]
		if !known {
			parentIDs = ids(t, service.Records(strings.TrimSuffix(before, "/")))
			parents[strings.Trim(before, "/")] = parentIDs
		}
		for _, id := range parentIDs[:min(maxPerRoute, len(parentIDs))] {
			out[pattern] = append(out[pattern], before+id+rest)
		}
	}
	return out
}

// distinctTexts returns the distinct strings of a field.
func distinctTexts(t *testing.T, records []json.RawMessage, field string) []string {
	t.Helper()
	var out []string
	for _, raw := range records {
		if text, ok := record(t, raw)[field].(string); ok && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}
