package transform_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/stream"
	"placementsync/internal/transform"
)

// TestBodiesWithoutRecordsAreMalformed checks that no stream accepts an error or an empty
// object as its records.
func TestBodiesWithoutRecordsAreMalformed(t *testing.T) {
	bodies := []string{`{}`, `{"error":"temporary failure","code":500}`, `{"error":{"message":"x"}}`, `{"code":"E1","message":"try again"}`,
		`{"LIST":null}`, `{"LIST":null,"total_records":0}`, `{"total_records":0}`, `{"LIST":{},"items":[]}`, `{"LIST":[],"error":"timeout"}`,
		`{"id":"r1","error":"temporary failure"}`, `{"errors":[],"message":"x"}`, `{"LIST":[],"errors":["timeout"]}`, `null`, `"maintenance"`}
	for _, s := range stream.All() {
		binding := compile(t, s)
		for _, body := range bodies {
			isEmptyCounts := s.Envelope == stream.StatusCounts && (body == `{}` || strings.Contains(body, "items"))
			isUnrequested := s.Param == "id" && strings.Contains(body, "r1")
			if isEmptyCounts || isUnrequested {
				continue // tested in TestEmptyListsAndEmptyObjects and TestUnrequestedRecordIsRejected
			}
			list := s.List
			if list == "" {
				list = "records"
			}
			body = strings.ReplaceAll(body, "LIST", list)
			d := binding.NewDecoder()
			page, err := d.Decode([]byte(body), transform.Origin{Seq: 1, Param: "p"})
			if !errors.Is(err, transform.ErrMalformed) || d.Rows() > 0 {
				t.Errorf("%s accepted %s: page %+v, error %v", s.Name, body, page, err)
			}
		}
	}
}

// TestEmptyListsAndEmptyObjects checks which bodies prove that a parent has no records, which bodies
// are empty objects that prove nothing, and which bodies are malformed.
func TestEmptyListsAndEmptyObjects(t *testing.T) {
	for _, c := range []struct {
		stream, body            string
		isDoubtful, isMalformed bool
	}{
		{"campaign_status_counts", `{}`, true, false},
		{"campaign_status_counts", `{"counts":{}}`, true, false},
		{"campaign_status_counts", `[]`, false, false},
		{"campaign_status_counts", `{"counts":[]}`, false, false},
		{"campaign_status_counts", `{"campaign_id":"p","statuses":[],"total":0}`, false, false},
		{"campaign_status_counts", `{"records":[],"total_records":0}`, false, false},
		{"campaign_status_counts", `[{}]`, false, true},
		{"campaign_status_counts", `{"counts":[7]}`, false, true},
		{"campaign_status_counts", `{"counts":"none"}`, false, true},
		{"campaign_status_counts", `{"counts":[],"messages":[7]}`, false, true},
		{"campaign_status_counts", `[{"draft":01}]`, false, true},
		{"campaign_status_counts", `{"error":[]}`, true, false},
		{"campaign_status_counts", `{"errors":[]}`, true, false},
		{"campaign_status_counts", `{"error":true,"draft":{"count":1}}`, false, true},
		{"campaign_articles", `[]`, false, false},
		{"campaign_articles", `{"data":[]}`, false, false},
		{"campaign_articles", `{"records":[],"error":null}`, false, false},
		{"campaign_articles", `{"records":[],"error":0}`, false, false},
		{"campaign_articles", ``, false, false}, // status 204
		{"campaign_status_counts", ``, false, true},
		{"articles", ``, false, true},
		{"article_comments", `{"records":[]}`, false, false},
		{"cities", `{"cities":[]}`, false, false},
	} {
		page, err := decoderOf(t, c.stream).Decode([]byte(c.body), transform.Origin{Param: "p"})
		if (err != nil) != c.isMalformed || page.Records != 0 || page.IsDoubtful != c.isDoubtful {
			t.Errorf("%s: %s: page %+v, error %v; want IsDoubtful %v, malformed %v", c.stream, c.body, page, err, c.isDoubtful, c.isMalformed)
		}
	}
}

