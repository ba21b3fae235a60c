package faults_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"placementsync/internal/sim"
	"placementsync/internal/testing/trials"
	"placementsync/internal/transform"
	"placementsync/internal/webhook"
)

// sentinelPrefix is the beginning of a sentinel: a value that the test gives to a private field. The
// rest of a sentinel is the name of the field.
const sentinelPrefix = "sentinel-of-"

// privateFields returns the private fields of each kind of record, as dotted paths.
func privateFields() map[string][]string {
	return map[string][]string{
		"orders":           {"client_secret", "coupon", "guest_email", "account_owner_email", "team.contact_email", "email"},
		"order_line_items": {"product_type_name"},
		"order_items":      {"client.last_name", "refund_reference"},
		"campaigns":        {"objectives", "target_audience"},
		"profiles":         {"overview", "legal_company_name"},
		"articles":         {"writer.last_name", "draft_doc_url", "live_url"},
		"article_comments": {"author.email", "content"},
		"outlets":          {"description", "logo"},
		"products":         {"requirements"},
	}
}

// sentinelRules returns rules that drop half of the private fields and hash the other half.
func sentinelRules() transform.Privacy {
	p := transform.Privacy{Key: []byte("k")}
	for table, fields := range privateFields() {
		for i, field := range fields {
			rule := table + "." + strings.ReplaceAll(field, ".", "_")
			if i%2 == 0 {
				p.Drop = append(p.Drop, rule)
			} else {
				p.Hash = append(p.Hash, rule)
			}
		}
	}
	return p
}

// recordKinds returns the kinds of records by route and by path in the response of the route. The
// path of the main record is empty.
func recordKinds() map[string]map[string]string {
	campaign := map[string]string{"": "campaigns", "profile": "profiles", "articles": "articles"}
	order := map[string]string{"": "orders", "line_items": "order_line_items", "line_items.outlet": "outlets"}
	return map[string]map[string]string{
		"/orders": order, "/orders/{order_id}": order, "/profiles/{id}/orders": order,
		"/order-items":               {"": "order_items", "outlet": "outlets", "article": "articles", "article.campaign": "campaigns"},
		"/profiles/{id}/order-items": {"": "order_items", "outlet": "outlets"},
		"/campaigns":                 campaign, "/campaigns/{id}": campaign, "/profiles/{id}/campaigns": campaign,
		"/campaigns/{id}/articles":  {"": "articles", "order_item.outlet": "outlets"},
		"/articles/{id}":            {"": "articles"},
		"/articles/{id}/comments":   {"": "article_comments", "replies": "article_comments"},
		"/teams/{team_id}/profiles": {"": "profiles"},
		"/outlets":                  {"": "products", "outlet": "outlets"},
		"/products/listings":        {"": "products"},
		"/products/{product_id}":    {"": "products"},
		"/outlets/{id}/products":    {"": "products"},
		"/outlets/{outlet_id}":      {"": "outlets"},
	}
}

// sentinelWriter adds sentinels to the responses of one route.
type sentinelWriter struct {
	// kinds are the kinds of records by path. See recordKinds.
	kinds map[string]string
	// withWrongTypes means that the writer also adds values of wrong types and invalid records.
	withWrongTypes bool
	// count is the number of added sentinels.
	count int
}

func (w *sentinelWriter) rewrite(body []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return body
	}
	marked, err := json.Marshal(w.addToBody(v))
	if err != nil {
		return body
	}
	return marked
}

// addToBody adds sentinels to all records of a response, in any envelope. If withWrongTypes is set, it
// appends four elements to each list: two records without a valid key, a string, and a duplicate of
// the first record.
func (w *sentinelWriter) addToBody(v any) any {
	list, isBareArray := v.([]any)
	object, _ := v.(map[string]any)
	if records, ok := object["records"].([]any); ok {
		list = records
	}
	if list == nil && !isBareArray {
		return w.addToRecord(object)
	}
	for i := range list {
		if record, ok := list[i].(map[string]any); ok {
			list[i] = w.addToRecord(record)
		}
	}
	if w.withWrongTypes && len(list) > 0 {
		withoutKey := map[string]any{"id": nil, "date_paid": "soon"}
		list = append(list, w.addToRecord(withoutKey), w.addToRecord(map[string]any{"id": "..", "total": []any{1}}), sentinelPrefix+"text", list[0])
	}
	if isBareArray {
		return list
	}
	object["records"] = list
	return object
}

func (w *sentinelWriter) addToRecord(record map[string]any) map[string]any {
	for parent, kind := range w.kinds {
		for _, field := range privateFields()[kind] {
			path := field
			if parent != "" {
				path = parent + "." + field
			}
			w.setValue(record, strings.Split(path, "."), sentinelPrefix+kind+"."+field)
		}
	}
	return record
}

