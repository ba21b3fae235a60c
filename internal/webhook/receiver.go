// Package webhook receives the service's events (spec section 6): it proves
// their signature, keeps them in an inbox on the disk before it says so, and
// gives them to the night. It also reads what they say: the record in a body,
// and the plain text of a rich one.
//
// It must not know tables, nights or other endpoints, nor decide what an event
// leads to.
package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"placementsync/internal/durable"
	"placementsync/internal/stream"
)

// Config is what a Receiver needs to know.
type Config struct {
	// Dir is the folder of the inbox. It is created.
	Dir string
	// Disk writes there.
	Disk durable.Disk
	// Secrets are the signing secrets, several during a rotation. None: the
	// endpoint answers 404.
	Secrets []string
	// MaxAge is how far a delivery's timestamp may be from now. It bounds for
	// how long a captured delivery can be sent again, and no more than that:
	// the signature does not cover the timestamp. Zero: any age.
	MaxAge time.Duration
	// MaxBody bounds a body in bytes. Defaults to 1 MiB.
	MaxBody int64
	// MaxInFlight bounds the memory of all bodies that are not answered yet, in
	// bytes. Defaults to 32 MiB.
	MaxInFlight int64
	// SegmentBytes and SegmentAge are when a segment of the journal is closed,
	// from when on a night can remove it. Default to 16 MiB and 15 minutes.
	SegmentBytes int64
	SegmentAge   time.Duration
	// Stored is told of each new event after it is on the disk and answered
	// for. It must not block. Nil: nobody is told.
	Stored func(stream.Event)

	log *slog.Logger
}

func (c Config) withDefaults(log *slog.Logger) Config {
	if c.MaxBody <= 0 {
		c.MaxBody = 1 << 20
	}
	if c.MaxInFlight <= 0 {
		c.MaxInFlight = 32 << 20
	}
	if c.SegmentBytes <= 0 {
		c.SegmentBytes = 16 << 20
	}
	if c.SegmentAge <= 0 {
		c.SegmentAge = 15 * time.Minute
	}
	if c.Stored == nil {
		c.Stored = func(stream.Event) {}
	}
	c.log = log
	return c
}

// What a delivery came to.
const (
	// Stored events are new, Replayed ones were known; both are on the disk.
	Stored   = "stored"
	Replayed = "replayed"
	// Unsigned deliveries bear no signature under any secret, Stale ones a
	// timestamp that is too far from now.
	Unsigned = "unsigned"
	Stale    = "stale"
	TooLarge = "too_large"
	// BadRequest is a body that broke off or came too slowly.
	BadRequest = "bad_request"
	// Crowded is a body that was not whole yet when there was no room left.
	Crowded = "crowded"
	// Unavailable is our own fault: the service shall try again.
	Unavailable = "unavailable"
)

// Results lists all of them.
func Results() []string {
	return []string{Stored, Replayed, Unsigned, Stale, TooLarge, BadRequest, Crowded, Unavailable}
}

const (
	// readTime bounds the arrival of a body, commitTime the wait for the disk.
	readTime   = 10 * time.Second
	commitTime = 5 * time.Second
)

// Receiver is the http.Handler of the endpoint. Run has to be at work for it to
// take anything.
type Receiver struct {
	cfg    Config
	now    func() time.Time
	policy atomic.Pointer[policy]
	bodies *bodies
	counts map[string]*atomic.Uint64
	at     atomic.Pointer[committer]
	ready  chan struct{}
	opened sync.Once
	// told bounds what the log is told of each result: anybody can send what is
	// not signed, and a disk that is full has no room for complaints.
	told map[string]*rate.Sometimes
}

// policy is what can be changed while the receiver is at work.
type policy struct {
	keys   [][]byte
	maxAge time.Duration
}

// New makes a receiver. It refuses an empty secret.
func New(cfg Config, log *slog.Logger, now func() time.Time) (*Receiver, error) {
	cfg = cfg.withDefaults(log)
	r := &Receiver{cfg: cfg, now: now, bodies: newBodies(cfg.MaxInFlight), ready: make(chan struct{}),
		counts: map[string]*atomic.Uint64{}, told: map[string]*rate.Sometimes{}}
	for _, result := range Results() {
		r.counts[result], r.told[result] = new(atomic.Uint64), &rate.Sometimes{Interval: time.Minute}
	}
	return r, r.Reload(cfg.Secrets, cfg.MaxAge)
}

// Reload changes secrets and age for deliveries from now on. After an error the
// old ones stay.
func (r *Receiver) Reload(secrets []string, maxAge time.Duration) error {
	keys, err := keysOf(secrets)
	if err != nil {
		return err
	}
	r.policy.Store(&policy{keys, maxAge})
	return nil
}

// Counts gives how many deliveries came to each result since the start; all
// results are there.
func (r *Receiver) Counts() map[string]uint64 {
	counts := map[string]uint64{}
	for result, n := range r.counts {
		counts[result] = n.Load()
	}
	return counts
}