// TestUnrequestedRecordIsRejected decodes a record with an id or parent that was not requested.
func TestUnrequestedRecordIsRejected(t *testing.T) {
	for _, c := range []struct{ stream, requested, unrequested, reason string }{
		{"outlets", `{"id":"p"}`, `{"id":"q","outlet_channels":[{"id":"c"}],"tags":["t"]}`, `its id is "q", but "p" was requested`},
		{"products", `{"id":"p"}`, `{"id":"q","prices":[1]}`, `its id is "q", but "p" was requested`},
		{"order_details", `{"id":"p"}`, `{"line_items":[{"id":"l"}],"id":"q"}`, `its id is "q", but "p" was requested`},
		{"campaign_details", `{"id":"p"}`, `{"id":"q","questionnaire":{"id":"x"}}`, `its id is "q", but "p" was requested`},
		{"articles", `{"id":"p"}`, `{"id":7}`, `its id is "7", but "p" was requested`},
		{"campaign_articles", `[{"id":"a","campaign_id":"p"}]`, `[{"id":"a","campaign_id":"q"}]`, `its campaign_id is "q", but "p" was requested`},
		{"profile_order_items", `[{"id":"a"}]`, `[{"id":"a","profile_id":"q"}]`, `its profile_id is "q", but "p" was requested`},
		{"profile_orders", `[{"id":"a","profile_id":null}]`, `[{"id":"a","profile_id":"q"}]`, `its profile_id is "q", but "p" was requested`},
		{"profile_campaigns", `[{"id":"a"}]`, `[{"id":"a","profile":{"id":"q"}}]`, `its profile_id is "q", but "p" was requested`},
		{"outlet_products", `[{"id":"a"}]`, `[{"id":"a","outlet_id":"q"}]`, `its outlet_id is "q", but "p" was requested`},
		{"article_comments", `{"records":[{"id":"a"}]}`, `{"records":[{"id":"a","article_id":"q"}]}`, `its article_id is "q", but "p" was requested`},
	} {
		t.Run(c.stream, func(t *testing.T) {
			d := decoderOf(t, c.stream)
			page, err := d.Decode([]byte(c.requested), transform.Origin{Seq: 1, Param: "p"})
			if err != nil || page.RejectedRecords > 0 || len(page.IDs) != 1 {
				t.Errorf("%s: page %+v, error %v; want the record", c.requested, page, err)
			}
			d.Flush()
			page, err = d.Decode([]byte(c.unrequested), transform.Origin{Seq: 2, Param: "p"})
			if err != nil || page.RejectedRecords != 1 || len(page.IDs) != 0 || d.Rows() > 0 {
				t.Errorf("%s: page %+v, %d rows, error %v; want it rejected", c.unrequested, page, d.Rows(), err)
			}
			findings := d.Findings()
			if len(findings.Rejects) != 1 || findings.Rejects[0].Reason != c.reason || findings.Rejects[0].Column != "" || findings.Rejects[0].Stream != c.stream {
				t.Errorf("rejects %+v, want one of %s with the reason %q", findings.Rejects, c.stream, c.reason)
			}
			if key := findings.Rejects[0].Key; streamNamed(t, c.stream).Envelope == stream.Object && key != "p" {
				t.Errorf("the key of the reject is %q, want the requested id", key)
			}
		})
	}
}

