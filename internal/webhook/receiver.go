// Package webhook receives the events of the service (spec 6). It verifies their signatures,
// stores them in an inbox on disk before it acknowledges them, and reads them from the inbox.
// It also converts bodies to records and rich text to plain text.
//
// Events are loaded exactly once: a night links the files of the inbox into its folder, so a resumed or
// replayed night reads them too, and empties the inbox after it has published. Ids in meta.webhook_events are skipped.
//
// The package must not depend on tables, nights, other endpoints or the consequences of an event.
package webhook

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"placementsync/internal/charset"
	"placementsync/internal/durable"
	"placementsync/internal/stream"
)

// Config configures a Receiver.
type Config struct {
	Dir  string       // folder of the inbox; the receiver creates it
	Disk durable.Disk // tests inject faults into it
	// MaxBody limits a body in bytes. Defaults to 1 MiB.
	MaxBody int64
	// MaxInFlight limits the memory of all pending bodies in bytes. Defaults to 32 MiB.
	MaxInFlight int64
	// MaxEvents limits the number of events in the inbox. Defaults to 100,000.
	MaxEvents int
	Owner     Owner // nil means no limit in bytes

	log *slog.Logger
	now func() time.Time
}

// Owner limits the inbox of a receiver and is notified of its events.
type Owner interface {
	// InboxLimit returns the limit of an inbox with the given size, in bytes. 0 means no limit.
	InboxLimit(inboxBytes int64) int64
	// EventStored is called after a new event was stored and acknowledged. It must not block.
	EventStored(e stream.Event)
}

type noOwner struct{}

func (noOwner) InboxLimit(int64) int64   { return 0 }
func (noOwner) EventStored(stream.Event) {}

// The results of a delivery.
const (
	Stored      = "stored"      // a new event, now on disk
	Replayed    = "replayed"    // a known id, as in a retry of the service
	Repeated    = "repeated"    // a known topic and body under a new id
	Relabeled   = "relabeled"   // a known body under too many topics
	Unsigned    = "unsigned"    // no valid signature
	Stale       = "stale"       // the timestamp is too far from now
	TooLarge    = "too_large"   // the body exceeds MaxBody
	BadRequest  = "bad_request" // the body is incomplete or arrived too slowly
	Crowded     = "crowded"     // the memory is used by other deliveries; the service tries again
	Full        = "full"        // the inbox is full; the service tries again
	Unavailable = "unavailable" // an internal error; the service tries again
)

// Results lists the results.
func Results() []string {
	return []string{Stored, Replayed, Repeated, Relabeled, Unsigned, Stale, TooLarge, BadRequest, Crowded, Full, Unavailable}
}

// readTimeout limits the time for a body.
const readTimeout = 10 * time.Second

// Receiver is the http.Handler of the webhook endpoint. It accepts deliveries between Open and Close.
type Receiver struct {
	cfg        Config
	policy     atomic.Pointer[Policy]
	freeMemory atomic.Int64 // of MaxInFlight
	counts     map[string]*atomic.Uint64
	inbox      inbox
	// logLimits limits the log lines of each result, because strangers can send unsigned
	// requests at any rate, and because log lines fill a full disk further.
	logLimits map[string]*rate.Sometimes
}

// Policy contains the settings that Reload changes.
type Policy struct {
	Secrets []string // of the signatures
	// Prefixes are the beginnings of the names of the envelope's headers. A delivery uses the first one
	// with which it has a signature.
	Prefixes []string
	// MaxAge is the largest accepted difference between the timestamp of a delivery and now. Zero means
	// no limit. The limit rejects old deliveries that are sent again unchanged. It does not stop an
	// attacker, because the signature does not cover the timestamp.
	MaxAge time.Duration
}

// New returns a receiver without signing secrets. Its endpoint responds with 404 until Reload sets secrets.
func New(cfg Config, log *slog.Logger, now func() time.Time) *Receiver {
	cfg.MaxBody = cmp.Or(cfg.MaxBody, 1<<20)
	cfg.MaxInFlight = cmp.Or(cfg.MaxInFlight, 32<<20)
	cfg.MaxEvents = cmp.Or(cfg.MaxEvents, 100_000)
	if cfg.Owner == nil {
		cfg.Owner = noOwner{}
	}
	cfg.log, cfg.now = log, now
	r := &Receiver{cfg: cfg, counts: map[string]*atomic.Uint64{}, logLimits: map[string]*rate.Sometimes{},
		inbox: inbox{cfg: cfg, turn: make(chan struct{}, 1)}}
	for _, result := range Results() {
		r.counts[result], r.logLimits[result] = new(atomic.Uint64), &rate.Sometimes{Interval: time.Minute}
	}
	r.freeMemory.Store(cfg.MaxInFlight)
	r.policy.Store(&Policy{})
	return r
}

