package daemon

import (
	"context"
	"errors"
	"time"

	"placementsync/internal/ledger"
)

// Reasons of a slot without a night of its own.
const (
	missedRunning  = "running"  // the previous night was still running
	missedHeld     = "held"     // another process held the lock until the next slot
	missedDowntime = "downtime" // the daemon was down or asleep
)

// checkEvery is how often the clock is checked, whatever the timer says: somebody may
// have set the clock, or the machine may have slept.
const checkEvery = time.Minute

// ending is how a night ended.
type ending struct {
	night ledger.Run
	err   error
}

// scheduler is the loop that starts nights. One goroutine owns it.
type scheduler struct {
	d *Daemon
	// next is the next slot. retry is when a night tries again that found the lock
	// held; zero: none waits.
	next, retry time.Time
	working     bool
	ended       chan ending
	// verify is when the next verification starts; zero: never. verifyRetry is when one
	// tries again that found the lock held; zero: none waits.
	verify, verifyRetry time.Time
	verifying           bool
	verified            chan Verified
	// following is set while the work after a night runs; owed while a night waits for
	// its turn.
	following, owed bool
	followed        chan struct{}
	// inspecting is set while somebody looks at the warehouse.
	inspecting   bool
	inspectSince time.Time
	inspected    chan Inspection
}

// runNights starts a night at each slot until ctx ends, never two at once, and
// returns when none runs any more.
func (d *Daemon) runNights(ctx context.Context) {
	s := &scheduler{d: d, ended: make(chan ending, 1), verified: make(chan Verified, 1), followed: make(chan struct{}, 1),
		inspected: make(chan Inspection, 1)}
	s.scheduleNext()
	s.startInspect(ctx)
	s.catchUp(ctx)
	timer := time.NewTimer(s.untilDue())
	defer timer.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case e := <-s.ended:
			s.endNight(e)
			s.startInspect(ctx)
			s.startFollow(ctx, e.night)
		case <-s.followed:
			s.endFollow(ctx)
		case v := <-s.verified:
			s.endVerify(ctx, v)
		case found := <-s.inspected:
			s.endInspect(ctx, found)
		case <-d.cfg.Hangups:
			d.reloadSettings()
			s.scheduleNext()
		case <-timer.C:
			s.checkClock(ctx)
		}
		timer.Reset(s.untilDue())
	}
	// The night that runs ends soon, since ctx has ended.
	d.board.update(func(b *board) { b.stopping = true })
	if s.verifying {
		s.endVerify(ctx, <-s.verified)
	}
	if s.inspecting {
		s.endInspect(ctx, <-s.inspected)
	}
	if s.following {
		<-s.followed
	}
	if s.working {
		d.cfg.Log.Info("stopping: waiting for the night that runs", "reason", context.Cause(ctx))
		s.endNight(<-s.ended)
	}
}

// scheduleNext computes the next slot.
func (s *scheduler) scheduleNext() {
	now := s.d.cfg.Now()
	s.scheduleVerify(now)
	s.next = s.d.settings().Schedule.Next(now)
	s.d.board.update(func(b *board) { b.next, b.beat = s.next, now })
	s.d.notifyManager("STATUS=next night at " + s.next.Format(time.RFC3339))
}

// untilDue is how long the loop may sleep.
func (s *scheduler) untilDue() time.Duration {
	now := s.d.cfg.Now()
	left := min(checkEvery, s.next.Sub(now))
	if !s.retry.IsZero() {
		left = min(left, s.retry.Sub(now))
	}
	if !s.verify.IsZero() {
		left = min(left, s.verify.Sub(now))
	}
	if !s.verifyRetry.IsZero() && !s.verifying {
		left = min(left, s.verifyRetry.Sub(now))
	}
	if w := s.d.cfg.Watchdog; w > 0 {
		left = min(left, w/2) // half, so that a late message is still in time
	}
	return max(left, 0)
}

