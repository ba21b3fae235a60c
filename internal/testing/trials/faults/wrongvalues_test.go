package faults_test

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"placementsync/internal/sim"
	"placementsync/internal/testing/trials"
)

// fieldTexts returns the values of all records of a list as texts. The keys of the map contain the record's
// id and the path of the field, as in ID.prices[].unit_amount.
func fieldTexts(t *testing.T, service *sim.Service, path string) map[string]string {
	t.Helper()
	out := map[string]string{}
	var collect func(fieldPath string, value any)
	collect = func(fieldPath string, value any) {
		switch v := value.(type) {
		case map[string]any:
			for key, inner := range v {
				collect(fieldPath+"."+key, inner)
			}
		case []any:
			for _, inner := range v {
				collect(fieldPath+"[]", inner)
			}
		default:
			text, _ := json.Marshal(v)
			out[fieldPath] += string(text) + "\n"
		}
	}
	for _, raw := range service.Records(path) {
		decoder := json.NewDecoder(strings.NewReader(string(raw)))
		decoder.UseNumber()
		var record map[string]any
		if err := decoder.Decode(&record); err != nil {
			t.Fatal(err)
		}
		collect(record["id"].(string), record)
	}
	return out
}

// TestValueFaults compares a service that has one fault with a service that has none. On the day of the
// fault, exactly the given fields must differ. On the day before and the day after, all fields
// must be equal.
func TestValueFaults(t *testing.T) {
	for name, c := range map[string]struct {
		change trials.ValueChange
		fields []string // differing fields, by the last part of their path
	}{
		"prices times 100":      {trials.PricesTimes(100, 1), []string{"unit_amount"}},
		"prices divided by 100": {trials.PricesTimes(1, 100), []string{"unit_amount"}},
		"zero prices":           {trials.PricesTimes(0, 1), []string{"unit_amount"}},
		"another currency":      {trials.OtherCurrency, []string{"currency"}},
		"larger amounts": {trials.AmountsTimes100, []string{"commission_amount", "credits_applied", "discount", "internal_cost",
			"price", "processing_fee", "product_price", "reseller_price", "sale_price", "subtotal", "total", "vendor_cost"}},
		"larger commissions": {trials.CommissionsAboveSale, []string{"commission_amount"}},
		"missing field":      {trials.MissingField("domain_authority"), []string{"domain_authority"}},
		"unknown statuses":   {trials.RenamedStatuses, []string{"commission_status", "status"}},
		"exchanged outlets":  {trials.ExchangedOutlets(sim.New(sim.Options{})), []string{"id", "outlet_id"}},
		"unknown outlets":    {trials.UnknownOutlets, []string{"id", "outlet_id"}},
		"later dates": {trials.LaterTimes, []string{"accounting_completion_date", "commission_date_paid", "created_at", "customer_invoice_date",
			"date_paid", "deleted_at", "publisher_paid_date", "refund_date", "reseller_paid_date", "updated_at", "vendor_invoice_date", "vendor_paid_date"}},
	} {
		t.Run(name, func(t *testing.T) {
			const faultDay = 1
			right, wrong := sim.New(sim.Options{}), sim.New(sim.Options{})
			wrong.SetValueFaults(sim.ValueFault{Day: faultDay, Change: c.change})
			for day := range 3 {
				differing := map[string]bool{}
				for _, path := range []string{"/products/listings", "/outlets", "/orders", "/order-items"} {
					want, got := fieldTexts(t, right, path), fieldTexts(t, wrong, path)
					for fieldPath := range want {
						if want[fieldPath] != got[fieldPath] {
							differing[fieldPath[strings.LastIndex(fieldPath, ".")+1:]] = true
						}
					}
				}
				want := c.fields
				if day != faultDay {
					want = nil
				}
				if got := slices.Sorted(maps.Keys(differing)); !slices.Equal(got, want) {
					t.Errorf("day %d: fields %v differ, want %v", day, got, want)
				}
				right.Advance(1)
				wrong.Advance(1)
			}
		})
	}
}

// TestValueFaultsAreExact compares wrong prices and wrong dates with computed values.
func TestValueFaultsAreExact(t *testing.T) {
	service := sim.New(sim.Options{})
	prices := func(faults ...sim.ValueFault) (all []*big.Rat) {
		service.SetValueFaults(faults...)
		for _, raw := range service.Records("/products/listings") {
			var listing struct {
				Prices []struct {
					Amount any `json:"unit_amount"`
				}
			}
			decoder := json.NewDecoder(strings.NewReader(string(raw)))
			decoder.UseNumber()
			if err := decoder.Decode(&listing); err != nil {
				t.Fatal(err)
			}
			for _, p := range listing.Prices {
				text, isText := p.Amount.(string)
				if number, ok := p.Amount.(json.Number); ok && !isText {
					text = number.String()
				}
				amount, ok := new(big.Rat).SetString(text)
				if !ok {
					t.Fatalf("the amount %v is not a number", p.Amount)
				}
				all = append(all, amount)
			}
		}
		return all
	}
	right := prices()
	cents, partlyZero := prices(sim.ValueFault{Change: trials.PricesTimes(100, 1)}), prices(sim.ValueFault{Change: trials.PricesTimes(0, 1), Share: 0.1})
	zeros := 0
	for i, price := range right {
		if want := new(big.Rat).Mul(price, big.NewRat(100, 1)).FloatString(4); cents[i].FloatString(4) != want {
			t.Errorf("price %s became %s, want %s", price.FloatString(6), cents[i].FloatString(6), want)
		}
		if partlyZero[i].Sign() == 0 {
			zeros++
		}
	}
	if share := float64(zeros) / float64(len(right)); share < 0.05 || share > 0.2 {
		t.Errorf("%d of %d prices are zero, want about a tenth", zeros, len(right))
	}
	type orderItem struct {
		ID   string     `json:"id"`
		Paid *time.Time `json:"date_paid"`
	}
	paidWithoutFault, compared := map[string]time.Time{}, 0
	eachPaid := func(do func(item orderItem)) {
		for _, raw := range service.Records("/order-items") {
			var item orderItem
			if err := json.Unmarshal(raw, &item); err == nil && item.Paid != nil { // time.Time rejects a time without a zone
				do(item)
			}
		}
	}
	service.SetValueFaults()
	eachPaid(func(item orderItem) { paidWithoutFault[item.ID] = *item.Paid })
	service.SetValueFaults(sim.ValueFault{Change: trials.LaterTimes})
	eachPaid(func(item orderItem) {
		if compared++; !item.Paid.Equal(paidWithoutFault[item.ID].AddDate(0, 0, 1)) {
			t.Errorf("order item %s was paid %v, want a day after %v", item.ID, item.Paid, paidWithoutFault[item.ID])
		}
	})
	if compared == 0 || compared != len(paidWithoutFault) {
		t.Errorf("%d items have a date_paid with the fault and %d without, want equal numbers", compared, len(paidWithoutFault))
	}
}
