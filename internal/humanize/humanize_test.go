package humanize_test

import (
	"testing"
	"time"

	"placementsync/internal/humanize"
)

func TestCounts(t *testing.T) {
	for want, got := range map[string]string{
		"0 requests":     humanize.Count(0, "request"),
		"1 request":      humanize.Count(1, "request"),
		"2 requests":     humanize.Count(int64(2), "request"),
		"1 retry":        humanize.Count(1, "retry"),
		"3 retries":      humanize.Count(3, "retry"),
		"2 days":         humanize.Count(2, "day"),
		"2 passes":       humanize.Count(2, "pass"),
		"2 patches":      humanize.Count(2, "patch"),
		"2 boxes":        humanize.Count(2, "box"),
		"2 crashes":      humanize.Count(2, "crash"),
		"2 new findings": humanize.Count(2, "new finding"),
		"streams":        humanize.Noun(0, "stream"),
		"0":              humanize.Number(0),
		"999":            humanize.Number(999),
		"1,000":          humanize.Number(int64(1000)),
		"-999,999":       humanize.Number(-999_999),
		"1,234,567":      humanize.Number(1_234_567),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		6 * time.Hour:           "6h",
		90 * time.Minute:        "1h30m",
		time.Second:             "1s",
		1500 * time.Millisecond: "1.5s",
		10 * time.Minute:        "10m",
		time.Hour + time.Second: "1h0m1s",
		0:                       "0s",
		100 * time.Hour:         "100h",
	} {
		if got := humanize.Duration(d); got != want {
			t.Errorf("%d ns is formatted as %q, want %q", d, got, want)
		}
	}
}

func TestFirstLetters(t *testing.T) {
	for want, got := range map[string]string{
		"Order ID": humanize.UpperFirst("order ID"),
		"order ID": humanize.LowerFirst("Order ID"),
		"":         humanize.UpperFirst("") + humanize.LowerFirst(""),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestSizes(t *testing.T) {
	for bytes, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 1<<20 - 1: "1024.0 KiB",
		1 << 20: "1.0 MiB", 12_897_485: "12.3 MiB", 1 << 30: "1.0 GiB", 5 << 40: "5120.0 GiB",
	} {
		if got := humanize.FormatBytes(bytes); got != want {
			t.Errorf("the size of %d bytes is %q, want %q", bytes, got, want)
		}
	}
}

func TestGroupedDigits(t *testing.T) {
	for decimal, want := range map[string]string{
		"1234.50": "1,234.50", "-1234567": "-1,234,567", "+123456": "+123,456", "123.4567": "123.4567", "1000.": "1,000.",
		"": "", "1e21": "1e21", "NaN": "NaN", "1,234": "1,234",
	} {
		if got := humanize.GroupDigits(decimal); got != want {
			t.Errorf("GroupDigits(%q) = %q, want %q", decimal, got, want)
		}
	}
}
