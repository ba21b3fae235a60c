package fetch_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"placementsync/internal/fetch"
	"placementsync/internal/stream"
)

// compressGzip compresses a text with gzip. The comment is stored uncompressed in the header.
func compressGzip(text, comment string) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	z.Comment = comment
	_, _ = io.WriteString(z, text) // writing to a buffer does not fail
	_ = z.Close()
	return out.Bytes()
}

// compressZstd compresses a text into one zstd frame that states its size.
func compressZstd(text string) []byte {
	z, _ := zstd.NewWriter(nil)
	return z.EncodeAll([]byte(text), nil)
}

// skippableFrame returns a zstd frame that decoders skip.
func skippableFrame(text string) []byte {
	return append(binary.LittleEndian.AppendUint32([]byte{0x50, 0x2a, 0x4d, 0x18}, uint32(len(text))), text...)
}

// compressZstdUnsized compresses a text into a zstd frame that does not state its size.
func compressZstdUnsized(text string) []byte {
	var out bytes.Buffer
	z, _ := zstd.NewWriter(&out)
	_, _ = io.WriteString(z, text)
	_ = z.Close()
	return out.Bytes()
}

// encodedBody responds with the given bytes and Content-Encoding.
func encodedBody(compressed []byte, encodings ...string) http.HandlerFunc {
	return encodedStatus(http.StatusOK, compressed, encodings...)
}

func encodedStatus(code int, compressed []byte, encodings ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Encoding"] = encodings
		w.WriteHeader(code)
		_, _ = w.Write(compressed)
	}
}

// recordEncodings records the Accept-Encoding of each request.
func recordEncodings(h http.Handler, accepted *[]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		*accepted = append(*accepted, r.Header.Get("Accept-Encoding"))
		h.ServeHTTP(w, r)
	}
}

// pageText is a body with 4,000 records.
var pageText = `{"records":[` + strings.TrimSuffix(strings.Repeat(`{"id":"a","price":12.5},`, 4000), ",") + `]}`

func TestCompressedBodiesAreStoredAsReceived(t *testing.T) {
	for name, c := range map[string]struct {
		compressed []byte
		encodings  []string // Content-Encoding
		journaled  string   // the encoding in the journal; plain bodies are stored as s2
	}{
		"gzip":                         {compressGzip(pageText, ""), []string{"gzip"}, "gzip"},
		"gzip named X-GZIP":            {compressGzip(pageText, ""), []string{" X-GZIP "}, "gzip"},
		"gzip of two members":          {slices.Concat(compressGzip(pageText[:9], ""), compressGzip(pageText[9:], "")), []string{"gzip"}, "gzip"},
		"zstd":                         {compressZstd(pageText), []string{"zstd"}, "zstd"},
		"zstd without a size":          {compressZstdUnsized(pageText), []string{"ZSTD"}, "zstd"},
		"gzip with a comment":          {compressGzip(pageText, "a comment"), []string{"gzip"}, "gzip"},
		"zstd after a skippable frame": {slices.Concat(skippableFrame("a"), compressZstd(pageText)), []string{"zstd"}, "zstd"},
		"zstd of two frames":           {slices.Concat(compressZstdUnsized(pageText[:9]), compressZstd(pageText[9:])), []string{"zstd"}, "zstd"},
		"plain":                        {[]byte(pageText), nil, "s2"},
		"identity":                     {[]byte(pageText), []string{"identity"}, "s2"},
	} {
		t.Run(name, func(t *testing.T) { checkStoredAsReceived(t, pageText, c.compressed, c.encodings, c.journaled) })
	}
	long, blank := strings.Repeat(pageText, 20), strings.Repeat(" ", 1<<20)
	for name, text := range map[string]string{"many blocks": long, "blocks that repeat one byte": blank, "blocks of all types": blank + long + blank} {
		t.Run(name, func(t *testing.T) {
			checkStoredAsReceived(t, text, compressZstdUnsized(text), []string{"zstd"}, "zstd")
		})
	}
}

// checkStoredAsReceived requests a compressed text, and then reads it from the store.
func checkStoredAsReceived(t *testing.T, text string, compressed []byte, encodings []string, journaled string) {
	t.Helper()
	dir := t.TempDir()
	l := openStore(t, dir, fetch.StoreOptions{})
	client := newClient(t, serverConfig(t, encodedBody(compressed, encodings...)), l)
	var read string
	for range 2 {
		_, err := client.Get(t.Context(), pageRequest(1, 1), func(_ context.Context, r fetch.Response) (stream.PageFacts, error) {
			read = string(r.Body)
			return stream.PageFacts{}, nil
		})
		if err != nil || read != text {
			t.Fatalf("read %.40q (%v), want %.40q", read, err, text)
		}
	}
	if m := client.Telemetry()[0]; m.Bytes != int64(len(compressed)) || m.Hits != 1 {
		t.Errorf("received %d bytes, and read %d bodies from the store, want %d and 1", m.Bytes, m.Hits, len(compressed))
	}
	closeStore(t, l)
	stored, err := os.ReadFile(filepath.Join(dir, "000001.bodies"))
	isPlain := journaled == "s2"
	if err != nil {
		t.Error(err)
	} else if !isPlain && !bytes.Equal(stored, compressed) {
		t.Error("the stored bytes differ from the received bytes")
	}
	journal, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
	if err != nil || !bytes.Contains(journal, fmt.Appendf(nil, `"encoding":%q`, journaled)) {
		t.Errorf("the journal is %s (%v), want the encoding %s", journal, err, journaled)
	}
}

