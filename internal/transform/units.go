package transform

import "github.com/bojanz/currency"

// millionths is the number of the smallest units of a money column in one unit.
const millionths = 1_000_000

// ReadMinorUnits makes decoders read unit_amount as an integer in the smallest unit of its currency: 575 is 5.75
// USD, 575 JPY and 0.575 KWD. It must be called before NewDecoder.
func (b *Binding) ReadMinorUnits() {
	for _, l := range b.tables {
		if price := l.columnIndex("unit_amount"); price >= 0 {
			l.cols[price].isMinorPrice = true
			l.minorPrice, l.priceCurrency = price, l.columnIndex("currency")
		}
	}
}

// divideMinorPrice divides the price of the current row by the number of its units in one unit of the currency.
// Prices are whole numbers of at least 10^-4 units, so the result is exact.
func (t *table) divideMinorPrice() {
	if t.minorPrice < 0 || !t.hasValue(t.minorPrice) {
		return
	}
	digits := uint8(2) // if the currency is unknown
	if t.priceCurrency >= 0 && t.hasValue(t.priceCurrency) {
		if known, ok := currency.GetDigits(string(t.cols[t.priceCurrency].bytes(t.rows))); ok {
			digits = known
		}
	}
	price := &t.cols[t.minorPrice]
	amount := int64(price.word(t.rows))
	for range digits {
		amount /= 10
	}
	price.truncate(t.rows)
	price.appendInt(amount)
}
