package transform_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/stream"
	"placementsync/internal/transform"
)

// TestSniffedEnvelopes checks the streams whose envelope the spec does not show ("any" in spec
// 4.2). They must have the same rows and findings in every envelope.
func TestSniffedEnvelopes(t *testing.T) {
	for _, s := range stream.All() {
		if s.Envelope != stream.Sniffed {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			records := recordsOf(t, s.Name)
			all, err := json.Marshal(records)
			if err != nil {
				t.Fatal(err)
			}
			want := renderDecoded(t, s, string(all))
			for _, shape := range []string{
				`{"records":%s}`, `{"items":%s}`,
				`{"records":%s,"total_records":9,"total_pages":1,"current_page":1,"next_page":null,"previous_page":null}`,
				`{"total_records":9,"next_page":2,"data":%s}`,
			} {
				if diff := cmp.Diff(want, renderDecoded(t, s, fmt.Sprintf(shape, all))); diff != "" {
					t.Errorf("%s differs from a bare list (-bare +this):\n%s", shape, diff)
				}
			}
			if diff := cmp.Diff(renderDecoded(t, s, "["+string(records[0])+"]"), renderDecoded(t, s, string(records[0]))); diff != "" {
				t.Errorf("a single record differs from a list of one (-list +single):\n%s", diff)
			}
		})
	}
}

// TestFieldsOfASingleRecordAreNoPages decodes a record with a field that has a name of the envelope. The night would
// never find as many records as it states.
func TestFieldsOfASingleRecordAreNoPages(t *testing.T) {
	page, err := decoderOf(t, "orders").Decode([]byte(`{"total_records":7,"id":"o"}`), transform.Origin{})
	if err != nil || page.Records != 1 || page.Total != -1 || page.Paginated {
		t.Errorf("page %+v, error %v; want one record and no total", page, err)
	}
}

// TestMembersBesideAListAreNoRecord decodes lists beside a member with the name of a column, and beside empty errors.
func TestMembersBesideAListAreNoRecord(t *testing.T) {
	for _, member := range []string{`"status":"ok"`, `"error":[]`, `"errors":[]`} {
		page, err := decoderOf(t, "orders").Decode([]byte(`{`+member+`,"data":[{"id":"o"}]}`), transform.Origin{})
		if err != nil || page.Records != 1 || page.RejectedRecords != 0 {
			t.Errorf("beside %s: page %+v, error %v; want the record of the list", member, page, err)
		}
	}
}

// recordsOf returns the records of testdata/<name>/record.json, which have all fields.
func recordsOf(t *testing.T, name string) []json.RawMessage {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", name, "record.json"))
	if err != nil {
		t.Fatal(err)
	}
	var records []json.RawMessage
	if body[0] == '[' {
		err = json.Unmarshal(body, &records)
	} else {
		wrapped := struct{ Records *[]json.RawMessage }{&records}
		err = json.Unmarshal(body, &wrapped)
	}
	if err != nil || len(records) == 0 {
		t.Fatalf("read the records of %s: %v, %d found", name, err, len(records))
	}
	return records
}

// renderDecoded renders the result of decoding a body, except its page facts.
func renderDecoded(t *testing.T, s stream.Stream, body string) string {
	t.Helper()
	d := compile(t, s).NewDecoder()
	if _, err := d.Decode([]byte(body), transform.Origin{Seq: 1, Param: "param"}); err != nil {
		t.Fatal(err)
	}
	return render(t, d, stream.PageFacts{}, nil)
}
