// Package s3sim provides two S3 servers for tests. [Server] runs in the process of the test and stores objects in
// memory. [Gateway] runs a real S3 server in a separate process. A test can let requests to either server fail.
//
// The package must not share code with internal/bucket, because the tests of internal/bucket use this package.
package s3sim

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// The keys that both servers accept.
const (
	AccessKey = "AKIASIM"
	SecretKey = "hunter2-secret-of-the-bucket"
)

// Server is the S3 server of gofakes3 with additional checks: the access key, the signature, and the SHA-256
// of each upload. Like Google Cloud Storage, it rewrites Accept-Encoding before it compares the signature.
type Server struct {
	interceptor
	// PageSize is the maximum number of objects in a page of a list. It defaults to 1000.
	PageSize int
	// Now returns the time at which objects and uploads are stored. It defaults to time.Now.
	Now func() time.Time
	// KeepsAcceptEncoding means that no proxy rewrites the header Accept-Encoding, as on most servers. By default
	// it is rewritten before signatures are checked, as by Google Cloud Storage.
	KeepsAcceptEncoding bool

	objects *s3mem.Backend
	handler http.Handler
}

// interceptor counts the requests to a server, and can let them fail.
type interceptor struct {
	mu       sync.Mutex
	fail     func(w http.ResponseWriter, r *http.Request) bool
	requests map[string]int // by method
}

// FailWith lets the server call fail for each request from now on, or no function if fail is nil. If fail responds
// to the request itself, it returns true, and the server does not handle the request. Calls do not overlap.
func (i *interceptor) FailWith(fail func(w http.ResponseWriter, r *http.Request) bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.fail = fail
}

// Requests returns the number of requests by method.
func (i *interceptor) Requests() map[string]int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return maps.Clone(i.requests)
}

// intercept counts a request, and reports whether the function of FailWith has responded to it.
func (i *interceptor) intercept(w http.ResponseWriter, r *http.Request) bool {
	i.mu.Lock()
	defer i.mu.Unlock() // also when fail panics, which resets the connection
	i.requests[r.Method]++
	return i.fail != nil && i.fail(w, r)
}

// New returns a server with empty buckets.
func New(buckets ...string) *Server {
	s := &Server{PageSize: 1000, Now: time.Now, interceptor: interceptor{requests: map[string]int{}}}
	s.objects = s3mem.New(s3mem.WithTimeSource(clock{s}))
	// The limit of clock skew is off, because the server uses the clock of the test and the client
	// uses the real time.
	s.handler = gofakes3.New(s.objects, gofakes3.WithTimeSource(clock{s}), gofakes3.WithTimeSkewLimit(0), gofakes3.WithLogger(gofakes3.DiscardLog())).Server()
	for _, name := range buckets {
		must(s.objects.CreateBucket(name))
	}
	return s
}

// clock passes the clock of a Server to gofakes3. A test may replace Server.Now later.
type clock struct{ *Server }

func (c clock) Now() time.Time                   { return c.Server.Now() }
func (c clock) Since(at time.Time) time.Duration { return c.Now().Sub(at) }

// must panics on errors of the in-memory storage. Only a mistake in a test causes such errors.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// Objects returns the content of each object in a bucket, by name of the object.
func (s *Server) Objects(bucket string) map[string][]byte {
	list, err := s.objects.ListBucket(bucket, nil, gofakes3.ListBucketPage{})
	must(err)
	contents := map[string][]byte{}
	for _, entry := range list.Contents {
		object, err := s.objects.GetObject(bucket, entry.Key, nil)
		must(err)
		contents[entry.Key], err = io.ReadAll(object.Contents)
		must(err)
	}
	return contents
}

// RemoveBucket removes a bucket and its objects.
func (s *Server) RemoveBucket(bucket string) { must(s.objects.ForceDeleteBucket(bucket)) }

// Change calls change with the objects of a bucket. change may add, replace and remove objects.
func (s *Server) Change(bucket string, change func(objects map[string][]byte)) {
	before := s.Objects(bucket)
	after := maps.Clone(before)
	change(after)
	for name := range before {
		if _, ok := after[name]; !ok {
			_, err := s.objects.DeleteObject(bucket, name)
			must(err)
		}
	}
	for name, data := range after {
		if old, ok := before[name]; !ok || !bytes.Equal(old, data) {
			_, err := s.objects.PutObject(bucket, name, map[string]string{}, bytes.NewReader(data), int64(len(data)), nil)
			must(err)
		}
	}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client disconnected before the object was complete
	}
	if s.intercept(w, r) {
		return
	}
	switch {
	case !strings.Contains(r.Header.Get("Authorization"), "Credential="+AccessKey+"/"):
		Refuse(w, http.StatusForbidden, "InvalidAccessKeyId")
	case !hasSignature(r, s.KeepsAcceptEncoding):
		Refuse(w, http.StatusForbidden, "SignatureDoesNotMatch")
	case !matchesChecksums(r, body):
		Refuse(w, http.StatusBadRequest, "BadDigest")
	default:
		if query := r.URL.Query(); query.Has("list-type") {
			query.Set("max-keys", strconv.Itoa(s.PageSize))
			r.URL.RawQuery = query.Encode()
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.handler.ServeHTTP(w, r)
	}
}

// Refuse responds with an error.
func Refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	// An error means that the client has disconnected.
	_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>refused by s3sim</Message></Error>", code)
}

// matchesChecksums reports whether a body has the checksums that the headers of its request contain.
func matchesChecksums(r *http.Request, body []byte) bool {
	sum := sha256.Sum256(body)
	if want := r.Header.Get("X-Amz-Checksum-Sha256"); want != "" && want != base64.StdEncoding.EncodeToString(sum[:]) {
		return false
	}
	want := r.Header.Get("X-Amz-Content-Sha256")
	return len(want) != 2*sha256.Size || want == hex.EncodeToString(sum[:])
}
