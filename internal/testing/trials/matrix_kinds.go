package trials

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"placementsync/internal/sim"
)

// Endpoints returns the endpoints of which one has the fault for a whole night, as patterns for path.Match.
func Endpoints() []string {
	return []string{"/products/listings", "/orders", "/orders/*", "/campaigns", "/campaigns/*/articles", "/files", "/auth/token"}
}

// FaultKind is a kind of fault. Exactly one of the fields Fault, Spoil and DetourAddress is set.
type FaultKind struct {
	Name string
	// Fault is a fault of the demo service.
	Fault *sim.Fault
	// Spoil sends another body instead of the body of the service.
	Spoil func(rw http.ResponseWriter, body []byte)
	// DetourAddress returns the address of another server, which gets the affected requests.
	DetourAddress func(t *testing.T) string
	// AttemptTimeout is two seconds if it is 0.
	AttemptTimeout time.Duration
	// IsNoise reports whether a stored string may come from the fault. Nil means that all stored
	// strings must come from the service.
	IsNoise func(text string) bool
}

func statusFault(name string, code int, retryAfter string) FaultKind {
	return FaultKind{Name: name, Fault: &sim.Fault{Kind: sim.FaultStatus, Status: code, RetryAfter: retryAfter}}
}

func rewriteFault(name string, rewrite func([]byte) []byte) FaultKind {
	return FaultKind{Name: name, Fault: &sim.Fault{Kind: sim.FaultRewrite, Rewrite: rewrite}}
}

// FaultKinds returns all kinds. The place of a kind in the list is a part of the seeds of its trials.
func FaultKinds() []FaultKind {
	return []FaultKind{
		statusFault("429 without Retry-After", 429, ""),
		statusFault("429, Retry-After: seconds", 429, "1"),
		statusFault("429, Retry-After: HTTP date", 429, "Sun, 06 Nov 2044 08:49:37 GMT"),
		statusFault("429, Retry-After: nonsense", 429, "soon, -1"),
		statusFault("429, Retry-After: huge", 429, "99999999999999999999999"),
		statusFault("500", 500, ""),
		statusFault("502", 502, ""),
		statusFault("503", 503, "1"),
		statusFault("504", 504, ""),
		statusFault("another 5xx (507)", 507, ""),
		{Name: "redirect to another host", Fault: &sim.Fault{Kind: sim.FaultRedirect}},

		{Name: "connection refused", DetourAddress: closedAddress},
		{Name: "TLS failure", DetourAddress: untrustedServer},
		{Name: "reset before the first byte", Fault: &sim.Fault{Kind: sim.FaultReset}},
		{Name: "reset in mid-body", Fault: &sim.Fault{Kind: sim.FaultResetBody}},
		{Name: "truncated body", Fault: &sim.Fault{Kind: sim.FaultTruncate}},
		// The body has eight delayed parts, so it takes longer than the timeout.
		{Name: "trickled body", Fault: &sim.Fault{Kind: sim.FaultSlow, Delay: 40 * time.Millisecond}, AttemptTimeout: 150 * time.Millisecond},

		{Name: "200 with HTML", Fault: &sim.Fault{Kind: sim.FaultHTML}},
		{Name: "200, empty", Fault: &sim.Fault{Kind: sim.FaultEmpty}},
		{Name: "200 with broken JSON", Fault: &sim.Fault{Kind: sim.FaultBrokenJSON}},
		{Name: "endless page chain", Fault: &sim.Fault{Kind: sim.FaultEndlessPages}},
		{Name: "the same page for ever", Fault: &sim.Fault{Kind: sim.FaultSamePage}},
		rewriteFault("deeply nested JSON", func(body []byte) []byte {
			return addField(body, strings.Repeat("[", 200_000)+strings.Repeat("]", 200_000))
		}),
		rewriteFault("NUL byte", func(body []byte) []byte { return addField(body, "\"a\x00b\"") }),
		{Name: "escaped NUL and invalid UTF-8", Fault: &sim.Fault{Kind: sim.FaultRewrite, Rewrite: func(body []byte) []byte {
			return addField(body, "\"a\\u0000b\xff\xc3(\"")
		}}, IsNoise: func(text string) bool { return strings.HasPrefix(text, "a\x00b\uFFFD") }},
		rewriteFault("duplicate keys", duplicateFields),

		{Name: "gzip bomb", Spoil: bomb("gzip", newGzip), AttemptTimeout: 20 * time.Second},
		largeRecord("100 MB record", 100_000_000),
		{Name: "zstd bomb", Spoil: bomb("zstd", newZstd), AttemptTimeout: 20 * time.Second},
		{Name: "zstd, cut off", Spoil: respondEncoded("zstd", func(body []byte) []byte {
			var compressed bytes.Buffer
			compressor := newZstd(&compressed)
			_, _ = compressor.Write(body) // a buffer accepts all writes
			_ = compressor.Close()
			return compressed.Bytes()[:compressed.Len()-compressed.Len()/3-1]
		})},
		{Name: "plain, named gzip", Spoil: respondEncoded("gzip", func(body []byte) []byte { return body })},
	}
}

