package explore

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"placementsync/internal/page"
)

// plot is a chart as a page draws it: in SVG, made here. Places along the width are in
// percent, so that it fits any screen; those along the height are in pixels.
type plot struct {
	// Label says what the chart shows, for those who do not see it.
	Label  string
	Height int
	// Ticks are the lines of the axis of values, Marks the texts of the other one.
	Ticks []tick
	Marks []mark
	Lines []line
	Dots  []dot
	Bars  []bar
	// Legend names the colours; empty when there is one.
	Legend []swatch
}

type tick struct {
	Y    string
	Text string
}

type mark struct {
	X, Text, Anchor string
}

// line is straight; Colour is a number of the style's colours.
type line struct {
	X1, Y1, X2, Y2 string
	Colour         int
}

type dot struct {
	X, Y, Title string
	Colour      int
}

type bar struct {
	X, Y, Width, Height, Title string
	Colour                     int
}

type swatch struct {
	Name   string
	Colour int
}

const (
	plotHeight = 200
	plotTop    = 10.0
	plotBottom = 176.0
	// colours is how many the style has.
	colours = 8
)

// scale maps values to heights.
type scale struct{ low, high, step float64 }

// newScale makes a scale of about five round steps that holds all values, and zero where
// bars stand on it.
func newScale(values []float64, fromZero bool) scale {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	if fromZero {
		low, high = min(low, 0), max(high, 0)
	}
	if !(high > low) { // also where there is no value
		high = low + max(1, math.Abs(low)/10)
		if !fromZero {
			low -= max(1, math.Abs(low)/10)
		}
	}
	if math.IsInf(low, 0) || math.IsInf(high, 0) || math.IsNaN(high-low) {
		low, high = 0, 1
	}
	step := roundStep((high - low) / 4)
	return scale{math.Floor(low/step) * step, math.Ceil(high/step) * step, step}
}

// roundStep is the next step of 1, 2 or 5 times a power of ten.
func roundStep(rough float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, times := range []float64{1, 2, 5} {
		if rough <= times*power*1.0000001 {
			return times * power
		}
	}
	return 10 * power
}

func (s scale) y(v float64) float64 {
	return plotBottom - (v-s.low)/(s.high-s.low)*(plotBottom-plotTop)
}

func (s scale) ticks() []tick {
	var ticks []tick
	const most = 12 // where the step is lost among large values
	digits := max(0, -int(math.Floor(math.Log10(s.step)+1e-9)))
	for i := range most {
		v := s.low + float64(i)*s.step
		if v > s.high+s.step/2 {
			break
		}
		ticks = append(ticks, tick{pixels(s.y(v)), page.Amount(strconv.FormatFloat(v, 'f', digits, 64))})
	}
	return ticks
}

func pixels(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

func percent(part float64) string {
	const whole = 100
	return strconv.FormatFloat(part*whole, 'f', 2, 64) + "%"
}

// timeAxis maps times to places between its ends.
type timeAxis struct{ from, to time.Time }

func (t timeAxis) x(at time.Time) float64 {
	if !t.to.After(t.from) {
		return 0
	}
	return min(1, max(0, at.Sub(t.from).Seconds()/t.to.Sub(t.from).Seconds()))
}

// marks are a few dates along the axis; within two days they have the time too.
func (t timeAxis) marks() []mark {
	const parts = 2
	layout := time.DateOnly
	if t.to.Sub(t.from) < 48*time.Hour {
		layout = "01-02 15:04"
	}
	var marks []mark
	last := ""
	for i := range parts + 1 {
		at := t.from.Add(t.to.Sub(t.from) / parts * time.Duration(i)).UTC()
		if text := at.Format(layout); text != last {
			marks = append(marks, mark{percent(t.x(at)), text, "middle"})
			last = text
		}
	}
	marks[0].Anchor = "start"
	if len(marks) > 1 {
		marks[len(marks)-1].Anchor = "end"
	}
	return marks
}

// addSteps draws a value that holds until the next one: a level for each stay, and a
// step where one follows on another at once.
func (p *plot) addSteps(name string, colour int, spans []stay, t timeAxis, s scale, format func(cell) string) {
	for i, one := range spans {
		v, err := strconv.ParseFloat(one.value.Text, 64)
		if err != nil {
			continue
		}
		to := one.to
		if one.isOpen() {
			to = t.to
		}
		x, end, y := percent(t.x(one.from)), percent(t.x(to)), pixels(s.y(v))
		p.Lines = append(p.Lines, line{x, y, end, y, colour})
		if i > 0 && spans[i-1].to.Equal(one.from) {
			if before, err := strconv.ParseFloat(spans[i-1].value.Text, 64); err == nil {
				p.Lines = append(p.Lines, line{x, pixels(s.y(before)), x, y, colour})
			}
		}
		p.Dots = append(p.Dots, dot{x, y, fmt.Sprintf("%s: %s from %s", name, format(one.value), page.Clock(one.from)), colour})
	}
}
