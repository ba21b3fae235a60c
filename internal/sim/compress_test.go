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

// decompress returns the decompressed body of a response.
func decompress(t *testing.T, encoding string, body []byte) []byte {
	t.Helper()
	var plain io.Reader = bytes.NewReader(body)
	var err error
	switch encoding {
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
	get := func(s *sim.Service, accept string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Authorization", "Bearer pc_demo")
		r.Header.Set("Accept-Encoding", accept)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w
	}
	want := get(sim.New(sim.Options{}), "zstd, gzip").Body.Bytes()
	for _, c := range []struct {
		accept, wantEncoding string
		encodings            []string
	}{
		{"zstd, gzip", "", nil},
		{"zstd, gzip", "gzip", []string{"gzip", "zstd"}},
		{"gzip;q=0.5, ZSTD", "zstd", []string{"zstd", "gzip"}},
		{"identity", "", []string{"zstd", "gzip"}},
	} {
		got := get(sim.New(sim.Options{Encodings: c.encodings}), c.accept)
		if encoding := got.Header().Get("Content-Encoding"); encoding != c.wantEncoding {
			t.Errorf("Accept-Encoding %q with %v: got encoding %q, want %q", c.accept, c.encodings, encoding, c.wantEncoding)
		}
		if !bytes.Equal(decompress(t, c.wantEncoding, got.Body.Bytes()), want) {
			t.Errorf("Accept-Encoding %q with %v: the decompressed body differs from the uncompressed response", c.accept, c.encodings)
		}
	}
}
