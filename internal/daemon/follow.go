package daemon

import (
	"context"
	"time"
)

// startFollowUp starts the work after a published night. If the work after an earlier night
// is still running, the new work starts when that work ends.
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
			s.d.state.update(func(st *state) { st.readAt = time.Time{} })
			s.startInspection(ctx)
			if s.followUpPending {
				s.startFollowUp(ctx)
			}
		}
	})
}