// setValue sets a value at a path. If the path leads through a list, it sets the value in all items
// of the list. If withWrongTypes is set, it also appends an item without a key to the list.
func (w *sentinelWriter) setValue(in map[string]any, path []string, text string) {
	if len(path) == 1 {
		in[path[0]] = w.sentinelValue(text)
		return
	}
	switch next := in[path[0]].(type) {
	case map[string]any:
		w.setValue(next, path[1:], text)
	case []any:
		for _, item := range next {
			if object, ok := item.(map[string]any); ok {
				w.setValue(object, path[1:], text)
			}
		}
		if w.withWrongTypes {
			withoutKey := map[string]any{"id": nil}
			w.setValue(withoutKey, path[1:], text)
			in[path[0]] = append(next, withoutKey)
		}
	default:
		object := map[string]any{}
		in[path[0]] = object
		w.setValue(object, path[1:], text)
	}
}

// sentinelValue returns text as a JSON value. If withWrongTypes is set, four of five values are not
// strings.
func (w *sentinelWriter) sentinelValue(text string) any {
	if w.count++; !w.withWrongTypes {
		return text
	}
	switch w.count % 5 {
	case 0:
		return []any{text}
	case 1:
		return map[string]any{"value": text}
	case 2:
		return map[string]any{"name": text, "email": text}
	case 3:
		return []any{map[string]any{"deep": []any{text}}}
	}
	return text
}

// sentinelFaults returns faults that add sentinels to the responses of every route.
func sentinelFaults(withWrongTypes bool) []sim.Fault {
	var faults []sim.Fault
	for route, kinds := range recordKinds() {
		w := &sentinelWriter{kinds: kinds, withWrongTypes: withWrongTypes}
		var mu sync.Mutex
		faults = append(faults, sim.Fault{Route: route, Kind: sim.FaultRewrite, Rewrite: func(body []byte) []byte {
			mu.Lock()
			defer mu.Unlock()
			return w.rewrite(body)
		}})
	}
	return faults
}

// TestTrialNoSentinelIsPublished adds sentinels to all private fields of all responses, as strings
// and with wrong types. Then it searches the values of all tables and the bytes of all files for
// sentinels.
func TestTrialNoSentinelIsPublished(t *testing.T) {
	t.Parallel()
	unprotected := newPrivateHarness(t, transform.Privacy{}, func(string) bool { return true })
	runSentinelNights(unprotected)
	if found := findMark(unprotected, sentinelPrefix); len(found) < 10 {
		t.Fatalf("without privacy rules: sentinels are in %q, want at least 10 tables and files", found)
	}
	m := newPrivateHarness(t, sentinelRules(), func(string) bool { return true })
	runSentinelNights(m)
	if found := findMark(m, sentinelPrefix); len(found) > 0 {
		t.Errorf("with privacy rules: sentinels are in %q, want none", found)
	}
	for _, table := range []string{"meta.rejects", "past.orders", "orders", "profile_orders", "campaign_articles"} {
		if m.Count(table, "true") == 0 {
			t.Errorf("table %s is empty, want rows", table)
		}
	}
	if m.Count("meta.rejects", `raw LIKE '%"soon"%' AND raw LIKE '%(withheld)%'`) == 0 {
		t.Error("meta.rejects has no record whose private values are replaced by (withheld), want at least one")
	}
}

// runSentinelNights runs three nights with sentinels. In the first and the last night, values have
// wrong types too. Without privacy rules, main, past and meta then contain sentinels.
func runSentinelNights(m trials.WebhookHarness) {
	m.T.Helper()
	for i, withWrongTypes := range []bool{true, false, true} {
		m.Deliver(trials.RawDelivery(fmt.Sprint("c", i), webhook.CommentCreated, `{"id":"c1","content":{"type":"doc","content":[{"type":"text","text":"`+sentinelPrefix+`event"}]},
			"author":{"name":"x","email":"`+sentinelPrefix+`event"}}`))
		m.Deliver(trials.RawDelivery(fmt.Sprint("b", i), webhook.CommentCreated, `{"content":"`+sentinelPrefix+`event"}`))
		m.Deliver(trials.RawDelivery(fmt.Sprint("s", i), webhook.StatusChanged,
			`{"article_id":"a1","status":{"id":"1","prefix":"x"},"writer":{"last_name":"`+sentinelPrefix+`event"}}`))
		runNextDay(m, sentinelFaults(withWrongTypes)...)
	}
}
