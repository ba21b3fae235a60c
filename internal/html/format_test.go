package html_test

import (
	"strings"
	"testing"
	"time"

	"placementsync/internal/html"
)

// compare calls a function with each input and compares the result.
func compare[T comparable](t *testing.T, name string, do func(string) T, cases map[string]T) {
	t.Helper()
	for in, want := range cases {
		if got := do(in); got != want {
			t.Errorf("%s(%q) = %v, want %v", name, in, got, want)
		}
	}
}

func TestDigitsAreGroupedAndKept(t *testing.T) {
	t.Parallel()
	compare(t, "Decimal", html.Decimal, map[string]string{
		"": "", "0": "0", "7": "7", "12": "12", "123": "123", "1234": "1,234", "12345": "12,345", "123456": "123,456",
		"1234567": "1,234,567", "1234567890123456789012": "1,234,567,890,123,456,789,012",
		"0.000000": "0.000000", "1234.500000": "1,234.500000", "0.10": "0.10", "1000.": "1,000.",
		"-1": "−1", "-1234.5": "−1,234.5", "-123": "−123", "+1234": "+1,234", "+0.5": "+0.5",
		// Other texts than plain decimals are unchanged, except for the sign.
		"1e21": "1e21", "Infinity": "Infinity", "-Infinity": "−Infinity", "NaN": "NaN", "exact": "exact", "1 234": "1 234", "٣٤٥٦": "٣٤٥٦",
	})
}

func TestAmountsHaveTwoPlaces(t *testing.T) {
	t.Parallel()
	compare(t, "MoneyCell", func(digits string) string { c := html.MoneyCell(digits); return c.Text + " " + c.Exact }, map[string]string{
		"1234.500000": "1,234.50 ", "1234.560000": "1,234.56 ", "1234.567000": "1,234.57 1234.567000", "0.000000": "0.00 ", "-5.100000": "−5.10 ",
		"239.867840": "239.87 239.867840", "0.000001": "0.00 0.000001", "-0.005": "−0.01 -0.005", "7": "7.00 ", "7.5": "7.50 ", "1234": "1,234.00 ", "NaN": "NaN ", "1e21": "1e21 ", "1/3": "1/3 ", "": " ",
	})
}

func TestMomentsAreUTC(t *testing.T) {
	t.Parallel()
	compare(t, "Moment", html.Moment, map[string]string{
		"2026-11-09T02:00:00Z": "2026-11-09 02:00", "2026-11-09T02:00:59.999999Z": "2026-11-09 02:00",
		"2026-11-09T00:30:00+01:00": "2026-11-08 23:30", "2026-12-31T23:59:00-05:00": "2027-01-01 04:59",
		"": "", "infinity": "infinity", "2026-11-09": "2026-11-09", "soon": "soon",
	})
	zone := time.FixedZone("", 2*60*60)
	if got := html.Clock(time.Date(2026, time.January, 1, 1, 30, 0, 0, zone)); got != "2025-12-31 23:30" {
		t.Errorf("Clock = %q, want 2025-12-31 23:30", got)
	}
}

func TestDurationsHaveTwoUnits(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0 s", 0: "0 s", 1500 * time.Millisecond: "1.5 s", 3 * time.Second: "3 s", 12300 * time.Millisecond: "12 s",
		250 * time.Second: "4 min 10 s", 3*time.Hour + 59*time.Minute: "3 h 59 min", 51 * time.Hour: "2 d 3 h",
		time.Hour: "1 h 0 min", 24 * time.Hour: "1 d 0 h",
	} {
		if got := html.Duration(d); got != want {
			t.Errorf("Duration(%s) = %q, want %q", d, got, want)
		}
	}
}

func TestSharesAreRoundedDown(t *testing.T) {
	t.Parallel()
	if third, undefined := html.Share(1, 3), html.Share(1, 0); third != "33 %" || undefined != "0 %" {
		t.Errorf("Share(1, 3) = %q and Share(1, 0) = %q, want 33 %% and 0 %%", third, undefined)
	}
}

func TestCodesAreShortWordsWithADigit(t *testing.T) {
	t.Parallel()
	compare(t, "IsCode", html.IsCode, map[string]bool{"2026-11": true, "R-53bb1543": true, "20-29": true, "": false, "do-follow": false, "0-30 days": false,
		"20261115T020000Z-aaaaaa1": true, "20261115T020000Z-aaaaaaa1": false})
}

func TestLongTextsAreClipped(t *testing.T) {
	t.Parallel()
	const maxChars = 160
	letters, accents := strings.Repeat("a", maxChars), strings.Repeat("é", maxChars)
	compare(t, "Clip", func(text string) string { return html.Clip(text, maxChars) }, map[string]string{
		"": "", "short": "short", letters: letters, letters + "b": letters + "…",
		// The limit counts characters, not bytes.
		accents: accents, accents + "é": accents + "…", "x" + accents: "x" + strings.Repeat("é", maxChars-1) + "…",
	})
}

func TestWordsAreQuotedForAShell(t *testing.T) {
	t.Parallel()
	compare(t, "ShellWord", html.ShellWord, map[string]string{
		"top=25": "top=25", "since=2026-11-01T02:00:00Z": "since=2026-11-01T02:00:00Z", "a b": "'a b'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "": "''", "x;rm": "'x;rm'",
	})
}

func TestPercentagesOfBars(t *testing.T) {
	t.Parallel()
	for fraction, want := range map[float64]string{0: "0.00%", 1.0 / 3: "33.33%", 1: "100.00%"} {
		if got := html.Percent(fraction); got != want {
			t.Errorf("Percent(%v) = %q, want %q", fraction, got, want)
		}
	}
}

// TestOnlyWebAddressesAreLinked passes texts of the service, which a page must not turn into scripts or
// into links with a password.
func TestOnlyWebAddressesAreLinked(t *testing.T) {
	t.Parallel()
	compare(t, "WebAddress", html.WebAddress, map[string]string{
		"https://example.com/a?b=c#d": "https://example.com/a?b=c#d", " http://example.com ": "http://example.com", "HTTPS://example.com": "https://example.com",
		"": "", "example.com": "", "javascript:alert(1)": "", "data:text/html,x": "", "ftp://example.com": "", "https://": "", "//example.com": "",
		"https://user:secret@example.com": "", "https://example.com/%zz": "",
	})
}
