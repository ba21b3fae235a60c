package webhook

import (
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"placementsync/internal/stream"
)

// TestWindowExtendsInBothDirections repeats a topic and body under another id. It includes earlier times, because
// the clock of the machine can be set back between two deliveries. The window is long enough: as long as the timestamp
// of a delivery is accepted, a repetition of it is recognized.
func TestWindowExtendsInBothDirections(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.November, 20, 2, 0, 0, 0, time.UTC)
	for maxAge, window := range map[time.Duration]time.Duration{0: time.Hour, 5 * time.Minute: time.Hour, 3 * time.Hour: 6 * time.Hour} {
		var s seenEvents
		s.add(newMark(stream.Event{ID: "1", Topic: "t", Body: []byte("b"), Received: at}))
		for after, want := range map[time.Duration]string{
			-48 * time.Hour: Stored, -window: Stored, -window + 1: Repeated, 0: Repeated, window - 1: Repeated, window: Stored, 48 * time.Hour: Stored,
		} {
			repeated := newMark(stream.Event{ID: "2", Topic: "t", Body: []byte("b"), Received: at.Add(after)})
			if got := s.classify(repeated, maxAge); got != want {
				t.Errorf("serve.webhook_max_age %v, %v after the stored event: got %q, want %q", maxAge, after, got, want)
			}
		}
	}
}

// TestMemoryOfEventsIsLimited adds more events than are remembered. The newest one is still known, so the same id is
// classified as Replayed.
func TestMemoryOfEventsIsLimited(t *testing.T) {
	t.Parallel()
	var s seenEvents
	var last mark
	for i := range maxSeen + 1 {
		id := digest{byte(i), byte(i >> 8), byte(i >> 16)}
		last = mark{id: id, body: id}
		s.add(last)
	}
	if len(s.ids) > maxSeen || len(s.bodies) > maxSeen || s.classify(last, 0) != Replayed {
		t.Errorf("%d ids and %d bodies are known, want at most %d with the newest one", len(s.ids), len(s.bodies), maxSeen)
	}
}

// TestDefaultLimitOfEvents checks that an inbox without a limit in bytes has room for 100,000 events, and not for more.
func TestDefaultLimitOfEvents(t *testing.T) {
	t.Parallel()
	r := New(Config{}, slog.New(slog.DiscardHandler), time.Now)
	for events, want := range map[int]bool{99_999: true, 100_000: false} {
		r.inbox.state.Events = events
		if got := r.inbox.hasRoom(1); got != want {
			t.Errorf("with %d events: got room %t, want %t", events, got, want)
		}
	}
}

// zeros is an endless body.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// TestDefaultLimitOfPendingBodies checks that there is memory for 32 MiB of bodies, and not for one byte more.
func TestDefaultLimitOfPendingBodies(t *testing.T) {
	t.Parallel()
	r := New(Config{}, slog.New(slog.DiscardHandler), time.Now)
	for size, want := range map[int64]error{32 << 20: nil, 32<<20 + 1: errCrowded} {
		body := bodyReader{from: io.LimitReader(zeros{}, size), free: &r.freeMemory}
		if _, err := io.Copy(io.Discard, &body); !errors.Is(err, want) {
			t.Errorf("bodies of %d bytes: got %v, want %v", size, err, want)
		}
		body.release()
	}
}

// TestTimesOfNumbers converts numbers of seconds and milliseconds at the limits of the years 2000 to 2099.
func TestTimesOfNumbers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"946684799": "946684799", "946684800": "2000-01-01T00:00:00Z", "4102444799": "2099-12-31T23:59:59Z", "4102444800": "4102444800",
		"946684799999": "946684799999", "946684800000": "2000-01-01T00:00:00Z", "4102444799999": "2099-12-31T23:59:59.999Z",
		"4102444800000": "4102444800000", "300": "300", "yesterday": "yesterday",
	} {
		if got := sentTime(text); got != want {
			t.Errorf("the timestamp %s becomes %s, want %s", text, got, want)
		}
	}
}
