package sim_test

import (
	"encoding/json"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"placementsync/internal/sim"
	"placementsync/internal/testing/harness"
)

// wantShapes returns, by route and field, the shapes that must occur in the default world. In a
// field path, "[]" means the items of a list. A quoted shape is the value of a string.
func wantShapes() map[string]map[string][]string {
	return map[string]map[string][]string{
		"/outlets/{outlet_id}": {
			"outlet_channels[].do_follow_links_allowed": {"true", "false", "null", "absent", "number", `"Unlimited"`, `"5"`, `"2 links"`},
			"outlet_channels[].social_links[]":          {"text", "object"},
			"tags[]":                                    {"text", "object"},
			"description":                               {"text", "null", "absent"},
			"is_indexed":                                {"true", "false", "null", "absent"},
			"outlet_channels[].is_do_follow":            {"true", "false", "null"},
		},
		"/outlets": {
			"channels[].channel_type":   {`"WEBSITE"`, `"AUDIO_ROOM"`},
			"channels[].placement_type": {`"QUOTE"`, `"VIDEO_SPOTLIGHT"`},
			"x_score":                   {"absent", "number"},
		},
		"/products/listings": {
			"disclaimer":            {"text", "object", "null"},
			"prices[].unit_amount":  {"number", "text"},
			"prices[].currency":     {`"USD"`, `"EUR"`, "absent"},
			"prices[].pricing_tier": {`"standard"`, `"pro"`, `"enterprise"`, `"black_friday_2026"`, "null"},
			"includes":              {"list", "empty list", "null", "absent"},
			"example_links":         {"list", "empty list"},
			"example_links[]":       {"text", "object"},
			"tags[]":                {"text", "object"},
			"min_delivery_days":     {"number", "null", "absent"},
			"requirements":          {"text", "null", "absent"},
			"legacy_ref":            {"absent", "object"},
			"internal_note":         {"absent", "text"},
			"country":               {"text", "null"},
		},
		"/products/{product_id}": {"deleted_at": {"null", "absent"}},
		"/orders": {
			"metadata":                               {"absent", "null", "object", "list", "empty list", "text", "number", "true"},
			"deleted_at":                             {"text", "null", "absent"},
			"credits_applied":                        {"number", "null", "absent"},
			"date_paid":                              {"text", "null"},
			"line_items[].id":                        {"text", "absent"},
			"line_items[].linked_order_line_item_id": {"text", "null"},
		},
		"/order-items": {
			"article":           {"object", "null", "absent"},
			"commission_status": {`"pending"`, `"approved"`, `"paid"`, `"refunded"`, `"on_hold_review"`},
			"client":            {"object", "null", "absent"},
		},
		"/teams/{team_id}/profiles": {
			"location":        {"text", "object", "null", "absent"},
			"primary_goals[]": {"text", "object"},
		},
		"/campaigns":      {"questionnaire": {"null", "absent"}, "v1_campaign_id": {"text", "null"}, "articles": {"list", "empty list"}},
		"/campaigns/{id}": {"questionnaire": {"object", "null"}},
		"/campaigns/{id}/articles": {
			"status":                 {"list"},
			"live_url":               {"text", "null", "absent"},
			"order_item.addons[]":    {"text", "object"},
			"order_item.includes":    {"list", "null", "absent"},
			"status[].prefix":        {`"draft-ready-for-review"`, `"request-revision"`, `"pending-publishing"`, `"published"`},
			"status[].color":         {"text", "absent"},
			"order_item.outlet.logo": {"text", "absent"},
		},
		"/campaigns/{id}/articles/status-count": {
			"published": {"object", "absent"},
			"statuses":  {"list", "absent"},
		},
		"/articles/{id}": {
			"status":        {"object"},
			"support_agent": {"text", "object", "null", "absent"},
			"files[]":       {"text", "object"},
		},
		"/articles/{id}/comments": {
			"replies":      {"list", "empty list"},
			"author.email": {"text", "null"},
		},
		"/outlets/locations/countries": {"countries[]": {"text", "object"}},
		"/files":                       {"folder_id": {"text", "null"}, "size": {"number", "null", "absent"}},
	}
}

func TestShapesOccurInTheDefaultWorld(t *testing.T) {
	harness.Slow(t)
	service := sim.New(sim.Options{})
	service.Advance(1)
	paths := samplePaths(t, service, 1000)
	for pattern, fields := range wantShapes() {
		seen := map[string]map[string]bool{}
		for _, path := range paths[pattern] {
			records := service.Records(path)
			if object, ok := service.Object(path); ok {
				records = append(records, object)
			}
			for _, raw := range records {
				for field := range fields {
					if seen[field] == nil {
						seen[field] = map[string]bool{}
					}
					collectShapes(seen[field], record(t, raw), strings.Split(strings.ReplaceAll(field, "[]", ".[]"), "."))
				}
			}
		}
		for field, want := range fields {
			for _, shape := range want {
				if !seen[field][shape] {
					t.Errorf("%s: the field %s never has the shape %s, want it at least once", pattern, field, shape)
				}
			}
		}
	}
}