// TestIDsThatAreNoPathSegments decodes ids that cannot be used in a URL. A record with such an id is
// rejected. If a record refers to such an id, the reference is NULL.
func TestIDsThatAreNoPathSegments(t *testing.T) {
	for _, id := range []string{"", ".", ".."} {
		for _, s := range stream.All() {
			if key := s.Root().Key; s.IsDetail() || len(key) != 1 || key[0] != "id" {
				continue
			}
			d := compile(t, s).NewDecoder()
			page, err := d.Decode(fmt.Appendf(nil, `[{"id":%q}]`, id), transform.Origin{})
			if err != nil || page.RejectedRecords != 1 || d.Rows() > 0 {
				t.Errorf("%s with id %q: page %+v, %d rows, error %v; want it rejected", s.Name, id, page, d.Rows(), err)
			}
		}
		for name, body := range map[string]string{
			"outlet_listings": `[{"id":"a","outlet_id":%q}]`, "product_listings": `[{"id":"a","outlet":{"id":%q}}]`,
			"order_items": `[{"id":"a","article":{"id":%q}}]`, "orders": `[{"id":"a","line_items":[{"product_id":%q}]}]`,
		} {
			d := decoderOf(t, name)
			page, err := d.Decode(fmt.Appendf(nil, body, id), transform.Origin{})
			if err != nil || page.RejectedRecords != 0 || d.Rows() != 1 {
				t.Fatalf("%s with %q: page %+v, error %v; want one row", name, id, page, err)
			}
			findings := d.Findings()
			if len(findings.Rejects) != 1 || findings.Rejects[0].Raw != fmt.Sprintf("%q", id) || findings.Rejects[0].Column == "" {
				t.Errorf("%s with %q: rejects %+v, want one for the column", name, id, findings.Rejects)
			}
			for table, rows := range rowsOf(t, d.Flush()) {
				for _, column := range []string{"outlet_id", "article_id", "product_id"} {
					if v, set := rows[0][column]; set {
						t.Errorf("%s.%s is %q, want NULL", table, column, v)
					}
				}
			}
		}
		if got := renderDecoded(t, streamNamed(t, "tags"), fmt.Sprintf(`["%s"]`, id)); (id != "") != strings.Contains(got, "name = "+id+"\n") {
			t.Errorf("want the tag %q, which is in no URL, unless it is empty, in %s", id, got)
		}
	}
}

// TestRejectedItemsCountOnceIfDecodedTwice decodes records with an item without a key. The second
// record also has a duplicate member and is therefore decoded twice.
func TestRejectedItemsCountOnceIfDecodedTwice(t *testing.T) {
	for _, body := range []string{
		`{"id":"o","outlet_channels":[{"name":"no id"}],"name":"a"}`,
		`{"id":"o","outlet_channels":[{"name":"no id"}],"name":"a","name":"b"}`,
	} {
		page, err := decoderOf(t, "outlets").Decode([]byte(body), transform.Origin{Seq: 1, Param: "o"})
		if err != nil || page.RejectedRecords != 1 {
			t.Errorf("%s: %d rejected, error %v; want 1", body, page.RejectedRecords, err)
		}
	}
}

// TestRejectedRecordsAreCounted counts rejected records and items. Items that are keyed only by their position,
// such as line_items, do not count.
func TestRejectedRecordsAreCounted(t *testing.T) {
	for _, c := range []struct {
		stream, body string
		rejected     int
	}{
		{"orders", `[{"id":null},{"a":1},7,null,{"id":"o"}]`, 4},
		{"tags", `["a",{"name":""}]`, 1},
		{"outlets", `{"id":"p","outlet_channels":[{"id":"c"},{"handle":"x"}]}`, 1},
		{"campaign_status_counts", `{"draft":{"count":1},"other":{"a":"b","c":1}}`, 1},
		{"campaign_status_counts", `{"draft":9}`, 0},
		{"campaign_status_counts", `{"counts":{"draft":{"count":1},"error":"none"}}`, 0},
		{"campaign_status_counts", "[" + strings.Repeat(`{"draft":1},`, 99) + `{"draft":1}]`, 0}, // many maps, all of them flat
		{"orders", `[{"id":"o","total":"abc","line_items":[7]}]`, 0},
	} {
		page, err := decoderOf(t, c.stream).Decode([]byte(c.body), transform.Origin{Param: "p"})
		if err != nil || page.RejectedRecords != c.rejected {
			t.Errorf("%s: %s: %d rejected, error %v; want %d", c.stream, c.body, page.RejectedRecords, err, c.rejected)
		}
	}
}

