package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"placementsync/internal/fetch"
	"placementsync/internal/load"
	"placementsync/internal/stream"
)

// A night reads for a time, which Config.MaxDuration bounds. When it is over
// nothing more is begun; what is on its way comes to its end, and the night
// merges and publishes what it has. What was not read keeps its rows, and since
// nothing is noted of it, the next night plans to read it again.

// UnreadError says that the time of a night was over before a stream was read
// whole, so that what is left keeps its last rows.
type UnreadError struct {
	Stream string
	// Unread of Planned ids were left; both are 0 for a list, which was not begun.
	Unread, Planned int64
	// Bound is the time that the night had; 0: it asked for nothing, since it
	// replays what an earlier one had read.
	Bound time.Duration
}

func (e *UnreadError) Error() string {
	when := "within run.max_duration (" + plain(e.Bound) + ")"
	if e.Bound == 0 {
		when = "by the run that is replayed"
	}
	if e.Planned == 0 {
		return "the list was not read " + when + ": it was not begun, its last rows stay"
	}
	return fmt.Sprintf("%s of %s ids were not read %s", grouped(e.Unread), grouped(e.Planned), when)
}

// plain writes a time without its zeros: 6h, not 6h0m0s.
func plain(d time.Duration) string {
	text := d.String()
	if before, zero := strings.CutSuffix(text, "m0s"); zero {
		text = before + "m"
	}
	if before, zero := strings.CutSuffix(text, "h0m"); zero {
		text = before + "h"
	}
	return text
}

// grouped writes a count with commas: 1,234.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// isOver reports whether the time to read is over. Without the network there
// never was any.
func (n *night) isOver() bool {
	return n.cfg.Fetch.Offline || n.cfg.MaxDuration > 0 && time.Since(n.began) >= n.cfg.MaxDuration
}

// mayBegin reports whether the night may read a list, or one id of a stream.
// What has landed in an earlier attempt costs no time, and is read at any time.
func (n *night) mayBegin(s stream.Stream, param string) bool {
	return !n.isOver() || n.client.HasLanded(s, param)
}

// unread is why the night leaves ids of a stream, or a list, for a later one.
func (n *night) unread(s stream.Stream, left, planned int64) *UnreadError {
	e := &UnreadError{Stream: s.Name, Unread: left, Planned: planned, Bound: n.cfg.MaxDuration}
	if n.cfg.Fetch.Offline {
		e.Bound = 0
	}
	return e
}

// noteUnread grades a stream of details of which the night leaves a part unread.
func (n *night) noteUnread(ctx context.Context, r *streamResult, planned int64) error {
	if r.asked >= planned {
		return nil
	}
	plan, err := n.stage.Details.MarkUnread(ctx, r.stream)
	if err != nil {
		return fmt.Errorf("%w: %w", errStage, err)
	}
	r.unread, r.kept, r.rechecked = plan.Unread, plan.Carried, plan.Recheck
	if r.unread == 0 {
		return nil
	}
	left := n.unread(r.stream, plan.Unread, plan.Fetch+plan.Unread)
	reason := left.Error()
	if r.failed != nil {
		reason = r.failed.Error() + "; " + reason
	} else {
		r.failed = left
	}
	r.evidence.Grade, r.evidence.Reason = fetch.BestEffort, reason
	return nil
}

// foretell says of what was left for how many nights more it will be: one night
// reads as much as this one did of what is not asked for again each night.
func (n *night) foretell(ctx context.Context) error {
	var left int64
	for _, r := range n.done {
		left += r.unread
	}
	if left == 0 {
		return nil
	}
	pace, err := n.stage.Details.CountCaughtUp(ctx)
	if err != nil || pace == 0 {
		return err
	}
	left = 0
	for i := range n.done {
		r := &n.done[i]
		if r.unread == 0 {
			continue
		}
		left += r.unread
		n.run.NightsLeft = (left + pace - 1) / pace
		more := "about " + grouped(n.run.NightsLeft) + " more nights"
		if n.run.NightsLeft == 1 {
			more = "about 1 more night"
		}
		r.evidence.Reason += "; " + more
	}
	return nil
}

// isShortOfTime reports whether the time of a night may not be enough: it was not
// for the last one, or none has shown yet that it is. Reading ahead plans every
// stream three times, which a night that has time for all need not do.
func (n *night) isShortOfTime() (bool, error) {
	if n.cfg.MaxDuration == 0 || n.only != nil || n.cfg.Fetch.Offline {
		return false, nil
	}
	runs, err := n.wh.Runs()
	for _, r := range slices.Backward(runs) {
		if r.IsNight() && !r.SnapshotAt.IsZero() {
			unread, _ := r.Unread()
			return unread > 0 || n.cfg.Details == "all", err
		}
	}
	return true, err
}

// readAhead reads what may not wait until all streams before it have been read:
// while time may be short, what is being worked on comes before all else, and
// what was never read comes before what is only read again.
// The streams that it gives were begun, and are read to their end in their turn.
func (n *night) readAhead(ctx context.Context) (begun map[string]*received, err error) {
	begun = map[string]*received{}
	if short, err := n.isShortOfTime(); err != nil || !short {
		return begun, err
	}
	for _, last := range []load.Turn{load.TurnChanged, load.TurnNew} {
		for _, s := range n.cfg.Streams {
			if n.isOver() || !s.IsDetail() || last == load.TurnChanged && s.Life == 0 {
				continue
			}
			if begun[s.Name] == nil {
				begun[s.Name] = n.receive(s)
			}
			if err := n.readPart(ctx, begun[s.Name], last); err != nil {
				return nil, err
			}
		}
	}
	return begun, nil
}

// readPart reads a stream of details up to a turn, and stages what it got, so
// that others can be asked for by the ids in it.
func (n *night) readPart(ctx context.Context, one *received, last load.Turn) error {
	if one.err != nil || !n.wants(&one.streamResult) {
		return nil
	}
	if err := n.read(ctx, one, last); err != nil || one.err != nil {
		return err
	}
	n.cfg.Watch.waiting(one.stream)
	return one.sink.flushAll(ctx)
}

// joined adds up what became of a stream's ids in two parts of a night.
func joined(a, b fetch.Details) fetch.Details {
	if worse := b.Grade.Worse(a.Grade); worse != b.Grade {
		b.Grade, b.Reason = a.Grade, a.Reason
	}
	b.Asked += a.Asked
	b.Found += a.Found
	b.Failed += a.Failed
	b.Distinct += a.Distinct
	b.Requests += a.Requests
	b.Repeated += a.Repeated
	b.Refused += a.Refused
	b.Gone = append(a.Gone, b.Gone...)
	b.Failures = append(a.Failures, b.Failures...)
	b.Unproven = append(a.Unproven, b.Unproven...)
	return b
}
