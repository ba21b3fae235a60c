package sim_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/sim"
	"placementsync/internal/testing/harness"
)

// requiredFields returns for each route the fields that the spec calls required, and the fields that
// are needed to join records. Records of other routes may have any fields.
func requiredFields() map[string][]string {
	return map[string][]string{
		"/auth/token":                           {"source", "team_id", "token_type", "scopes", "pro_pricing_enabled"},
		"/outlets":                              {"id", "name", "outlet_id", "channels", "prices"},
		"/outlets/locations/countries":          {"countries"},
		"/outlets/locations/states":             {"states"},
		"/outlets/locations/cities":             {"cities"},
		"/outlets/{outlet_id}":                  {"id", "name", "tags", "outlet_channels", "created_at", "updated_at"},
		"/outlets/{id}/products":                {"id", "name"},
		"/tags":                                 {"name"},
		"/outlet-disclaimers":                   {"id", "name"},
		"/products/listings":                    {"id", "name", "outlet_id", "channel_id", "prices", "tags"},
		"/products/categories":                  {"type", "count"},
		"/products/{product_id}":                {"id", "name", "active", "type_id", "prices"},
		"/orders":                               {"id", "team", "line_items", "status", "total"},
		"/order-items":                          {"id", "order_id", "product_id", "commission_amount", "commission_status"},
		"/orders/{order_id}":                    {"id", "name", "email", "line_items"},
		"/profiles/{id}/orders":                 {"id", "team"},
		"/profiles/{id}/order-items":            {"id", "profile_id", "product_id", "includes"},
		"/profiles/{id}/campaigns":              {"id", "name"},
		"/teams/{team_id}/profiles":             {"id", "name", "team_id"},
		"/campaigns":                            {"id", "name", "profile_id", "status", "articles"},
		"/campaigns/{id}":                       {"id", "name", "questionnaire", "articles"},
		"/campaigns/{id}/articles":              {"id", "campaign_id", "order_item_id", "status"},
		"/campaigns/{id}/articles/status-count": {},
		"/articles/{id}":                        {"id", "campaign_id", "product_id", "profile_id", "status"},
		"/articles/{id}/comments":               {"id", "content", "author", "replies"},
		"/files":                                {"id", "name", "file_url"},
		"/files/{id}":                           {"id", "name", "file_url"},
		"/files/{id}/download":                  nil, // not JSON
		"/folders":                              {"id", "name"},
	}
}

func TestRoutesHaveRequiredFields(t *testing.T) {
	harness.Slow(t)
	s := serve(t, sim.Options{})
	paths := samplePaths(t, s.service, 40)
	for pattern := range requiredFields() {
		if !slices.Contains(s.service.Routes(), pattern) {
			t.Errorf("internal/sim/routes.go has no route %s", pattern)
		}
	}
	for _, pattern := range s.service.Routes() {
		fields, isListed := requiredFields()[pattern]
		t.Run(pattern, func(t *testing.T) {
			records := 0
			for _, path := range paths[pattern] {
				got := s.get(path)
				if got.status != http.StatusOK {
					t.Fatalf("GET %s: status %d: %s", path, got.status, got.body)
				}
				if fields == nil && isListed { // not JSON
					records++
					continue
				}
				for _, raw := range recordsIn(t, got.body) {
					records++
					checkFields(t, raw, fields)
				}
			}
			if records == 0 {
				t.Error("the route returned no records, want some")
			}
		})
	}
}

// recordsIn returns the records of a body according to its shape.
func recordsIn(t *testing.T, body []byte) []json.RawMessage {
	t.Helper()
	if !json.Valid(body) {
		t.Fatalf("the body is not JSON: %s", body)
	}
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil {
		return list
	}
	var page struct {
		Records *[]json.RawMessage `json:"records"`
	}
	if json.Unmarshal(body, &page) == nil && page.Records != nil {
		return *page.Records
	}
	return []json.RawMessage{body}
}

