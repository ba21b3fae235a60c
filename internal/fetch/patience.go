package fetch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A failed request has one of two causes. If the service answers other requests, the failure concerns this
// request alone, and the rule of Retry decides when it is given up. If the service answers no request, giving up
// would cost the night, so all workers wait, for at most Config.Patience in all. This file decides between the two.
//
//   - A 429, or a Retry-After, is an answer of the service or of a proxy before it. All workers wait for the
//     stated time.
//   - After any other failure, the request is first repeated by the rule of Retry, because most failures last
//     for seconds. If it still fails and no other request was answered meanwhile, the token info is requested,
//     which every token may read (spec 5). If that fails too, the service is unavailable, and all workers wait.

const (
	// longestDelay limits the delays that grow with each attempt. After an outage of an hour, a night loses at
	// most this time.
	longestDelay = 5 * time.Minute
	// tokenInterval is the time between two readings of a token source that contains a rejected token.
	tokenInterval = 15 * time.Second
	// noticedWait is the shortest wait that is logged. Shorter waits are ordinary limits of the request rate.
	noticedWait = 10 * time.Second
	// probePath and probeStream are those of the token info.
	probePath   = "/auth/token"
	probeStream = "token"
)

// Waiting describes a wait of all workers for the service.
type Waiting struct {
	Reason string    // the failure that caused the wait, without secrets
	Since  time.Time // of the first failure after the service last answered
	Until  time.Time // the time of the next attempt
}

// Waiting returns the current wait. It returns false if the service answers.
func (c *Client) Waiting() (Waiting, bool) { return c.sender.patience.current() }

// patience contains the time that a client may wait for the service in all. It is shared by all workers.
type patience struct {
	log *slog.Logger
	// probing is held while one worker finds out whether the service answers.
	probing sync.Mutex

	mu       sync.Mutex
	left     time.Duration
	waiting  Waiting   // Since is zero while the service answers
	isLogged bool      // whether the current wait was logged
	answered time.Time // the latest send time of an answered request
}

func newPatience(limit time.Duration, log *slog.Logger) *patience {
	return &patience{left: limit, log: log}
}

func (p *patience) current() (Waiting, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting, !p.waiting.Since.IsZero()
}

func (p *patience) isExhausted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left == 0 && !p.waiting.Until.After(time.Now())
}

// hasAnswered reports whether the service answered a request that was sent after the given time.
func (p *patience) hasAnswered(after time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.answered.After(after)
}

// noteAnswer ends the wait if the answered request was sent after the wait began.
func (p *patience) noteAnswer(sent time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if sent.After(p.answered) {
		p.answered = sent
	}
	if p.waiting.Since.IsZero() || !sent.After(p.waiting.Since) {
		return
	}
	if p.isLogged {
		p.log.Info("the service answers again", "took", time.Since(p.waiting.Since))
	}
	p.waiting.Since, p.isLogged = time.Time{}, false
}

// spend begins or extends a wait of all workers, and returns its remaining time. A wait that exceeds the patience
// ends with the patience. spend returns false if no patience is left.
func (p *patience) spend(d time.Duration, reason string) (time.Duration, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	begin := now
	if p.waiting.Until.After(now) {
		begin = p.waiting.Until // the time until then is spent already
	}
	cost := min(now.Add(d).Sub(begin), p.left)
	if cost > 0 {
		p.left -= cost
		p.waiting.Until = begin.Add(cost)
	}
	if !p.waiting.Until.After(now) && p.left == 0 {
		return 0, false
	}
	if p.waiting.Since.IsZero() {
		p.waiting.Since = now
	}
	p.waiting.Reason = reason
	left := max(0, p.waiting.Until.Sub(now))
	if left >= noticedWait && !p.isLogged {
		p.isLogged = true
		p.log.Info("waiting for the service", "reason", reason, "until", p.waiting.Until.Round(time.Second), "patience_left", p.left)
	}
	return left, true
}

