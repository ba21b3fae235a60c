package daemon

import (
	"context"
	"time"

	"placementsync/internal/ledger"
)

// startFollow starts what follows a published night. If that of an earlier night still
// runs, it starts once more at its end.
func (s *scheduler) startFollow(ctx context.Context, night ledger.Run) {
	if s.d.settings().Follow == nil || !night.IsPublished() {
		return
	}
	if s.following {
		s.owed = true
		return
	}
	s.runFollow(ctx)
}

func (s *scheduler) runFollow(ctx context.Context) {
	follow := s.d.settings().Follow
	if follow == nil {
		return
	}
	s.following = true
	go func() {
		follow(ctx)
		s.followed <- struct{}{}
	}()
}

func (s *scheduler) endFollow(ctx context.Context) {
	s.following = false
	s.d.board.update(func(b *board) { b.readAt = time.Time{} })
	s.startInspect(ctx)
	if s.owed {
		s.owed = false
		s.runFollow(ctx)
	}
}
