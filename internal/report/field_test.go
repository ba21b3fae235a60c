package report

import (
	"strings"
	"testing"

	"placementsync/internal/query"
)

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
		"large rise":      {asChange, query.Value{Text: "1234.50"}, "+1,234.50 %"},
		"short month":     {asMonth, query.Value{Text: "2026"}, "2026"},
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

func TestCellsAreAligned(t *testing.T) {
	for as, want := range map[valueFormat]string{
		asNumber: "n", asPercent: "n", asChange: "n", asDays: "n", asMoment: "t", asDate: "t", asMonth: "t", asTag: "", asText: "code",
	} {
		if got := (field{column: "x", as: as}).tableCell(parseResult("x\n1").Rows[0]).Class; got != want {
			t.Errorf("format %d: got the class %q, want %q", as, got, want)
		}
	}
	for length, want := range map[int]string{24: "", 25: "w"} {
		if got := (field{column: "x"}).tableCell(parseResult("x\n" + strings.Repeat("a", length)).Rows[0]).Class; got != want {
			t.Errorf("a text of %d bytes: got the class %q, want %q", length, got, want)
		}
	}
}

// TestLinksAreWebAddresses passes addresses of the service, which may be no web addresses.
func TestLinksAreWebAddresses(t *testing.T) {
	result := parseResult("live_url\nhttps://a.example/x\njavascript:alert(1)")
	for i, want := range []string{"https://a.example/x", ""} {
		if got := (field{column: "live_url", as: asLink}).tableCell(result.Rows[i]).Address; got != want {
			t.Errorf("row %d links to %q, want %q", i, got, want)
		}
	}
}
