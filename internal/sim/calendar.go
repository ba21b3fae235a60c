package sim

import (
	"math/rand/v2"
	"slices"
	"time"
)

const daySeconds = 24 * 60 * 60

// dayStart returns the first second of a day. Day d ends at start plus d days, which is the simulated
// time on day d. So all events of a day are in the past when the day is served.
func (w *world) dayStart(day int) int64 { return w.opts.Start.Unix() + int64(day-1)*daySeconds }

func (w *world) now() time.Time {
	return w.opts.Start.Add(time.Duration(w.day) * 24 * time.Hour).UTC()
}

func (w *world) drawSecond(r *rand.Rand) int64 { return w.dayStart(w.day) + r.Int64N(daySeconds) }

// drawSeconds returns sorted seconds of the current day.
func (w *world) drawSeconds(r *rand.Rand, count int) []int64 {
	out := make([]int64, max(count, 0))
	for i := range out {
		out[i] = w.drawSecond(r)
	}
	slices.Sort(out)
	return out
}

// drawLater returns a random second of the current day, or previous+1 if that is later.
func (w *world) drawLater(r *rand.Rand, previous int64) int64 {
	return max(w.drawSecond(r), previous+1)
}

// drawDay returns a random day that is least to least+spread days after the current day.
func (w *world) drawDay(r *rand.Rand, least, spread int) int {
	return w.day + least + r.IntN(spread+1)
}

// targetCount returns the number of records that must have been created by the end of the current day. The
// number grows in proportion to the days, and is onDayZero on day 0.
func (w *world) targetCount(onDayZero int) int {
	return onDayZero * (w.day + w.opts.HistoryDays) / w.opts.HistoryDays
}
