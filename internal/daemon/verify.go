package daemon

import (
	"context"
	"time"

	"placementsync/internal/ledger"
)

// scheduleVerify computes when the next verification starts.
func (s *scheduler) scheduleVerify(now time.Time) {
	s.verify = time.Time{}
	if set := s.d.settings(); set.Verify != nil && !set.VerifySchedule.IsNever() {
		s.verify = set.VerifySchedule.Next(now)
	}
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
	s.d.cfg.Log.Info("verify started")
	verify := s.d.settings().Verify
	go func() { s.verified <- verify(ctx) }()
}

func (s *scheduler) endVerify(v Verified) {
	s.verifying = false
	log := s.d.cfg.Log.Info
	if v.Result != Whole && v.Result != string(ledger.Interrupted) {
		log = s.d.cfg.Log.Error
	}
	log("verify ended", "result", v.Result, "damaged", len(v.Damaged), "took", v.Took, "error", v.Error, "next", s.verify)
}

// countDamaged is the number of damaged files that the last verification found.
func (d *Daemon) countDamaged() float64 {
	v, _ := d.cfg.Verified()
	return float64(len(v.Damaged))
}

// verifiedAt is when the warehouse was last verified; zero: never.
func (d *Daemon) verifiedAt() time.Time {
	v, _ := d.cfg.Verified()
	return v.At
}
