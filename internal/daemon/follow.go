package daemon

import (
	"context"
	"time"
)

// startFollow starts the work after a published night. If the work after an earlier night
// is still running, the new work starts when that work ends.
func (s *scheduler) startFollow(ctx context.Context) {
	if s.followAgain = s.following; s.following || ctx.Err() != nil {
		return
	}
	s.following = true
	jobs := s.d.settings().Jobs
	s.runJob(func() func() {
		jobs.Follow(ctx)
		return func() {
			s.following = false
			s.d.state.update(func(st *state) { st.readAt = time.Time{} })
			s.startInspect(ctx)
			if s.followAgain {
				s.startFollow(ctx)
			}
		}
	})
}
