// Package fetch reads the service: politely, completely, and nothing but GET.
//
// A [Client] walks lists ([Client.Walk]), reads single records
// ([Client.Details], [Client.Get]), spends the allowed request rate over all
// of them, retries as spec 8 says, lands every answer in a [Landing]
// before it is interpreted, and says with a [Grade] and its [Evidence] what the
// answers prove about completeness.
//
// It must not know what a record means, how JSON is decoded or where rows are
// stored: a [Reader], handed in by the caller, interprets a body and reports
// only the facts that the proof needs.
package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"placementsync/internal/stream"
)

// Config is what a [Client] needs to know. Zero values take the default that
// the field names; [New] refuses what makes no sense.
type Config struct {
	// BaseURL is absolute, with an optional path prefix, without credentials.
	BaseURL string
	// UserAgent is sent with every request. Defaults to "placementsync".
	UserAgent string
	// Token returns the bearer token. It is called before the first request
	// and once more when a request is answered 401, since an operator may
	// have rotated the token (spec 5).
	Token func(ctx context.Context) (string, error)
	// RequestsPerSecond bounds all requests together; 0: no limit.
	RequestsPerSecond float64
	// Burst is how many requests may start at once. Defaults to 1.
	Burst int
	// Concurrency is the number of requests in flight. Defaults to 8.
	Concurrency int
	// PageSize is the limit asked of lists; the service may cap it. Defaults
	// to 100.
	PageSize int
	// MaxPasses bounds the passes over one list, 1 to 250. Defaults to 4.
	MaxPasses int
	// MaxPages bounds the pages of one pass, so that an endless chain of pages ends
	// even if the service states a false total. Defaults to 100,000.
	MaxPages int
	// Timeout bounds one attempt including its body. Defaults to 30 s.
	Timeout time.Duration
	// Retry is the rule for repeating a request.
	Retry Retry
	// MaxBody bounds one body, in bytes after decoding, up to 2 GiB. Defaults
	// to 64 MB.
	MaxBody int64
	// Allowance is what the client spends in place of a rate and burst of its
	// own; nil: its own.
	Allowance *Allowance
	// Offline answers from the landing alone: what has not landed is
	// [ErrNotLanded] and nothing is sent.
	Offline bool
	// FailUnreachable ends a call with [ErrUnreachable] at once, for whoever waits for its
	// answer. Without it such a call is repeated as any other: a night outlives a moment
	// in which a name is not known, or the service starts anew.
	FailUnreachable bool
	// Proxy chooses a proxy for a request; nil: none.
	Proxy func(*http.Request) (*url.URL, error)
	// Transport sends requests in place of the client's own one; nil: its own.
	Transport http.RoundTripper
	// Random returns numbers in [0,1) for the jitter and is safe for
	// concurrent use; nil: the standard library's source.
	Random func() float64
}

func (c Config) withDefaults() Config {
	c.UserAgent = cmp.Or(c.UserAgent, "placementsync")
	c.Burst = max(c.Burst, 1)
	c.Concurrency = cmp.Or(c.Concurrency, 8)
	c.PageSize = cmp.Or(c.PageSize, 100)
	c.MaxPasses = cmp.Or(c.MaxPasses, 4)
	c.MaxPages = cmp.Or(c.MaxPages, 100_000)
	c.Timeout = cmp.Or(c.Timeout, 30*time.Second)
	c.MaxBody = cmp.Or(c.MaxBody, 64_000_000)
	c.Retry.Base = cmp.Or(c.Retry.Base, DefaultRetry().Base)
	c.Retry.Max = cmp.Or(c.Retry.Max, DefaultRetry().Max)
	if c.Random == nil {
		c.Random = rand.Float64
	}
	if c.Allowance == nil {
		c.Allowance = NewAllowance(c.RequestsPerSecond, c.Burst)
	}
	return c
}

func (c Config) validate() error {
	var problems []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	base, err := url.Parse(c.BaseURL)
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" {
		// The text is not repeated: it may hold a password.
		problems = append(problems, errors.New("base URL is not an absolute http or https address"))
	} else {
		refuse(base.User != nil, "base URL of host %q holds credentials: use the token", base.Host)
		refuse(base.RawQuery != "" || base.Fragment != "", "base URL of host %q has a query or fragment: remove it", base.Host)
	}
	refuse(c.Token == nil, "no token source given")
	refuse(c.RequestsPerSecond < 0, "requests per second is %v: use 0 for no limit", c.RequestsPerSecond)
	refuse(c.Concurrency < 1, "concurrency is %d: at least 1 is needed", c.Concurrency)
	refuse(c.PageSize < 1, "page size is %d: at least 1 is needed", c.PageSize)
	refuse(c.MaxPasses < 1 || c.MaxPasses > 250, "passes are bounded by %d: use 1 to 250", c.MaxPasses)
	refuse(c.MaxPages < 1, "pages are bounded by %d: at least 1 is needed", c.MaxPages)
	refuse(c.MaxBody < 1 || c.MaxBody > maxLanded, "body limit is %d: use 1 byte to 2 GiB", c.MaxBody)
	refuse(c.Timeout < 0, "timeout is %v: it cannot be negative", c.Timeout)
	r := c.Retry
	refuse(r.MaxRetries < 0 || r.Base < 0 || r.Max < 0 || r.Jitter < 0 || r.Jitter > 1,
		"retry rule %+v is out of range: nothing may be negative, jitter is at most 1", r)
	return errors.Join(problems...)
}

