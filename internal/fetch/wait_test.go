package fetch

import (
	"testing"
	"time"
)

// TestStatedTimes parses times in seconds and milliseconds since 1970.
func TestStatedTimes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"1800000005", "1800000005000"} {
		if got, ok := parseWait(text, time.Unix(1_800_000_000, 0)); got != 5*time.Second || !ok {
			t.Errorf("%s is a wait of %v (%v), want 5s", text, got, ok)
		}
	}
}
