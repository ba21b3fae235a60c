// Package fetch reads the service with GET requests.
//
// A [Client] walks lists ([Client.Walk]) and reads single records ([Client.Details],
// [Client.Get]). It shares the request rate between all workers, retries as spec 8 requires (the spec
// is docs/service.md), stores every response in a [ResponseStore] before it is decoded, and grades how
// completely a stream was read ([Grade], [Evidence]).
//
// If a compressed body does not contain the token, it is stored as received. From any other body the token is
// removed, and the body is stored compressed with S2. A night can have 100,000 bodies, so they are appended to
// segment files. A journal lists the stored responses; if it has several lines for a request, the last one is
// valid. The decompressed size of a body is limited; the size in its header is not trusted. Retries ask for
// uncompressed bodies, because the compression may have caused the failure. Pages are read in parallel, because
// the list then has less time to change. A resumed or replayed run takes the order of a list from its stored
// responses, so that it repeats the same requests.
//
// The package must not know the meaning of records, the decoding of JSON or the storage of rows: the
// caller passes a [Reader], which decodes a body and returns the facts that prove completeness.
package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"placementsync/internal/stream"
)

// Config is the configuration of a [Client]. Zero values mean the documented defaults.
type Config struct {
	BaseURL   string // absolute, without credentials; may have a path prefix
	UserAgent string // defaults to "placementsync"
	// Token returns the bearer token. It is called before the first request, and again when
	// the service responds with 401, since the token may have been rotated (spec 5).
	Token func(ctx context.Context) (string, error)
	// RequestsPerSecond limits all requests together. 0 means no limit.
	RequestsPerSecond float64
	// Burst is the number of requests that the service accepts together. [NewAllowance] uses one
	// fewer, but at least one. Defaults to 1.
	Burst int
	// Concurrency limits the requests in flight and the responses in memory. Defaults to 8.
	Concurrency int
	PageSize    int // requested page size of lists; the service may cap it; defaults to 100
	MaxPasses   int // over one list, 1 to 250; defaults to 4
	// Unsortable names the streams whose lists are not requested newest first, because the service refused that order or
	// did not keep it in an earlier run.
	Unsortable []string
	// MaxPages limits the pages of one pass, in case the service states a wrong total. Defaults to 100,000.
	MaxPages int
	Timeout  time.Duration // of one attempt, including its body; defaults to 30 s
	Retry    Retry
	// Patience is the time that the client waits in all while the service answers no request or limits the rate.
	// 0 means that only the rule of Retry applies.
	Patience time.Duration
	// TokenCanChange means that an operator can replace the token while the client runs. After a 401 the client then
	// waits for a new token, at most for Patience.
	TokenCanChange bool
	// MaxBody limits a body, in bytes after decompression, up to 2 GiB. Defaults to 64 MB.
	MaxBody int64
	// Allowance is a rate shared with other clients. Nil means that RequestsPerSecond and
	// Burst apply to this client alone.
	Allowance *Allowance
	// HasPrivateValues means that responses may contain private values. Errors then show no part of a response.
	HasPrivateValues bool
	// Offline means that all responses are read from the store and no requests are sent. The error
	// for a missing response is [ErrNotStored].
	Offline bool
	// FailUnreachable means that a request is not retried after [ErrUnreachable], for interactive
	// commands. A night should survive a restart of the service or a failure of DNS.
	FailUnreachable bool
	Proxy           func(*http.Request) (*url.URL, error) // nil means no proxy
	Transport       http.RoundTripper                     // nil means the client's own transport
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
	c.Retry.Base = cmp.Or(c.Retry.Base, 250*time.Millisecond)
	c.Retry.Max = cmp.Or(c.Retry.Max, 4*time.Second)
	if c.Allowance == nil {
		c.Allowance = NewAllowance(c.RequestsPerSecond, c.Burst)
	}
	return c
}

// Request identifies a request within a run. If its response is stored, the request is not sent
// again, even if the run is resumed.
type Request struct {
	Stream string `json:"stream"`
	// Path is relative to the base URL and has at most one {parameter}.
	Path  string `json:"path"`
	Query string `json:"query,omitempty"` // without the page number, escaped
	Param string `json:"param,omitempty"` // value of the {parameter}, unescaped
	Pass  int    `json:"pass,omitempty"`  // over a list, from 1; 0 for single records
	Page  int    `json:"page,omitempty"`  // from 1; 0 means that the request has no page number
	// Fresh means that the request is sent even if its response is stored, for responses that must
	// be current. Fresh is not part of the identity of a request, and is ignored offline.
	Fresh bool `json:"-"`
}

func (r Request) pathAndQuery() (string, error) {
	path := r.Path
	if before, after, found := strings.Cut(path, "{"); found {
		// With these values the URL would name another resource.
		if r.Param == "" || r.Param == "." || r.Param == ".." {
			return "", &StatusError{Stream: r.Stream, URL: path, Err: fmt.Errorf("id %q cannot be used in a path", r.Param)}
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

func joinQuery(query, parameter string) string {
	if query == "" {
		return parameter
	}
	return query + "&" + parameter
}

// Response is a response of the service with its request.
type Response struct {
	Request
	// Seq is unique in the run and increases in the order of storing: of two copies of a record,
	// the copy with the higher Seq is later. It is 0 without a store.
	Seq    uint64
	Status int
	Body   []byte
	// Compressed is the body as received, and Encoding its compression (zstd or gzip). Both
	// are empty if the body was not compressed or was read from the store.
	Compressed []byte
	Encoding   string
	// Previous contains the facts of this page in the previous pass if the two bodies are
	// equal, and is nil otherwise. A reader may return Previous without decoding the body.
	Previous *stream.PageFacts
}

// Reader decodes one body. It is called concurrently, also for bodies that were stored
// before the run was resumed. After an error that wraps [ErrMalformed] the client repeats
// the request while retries remain. Any other error ends the walk. The body is valid until Reader returns.
type Reader func(ctx context.Context, r Response) (stream.PageFacts, error)

// Client reads one service for one run. It is safe for concurrent use.
type Client struct {
	cfg    Config
	store  *ResponseStore
	sender *sender
	sizes  pageSizes
}

// New returns a client that stores responses in store and logs to log. Either may be nil.
// New does no I/O. The caller closes the store.
func New(cfg Config, store *ResponseStore, log *slog.Logger) (*Client, error) {
	cfg = cfg.withDefaults()
	base, err := url.Parse(strings.TrimRight(cfg.BaseURL, "/"))
	if err != nil {
		return nil, fmt.Errorf("configure the client: base URL is not an address: %w", errors.Unwrap(err))
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Client{cfg: cfg, store: store, sender: newSender(cfg, base, store, log)}, nil
}

// Close closes idle connections. It does not end calls in progress.
func (c *Client) Close() { c.sender.http.CloseIdleConnections() }

// Get reads one response from the store or the service, and returns its facts.
func (c *Client) Get(ctx context.Context, r Request, read Reader) (stream.PageFacts, error) {
	target, err := r.pathAndQuery()
	if err != nil {
		return stream.PageFacts{}, err
	}
	q := c.sender.newCall(r, target)
	q.read = read
	if err := c.sender.process(ctx, q); err != nil {
		return stream.PageFacts{}, err
	}
	return q.facts, nil
}

// Refetch makes the client ignore the stored responses of a stream from now on. It is for
// doubtful responses, which new responses replace.
func (c *Client) Refetch(stream string) {
	c.sender.doubted.Store(stream, true)
}
