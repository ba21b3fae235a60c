package page

import (
	"cmp"

	"placementsync/internal/plural"
)

// Table is rows as a page shows them.
type Table struct {
	// ID names the table in the page, where something refers to it.
	ID      string
	Caption string
	Heads   []Head
	Rows    []Row
	// RowHeads makes the first cell of a row its head.
	RowHeads bool
	// Empty says why there are no rows.
	Empty string
	// Folded tables wait behind a summary, such as those below a chart.
	Folded bool
	// Swap is the id of the element that htmx swaps when a head sorts. Without it the
	// browser loads the page.
	Swap string
	// More says how to get the rows that are not shown.
	More string
	// Blank are the columns that have no value in any row, and so are left out.
	Blank []string
}

// Head is the head of a column.
type Head struct {
	// Name is that of the column in the answer, Label that for people.
	Name, Label string
	// About explains the head where its label is too short to.
	About string
	// Numeric columns are aligned to the right.
	Numeric bool
	// Link sorts by the column. Sorted is ascending or descending where it is sorted.
	Link, Sorted string
}

// Row is a row of a table.
type Row struct {
	Cells []Cell
	Class string
	// Currency is that of the amounts. Empty where they have none.
	Currency string
}

// Cell is one value as a page shows it.
type Cell struct {
	Text string
	// Unit stands behind the value, such as a currency.
	Unit string
	// Class is how it is set: n a number, t a time, s a short text, w a long one, none a
	// missing value.
	Class string
	// Exact is the whole value where Text is another form of it.
	Exact string
	// Sort is the value to sort by where it is not Text.
	Sort string
	// Link leads to a page of this program, Address to another host.
	Link, Address string
	// Tag is the tone of a state, see Tone.
	Tag string
	// Sub is a second, quieter line.
	Sub string
	// Bar is how long the bar behind the value is, in percent. Empty means no bar.
	Bar string
}

// CountCell is the cell of a count.
func CountCell(n int64) Cell { return Cell{Text: plural.Number(n), Class: "n"} }

// SizeCell is the cell of a number of bytes.
func SizeCell(bytes int64) Cell { return Cell{Text: plural.FormatBytes(bytes), Class: "n"} }

// TagCell is the cell of a state of this program, in its color.
func TagCell(word string) Cell { return Cell{Text: word, Tag: cmp.Or(Tone(word), "none")} }
