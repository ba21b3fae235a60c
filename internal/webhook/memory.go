package webhook

import (
	"crypto/sha256"
	"time"

	"placementsync/internal/stream"
)

const (
	// rememberedEvents is how many events are remembered at least; twice as many at most,
	// about 20 MB. An older one that comes again is stored again, and the night drops it
	// if it has the same id.
	rememberedEvents = 1 << 16
	// repeatWindow is how long a topic with a body stands for one event at least, whatever
	// the ids. Bodies have the times of what they announce, so that two events do not
	// share one. Should they, the second one within the window is taken for the first,
	// and the next night reads the record.
	repeatWindow = time.Hour
	// mostTopics is under how many topics one body is stored within the window: a comment
	// has three.
	mostTopics = 8
)

// windowOf is how long a topic with a body stands for one event, where timestamps so far
// from now are accepted.
func windowOf(maxAge time.Duration) time.Duration { return max(repeatWindow, 2*maxAge) }

// fingerprint stands for a text of any length.
type fingerprint [16]byte

func fingerprintOf(text []byte) fingerprint {
	sum := sha256.Sum256(text)
	return fingerprint(sum[:])
}

// mark is by what an event is known again.
type mark struct {
	id, topic, body fingerprint
	at              time.Time
}

func markOf(e stream.Event) mark {
	return mark{fingerprintOf([]byte(e.ID)), fingerprintOf([]byte(e.Topic)), fingerprintOf(e.Body), e.Received}
}

// memory knows the events that came last by their ids, and by their topics and bodies.
// The signature covers the body alone: whoever has captured one delivery can send it
// again under any id, topic and timestamp.
type memory struct {
	ids    generations[struct{}]
	bodies generations[[]sighting]
}

// sighting is a topic under which a body was stored.
type sighting struct {
	topic fingerprint
	at    time.Time
}

// judge says what a delivery is: Replayed, Stale, Repeated or Relabeled, and Stored if
// it is news. The retry of an event that is known is none the worse for its age.
func (m *memory) judge(k mark, stale bool, window time.Duration) string {
	if _, known := m.ids.lookUp(k.id); known {
		return Replayed
	}
	if stale {
		return Stale
	}
	topics := m.recentTopics(k, window)
	for _, s := range topics {
		if s.topic == k.topic {
			return Repeated
		}
	}
	if len(topics) >= mostTopics {
		return Relabeled
	}
	return Stored
}

// recentTopics are those under which a body was stored within the window.
func (m *memory) recentTopics(k mark, window time.Duration) []sighting {
	all, _ := m.bodies.lookUp(k.body)
	var recent []sighting
	for _, s := range all {
		if k.at.Sub(s.at).Abs() < window {
			recent = append(recent, s)
		}
	}
	return recent
}

func (m *memory) addEvent(k mark, window time.Duration) {
	m.ids.setValue(k.id, struct{}{})
	m.bodies.setValue(k.body, append(m.recentTopics(k, window), sighting{k.topic, k.at}))
}

// removeEvent forgets an event that could not be stored after all.
func (m *memory) removeEvent(k mark) {
	m.ids.removeKey(k.id)
	all, _ := m.bodies.lookUp(k.body)
	var others []sighting
	for _, s := range all {
		if s.topic != k.topic {
			others = append(others, s)
		}
	}
	m.bodies.removeKey(k.body)
	if len(others) > 0 {
		m.bodies.setValue(k.body, others)
	}
}

// generations is a map of bounded size: when the newer of its two generations is full,
// the older one is dropped.
type generations[V any] struct {
	now, old map[fingerprint]V
}

func (g *generations[V]) lookUp(key fingerprint) (V, bool) {
	value, ok := g.now[key]
	if !ok {
		value, ok = g.old[key]
	}
	return value, ok
}

func (g *generations[V]) setValue(key fingerprint, value V) {
	if g.now == nil || len(g.now) >= rememberedEvents {
		g.old, g.now = g.now, map[fingerprint]V{}
	}
	g.now[key] = value
}

func (g *generations[V]) removeKey(key fingerprint) {
	delete(g.now, key)
	delete(g.old, key)
}
