package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"placementsync/internal/ledger"
)

// Verified is the result of a verification.
type Verified struct {
	// Full is set where every byte was read, and not only names and sizes.
	Full bool
	// At and Took are of the last one that looked; At is zero where none has.
	At   time.Time
	Took time.Duration
	// Result is how the last one ended, in one word: whole is good, held is tried again.
	Result string
	// Damaged are the files that the last one that looked found damaged. Found is its
	// result where a later one failed.
	Damaged []string
	Found   string
	// Error is why the warehouse could not be checked, at FailedAt.
	Error    string
	FailedAt time.Time
	// Met are the damaged files that the run MetBy found since, at MetAt.
	Met   []string
	MetBy string
	MetAt time.Time
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

// scheduleVerify computes when the next verification starts. One that waits for another
// run is still tried again.
func (s *scheduler) scheduleVerify(now time.Time) {
	s.verify = time.Time{}
	if set := s.d.settings(); set.Verify != nil && !set.VerifySchedule.IsNever() {
		s.verify = set.VerifySchedule.Next(now)
	} else {
		s.verifyRetry = time.Time{}
	}
	s.d.board.update(func(b *board) { b.verify = s.verify })
}

// startVerify starts a verification if it is due and none runs. It waits by itself for
// nights to end.
func (s *scheduler) startVerify(ctx context.Context, now time.Time) {
	isRetry := !s.verifyRetry.IsZero() && !now.Before(s.verifyRetry)
	if s.verify.IsZero() || now.Before(s.verify) && !isRetry {
		return
	}
	s.verifyRetry = time.Time{}
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
	if v.Result == string(ledger.Held) {
		s.verifyRetry = s.d.cfg.Now().Add(s.d.cfg.HeldRetry)
		s.d.cfg.Log.Warn("verify waits for another run", "until", s.verifyRetry, "error", v.Error)
		return
	}
	s.startInspect(ctx)
	level, log := slog.LevelInfo, s.d.cfg.Log.With("result", v.Result)
	switch v.Result {
	case Whole, string(ledger.Interrupted):
	default:
		level = slog.LevelError
	}
	if v.FailedAt.IsZero() && v.Result != string(ledger.Interrupted) { // else it found out nothing
		log = log.With("damaged", len(v.Damaged), "files", firstFiles(v.Damaged), "took", v.Took)
	}
	log.Log(context.Background(), level, "verify ended", "error", v.Error, "next", s.verify)
}

// firstFiles names the first of some files.
func firstFiles(files []string) string {
	const named = 3
	text := strings.Join(files[:min(named, len(files))], ", ")
	if more := len(files) - named; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
