package daemon

import (
	"context"
	"errors"
	"time"
)

// Reasons of a slot without a night of its own.
const (
	missedRunning  = "running"  // the night before was still at work
	missedHeld     = "held"     // another process was at work until the next slot
	missedDowntime = "downtime" // nobody was there
)

// glance is how often the clock is looked at, whatever the timer says: it may have
// been set, and the machine may have slept.
const glance = time.Minute

// ending is how a night ended.
type ending struct {
	night Night
	err   error
}

// shift is the loop that starts nights. It belongs to one goroutine.
type shift struct {
	d *Daemon
	// next is the slot that comes. retry is when a night that found another run
	// at work tries again; zero: none waits.
	next, retry time.Time
	working     bool
	ended       chan ending
	// verify is when damage is looked for next; zero: never.
	verify    time.Time
	verifying bool
	verified  chan Verified
}

// nights starts a night at each slot until ctx ends, never two at once, and
// returns when none is at work.
func (d *Daemon) nights(ctx context.Context) {
	s := &shift{d: d, ended: make(chan ending, 1), verified: make(chan Verified, 1)}
	s.schedule()
	s.catchUp(ctx)
	timer := time.NewTimer(s.pause())
	defer timer.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case e := <-s.ended:
			s.end(e)
		case v := <-s.verified:
			s.endVerify(v)
		case <-d.cfg.Hangups:
			d.reload()
			s.schedule()
		case <-timer.C:
			s.look(ctx)
		}
		timer.Reset(s.pause())
	}
	s.drain(ctx)
}

// schedule looks for the slot that comes.
func (s *shift) schedule() {
	now := s.d.cfg.Now()
	s.scheduleVerify(now)
	s.next = s.d.settings().Schedule.Next(now)
	s.d.board.change(func(b *board) { b.next, b.beat = s.next, now })
	s.d.tell("STATUS=next night at " + s.next.Format(time.RFC3339))
}

// pause is how long nothing needs to be done.
func (s *shift) pause() time.Duration {
	now := s.d.cfg.Now()
	left := min(glance, s.next.Sub(now))
	if !s.retry.IsZero() {
		left = min(left, s.retry.Sub(now))
	}
	if !s.verify.IsZero() {
		left = min(left, s.verify.Sub(now))
	}
	if w := s.d.cfg.Watchdog; w > 0 {
		left = min(left, w/2) // half: one that comes late is not yet one that is missing
	}
	return max(left, 0)
}

// look does what is due.
func (s *shift) look(ctx context.Context) {
	now := s.d.cfg.Now()
	s.d.board.change(func(b *board) { b.beat = now })
	if s.d.cfg.Watchdog > 0 {
		s.d.tell("WATCHDOG=1")
	}
	s.lookForDamage(ctx, now)
	switch {
	case !now.Before(s.next):
		s.slot(ctx, now)
	case !s.retry.IsZero() && !now.Before(s.retry) && !s.working:
		s.retry = time.Time{}
		s.start(ctx, "retry")
	}
}

// slot is the time for a night, unless one is still at work. Slots that passed
// unseen, since the machine slept, share one night.
func (s *shift) slot(ctx context.Context, now time.Time) {
	if n, _ := s.d.settings().Schedule.passed(s.next, now); n > 0 {
		s.miss(missedDowntime, n)
	}
	if !s.retry.IsZero() {
		s.retry = time.Time{}
		s.miss(missedHeld, 1)
	}
	slot := s.next
	s.schedule()
	if s.working {
		s.miss(missedRunning, 1)
		return
	}
	s.start(ctx, "slot "+slot.Format(time.RFC3339))
}

// catchUp starts one night for all slots that passed while nobody was there, and
// for one that was interrupted: its work is half done.
func (s *shift) catchUp(ctx context.Context) {
	set, seen := s.d.settings(), s.d.board.read()
	if seen.LedgerErr != nil {
		s.d.cfg.Log.Error("ledger not read, nothing is caught up", "error", seen.LedgerErr)
		return
	}
	last, known := seen.last()
	if !known {
		return
	}
	owed := 0
	if good, ok := seen.published(); ok {
		owed, _ = set.Schedule.passed(good.Started, seen.At)
	}
	switch {
	case owed == 0 && last.Outcome != Interrupted && last.Outcome != Killed:
	case !set.CatchUp:
		s.miss(missedDowntime, owed)
	default:
		s.miss(missedDowntime, max(owed-1, 0))
		s.start(ctx, "catch up")
	}
}

func (s *shift) miss(why string, n int) {
	if n == 0 {
		return
	}
	s.d.board.miss(why, n)
	s.d.metrics.missed.WithLabelValues(why).Add(float64(n))
	s.d.cfg.Log.Warn("slots missed", "reason", why, "slots", n)
}

func (s *shift) start(ctx context.Context, why string) {
	now := s.d.cfg.Now()
	s.working = true
	s.d.board.change(func(b *board) { b.running = now })
	s.d.cfg.Log.Info("night started", "reason", why)
	night := s.d.settings().Night
	go func() {
		n, err := night(ctx)
		s.ended <- ending{n, err}
	}()
}

// end takes note of a night, and lets one that found another run at work wait.
func (s *shift) end(e ending) {
	s.working = false
	now := s.d.cfg.Now()
	s.d.board.change(func(b *board) { b.running, b.readAt = time.Time{}, time.Time{} })
	if errors.Is(e.err, ErrHeld) {
		e.night.Outcome = Held
		s.retry = now.Add(s.d.cfg.HeldRetry)
		s.d.cfg.Log.Warn("night waits for another run", "until", s.retry, "error", e.err)
	}
	s.d.metrics.note(e.night)
	s.d.cfg.Log.Info("night ended", "run", e.night.Run, "outcome", e.night.Outcome, "took", e.night.Took(),
		"next", s.next)
}

// drain waits for the night that is at work; ctx has told it to come to its end.
func (s *shift) drain(ctx context.Context) {
	s.d.board.change(func(b *board) { b.stopping = true })
	if s.verifying {
		s.endVerify(<-s.verified)
	}
	if !s.working {
		return
	}
	s.d.cfg.Log.Info("stopping: a night is at work", "reason", context.Cause(ctx))
	s.end(<-s.ended)
}
