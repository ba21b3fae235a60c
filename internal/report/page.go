package report

import (
	"html/template"

	"placementsync/internal/ledger"
)

// Page is everything that the template shows.
type Page struct {
	Snapshot, Run, Outcome string
	// Tone is that of the outcome's tag.
	Tone string
	// Later is the time that --as-of needs for this snapshot.
	Later string
	// Since say which earlier snapshots the changes are against.
	Since    []Earlier
	Notices  []Notice
	Sections []Section
	Charts   []Chart
	// Currencies are those of all prices, the one with most first. Below two there is
	// nothing to choose.
	Currencies []string
}

// Earlier is a snapshot that the newest one is compared with.
type Earlier struct{ Label, Snapshot string }

// Notice says at the top of the page what is not proven. Alarm marks what somebody can
// act on.
type Notice struct {
	Title string
	Lines []string
	Alarm bool
}

// Section is one subject, with headline numbers or panels.
type Section struct {
	ID, Title, Lead string
	Tiles           []Tile
	Panels          []Panel
	// Empty says why there is nothing, in place of the panels.
	Empty string
	// Sources give the tiles again, and those of earlier snapshots.
	Sources []Source
}

// Tile is one headline number.
type Tile struct {
	Label, Value, Unit string
	Changes            []Change
	// NotRead tiles have no number: Note says why. On others it says how sure it is.
	NotRead bool
	Note    string
	// Currency is that of the value; empty: none, or not known.
	Currency string
}

// Change is how a headline number moved since an earlier snapshot.
type Change struct {
	// Direction is up, down, same or none, the last where nothing is known.
	Direction, Text, Since string
}

// Panel is one question: a chart, a table, or both.
type Panel struct {
	ID, Title, About string
	HasChart         bool
	// Choices are the chart's variants; one needs no choice.
	Choices []Choice
	// Choice says what is chosen.
	Choice string
	Table  *Table
	Wide   bool
	Empty  string
	// Note says which tables behind the numbers are not proven.
	Note   string
	Source Source

	// Missing are the tables without which there is no answer, and that were never read.
	Missing []ledger.Problem
}

// Choice is a variant of a chart; Currency is empty where it has none.
type Choice struct{ Label, Currency string }

// Table is an answer as it is shown.
type Table struct {
	Caption string
	Heads   []Head
	Rows    []TableRow
	// Folded tables wait behind their chart.
	Folded bool
	// More says how to get the rows that are not shown.
	More string
}

// TableRow is a row of a table; Currency is empty where its amounts have none.
type TableRow struct {
	Cells    []Datum
	Currency string
}

// Head is the head of a column; Numeric ones stand right.
type Head struct {
	Label, About string
	Numeric      bool
}

// Datum is one cell: Text for people, Sort for sorting where it differs.
type Datum struct {
	Text, Sort string
	// Class is how it is set: n a number, t a time, w a long text.
	Class string
	// Tag colours a cell by its meaning: a grade or an outcome.
	Tag string
	// Sub is a second, quieter line.
	Sub string
}

// Source is the command that gives the numbers again.
type Source struct {
	Label, Command string
	// Page asks the same in the browser; empty: no page does.
	Page string
}

// Chart is what the script draws: plain data, no options of the library.
type Chart struct {
	ID    string `json:"id"`
	Kind  string `json:"kind"`
	Label string `json:"label"`
	// Across draws bars from left to right, a name each.
	Across bool `json:"across,omitempty"`
	// Stacked puts the series upon one another.
	Stacked bool `json:"stacked,omitempty"`
	// Log asks for a logarithmic axis of values.
	Log      bool      `json:"log,omitempty"`
	Variants []Variant `json:"variants"`
}

// Variant is one state of a chart, chosen by its label.
type Variant struct {
	Label      string   `json:"label"`
	Currency   string   `json:"currency,omitempty"`
	Categories []string `json:"categories"`
	Series     []Series `json:"series"`
}

// Series is a row of values, one per category. Texts are the exact values as
// they are shown; Values are for drawing. Of a box, a value has five numbers.
type Series struct {
	Name   string   `json:"name"`
	Colour int      `json:"colour"`
	Values []any    `json:"values"`
	Texts  []string `json:"texts"`
}

// assets are the parts of the page that no snapshot changes.
type assets struct {
	Style  template.CSS
	Chart  template.JS
	Script template.JS
	Policy string
	Notice string
}
