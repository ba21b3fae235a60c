package webhook

import (
	"crypto/sha256"
	"slices"
	"time"

	"placementsync/internal/stream"
)

const (
	// maxSeen limits the number of remembered events. They need about 20 MB. A repetition of a forgotten event
	// is stored again, and the night recognizes it if its id is the same.
	maxSeen = 1 << 16
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

type digest [sha256.Size]byte

// mark identifies an event.
type mark struct {
	id, topic, body digest
	at              time.Time
}

func newMark(e stream.Event) mark {
	return mark{sha256.Sum256([]byte(e.ID)), sha256.Sum256([]byte(e.Topic)), sha256.Sum256(e.Body), e.Received}
}

// seenEvents contains the ids, topics and bodies of the events in the inbox and of recent events. The signature
// covers only the body, so an attacker can repeat a captured delivery with any id, topic and timestamp.
type seenEvents struct {
	ids    map[digest]bool
	bodies map[digest][]mark
}

// classify returns Replayed, Stale, Repeated or Relabeled, or Stored for a new event. A known
// id is Replayed even if the delivery is stale, because the service can retry late.
func (s *seenEvents) classify(event mark, isStale bool, window time.Duration) string {
	sameBody := s.recent(event, window)
	isRepeated := slices.ContainsFunc(sameBody, func(m mark) bool { return m.topic == event.topic })
	switch {
	case s.ids[event.id]:
		return Replayed
	case isStale:
		return Stale
	case isRepeated:
		return Repeated
	case len(sameBody) >= maxTopics:
		return Relabeled
	}
	return Stored
}

// recent returns the events with the same body. The window extends in both directions, because the clock can be
// set back.
func (s *seenEvents) recent(event mark, window time.Duration) (marks []mark) {
	for _, m := range s.bodies[event.body] {
		if event.at.Sub(m.at).Abs() < window {
			marks = append(marks, m)
		}
	}
	return marks
}

func (s *seenEvents) add(event mark) {
	if s.ids == nil || len(s.ids) >= maxSeen {
		s.ids, s.bodies = map[digest]bool{}, map[digest][]mark{}
	}
	s.ids[event.id] = true
	s.bodies[event.body] = append(s.bodies[event.body], event)
}