// TestFailedDecompressionIsRetriedPlain sends bodies that cannot be decompressed. They must be
// rejected, and the next request must accept only plain bodies.
func TestFailedDecompressionIsRetriedPlain(t *testing.T) {
	good, text := compressZstd(pageText), []byte(`{"id":"a"}`)
	for name, c := range map[string]struct {
		compressed []byte
		encodings  []string // Content-Encoding
		want       string
	}{
		"plain labelled gzip":       {text, []string{"gzip"}, "cannot be read as gzip"},
		"plain labelled zstd":       {text, []string{"zstd"}, "cannot be read as zstd"},
		"gzip labelled zstd":        {compressGzip(pageText, ""), []string{"zstd"}, "cannot be read as zstd"},
		"empty, labelled gzip":      {nil, []string{"gzip"}, "cannot be read as gzip"},
		"empty, labelled zstd":      {nil, []string{"zstd"}, "cannot be read as zstd: unexpected EOF"},
		"truncated gzip":            {compressGzip(pageText, "")[:100], []string{"gzip"}, "cannot be read as gzip: unexpected EOF"},
		"gzip without its checksum": {compressGzip(pageText, "")[:len(compressGzip(pageText, ""))-8], []string{"gzip"}, "cannot be read as gzip"},
		"truncated zstd":            {good[:len(good)/2], []string{"zstd"}, "cannot be read as zstd: unexpected EOF"},
		"truncated second member":   {slices.Concat(compressGzip(pageText, ""), compressGzip(" ", "")[:12]), []string{"gzip"}, "cannot be read as gzip: unexpected EOF"},
		"text after gzip":           {slices.Concat(compressGzip(pageText, ""), text), []string{"gzip"}, "cannot be read as gzip"},
		"text after zstd":           {slices.Concat(good, text), []string{"zstd"}, "cannot be read as zstd"},
		"a byte changed":            {slices.Concat(good[:40], []byte{good[40] ^ 4}, good[41:]), []string{"zstd"}, "cannot be read as zstd"},
		// The window is 4 GiB, and the content is one byte.
		"zstd with a huge window":  {[]byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xb0, 0x09, 0, 0, 'x'}, []string{"zstd"}, "cannot be read as zstd: window size exceeded"},
		"brotli":                   {text, []string{"br"}, "a content encoding that was not requested"},
		"zstd in gzip":             {compressGzip(string(good), ""), []string{"zstd, gzip"}, "a content encoding that was not requested"},
		"zstd in gzip, in 2 lines": {compressGzip(string(good), ""), []string{"zstd", "gzip"}, "a content encoding that was not requested"},
	} {
		t.Run(name, func(t *testing.T) {
			var accepted []string
			unreadable := encodedBody(c.compressed, c.encodings...)
			checkError(t, requestTokenInfo(t, newClient(t, serverConfig(t, recordEncodings(newScript(unreadable, textBody(`{"id":"a"}`)), &accepted)), nil)), "")
			if got := strings.Join(accepted, " then "); got != "zstd, gzip then identity" {
				t.Errorf("the requests accept %s, want zstd, gzip then identity", got)
			}
			dir := t.TempDir()
			checkError(t, requestTokenInfo(t, newClient(t, serverConfig(t, unreadable), testStore(t, dir))), c.want)
			checkLines(t, dir, 0)
		})
	}
}