// Reload replaces the policy. After an error, such as an empty secret, the old policy is kept.
func (r *Receiver) Reload(p Policy) error {
	if slices.Contains(p.Secrets, "") {
		return errors.New("read the webhook secrets: one is empty, so anyone could sign an event: fill it in, or remove it")
	}
	r.policy.Store(&p)
	return nil
}

// Counts returns the number of deliveries since the start, for each result.
func (r *Receiver) Counts() map[string]uint64 {
	counts := map[string]uint64{}
	for result, n := range r.counts {
		counts[result] = n.Load()
	}
	return counts
}

// Inbox measures the inbox and returns its state.
func (r *Receiver) Inbox() (InboxState, error) { return r.inbox.measure(r.cfg.now()) }

// Open locks the inbox and reads its events. It returns an error if another process has the lock.
func (r *Receiver) Open() error { return r.inbox.open() }

// Close waits until the current delivery is stored, and unlocks the opened inbox. Stop the HTTP server before,
// because later deliveries get 503.
func (r *Receiver) Close() error { return r.inbox.close() }

// ServeHTTP responds with 204 if the event is on disk, and with 503 if it cannot be stored now, so that the
// service tries again.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	p := r.policy.Load()
	if len(p.Secrets) == 0 {
		http.NotFound(w, req)
		return
	}
	if req.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "only POST", http.StatusMethodNotAllowed)
		return
	}
	e, o := r.receiveDelivery(w, req, p)
	r.counts[o.result].Add(1)
	r.logOutcome(o)
	r.writeResponse(w, o)
	if o.result == Stored {
		r.cfg.Owner.EventStored(e)
	}
}

// receiveDelivery reads no body of a request without a signature, and parses no other header before it has
// verified the signature.
func (r *Receiver) receiveDelivery(w http.ResponseWriter, req *http.Request, p *Policy) (stream.Event, outcome) {
	headers, isSigned := findEnvelope(req.Header, p.Prefixes)
	if !isSigned {
		return stream.Event{}, outcome{Unsigned, newMissingHeader(headerSignature, p.Prefixes, req.Header)}
	}
	signature := strings.Join(headers.signatures(), ",")
	if len(parseSignatures(signature)) == 0 {
		return stream.Event{}, outcome{result: Unsigned}
	}
	control := http.NewResponseController(w)
	reader := &bodyReader{from: http.MaxBytesReader(w, req.Body, r.cfg.MaxBody), free: &r.freeMemory}
	defer reader.release()
	// An httptest.ResponseRecorder does not support deadlines.
	if err := control.SetReadDeadline(time.Now().Add(readTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return stream.Event{}, outcome{BadRequest, fmt.Errorf("receive a webhook: %w", err)}
	}
	data, err := io.ReadAll(reader)
	if err == nil && !isSignedBy(p.Secrets, signature, data) {
		return stream.Event{}, outcome{result: Unsigned}
	}
	if err == nil {
		data, err = r.decodeBody(reader, req.Header, data)
	}
	switch {
	case errors.Is(err, errCrowded):
		return stream.Event{}, outcome{Crowded, err}
	case errors.As(err, new(*http.MaxBytesError)):
		return stream.Event{}, outcome{result: TooLarge}
	case err != nil:
		return stream.Event{}, outcome{BadRequest, err}
	}
	e := newEvent(headers, data, r.cfg.now())
	o := r.inbox.add(req.Context(), e, p.MaxAge)
	if o.result == Stale && e.Sent == "" {
		o.err = newMissingHeader(headerTimestamp, []string{headers.prefix}, req.Header)
	}
	return e, o
}

// errCrowded is the error of a body for which there is no memory.
var errCrowded = errors.New("receive a webhook: too many deliveries at the same time")

// bodyReader reserves memory as the bytes of a body arrive, regardless of its Content-Length. So a stalled sender
// uses only the memory of the bytes that it has sent.
type bodyReader struct {
	from     io.Reader
	free     *atomic.Int64
	reserved int64
}

func (b *bodyReader) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	b.reserved += int64(n)
	if b.free.Add(-int64(n)) < 0 {
		return 0, errCrowded
	}
	return n, err
}

