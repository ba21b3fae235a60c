package page

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
)

// Chart is the data of a chart, which charts.js draws with ECharts. The page also shows the
// numbers in a table, so that a browser without scripts shows them.
type Chart struct {
	// Title is also the text for screen readers.
	Title string `json:"title"`
	Kind  Kind   `json:"kind"`
	// Unit is the unit of all values, such as a currency. It is empty if the values have no
	// unit or if Series.Texts contain it.
	Unit string `json:"unit,omitempty"`
	// Across draws horizontal bars.
	Across bool `json:"across,omitempty"`
	// Stacked draws the series on top of one another.
	Stacked bool `json:"stacked,omitempty"`
	// Log draws the values on a logarithmic axis.
	Log bool `json:"log,omitempty"`
	// Choice is the label of the control that chooses a variant.
	Choice string `json:"-"`
	// Variants are alternatives, of which the page draws the chosen one.
	Variants []Variant `json:"variants"`
}

// Kind is the type of a chart.
type Kind string

// Kinds of charts. In Steps, each value is valid until the next one.
const (
	Bars  Kind = "bar"
	Lines Kind = "line"
	Boxes Kind = "box"
	Steps Kind = "step"
)

// MostSeries is the number of series colors in the style sheet.
const MostSeries = 8

// Variant is one alternative of a chart. Either it has Categories, one for each value of a
// series, or its series have Times.
type Variant struct {
	Label      string   `json:"label,omitempty"`
	Currency   string   `json:"currency,omitempty"`
	Categories []string `json:"categories,omitempty"`
	Series     []Series `json:"series"`
}

// Series is a list of values, each a float64 or, in Boxes, five numbers: minimum, lower
// quartile, median, upper quartile and maximum. Nil leaves a gap.
type Series struct {
	Name string `json:"name,omitempty"`
	// Colour is the index of a series color, from 0 to MostSeries-1.
	Colour int   `json:"colour"`
	Values []any `json:"values"`
	// Texts are the exact values for the tooltip. A value with an empty text has no mark.
	Texts []string `json:"texts"`
	// Times are the positions of the values on a time axis.
	Times []time.Time `json:"times,omitempty"`
}

// Add appends a value: digits place it in the chart, text is its exact form for the tooltip.
// Digits that are not a finite number leave a gap.
func (s *Series) Add(digits, text string) {
	if n, err := strconv.ParseFloat(digits, 64); err == nil && !math.IsNaN(n) && !math.IsInf(n, 0) {
		s.Values = append(s.Values, n)
	} else {
		s.Values = append(s.Values, nil)
	}
	s.Texts = append(s.Texts, text)
}

// AddAt is like Add, for a series with a time axis.
func (s *Series) AddAt(at time.Time, digits, text string) {
	s.Add(digits, text)
	s.Times = append(s.Times, at.UTC())
}

// JSON returns the chart for the attribute data-chart of its element.
func (c Chart) JSON() (string, error) {
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false) // the template escapes the attribute
	err := e.Encode(c)
	return strings.TrimSpace(text.String()), err
}