func checkFields(t *testing.T, raw json.RawMessage, fields []string) {
	t.Helper()
	got := record(t, raw)
	for _, field := range fields {
		if _, ok := got[field]; !ok {
			t.Errorf("the record lacks %s: %s", field, raw)
		}
	}
	for _, field := range []string{"id", "name", "type"} {
		if slices.Contains(fields, field) && got[field] == nil {
			t.Errorf("%s is null in %s, want a value", field, raw)
		}
	}
}

func TestRecordsAndObjectEqualResponses(t *testing.T) {
	harness.Slow(t)
	s := serve(t, sim.Options{Seed: 3})
	for pattern, paths := range samplePaths(t, s.service, 3) {
		for _, path := range paths {
			served := s.get(path + "?limit=100").body
			if object, ok := s.service.Object(path); ok {
				if !bytes.Equal(object, served) {
					t.Errorf("%s: Object(%q) differs from the response, want the same bytes", pattern, path)
				}
				continue
			}
			records := s.service.Records(path)
			if len(records) == 0 {
				continue
			}
			joined := bytes.Join(rawBytes(records[:min(100, len(records))]), []byte{','})
			if !bytes.Contains(served, append(append([]byte{'['}, joined...), ']')) {
				t.Errorf("%s: the response does not contain Records(%q)", pattern, path)
			}
		}
	}
}

func rawBytes(records []json.RawMessage) [][]byte {
	out := make([][]byte, len(records))
	for i, raw := range records {
		out[i] = raw
	}
	return out
}

func TestUnknownPathsAreNotFound(t *testing.T) {
	s := serve(t, sim.Options{})
	order := ids(t, s.service.Records("/orders"))[0]
	for _, path := range []string{
		"/nothing", "/orders/", "/orders/abc", "/orders/" + order + "/lines",
		"/products/" + order, "/campaigns/" + order + "/articles", "/teams/x/profiles",
		"/orders/" + strings.ToUpper(order), "//orders", "/v1/orders",
	} {
		if got := s.get(path); got.status != http.StatusNotFound {
			t.Errorf("GET %s: got status %d, want 404", path, got.status)
		}
	}
}

func TestOutletsOfOrdersHaveOnlyIDAndNameByDefault(t *testing.T) {
	s := serve(t, sim.Options{})
	fullOutlets := 0
	for _, id := range ids(t, s.service.Records("/orders"))[:50] {
		path := "/orders/" + id
		for _, outlet := range lineOutlets(t, s.get(path).body) {
			if len(outlet) != 2 || outlet["id"] == nil || outlet["name"] == nil {
				t.Errorf("%s: got the outlet %v, want only id and name", path, outlet)
			}
		}
		for _, outlet := range lineOutlets(t, s.get(path+"?include_outlets_data=true").body) {
			if outlet["website_url"] != nil {
				fullOutlets++
			}
		}
	}
	if fullOutlets == 0 {
		t.Error("with include_outlets_data=true no outlet has a website_url, want some")
	}
}

func lineOutlets(t *testing.T, body []byte) []map[string]any {
	t.Helper()
	var order struct {
		LineItems []struct {
			Outlet map[string]any `json:"outlet"`
		} `json:"line_items"`
	}
	if err := json.Unmarshal(body, &order); err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	for _, line := range order.LineItems {
		out = append(out, line.Outlet)
	}
	return out
}

func TestTeamInListAndDetail(t *testing.T) {
	s := serve(t, sim.Options{})
	for _, raw := range s.service.Records("/orders")[:30] {
		row := record(t, raw)
		team, _ := row["team"].(map[string]any)
		if team["name"] == nil || team["contact_email"] == nil || row["name"] != nil || row["email"] != nil {
			t.Errorf("the row of the list is %s, want a team with name and email, and neither at top level", raw)
		}
		detail := record(t, s.get("/orders/"+row["id"].(string)).body)
		if detail["team"] != nil || detail["name"] == nil || detail["email"] == nil {
			t.Errorf("the detail of order %s has team %v, name %v and email %v, want a name and an email, but no team", row["id"], detail["team"],
				detail["name"], detail["email"])
		}
	}
}
