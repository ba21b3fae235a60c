package daemon

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/warehouse"
)

// Reasons of a missed slot.
const (
	missedRunning  = "running" // the previous night
	missedLocked   = "held"    // another process held the lock until the next slot
	missedDowntime = "downtime"
)

// maxSleep limits the time between two calls of startDueJobs. The clock may have been set, or the
// machine may have been suspended, and a timer notices neither.
const maxSleep = time.Minute

// lockRetry is the time between two attempts while another process holds the lock.
const lockRetry = 5 * time.Minute

// scheduler is the loop that starts the jobs and handles their results. Only the goroutine of the
// loop uses the fields other than done. A zero time means never.
type scheduler struct {
	d           *Daemon
	done        chan func() // the results of runJob
	runningJobs int
	nextSlot    time.Time
	// lockedRetryAt is set if the warehouse was locked at the last attempt to start a night.
	lockedRetryAt time.Time
	nightRunning  bool
	// failedAt is the end of a failed night that starts again at failedRetryAt. failures counts its attempts.
	failedAt, failedRetryAt time.Time
	failures                int
	// verifyRetryAt is set if the warehouse was locked at the last attempt to verify it.
	verifyAt, verifyRetryAt time.Time
	verifyRunning           bool
	// followUpPending is set when a night was published while earlier follow-ups were running.
	followUpRunning, followUpPending bool
	inspectingSince                  time.Time
	statusText                       string // the last status line that was sent to the service manager
}

// runJob runs a job in the background. The loop calls the function that the job returns.
func (s *scheduler) runJob(job func() (finish func())) {
	s.runningJobs++
	go func() { s.done <- job() }()
}

// runNights starts a night at each slot until ctx ends. Nights do not overlap. runNights
// returns after the end of all jobs.
func (d *Daemon) runNights(ctx context.Context) {
	s := &scheduler{d: d, done: make(chan func())}
	s.scheduleNext()
	s.startInspection(ctx)
	s.catchUp(ctx)
	timer := time.NewTimer(s.untilDue())
	defer timer.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case finish := <-s.done:
			s.runningJobs--
			finish()
		case <-d.cfg.Hangups:
			d.reloadSettings()
			s.scheduleNext()
		case <-timer.C:
			s.startDueJobs(ctx)
		}
		timer.Reset(s.untilDue())
	}
	d.state.update(func(st *state) { st.Stopping = true })
	if s.nightRunning {
		d.cfg.Log.Info("stopping: waiting for the running night", "reason", context.Cause(ctx))
	}
	for ; s.runningJobs > 0; s.runningJobs-- { // the jobs end soon, because their context has ended
		finish := <-s.done
		finish()
	}
}

func (s *scheduler) scheduleNext() {
	now := s.d.cfg.Now()
	s.scheduleVerification(now)
	s.nextSlot = s.d.settings().Schedule.Next(now)
	s.d.state.update(func(st *state) { st.ActiveAt = now })
	s.showNextNight()
}

func (s *scheduler) nextNight() time.Time {
	if !s.failedRetryAt.IsZero() && s.failedRetryAt.Before(s.nextSlot) {
		return s.failedRetryAt
	}
	return s.nextSlot
}

func (s *scheduler) showNextNight() {
	next := s.nextNight()
	s.d.state.update(func(st *state) { st.NextNight = next })
	s.notifyStatus()
}

// notifyStatus sends the status line of the service manager if it has changed.
func (s *scheduler) notifyStatus() {
	text := "next night at " + s.nextNight().Format(time.RFC3339)
	if p, ok := s.d.cfg.Program.Progress(); ok && p.WaitingFor != "" {
		text = p.DescribeWait()
	}
	if text != s.statusText {
		s.statusText = text
		s.d.notifyManager("STATUS=" + text)
	}
}

// untilDue returns the time until the next call of startDueJobs. Slots and retries of failed nights
// start exactly on time. Other jobs may start up to maxSleep late.
func (s *scheduler) untilDue() time.Duration {
	wait := maxSleep
	if next := s.nextNight(); !next.IsZero() {
		wait = min(wait, next.Sub(s.d.cfg.Now()))
	}
	if watchdog := s.d.cfg.Watchdog; watchdog > 0 {
		wait = min(wait, watchdog/2) // half, because a message may be late
	}
	return max(wait, 0)
}

func (s *scheduler) startDueJobs(ctx context.Context) {
	now := s.d.cfg.Now()
	s.d.state.update(func(st *state) { st.ActiveAt = now })
	if s.d.cfg.Watchdog > 0 {
		s.d.notifyManager("WATCHDOG=1")
	}
	s.notifyStatus()
	s.startDueVerification(ctx, now)
	s.startInspection(ctx)
	isDue := func(at time.Time) bool { return !at.IsZero() && !now.Before(at) }
	switch {
	case isDue(s.nextSlot):
		s.runSlot(ctx, now)
	case isDue(s.lockedRetryAt):
		s.lockedRetryAt = time.Time{}
		s.startNight(ctx, "retry")
	case isDue(s.failedRetryAt):
		s.retryFailed(ctx)
	}
}

// retryFailed starts a failed night again, unless another process has published one since the failure.
func (s *scheduler) retryFailed(ctx context.Context) {
	s.failedRetryAt = time.Time{}
	s.showNextNight()
	st := s.d.state.read()
	if last, ok := st.lastPublishedNight(); ok && last.EndedAt.After(s.failedAt) {
		return
	}
	s.startNight(ctx, "retry of a failed night")
}

