package daemon

import (
	"context"
	"log/slog"
	"time"

	"placementsync/internal/ledger"
)

// Verified is the result of a verification.
type Verified struct {
	// Full is set where every byte was read, and not only names and sizes.
	Full bool
	At   time.Time
	Took time.Duration
	// Result is one word: whole is good.
	Result string
	// Damaged are the files that are damaged.
	Damaged []string
	// Error is why the warehouse could not be checked.
	Error string
}

// depth is Full as a label of metrics.
func (v Verified) depth() string {
	if v.Full {
		return depthFull
	}
	return depthStructure
}

// Whole is the Result of a warehouse without damage.
const Whole = "whole"

// scheduleVerify computes when the next verification starts.
func (s *scheduler) scheduleVerify(now time.Time) {
	s.verify = time.Time{}
	if set := s.d.settings(); set.Verify != nil && !set.VerifySchedule.IsNever() {
		s.verify = set.VerifySchedule.Next(now)
	}
	s.d.board.update(func(b *board) { b.verify = s.verify })
}

// startVerify starts a verification if it is due and none runs. It waits by itself for
// nights to end.
func (s *scheduler) startVerify(ctx context.Context, now time.Time) {
	if s.verify.IsZero() || now.Before(s.verify) {
		return
	}
	s.scheduleVerify(now)
	if s.verifying {
		return
	}
	s.verifying = true
	s.d.cfg.Log.Debug("verify started")
	verify := s.d.settings().Verify
	go func() { s.verified <- verify(ctx) }()
}

func (s *scheduler) endVerify(ctx context.Context, v Verified) {
	s.verifying = false
	s.startInspect(ctx)
	level := slog.LevelInfo
	if v.Result != Whole && v.Result != string(ledger.Interrupted) {
		level = slog.LevelError
	}
	s.d.cfg.Log.Log(context.Background(), level, "verify ended", "result", v.Result, "damaged", len(v.Damaged), "took", v.Took, "error", v.Error, "next", s.verify)
}