func (b *bodyReader) release() { b.free.Add(b.reserved) }

// decodeBody unpacks a signed body, and converts it to UTF-8, as its headers declare.
func (r *Receiver) decodeBody(reader *bodyReader, h http.Header, data []byte) ([]byte, error) {
	encoding := strings.ToLower(h.Get("Content-Encoding"))
	if encoding == "gzip" || encoding == "x-gzip" {
		unpacker, err := gzip.NewReader(bytes.NewReader(data))
		// A body that is not packed is kept: a proxy may have unpacked it and kept the header.
		if err == nil {
			data, err = r.replaceBody(reader, data, unpacker)
			if err != nil {
				return nil, err
			}
		}
	}
	declared := charset.Declared(h.Get("Content-Type"))
	if declared == nil {
		return data, nil
	}
	return r.replaceBody(reader, data, declared.NewDecoder().Reader(bytes.NewReader(data)))
}

// replaceBody returns the content of another form of a body, or the body if the content cannot be read: a signed
// delivery is stored in any case. The content has the same limit as a body, and its memory is reserved too.
func (r *Receiver) replaceBody(reader *bodyReader, body []byte, content io.Reader) ([]byte, error) {
	reader.from = http.MaxBytesReader(nil, io.NopCloser(content), r.cfg.MaxBody)
	data, err := io.ReadAll(reader)
	if errors.Is(err, errCrowded) || errors.As(err, new(*http.MaxBytesError)) {
		return nil, err
	}
	if err != nil {
		return body, nil
	}
	return data, nil
}

// outcome is the result of a delivery.
type outcome struct {
	result string
	err    error
}

func (r *Receiver) writeResponse(w http.ResponseWriter, o outcome) {
	switch o.result {
	case Stored, Replayed, Repeated:
		w.WriteHeader(http.StatusNoContent)
	case Relabeled:
		http.Error(w, "body sent under too many topics", http.StatusUnauthorized)
	case Unsigned:
		http.Error(w, refusalOf(o, "no valid signature"), http.StatusUnauthorized)
	case Stale:
		http.Error(w, refusalOf(o, "timestamp too far from now"), http.StatusUnauthorized)
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

// refusalOf does not return the names of the received headers: a proxy may have added some, and strangers
// read the response.
func refusalOf(o outcome, otherwise string) string {
	if missing, ok := errors.AsType[*missingHeaderError](o.err); ok {
		return missing.headline()
	}
	return otherwise
}

// logOutcome logs results that may require an action of the operator.
func (r *Receiver) logOutcome(o outcome) {
	r.logLimits[o.result].Do(func() {
		if missing, ok := errors.AsType[*missingHeaderError](o.err); ok {
			r.cfg.log.Warn("webhook refused", "reason", missing.Error())
			return
		}
		switch o.result {
		case Unsigned:
			r.cfg.log.Warn("webhook refused", "reason", "no valid signature: if this was the service, compare the signing secrets; otherwise ignore it")
		case Stale:
			r.cfg.log.Warn("webhook refused", "reason", "timestamp too far from now: compare the clocks, or raise serve.webhook_max_age")
		case Repeated:
			r.cfg.log.Warn("webhook repeated under another id",
				"reason", "the event was stored once; the delivery was repeated by hand, or captured by an attacker: if it was not repeated by hand, change the signing secret")
		case Relabeled:
			r.cfg.log.Warn("webhook refused", "reason", "the same body was sent under many topics, so a delivery was captured: change the signing secret")
		case Full:
			r.cfg.log.Error("webhook not stored", "reason", "the inbox is full until a night succeeds: run placementsync runs to see why nights fail, or raise serve.inbox_max")
		case Crowded:
			r.cfg.log.Warn("webhook not stored", "reason", "other deliveries used the memory while the body arrived; the service sends it again")
		case Unavailable:
			r.cfg.log.Error("webhook not stored", "error", o.err)
		}
	})
}
