// Package webhook receives the service's events (spec 6): it verifies their
// signatures, stores them in an inbox on the disk before it acknowledges them, and
// passes them to the night. It also reads the record in a body, and the plain text
// of a rich one.
//
// It must not know tables, nights or other endpoints, nor decide what an event
// leads to.
package webhook

import (
	"cmp"
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

// Config configures a Receiver.
type Config struct {
	// Dir is the folder of the inbox. It is created.
	Dir string
	// Disk changes the inbox. The zero value has no hook for trials.
	Disk durable.Disk
	// Secrets are the signing secrets, several during a rotation. None: the
	// endpoint answers 404.
	Secrets []string
	// MaxAge is how far a delivery's timestamp may be from now; zero: any age. It
	// stops a plain replay of an old delivery. It does not stop an attacker, since
	// the signature does not cover the timestamp.
	MaxAge time.Duration
	// MaxBody bounds a body in bytes. Defaults to 1 MiB.
	MaxBody int64
	// MaxInFlight bounds the memory of all bodies that are not answered yet, in
	// bytes. Defaults to 32 MiB.
	MaxInFlight int64
	// SegmentBytes and SegmentAge are the size and age at which a segment of the
	// journal is sealed; a night can remove sealed ones only. Default to 16 MiB and
	// 15 minutes.
	SegmentBytes int64
	SegmentAge   time.Duration
	// MaxInbox, if set, returns how many bytes the inbox may have, of which it has so
	// many now; 0: any number. It is called every ten seconds and before a refusal.
	MaxInbox func(bytes int64) int64
	// Stored, if set, is called with each new event after it is on the disk and
	// acknowledged. It must not block.
	Stored func(stream.Event)

	log *slog.Logger
}

func (c Config) withDefaults(log *slog.Logger) Config {
	c.MaxBody = cmp.Or(max(c.MaxBody, 0), 1<<20)
	c.MaxInFlight = cmp.Or(max(c.MaxInFlight, 0), 32<<20)
	c.SegmentBytes = cmp.Or(max(c.SegmentBytes, 0), 16<<20)
	c.SegmentAge = cmp.Or(max(c.SegmentAge, 0), 15*time.Minute)
	if c.MaxInbox == nil {
		c.MaxInbox = func(int64) int64 { return 0 }
	}
	if c.Stored == nil {
		c.Stored = func(stream.Event) {}
	}
	c.log = log
	return c
}

// The results of a delivery.
const (
	// Stored events are new. Replayed ones are known by their id, Repeated ones by their
	// topic and body, under another id. All are on the disk.
	Stored   = "stored"
	Replayed = "replayed"
	Repeated = "repeated"
	// Relabeled is a body that came under many topics lately, and now under another.
	Relabeled = "relabeled"
	// Unsigned deliveries have no signature under any secret, Stale ones a timestamp
	// that is too far from now.
	Unsigned = "unsigned"
	Stale    = "stale"
	TooLarge = "too_large"
	// BadRequest is a body that broke off or came too slowly.
	BadRequest = "bad_request"
	// Crowded is a body that was not whole yet when the memory ran out.
	Crowded = "crowded"
	// Full is an event for which the inbox has no room: the service tries again.
	Full = "full"
	// Unavailable is a failure of ours: the service tries again.
	Unavailable = "unavailable"
)

// Results lists all results.
func Results() []string {
	return []string{Stored, Replayed, Repeated, Relabeled, Unsigned, Stale, TooLarge, BadRequest, Crowded, Full, Unavailable}
}

const (
	// readTime bounds the arrival of a body, commitTime the wait for the disk.
	readTime   = 10 * time.Second
	commitTime = 5 * time.Second
)

// Receiver is the http.Handler of the endpoint. It accepts deliveries while Run runs.
type Receiver struct {
	cfg    Config
	now    func() time.Time
	policy atomic.Pointer[policy]
	bodies *memoryBudget
	counts map[string]*atomic.Uint64
	at     atomic.Pointer[committer]
	inbox  atomic.Pointer[InboxState]
	ready  chan struct{}
	opened sync.Once
	// logLimits bounds the log lines of each result: strangers can send unsigned
	// requests at any rate, and on a full disk a log makes things worse.
	logLimits map[string]*rate.Sometimes
}

// policy is what Reload changes.
type policy struct {
	keys   [][]byte
	maxAge time.Duration
}

// New makes a receiver. It refuses an empty secret.
func New(cfg Config, log *slog.Logger, now func() time.Time) (*Receiver, error) {
	cfg = cfg.withDefaults(log)
	r := &Receiver{cfg: cfg, now: now, bodies: &memoryBudget{free: cfg.MaxInFlight}, ready: make(chan struct{}),
		counts: map[string]*atomic.Uint64{}, logLimits: map[string]*rate.Sometimes{}}
	for _, result := range Results() {
		r.counts[result], r.logLimits[result] = new(atomic.Uint64), &rate.Sometimes{Interval: time.Minute}
	}
	return r, r.Reload(cfg.Secrets, cfg.MaxAge)
}

// Reload changes secrets and age for deliveries from now on. After an error the
// old ones stay.
func (r *Receiver) Reload(secrets []string, maxAge time.Duration) error {
	keys, err := signingKeys(secrets)
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

// Inbox returns how full the inbox is; all zero before Run.
func (r *Receiver) Inbox() InboxState {
	if state := r.inbox.Load(); state != nil {
		return *state
	}
	return InboxState{}
}

// Run owns the inbox until ctx ends; then it commits what is queued. Stop it after
// the server: without it deliveries get 503. It returns a *BusyError when another
// process has the inbox.
func (r *Receiver) Run(ctx context.Context) error {
	c, err := openCommitter(r.cfg, windowOf(r.policy.Load().maxAge), r.now, &r.inbox)
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

// ServeHTTP receives one delivery. It answers 204 when the event is on the disk, 401
// without a valid signature, with a timestamp too far from now or with the body of many
// topics, 413 when the body is too large, 400 when it is incomplete, and 503 when the
// event cannot be stored now, so that the service tries again.
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
	e, got := r.receiveDelivery(w, req, p)
	r.counts[got.result].Add(1)
	r.logResult(got)
	r.writeReply(w, got)
	if got.result == Stored {
		r.cfg.Stored(e)
	}
}

// receiveDelivery reads a delivery and waits until it is committed. Nothing is parsed
// before the signature is verified, and the body not even then: the night does that.
// The body of a request without a signature is not read.
func (r *Receiver) receiveDelivery(w http.ResponseWriter, req *http.Request, p *policy) (stream.Event, answer) {
	signature := strings.Join(req.Header.Values(headerSignature), ",")
	if len(parseSignatures(signature)) == 0 {
		return stream.Event{}, answer{result: Unsigned}
	}
	control := http.NewResponseController(w)
	arriving := &body{budget: r.bodies, from: http.MaxBytesReader(w, req.Body, r.cfg.MaxBody), endRead: func() {
		_ = control.SetReadDeadline(time.Unix(0, 0)) // if that fails, reserve ends the body at its next byte
	}}
	defer arriving.release()
	body, err := readBody(control, arriving)
	var large *http.MaxBytesError
	switch {
	case !arriving.markWhole():
		return stream.Event{}, answer{Crowded, errNoRoom}
	case errors.As(err, &large):
		return stream.Event{}, answer{result: TooLarge}
	case err != nil:
		return stream.Event{}, answer{BadRequest, err}
	case !isSigned(p.keys, signature, body):
		return stream.Event{}, answer{result: Unsigned}
	}
	e := newEvent(req.Header, body, r.now())
	return e, r.awaitCommit(req.Context(), &delivery{event: e, mark: markOf(e), stale: !isFresh(e, p.maxAge), window: windowOf(p.maxAge), done: make(chan answer, 1)})
}

func readBody(control *http.ResponseController, body io.Reader) ([]byte, error) {
	// A server without deadlines, as in a test, reads without one.
	if err := control.SetReadDeadline(time.Now().Add(readTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, fmt.Errorf("receive a webhook: %w", err)
	}
	return io.ReadAll(body)
}

// awaitCommit waits until a delivery is on the disk. A delivery that is answered with
// a timeout here may still be stored; its retry is then a replay.
func (r *Receiver) awaitCommit(ctx context.Context, d *delivery) answer {
	c := r.at.Load()
	if c == nil {
		return answer{Unavailable, errors.New("receive a webhook: the receiver is not running")}
	}
	ctx, cancel := context.WithTimeout(ctx, commitTime)
	defer cancel()
	select {
	case c.queue <- d:
	case <-c.closed:
		return answer{Unavailable, errors.New("receive a webhook: the receiver is stopping")}
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

func (r *Receiver) writeReply(w http.ResponseWriter, got answer) {
	switch got.result {
	case Stored, Replayed, Repeated:
		w.WriteHeader(http.StatusNoContent)
	case Relabeled:
		http.Error(w, "this body came under too many topics", http.StatusUnauthorized)
	case Unsigned:
		http.Error(w, "no valid signature", http.StatusUnauthorized)
	case Stale:
		http.Error(w, "timestamp too far from now", http.StatusUnauthorized)
	case TooLarge:
		http.Error(w, "body too large", http.StatusRequestEntityTooLarge)
	case BadRequest:
		http.Error(w, "body incomplete", http.StatusBadRequest)
	case Full:
		w.Header().Set("Retry-After", "300")
		http.Error(w, "the inbox is full: try again later", http.StatusServiceUnavailable)
	default:
		w.Header().Set("Retry-After", "1")
		http.Error(w, "not stored: try again", http.StatusServiceUnavailable)
	}
}

// logResult logs what the operator may have to act on, each kind once a minute.
func (r *Receiver) logResult(got answer) {
	r.logLimits[got.result].Do(func() {
		switch got.result {
		case Unsigned:
			r.cfg.log.Warn("webhook refused", "reason", "no valid signature: ignore strangers; if the service's own events are refused, "+
				"compare the signing secret")
		case Stale:
			r.cfg.log.Warn("webhook refused", "reason", "timestamp too far from now: compare the clocks, or raise serve.webhook_max_age")
		case Repeated:
			r.cfg.log.Warn("webhook repeated under another id", "reason", "the event is in the inbox once: somebody delivers it again by hand, or has captured a delivery")
		case Relabeled:
			r.cfg.log.Warn("webhook refused", "reason", "its body came under many topics: somebody has captured a delivery; change the signing secret")
		case Full:
			r.cfg.log.Error("webhook not stored", "reason", "the inbox is full and a night empties it: look why nights fail, or raise serve.inbox_max")
		case Crowded:
			r.cfg.log.Warn("webhook not stored", "reason", "it arrived too slowly while others needed the memory")
		case Unavailable:
			r.cfg.log.Error("webhook not stored", "error", got.err)
		}
	})
}
