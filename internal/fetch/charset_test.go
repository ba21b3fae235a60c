package fetch_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"placementsync/internal/fetch"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
)

// TestCharsets sends a body in several charsets, with and without a byte order mark. The reader must receive it in
// UTF-8 without the mark, from the service and from the store.
func TestCharsets(t *testing.T) {
	const want = `{"records":[{"id":"a","name":"Café"}]}`
	latin1, err := charmap.ISO8859_1.NewEncoder().String(want)
	harness.Must(t, err)
	utf16, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(want)
	harness.Must(t, err)
	for name, c := range map[string]struct {
		contentType string
		body        string
		encoding    string
	}{
		"no charset":         {"application/json", want, ""},
		"mark":               {"application/json", "\ufeff" + want, ""},
		"Latin-1":            {"application/json; charset=ISO-8859-1", latin1, ""},
		"compressed Latin-1": {`application/json; charset="latin1"`, string(compressGzip(latin1, "")), "gzip"},
		"UTF-16, mark":       {"application/json;charset=utf-16", utf16, ""},
		"UTF-16LE, mark":     {"application/json;charset=utf-16le", utf16, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l := testStore(t, dir)
			client := newClient(t, serverConfig(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", c.contentType)
				if c.encoding != "" {
					w.Header().Set("Content-Encoding", c.encoding)
				}
				_, _ = w.Write([]byte(c.body))
			})), l)
			for _, source := range []string{"service", "store"} { // the store answers the second request
				var got string
				_, err := client.Get(t.Context(), pageRequest(1, 1), func(_ context.Context, r fetch.Response) (stream.PageFacts, error) {
					got = string(r.Body)
					return stream.PageFacts{}, nil
				})
				if err != nil || got != want {
					t.Errorf("the body from the %s is %q (%v), want %q", source, got, err, want)
				}
			}
		})
	}
}

// TestTokenInAnotherCharsetIsRemoved echoes the token in UTF-16. The store must not contain it.
func TestTokenInAnotherCharsetIsRemoved(t *testing.T) {
	echoed, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(`{"id":"` + token + `"}`)
	harness.Must(t, err)
	dir := t.TempDir()
	cfg := testConfig(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-16")
		_, _ = w.Write([]byte(echoed))
	}))
	checkError(t, requestTokenInfo(t, newClient(t, cfg, testStore(t, dir))), "")
	for _, response := range storedResponses(t, dir) {
		if strings.Contains(response.body, token) {
			t.Errorf("the store contains the token: %s", response.body)
		}
	}
}

// TestConvertedBodyIsLimited sends a body that is twice as long in UTF-8.
func TestConvertedBodyIsLimited(t *testing.T) {
	cfg := testConfig(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=windows-1252")
		_, _ = w.Write([]byte(`{"id":"` + strings.Repeat("\xe9", 60) + `"}`))
	}))
	inUTF8 := int64(len(`{"id":"`) + 2*60 + len(`"}`))
	for limit, isTooLarge := range map[int64]bool{100: true, inUTF8 - 1: true, inUTF8: false} {
		cfg.MaxBody = limit
		if err := requestTokenInfo(t, newClient(t, cfg, nil)); errors.Is(err, fetch.ErrTooLarge) != isTooLarge {
			t.Errorf("with a limit of %d: got %v, want ErrTooLarge: %t", limit, err, isTooLarge)
		}
	}
}