// TestOnlyRepeatedResponsesHaveTheSameHash decodes a rejected record in the lists of two parents, beside other records,
// and in a repeated response. The load writes the rejects of responses with the same hash only once.
func TestOnlyRepeatedResponsesHaveTheSameHash(t *testing.T) {
	d := decoderOf(t, "campaign_articles")
	for _, c := range []struct{ campaign, body string }{
		{"a", `[{"id":"x"},{"name":"no id"}]`},
		{"b", `[{"id":"x"},{"name":"no id"}]`}, // another parent
		{"a", `[{"id":"y"},{"name":"no id"}]`}, // another record beside it
		{"a", `[{"id":"x"},{"name":"no id"}]`},
	} {
		page, err := d.Decode([]byte(c.body), transform.Origin{Param: c.campaign, Page: 1})
		if err != nil || page.Rejects != 1 {
			t.Fatalf("the response has %d rejects, error %v; want one of its own", page.Rejects, err)
		}
	}
	r := d.Findings().Rejects
	if len(r) != 4 || r[0].ResponseHash == r[1].ResponseHash || r[0].ResponseHash == r[2].ResponseHash || r[0].ResponseHash != r[3].ResponseHash {
		t.Errorf("the rejects are %+v, want the same hash only for the first and the last", r)
	}
}

// TestEnvelopeDriftCountsPages decodes page 2 twice, and once page 1 and page 2 of another parameter. Each has an
// unknown member beside the records. The sample is that of page 1.
func TestEnvelopeDriftCountsPages(t *testing.T) {
	d := decoderOf(t, "orders")
	for seq, o := range []transform.Origin{{Param: "a", Page: 2}, {Param: "a", Page: 1}, {Param: "b", Page: 2}, {Param: "a", Page: 2}} {
		o.Seq = uint64(seq)
		if _, err := d.Decode(fmt.Appendf(nil, `{"records":[],"new":%d}`, o.Page), o); err != nil {
			t.Fatal(err)
		}
	}
	pages, findings := map[uint64]bool{}, d.Findings()
	for _, r := range findings.DriftRecords {
		pages[r.Record] = true
	}
	if len(pages) != 3 || findings.Drift[0].Sample != "1" {
		t.Errorf("the member is counted for %d pages with the sample %s, want 3 pages and the sample of page 1", len(pages), findings.Drift[0].Sample)
	}
}

// TestDriftHasTheFirstSample decodes the second page before the first. The sample and the key are those of the first.
func TestDriftHasTheFirstSample(t *testing.T) {
	d := decoderOf(t, "orders")
	for _, page := range []int{2, 1, 3} {
		if _, err := d.Decode(fmt.Appendf(nil, `[{"id":"of page %d","new":%[1]d}]`, page), transform.Origin{Page: page}); err != nil {
			t.Fatal(err)
		}
	}
	if drift := d.Findings().Drift; len(drift) != 1 || drift[0].Sample != "1" || drift[0].Key != "of page 1" || drift[0].Count != 3 {
		t.Errorf("the drift is %+v, want the sample and the key of page 1", drift)
	}
}

// TestRejectedRecordsHaveNoParts rejects a record because a required column is missing, which is known after its
// parts were read.
func TestRejectedRecordsHaveNoParts(t *testing.T) {
	s, defs := streamNamed(t, "things"), testDefinitions()
	defs["things"].Columns[1].NotNull = true // label
	b, err := transform.Compile(s, defs)
	if err != nil {
		t.Fatal(err)
	}
	d := b.NewDecoder()
	decode(t, d, `[{"id":"a","parts":[{"name":"p"}]},{"id":"b","label":"x","parts":[{"name":"q"}]}]`)
	want := map[string][]string{"things": {"b"}, "parts": {"b"}}
	if diff := cmp.Diff(want, keysByTable(d)); diff != "" {
		t.Errorf("keys of the rows (-want +got):\n%s", diff)
	}
}

