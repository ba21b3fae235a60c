package daemon

import (
	"context"
	"time"
)

// While earlier follow-ups are running, startFollowUp only plans one start after their end, for all nights
// that are published until then.
func (s *scheduler) startFollowUp(ctx context.Context) {
	if s.followUpPending = s.followUpRunning; s.followUpRunning || ctx.Err() != nil {
		return
	}
	s.followUpRunning = true
	jobs := s.d.settings().Jobs
	s.runJob(func() func() {
		jobs.FollowUp(ctx)
		return func() {
			s.followUpRunning = false
			s.d.state.update(func(st *state) { st.ledgerReadAt = time.Time{} })
			s.startInspection(ctx)
			if s.followUpPending {
				s.startFollowUp(ctx)
			}
		}
	})
}
