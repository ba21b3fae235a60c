package page

import (
	"cmp"
	"math/big"
	"strings"

	"placementsync/internal/plural"
)

// Table is a table of formatted values.
type Table struct {
	// ID is the id of the HTML element. Empty means none.
	ID      string
	Caption string
	Heads   []Head
	Rows    []Row
	// Foot contains totals, below the rows.
	Foot []Row
	// RowHeads makes the first cell of each row the header of the row.
	RowHeads bool
	// Empty is shown in place of a table without rows.
	Empty string
	// Stacked shows each row as a block of lines where the table is wider than the page.
	Stacked bool
	// Folded hides the table behind a summary. Tables below a chart are folded.
	Folded bool
	// Swap is the id of the element that htmx replaces when the user sorts the table. If it is
	// empty, the browser loads the whole page.
	Swap string
	// More is a note about the rows that are not shown.
	More string
	// Blank lists the columns that are left out because they have no value in any row.
	Blank []string
}

// Head is a column header.
type Head struct {
	// Name is the name of the column in the query result. Label is the shown text.
	Name, Label string
	// About explains the label in a tooltip.
	About string
	// Numeric columns are aligned to the right.
	Numeric bool
	// Link is the address of the table sorted by this column. Sorted is "ascending" or "descending"
	// if the shown table is sorted by this column, and otherwise empty.
	Link, Sorted string
}

type Row struct {
	Cells []Cell
	Class string
	// Currency is the currency of the amounts in the row. Empty means none.
	Currency string
}

// Cell is one formatted value.
type Cell struct {
	Text string
	// Unit is shown after the value, for example a currency.
	Unit string
	// Class contains CSS classes, such as "n" for a number, "t" for a time, "s" for a short text, "w" or
	// "why" for a text that may wrap, "long" for JSON, "lines" for one value per line, and "none" for a missing
	// value.
	Class string
	// Summary hides the text: a click on the summary shows it. Empty means that the text is shown.
	Summary string
	// Exact is the full value if Text is a shorter form.
	Exact string
	// Sort is the value to sort by. Empty means Text.
	Sort string
	// Link is a page of this program. Address is a page of another host.
	Link, Address string
	// Tag is the CSS class of the color in which Text is shown as a label, see Tone. Empty means no label.
	Tag string
	// Sub is a second line in a smaller font.
	Sub string
	// Bar is the length of the bar below the value, as a CSS percentage. Empty means no bar.
	Bar string
}

func CountCell(n int64) Cell { return Cell{Text: plural.Number(n), Class: "n"} }

// MoneyCell returns a cell with an amount, rounded half away from zero to two decimals. Exact is the
// amount before rounding, if rounding changed it.
func MoneyCell(digits string) Cell {
	amount, ok := new(big.Rat), false
	if strings.Trim(digits, "-.0123456789") == "" {
		amount, ok = amount.SetString(digits)
	}
	if !ok {
		return Cell{Text: Decimal(digits), Class: "n"}
	}
	c := Cell{Text: amount.FloatString(2), Class: "n"}
	if shown, _ := new(big.Rat).SetString(c.Text); shown.Cmp(amount) != 0 {
		c.Exact = digits
	}
	c.Text = Decimal(c.Text)
	return c
}

func SizeCell(bytes int64) Cell { return Cell{Text: plural.FormatBytes(bytes), Class: "n"} }

// TagCell returns a cell with an outcome, standing or grade in its color.
func TagCell(word string) Cell { return Cell{Text: word, Tag: cmp.Or(Tone(word), "none")} }
