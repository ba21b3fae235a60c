package daemon

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"
)

// Schedule is a cron schedule in a time zone. The zero Schedule has no slots.
//
// With daylight saving time, the cron library skips a slot in a skipped hour and repeats a
// slot in a repeated hour. Therefore Schedule calls the library with a wall clock without such
// changes and maps each slot to one instant. In a repeated hour this is the first instant. For a
// skipped hour it is the moment of the change.
type Schedule struct {
	wall cron.Schedule
	zone *time.Location
	text string
}

// NewSchedule parses five cron fields or a descriptor such as @daily.
func NewSchedule(text string, zone *time.Location) (Schedule, error) {
	wall, err := cron.ParseStandard(text)
	if err != nil {
		return Schedule{}, fmt.Errorf("read schedule %q: %w", text, err)
	}
	return Schedule{wall: wall, zone: zone, text: text}, nil
}

// IsNever is true for a schedule without slots.
func (s Schedule) IsNever() bool { return s.wall == nil }

// String returns the text of the schedule with its zone.
func (s Schedule) String() string { return s.text + " " + s.zone.String() }

// Next returns the first slot after t, in the zone of the schedule, or the zero time.
func (s Schedule) Next(t time.Time) time.Time {
	if every, ok := s.wall.(cron.ConstantDelaySchedule); ok {
		return every.Next(t).In(s.zone) // a constant delay does not depend on the wall clock
	}
	// The loop ends, because a repeated hour contains few slots.
	for onWall := s.wall.Next(wallOf(t.In(s.zone))); !onWall.IsZero(); onWall = s.wall.Next(onWall) {
		if at := s.instantOf(onWall); at.After(t) {
			return at
		}
	}
	return time.Time{}
}

// Interval returns the time between slots around t. The times between slots may differ, so Interval
// returns the longer of two times: from t to the next slot, and from the next slot to the slot after it.
func (s Schedule) Interval(t time.Time) time.Duration {
	first := s.Next(t)
	return max(first.Sub(t), s.Next(first).Sub(first))
}

// countPassed counts the slots in the interval (from, until], at most 1000.
func (s Schedule) countPassed(from, until time.Time) int {
	n := 0
	for at := s.Next(from); !at.IsZero() && !at.After(until) && n < 1000; at = s.Next(at) {
		n++
	}
	return n
}

// wallOf returns the time of the wall clock at t as a time in UTC.
func wallOf(t time.Time) time.Time {
	year, month, day := t.Date()
	return time.Date(year, month, day, t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

func (s Schedule) instantOf(onWall time.Time) time.Time {
	year, month, day := onWall.Date()
	at := time.Date(year, month, day, onWall.Hour(), onWall.Minute(), onWall.Second(), 0, s.zone)
	begin, end := at.ZoneBounds() // the clock changes before and after at
	shown := wallOf(at)
	switch {
	case shown.After(onWall): // onWall is in a skipped hour, and at is after the change
		return begin
	case shown.Before(onWall): // onWall is in a skipped hour, and at is before the change
		return end
	case begin.IsZero(): // there is no earlier change
		return at
	}
	// In a repeated hour, the first instant shows the same clock with the offset before the change.
	_, earlierOffset := begin.Add(-time.Second).Zone()
	earlierZone := time.FixedZone("", earlierOffset)
	first := time.Date(year, month, day, onWall.Hour(), onWall.Minute(), onWall.Second(), 0, earlierZone)
	if first.Before(begin) {
		return first.In(s.zone)
	}
	return at
}
