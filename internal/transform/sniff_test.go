package transform_test

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	gocmp "github.com/google/go-cmp/cmp"

	"placementsync/internal/stream"
	"placementsync/internal/transform"
)

// sniffSlowly finds the records of a body of things, as a second implementation of spec 4.1
// and 4.2. ok is false if the body is malformed.
func sniffSlowly(s stream.Stream, body any) (records []any, ok bool) {
	object, isObject := body.(map[string]any)
	list, isList := body.([]any)
	switch {
	case s.Envelope == stream.Object:
		return []any{body}, isObject
	case isList || !isObject:
		return list, isList
	}
	for _, name := range []string{"error", "errors"} {
		if text := canonicalText(object[name]); !slices.Contains([]string{"null", "false", "0", `""`, "[]", "{}"}, text) {
			return nil, false
		}
	}
	if records, found := object[cmp.Or(s.List, "records")]; found {
		list, isList := records.([]any)
		return list, isList
	}
	if _, hasID := object["id"]; hasID {
		return []any{body}, true
	}
	listCount := 0
	for name, v := range object {
		if items, isList := v.([]any); isList && !isPagination(name) && name != "error" && name != "errors" {
			list = items
			listCount++
		}
	}
	return list, listCount == 1
}

func isPagination(name string) bool {
	switch name {
	case "total_records", "total_pages", "current_page", "next_page", "previous_page":
		return true
	}
	return false
}

// totalOf returns the total of an envelope, or -1.
func totalOf(body any) int64 {
	object, _ := body.(map[string]any)
	if text, ok := slowInteger(plainText(object["total_records"]), 63); ok {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
	}
	return -1
}

// compareRecords compares the records of a page with those of sniffSlowly, and the rows with those of
// the reference decoder. It ignores invalid JSON, and bodies with escapes or duplicate names, because the
// implementations read them differently.
func compareRecords(t *testing.T, k testStream, body []byte) {
	t.Helper()
	if !jsontext.Value(body).IsValid() || bytes.ContainsRune(body, '\\') {
		return
	}
	v := parse(t, body)
	records, ok := sniffSlowly(k.stream, v)
	d := k.binding.NewDecoder()
	page, err := d.Decode(body, transform.Origin{Param: "p"})
	if ok != (err == nil) {
		t.Fatalf("envelope %d: %s: error %v, want valid %v", k.stream.Envelope, body, err, ok)
	}
	if !ok {
		return
	}
	if page.Records != len(records) {
		t.Fatalf("envelope %d: %s: %d records, want %d", k.stream.Envelope, body, page.Records, len(records))
	}
	if _, wrapped := v.(map[string]any); wrapped && len(records) > 0 && page.Paginated && page.Total != totalOf(v) {
		t.Errorf("envelope %d: %s: total %d, want %d", k.stream.Envelope, body, page.Total, totalOf(v))
	}
	if records == nil {
		records = []any{}
	}
	want := slowOutcome(decodeSlowly(t, k, []byte(canonicalText(records)), "p"))
	if diff := gocmp.Diff(want, fastOutcome(t, d, k.defs)); diff != "" {
		t.Fatalf("envelope %d: decoders differ on %s (-slow +fast):\n%s", k.stream.Envelope, body, diff)
	}
}

// FuzzEnvelope puts records into arbitrary JSON. The result must be an error or a page. A page must
// have one id for each row. For things, sniffSlowly must find the same records in all envelopes except
// status counts.
func FuzzEnvelope(f *testing.F) {
	for _, v := range []string{`null`, `[]`, `{}`, `{"id":"a"}`, `[{"id":"a"},{"id":"b"}]`, `"x"`, `{"prefix":"a","count":1}`, `{"a":1}`, `{"a":{"count":2}}`,
		`{"error":"temporary failure","code":500}`, `{"errors":[ ],"items":[]}`, `{"errors":[{"id":"a"}]}`, `{"records":null,"items":[]}`,
		`{"total_records":"0","items":[],"next_page":null}`, `{"records":{},"items":[{"id":"a"}],"total_records":1e0}`} {
		for _, name := range []string{"records", "data", "total_records", "next_page", "id"} {
			f.Add(name, v)
		}
	}
	var streams []testStream
	for _, e := range []stream.Envelope{stream.Sniffed, stream.Paginated, stream.Object, stream.Records, stream.Array, stream.StatusCounts} {
		for _, name := range []string{"things", "campaign_status_counts", "countries"} {
			s := streamNamed(f, name)
			s.Envelope = e
			streams = append(streams, newTestStream(f, s))
		}
	}
	f.Fuzz(func(t *testing.T, name, v string) {
		quoted, _ := jsontext.AppendQuote(nil, name)
		for _, k := range streams {
			for _, body := range []string{v, `{` + string(quoted) + `:` + v + `}`, `{"total_records":1,` + string(quoted) + `:` + v + `,"x":0}`} {
				checkRowCount(t, k, []byte(body))
				if k.stream.Name == "things" && k.stream.Envelope != stream.StatusCounts {
					compareRecords(t, k, []byte(body))
				}
			}
		}
	})
}

// checkRowCount checks that a page has one id for each row and counts at least as many records, and that
// a malformed body has no rows.
func checkRowCount(t *testing.T, k testStream, body []byte) {
	t.Helper()
	d := k.binding.NewDecoder()
	page, err := d.Decode(body, transform.Origin{Param: "p"})
	rows := rowsOf(t, d.Flush())[k.stream.Root().Name]
	if err != nil {
		if len(rows) > 0 {
			t.Fatalf("%s: error %v, but %d rows", body, err, len(rows))
		}
		return
	}
	if len(page.IDs) != len(rows) || page.Records < len(rows) {
		t.Fatalf("%s: page %+v, but %d rows", body, page, len(rows))
	}
}
