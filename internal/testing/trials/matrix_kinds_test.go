package trials_test

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

// faultKind is a kind of fault. One of its fields produces it.
type faultKind struct {
	name string
	// fault is a fault of the demo service.
	fault *sim.Fault
	// spoil sends another body than that of the service.
	spoil func(rw http.ResponseWriter, body []byte)
	// detour returns the address of the server that gets the requests instead.
	detour func(t *testing.T) string
	// timeout is the timeout of an attempt. 0 means two seconds.
	timeout time.Duration
	// noise reports whether the fault may add a text to stored records. Nil means that all
	// stored texts must come from the service.
	noise func(text string) bool
}

func status(name string, code int, retryAfter string) faultKind {
	return faultKind{name: name, fault: &sim.Fault{Kind: sim.FaultStatus, Status: code, RetryAfter: retryAfter}}
}

func rewritten(name string, rewrite func([]byte) []byte) faultKind {
	return faultKind{name: name, fault: &sim.Fault{Kind: sim.FaultRewrite, Rewrite: rewrite}}
}

// faultKinds returns all kinds, in the order of the published table.
func faultKinds() []faultKind {
	return append(refusals(), append(broken(), bodies()...)...)
}

func refusals() []faultKind {
	return []faultKind{
		status("429 without Retry-After", 429, ""),
		status("429, Retry-After: seconds", 429, "1"),
		status("429, Retry-After: HTTP date", 429, "Sun, 06 Nov 2044 08:49:37 GMT"),
		status("429, Retry-After: nonsense", 429, "soon, -1"),
		status("429, Retry-After: huge", 429, "99999999999999999999999"),
		status("500", 500, ""),
		status("502", 502, ""),
		status("503", 503, "1"),
		status("504", 504, ""),
		status("another 5xx (507)", 507, ""),
		{name: "redirect to another host", fault: &sim.Fault{Kind: sim.FaultRedirect}},
	}
}

func broken() []faultKind {
	return []faultKind{
		{name: "connection refused", detour: closedPort},
		{name: "TLS failure", detour: untrustedServer},
		{name: "reset before the first byte", fault: &sim.Fault{Kind: sim.FaultReset}},
		{name: "reset in mid-body", fault: &sim.Fault{Kind: sim.FaultResetBody}},
		{name: "truncated body", fault: &sim.Fault{Kind: sim.FaultTruncate}},
		// Eight delayed parts: the body takes longer than the timeout.
		{name: "trickled body", fault: &sim.Fault{Kind: sim.FaultSlow, Delay: 40 * time.Millisecond}, timeout: 150 * time.Millisecond},
	}
}

func bodies() []faultKind {
	return []faultKind{
		{name: "200 with HTML", fault: &sim.Fault{Kind: sim.FaultHTML}},
		{name: "200, empty", fault: &sim.Fault{Kind: sim.FaultEmpty}},
		{name: "200 with broken JSON", fault: &sim.Fault{Kind: sim.FaultBrokenJSON}},
		{name: "endless page chain", fault: &sim.Fault{Kind: sim.FaultEndlessPages}},
		{name: "the same page for ever", fault: &sim.Fault{Kind: sim.FaultSamePage}},
		rewritten("deeply nested JSON", func(body []byte) []byte {
			return added(body, strings.Repeat("[", 200_000)+strings.Repeat("]", 200_000))
		}),
		rewritten("NUL byte", func(body []byte) []byte { return added(body, "\"a\x00b\"") }),
		{name: "escaped NUL and invalid UTF-8", fault: &sim.Fault{Kind: sim.FaultRewrite, Rewrite: func(body []byte) []byte {
			return added(body, "\"a\\u0000b\xff\xc3(\"")
		}}, noise: func(text string) bool { return strings.HasPrefix(text, "a\x00b\uFFFD") }},
		rewritten("duplicate keys", twice),
		{name: "gzip bomb", spoil: bomb(), timeout: 20 * time.Second},
		large("100 MB record", 100_000_000),
		{name: "zstd bomb", spoil: zstdBomb(), timeout: 20 * time.Second},
		{name: "zstd, cut off", spoil: codedAs("zstd", func(body []byte) []byte {
			packed := zstdPacked(body)
			return packed[:len(packed)-len(packed)/3-1]
		})},
		{name: "plain, named gzip", spoil: codedAs("gzip", func(body []byte) []byte { return body })},
	}
}

