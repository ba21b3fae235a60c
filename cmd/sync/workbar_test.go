package main

import (
	"testing"
	"time"

	"placementsync/internal/humanize"
)

func TestWorkIsDescribed(t *testing.T) {
	t.Parallel()
	nights := func(n int64) string { return humanize.Count(n, "night") }
	for want, got := range map[string]string{
		"0 nights of 14 nights":                                describeWork(0, 14, 5*time.Second, nights),
		"3 nights of 14 nights, 6 nights a minute, 1m50s left": describeWork(3, 14, 30*time.Second, nights),
		"14 nights of 14 nights, 28 nights a minute":           describeWork(14, 14, 30*time.Second, nights),
		"3.0 MiB, 6.0 MiB a minute":                            describeWork(3<<20, 0, 30*time.Second, humanize.FormatBytes),
		"3.0 MiB of 6.0 MiB, 3.0 MiB a minute, 1m0s left":      describeWork(3<<20, 6<<20, time.Minute, humanize.FormatBytes),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
