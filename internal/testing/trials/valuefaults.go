package trials

import (
	"encoding/json"
	"math/big"
	"slices"
)

// ValueChange makes the values of an object wrong, see [sim.ValueFault].
type ValueChange = func(within string, object map[string]any)

// ReplaceFields returns a change that replaces the values of fields that are not null.
func ReplaceFields(replace func(value any) any, names ...string) ValueChange {
	return func(_ string, object map[string]any) {
		for name, value := range object {
			if value != nil && slices.Contains(names, name) {
				object[name] = replace(value)
			}
		}
	}
}

// FieldsTimes returns a change that multiplies the amounts of fields.
func FieldsTimes(numerator, denominator int64, names ...string) ValueChange {
	return ReplaceFields(func(value any) any { return Times(value, numerator, denominator) }, names...)
}

// PricesTimes returns a change that multiplies the prices of products.
func PricesTimes(numerator, denominator int64) ValueChange {
	return FieldsTimes(numerator, denominator, "unit_amount")
}

// Times multiplies an amount and rounds it to the millionth.
func Times(amount any, numerator, denominator int64) any {
	value, ok := number(amount)
	if !ok {
		return amount
	}
	product := value.Mul(value, big.NewRat(numerator, denominator)).FloatString(6)
	if _, isText := amount.(string); isText {
		return product
	}
	return json.Number(product)
}
