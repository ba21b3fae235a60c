package sim

import (
	"math/rand/v2"
	"slices"
	"time"
)

const daySeconds = 24 * 60 * 60

// birthYears is how long before its first simulated day the oldest records of
// the world were made.
const birthYears = 2

// calendar is the simulated time.
type calendar struct {
	start   time.Time // instant of day 0
	history int       // days before day 0
	day     int       // 0 is the first day that is served; negative is the past
	birth   int64     // Unix seconds; nothing is older
}

func newCalendar(opts Options) *calendar {
	c := &calendar{start: opts.Start, history: opts.HistoryDays, day: -opts.HistoryDays}
	c.birth = c.dayStart(c.day) - birthYears*365*daySeconds
	return c
}

// dayStart is the first second of the 24 hours that lead to a day: the world
// of day d knows what happened before d days after the start.
func (c *calendar) dayStart(day int) int64 { return c.start.Unix() + int64(day-1)*daySeconds }

// now is the instant at which the present day is seen.
func (c *calendar) now() time.Time {
	return c.start.Add(time.Duration(c.day) * 24 * time.Hour).UTC()
}

// dayNumber is the present day counted from the world's first, which is 1.
func (c *calendar) dayNumber() uint16 { return uint16(c.day + c.history + 1) }

// numberedDay is the first second of a day by its number.
func (c *calendar) numberedDay(number uint16) int64 { return c.dayStart(int(number) - c.history - 1) }

// drawSecond draws a second of the present day.
func (c *calendar) drawSecond(r *rand.Rand) int64 { return c.dayStart(c.day) + r.Int64N(daySeconds) }

// drawSeconds draws seconds of the present day in their order.
func (c *calendar) drawSeconds(r *rand.Rand, count int) []int64 {
	out := make([]int64, max(count, 0))
	for i := range out {
		out[i] = c.drawSecond(r)
	}
	slices.Sort(out)
	return out
}

// drawLater draws an instant of the present day that is later than the last one.
func (c *calendar) drawLater(r *rand.Rand, last int64) int64 { return max(c.drawSecond(r), last+1) }

// drawDay draws a coming day: at least so many days from now, and up to spread
// days more.
func (c *calendar) drawDay(r *rand.Rand, least, spread int) int {
	return c.day + least + r.IntN(spread+1)
}

// dueToday is how many records must exist on the present day when a number of
// them is spread over the past and more follow at the same rate.
func (c *calendar) dueToday(onDayZero int) int { return onDayZero * (c.day + c.history) / c.history }
