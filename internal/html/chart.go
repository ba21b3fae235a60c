package html

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Chart is the data of a chart, which charts.js draws with ECharts. For browsers without scripts,
// the page also has a table with the numbers.
type Chart struct {
	// Title is also the text for screen readers.
	Title string `json:"title"`
	Kind  Kind   `json:"kind"`
	// Unit is the unit of all values, such as a currency. It is empty if the values have no
	// unit, or if Series.Texts contain the unit.
	Unit       string `json:"unit,omitempty"`
	Horizontal bool   `json:"horizontal,omitempty"`
	Stacked    bool   `json:"stacked,omitempty"`
	LogScale   bool   `json:"log,omitempty"`
	// The user chooses one of the variants with a control that has the label ChoiceLabel.
	ChoiceLabel string    `json:"-"`
	Variants    []Variant `json:"variants"`
}

// Kind is the type of a chart.
type Kind string

const (
	Bars  Kind = "bar"
	Lines Kind = "line"
	Boxes Kind = "box"
	Steps Kind = "step" // each value is valid until the next value
)

// SoFar is the suffix of the name of an unfinished period, see Variant.Unfinished.
const SoFar = " so far"

// MaxSeries is the number of series colors in the style sheet.
const MaxSeries = 8

// Variant is one alternative of a chart. If it has Categories, each series has one value for each
// category. Otherwise its series have Times.
type Variant struct {
	Label string `json:"label,omitempty"`
	// Heading follows the title of the chart: the label and the unit.
	Heading    string   `json:"heading,omitempty"`
	Currency   string   `json:"currency,omitempty"`
	Categories []string `json:"categories,omitempty"`
	Series     []Series `json:"series"`
	// AxisEnd is the end of the value axis. An axis with negative values begins at -AxisEnd. If AxisEnd is
	// zero, all values fit the axis. Note lists the values that do not fit, and says whether the chart has all rows.
	AxisEnd float64 `json:"axis_end,omitempty"`
	Note    string  `json:"note,omitempty"`
	// Unfinished means that the last category is a period that has not ended, such as the current month. Its
	// bars are pale.
	Unfinished bool `json:"unfinished,omitempty"`
}

// Series is a list of values, each a float64 or, in Boxes, five numbers: minimum, lower
// quartile, median, upper quartile and maximum. Nil leaves a gap.
type Series struct {
	Name   string `json:"name,omitempty"`
	Colour int    `json:"colour"` // from 0 to MaxSeries-1
	Values []any  `json:"values"`
	// Texts are the exact values for the tooltip. A value with an empty text has no mark.
	Texts []string    `json:"texts"`
	Links []string    `json:"links,omitempty"` // opened by a click on a value
	Times []time.Time `json:"times,omitempty"` // positions on a time axis
}

// Add appends a value. digits is the value in the chart; if it is not a finite number, Add leaves a gap.
// text is the exact value for the tooltip.
func (s *Series) Add(digits, text string) {
	if n, err := strconv.ParseFloat(digits, 64); err == nil && !math.IsNaN(n) && !math.IsInf(n, 0) {
		s.Values = append(s.Values, n)
	} else {
		s.Values = append(s.Values, nil)
	}
	s.Texts = append(s.Texts, text)
}

// AddAt is Add for a time axis.
func (s *Series) AddAt(at time.Time, digits, text string) {
	s.Add(digits, text)
	s.Times = append(s.Times, at.UTC())
}

func (c Chart) JSON() (string, error) {
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false) // the template escapes the attribute
	err := e.Encode(c)
	return strings.TrimSpace(text.String()), err
}

type bar struct {
	name, text string
	size       float64
}

// CutOutliers limits the value axis if a few values, the outliers, would flatten the others. An outlier
// is more than five times the 75th percentile. Signs are ignored, and zeros are left out.
func (v *Variant) CutOutliers(stacked bool) {
	const factor, maxNamed = 5, 5 // maxNamed limits the outliers that the note lists
	bars := v.bars(stacked)
	if len(bars) == 0 {
		return
	}
	slices.SortStableFunc(bars, func(a, b bar) int { return cmp.Compare(b.size, a.size) })
	// The largest value is first. Of fewer than four values, it is the 75th percentile itself.
	percentile75 := bars[len(bars)/4].size
	// The 75th percentile is no outlier, so an index is always found.
	outlierCount := slices.IndexFunc(bars, func(b bar) bool { return b.size <= factor*percentile75 })
	if outlierCount == 0 {
		return
	}
	v.AxisEnd = roundUp(bars[outlierCount].size)
	var names []string
	for _, b := range bars[:min(outlierCount, maxNamed)] {
		names = append(names, b.name+" "+b.text)
	}
	if more := outlierCount - len(names); more > 0 {
		names = append(names, strconv.Itoa(more)+" more are in the table")
	}
	v.Note = strings.TrimSpace(v.Note + " The axis ends at " + Decimal(strconv.FormatFloat(v.AxisEnd, 'f', -1, 64)) +
		". Values beyond five times the 75th percentile are cut: " + strings.Join(names, "; ") + ".")
}

// bars returns the values other than zero or, if stacked is true, two totals of each category: of the values
// above and below the axis.
func (v *Variant) bars(stacked bool) (bars []bar) {
	for i, category := range v.Categories {
		var above, below float64
		for _, s := range v.Series {
			n, _ := s.Values[i].(float64)
			above += max(n, 0)
			below += min(n, 0)
			if n == 0 || stacked {
				continue
			}
			b := bar{category, s.Texts[i], math.Abs(n)}
			if len(v.Series) > 1 {
				b.name += ", " + s.Name
			}
			bars = append(bars, b)
		}
		for _, total := range []float64{above, below} {
			if stacked && total != 0 {
				bars = append(bars, bar{category, Decimal(strings.TrimSuffix(strconv.FormatFloat(total, 'f', 2, 64), ".00")), math.Abs(total)})
			}
		}
	}
	return bars
}

// roundUp rounds n up to 1, 1.5, 2, 3, 5, 7 or 10 times a power of ten.
func roundUp(n float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(n)))
	for _, multiple := range []float64{1, 1.5, 2, 3, 5, 7} {
		if n <= multiple*power {
			const precision = 1e6 // 0.1 * 3 is not exactly 0.3
			return math.Round(multiple*power*precision) / precision
		}
	}
	return 10 * power
}
