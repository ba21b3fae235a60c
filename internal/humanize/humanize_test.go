package humanize_test

import (
	"testing"

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
