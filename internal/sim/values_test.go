package sim_test

import (
	"math"
	"testing"

	"placementsync/internal/sim"
)

// TestValueFaults removes fields of records and of nested objects on one day, in a share of the records.
func TestValueFaults(t *testing.T) {
	service := sim.New(sim.Options{})
	service.SetValueFaults(sim.ValueFault{Day: 1, Share: 0.3, Change: func(within string, object map[string]any) {
		if within == "" {
			delete(object, "description")
		}
		if within == "prices" {
			delete(object, "unit_amount")
		}
	}})
	for day := range 3 {
		records := service.Records("/products/listings")
		changed, unchanged := 0, 0
		for _, raw := range records {
			listing := record(t, raw)
			firstPrice := listing["prices"].([]any)[0].(map[string]any)
			_, hasDescription := listing["description"]
			_, hasAmount := firstPrice["unit_amount"]
			if hasAmount { // some listings never have a description
				unchanged++
			}
			if !hasAmount && !hasDescription {
				changed++
			}
		}
		want := 0.0
		if day == 1 {
			want = 0.3
		}
		if share := float64(changed) / float64(len(records)); math.Abs(share-want) > 0.1 {
			t.Errorf("day %d: a share of %.1f of the records is changed, want %.1f", day, share, want)
		}
		if changed+unchanged != len(records) {
			t.Errorf("day %d: %d of %d records are changed and %d are not, want no record that is changed in part", day, changed, len(records), unchanged)
		}
		service.Advance(1)
	}
}
