package fetch

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"
)

// Retry is the rule of spec 8. Retry n, counted from 0, waits min(Max, Base*2^n), plus a random share
// of this time between 0 and Jitter. A Retry-After, capped by Max, replaces the computed delay.
type Retry struct {
	MaxRetries int           // 0 means a single attempt
	Base       time.Duration // first delay; defaults to 250 ms
	Max        time.Duration // limit of each delay before jitter; defaults to 4 s
	Jitter     float64       // share of the delay, 0 to 1
}

// delayAfter counts attempts from 0.
func (r Retry) delayAfter(attempt int, retryAfter string) time.Duration {
	if stated, ok := parseWait(retryAfter, time.Now()); ok {
		return min(stated, r.Max)
	}
	d := r.Max
	if r.Base < r.Max>>attempt {
		d = r.Base << attempt
	}
	return d + time.Duration(float64(d)*r.Jitter*rand.Float64())
}

// retryFailures repeats a failed call by the rule of Retry or, if the service answers no request, after a wait of
// all workers (see patience). A 429 also slows all other calls.
func (s *sender) retryFailures(next layer) layer {
	return func(ctx context.Context, q *call) error {
		// ownFailures counts the first failure, and each later one before which the service answered another request.
		// Other failures do not show that this call is at fault.
		ownFailures := 0
		var previousSent time.Time
		for attempt := 0; ; attempt++ {
			q.failedAttempts = attempt
			err := next(ctx, q)
			failed, isFailure := ownErr(err)
			if err == nil || isFailure && failed.isAnswer() {
				s.patience.noteAnswer(q.sent)
			}
			if !isFailure {
				return err
			}
			if attempt > 0 {
				failed.Attempts = attempt + 1
			}
			if !failed.isTransient() {
				return err
			}
			if s.cfg.FailUnreachable && errors.Is(failed.Err, ErrUnreachable) {
				return err
			}
			if attempt == 0 || s.patience.hasAnswered(previousSent) {
				ownFailures++
			}
			previousSent = q.sent
			// MaxRetries limits the own failures, after which there is no further pause. Without a pause it limits all
			// attempts.
			isPaused := false
			if ownFailures <= s.cfg.Retry.MaxRetries {
				isPaused = s.pauseForService(ctx, q, failed, attempt)
			}
			var delay time.Duration // 0 after a pause, because limitRate waits until it ends
			if !isPaused {
				delay = s.cfg.Retry.delayAfter(attempt, failed.retryAfter)
				if failed.Code == http.StatusTooManyRequests {
					s.cfg.Allowance.throttle(delay, q.sent)
				}
				if attempt >= s.cfg.Retry.MaxRetries {
					failed.patienceUsedUp = s.cfg.Patience > 0 && s.patience.isExhausted()
					return err
				}
			}
			q.meter.increase(&q.meter.counts.Retries)
			s.log.DebugContext(ctx, "request is repeated", "stream", q.Stream, "url", failed.URL,
				"status", failed.Code, "attempt", failed.Attempts, "delay", delay, "error", failed.Err)
			if err := q.meter.waitFor(ctx, delay, &q.meter.counts.RetryWait); err != nil {
				return stoppedErr(ctx, q.Stream)
			}
		}
	}
}
