package pipeline_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"testing"

	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
)

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

// withReversedLists returns a body whose lists inside records are reversed, and whose objects have another order.
func withReversedLists(body []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil {
		return body
	}
	body, _ = json.Marshal(reverseLists(value, false))
	return body
}

// TestSameContentIsNoChange runs a night in which the service sends the same content in another way: lists and the
// members of objects in another order, and the UUIDs of some responses in upper case. No row may change, no
// record may be rejected, and the products are not read again.
func TestSameContentIsNoChange(t *testing.T) {
	h := newHarness(t, smallWorld(), "token", "product_listings", "order_items", "campaigns", "campaign_articles", "products")
	h.cfg.Details = pipeline.ChangedDetails
	h.requireComplete(h.night())
	h.service.SetFaults(sim.Fault{Path: "/campaigns", Kind: sim.FaultRewrite, Rewrite: withReversedLists},
		sim.Fault{Kind: sim.FaultRewrite, Rewrite: func(body []byte) []byte {
			return uuid.ReplaceAllFunc(withReversedLists(body), bytes.ToUpper)
		}})
	res := h.requireComplete(h.unchangedNight())
	for _, c := range res.Changes {
		if c.New+c.Changed+c.Gone > 0 {
			t.Errorf("%s has %d new, %d changed and %d gone rows, want none", c.Table, c.New, c.Changed, c.Gone)
		}
	}
	h.requireLines("SELECT count(*) FROM meta.rejects WHERE run_id = '"+res.Run.ID+"'", "0")
	h.requireLines("SELECT stream, carried > fetched FROM meta.streams WHERE run_id = '"+res.Run.ID+"' AND stream = 'products'", "products true")
}
