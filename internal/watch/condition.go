package watch

import (
	"fmt"
	"math/big"

	"placementsync/internal/query"
)

// Condition says which rows are findings. The zero Condition says all.
type Condition struct {
	// Column is compared with a number.
	Column string
	over   bool
	number *big.Rat
}

// NewCondition compares a column with a number in decimal digits.
func NewCondition(column string, over bool, number string) (Condition, error) {
	n, ok := new(big.Rat).SetString(number)
	if !ok {
		return Condition{}, fmt.Errorf("%q is not a number", number)
	}
	return Condition{Column: column, over: over, number: n}, nil
}

// holds compares a value exactly. isNumber is false for NULL, NaN and the infinities,
// which never meet a condition.
func (c Condition) holds(v query.Value) (holds, isNumber bool) {
	if v.Null {
		return false, false
	}
	n, ok := new(big.Rat).SetString(v.Text)
	if !ok {
		return false, false
	}
	order := n.Cmp(c.number)
	return order > 0 && c.over || order < 0 && !c.over, true
}
