package sim_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/klauspost/compress/zstd"

	"placementsync/internal/sim"
)

// decodeBody decodes a response body.
func decodeBody(t *testing.T, coding string, body []byte) []byte {
	t.Helper()
	var plain io.Reader = bytes.NewReader(body)
	var err error
	switch coding {
	case "gzip":
		plain, err = gzip.NewReader(plain)
	case "zstd":
		plain, err = zstd.NewReader(plain)
	}
	if err == nil {
		body, err = io.ReadAll(plain)
	}
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestContentEncoding(t *testing.T) {
	const path = "/products/listings?limit=100"
	ask := func(s *sim.Service, accept string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Authorization", "Bearer pc_demo")
		r.Header.Set("Accept-Encoding", accept)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w
	}
	want := ask(sim.New(sim.Options{}), "zstd, gzip").Body.Bytes()
	for _, c := range []struct {
		accept, coding string
		encodings      []string
	}{
		{"zstd, gzip", "", nil},
		{"zstd, gzip", "", []string{"br"}},
		{"zstd, gzip", "gzip", []string{"gzip", "zstd"}},
		{"gzip;q=0.5, ZSTD", "zstd", []string{"zstd", "gzip"}},
		{"identity", "", []string{"zstd", "gzip"}},
	} {
		got := ask(sim.New(sim.Options{Encodings: c.encodings}), c.accept)
		if coding := got.Header().Get("Content-Encoding"); coding != c.coding {
			t.Errorf("Accept-Encoding %q with %v: got encoding %q, want %q", c.accept, c.encodings, coding, c.coding)
		}
		if !bytes.Equal(decodeBody(t, c.coding, got.Body.Bytes()), want) {
			t.Errorf("Accept-Encoding %q with %v: the decoded body differs, want the uncompressed response", c.accept, c.encodings)
		}
	}
}
