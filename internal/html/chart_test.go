package html_test

import (
	"fmt"
	"testing"

	"placementsync/internal/html"
)

func TestCutOutliers(t *testing.T) {
	series := func(name string, values ...float64) html.Series {
		s := html.Series{Name: name}
		for _, v := range values {
			s.Values, s.Texts = append(s.Values, v), append(s.Texts, fmt.Sprint("about ", v))
		}
		return s
	}
	days := []string{"d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8"}
	for name, c := range map[string]struct {
		series  []html.Series
		stacked bool
		axisEnd float64
		note    string
		first   string // a note of the chart that CutOutliers keeps
	}{
		"no outlier": {series: []html.Series{series("n", 20, 4, 30, 100, 4, 4, 20, 4)}}, // the limit is 100, five times the 75th percentile, which is 20
		"an outlier": {series: []html.Series{series("n", 10, 20, 30, 101, 5, 1, 20, 20)}, axisEnd: 30,
			note: "The axis ends at 30. Values beyond five times the 75th percentile are cut: d4 about 101."},
		"an outlier below the axis": {series: []html.Series{series("n", 1, -2, 3, -900, 0, 0, 0, 0)}, axisEnd: 3,
			note: "The axis ends at 3. Values beyond five times the 75th percentile are cut: d4 about -900."},
		"an outlier of a chart with a note": {series: []html.Series{series("n", 10, 20, 30, 900, 20, 20, 20, 20)}, axisEnd: 30, first: "Two rows are missing.",
			note: "Two rows are missing. The axis ends at 30. Values beyond five times the 75th percentile are cut: d4 about 900."},
		"stacked series without values below the axis": {series: []html.Series{series("n", 1, 2, 3, 11)}, stacked: true}, // 3 is the 75th percentile
		"too few values": {series: []html.Series{series("n", 1, 2, 900, 0, 0, 0, 0, 0)}},
		"no values":      {series: []html.Series{series("n", 0, 0, 0, 0, 0, 0, 0, 0)}},
		"an outlier among small values": {series: []html.Series{series("n", 0.12, 0.21, 0.25, 0.25, 7, 0, 0, 0)}, axisEnd: 0.3,
			note: "The axis ends at 0.3. Values beyond five times the 75th percentile are cut: d5 about 7."},
		"the axis ends at a power of ten": {series: []html.Series{series("n", 10, 20, 75, 600, 20, 20, 20, 20)}, axisEnd: 100,
			note: "The axis ends at 100. Values beyond five times the 75th percentile are cut: d4 about 600."},
		"outliers of two series": {series: []html.Series{series("paid", 1, 2, 900, 2), series("refunded", 1, 2, 3, 700)}, axisEnd: 3,
			note: "The axis ends at 3. Values beyond five times the 75th percentile are cut: d3, paid about 900; d4, refunded about 700."},
		"an outlier of stacked series": {series: []html.Series{series("paid", 1, 2, 400, 2), series("refunded", 1, 2, 500, -3)}, stacked: true, axisEnd: 5,
			note: "The axis ends at 5. Values beyond five times the 75th percentile are cut: d3 900."},
		"an outlier of stacked series below the axis": {series: []html.Series{series("paid", 1, 2, 3, 2), series("refunded", 1, 2, -900, -3)}, stacked: true, axisEnd: 5,
			note: "The axis ends at 5. Values beyond five times the 75th percentile are cut: d3 −900."},
		"more outliers than the note lists": {series: []html.Series{series("a", 1, 1, 1, 1, 1, 1, 1, 1), series("b", 1, 1, 1, 1, 1, 1, 1, 1), series("c", 1, 1, 1, 1, 1, 1, 1, 1),
			series("x", 9, 8, 8, 8, 8, 8, 8, 0)}, axisEnd: 1,
			note: "The axis ends at 1. Values beyond five times the 75th percentile are cut: d1, x about 9; d2, x about 8; d3, x about 8; d4, x about 8; d5, x about 8; 2 more are in the table."},
	} {
		v := html.Variant{Series: c.series, Categories: days[:len(c.series[0].Values)], Note: c.first}
		v.CutOutliers(c.stacked)
		if v.AxisEnd != c.axisEnd || v.Note != c.note {
			t.Errorf("%s: the axis ends at %v with the note %q, want %v with the note %q", name, v.AxisEnd, v.Note, c.axisEnd, c.note)
		}
	}
}
