package sim

import (
	"math/rand/v2"
	"slices"
	"time"
)

const daySeconds = 24 * 60 * 60

type calendar struct {
	start       time.Time // the simulated time on day 0
	historyDays int       // days that are simulated before start
	day         int       // 0 is the first served day; earlier days are negative
	birth       int64     // time of the oldest possible record, two years before the history
}

func newCalendar(opts Options) *calendar {
	c := &calendar{start: opts.Start, historyDays: opts.HistoryDays, day: -opts.HistoryDays}
	c.birth = c.dayStart(c.day) - 2*365*daySeconds
	return c
}

// dayStart returns the first second of a day. Day d ends at start plus d days, which is the simulated
// time on day d. So all events of a day are in the past when the day is served.
func (c *calendar) dayStart(day int) int64 { return c.start.Unix() + int64(day-1)*daySeconds }

func (c *calendar) now() time.Time {
	return c.start.Add(time.Duration(c.day) * 24 * time.Hour).UTC()
}

func (c *calendar) drawSecond(r *rand.Rand) int64 { return c.dayStart(c.day) + r.Int64N(daySeconds) }

// drawSeconds returns sorted seconds of the current day.
func (c *calendar) drawSeconds(r *rand.Rand, count int) []int64 {
	out := make([]int64, max(count, 0))
	for i := range out {
		out[i] = c.drawSecond(r)
	}
	slices.Sort(out)
	return out
}

// drawLater returns a random second of the current day, or previous+1 if that is later.
func (c *calendar) drawLater(r *rand.Rand, previous int64) int64 {
	return max(c.drawSecond(r), previous+1)
}

// drawDay returns a random day that is least to least+spread days after the current day.
func (c *calendar) drawDay(r *rand.Rand, least, spread int) int {
	return c.day + least + r.IntN(spread+1)
}

// targetCount returns the number of records that must have been created by the end of the current day. The
// number grows in proportion to the days, and is onDayZero on day 0.
func (c *calendar) targetCount(onDayZero int) int {
	return onDayZero * (c.day + c.historyDays) / c.historyDays
}