// collectShapes adds the shapes of the values at a path to seen.
func collectShapes(seen map[string]bool, value any, path []string) {
	if len(path) == 0 {
		for _, shape := range shapesOf(value) {
			seen[shape] = true
		}
		return
	}
	switch inner := value.(type) {
	case []any:
		if path[0] == "[]" {
			for _, element := range inner {
				collectShapes(seen, element, path[1:])
			}
		}
	case map[string]any:
		next, ok := inner[path[0]]
		if !ok {
			next = absent{}
		}
		collectShapes(seen, next, path[1:])
	}
}

// absent represents a missing field.
type absent struct{}

// shapesOf returns the name of a value's shape, and the quoted value if it is a string.
func shapesOf(value any) []string {
	switch v := value.(type) {
	case absent:
		return []string{"absent"}
	case nil:
		return []string{"null"}
	case bool:
		return []string{strconv.FormatBool(v)}
	case float64:
		return []string{"number"}
	case string:
		return []string{"text", `"` + v + `"`}
	case []any:
		if len(v) == 0 {
			return []string{"empty list"}
		}
		return []string{"list"}
	}
	return []string{"object"}
}

// allResponses returns the responses of the default world as one text.
func allResponses(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, text := range responsesByPath(t, sim.New(sim.Options{})) {
		all.WriteString(text)
	}
	return all.String()
}

func TestUnusualTextsTimesAndNumbersOccur(t *testing.T) {
	harness.Slow(t)
	all := allResponses(t)
	for name, pattern := range map[string]string{
		"a time with Z":          `"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ"`,
		"milliseconds":           `:\d\d\.\d{3}Z"`,
		"microseconds":           `:\d\d\.\d{6}Z"`,
		"nanoseconds":            `:\d\d\.\d{9}Z"`,
		"an offset east":         `:\d\d\+02:00"`,
		"an offset west":         `:\d\d\.\d{3}-05:00"`,
		"no zone":                `T\d\d:\d\d:\d\d\.\d{6}"`,
		"float noise":            `:\d+\.\d*9{6,}\d*[,}]`,
		"a long decimal":         `:\d+\.\d{5}[,}]`,
		"an exponent":            `:\d(\.\d+)?e\+0\d[,}]`,
		"trailing zeros":         `:\d+\.00[,}]`,
		"markup":                 `<b>`,
		"a formula":              `"=SUM\(1\)`,
		"quotes":                 `\\"Quoted\\"`,
		"a line break":           `Two\\nLines`,
		"an emoji":               `🚀`,
		"a surrogate escape":     `\\ud83d\\ude80`,
		"an escaped slash":       `https:\\/\\/`,
		"a right-to-left script": `صحيفة`,
	} {
		if !regexp.MustCompile(pattern).MatchString(all) {
			t.Errorf("no response contains %s, want some", name)
		}
	}
}

// TestMoneyAddsUp adds the amounts of orders as decimals that are rounded to six digits.
func TestMoneyAddsUp(t *testing.T) {
	for _, raw := range sim.New(sim.Options{}).Records("/orders") {
		var order struct {
			Total, Subtotal, Discount json.Number
			Fee                       json.Number  `json:"processing_fee"`
			Credits                   *json.Number `json:"credits_applied"`
		}
		if err := json.Unmarshal(raw, &order); err != nil {
			t.Fatal(err)
		}
		if order.Credits == nil {
			continue
		}
		sum := new(big.Rat).Add(roundToMicro(t, order.Subtotal), roundToMicro(t, order.Fee))
		sum.Sub(sum, roundToMicro(t, order.Discount)).Sub(sum, roundToMicro(t, *order.Credits))
		if sum.Cmp(roundToMicro(t, order.Total)) != 0 {
			t.Errorf("got total %s, want the sum %s", order.Total, sum.FloatString(6))
		}
	}
}

// roundToMicro returns a number rounded to six decimals.
func roundToMicro(t *testing.T, n json.Number) *big.Rat {
	t.Helper()
	exact, ok := new(big.Rat).SetString(n.String())
	if !ok {
		t.Fatalf("%q is not a number", n)
	}
	rounded, _ := new(big.Rat).SetString(exact.FloatString(6))
	return rounded
}
