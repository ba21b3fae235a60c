package report

import "testing"

// compareTexts runs one function over inputs and compares what comes back.
func compareTexts(t *testing.T, name string, do func(string) string, cases map[string]string) {
	t.Helper()
	for in, want := range cases {
		if got := do(in); got != want {
			t.Errorf("%s(%q) = %q, want %q", name, in, got, want)
		}
	}
}

func TestSignsAreWritten(t *testing.T) {
	compareTexts(t, "formatSigned", formatSigned, map[string]string{
		"5": "+5", "1234.50": "+1,234.50", "-5": "−5", "-1234.50": "−1,234.50", "0": "0", "0.00": "0.00", "000": "000", "": "",
	})
}

func TestMonthsHaveNoDay(t *testing.T) {
	compareTexts(t, "formatMonth", formatMonth, map[string]string{
		"2026-11-01": "2026-11", "2026-11": "2026-11", "2026": "2026", "": "", "2026-11-01T02:00:00Z": "2026-11",
	})
}

func TestCellsAreWrittenByShape(t *testing.T) {
	for name, c := range map[string]struct {
		as   shape
		cell Cell
		want string
	}{
		"text":           {asText, Cell{Text: "1234"}, "1234"},
		"no text":        {asText, Cell{}, ""},
		"NULL":           {asText, Cell{Null: true}, "–"},
		"no number":      {asNumber, Cell{Null: true}, "–"},
		"number":         {asNumber, Cell{Text: "1234.50"}, "1,234.50"},
		"negative":       {asNumber, Cell{Text: "-0.5"}, "−0.5"},
		"percent":        {asPercent, Cell{Text: "12.5"}, "12.5 %"},
		"rise":           {asChange, Cell{Text: "12.5"}, "+12.5 %"},
		"fall":           {asChange, Cell{Text: "-12.5"}, "−12.5 %"},
		"no change":      {asChange, Cell{Text: "0.0"}, "0.0 %"},
		"days":           {asDays, Cell{Text: "1234.25"}, "1,234.25 d"},
		"moment":         {asMoment, Cell{Text: "2026-11-09T02:00:00Z"}, "2026-11-09 02:00"},
		"month":          {asMonth, Cell{Text: "2026-11-01"}, "2026-11"},
		"yes":            {asYes, Cell{Text: "true"}, "yes"},
		"no":             {asYes, Cell{Text: "false"}, "no"},
		"neither":        {asYes, Cell{Null: true}, "–"},
		"tag":            {asTag, Cell{Text: "best_effort"}, "best_effort"},
		"grade":          {asGrade, Cell{Text: "best_effort"}, "best_effort"},
		"text of digits": {asText, Cell{Text: "0012"}, "0012"},
	} {
		if got := narrow((field{as: c.as}).formatCell(c.cell)); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestTagsHaveATone(t *testing.T) {
	compareTexts(t, "tagOf", tagOf, map[string]string{
		"exact": "good", "complete": "good", "repaired": "fair", "bounded": "fair", "best_effort": "none", "carried_forward": "poor",
		"partial": "poor", "skipped": "none", "": "", "Exact": "", `"><script>`: "", "published": "",
	})
}

func TestUnitsHaveANameAlways(t *testing.T) {
	for _, c := range []struct {
		cell Cell
		want string
	}{{Cell{Text: "USD"}, "USD"}, {Cell{}, "(no currency)"}, {Cell{Null: true}, "(no currency)"}} {
		if got := unitName(c.cell); got != c.want {
			t.Errorf("unitName(%+v) = %q, want %q", c.cell, got, c.want)
		}
	}
}
