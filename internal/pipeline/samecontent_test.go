package pipeline_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/pipeline"
)

// rewriteService makes the nights of a harness read the bodies of the service as rewrite returns them.
func (h *harness) rewriteService(rewrite func(path string, record any) any) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		h.service.ServeHTTP(answer, r)
		body := answer.Body.Bytes()
		d := json.NewDecoder(bytes.NewReader(body))
		d.UseNumber()
		var value any
		if d.Decode(&value) == nil {
			body, _ = json.Marshal(rewrite(r.URL.Path, value))
		}
		w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
		w.WriteHeader(answer.Code)
		_, _ = w.Write(body)
	}))
	h.t.Cleanup(server.Close)
	h.cfg.Fetch.BaseURL = server.URL
}

// reverseLists reverses all lists inside records. The records of a response keep their order, which is part of the
// evidence that a list was read completely.
func reverseLists(value any, isInRecord bool) any {
	switch v := value.(type) {
	case map[string]any:
		_, isResponse := v["records"]
		for name, member := range v {
			v[name] = reverseLists(member, isInRecord || !isResponse)
		}
	case []any:
		for i, item := range v {
			v[i] = reverseLists(item, true)
		}
		if isInRecord {
			slices.Reverse(v)
		}
	}
	return value
}

var uuid = regexp.MustCompile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

// upperIDs writes all UUIDs in upper case.
func upperIDs(value any) any {
	text, _ := json.Marshal(value)
	var upper any
	d := json.NewDecoder(strings.NewReader(uuid.ReplaceAllStringFunc(string(text), strings.ToUpper)))
	d.UseNumber()
	_ = d.Decode(&upper)
	return upper
}

// TestSameContentIsNoChange runs a night in which the service sends the same content in another way: lists and the
// members of objects in another order, and the UUIDs of some responses in upper case. No row may change, no
// record may be rejected, and the products are not read again.
func TestSameContentIsNoChange(t *testing.T) {
	h := newHarness(t, smallWorld(), "token", "product_listings", "order_items", "campaigns", "campaign_articles", "products")
	h.cfg.Details = pipeline.ChangedDetails
	h.requireComplete(h.night())
	h.rewriteService(func(path string, value any) any {
		if !strings.HasPrefix(path, "/campaigns") {
			value = upperIDs(value)
		}
		return reverseLists(value, false)
	})
	res := h.requireComplete(h.unchangedNight())
	for _, c := range res.Changes {
		if c.New+c.Changed+c.Gone > 0 {
			t.Errorf("%s has %d new, %d changed and %d gone rows, want none", c.Table, c.New, c.Changed, c.Gone)
		}
	}
	h.requireLines("SELECT count(*) FROM meta.rejects WHERE run_id = '"+res.Run.ID+"'", "0")
	h.requireLines("SELECT stream, carried > fetched FROM meta.streams WHERE run_id = '"+res.Run.ID+"' AND stream = 'products'", "products true")
}