// TestRetriesAfterFailedDecompressionArePlain makes the plain attempt fail for another reason. The
// next attempt must be plain, too.
func TestRetriesAfterFailedDecompressionArePlain(t *testing.T) {
	var accepted []string
	truncated := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"id":`)
	}
	service := newScript(encodedBody([]byte("no gzip"), "gzip"), truncated, textBody(`{"id":"a"}`))
	checkError(t, requestTokenInfo(t, newClient(t, serverConfig(t, recordEncodings(service, &accepted)), nil)), "")
	if got := strings.Join(accepted, " then "); got != "zstd, gzip then identity then identity" {
		t.Errorf("the requests accept %s, want zstd, gzip then identity then identity", got)
	}
}

func TestDecompressionBombsExceedTheLimit(t *testing.T) {
	const limit, maxAllocated = 1 << 20, 64 << 20
	blank := strings.Repeat(" ", 40<<20)
	bomb := compressGzip(blank[:4<<20], "")
	// These frames state 256 MiB and 4 GiB and contain one byte.
	states256MiB := []byte{0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0x10, 0x09, 0, 0, 'x'}
	states4GiB := []byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 1, 0, 0, 0, 0x09, 0, 0, 'x'}
	statesOneByte := bytes.Clone(bomb)
	copy(statesOneByte[len(statesOneByte)-4:], []byte{1, 0, 0, 0})
	for name, h := range map[string]http.HandlerFunc{
		"gzip":                            encodedBody(bomb, "gzip"),
		"gzip that states one byte":       encodedBody(statesOneByte, "gzip"),
		"gzip of many members":            encodedBody(bytes.Repeat(compressGzip(blank[:1<<20], ""), 40), "gzip"),
		"zstd":                            encodedBody(compressZstd(blank), "zstd"),
		"zstd without a size":             encodedBody(compressZstdUnsized(blank), "zstd"),
		"zstd that states 256 MiB":        encodedBody(states256MiB, "zstd"),
		"zstd that states 4 GiB":          encodedBody(states4GiB, "zstd"),
		"compressed body above the limit": encodedBody(compressGzip(strings.Repeat("x", limit), strings.Repeat("c", limit+1)), "gzip"),
	} {
		t.Run(name, func(t *testing.T) {
			cfg := serverConfig(t, h)
			cfg.MaxBody = limit
			c := newClient(t, cfg, nil)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := requestTokenInfo(t, c)
			runtime.ReadMemStats(&after)
			if !errors.Is(err, fetch.ErrTooLarge) {
				t.Errorf("got %v, want ErrTooLarge", err)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > maxAllocated {
				t.Errorf("the request allocated %d bytes, want at most %d", used, maxAllocated)
			}
		})
	}
}

func TestTokenInCompressedBodyIsScrubbed(t *testing.T) {
	echo := `{"id":"` + token + `"}`
	for name, h := range map[string]http.HandlerFunc{
		"gzip":              encodedBody(compressGzip(echo, ""), "gzip"),
		"zstd":              encodedBody(compressZstd(echo), "zstd"),
		"a comment of gzip": encodedBody(compressGzip(`{"id":"<secret>"}`, token), "gzip"),
		"a skippable frame": encodedBody(slices.Concat(compressZstd(`{"id":"<secret>"}`), skippableFrame(token)), "zstd"),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l := testStore(t, dir)
			checkError(t, requestTokenInfo(t, newClient(t, serverConfig(t, h), l)), "")
			for _, response := range storedResponses(t, dir) {
				if response.body != `{"id":"<secret>"}` {
					t.Errorf("stored %s, want the body without the token", response.body)
				}
			}
			kept, err := os.ReadFile(filepath.Join(dir, "000001.bodies"))
			if err != nil || bytes.Contains(kept, []byte(token)) || !bytes.Contains(kept, []byte("<secret>")) {
				t.Errorf("the file contains %q (%v), want <secret> instead of the token", kept, err)
			}
		})
	}
}

// TestTokenInContentEncodingIsNotShown echoes the token in the header Content-Encoding. The error
// must not contain the token or its beginning, in upper or lower case.
func TestTokenInContentEncodingIsNotShown(t *testing.T) {
	const secret = "pc_LIVE_4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c"
	cfg := serverConfig(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		_, _ = io.WriteString(w, `{"id":"a"}`)
	}))
	cfg.Token = func(context.Context) (string, error) { return secret, nil }
	err := requestTokenInfo(t, newClient(t, cfg, nil))
	checkError(t, err, "a content encoding that was not requested")
	if strings.Contains(strings.ToLower(err.Error()), "pc_live") {
		t.Errorf("the error contains the beginning of the token: %v", err)
	}
}

func TestCompressedErrorBodiesAreQuoted(t *testing.T) {
	reason := "no such thing for " + token + strings.Repeat(" at all", 100)
	for name, compressed := range map[string][]byte{"gzip": compressGzip(reason, ""), "zstd": compressZstd(reason)} {
		for _, code := range []int{400, 403, 500} {
			err := requestTokenInfo(t, newClient(t, serverConfig(t, encodedStatus(code, compressed, name)), nil))
			checkError(t, err, `body begins "no such thing for <secret> at all`)
		}
		err := requestTokenInfo(t, newClient(t, serverConfig(t, encodedStatus(404, compressed, name)), testStore(t, t.TempDir())))
		if failed, ok := errors.AsType[*fetch.StatusError](err); !ok || failed.Code != 404 {
			t.Errorf("a compressed 404 gives %v, want a StatusError with this code", err)
		}
	}
	cfg := serverConfig(t, encodedStatus(400, compressGzip(strings.Repeat("x", 2<<20), ""), "gzip"))
	cfg.MaxBody = 1 << 20
	checkError(t, requestTokenInfo(t, newClient(t, cfg, nil)), `body begins "xxxx`)
	for _, encoding := range []string{"gzip", "zstd", "br"} {
		err := requestTokenInfo(t, newClient(t, serverConfig(t, encodedStatus(400, []byte("\x00plain "+token), encoding)), nil))
		checkError(t, err, "answered 400")
		if strings.Contains(err.Error(), "plain") {
			t.Errorf("a body that cannot be decompressed is quoted: %v", err)
		}
	}
}
