package html

import (
	"cmp"
	"math/big"
	"strings"

	"placementsync/internal/humanize"
)

// Table is a table of formatted values.
type Table struct {
	ID       string // of the HTML element
	Caption  string
	Heads    []Head
	Rows     []Row
	Foot     []Row  // totals
	RowHeads bool   // the first cell of each row is the header of the row
	Empty    string // shown in place of a table without rows
	Stacked  bool   // if the table is wider than the page, each row becomes a block of lines
	Folded   bool   // hidden behind a summary
	// Swap is the id of the element that htmx replaces when the user sorts the table. If it is
	// empty, the browser loads the whole page.
	Swap  string
	More  string   // a note about the rows that are not shown
	Blank []string // the columns that are left out because they have no value in any row
}

// Head is a column header.
type Head struct {
	Name    string // of the column in the query result
	Label   string
	About   string // explains the label in a tooltip
	Numeric bool   // aligned to the right
	// Link is the address of the table sorted by this column. Sorted is "ascending" or "descending"
	// if the shown table is sorted by this column, and otherwise empty.
	Link, Sorted string
}

type Row struct {
	Cells    []Cell
	Class    string
	Currency string // of the amounts in the row
}

// Cell is one formatted value.
type Cell struct {
	Text string
	Unit string // shown after the value, for example a currency
	// Class contains CSS classes, such as "n" for a number, "t" for a time, "s" for a short text, "w" or
	// "why" for a text that may wrap, "code" for an id and "host" for a name of a host, which do not wrap, "long"
	// for JSON, "lines" for one value per line, and "none" for a missing value.
	Class   string
	Summary string // hides the text until it is clicked
	Exact   string // the full value if Text is a shorter form
	Sort    string // the value to sort by; empty means Text
	Link    string // a page of this program
	Address string // a page of another host
	Copy    string // an id, which a button copies
	Tag     string // the CSS class of the color in which Text is shown as a label, see Tone
	Sub     string // a second line in a smaller font
	Bar     string // the length of the bar below the value, as a CSS percentage
}

func CountCell(n int64) Cell { return Cell{Text: humanize.Number(n), Class: "n"} }

// MoneyCell returns a cell with an amount, rounded half away from zero to two decimals. Exact is the
// amount before rounding, if rounding changed it.
func MoneyCell(digits string) Cell {
	unrounded := Cell{Text: Decimal(digits), Class: "n"}
	if strings.Trim(digits, "-.0123456789") != "" { // SetString also reads fractions and exponents, which may be huge
		return unrounded
	}
	amount, ok := new(big.Rat).SetString(digits)
	if !ok {
		return unrounded
	}
	rounded := amount.FloatString(2)
	c := Cell{Text: Decimal(rounded), Class: "n"}
	if shown, _ := new(big.Rat).SetString(rounded); shown.Cmp(amount) != 0 {
		c.Exact = digits
	}
	return c
}

func SizeCell(bytes int64) Cell { return Cell{Text: humanize.FormatBytes(bytes), Class: "n"} }

// TagCell returns a cell with an outcome, standing or grade in its color.
func TagCell(word string) Cell { return Cell{Text: word, Tag: cmp.Or(Tone(word), "none")} }