// checkClock starts what is due.
func (s *scheduler) checkClock(ctx context.Context) {
	now := s.d.cfg.Now()
	s.d.board.update(func(b *board) { b.beat = now })
	if s.d.cfg.Watchdog > 0 {
		s.d.notifyManager("WATCHDOG=1")
	}
	s.startVerify(ctx, now)
	s.startInspect(ctx)
	switch {
	case !now.Before(s.next):
		s.runSlot(ctx, now)
	case !s.retry.IsZero() && !now.Before(s.retry) && !s.working:
		s.retry = time.Time{}
		s.startNight(ctx, "retry")
	}
}

// runSlot starts the night of a slot, unless one still runs. Slots that passed while
// the machine slept share one night.
func (s *scheduler) runSlot(ctx context.Context, now time.Time) {
	if n := s.d.settings().Schedule.countPassed(s.next, now); n > 0 {
		s.recordMissed(missedDowntime, n)
	}
	if !s.retry.IsZero() {
		s.retry = time.Time{}
		s.recordMissed(missedHeld, 1)
	}
	slot := s.next
	s.scheduleNext()
	if s.working {
		s.recordMissed(missedRunning, 1)
		return
	}
	s.startNight(ctx, "slot "+slot.Format(time.RFC3339))
}

// catchUp starts one night for all slots that passed while the daemon was down, and
// one if the last night was interrupted, to resume it.
func (s *scheduler) catchUp(ctx context.Context) {
	set, seen := s.d.settings(), s.d.board.readSnapshot()
	if seen.LedgerErr != nil {
		s.d.cfg.Log.Error("ledger not read, missed nights are not caught up", "error", seen.LedgerErr)
		return
	}
	last, known := seen.lastNight()
	if !known {
		return
	}
	owed := 0
	if good, ok := seen.lastPublished(); ok {
		owed = set.Schedule.countPassed(good.StartedAt, seen.At)
	}
	switch {
	case owed == 0 && last.Outcome != ledger.Interrupted && last.Outcome != ledger.Killed:
	case !set.CatchUp:
		s.recordMissed(missedDowntime, owed)
	default:
		s.recordMissed(missedDowntime, max(owed-1, 0))
		s.startNight(ctx, "catch up")
	}
}

func (s *scheduler) recordMissed(why string, n int) {
	if n == 0 {
		return
	}
	s.d.board.update(func(b *board) { b.missed[why] += n })
	s.d.metrics.missed.WithLabelValues(why).Add(float64(n))
	s.d.cfg.Log.Warn("slots missed", "reason", why, "slots", n)
}

func (s *scheduler) startNight(ctx context.Context, why string) {
	now := s.d.cfg.Now()
	s.working = true
	s.d.board.update(func(b *board) { b.running = now })
	s.d.cfg.Log.Debug("night started", "reason", why)
	night := s.d.settings().Night
	go func() {
		n, err := night(ctx)
		s.ended <- ending{n, err}
	}()
}

// endNight records a night. A night that found the lock held waits for its retry.
func (s *scheduler) endNight(e ending) {
	s.working = false
	now := s.d.cfg.Now()
	if errors.Is(e.err, ErrHeld) {
		e.night.Outcome = ledger.Held
		s.retry = now.Add(s.d.cfg.HeldRetry)
		s.d.cfg.Log.Warn("night waits for another run", "until", s.retry, "error", e.err)
	}
	s.d.board.update(func(b *board) {
		if e.night.EndedAt.IsZero() { // it did not come to have a line in the ledger
			e.night.StartedAt, e.night.EndedAt = b.running, now
		}
		if e.err != nil && e.night.Error == "" {
			e.night.Error = e.err.Error()
		}
		if e.night.Outcome != ledger.Held {
			b.own = e.night
		}
		b.tally.countRun(e.night)
		b.running, b.readAt = time.Time{}, time.Time{}
	})
	if e.night.Outcome != ledger.Held {
		e.night.LogEnd(s.d.cfg.Log)
	}
}
