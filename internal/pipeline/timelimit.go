package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"placementsync/internal/humanize"
	"placementsync/internal/ledger"
	"placementsync/internal/stream"
)

// Config.MaxDuration limits the time in which a night reads. After this time, no new list or id is
// requested. Requests in progress end normally, and the night merges and publishes the records that were
// read. Unread lists and ids keep their rows, and the next night plans to read them.

// unreadErr returns the error for a stream that this run had no time to read completely. For a list,
// unread and planned are 0. Otherwise they are numbers of ids.
func (p *prepared) unreadErr(unread, planned int64) error {
	when := "within run.max_duration (" + formatDuration(p.cfg.MaxDuration) + ")"
	if !p.mode.usesNetwork() {
		when = "by the run that is replayed"
	}
	if planned == 0 {
		return errors.New("the list was not read " + when + "; rows of earlier nights are kept")
	}
	return fmt.Errorf("%s of %s %s were not read %s", humanize.Number(unread), humanize.Number(planned), humanize.Noun(planned, "id"), when)
}

// formatDuration formats a duration without zero minutes and seconds: 6h, not 6h0m0s.
func formatDuration(d time.Duration) string {
	return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(d.String())
}

// isTimeOver reports whether the time for new lists and ids is over. A replay sends no requests, so its time is
// always over.
func (p *prepared) isTimeOver() bool {
	limit := p.cfg.MaxDuration
	return !p.mode.usesNetwork() || limit > 0 && time.Since(p.began) >= limit
}

// A list or id whose response was stored in an earlier attempt needs no time.
func (p *prepared) canRead(s stream.Stream, param string) bool {
	return !p.isTimeOver() || p.client.HasStored(s, param)
}

func (d *reading) gradeUnread(ctx context.Context, run *streamRun) error {
	plan, err := d.stage.MarkUnread(ctx, run.stream)
	if err != nil {
		return err
	}
	run.unread, run.carried, run.rechecked = plan.Unread, plan.Carried, plan.ToRecheck
	if run.unread == 0 {
		return nil
	}
	unreadErr := d.unreadErr(plan.Unread, plan.ToRequest+plan.Unread)
	reason := unreadErr.Error()
	if run.failure != nil {
		reason = ledger.Summarize(run.failure) + "; " + reason
	} else {
		run.failure = unreadErr
	}
	run.evidence.Grade, run.evidence.Reason = stream.BestEffort, reason
	return nil
}
