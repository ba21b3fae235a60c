package webhook

import (
	"crypto/sha256"
	"slices"
	"time"

	"placementsync/internal/stream"
)

const (
	// At least the last generationSize events are remembered, and at most twice as many, in
	// about 20 MB. A repetition of an older event is stored again, and the night recognizes it
	// if its id is the same.
	generationSize = 1 << 16
	// minWindow is the minimum of the window, in which a repeated topic and body mean the same
	// event, regardless of the id. Real events differ, because their bodies contain times.
	// If two events had the same body nevertheless, only the first would be stored, and the next
	// night would still read the changed record.
	minWindow = time.Hour
	// maxTopics is the number of topics under which one body is stored within the window.
	// Comments have three topics.
	maxTopics = 8
)

func windowOf(maxAge time.Duration) time.Duration { return max(minWindow, 2*maxAge) }

type shortHash [16]byte

func shortHashOf(text []byte) shortHash {
	sum := sha256.Sum256(text)
	return shortHash(sum[:])
}

// mark identifies an event. Files of marks contain these fields in this order; integers are big-endian.
type mark struct {
	ID, Topic, Body shortHash
	At              int64 // time of receipt in nanoseconds since 1970
}

func markOf(e stream.Event) mark {
	return mark{shortHashOf([]byte(e.ID)), shortHashOf([]byte(e.Topic)), shortHashOf(e.Body), e.Received.UnixNano()}
}

// eventMemory contains the ids, topics and bodies of recent events. The signature covers only the body,
// so an attacker can repeat a captured delivery with any id, topic and timestamp.
type eventMemory struct {
	ids    generations[struct{}]
	bodies generations[[]storedTopic]
}

type storedTopic struct {
	topic shortHash
	at    int64
}

// classify returns Replayed, Stale, Repeated or Relabeled, or Stored for a new event. A known
// id is Replayed even if the delivery is stale, because the service can retry late.
func (m *eventMemory) classify(event mark, stale bool, window time.Duration) string {
	if _, known := m.ids.lookUp(event.ID); known {
		return Replayed
	}
	if stale {
		return Stale
	}
	topics := m.recentTopics(event, window)
	if slices.ContainsFunc(topics, func(s storedTopic) bool { return s.topic == event.Topic }) {
		return Repeated
	}
	if len(topics) >= maxTopics {
		return Relabeled
	}
	return Stored
}

func (m *eventMemory) recentTopics(event mark, window time.Duration) []storedTopic {
	topics, _ := m.bodies.lookUp(event.Body)
	return slices.DeleteFunc(slices.Clone(topics), func(s storedTopic) bool { return time.Duration(event.At-s.at).Abs() >= window })
}

func (m *eventMemory) addEvent(event mark, window time.Duration) {
	m.ids.setValue(event.ID, struct{}{})
	m.bodies.setValue(event.Body, append(m.recentTopics(event, window), storedTopic{event.Topic, event.At}))
}

func (m *eventMemory) removeEvent(event mark) {
	delete(m.ids.young, event.ID)
	delete(m.ids.old, event.ID)
	topics, _ := m.bodies.lookUp(event.Body)
	m.bodies.setValue(event.Body, slices.DeleteFunc(slices.Clone(topics), func(s storedTopic) bool { return s.topic == event.Topic }))
}

// generations is a map of limited size. When the young generation is full, it becomes the
// old generation, and the previous old generation is dropped.
type generations[V any] struct {
	young, old map[shortHash]V
}

func (g *generations[V]) lookUp(key shortHash) (V, bool) {
	value, ok := g.young[key]
	if !ok {
		value, ok = g.old[key]
	}
	return value, ok
}

func (g *generations[V]) setValue(key shortHash, value V) {
	if g.young == nil || len(g.young) >= generationSize {
		g.old, g.young = g.young, map[shortHash]V{}
	}
	g.young[key] = value
}
