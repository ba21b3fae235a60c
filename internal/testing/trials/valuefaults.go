package trials

import (
	"cmp"
	"encoding/json"
	"math/big"
	"slices"
	"strings"
	"time"

	"placementsync/internal/sim"
)

// ValueChange makes the values of an object wrong, see [sim.ValueFault].
type ValueChange = func(within string, object map[string]any)

// eachValue returns a change that sets each field to the result of replace.
func eachValue(replace func(within, key string, value any) any) ValueChange {
	return func(within string, object map[string]any) {
		for key, value := range object {
			object[key] = replace(within, key, value)
		}
	}
}

// PricesTimes returns a change that multiplies the prices of products.
func PricesTimes(numerator, denominator int64) ValueChange {
	return FieldTimes("unit_amount", numerator, denominator)
}

// FieldTimes returns a change that multiplies the amounts of a field.
func FieldTimes(name string, numerator, denominator int64) ValueChange {
	return ReplaceField(name, func(value any) any { return times(value, numerator, denominator) })
}

// ReplaceField returns a change that replaces the values of a field that are not null.
func ReplaceField(name string, replace func(value any) any) ValueChange {
	return func(_ string, object map[string]any) {
		if value, ok := object[name]; ok && value != nil {
			object[name] = replace(value)
		}
	}
}

// ExchangedFields returns a change that exchanges the values of two fields in objects that have both.
func ExchangedFields(one, other string) ValueChange {
	return func(_ string, object map[string]any) {
		value, hasOne := object[one]
		otherValue, hasOther := object[other]
		if hasOne && hasOther {
			object[one], object[other] = otherValue, value
		}
	}
}

// LaterBy returns a change that adds an interval to the times of a field.
func LaterBy(name string, interval time.Duration) ValueChange {
	return ReplaceField(name, func(value any) any {
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
	OtherCurrency = eachValue(func(_, key string, value any) any {
		if key == "currency" && value == "USD" {
			return "EUR"
		}
		return value
	})
	// AmountsTimes100 changes the amounts of orders and order items.
	AmountsTimes100 = eachValue(func(_, key string, value any) any {
		if number, ok := value.(json.Number); ok && slices.Contains(orderAmounts, key) {
			return times(number, 100, 1)
		}
		return value
	})
	RenamedStatuses = eachValue(func(within, key string, value any) any {
		text, isText := value.(string)
		if isText && (key == "status" || key == "commission_status" || key == "prefix" && strings.HasPrefix(within, "status")) {
			return "state_" + text
		}
		return value
	})
	// LaterTimes adds a day to all times.
	LaterTimes = eachValue(func(_, _ string, value any) any {
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

// CommissionsAboveSale sets commissions to 120 % of the sale price.
func CommissionsAboveSale(_ string, object map[string]any) {
	if sale, ok := object["sale_price"].(json.Number); ok {
		object["commission_amount"] = times(sale, 6, 5)
	}
}

// MissingField removes a field.
func MissingField(name string) ValueChange {
	return func(_ string, object map[string]any) { delete(object, name) }
}

// ExchangedOutlets returns a change that replaces the id of each outlet by the id of another outlet. The other
// fields of the outlet do not change.
func ExchangedOutlets(service *sim.Service) ValueChange {
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
	return eachValue(func(within, key string, value any) any {
		id, isText := value.(string)
		if isText && (key == "outlet_id" && within != "outlet_channels" || key == "id" && within == "outlet") {
			return cmp.Or(next[id], id)
		}
		return value
	})
}
