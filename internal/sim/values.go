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

// ValueFaultKind is a mistake in the values of records: whole answers in good form that
// cannot be right.
type ValueFaultKind int

const (
	// ValueCents multiplies the prices of products by 100, as if units were cents.
	ValueCents ValueFaultKind = iota
	// ValueHundredths divides the prices of products by 100.
	ValueHundredths
	// ValueZeroPrices makes the prices of products 0.
	ValueZeroPrices
	// ValueCurrency names EUR wherever a price is in USD.
	ValueCurrency
	// ValueAmounts multiplies the amounts of orders and order items by 100.
	ValueAmounts
	// ValueCommissions makes commissions a fifth higher than the sale price.
	ValueCommissions
	// ValueField leaves out Field wherever it appears.
	ValueField
	// ValueStatuses writes "state_" before each status of an order, a commission, a
	// campaign and an article.
	ValueStatuses
	// ValueOutletsShuffled names the next outlet in each listing and order.
	ValueOutletsShuffled
	// ValueOutletsUnknown names outlets in each listing and order that do not exist.
	ValueOutletsUnknown
	// ValueDates moves every instant a day ahead.
	ValueDates
)

// ValueFault makes the service answer wrong values on one simulated day. The world does not
// change: on other days the answers are those of a service without the fault.
type ValueFault struct {
	Kind ValueFaultKind
	// Day is the simulated day on which the answers are wrong.
	Day int
	// Share is the share of the records that are affected, from 0 to 1, chosen by their ids.
	// 0: all.
	Share float64
	// Field is for ValueField, such as domain_authority.
	Field string
}

// valueFaults are those of the present day.
func (w *world) valueFaults() (today []ValueFault) {
	for _, f := range w.opts.ValueFaults {
		if f.Day == w.calendar.day {
			today = append(today, f)
		}
	}
	return today
}

// distort applies the value faults of the present day to a document of a route.
func (w *world) distort(document []byte, rt *route) []byte {
	today := w.valueFaults()
	if len(today) == 0 || rt.binary {
		return document
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber() // keeps each digit of an amount
	if err := decoder.Decode(&value); err != nil {
		return document
	}
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
				f.spoil(w, rt.pattern, "", object)
			}
		}
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return document
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// affects reports whether a record is one of the share.
func (f ValueFault) affects(record map[string]any) bool {
	id, _ := record["id"].(string)
	if f.Share <= 0 || id == "" {
		return f.Share <= 0
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(id))
	return float64(mix(sum.Sum64())) < f.Share*math.MaxUint64
}

// spoil changes an object and the objects in it. within is the field that holds it.
func (f ValueFault) spoil(w *world, pattern, within string, object map[string]any) {
	if sale, ok := object["sale_price"].(json.Number); ok && f.Kind == ValueCommissions {
		object["commission_amount"] = scale(sale.String(), 6, 5)
	}
	for key, value := range object {
		switch v := value.(type) {
		case map[string]any:
			f.spoil(w, pattern, key, v)
			continue
		case []any:
			for i, element := range v {
				if inner, ok := element.(map[string]any); ok {
					f.spoil(w, pattern, key, inner)
				} else if text, ok := element.(string); ok && f.Kind == ValueDates {
					v[i] = nextDay(text)
				}
			}
		}
		switch f.Kind {
		case ValueCents, ValueHundredths, ValueZeroPrices:
			if key == "unit_amount" {
				object[key] = f.priceOf(value)
			}
		case ValueCurrency:
			if key == "currency" && value == "USD" {
				object[key] = "EUR"
			}
		case ValueAmounts:
			if number, ok := value.(json.Number); ok && slices.Contains(orderAmounts(), key) {
				object[key] = scale(number.String(), 100, 1)
			}
		case ValueField:
			if key == f.Field {
				delete(object, key)
			}
		case ValueStatuses:
			text, isText := value.(string)
			if isText && (key == "status" || key == "commission_status" || key == "prefix" && strings.HasPrefix(within, "status")) {
				object[key] = "state_" + text
			}
		case ValueOutletsShuffled, ValueOutletsUnknown:
			// The outlet's own record keeps its id, and so do its channels.
			if pattern != "/outlets/{outlet_id}" && (key == "outlet_id" || key == "id" && within == "outlet") {
				object[key] = f.otherOutlet(w, value)
			}
		case ValueDates:
			if text, ok := value.(string); ok {
				object[key] = nextDay(text)
			}
		}
	}
}

// orderAmounts are the fields of orders and order items that hold amounts.
func orderAmounts() []string {
	return []string{
		"total", "subtotal", "processing_fee", "discount", "credits_applied", "price", "sale_price", "product_price",
		"commission_amount", "internal_cost", "reseller_price", "vendor_cost",
	}
}

// priceOf is the wrong price for one that may be a number or a text.
func (f ValueFault) priceOf(value any) any {
	numerator, denominator := int64(100), int64(1)
	switch f.Kind {
	case ValueHundredths:
		numerator, denominator = 1, 100
	case ValueZeroPrices:
		numerator = 0
	}
	switch v := value.(type) {
	case json.Number:
		return scale(v.String(), numerator, denominator)
	case string:
		return scale(v, numerator, denominator).String()
	}
	return value
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

// otherOutlet is the next outlet, or one that does not exist.
func (f ValueFault) otherOutlet(w *world, id any) any {
	text, _ := id.(string)
	n, ok := w.seed.serial(kindOutlet, text)
	if !ok {
		return id
	}
	if f.Kind == ValueOutletsUnknown {
		return w.seed.id(kindOutlet, n+uint32(len(w.outlets.all)))
	}
	return w.seed.id(kindOutlet, (n+1)%uint32(len(w.outlets.all)))
}

// nextDay is an instant a day later; other texts stay.
func nextDay(text string) string {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.AddDate(0, 0, 1).Format(layout)
		}
	}
	return text
}
