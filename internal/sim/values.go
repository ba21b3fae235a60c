package sim

import (
	"bytes"
	"encoding/json"
	"hash/fnv"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"
)

// ValueFaultKind is a kind of wrong values in records of well-formed responses.
type ValueFaultKind int

const (
	// ValueCents multiplies the prices of products by 100, as if they were sent in cents.
	ValueCents ValueFaultKind = iota
	// ValueHundredths divides the prices of products by 100.
	ValueHundredths
	// ValueZeroPrices makes the prices of products 0.
	ValueZeroPrices
	// ValueCurrency replaces the currency USD by EUR.
	ValueCurrency
	// ValueAmounts multiplies the amounts of orders and order items by 100.
	ValueAmounts
	// ValueCommissions sets commissions to 120 % of the sale price.
	ValueCommissions
	// ValueMissingField omits Field from records and their nested objects.
	ValueMissingField
	// ValueStatuses puts "state_" before the statuses of orders, commissions, campaigns and
	// articles.
	ValueStatuses
	// ValueOutletsShuffled replaces the outlet ids in listings and orders by the id of the next
	// outlet. The other fields of the outlet do not change.
	ValueOutletsShuffled
	// ValueOutletsUnknown replaces the outlet ids in listings and orders by the id of an outlet
	// that does not exist.
	ValueOutletsUnknown
	// ValueDates adds a day to all times.
	ValueDates
)

// ValueFault makes the service send wrong values on one simulated day. The world itself
// does not change: on other days the responses are as without the fault.
type ValueFault struct {
	Kind ValueFaultKind
	// Day is the simulated day with wrong values.
	Day int
	// Share is the share of affected records, from 0 to 1, selected by id. 0 means all.
	Share float64
	// Field is the field of ValueMissingField, such as domain_authority.
	Field string
}

func (w *world) distort(document []byte, rt *route) []byte {
	var today []ValueFault
	for _, f := range w.valueFaults {
		if f.Day == w.calendar.day {
			today = append(today, f)
		}
	}
	if len(today) == 0 || rt.binary {
		return document
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()        // keeps all digits of amounts
	_ = decoder.Decode(&value) // this service wrote the document
	records, _ := value.([]any)
	if object, ok := value.(map[string]any); ok {
		var isList bool
		if records, isList = object["records"].([]any); !isList {
			records = []any{object}
		}
	}
	for _, record := range records {
		for _, f := range today {
			if object, ok := record.(map[string]any); ok && f.affects(object) {
				f.distortObject(w, rt.pattern, "", object)
			}
		}
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

func (f ValueFault) affects(record map[string]any) bool {
	id, _ := record["id"].(string)
	if f.Share <= 0 || id == "" {
		return f.Share <= 0
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(id))
	return float64(mix(sum.Sum64())) < f.Share*math.MaxUint64
}

// distortObject applies the fault to an object and its nested objects. within is the name of the field that
// contains the object, or empty for a record.
func (f ValueFault) distortObject(w *world, pattern, within string, object map[string]any) {
	if f.Kind == ValueMissingField {
		delete(object, f.Field)
	}
	if sale, ok := object["sale_price"].(json.Number); ok && f.Kind == ValueCommissions {
		object["commission_amount"] = scale(sale.String(), 6, 5)
	}
	for key, value := range object {
		switch v := value.(type) {
		case map[string]any:
			f.distortObject(w, pattern, key, v)
		case []any:
			for i, element := range v {
				if inner, ok := element.(map[string]any); ok {
					f.distortObject(w, pattern, key, inner)
				} else {
					v[i] = f.distortScalar(w, pattern, within, key, element)
				}
			}
		default:
			object[key] = f.distortScalar(w, pattern, within, key, value)
		}
	}
}

// distortScalar returns the wrong value for a scalar, or the unchanged value if the fault does not affect it.
func (f ValueFault) distortScalar(w *world, pattern, within, key string, value any) any {
	number, _ := value.(json.Number)
	text, isText := value.(string)
	switch f.Kind {
	case ValueCents, ValueHundredths, ValueZeroPrices:
		factor := map[ValueFaultKind][2]int64{ValueCents: {100, 1}, ValueHundredths: {1, 100}, ValueZeroPrices: {0, 1}}[f.Kind]
		switch {
		case key == "unit_amount" && isText:
			return scale(text, factor[0], factor[1]).String()
		case key == "unit_amount" && number != "":
			return scale(number.String(), factor[0], factor[1])
		}
	case ValueCurrency:
		if key == "currency" && text == "USD" {
			return "EUR"
		}
	case ValueAmounts:
		if number != "" && slices.Contains(orderAmounts, key) {
			return scale(number.String(), 100, 1)
		}
	case ValueStatuses:
		if isText && (key == "status" || key == "commission_status" || key == "prefix" && strings.HasPrefix(within, "status")) {
			return "state_" + text
		}
	case ValueOutletsShuffled, ValueOutletsUnknown:
		// The ids in GET /outlets/{outlet_id} do not change.
		n, ok := w.seed.numberOf(kindOutlet, text)
		isOutletID := key == "outlet_id" || key == "id" && within == "outlet"
		count := uint32(len(w.outlets.all))
		switch {
		case !ok || !isOutletID || pattern == "/outlets/{outlet_id}":
		case f.Kind == ValueOutletsUnknown:
			return w.seed.id(kindOutlet, n+count)
		default:
			return w.seed.id(kindOutlet, (n+1)%count)
		}
	case ValueDates:
		if isText {
			return addDay(text)
		}
	}
	return value
}

var orderAmounts = []string{
	"total", "subtotal", "processing_fee", "discount", "credits_applied", "price", "sale_price", "product_price",
	"commission_amount", "internal_cost", "reseller_price", "vendor_cost",
}

// scale multiplies an amount and rounds it to the millionth.
func scale(amount string, numerator, denominator int64) json.Number {
	value, ok := new(big.Rat).SetString(amount)
	if !ok {
		return json.Number(amount)
	}
	value.Mul(value, big.NewRat(numerator, denominator))
	return json.Number(value.FloatString(6))
}

func addDay(text string) string {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.AddDate(0, 0, 1).Format(layout)
		}
	}
	return text
}