// Request identifies one request within a run: two equal ones are the same
// question, and a resumed run asks it once.
type Request struct {
	// Stream is the name of the stream that asks.
	Stream string
	// Path is relative to the base URL and holds at most one {parameter}.
	Path string
	// Query is the query string without the page number, escaped.
	Query string
	// Param fills the {parameter}, unescaped.
	Param string
	// Pass counts the passes over a list from 1; 0 for single records.
	Pass int
	// Page is the page asked for, from 1; 0 asks without a page number.
	Page int
	// Fresh asks the service though an answer has landed: for what must be
	// true now and not when the run began. It is no part of the question, and
	// offline it has no effect.
	Fresh bool
}

// pathAndQuery is the request's path and query as they are sent.
func (r Request) pathAndQuery() (string, error) {
	path := r.Path
	if before, after, found := strings.Cut(path, "{"); found {
		// An id that vanishes in the path would ask for something else.
		if r.Param == "" || r.Param == "." || r.Param == ".." {
			return "", &StatusError{Stream: r.Stream, URL: path, Err: fmt.Errorf("id %q cannot stand in the path", r.Param)}
		}
		_, rest, _ := strings.Cut(after, "}")
		path = before + url.PathEscape(r.Param) + rest
	}
	query := r.Query
	if r.Page > 0 {
		query = joinQuery(query, "page="+strconv.Itoa(r.Page))
	}
	if query == "" {
		return path, nil
	}
	return path + "?" + query, nil
}

// joinQuery appends one parameter to a query string.
func joinQuery(query, parameter string) string {
	if query == "" {
		return parameter
	}
	return query + "&" + parameter
}

// Response is the answer to a request.
type Response struct {
	Request
	// Seq is unique in the run and rises in landing order: of two copies of a
	// record the one with the higher Seq is the later. 0 without a landing.
	Seq uint64
	// Same names a page whose bytes came before: it is the Seq of the first answer with
	// this body to the same Stream and Param, whatever its page, pass and query. 0: there
	// was none, or it is not known. The first may be one that was refused, that was
	// replaced by a later answer to its request, or that is read after this one; and
	// answers between the two may hold other copies of the same records.
	Same uint64
	// Status is the HTTP status.
	Status int
	// Body is the whole body. It is only valid during the call that gets it.
	Body []byte
	// Packed is the body as it came, in the coding Encoding (zstd or gzip), and valid as
	// long. Both are empty where it came plain, and where it was read from the landing.
	Packed   []byte
	Encoding string
	// Landed says that the answer was read from the landing and not from the service.
	Landed bool
	// Before are the facts of the same body, read under the same page number in the pass
	// before; nil: it is another one. A reader may return them and leave the body.
	Before *stream.PageFacts
}

// Reader interprets one body. It is called concurrently, also for bodies that
// landed in an earlier attempt at the run. An error that wraps [ErrMalformed]
// makes the client ask again; any other error ends the walk.
type Reader func(ctx context.Context, r Response) (stream.PageFacts, error)

// Client reads one service for one run. It is safe for concurrent use.
type Client struct {
	cfg     Config
	landing *Landing
	sender  *sender
	sizes   pageSizes
	meters  meters
}

// New returns a client that lands into landing, or nowhere when landing is
// nil, and logs to log unless that is nil. It does no I/O. The landing stays
// the caller's to close.
func New(cfg Config, landing *Landing, log *slog.Logger) (*Client, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("configure the client: %w", err)
	}
	base, err := url.Parse(strings.TrimRight(cfg.BaseURL, "/"))
	if err != nil {
		return nil, fmt.Errorf("configure the client: base URL is not an address: %w", errors.Unwrap(err))
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Client{cfg: cfg, landing: landing, sender: newSender(cfg, base, landing, log)}, nil
}

// Close drops idle connections. Calls in progress end with their contexts.
func (c *Client) Close() { c.sender.http.CloseIdleConnections() }

// Get asks one question and reads its answer.
func (c *Client) Get(ctx context.Context, r Request, read Reader) (stream.PageFacts, error) {
	target, err := r.pathAndQuery()
	if err != nil {
		return stream.PageFacts{}, err
	}
	q := &call{Request: r, url: c.sender.base.String() + target, read: read, meter: c.meters.meterOf(r.Stream)}
	if err := c.sender.ask(ctx, q); err != nil {
		return stream.PageFacts{}, err
	}
	return q.page, nil
}

// Refetch makes the client ask the service for everything of a stream from now on, even
// if it has landed. It is for answers that are doubted; the new ones replace them.
func (c *Client) Refetch(stream string) {
	c.sender.doubted.Store(stream, true)
}

// mayReadAgain reports whether an answer of a stream that has landed is read from there
// when its question is asked again.
func (c *Client) mayReadAgain(s stream.Stream) bool {
	_, doubted := c.sender.doubted.Load(s.Name)
	return c.landing != nil && !doubted
}

// Telemetry returns a snapshot per stream, sorted by name. It may be called at
// any time.
func (c *Client) Telemetry() []Telemetry { return c.meters.snapshot() }
