package trials_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"placementsync/internal/sim"
)

// valueChange makes the values of an object wrong, see [sim.ValueFault].
type valueChange = func(within string, object map[string]any)

// eachValue returns a change that sets each field to the result of replace.
func eachValue(replace func(within, key string, value any) any) valueChange {
	return func(within string, object map[string]any) {
		for key, value := range object {
			object[key] = replace(within, key, value)
		}
	}
}

// pricesTimes returns a change that multiplies the prices of products.
func pricesTimes(numerator, denominator int64) valueChange {
	return fieldTimes("unit_amount", numerator, denominator)
}

// fieldTimes returns a change that multiplies the amounts of a field.
func fieldTimes(name string, numerator, denominator int64) valueChange {
	return replaceField(name, func(value any) any { return times(value, numerator, denominator) })
}

// replaceField returns a change that replaces the values of a field that are not null.
func replaceField(name string, replace func(value any) any) valueChange {
	return func(_ string, object map[string]any) {
		if value, ok := object[name]; ok && value != nil {
			object[name] = replace(value)
		}
	}
}

// exchangedFields returns a change that exchanges the values of two fields in objects that have both.
func exchangedFields(one, other string) valueChange {
	return func(_ string, object map[string]any) {
		value, hasOne := object[one]
		otherValue, hasOther := object[other]
		if hasOne && hasOther {
			object[one], object[other] = otherValue, value
		}
	}
}

// laterBy returns a change that adds an interval to the times of a field.
func laterBy(name string, interval time.Duration) valueChange {
	return replaceField(name, func(value any) any {
		text, _ := value.(string)
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return value
		}
		return at.Add(interval).Format(time.RFC3339Nano)
	})
}

// times multiplies an amount and rounds it to the millionth.
func times(amount any, numerator, denominator int64) any {
	text, isText := amount.(string)
	if number, ok := amount.(json.Number); ok {
		text = number.String()
	}
	value, ok := new(big.Rat).SetString(text)
	if !ok {
		return amount
	}
	product := value.Mul(value, big.NewRat(numerator, denominator)).FloatString(6)
	if isText {
		return product
	}
	return json.Number(product)
}

var (
	otherCurrency = eachValue(func(_, key string, value any) any {
		if key == "currency" && value == "USD" {
			return "EUR"
		}
		return value
	})
	// amountsTimes100 changes the amounts of orders and order items.
	amountsTimes100 = eachValue(func(_, key string, value any) any {
		if number, ok := value.(json.Number); ok && slices.Contains(orderAmounts, key) {
			return times(number, 100, 1)
		}
		return value
	})
	renamedStatuses = eachValue(func(within, key string, value any) any {
		text, isText := value.(string)
		if isText && (key == "status" || key == "commission_status" || key == "prefix" && strings.HasPrefix(within, "status")) {
			return "state_" + text
		}
		return value
	})
	// unknownOutlets replaces the ids of outlets in listings and orders by ids that do not exist.
	unknownOutlets = outletIDs(func(id string) string { return "00000000" + id[8:] })
	// laterTimes adds a day to all times.
	laterTimes = eachValue(func(_, _ string, value any) any {
		text, _ := value.(string)
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
			if at, err := time.Parse(layout, text); err == nil {
				return at.AddDate(0, 0, 1).Format(layout)
			}
		}
		return value
	})
	orderAmounts = []string{"total", "subtotal", "processing_fee", "discount", "credits_applied", "price", "sale_price", "product_price",
		"commission_amount", "internal_cost", "reseller_price", "vendor_cost"}
)

// commissionsAboveSale sets commissions to 120 % of the sale price.
func commissionsAboveSale(_ string, object map[string]any) {
	if sale, ok := object["sale_price"].(json.Number); ok {
		object["commission_amount"] = times(sale, 6, 5)
	}
}

func missingField(name string) valueChange {
	return func(_ string, object map[string]any) { delete(object, name) }
}

// outletIDs returns a change that replaces the ids of outlets, but not in GET /outlets/{outlet_id}.
func outletIDs(replace func(id string) string) valueChange {
	return eachValue(func(within, key string, value any) any {
		id, isText := value.(string)
		if isText && (key == "outlet_id" && within != "outlet_channels" || key == "id" && within == "outlet") {
			return replace(id)
		}
		return value
	})
}

// exchangedOutlets returns a change that replaces the id of each outlet by the id of another outlet. The other
// fields of the outlet do not change.
func exchangedOutlets(service *sim.Service) valueChange {
	next, first, previous := map[string]string{}, "", ""
	for _, raw := range service.Records("/outlets") {
		var row struct {
			Outlet string `json:"outlet_id"`
		}
		if json.Unmarshal(raw, &row) != nil || next[row.Outlet] != "" || row.Outlet == previous {
			continue
		}
		if previous == "" {
			first = row.Outlet
		} else {
			next[previous] = row.Outlet
		}
		previous = row.Outlet
	}
	next[previous] = first
	return outletIDs(func(id string) string { return cmp.Or(next[id], id) })
}

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
		change valueChange
		fields []string // differing fields, by the last part of their path
	}{
		"prices times 100":      {pricesTimes(100, 1), []string{"unit_amount"}},
		"prices divided by 100": {pricesTimes(1, 100), []string{"unit_amount"}},
		"zero prices":           {pricesTimes(0, 1), []string{"unit_amount"}},
		"another currency":      {otherCurrency, []string{"currency"}},
		"larger amounts": {amountsTimes100, []string{"commission_amount", "credits_applied", "discount", "internal_cost",
			"price", "processing_fee", "product_price", "reseller_price", "sale_price", "subtotal", "total", "vendor_cost"}},
		"larger commissions": {commissionsAboveSale, []string{"commission_amount"}},
		"missing field":      {missingField("domain_authority"), []string{"domain_authority"}},
		"unknown statuses":   {renamedStatuses, []string{"commission_status", "status"}},
		"exchanged outlets":  {exchangedOutlets(sim.New(sim.Options{})), []string{"id", "outlet_id"}},
		"unknown outlets":    {unknownOutlets, []string{"id", "outlet_id"}},
		"later dates": {laterTimes, []string{"accounting_completion_date", "commission_date_paid", "created_at", "customer_invoice_date",
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
	cents, partlyZero := prices(sim.ValueFault{Change: pricesTimes(100, 1)}), prices(sim.ValueFault{Change: pricesTimes(0, 1), Share: 0.1})
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
	service.SetValueFaults(sim.ValueFault{Change: laterTimes})
	eachPaid(func(item orderItem) {
		if compared++; !item.Paid.Equal(paidWithoutFault[item.ID].AddDate(0, 0, 1)) {
			t.Errorf("order item %s was paid %v, want a day after %v", item.ID, item.Paid, paidWithoutFault[item.ID])
		}
	})
	if compared == 0 || compared != len(paidWithoutFault) {
		t.Errorf("%d items have a date_paid with the fault and %d without, want equal numbers", compared, len(paidWithoutFault))
	}
}
