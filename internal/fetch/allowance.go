package fetch

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// usedShare is the share of the configured rate that is used. Requests can arrive at the
	// service closer together than they were sent, and the service measures their arrival.
	// The unused share of the rate and one unused token of the burst allow for this difference.
	usedShare       = 0.995
	rateAfter429    = 0.7 // share of the rate that remains after a 429
	regainPerSecond = 0.1 // share of the full rate that is regained per second
	// gracePeriod begins at the end of a pause. A 429 to a request that was sent before the end
	// of this period does not lower the rate again: requests in flight are rejected together.
	gracePeriod = time.Second
)

// Allowance limits the request rate of all workers of the clients that share it, for example the
// clients of a night and of the refreshes around it. A 429 pauses all workers and lowers the rate.
// The rate then recovers (additive increase, multiplicative decrease).
type Allowance struct {
	mu       sync.Mutex
	fullRate rate.Limit // the used share of the configured rate
	burst    int        // the number of tokens in a full bucket
	bucket   *rate.Limiter
	// epoch counts the 429s and pauses. A reservation from before the last one is void.
	epoch      int
	pausedTill time.Time

	// recoveryStart is the end of the pause in which the rate was lowered, as lengthened by later 429s. From then on the rate
	// rises from loweredRate to fullRate. A zero recoveryStart means that the rate is not lowered.
	recoveryStart time.Time
	loweredRate   rate.Limit
}

// NewAllowance allows perSecond requests a second. After a time without requests, burst-1 requests,
// but at least one, may start together. A rate of 0 means no limit: a 429 then pauses all workers, and
// lowers no rate.
func NewAllowance(perSecond float64, burst int) *Allowance {
	a := &Allowance{fullRate: rate.Inf, burst: max(burst-1, 1)}
	if perSecond > 0 {
		a.fullRate = rate.Limit(perSecond * usedShare)
	}
	a.bucket = rate.NewLimiter(a.fullRate, a.burst)
	return a
}

// wait blocks until a request may be sent, and adds the waiting time to the meter.
func (a *Allowance) wait(ctx context.Context, m *meter) error {
	for {
		reservation, left, epoch := a.reserve()
		if reservation == nil {
			if err := m.waitFor(ctx, left, &m.counts.RetryWait); err != nil {
				return err
			}
			continue
		}
		if left == 0 {
			return ctx.Err()
		}
		if err := m.waitFor(ctx, left, &m.counts.RateWait); err != nil {
			reservation.Cancel()
			return err
		}
		a.mu.Lock()
		current := a.epoch == epoch
		a.mu.Unlock()
		if current {
			return nil
		}
	}
}

// reserve reserves a request. It returns the reservation, the time until the request may be sent, and
// the epoch. During a pause it returns nil and the time until the pause ends.
func (a *Allowance) reserve() (*rate.Reservation, time.Duration, int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if left := a.pausedTill.Sub(now); left > 0 {
		return nil, left, a.epoch
	}
	a.raiseRate(now)
	reservation := a.bucket.ReserveN(now, 1)
	return reservation, reservation.DelayFrom(now), a.epoch
}

// throttle pauses all workers for d after a 429. It also lowers the rate, except within gracePeriod.
// sent is the time at which the rejected request was sent.
func (a *Allowance) throttle(d time.Duration, sent time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if till := now.Add(d); till.After(a.pausedTill) {
		a.pausedTill = till
	}
	a.epoch++
	if a.fullRate == rate.Inf {
		return
	}
	if now.Before(a.recoveryStart) { // the response to a request from before the pause, which it can lengthen
		a.recoveryStart = a.pausedTill
	}
	limit := a.bucket.Limit()
	if a.recoveryStart.IsZero() || sent.Sub(a.recoveryStart) >= gracePeriod {
		limit *= rateAfter429
		a.recoveryStart, a.loweredRate = a.pausedTill, limit
	}
	// The 429 showed that the bucket of the service is empty, so the service accepts only one request
	// after the pause.
	a.bucket = rate.NewLimiter(limit, a.burst)
	a.bucket.AllowN(a.pausedTill, a.burst-1) // takes all tokens except one
}

// pause pauses all workers for d. Unlike throttle, it does not lower the rate.
func (a *Allowance) pause(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if till := time.Now().Add(d); till.After(a.pausedTill) {
		a.pausedTill = till
		a.epoch++
	}
}

// pauseLeft returns the remaining time of the current pause.
func (a *Allowance) pauseLeft() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return max(0, time.Until(a.pausedTill))
}

func (a *Allowance) raiseRate(now time.Time) {
	if a.recoveryStart.IsZero() || now.Before(a.recoveryStart) {
		return
	}
	limit := a.loweredRate + a.fullRate*regainPerSecond*rate.Limit(now.Sub(a.recoveryStart).Seconds())
	if limit >= a.fullRate {
		limit, a.recoveryStart = a.fullRate, time.Time{}
	}
	a.bucket.SetLimitAt(now, limit)
}
