package plural_test

import (
	"testing"

	"placementsync/internal/plural"
)

func TestCounts(t *testing.T) {
	for want, got := range map[string]string{
		"0 requests":     plural.Count(0, "request"),
		"1 request":      plural.Count(1, "request"),
		"2 requests":     plural.Count(int64(2), "request"),
		"1 retry":        plural.Count(1, "retry"),
		"3 retries":      plural.Count(3, "retry"),
		"2 days":         plural.Count(2, "day"),
		"2 passes":       plural.Count(2, "pass"),
		"2 patches":      plural.Count(2, "patch"),
		"2 new findings": plural.Count(2, "new finding"),
		"streams":        plural.Noun(0, "stream"),
		"0":              plural.Number(0),
		"999":            plural.Number(999),
		"1,000":          plural.Number(int64(1000)),
		"-999,999":       plural.Number(-999_999),
		"1,234,567":      plural.Number(1_234_567),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
