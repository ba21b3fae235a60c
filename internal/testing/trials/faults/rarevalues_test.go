package faults_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/sim"
	"placementsync/internal/testing/trials"
)

// TestTrialRareValuesAreStored compares all values of a night in which rare values are frequent:
// unknown fields at every depth, deleted records, and questionnaires in the list of campaigns. Every
// column of every table must have a value.
func TestTrialRareValuesAreStored(t *testing.T) {
	t.Parallel()
	world := trials.SmallWorld()
	world.Profiles = 9 // enough for goals that are objects
	h := trials.NewHarness(t, world)
	h.Service.SetFaults(sim.Fault{Kind: sim.FaultRewrite, Rewrite: func(body []byte) []byte {
		return []byte(trials.Canonical(enrichBody(trials.Decode(string(body)))))
	}})
	ref := trials.NewReference(t, h.Service, h.Config.Streams)
	ref.Rewrite = enrich
	h.GoodNight()
	current := ref.CurrentRows()
	catalog := h.Catalog()
	for _, spec := range ref.UniqueTables() {
		t.Run(spec.Table, func(t *testing.T) {
			trials.CheckTable(t, spec, current, catalog, "main."+spec.Table)
			for name := range spec.Types() {
				if !slices.ContainsFunc(current[spec.Table], func(r trials.TextRow) bool { return r[name] != "" }) {
					t.Errorf("the service has no record with a value of %s, want at least one", name)
				}
			}
		})
	}
}

// enrichBody adds rare values to the records of a body. It does not change the envelope of a list.
func enrichBody(v any) any {
	switch body := v.(type) {
	case []any:
		for i := range body {
			body[i] = enrich(body[i])
		}
		return body
	case map[string]any:
		if list, ok := body["records"].([]any); ok {
			body["records"] = enrichBody(list)
			return body
		}
	}
	return enrich(v)
}

// unlisted is the value of an unknown field. A program that reads the numbers in it as floating point,
// or drops null, would change this value.
const unlisted = `{"big":12345678901234567890123,"exact":0.1000000000000000055511151231257827,"none":null,"deep":[{"text":"é \u2028 \u0000"}]}`

// enrich adds rare values to an object and all nested objects.
func enrich(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = enrich(v[i])
		}
	case map[string]any:
		enrichFields(v)
		for name := range v {
			v[name] = enrich(v[name])
		}
		v["unlisted"] = trials.Decode(unlisted)
	}
	return v
}

func enrichFields(v map[string]any) {
	id, _ := v["id"].(string)
	instant := "2026-10-31T23:59:59.999999+05:30"
	if _, ok := v["deleted_at"]; ok {
		v["deleted_at"] = instant
	}
	if v["total_articles"] != nil {
		v["questionnaire"] = filledObject("id campaign_id objectives keywords target_audience tone writing_samples file_id file_name "+
			"file_url created_at updated_at deleted_at file_size", id, instant)
		delete(v["questionnaire"].(map[string]any), "campaign_id") // the id of the campaign must be used instead
	}
	if v["order_item"] != nil { // the row of an article in a campaign
		v["expected_completion_date"], v["expected_completion_date_title"] = instant, "Expected by the client"
	}
	if v["file_url"] != nil && v["name"] != nil {
		for name, value := range filledObject(trials.FileText+" size "+trials.Timestamps, id, instant) {
			v[name] = value
		}
	}
}

// filledObject returns an object with values for all the named fields. instant is the value of each
// time; the other values are derived from id.
func filledObject(names, id, instant string) map[string]any {
	object := map[string]any{}
	for _, name := range strings.Fields(names) {
		switch name {
		case "id":
			object[name] = "of-" + id
		case "created_at", "updated_at", "deleted_at":
			object[name] = instant
		case "size", "file_size":
			object[name] = json.Number("9007199254740993") // no float64 has this value
		default:
			object[name] = name + " of " + id
		}
	}
	return object
}
