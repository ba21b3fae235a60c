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

// ill is a kind of fault and the one way in which it comes about.
type ill struct {
	name string
	// fault is one that the demo service knows.
	fault *sim.Fault
	// spoil sends another body than the one that the service made.
	spoil func(rw http.ResponseWriter, body []byte)
	// detour is the address of the server that requests go to instead.
	detour func(t *testing.T) string
	// timeout is that of an attempt; 0: two seconds.
	timeout time.Duration
	// noise is what the fault adds to records, as it is to be stored; nil:
	// nothing may arrive that the service does not hold.
	noise func(text string) bool
}

func status(name string, code int, retryAfter string) ill {
	return ill{name: name, fault: &sim.Fault{Kind: sim.FaultStatus, Status: code, RetryAfter: retryAfter}}
}

func rewritten(name string, rewrite func([]byte) []byte) ill {
	return ill{name: name, fault: &sim.Fault{Kind: sim.FaultRewrite, Rewrite: rewrite}}
}

// ills are all kinds, in the order of the page.
func ills() []ill {
	return append(refusals(), append(broken(), bodies()...)...)
}

func refusals() []ill {
	return []ill{
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

func broken() []ill {
	return []ill{
		{name: "connection refused", detour: closedPort},
		{name: "TLS failure", detour: strangersDoor},
		{name: "reset before the first byte", fault: &sim.Fault{Kind: sim.FaultReset}},
		{name: "reset in mid-body", fault: &sim.Fault{Kind: sim.FaultResetBody}},
		{name: "truncated body", fault: &sim.Fault{Kind: sim.FaultTruncate}},
		// Eight parts, each of them later: the body outlasts the timeout.
		{name: "trickled body", fault: &sim.Fault{Kind: sim.FaultSlow, Delay: 40 * time.Millisecond}, timeout: 150 * time.Millisecond},
	}
}

func bodies() []ill {
	return []ill{
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

// firstKey is where the first record of a body begins, as the demo service writes
// it.
const firstKey = `{"id":`

// added puts a field before all others into the first record of a body; a body
// without one stays as it is.
func added(body []byte, value string) []byte {
	return bytes.Replace(body, []byte(firstKey), []byte(`{"`+noise+`":`+value+`,"id":`), 1)
}

// twice names the first field of the envelope and that of each record a second
// time, before the one that counts.
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

// bomb answers a gigabyte of white space that takes a thousandth of it on the
// line.
func bomb() func(rw http.ResponseWriter, body []byte) {
	var unit bytes.Buffer
	pack := gzip.NewWriter(&unit)
	_, _ = io.Copy(pack, io.LimitReader(blanks{}, bombUnit)) // a buffer takes everything
	_ = pack.Close()
	packed := bytes.Repeat(unit.Bytes(), bombUnits)
	return func(rw http.ResponseWriter, _ []byte) {
		rw.Header().Set("Content-Encoding", "gzip")
		rw.Header().Set("Content-Type", "application/json")
		_, _ = rw.Write(packed) // the client hangs up
	}
}

// codedAs answers something in the name of a coding.
func codedAs(coding string, pack func(body []byte) []byte) func(rw http.ResponseWriter, body []byte) {
	return func(rw http.ResponseWriter, body []byte) {
		rw.Header().Set("Content-Encoding", coding)
		rw.Header().Set("Content-Type", "application/json")
		_, _ = rw.Write(pack(body)) // the client hangs up
	}
}

func zstdPacked(body []byte) []byte {
	pack, _ := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)) // only options can fail
	return pack.EncodeAll(body, nil)
}

// zstdBomb answers a gigabyte of white space in frames that do not say their sizes.
func zstdBomb() func(rw http.ResponseWriter, body []byte) {
	var unit bytes.Buffer
	pack, _ := zstd.NewWriter(&unit, zstd.WithEncoderConcurrency(1)) // only options can fail
	_, _ = io.Copy(pack, io.LimitReader(blanks{}, bombUnit))         // a buffer takes everything
	_ = pack.Close()
	packed := bytes.Repeat(unit.Bytes(), bombUnits)
	return codedAs("zstd", func([]byte) []byte { return packed })
}

// blanks are as many as are read.
type blanks struct{}

func (blanks) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// large makes one field of the first record so long, without ever holding it.
func large(name string, size int) ill {
	spoil := func(rw http.ResponseWriter, body []byte) {
		before, after, found := bytes.Cut(body, []byte(firstKey))
		rw.Header().Set("Content-Type", "application/json")
		_, _ = rw.Write(before) // where the client hangs up, the rest does not matter either
		if found {
			fmt.Fprintf(rw, `{"%s":"`, noise)
			_, _ = io.Copy(rw, io.LimitReader(blanks{}, int64(size)))
			fmt.Fprint(rw, `","id":`)
		}
		_, _ = rw.Write(after)
	}
	return ill{name: name, spoil: spoil, timeout: 20 * time.Second, noise: func(text string) bool { return len(text) == size }}
}
