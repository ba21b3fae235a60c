package daemon

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/repair"
	"placementsync/internal/warehouse"
)

func depthOf(readData bool) string {
	if readData {
		return "full"
	}
	return "structure"
}

// verdict returns the result of the last verification in one word. It returns "failed" if the last
// verification could not finish. v.Result is then still the result of an earlier verification.
func verdict(v repair.VerifyRecord) string {
	if !v.FailedAt.IsZero() {
		return string(ledger.Failed)
	}
	return v.Result
}

// A planned retry keeps its time. Without a schedule, no retry starts.
func (s *scheduler) scheduleVerification(now time.Time) {
	s.verifyAt = time.Time{}
	if schedule := s.d.settings().VerifySchedule; !schedule.IsNever() {
		s.verifyAt = schedule.Next(now)
	}
	s.d.state.update(func(st *state) { st.NextVerify = s.verifyAt })
}

func (s *scheduler) startDueVerification(ctx context.Context, now time.Time) {
	if s.verifyAt.IsZero() { // there is no schedule
		return
	}
	isRetry := !s.verifyRetryAt.IsZero() && !now.Before(s.verifyRetryAt)
	if now.Before(s.verifyAt) && !isRetry {
		return
	}
	s.verifyRetryAt = time.Time{}
	s.scheduleVerification(now)
	if s.verifyRunning {
		return
	}
	s.verifyRunning = true
	s.d.cfg.Log.Debug("verify started")
	jobs := s.d.settings().Jobs
	s.runJob(func() func() {
		record, err := jobs.Verify(ctx)
		return func() { s.endVerification(ctx, record, err) }
	})
}

func (s *scheduler) endVerification(ctx context.Context, record repair.VerifyRecord, err error) {
	s.verifyRunning = false
	log := s.d.cfg.Log
	if errors.As(err, new(*warehouse.LockedError)) {
		s.verifyRetryAt = s.d.cfg.Now().Add(lockRetry)
		log.Warn("verify waits for another process", "until", s.verifyRetryAt, "error", err)
		return
	}
	if err != nil { // ctx ended
		log.Info("verify ended", "result", ledger.Interrupted, "next", s.verifyAt)
		return
	}
	level := slog.LevelInfo
	if verdict(record) != repair.Whole {
		level = slog.LevelError
	}
	log = log.With("result", verdict(record))
	if record.FailedAt.IsZero() {
		took := time.Duration(record.Seconds * float64(time.Second))
		log = log.With("damaged", len(record.DamagedFiles), "took", took) // the page and the alert name the files
	}
	log.Log(ctx, level, "verify ended", "error", record.Error, "next", s.verifyAt)
}
