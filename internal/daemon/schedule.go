package daemon

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"
)

// Schedule is when nights are due, by the wall clock of a time zone.
//
// The cron library skips a day whose hour is left out in spring, and runs twice when
// an hour is repeated in autumn. So it computes times of a wall clock without changes,
// and each of them is mapped to one instant: the first of an hour that is repeated,
// the moment of the change for an hour that is left out.
type Schedule struct {
	wall cron.Schedule
	zone *time.Location
	text string
}

// NewSchedule reads five cron fields, or a descriptor such as @daily.
func NewSchedule(text string, zone *time.Location) (Schedule, error) {
	wall, err := cron.ParseStandard(text)
	if err != nil {
		return Schedule{}, fmt.Errorf("read schedule %q: %w", text, err)
	}
	return Schedule{wall: wall, zone: zone, text: text}, nil
}

// IsNever reports whether the schedule has no slots.
func (s Schedule) IsNever() bool { return s.wall == nil }

// String returns the schedule as it was written, with its zone.
func (s Schedule) String() string { return s.text + " " + s.zone.String() }

// Next returns the first slot after t, in the schedule's zone.
func (s Schedule) Next(t time.Time) time.Time {
	if every, ok := s.wall.(cron.ConstantDelaySchedule); ok {
		return every.Next(t).In(s.zone) // a duration needs no clock
	}
	// The wall clock repeats a few hours at most, and is mapped in order, so this ends.
	for onWall := s.wall.Next(wallOf(t.In(s.zone))); !onWall.IsZero(); onWall = s.wall.Next(onWall) {
		if at := s.instantOf(onWall); at.After(t) {
			return at
		}
	}
	return time.Time{}
}

// Interval is the time from one slot to the next around t: the longer one of those
// that begin at t and at the slot after it, since slots may be uneven.
func (s Schedule) Interval(t time.Time) time.Duration {
	first := s.Next(t)
	return max(first.Sub(t), s.Next(first).Sub(first))
}

// countPassed counts the slots after from up to and including until. It stops at a
// thousand.
func (s Schedule) countPassed(from, until time.Time) int {
	n := 0
	for at := s.Next(from); !at.IsZero() && !at.After(until) && n < 1000; at = s.Next(at) {
		n++
	}
	return n
}

// wallOf is what a wall clock shows at t, as a time in UTC.
func wallOf(t time.Time) time.Time {
	year, month, day := t.Date()
	return time.Date(year, month, day, t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// instantOf is the first instant at which the wall clock shows a time, or the moment of
// the change if it never does.
func (s Schedule) instantOf(onWall time.Time) time.Time {
	year, month, day := onWall.Date()
	at := time.Date(year, month, day, onWall.Hour(), onWall.Minute(), onWall.Second(), 0, s.zone)
	begun, ends := at.ZoneBounds()
	switch shown := wallOf(at); {
	case shown.After(onWall):
		return begun
	case shown.Before(onWall):
		return ends
	case begun.IsZero():
		return at
	}
	_, offset := at.Zone()
	_, earlier := begun.Add(-time.Second).Zone()
	if first := at.Add(time.Duration(offset-earlier) * time.Second); first.Before(begun) {
		return first
	}
	return at
}
