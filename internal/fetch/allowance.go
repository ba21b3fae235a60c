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
	// The unused share of the rate and one token of the burst allow for this difference.
	usedShare = 0.995
	// rateAfter429 is the share of the rate that remains after a 429.
	rateAfter429 = 0.7
	// regainPerSecond is the share of Allowance.targetRate that is regained per second.
	regainPerSecond = 0.1
	// gracePeriod begins at the end of a pause. A 429 to a request that was sent before the end
	// of this period does not reduce the rate again: requests in flight are rejected together.
	gracePeriod = time.Second
)

// Allowance limits the request rate of all workers of the clients that share it, for example the
// clients of a night and of the refreshes around it. A 429 pauses all workers and reduces the rate.
// The rate then recovers (additive increase, multiplicative decrease).
type Allowance struct {
	mu       sync.Mutex
	fullRate rate.Limit // the used share of the configured rate
	burst    int        // the number of tokens in a full bucket
	// bucket contains the tokens of requests. After a pause it is replaced by a bucket with a
	// single token: the 429 showed that the bucket of the service is empty, so the
	// service accepts only one request after the pause.
	bucket *rate.Limiter
	// epoch counts the pauses. A token taken in an earlier epoch is void.
	epoch      int
	pausedTill time.Time
	// bucketReplaced is false from a 429 until the bucket is replaced.
	bucketReplaced bool

	// recoveryStart is the end of the pause after a reduction. From then on the rate rises from
	// loweredRate to targetRate. A zero recoveryStart means that the rate is not reduced.
	recoveryStart           time.Time
	loweredRate, targetRate rate.Limit

	window pace // the requests of the last seconds
}

// NewAllowance allows perSecond requests a second. After a time without requests, burst-1 requests,
// but at least one, may start together. A rate of 0 means no limit.
func NewAllowance(perSecond float64, burst int) *Allowance {
	g := &Allowance{fullRate: rate.Inf, burst: max(burst-1, 1), bucketReplaced: true}
	if perSecond > 0 {
		g.fullRate = rate.Limit(perSecond * usedShare)
	}
	g.bucket = rate.NewLimiter(g.fullRate, g.burst)
	return g
}

// wait blocks until a request may be sent, and adds the waiting time to the meter.
func (g *Allowance) wait(ctx context.Context, m *meter) error {
	for {
		token, left, epoch := g.nextToken()
		if token == nil {
			if err := m.waitFor(ctx, left, &m.counts.RetryWait); err != nil {
				return err
			}
			continue
		}
		if left == 0 {
			return ctx.Err()
		}
		if err := m.waitFor(ctx, left, &m.counts.RateWait); err != nil {
			token.Cancel()
			return err
		}
		g.mu.Lock()
		current := g.epoch == epoch
		g.mu.Unlock()
		if current {
			return nil
		}
	}
}

// nextToken takes a token. It returns the token, the time until the token is valid, and the epoch of
// the token. During a pause it returns nil and the time until the pause ends.
func (g *Allowance) nextToken() (*rate.Reservation, time.Duration, int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if left := g.pausedTill.Sub(now); left > 0 {
		return nil, left, g.epoch
	}
	if !g.bucketReplaced {
		g.bucket = rate.NewLimiter(g.bucket.Limit(), g.burst)
		g.bucket.AllowN(now, g.burst-1)
		g.bucketReplaced = true
	}
	g.raiseRate(now)
	g.window.countRequest(now)
	token := g.bucket.ReserveN(now, 1)
	return token, token.DelayFrom(now), g.epoch
}

// throttle handles a 429: no request is sent for d. It also lowers the rate, except within gracePeriod.
// sent is the time at which the rejected request was sent.
func (g *Allowance) throttle(d time.Duration, sent time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if till := now.Add(d); till.After(g.pausedTill) {
		g.pausedTill = till
	}
	g.epoch++
	g.bucketReplaced = false
	if !g.recoveryStart.IsZero() && sent.Sub(g.recoveryStart) < gracePeriod {
		return
	}
	limit := g.bucket.Limit()
	if g.recoveryStart.IsZero() {
		g.targetRate = g.fullRate
		if g.fullRate == rate.Inf {
			// Without a configured rate, the rate recovers to the rate that was measured before the 429.
			g.targetRate = g.window.perSecond(now)
			limit = g.targetRate
		}
	}
	g.recoveryStart, g.loweredRate = g.pausedTill, limit*rateAfter429
	g.bucket.SetLimitAt(now, g.loweredRate)
}

func (g *Allowance) raiseRate(now time.Time) {
	if g.recoveryStart.IsZero() || now.Before(g.recoveryStart) {
		return
	}
	limit := g.loweredRate + g.targetRate*regainPerSecond*rate.Limit(now.Sub(g.recoveryStart).Seconds())
	if limit >= g.targetRate {
		limit, g.recoveryStart = g.fullRate, time.Time{}
	}
	g.bucket.SetLimitAt(now, limit)
}

// pace measures requests per second, for clients without a configured rate. n counts the requests
// since start, and previous is the rate before start.
type pace struct {
	start    time.Time
	n        int
	previous float64
}

func (p *pace) countRequest(now time.Time) {
	if elapsed := now.Sub(p.start); elapsed >= time.Second {
		p.previous = float64(p.n) / elapsed.Seconds()
		p.start, p.n = now, 0
	}
	p.n++
}

func (p *pace) perSecond(now time.Time) rate.Limit {
	elapsed := max(now.Sub(p.start).Seconds(), 0.25) // in a shorter time, single requests would count too much
	return rate.Limit(max(p.previous, float64(p.n)/elapsed, 1))
}
