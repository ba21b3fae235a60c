package report

import (
	"strings"
	"testing"
	"time"
)

// compareTexts runs one function over inputs and compares what comes back.
func compareTexts(t *testing.T, name string, do func(string) string, cases map[string]string) {
	t.Helper()
	for in, want := range cases {
		if got := do(in); got != want {
			t.Errorf("%s(%q) = %q, want %q", name, in, got, want)
		}
	}
}

func TestDigitsAreGroupedAndKept(t *testing.T) {
	compareTexts(t, "groupDigits", groupDigits, map[string]string{
		"": "", "0": "0", "7": "7", "12": "12", "123": "123", "1234": "1,234", "12345": "12,345", "123456": "123,456",
		"1234567": "1,234,567", "1234567890123456789012": "1,234,567,890,123,456,789,012",
		"0.000000": "0.000000", "1234.500000": "1,234.500000", "0.10": "0.10", "1000.": "1,000.",
		"-1": "−1", "-1234.5": "−1,234.5", "-123": "−123", "+1234": "+1,234", "+0.5": "+0.5",
		// What is no plain decimal stays as it is.
		"1e21": "1e21", "Infinity": "Infinity", "-Infinity": "−Infinity", "NaN": "NaN", "exact": "exact", "1 234": "1 234", "٣٤٥٦": "٣٤٥٦",
	})
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

func TestMomentsAreUTC(t *testing.T) {
	compareTexts(t, "formatMoment", formatMoment, map[string]string{
		"2026-11-09T02:00:00Z": "2026-11-09 02:00", "2026-11-09T02:00:59.999999Z": "2026-11-09 02:00",
		"2026-11-09T00:30:00+01:00": "2026-11-08 23:30", "2026-12-31T23:59:00-05:00": "2027-01-01 04:59",
		"": "", "infinity": "infinity", "2026-11-09": "2026-11-09", "soon": "soon",
	})
	zone := time.FixedZone("", 2*60*60)
	if got := formatClock(time.Date(2026, time.January, 1, 1, 30, 0, 0, zone)); got != "2025-12-31 23:30" {
		t.Errorf("formatClock = %q", got)
	}
}

func TestLongTextsAreClipped(t *testing.T) {
	letters, accents := strings.Repeat("a", longest), strings.Repeat("é", longest)
	compareTexts(t, "clipText", clipText, map[string]string{
		"": "", "short": "short", letters: letters, letters + "b": letters + "…",
		// Characters count and not bytes; none is cut in two.
		accents: accents, accents + "é": accents + "…", "x" + accents: "x" + strings.Repeat("é", longest-1) + "…",
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