// TestNaNInPlaceOfAnObjectIsRejected sends a word that JSON does not allow. It cannot be stored as JSON or in extra.
func TestNaNInPlaceOfAnObjectIsRejected(t *testing.T) {
	d := decoderOf(t, "orders")
	decode(t, d, `[{"id":"o","guest":NaN,"metadata":NaN}]`)
	r := d.Findings().Rejects
	if len(r) != 2 || r[0].Column+r[1].Column != "guestmetadata" || r[0].Raw+r[1].Raw != "NaNNaN" {
		t.Errorf("the rejects are %+v, want the word of both fields", r)
	}
	if got := rowsOf(t, d.Flush())["orders"][0]; got["metadata"] != "" || got["extra"] != "" {
		t.Errorf("the row is %v, want neither word in it", got)
	}
}

// TestNameColumnPrecedesText decodes an object in a table with a text column and a column for the name of the object.
func TestNameColumnPrecedesText(t *testing.T) {
	defs := testDefinitions()
	defs["things"] = parseDefinition("things", "id owner owner_name extra:JSON")
	b, err := transform.Compile(streamNamed(t, "things"), defs)
	if err != nil {
		t.Fatal(err)
	}
	r := readOne(t, b, streamNamed(t, "things"), `"owner":{"name":"n"}`)
	if _, set := r["owner"]; set || r["owner_name"] != "n" {
		t.Errorf("row %v, want only owner_name n", r)
	}
}

// TestQuestionnaireAlwaysHasAKey decodes questionnaires with and without an id. Without an id, which the
// spec allows, the key is the questionnaire_id of the campaign, or else the id of the campaign.
func TestQuestionnaireAlwaysHasAKey(t *testing.T) {
	for body, want := range map[string]string{
		`[{"id":"c","questionnaire":{"tone":"t"}}]`:                                       "c",
		`[{"questionnaire":{"tone":"t","id":null},"id":"c"}]`:                             "c",
		`[{"id":"c","questionnaire_id":"q","questionnaire":{"tone":"t"}}]`:                "q",
		`[{"id":"c","questionnaire":{"id":"","tone":"t"},"questionnaire_id":"q"}]`:        "q",
		`[{"id":"c","questionnaire_id":"","questionnaire":{"tone":"t"}}]`:                 "c",
		`[{"id":"c","questionnaire_id":"other","questionnaire":{"tone":"t","id":"own"}}]`: "own",
	} {
		d := decoderOf(t, "campaigns")
		page, err := d.Decode([]byte(body), transform.Origin{})
		rows := rowsOf(t, d.Flush())["questionnaires"]
		if err != nil || page.RejectedRecords > 0 || len(rows) != 1 || rows[0]["id"] != want || rows[0]["campaign_id"] != "c" || rows[0]["tone"] != "t" {
			t.Errorf("%s: page %+v, error %v, rows %v; want id %q", body, page, err, rows, want)
		}
	}
}

// TestFieldOfTheSpecPrecedesOthers decodes two sources for one column: two fields, or a field and the id
// of the parent record. The field in the spec must be used.
func TestFieldOfTheSpecPrecedesOthers(t *testing.T) {
	for _, c := range []struct{ stream, body, table, column, want string }{
		{"product_listings", `[{"id":"p","disclaimer_id":"flat","disclaimer":{"id":"spec"}}]`, "product_listings", "disclaimer_id", "spec"},
		{"product_listings", `[{"id":"p","disclaimer":{"id":"spec"},"disclaimer_id":"flat"}]`, "product_listings", "disclaimer_id", "spec"},
		{"product_listings", `[{"id":"p","outlet":{"id":"nested"},"outlet_id":"spec"}]`, "product_listings", "outlet_id", "spec"},
		{"order_items", `[{"id":"p","outlet_id":"flat","outlet":{"id":"spec"}}]`, "order_items", "outlet_id", "spec"},
		{"order_items", `[{"id":"p","article":{"id":"nested"},"article_id":"spec"}]`, "order_items", "article_id", "spec"},
		{"campaigns", `[{"id":"p","questionnaire":{"id":"q","campaign_id":"own"}}]`, "questionnaires", "campaign_id", "own"},
		{"outlets", `{"id":"p","outlet_channels":[{"id":"c","outlet_id":"own"}]}`, "outlet_channels", "outlet_id", "own"},
		{"outlets", `{"id":"p","outlet_channels":[{"id":"c","do_follow":{"links_allowed":5},"do_follow_links_allowed":3}]}`, "outlet_channels",
			"extra", `{"do_follow":{"links_allowed":5}}`},
	} {
		d := decoderOf(t, c.stream)
		if _, err := d.Decode([]byte(c.body), transform.Origin{Param: "p"}); err != nil {
			t.Fatal(err)
		}
		if got := rowsOf(t, d.Flush())[c.table][0][c.column]; got != c.want {
			t.Errorf("%s: %s is %q, want %q", c.body, c.column, got, c.want)
		}
		if drift := d.Findings().Drift; len(drift) != 1 || drift[0].Kind != transform.Conflict || drift[0].Key != "p" {
			t.Errorf("%s: drift %+v, want one conflict", c.body, drift)
		}
	}
}

