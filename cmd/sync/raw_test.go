package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/fetch"
)

// TestResponsesAreListed lists a response to a request with all parts, which a later response replaces, and one to a
// request without a page, in each format.
func TestResponsesAreListed(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.November, 20, 2, 0, 1, 500_000_000, time.UTC)
	request := fetch.Request{Stream: "orders", Path: "/orders", Query: "limit=3", Param: "id1", Page: 4, Pass: 5}
	list := fetch.StoredResponse{Request: request, At: at, Millis: 12.345, Replaced: true}
	list.Seq, list.Status, list.Stored, list.Size, list.Encoding = 7, 200, 2048, 4096, "zstd"
	single := fetch.StoredResponse{Request: fetch.Request{Stream: "token", Path: "/auth/token"}, At: at}
	single.Seq, single.Status = 8, 204
	all := []fetch.StoredResponse{list, single}
	for format, c := range map[string]struct {
		write func(io.Writer, []fetch.StoredResponse) error
		want  string
	}{
		"table": {writeResponseTable, `
seq  stream  param  page  pass  status  encoding   stored     body  at                     took
  7  orders  id1       4     5     200  zstd      2.0 KiB  4.0 KiB  2026-11-20 02:00:01  12.3ms  replaced by a later response
  8  token                         204                0 B      0 B  2026-11-20 02:00:01      0s
`},
		"csv": {writeResponseCSV, `
seq,stream,path,query,param,page,pass,status,encoding,stored_bytes,body_bytes,at,ms,replaced
7,orders,/orders,limit=3,id1,4,5,200,zstd,2048,4096,2026-11-20T02:00:01.5Z,12.345,true
8,token,/auth/token,,,,,204,,0,0,2026-11-20T02:00:01.5Z,0,false
`},
		"json": {writeResponseJSON, `
[
  {
    "seq": 7,
    "stream": "orders",
    "path": "/orders",
    "query": "limit=3",
    "param": "id1",
    "page": 4,
    "pass": 5,
    "status": 200,
    "encoding": "zstd",
    "stored_bytes": 2048,
    "body_bytes": 4096,
    "at": "2026-11-20T02:00:01.5Z",
    "ms": 12.345,
    "replaced": true
  },
  {
    "seq": 8,
    "stream": "token",
    "path": "/auth/token",
    "query": "",
    "param": "",
    "page": null,
    "pass": null,
    "status": 204,
    "encoding": "",
    "stored_bytes": 0,
    "body_bytes": 0,
    "at": "2026-11-20T02:00:01.5Z",
    "ms": 0,
    "replaced": false
  }
]
`},
	} {
		var text strings.Builder
		err := c.write(&text, all)
		if diff := cmp.Diff(c.want, "\n"+strings.ReplaceAll(text.String(), "\r\n", "\n")); diff != "" || err != nil {
			t.Errorf("%s (-want +got), %v:\n%s", format, err, diff)
		}
		if isCRLF := strings.Contains(text.String(), "\r\n"); isCRLF != (format == "csv") {
			t.Errorf("%s: a line ends with CRLF: %t", format, isCRLF)
		}
	}
}

// TestResponsesAreSelected combines the flags that select responses.
func TestResponsesAreSelected(t *testing.T) {
	t.Parallel()
	r := fetch.StoredResponse{Request: fetch.Request{Stream: "orders", Param: "id1", Page: 4, Pass: 5}}
	r.Seq = 7
	for _, c := range []struct {
		flags rawOptions
		want  bool
	}{
		{rawOptions{}, true},
		{rawOptions{stream: "orders", param: "id1", page: 4, pass: 5}, true},
		{rawOptions{stream: "tags", param: "id1", page: 4, pass: 5}, false},
		{rawOptions{stream: "orders", param: "id2", page: 4, pass: 5}, false},
		{rawOptions{stream: "orders", param: "id1", page: 5, pass: 5}, false},
		{rawOptions{stream: "orders", param: "id1", page: 4, pass: 4}, false},
		{rawOptions{seq: 7}, true},
		{rawOptions{seq: 8, stream: "orders"}, false},
	} {
		if got := c.flags.selects(r); got != c.want {
			t.Errorf("%+v selects the response: %t, want %t", c.flags, got, c.want)
		}
	}
}
