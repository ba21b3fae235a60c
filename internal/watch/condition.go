package watch

import (
	"fmt"
	"math/big"

	"placementsync/internal/query"
)

// Condition selects the rows that are findings. The zero Condition selects every row. The method
// matches must not be called on the zero Condition.
type Condition struct {
	// Column is compared with a number.
	Column string
	over   bool
	number *big.Rat
}

// NewCondition returns the condition that the value of a column is over a number, or under it if
// over is false. The number is in decimal digits.
func NewCondition(column string, over bool, number string) (Condition, error) {
	n, ok := new(big.Rat).SetString(number)
	if !ok {
		return Condition{}, fmt.Errorf("%q is not a number", number)
	}
	return Condition{Column: column, over: over, number: n}, nil
}

// matches compares a value exactly. NULL, NaN and infinities are not numbers and never match.
func (c Condition) matches(v query.Value) (isMatch, isNumber bool) {
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
