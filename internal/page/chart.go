package page

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
)

// Chart is data that charts.js draws with ECharts. A page shows the same numbers as a table
// near it, so that they are there without a script.
type Chart struct {
	// Title says what the chart shows, also to those who do not see it.
	Title string `json:"title"`
	Kind  Kind   `json:"kind"`
	// Unit is that of all values, such as a currency. Empty where they have none, or their
	// texts name it.
	Unit string `json:"unit,omitempty"`
	// Across draws bars from left to right, one below the other.
	Across bool `json:"across,omitempty"`
	// Stacked puts the series upon one another.
	Stacked bool `json:"stacked,omitempty"`
	// Log asks for a logarithmic axis of values.
	Log bool `json:"log,omitempty"`
	// Choice names what the variants differ in.
	Choice string `json:"-"`
	// Variants are the states of the chart, of which the reader chooses one.
	Variants []Variant `json:"variants"`
}

// Kind is how the values of a chart are drawn.
type Kind string

// Kinds of charts. The values of Steps hold until the next one.
const (
	Bars  Kind = "bar"
	Lines Kind = "line"
	Boxes Kind = "box"
	Steps Kind = "step"
)

// MostSeries is how many colors the style has for the series of a chart.
const MostSeries = 8

// Variant is one state of a chart. Either it has categories, one for each value of a
// series, or its series have times.
type Variant struct {
	Label      string   `json:"label,omitempty"`
	Currency   string   `json:"currency,omitempty"`
	Categories []string `json:"categories,omitempty"`
	Series     []Series `json:"series"`
}

// Series is a row of values. A value is nil where there is none; that of a box has five
// numbers.
type Series struct {
	Name string `json:"name,omitempty"`
	// Colour is a number of the style's colors.
	Colour int   `json:"colour"`
	Values []any `json:"values"`
	// Texts are the exact values for people. One without a text is drawn without a mark.
	Texts []string `json:"texts"`
	// Times are the places of the values on an axis of time.
	Times []time.Time `json:"times,omitempty"`
}

// Add adds a value: its exact digits for drawing, and its text. Digits that are no finite
// number leave a gap.
func (s *Series) Add(digits, text string) {
	if n, err := strconv.ParseFloat(digits, 64); err == nil && !math.IsNaN(n) && !math.IsInf(n, 0) {
		s.Values = append(s.Values, n)
	} else {
		s.Values = append(s.Values, nil)
	}
	s.Texts = append(s.Texts, text)
}

// AddAt is Add on an axis of time.
func (s *Series) AddAt(at time.Time, digits, text string) {
	s.Add(digits, text)
	s.Times = append(s.Times, at.UTC())
}

// JSON is the data of the chart for an attribute of its element, which the template escapes.
func (c Chart) JSON() (string, error) {
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false) // once is enough
	err := e.Encode(c)
	return strings.TrimSpace(text.String()), err
}