// runSlot starts the night of a slot. If the previous night is still running, the slot is missed.
// If several slots passed while the machine was suspended, all but one are missed.
func (s *scheduler) runSlot(ctx context.Context, now time.Time) {
	s.recordMissed(missedDowntime, s.d.settings().Schedule.countPassed(s.nextSlot, now))
	if !s.lockedRetryAt.IsZero() {
		s.lockedRetryAt = time.Time{}
		s.recordMissed(missedLocked, 1)
	}
	slot := s.nextSlot
	s.failures, s.failedRetryAt = 0, time.Time{}
	s.scheduleNext()
	if s.nightRunning {
		s.recordMissed(missedRunning, 1)
		return
	}
	s.startNight(ctx, "slot "+slot.Format(time.RFC3339))
}

// catchUp counts the slots since the end of the last night as missed. If schedule.catch_up is true, it starts
// one night for all slots since the last published night, or to resume a night that was interrupted or killed.
// Replays do not count, because they read nothing from the service.
func (s *scheduler) catchUp(ctx context.Context) {
	settings, st := s.d.settings(), s.d.state.read() // runs that end from here on are counted
	if st.LedgerErr != nil {
		s.d.cfg.Log.Error("ledger not read; missed nights are not caught up", "error", st.LedgerErr)
		return
	}
	st.Nights = slices.DeleteFunc(slices.Clone(st.Nights), func(r ledger.Run) bool { return r.Kind == ledger.Replay })
	last, hasNight := st.lastNight()
	if !hasNight {
		return
	}
	lastActive := cmp.Or(last.EndedAt, last.StartedAt) // slots during the night were counted when they passed
	missed := settings.Schedule.countPassed(lastActive, st.At)
	lastPublished, hasPublished := st.lastPublishedNight()
	isLate := hasPublished && settings.Schedule.countPassed(lastPublished.StartedAt, st.At) > 0
	canResume := last.Outcome == ledger.Interrupted || last.Outcome == ledger.Killed
	if settings.CatchUp && (isLate || canResume) {
		missed = max(missed-1, 0) // the started night replaces the last missed slot
		s.startNight(ctx, "catch up")
	}
	s.recordMissed(missedDowntime, missed)
}

func (s *scheduler) recordMissed(reason string, n int) {
	if n == 0 {
		return
	}
	s.d.state.update(func(st *state) { st.Missed[reason] += n })
	s.d.cfg.Log.Warn("slots missed", "reason", reason, "slots", n)
}

func (s *scheduler) startNight(ctx context.Context, reason string) {
	now := s.d.cfg.Now()
	s.nightRunning = true
	s.d.state.update(func(st *state) { st.RunningSince = now })
	s.d.cfg.Log.Debug("night started", "reason", reason)
	settings, nextSlot, failures := s.d.settings(), s.nextSlot, s.failures
	s.runJob(func() func() {
		var failedRetryAt time.Time
		planRetry := func() (willRetry bool) { // is called if the night fails
			failedRetryAt = settings.retryAfter(failures, s.d.cfg.Now(), nextSlot)
			return !failedRetryAt.IsZero()
		}
		night, err := settings.Jobs.Night(ctx, planRetry)
		return func() {
			s.failedRetryAt = failedRetryAt
			s.endNight(ctx, night, err)
		}
	})
}

// retryAfter returns the time at which a night that failed now is started again, or zero for never.
// failures counts the earlier failures since the slot.
func (s *Settings) retryAfter(failures int, now, nextSlot time.Time) time.Time {
	if failures >= len(s.Retries) {
		return time.Time{}
	}
	at := now.Add(s.Retries[failures])
	if !nextSlot.IsZero() && !at.Before(nextSlot) {
		return time.Time{}
	}
	return at
}

func (s *scheduler) endNight(ctx context.Context, night ledger.Run, err error) {
	s.nightRunning = false
	now := s.d.cfg.Now()
	if errors.As(err, new(*warehouse.LockedError)) {
		night.Outcome = ledger.Locked
		s.lockedRetryAt = now.Add(lockRetry)
		s.d.cfg.Log.Warn("night waits for another process", "until", s.lockedRetryAt, "error", err)
	}
	if !s.failedRetryAt.IsZero() {
		s.failedAt = now
		s.failures++
		s.d.cfg.Log.Warn("failed night will be started again", "at", s.failedRetryAt)
		s.showNextNight()
	}
	s.d.state.update(func(st *state) {
		if night.EndedAt.IsZero() { // the night failed before its ledger line was written
			night.StartedAt, night.EndedAt = st.RunningSince, now
		}
		if err != nil && night.Error == "" {
			night.Error = ledger.Summarize(err)
		}
		if night.Outcome != ledger.Locked {
			st.lastOwnNight = night
		}
		st.counts.addRun(night)
		st.RunningSince, st.ledgerReadAt = time.Time{}, time.Time{}
	})
	if night.Outcome != ledger.Locked {
		night.LogEnd(s.d.cfg.Log, err)
	}
	s.startInspection(ctx)
	if night.IsPublished() {
		s.startFollowUp(ctx)
	}
}

// While earlier follow-ups are running, startFollowUp only plans one start after their end, for all nights
// that are published until then.
func (s *scheduler) startFollowUp(ctx context.Context) {
	s.followUpPending = s.followUpRunning
	if s.followUpRunning || ctx.Err() != nil {
		return
	}
	s.followUpRunning = true
	jobs := s.d.settings().Jobs
	s.runJob(func() func() {
		jobs.FollowUp(ctx)
		return func() {
			s.followUpRunning = false
			s.d.state.update(func(st *state) { st.ledgerReadAt = time.Time{} })
			if s.followUpPending {
				s.startFollowUp(ctx)
			}
		}
	})
}