// pauseForService pauses all workers after a failed attempt. It returns false without a pause if the failure concerns
// this request alone, or if no patience is left.
func (s *sender) pauseForService(ctx context.Context, q *call, failed *StatusError, attempt int) bool {
	if s.patience.isExhausted() {
		return false
	}
	delay, isStated := failed.statedWait(time.Now())
	isLimited := failed.Code == http.StatusTooManyRequests
	hasRetries := attempt < s.cfg.Retry.MaxRetries
	if hasRetries && !isStated && !isLimited {
		return false // it is repeated by the rule of Retry
	}
	useStated := isStated && hasRetries // after the last retry, the stated times have proved too short
	if !useStated {
		growing := Retry{Base: s.cfg.Retry.Base, Max: longestDelay, Jitter: s.cfg.Retry.Jitter}
		delay = max(delay, growing.delayAfter(attempt, ""))
	}
	s.patience.probing.Lock()
	defer s.patience.probing.Unlock()
	mayConcernCallAlone := !isLimited && !hasRetries
	if mayConcernCallAlone && s.answersOthers(ctx, q) {
		return false
	}
	left, ok := s.patience.spend(delay, failed.describeRefusal())
	if !ok {
		return false
	}
	if isLimited {
		s.cfg.Allowance.throttle(left, q.sent)
	} else {
		s.cfg.Allowance.pause(left)
	}
	return true
}

// answersOthers reports whether the service answers another request than q. The caller holds patience.probing.
func (s *sender) answersOthers(ctx context.Context, q *call) bool {
	if s.patience.hasAnswered(q.sent) {
		return true
	}
	isPaused := s.cfg.Allowance.pauseLeft() > 0 // another worker has found that the service does not answer
	if isPaused || q.Path == probePath {
		return false
	}
	probe := s.newCall(Request{Stream: probeStream, Path: probePath}, probePath)
	probe.slot = new(slot)
	err := s.limitRate(s.sendOnce)(ctx, probe)
	failed, isFailure := ownErr(err)
	if err != nil && (!isFailure || failed.isTransient()) {
		return false
	}
	s.patience.noteAnswer(probe.sent)
	return true
}

// waitForToken waits before a token source is read again. It returns false if there is no reason to wait:
// only an operator who replaces the token during a night can make a rejected token valid.
func (s *sender) waitForToken(ctx context.Context, q *call) bool {
	if !s.cfg.TokenCanChange || !s.patience.hasAnswered(time.Time{}) {
		return false
	}
	left, ok := s.patience.spend(tokenInterval, "the service rejected the token with 401: put a valid token into api.token_file")
	if !ok {
		return false
	}
	return q.meter.waitFor(ctx, left, &q.meter.counts.RetryWait) == nil
}

// statedWait returns the time that the service states for the next attempt. Retry-After is a number of seconds
// (spec 8) or, from a proxy before the service, a time.
func (e *StatusError) statedWait(now time.Time) (time.Duration, bool) {
	if d, ok := parseWait(e.retryAfter, now); ok {
		return d, true
	}
	return parseWait(e.rateReset, now)
}

const (
	// A number from minEpoch on is a time in seconds since 1970, and not 28 years of waiting. From minEpochMillis
	// on it is in milliseconds.
	minEpoch       = 900_000_000
	minEpochMillis = 1_000_000_000_000
	longestStated  = 365 * 24 * time.Hour // a longer wait could overflow
)

// parseWait parses a number of seconds, a time in seconds or milliseconds since 1970, a time of HTTP, or RFC 3339.
func parseWait(text string, now time.Time) (time.Duration, bool) {
	text = strings.TrimSpace(text)
	var at time.Time
	n, err := strconv.ParseUint(text, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return longestStated, true
	case err == nil && n < minEpoch:
		return min(time.Duration(n)*time.Second, longestStated), true
	case err == nil && n < minEpochMillis:
		at = time.Unix(int64(n), 0)
	case err == nil:
		at = time.UnixMilli(int64(min(n, 1<<52)))
	default:
		if at, err = http.ParseTime(text); err != nil {
			at, err = time.Parse(time.RFC3339, text)
		}
		if err != nil {
			return 0, false
		}
	}
	return min(max(0, at.Sub(now)), longestStated), true
}

// describeRefusal describes a failure in a few words, for the operator of a waiting night.
func (e *StatusError) describeRefusal() string {
	switch {
	case e.Code != 0:
		return strings.TrimSpace(fmt.Sprintf("the service answered %d %s", e.Code, http.StatusText(e.Code)))
	case e.Err != nil:
		return e.Err.Error()
	}
	return "the service did not answer"
}
