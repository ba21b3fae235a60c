package webhook

import (
	"testing"
	"time"
)

// TestWindowExtendsInBothDirections includes earlier times, because the clock of the machine
// can be set back between two deliveries.
func TestWindowExtendsInBothDirections(t *testing.T) {
	t.Parallel()
	const window = time.Hour
	at := time.Date(2026, time.November, 20, 2, 0, 0, 0, time.UTC)
	stored := mark{ID: shortHashOf([]byte("1")), Topic: shortHashOf([]byte("t")), Body: shortHashOf([]byte("b")), At: at.UnixNano()}
	var m eventMemory
	m.addEvent(stored, window)
	for after, want := range map[time.Duration]string{
		-48 * time.Hour: Stored, -window: Stored, -window + 1: Repeated, 0: Repeated, window - 1: Repeated, window: Stored, 48 * time.Hour: Stored,
	} {
		repeated := stored
		repeated.ID, repeated.At = shortHashOf([]byte("2")), at.Add(after).UnixNano()
		const stale = false
		if got := m.classify(repeated, stale, window); got != want {
			t.Errorf("%v after the stored event: got %q, want %q", after, got, want)
		}
	}
}
