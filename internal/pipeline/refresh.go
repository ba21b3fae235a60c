package pipeline

import (
	"context"
	"errors"
	"time"

	"placementsync/internal/ledger"
)

// Targets are the records that a refresh reads again.
type Targets struct{ Articles, Campaigns []string }

// ErrPostponed means that a refresh did not start: no night was published yet, or a night can be
// resumed, or a night is held.
var ErrPostponed = errors.New("refresh: no night was published yet, or a night can be resumed or is held; nothing was changed: the next night reads these records")

// Refresh reads the details of the given articles and campaigns again, and the events in the inbox. It
// publishes a new version. All other rows, grades and ages are those of the last version. A refresh does
// not count for the schedule, or for the order in which settled details are read again. A failed refresh
// is not resumed, because the next night reads its records. Refresh returns the errors of [Run], and
// ErrPostponed.
func Refresh(ctx context.Context, cfg Config, targets Targets) (Result, error) {
	now := snapshotTime(cfg)
	l, err := begin(cfg, runMode{kind: ledger.Refresh, targets: targets}, now, now)
	if err != nil {
		return Result{}, err
	}
	if err := l.checkRefreshable(now); err != nil {
		return Result{}, errors.Join(err, l.lock.Release())
	}
	res, err := l.execute(ctx)
	return l.end(ctx, res, err)
}

// checkRefreshable returns ErrPostponed before the first night, if a night can be resumed, and if
// a night is held. A resumed night keeps its snapshot time, so a later snapshot must not be published
// before the night is resumed. A held night can only be published while readers see the version on which
// it was built.
func (l *locked) checkRefreshable(now time.Time) error {
	if err := l.wh.Recover(); err != nil {
		return err
	}
	last, isUnfinished, err := l.wh.RunLog.ResumableRun()
	if err != nil {
		return err
	}
	_, hasVersion, err := l.wh.Versions.Latest()
	if err != nil {
		return err
	}
	_, isHeld, err := l.wh.Held()
	if err != nil {
		return err
	}
	canResume := isUnfinished && now.Sub(last.StartedAt) <= l.cfg.ResumeMaxAge
	if !hasVersion || isHeld || canResume {
		return ErrPostponed
	}
	return nil
}
