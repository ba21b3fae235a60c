package report

import (
	"testing"

	"placementsync/internal/query"
)

// compareTexts calls a function with each input and compares the result.
func compareTexts(t *testing.T, name string, do func(string) string, cases map[string]string) {
	t.Helper()
	for in, want := range cases {
		if got := do(in); got != want {
			t.Errorf("%s(%q) = %q, want %q", name, in, got, want)
		}
	}
}

func TestFormatSigned(t *testing.T) {
	compareTexts(t, "formatSigned", formatSigned, map[string]string{
		"5": "+5", "1234.50": "+1,234.50", "-5": "−5", "-1234.50": "−1,234.50", "0": "0", "0.00": "0.00", "000": "000", "": "",
	})
}

func TestFormatMonth(t *testing.T) {
	compareTexts(t, "formatMonth", formatMonth, map[string]string{
		"2026-11-01": "2026-11", "2026-11": "2026-11", "2026": "2026", "": "", "2026-11-01T02:00:00Z": "2026-11",
	})
}

func TestFormatCell(t *testing.T) {
	for name, c := range map[string]struct {
		as    valueFormat
		value query.Value
		want  string
	}{
		"text":            {asText, query.Value{Text: "1234"}, "1234"},
		"empty text":      {asText, query.Value{}, ""},
		"NULL":            {asText, query.Value{Null: true}, "–"},
		"NULL number":     {asNumber, query.Value{Null: true}, "–"},
		"number":          {asNumber, query.Value{Text: "1234.50"}, "1,234.50"},
		"negative number": {asNumber, query.Value{Text: "-0.5"}, "−0.5"},
		"percent":         {asPercent, query.Value{Text: "12.5"}, "12.5 %"},
		"rise":            {asChange, query.Value{Text: "12.5"}, "+12.5 %"},
		"fall":            {asChange, query.Value{Text: "-12.5"}, "−12.5 %"},
		"no change":       {asChange, query.Value{Text: "0.0"}, "0.0 %"},
		"days":            {asDays, query.Value{Text: "1234.25"}, "1,234.25 d"},
		"moment":          {asMoment, query.Value{Text: "2026-11-09T02:00:00Z"}, "2026-11-09 02:00"},
		"month":           {asMonth, query.Value{Text: "2026-11-01"}, "2026-11"},
		"yes":             {asYesNo, query.Value{Text: "true"}, "yes"},
		"no":              {asYesNo, query.Value{Text: "false"}, "no"},
		"NULL boolean":    {asYesNo, query.Value{Null: true}, "–"},
		"tag":             {asTag, query.Value{Text: "best_effort"}, "best_effort"},
		"grade":           {asGrade, query.Value{Text: "best_effort"}, "best_effort"},
		"text of digits":  {asText, query.Value{Text: "0012"}, "0012"},
	} {
		if got := plainSpaces((field{as: c.as}).formatCell(c.value)); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestCurrencyName(t *testing.T) {
	for _, c := range []struct {
		value query.Value
		want  string
	}{{query.Value{Text: "USD"}, "USD"}, {query.Value{}, "(no currency)"}, {query.Value{Null: true}, "(no currency)"}} {
		if got := currencyName(c.value); got != c.want {
			t.Errorf("currencyName(%+v) = %q, want %q", c.value, got, c.want)
		}
	}
}