// NoiseField is the name of the field that a fault adds to records.
const NoiseField = "zz_noise"

// firstKey is the beginning of each record in the bodies of the demo service.
const firstKey = `{"id":`

// addField inserts a field at the beginning of the first record of a body. It does not change a body without records.
func addField(body []byte, value string) []byte {
	return bytes.Replace(body, []byte(firstKey), []byte(`{"`+NoiseField+`":`+value+`,"id":`), 1)
}

// duplicateFields duplicates the first field of the envelope and of each record. The second
// of two values is the correct value.
func duplicateFields(body []byte) []byte {
	body = bytes.ReplaceAll(body, []byte(firstKey), []byte(`{"id":"another","id":`))
	brace := bytes.IndexByte(body, '{')
	colon := bytes.IndexByte(body, ':')
	if brace != 0 || colon < 0 {
		return body
	}
	return bytes.Join([][]byte{[]byte("{"), body[1:colon], []byte(":null,"), body[1:]}, nil)
}

const (
	bombPartBytes = 16 << 20
	bombParts     = 64
)

// bomb returns a function that responds with a gigabyte of blanks in compressed form. The body
// consists of equal parts, so that no header in it contains the total size.
func bomb(coding string, compress func(w io.Writer) io.WriteCloser) func(rw http.ResponseWriter, body []byte) {
	var part bytes.Buffer
	compressor := compress(&part)
	_, _ = io.Copy(compressor, io.LimitReader(blanks{}, bombPartBytes)) // a buffer accepts all writes
	_ = compressor.Close()
	compressed := bytes.Repeat(part.Bytes(), bombParts)
	return respondEncoded(coding, func([]byte) []byte { return compressed })
}

// respondEncoded returns a function that responds with an encoded body and the name of the content encoding.
func respondEncoded(coding string, encode func(body []byte) []byte) func(rw http.ResponseWriter, body []byte) {
	return func(rw http.ResponseWriter, body []byte) {
		rw.Header().Set("Content-Encoding", coding)
		rw.Header().Set("Content-Type", "application/json")
		_, _ = rw.Write(encode(body)) // the client may disconnect
	}
}

func newGzip(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }

func newZstd(w io.Writer) io.WriteCloser {
	compressor, _ := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1)) // fails only with invalid options
	return compressor
}

// blanks is an endless reader of blanks.
type blanks struct{}

func (blanks) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// largeRecord returns a kind that adds a field of size bytes to the first record. The field is sent
// in parts, so that it needs no memory.
func largeRecord(name string, size int) FaultKind {
	spoil := func(rw http.ResponseWriter, body []byte) {
		before, after, found := bytes.Cut(body, []byte(firstKey))
		rw.Header().Set("Content-Type", "application/json")
		_, _ = rw.Write(before) // the client may disconnect
		if found {
			fmt.Fprintf(rw, `{"%s":"`, NoiseField)
			_, _ = io.Copy(rw, io.LimitReader(blanks{}, int64(size)))
			fmt.Fprint(rw, `","id":`)
		}
		_, _ = rw.Write(after)
	}
	return FaultKind{Name: name, Spoil: spoil, AttemptTimeout: 20 * time.Second, IsNoise: func(text string) bool { return len(text) == size }}
}
