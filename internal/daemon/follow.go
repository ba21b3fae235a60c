package daemon

import (
	"context"
	"time"

	"placementsync/internal/ledger"
)

// startFollow starts the work after a published night. If the work after an earlier night
// still runs, it runs once more after its end.
func (s *scheduler) startFollow(ctx context.Context, night ledger.Run) {
	switch {
	case !night.IsPublished():
	case s.following:
		s.followAgain = true
	default:
		s.runFollow(ctx)
	}
}

func (s *scheduler) runFollow(ctx context.Context) {
	s.following = true
	jobs := s.d.settings().Jobs
	go func() {
		jobs.Follow(ctx)
		s.followed <- struct{}{}
	}()
}

func (s *scheduler) endFollow(ctx context.Context) {
	s.following = false
	s.d.state.update(func(st *state) { st.readAt = time.Time{} })
	s.startInspect(ctx)
	if s.followAgain {
		s.followAgain = false
		s.runFollow(ctx)
	}
}