// noise is the field that a fault adds.
const noise = "zz_noise"

// firstKey is the beginning of the first record of a body of the demo service.
const firstKey = `{"id":`

// added inserts a field at the beginning of the first record of a body. A body without
// records is not changed.
func added(body []byte, value string) []byte {
	return bytes.Replace(body, []byte(firstKey), []byte(`{"`+noise+`":`+value+`,"id":`), 1)
}

// twice duplicates the first field of the envelope and of each record. The second value is the
// right one.
func twice(body []byte) []byte {
	body = bytes.ReplaceAll(body, []byte(firstKey), []byte(`{"id":"another","id":`))
	open := bytes.IndexByte(body, '{')
	colon := bytes.IndexByte(body, ':')
	if open != 0 || colon < 0 {
		return body
	}
	return bytes.Join([][]byte{[]byte("{"), body[1:colon], []byte(":null,"), body[1:]}, nil)
}

const (
	bombUnit  = 16 << 20
	bombUnits = 64
)

// bomb returns a gigabyte of white space, compressed to a thousandth.
func bomb() func(rw http.ResponseWriter, body []byte) {
	var unit bytes.Buffer
	pack := gzip.NewWriter(&unit)
	_, _ = io.Copy(pack, io.LimitReader(blanks{}, bombUnit)) // a buffer accepts all writes
	_ = pack.Close()
	packed := bytes.Repeat(unit.Bytes(), bombUnits)
	return func(rw http.ResponseWriter, _ []byte) {
		rw.Header().Set("Content-Encoding", "gzip")
		rw.Header().Set("Content-Type", "application/json")
		_, _ = rw.Write(packed) // the client disconnects
	}
}

// codedAs returns a response in a content encoding.
func codedAs(coding string, pack func(body []byte) []byte) func(rw http.ResponseWriter, body []byte) {
	return func(rw http.ResponseWriter, body []byte) {
		rw.Header().Set("Content-Encoding", coding)
		rw.Header().Set("Content-Type", "application/json")
		_, _ = rw.Write(pack(body)) // the client disconnects
	}
}

func zstdPacked(body []byte) []byte {
	pack, _ := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)) // only invalid options fail
	return pack.EncodeAll(body, nil)
}

// zstdBomb returns a gigabyte of white space in frames that do not state their size.
func zstdBomb() func(rw http.ResponseWriter, body []byte) {
	var unit bytes.Buffer
	pack, _ := zstd.NewWriter(&unit, zstd.WithEncoderConcurrency(1)) // only invalid options fail
	_, _ = io.Copy(pack, io.LimitReader(blanks{}, bombUnit))         // a buffer accepts all writes
	_ = pack.Close()
	packed := bytes.Repeat(unit.Bytes(), bombUnits)
	return codedAs("zstd", func([]byte) []byte { return packed })
}

// blanks is an endless reader of blanks.
type blanks struct{}

func (blanks) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// large makes one field of the first record very long, without storing it.
func large(name string, size int) faultKind {
	spoil := func(rw http.ResponseWriter, body []byte) {
		before, after, found := bytes.Cut(body, []byte(firstKey))
		rw.Header().Set("Content-Type", "application/json")
		_, _ = rw.Write(before) // the client may disconnect
		if found {
			fmt.Fprintf(rw, `{"%s":"`, noise)
			_, _ = io.Copy(rw, io.LimitReader(blanks{}, int64(size)))
			fmt.Fprint(rw, `","id":`)
		}
		_, _ = rw.Write(after)
	}
	return faultKind{name: name, spoil: spoil, timeout: 20 * time.Second, noise: func(text string) bool { return len(text) == size }}
}