// TestDriftCountsRecords counts the different records of each entry of Findings.Drift. Record b is in two
// bodies, and record d contains its id twice. The first and the last body are cut off, so their drift does not count. A
// record without an id counts as a record of its own.
func TestDriftCountsRecords(t *testing.T) {
	d := decoderOf(t, "things")
	const cutOff, whole = true, false
	for i, c := range []struct {
		body     string
		isCutOff bool
	}{
		{`[{"id":"lost","lost":1},`, cutOff},
		{`[{"id":"a","x":1,"parts":[{"n":1},{"n":2}]},{"id":"b","x":2},{"id":"c"},{"x":1}]`, whole},
		{`[{"id":"b","x":3,"y":1,"token_type":"new"},{"id":"d","token_type":"newer","id":"d"}]`, whole},
		{`[{"id":"lost","x":1},`, cutOff},
	} {
		if _, err := d.Decode([]byte(c.body), transform.Origin{Seq: uint64(i)}); (err != nil) != c.isCutOff {
			t.Errorf("%s: got the error %v, want an error only for a body that is cut off", c.body, err)
		}
	}
	findings := d.Findings()
	records := map[string]map[uint64]bool{}
	for _, r := range findings.DriftRecords {
		f := findings.Drift[r.DriftIndex]
		drift := f.Kind + " " + f.Path + " " + f.Key
		if records[drift] == nil {
			records[drift] = map[uint64]bool{}
		}
		records[drift][r.Record] = true
	}
	got := map[string]int{}
	for drift, ids := range records {
		got[drift] = len(ids)
	}
	want := map[string]int{"unknown_field x a": 2, "unknown_field n a": 1, "unknown_field y b": 1, "unknown_enum token_type=new b": 1,
		"unknown_enum token_type=newer d": 1, "duplicate_field id d": 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records by drift (-want +got):\n%s", diff)
	}
}

// TestFieldsOfLinksAreNoDrift repeats a field that a link table ignores, see stream.Table.Link.
func TestFieldsOfLinksAreNoDrift(t *testing.T) {
	for _, name := range []string{"profile_orders", "profile_campaigns"} {
		got := renderDecoded(t, streamNamed(t, name), `[{"id":"o","status":"a","status":"b"}]`)
		if strings.Contains(got, "drift ") {
			t.Errorf("%s counts drift in %s", name, got)
		}
	}
	got := renderDecoded(t, streamNamed(t, "profile_orders"), `[{"id":"o","order_id":{}},{"id":"p","order_id":{"x":1}}]`)
	if strings.Count(got, "reject ") != 1 || !strings.Contains(got, `raw    {"x":1}`) {
		t.Errorf("want one reject, because the other object is empty, in %s", got)
	}
}

