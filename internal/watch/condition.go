package watch

import (
	"math/big"

	"placementsync/internal/query"
)

// Condition selects the rows whose value in Column is over Bound, or under it if Over is false. The zero
// Condition selects every row. The method matches must not be called on the zero Condition.
type Condition struct {
	Column string
	Over   bool
	Bound  *big.Rat
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
	order := n.Cmp(c.Bound)
	return order > 0 && c.Over || order < 0 && !c.Over, true
}