// Run owns the inbox until ctx ends; then it commits what is queued. End it
// after the server: deliveries get 503 without it. A *BusyError says that
// another process has the inbox.
func (r *Receiver) Run(ctx context.Context) error {
	c, err := openCommitter(r.cfg, r.now)
	if err != nil {
		return err
	}
	r.at.Store(c)
	r.opened.Do(func() { close(r.ready) })
	defer r.at.CompareAndSwap(c, nil)
	return c.run(ctx)
}

// Ready is closed when Run has opened the inbox.
func (r *Receiver) Ready() <-chan struct{} { return r.ready }

// ServeHTTP takes one delivery: 2xx once it is on the disk or known, 401
// without a good signature or with a timestamp that is too old, 413 when it is
// too large, 503 when it cannot be kept now, so that the service tries again.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	p := r.policy.Load()
	switch {
	case len(p.keys) == 0:
		http.NotFound(w, req)
		return
	case req.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "only POST", http.StatusMethodNotAllowed)
		return
	}
	e, got := r.receive(w, req, p)
	r.counts[got.result].Add(1)
	r.reply(w, got)
	if got.result == Stored {
		r.cfg.Stored(e)
	}
}

// receive reads a delivery and has it committed. Nothing is parsed before the
// signature is proven, and nothing of the body after: that is for the night. What
// does not even claim a signature is not read.
func (r *Receiver) receive(w http.ResponseWriter, req *http.Request, p *policy) (stream.Event, answer) {
	signature := strings.Join(req.Header.Values(headerSignature), ",")
	if len(signatures(signature)) == 0 {
		return stream.Event{}, answer{result: Unsigned}
	}
	control := http.NewResponseController(w)
	arriving := r.bodies.enter(http.MaxBytesReader(w, req.Body, r.cfg.MaxBody), func() {
		_ = control.SetReadDeadline(time.Unix(0, 0)) // fails where take ends the body at its next byte
	})
	defer arriving.leave()
	body, err := read(control, arriving)
	var large *http.MaxBytesError
	switch {
	case !arriving.whole():
		return stream.Event{}, answer{Crowded, errCrowded}
	case errors.As(err, &large):
		return stream.Event{}, answer{result: TooLarge}
	case err != nil:
		return stream.Event{}, answer{BadRequest, err}
	case !signed(p.keys, signature, body):
		return stream.Event{}, answer{result: Unsigned}
	}
	e := newEvent(req.Header, body, r.now())
	return e, r.commit(req.Context(), &delivery{event: e, stale: !fresh(e, p.maxAge), done: make(chan answer, 1)})
}

func read(control *http.ResponseController, body io.Reader) ([]byte, error) {
	// A server that knows no deadlines, as in a test, reads without one.
	if err := control.SetReadDeadline(time.Now().Add(readTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, fmt.Errorf("receive a webhook: %w", err)
	}
	return io.ReadAll(body)
}

// commit waits until a delivery is on the disk. One that is given up here may
// still be kept; the retry then finds it known.
func (r *Receiver) commit(ctx context.Context, d *delivery) answer {
	c := r.at.Load()
	if c == nil {
		return answer{Unavailable, errors.New("receive a webhook: the receiver is not at work")}
	}
	ctx, cancel := context.WithTimeout(ctx, commitTime)
	defer cancel()
	select {
	case c.queue <- d:
	case <-c.closed:
		return answer{Unavailable, errors.New("receive a webhook: the receiver ends")}
	case <-ctx.Done():
		return answer{Unavailable, errors.New("receive a webhook: the queue is full")}
	}
	select {
	case got := <-d.done:
		return got
	case <-c.closed:
	case <-ctx.Done():
	}
	select {
	case got := <-d.done:
		return got
	default:
		return answer{Unavailable, errors.New("receive a webhook: the disk did not answer in time")}
	}
}

// reply answers.
func (r *Receiver) reply(w http.ResponseWriter, got answer) {
	r.tell(got)
	switch got.result {
	case Stored, Replayed:
		w.WriteHeader(http.StatusNoContent)
	case Unsigned:
		http.Error(w, "no good signature", http.StatusUnauthorized)
	case Stale:
		http.Error(w, "timestamp too far from now", http.StatusUnauthorized)
	case TooLarge:
		http.Error(w, "body too large", http.StatusRequestEntityTooLarge)
	case BadRequest:
		http.Error(w, "body not read", http.StatusBadRequest)
	default:
		w.Header().Set("Retry-After", "1")
		http.Error(w, "not kept: try again", http.StatusServiceUnavailable)
	}
}

// tell tells the operator of what needs a hand, of each kind once a minute.
func (r *Receiver) tell(got answer) {
	tell := r.told[got.result]
	switch got.result {
	case Unsigned:
		tell.Do(func() { r.cfg.log.Warn("webhook refused", "reason", "no good signature") })
	case Stale:
		tell.Do(func() {
			r.cfg.log.Warn("webhook refused", "reason", "timestamp too far from now: compare the clocks, or raise serve.webhook_max_age")
		})
	case Crowded:
		tell.Do(func() {
			r.cfg.log.Warn("webhook not kept", "reason", "it arrived too slowly while others needed the room")
		})
	case Unavailable:
		tell.Do(func() { r.cfg.log.Error("webhook not kept", "error", got.err) })
	}
}
