package stream_test

import (
	"slices"
	"testing"

	"placementsync/internal/stream"
)

// TestGradeTable grades tables that the list of orders and its details fill.
func TestGradeTable(t *testing.T) {
	t.Parallel()
	const exact, repaired, bounded, bestEffort, skipped = stream.Exact, stream.Repaired, stream.Bounded, stream.BestEffort, stream.Skipped
	const unread = "order_details was not read: why order_details"
	for name, c := range map[string]struct {
		list, detail            stream.Grade
		tablesWithDetailColumns []string // nil keeps the value of the stream
		table                   string
		want                    stream.Grade
		wantStream, wantNote    string
	}{
		"both were read":                            {exact, exact, nil, "orders", exact, "orders", ""},
		"the list was repaired":                     {repaired, exact, nil, "orders", repaired, "orders", ""},
		"the list is worse":                         {bestEffort, bounded, nil, "orders", bestEffort, "orders", ""},
		"only due details were read":                {exact, bounded, nil, "orders", bounded, "order_details", ""},
		"items, only due details were read":         {exact, bounded, nil, "order_line_item_includes", bounded, "order_details", ""},
		"a table with all columns in the list":      {exact, bounded, []string{"orders"}, "order_line_items", exact, "orders", ""},
		"a table with columns only in the detail":   {exact, bounded, []string{"orders"}, "orders", bounded, "order_details", ""},
		"all columns in the list, unproven details": {exact, bestEffort, []string{"orders"}, "order_line_items", bestEffort, "order_details", ""},
		"details were skipped":                      {exact, skipped, nil, "orders", exact, "orders", unread},
		"details of an unproven list were skipped":  {bestEffort, skipped, nil, "orders", bestEffort, "orders", unread},
		"items of skipped details":                  {exact, skipped, nil, "order_line_items", bestEffort, "order_details", unread},
		"neither was read":                          {skipped, skipped, nil, "orders", skipped, "orders", ""},
		"a grade of a newer program":                {"newer", exact, nil, "orders", "newer", "orders", ""},
		"a run without the details":                 {repaired, "", nil, "orders", repaired, "orders", ""},
		"a run without the list":                    {"", exact, nil, "orders", exact, "order_details", ""},
		"a run without the streams":                 {"", "", nil, "orders", "", "", ""},
	} {
		var streams []stream.Stream
		grades := map[string]stream.GradeReason{}
		for _, s := range stream.All() {
			switch s.Name {
			case "orders":
				grades[s.Name] = stream.GradeReason{Grade: c.list, Reason: "why orders"}
			case "order_details":
				grades[s.Name] = stream.GradeReason{Grade: c.detail, Reason: "why order_details"}
				if c.tablesWithDetailColumns != nil {
					s.TablesWithDetailColumns = c.tablesWithDetailColumns
				}
			}
			if grades[s.Name].Grade == "" {
				delete(grades, s.Name)
			}
			streams = append(streams, s)
		}
		got, isFilled := stream.GradeTable(streams, c.table, grades)
		want := stream.TableGrade{Stream: c.wantStream, Note: c.wantNote}
		switch {
		case c.wantNote != "" && c.wantStream == "order_details": // they cause the grade, so the note is also its reason
			want.GradeReason = stream.GradeReason{Grade: c.want, Reason: c.wantNote}
		case c.wantStream != "":
			want.GradeReason = stream.GradeReason{Grade: c.want, Reason: "why " + c.wantStream}
		}
		if got != want || !isFilled {
			t.Errorf("%s: got %+v, filled %t; want %+v", name, got, isFilled, want)
		}
		slices.Reverse(streams)
		if got, _ := stream.GradeTable(streams, c.table, grades); got.Grade != want.Grade || got.Note != want.Note {
			t.Errorf("%s: with the details before the list, got %+v; want %+v", name, got, want)
		}
		if _, isFilled := stream.GradeTable(streams, "missing", grades); isFilled {
			t.Errorf("%s: a table of no stream has a grade", name)
		}
	}
	boundedOnly := map[string]stream.GradeReason{"outlets": {Grade: bounded}}
	if got, _ := stream.GradeTable(stream.All(), "outlets", boundedOnly); got.Grade != bounded {
		t.Errorf("a table of a bounded stream has the grade %q, want bounded", got.Grade)
	}
}

func TestWorseGrade(t *testing.T) {
	t.Parallel()
	grades := stream.Grades()
	for i, worse := range grades {
		for _, better := range slices.Concat(grades[i:], []stream.Grade{""}) {
			if a, b := stream.WorseGrade(worse, better), stream.WorseGrade(better, worse); a != worse || b != worse {
				t.Errorf("of %q and %q, the worse grade is %q or %q, want %q", worse, better, a, b, worse)
			}
		}
	}
}

// TestGradesOfReadStreams checks which grades mean that no record is missing, and which that nothing was read.
func TestGradesOfReadStreams(t *testing.T) {
	t.Parallel()
	for grade, want := range map[stream.Grade]struct{ isProven, isUnread bool }{
		stream.Exact:          {isProven: true},
		stream.Repaired:       {isProven: true},
		stream.Bounded:        {isProven: true},
		stream.BestEffort:     {},
		stream.CarriedForward: {isUnread: true},
		stream.Skipped:        {isUnread: true},
		"":                    {isUnread: true},
		"newer":               {},
	} {
		if grade.IsProven() != want.isProven || grade.IsUnread() != want.isUnread {
			t.Errorf("grade %q: proven %t, unread %t, want %+v", grade, grade.IsProven(), grade.IsUnread(), want)
		}
	}
}