// TestSecondValueReplacesAnEmptyText sends a column twice, first as an empty text. The values of the other rows stay.
func TestSecondValueReplacesAnEmptyText(t *testing.T) {
	d := decoderOf(t, "campaigns")
	decode(t, d, `[{"id":"a","questionnaire":{"id":"p"}},{"id":"b","questionnaire":{"id":"q","file_name":"","file":{"name":"x"}}},`+
		`{"id":"c","questionnaire":{"id":"r"}},{"id":"d","questionnaire":{"id":"s","file_name":"y"}}]`)
	var names []string
	for _, r := range rowsOf(t, d.Flush())["questionnaires"] {
		name, isSet := r["file_name"]
		names = append(names, fmt.Sprint(name, isSet))
	}
	if diff := cmp.Diff([]string{"false", "xtrue", "false", "ytrue"}, names); diff != "" {
		t.Errorf("file names, and whether they are set (-want +got):\n%s", diff)
	}
}

// TestTeamFillsItsColumn decodes records without a team. The configured team fills only the column for it.
func TestTeamFillsItsColumn(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"token":  {`{"token_type":"custom"}`, "map[team_id:7 token_type:custom]"},
		"orders": {`[{"total":1},{"id":"o"}]`, "map[id:o]"},
	} {
		d := decoderOf(t, name)
		if _, err := d.Decode([]byte(c.body), transform.Origin{Team: "7"}); err != nil {
			t.Fatal(err)
		}
		rows := rowsOf(t, d.Flush())[name]
		for _, r := range rows {
			delete(r, stream.RowHash)
			delete(r, stream.Seq)
		}
		if len(rows) != 1 || fmt.Sprint(rows[0]) != c.want {
			t.Errorf("%s gave the rows %v, want one: %s", c.body, rows, c.want)
		}
	}
}

// TestCurrenciesAreInUpperCase sends currencies, and texts that are none.
func TestCurrenciesAreInUpperCase(t *testing.T) {
	for sent, want := range map[string]string{"usd": "USD", "eUr": "EUR", "1a2": "1a2", "a{b": "a{b", "us": "us", "euro": "euro"} {
		d := decoderOf(t, "product_listings")
		decode(t, d, fmt.Sprintf(`[{"id":"l","prices":[{"currency":%q}]}]`, sent))
		if got := rowsOf(t, d.Flush())["product_listing_prices"][0]["currency"]; got != want {
			t.Errorf("the currency %q is read as %q, want %q", sent, got, want)
		}
	}
}

// TestInvalidTokensAreMalformed sends tokens that JSON does not allow.
func TestInvalidTokensAreMalformed(t *testing.T) {
	for _, token := range []string{"\"a\nb\"", "\"a\tlonger text\"", `"\x"`, `"\u12g4"`, "01", "-", "1.", ".5", "+1", "1e", "nul", "NULL", "-Inf", "{,}", "[1,]"} {
		if _, err := decoderOf(t, "things").Decode([]byte(thingBody(`"doc":`+token)), transform.Origin{}); !errors.Is(err, transform.ErrMalformed) {
			t.Errorf("%s: got %v, want ErrMalformed", token, err)
		}
	}
}

// TestInvalidUTF8IsCounted sends invalid bytes in a text, and in the object of a column that takes several forms.
func TestInvalidUTF8IsCounted(t *testing.T) {
	for _, object := range []string{"{\"note\":\"b\xff\",\"z\":\"é\"}", "{\"n\xff\":1}"} {
		d := decoderOf(t, "outlets")
		body := "{\"id\":\"o\",\"name\":\"a\xff\",\"outlet_channels\":[{\"id\":\"c\",\"do_follow_links_allowed\":" + object + "}]}"
		if _, err := d.Decode([]byte(body), transform.Origin{Seq: 1, Param: "o"}); err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, drift := range d.Findings().Drift {
			if drift.Kind == transform.InvalidUTF8 {
				got[drift.Table+"."+drift.Path] = true
			}
		}
		if diff := cmp.Diff(map[string]bool{"outlets.name": true, "outlet_channels.do_follow_links_allowed": true}, got); diff != "" {
			t.Errorf("%s: columns with invalid UTF-8 (-want +got):\n%s", object, diff)
		}
		for _, b := range d.Flush() {
			b.Rows.Release()
		}
	}
}
