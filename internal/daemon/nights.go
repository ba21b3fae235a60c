package daemon

import (
	"context"
	"errors"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/warehouse"
)

// Reasons of a missed slot.
const (
	missedRunning  = "running"  // the previous night was still running
	missedHeld     = "held"     // another process held the lock until the next slot
	missedDowntime = "downtime" // the daemon or the machine was down
)

// checkEvery limits the time between two checks of the clock. The clock may have been set,
// or the machine may have been suspended, and a timer notices neither.
const checkEvery = time.Minute

// ending is the end of a call of Jobs.Night.
type ending struct {
	night ledger.Run
	err   error
}

// scheduler is the loop that starts the jobs. All fields belong to one goroutine.
type scheduler struct {
	d *Daemon
	// next is the next slot. retry is the next attempt of a night that found the lock
	// held, or zero.
	next, retry time.Time
	working     bool
	ended       chan ending
	// verify is the time of the next verification, or zero without a schedule. verifyRetry
	// is the next attempt of one that found the lock held, or zero.
	verify, verifyRetry time.Time
	verifying           bool
	verified            chan verification
	// followAgain is set when a night was published while the work after an earlier night
	// was running.
	following, followAgain bool
	followed               chan struct{}
	inspecting             bool
	inspectingSince        time.Time
	inspected              chan Inspection
}

// runNights starts a night at each slot until ctx ends, one at a time. It returns after the
// end of all jobs.
func (d *Daemon) runNights(ctx context.Context) {
	s := &scheduler{d: d, ended: make(chan ending, 1), verified: make(chan verification, 1), followed: make(chan struct{}, 1),
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
		case result := <-s.inspected:
			s.endInspect(ctx, result)
		case <-d.cfg.Hangups:
			d.reloadSettings()
			s.scheduleNext()
		case <-timer.C:
			s.checkClock(ctx)
		}
		timer.Reset(s.untilDue())
	}
	// All jobs end soon, because their context has ended.
	d.state.update(func(st *state) { st.stopping = true })
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

// scheduleNext computes the next slot and the next verification.
func (s *scheduler) scheduleNext() {
	now := s.d.cfg.Now()
	s.scheduleVerify(now)
	s.next = s.d.settings().Schedule.Next(now)
	s.d.state.update(func(st *state) { st.next, st.checkedAt = s.next, now })
	s.d.notifyManager("STATUS=next night at " + s.next.Format(time.RFC3339))
}

// untilDue is the time until the loop has to wake up.
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

// checkClock starts all jobs that are due.
func (s *scheduler) checkClock(ctx context.Context) {
	now := s.d.cfg.Now()
	s.d.state.update(func(st *state) { st.checkedAt = now })
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

// runSlot starts the night of a slot, unless one is still running. Slots that passed while
// the machine was suspended share one night.
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

// catchUp starts one night for all slots that passed while the daemon was down, or to
// resume an interrupted night.
func (s *scheduler) catchUp(ctx context.Context) {
	set, seen := s.d.settings(), s.d.state.read()
	if seen.LedgerErr != nil {
		s.d.cfg.Log.Error("ledger not read, missed nights are not caught up", "error", seen.LedgerErr)
		return
	}
	last, ok := seen.lastNight()
	if !ok {
		return
	}
	passed := 0
	if good, ok := seen.lastPublished(); ok {
		passed = set.Schedule.countPassed(good.StartedAt, seen.At)
	}
	switch {
	case passed == 0 && last.Outcome != ledger.Interrupted && last.Outcome != ledger.Killed:
	case !set.CatchUp:
		s.recordMissed(missedDowntime, passed)
	default:
		s.recordMissed(missedDowntime, max(passed-1, 0))
		s.startNight(ctx, "catch up")
	}
}

func (s *scheduler) recordMissed(reason string, n int) {
	if n == 0 {
		return
	}
	s.d.state.update(func(st *state) { st.missed[reason] += n })
	s.d.metrics.missed.WithLabelValues(reason).Add(float64(n))
	s.d.cfg.Log.Warn("slots missed", "reason", reason, "slots", n)
}

func (s *scheduler) startNight(ctx context.Context, reason string) {
	now := s.d.cfg.Now()
	s.working = true
	s.d.state.update(func(st *state) { st.running = now })
	s.d.cfg.Log.Debug("night started", "reason", reason)
	jobs := s.d.settings().Jobs
	go func() {
		night, err := jobs.Night(ctx)
		s.ended <- ending{night, err}
	}()
}

// endNight records a night. If it found the lock held, it schedules a retry.
func (s *scheduler) endNight(e ending) {
	s.working = false
	now := s.d.cfg.Now()
	if errors.As(e.err, new(*warehouse.LockedError)) {
		e.night.Outcome = ledger.Held
		s.retry = now.Add(s.d.cfg.HeldRetry)
		s.d.cfg.Log.Warn("night waits for another run", "until", s.retry, "error", e.err)
	}
	s.d.state.update(func(st *state) {
		if e.night.EndedAt.IsZero() { // it failed before its ledger entry
			e.night.StartedAt, e.night.EndedAt = st.running, now
		}
		if e.err != nil && e.night.Error == "" {
			e.night.Error = e.err.Error()
		}
		if e.night.Outcome != ledger.Held {
			st.lastOwn = e.night
		}
		st.counts.addRun(e.night)
		st.running, st.readAt = time.Time{}, time.Time{}
	})
	if e.night.Outcome != ledger.Held {
		e.night.LogEnd(s.d.cfg.Log)
	}
}
