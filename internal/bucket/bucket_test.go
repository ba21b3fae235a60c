package bucket_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go/logging"

	"placementsync/internal/bucket"
	"placementsync/internal/checksum"
	"placementsync/internal/testing/harness"
	"placementsync/internal/testing/s3sim"
)

// open returns a bucket on a new server. change may change the configuration of the bucket.
func open(t *testing.T, change func(*bucket.Config)) (*s3sim.Server, *bucket.Bucket) {
	t.Helper()
	sim := s3sim.New("store")
	server := httptest.NewServer(sim)
	t.Cleanup(server.Close)
	// Without PathStyle too, the library puts the bucket into the path of an address without a host name.
	endpoint := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	c := bucket.Config{Endpoint: endpoint, Region: "eu-test-1", PathStyle: true, AccessKey: s3sim.AccessKey, SecretKey: s3sim.SecretKey,
		MaxAttempts: 4, MaxPause: time.Millisecond, Stall: 5 * time.Second}
	if change != nil {
		change(&c)
	}
	b, err := bucket.Open(t.Context(), c, "store", "a/b")
	harness.Must(t, err)
	return sim, b
}

func get(t *testing.T, b *bucket.Bucket, name string, want checksum.FileSum) ([]byte, error) {
	t.Helper()
	var got bytes.Buffer
	err := b.Get(t.Context(), name, want, func() (io.Writer, error) {
		got.Reset()
		return &got, nil
	})
	return got.Bytes(), err
}

func TestObjectsReadBackAsWritten(t *testing.T) {
	sim, b := open(t, nil)
	sim.PageSize = 2
	sim.Now = func() time.Time { return time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC) }
	for i := range 5 {
		data := bytes.Repeat([]byte{byte(i)}, i*1000)
		harness.Must(t, b.PutBytes(t.Context(), fmt.Sprintf("data/%d", i), data))
		got, err := get(t, b, fmt.Sprintf("data/%d", i), checksum.SumText("", data))
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("object %d has %d bytes (%v), want %d", i, len(got), err, len(data))
		}
	}
	harness.Must(t, b.PutBytes(t.Context(), "other/0", nil))
	list, err := b.List(t.Context(), "data/")
	var want []bucket.Object
	for i := range 5 {
		want = append(want, bucket.Object{Name: fmt.Sprintf("data/%d", i), Bytes: int64(i * 1000), StoredAt: sim.Now()})
	}
	if err != nil || !slices.Equal(list, want) {
		t.Errorf("the list is %v (%v), want %v", list, err, want)
	}
	harness.Must(t, b.Delete(t.Context(), "data/0", "data/4", "data/9"))
	if n := len(sim.Objects("store")); n != 4 {
		t.Errorf("%d objects are left, want 4", n)
	}
	if _, err := b.Read(t.Context(), "data/0", 10); !errors.Is(err, bucket.ErrMissing) {
		t.Errorf("reading a deleted object: got %v, want %v", err, bucket.ErrMissing)
	}
	if data, err := b.Read(t.Context(), "data/3", 3000); err != nil || len(data) != 3000 {
		t.Errorf("reading an object of the largest allowed size: got %d bytes (%v), want all", len(data), err)
	}
	if _, err := b.Read(t.Context(), "data/3", 10); err == nil || !strings.Contains(err.Error(), "3000 bytes") {
		t.Errorf("reading an object that is too large: got %v, want an error with its size", err)
	}
}

// TestWrongChecksumIsNotStored checks that the server refuses bytes that differ from the checksum of Put.
func TestWrongChecksumIsNotStored(t *testing.T) {
	sim, b := open(t, nil)
	data := []byte("0123456789abcdef")
	sum := checksum.SumText("", data)
	sum.SHA256 = strings.Repeat("0", 64)
	if err := b.Put(t.Context(), "broken", bytes.NewReader(data), sum); err == nil || sim.Objects("store")["a/b/broken"] != nil {
		t.Errorf("got %v, want an error and no object", err)
	}
}

// TestTooLargeObjectIsNotSent puts a file above the limit of S3. No request may be sent.
func TestTooLargeObjectIsNotSent(t *testing.T) {
	sim, b := open(t, nil)
	sim.FailWith(func(_ http.ResponseWriter, r *http.Request) bool {
		t.Errorf("got the request %s %s, want none", r.Method, r.URL.Path)
		return false
	})
	sum := checksum.SumText("", nil)
	sum.Bytes = 5<<30 + 1
	want := "put s3://store/a/b/large: the file has 5368709121 bytes, more than the 5 GiB that S3 accepts in one request"
	if err := b.Put(t.Context(), "large", bytes.NewReader(nil), sum); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	sum.Bytes--
	sim.FailWith(nil)
	if err := b.Put(t.Context(), "large", bytes.NewReader(nil), sum); err == nil || strings.Contains(err.Error(), "more than the 5 GiB") {
		t.Errorf("with exactly 5 GiB, which S3 accepts: got %v, want the error of an empty file", err)
	}
}

// TestFaults makes some or all requests fail, and checks the error, the number of requests and the
// stored object.
func TestFaults(t *testing.T) {
	data := bytes.Repeat([]byte("x"), 100_000)
	sum := checksum.SumText("", data)
	slowDown := func(w http.ResponseWriter, _ *http.Request) {
		s3sim.Refuse(w, http.StatusServiceUnavailable, "SlowDown")
	}
	resetConnection := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	cutOff := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100000")
		_, _ = w.Write(data[:50_000])
		panic(http.ErrAbortHandler)
	}
	wrongBytes := func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(bytes.Repeat([]byte("y"), 100_000))
	}
	refuse := func(status int, code string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) { s3sim.Refuse(w, status, code) }
	}
	for _, c := range []struct {
		name     string
		method   string
		times    int
		fail     func(http.ResponseWriter, *http.Request)
		want     string // the error; empty if the request succeeds in the end
		requests int
		reason   error
	}{
		{name: "the server is busy twice", method: "PUT", times: 2, fail: slowDown, requests: 3},
		{name: "the server is always busy", method: "PUT", times: 99, fail: slowDown, requests: 4, want: "put s3://store/a/b/one: the server returned SlowDown (status 503) (4 attempts)"},
		{name: "the server receives too many requests", method: "PUT", times: 2, fail: refuse(429, "Busy"), requests: 3},
		{name: "the connection is reset during an upload", method: "PUT", times: 1, fail: resetConnection, requests: 2},
		{name: "one response is cut off", method: "GET", times: 1, fail: cutOff, requests: 2},
		{name: "each response is cut off", method: "GET", times: 99, fail: cutOff, requests: 4, want: "get s3://store/a/b/one: unexpected EOF (4 attempts)"},
		{name: "each response has wrong bytes", method: "GET", times: 99, fail: wrongBytes, requests: 2, want: "get s3://store/a/b/one: its bytes do not match its checksum (2 attempts)"},
		{name: "the keys have no permission", method: "PUT", times: 99, fail: refuse(403, "AccessDenied"), requests: 1, reason: bucket.ErrDenied,
			want: "put s3://store/a/b/one: " + bucket.ErrDenied.Error() + " (AccessDenied)"},
		{name: "the error code contains control characters", method: "PUT", times: 99, fail: refuse(400, "Odd&#xA;Thing\u009b31m"), requests: 1,
			want: "put s3://store/a/b/one: the server returned Odd?Thing?31m (status 400)"},
		{name: "the error code is a long text", method: "PUT", times: 99, fail: refuse(400, strings.Repeat("x", 100)), requests: 1,
			want: "put s3://store/a/b/one: the server returned " + strings.Repeat("x", 60) + " (status 400)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			sim, b := open(t, nil)
			if c.method == "GET" {
				harness.Must(t, b.PutBytes(t.Context(), "one", data))
			}
			sim.FailWith(failTimes(c.times, c.method, c.fail))
			var err error
			if c.method == "PUT" {
				err = b.PutBytes(t.Context(), "one", data)
			} else {
				_, err = get(t, b, "one", sum)
			}
			text := ""
			if err != nil {
				text = err.Error()
			}
			if text != c.want || c.reason != nil && !errors.Is(err, c.reason) {
				t.Errorf("got %q, want %q", text, c.want)
			}
			if n := sim.Requests()[c.method]; n != c.requests {
				t.Errorf("sent %d requests, want %d", n, c.requests)
			}
			if stored := sim.Objects("store")["a/b/one"]; c.want == "" && !bytes.Equal(stored, data) {
				t.Errorf("%d bytes are stored, want %d", len(stored), len(data))
			}
			if strings.Contains(text, s3sim.SecretKey) || strings.Contains(text, s3sim.AccessKey) {
				t.Errorf("the error contains a key: %s", text)
			}
		})
	}
}

// failTimes returns a function for s3sim.Server.FailWith that makes the next requests of a method fail.
// left is the number of these requests.
func failTimes(left int, method string, fail func(http.ResponseWriter, *http.Request)) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != method || left == 0 {
			return false
		}
		left--
		fail(w, r)
		return true
	}
}

// TestAcceptEncodingIsNotSigned sends each kind of request to a server that rewrites Accept-Encoding before it
// compares the signature, as Google Cloud Storage does. Two kinds are sent twice, because the server is busy at first.
func TestAcceptEncodingIsNotSigned(t *testing.T) {
	sim, b := open(t, nil)
	seen := map[string]int{}
	sim.FailWith(func(w http.ResponseWriter, r *http.Request) bool {
		seen[r.Method]++
		if got := r.Header.Get("Accept-Encoding"); got != "identity" {
			t.Errorf("%s asks for the encoding %q, want identity", r.Method, got)
		}
		if got := r.Header.Get("X-Amz-Checksum-Mode"); got != "" {
			t.Errorf("%s asks for a checksum (%s), want none: Get computes the checksum itself", r.Method, got)
		}
		if strings.Contains(r.Header.Get("Authorization"), "accept-encoding") {
			t.Errorf("the signature of %s covers Accept-Encoding", r.Method)
		}
		if seen[r.Method] > 1 {
			return false
		}
		s3sim.Refuse(w, http.StatusServiceUnavailable, "SlowDown")
		return true
	})
	data := []byte("x")
	if err := b.PutBytes(t.Context(), "one + two~(3)*", data); err != nil {
		t.Error(err)
	}
	if _, err := get(t, b, "one + two~(3)*", checksum.SumText("", data)); err != nil {
		t.Error(err)
	}
	if list, err := b.List(t.Context(), "one +"); err != nil || len(list) != 1 {
		t.Errorf("listed %v (%v), want one object", list, err)
	}
	if err := b.Delete(t.Context(), "one + two~(3)*"); err != nil {
		t.Error(err)
	}
	if want := map[string]int{"PUT": 2, "GET": 3, "POST": 2}; !maps.Equal(seen, want) {
		t.Errorf("sent %v, want %v", seen, want)
	}
}

// TestNoAccessKeys checks that missing access keys are reported before a request is sent.
func TestNoAccessKeys(t *testing.T) {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_CONFIG_FILE", t.TempDir()+"/none")
	_, err := bucket.Open(t.Context(), bucket.Config{}, "store", "a")
	if err == nil || !strings.Contains(err.Error(), "open s3://store/a: find the keys of object storage: ") {
		t.Errorf("got %v, want an error about the keys", err)
	}
}

// TestSettingsOfTheEnvironment opens object storage without a region. The library must not write between the lines of the
// program's own log.
func TestSettingsOfTheEnvironment(t *testing.T) {
	t.Setenv("AWS_CONFIG_FILE", t.TempDir()+"/none")
	for environment, want := range map[string]string{"": "us-east-1", "eu-test-2": "eu-test-2"} {
		t.Setenv("AWS_REGION", environment)
		cfg, err := bucket.Config{AccessKey: "a", SecretKey: "b"}.AWS(t.Context())
		if _, isSilent := cfg.Logger.(logging.Nop); err != nil || cfg.Region != want || !isSilent {
			t.Errorf("with the region %q of the environment: got the region %s and the log %T (%v), want %s and none", environment, cfg.Region, cfg.Logger, err, want)
		}
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "of the environment")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	for configured, want := range map[string]string{"": "of the environment", "configured": "configured"} {
		cfg, err := bucket.Config{AccessKey: configured, SecretKey: configured}.AWS(t.Context())
		harness.Must(t, err)
		if keys, err := cfg.Credentials.Retrieve(t.Context()); err != nil || keys.AccessKeyID != want {
			t.Errorf("with the configured key %q: got the key %q (%v), want %q", configured, keys.AccessKeyID, err, want)
		}
	}
}

// TestNoServer checks that the error of a refused connection contains the network error.
func TestNoServer(t *testing.T) {
	_, b := open(t, func(c *bucket.Config) { c.Endpoint = "http://127.0.0.1:1" })
	_, err := b.List(t.Context(), "")
	if err == nil || !strings.Contains(err.Error(), "list s3://store/a/b: dial tcp 127.0.0.1:1: ") || !strings.HasSuffix(err.Error(), "refused (4 attempts)") {
		t.Errorf("got %v, want connection refused", err)
	}
}

// TestBucketWithoutAPrefix stores an object in the root of a bucket.
func TestBucketWithoutAPrefix(t *testing.T) {
	sim, _ := open(t, nil)
	server := httptest.NewServer(sim)
	defer server.Close()
	b, err := bucket.Open(t.Context(), bucket.Config{Endpoint: server.URL, PathStyle: true, AccessKey: s3sim.AccessKey, SecretKey: s3sim.SecretKey}, "store", "")
	harness.Must(t, err)
	if err := b.PutBytes(t.Context(), "data/one", []byte("x")); err != nil || b.Address("data/one") != "s3://store/data/one" {
		t.Fatalf("the object %s was stored with %v", b.Address("data/one"), err)
	}
	if list, err := b.List(t.Context(), "data/"); err != nil || len(list) != 1 || list[0].Name != "data/one" {
		t.Errorf("the list is %v (%v), want data/one", list, err)
	}
}

// TestRefusedRequests refuses each kind of request. The error must name the operation, the object and the reason.
func TestRefusedRequests(t *testing.T) {
	sim, b := open(t, nil)
	sim.FailWith(func(w http.ResponseWriter, _ *http.Request) bool {
		s3sim.Refuse(w, http.StatusForbidden, "AccessDenied")
		return true
	})
	_, listErr := b.List(t.Context(), "data/")
	_, getErr := b.Read(t.Context(), "data/1", 10)
	for want, err := range map[string]error{
		"list s3://store/a/b/data": listErr, "get s3://store/a/b/data/1": getErr, "delete s3://store/a/b/data/2": b.Delete(t.Context(), "data/2", "data/3"),
	} {
		if !errors.Is(err, bucket.ErrDenied) || !strings.HasPrefix(err.Error(), want+": ") {
			t.Errorf("got %v, want %s with the reason %v", err, want, bucket.ErrDenied)
		}
	}
}

// TestCodesOfServersHaveAReason refuses a request with the codes of different servers. Each reason names the setting
// to correct.
func TestCodesOfServersHaveAReason(t *testing.T) {
	code := ""
	sim, b := open(t, nil)
	sim.FailWith(func(w http.ResponseWriter, _ *http.Request) bool {
		s3sim.Refuse(w, http.StatusBadRequest, code)
		return true
	})
	for reason, codes := range map[error]string{
		bucket.ErrMissing:  "NoSuchKey NotFound",
		bucket.ErrNoBucket: "NoSuchBucket",
		bucket.ErrKey:      "InvalidAccessKeyId InvalidSecurity InvalidToken ExpiredToken",
		bucket.ErrSecret:   "SignatureDoesNotMatch",
		bucket.ErrClock:    "RequestTimeTooSkewed RequestExpired",
		bucket.ErrDenied:   "AccessDenied Forbidden AllAccessDisabled",
		bucket.ErrRegion:   "PermanentRedirect TemporaryRedirect AuthorizationHeaderMalformed IllegalLocationConstraintException",
	} {
		for code = range strings.FieldsSeq(codes) {
			if _, err := b.Read(t.Context(), "one", 10); !errors.Is(err, reason) {
				t.Errorf("for the code %s: got %v, want %v", code, err, reason)
			}
		}
	}
}

// TestErrorsOfABusyServerStayTheSame reads from a server that is busy for a whole backup. The last of the errors must
// still name the server's code. The limit of attempts is the default.
func TestErrorsOfABusyServerStayTheSame(t *testing.T) {
	sim, b := open(t, func(c *bucket.Config) { c.MaxAttempts = 0 })
	sim.FailWith(func(w http.ResponseWriter, _ *http.Request) bool {
		s3sim.Refuse(w, http.StatusServiceUnavailable, "SlowDown")
		return true
	})
	const want = "get s3://store/a/b/one: the server returned SlowDown (status 503) (6 attempts)"
	for range 30 {
		if _, err := b.Read(t.Context(), "one", 10); err == nil || err.Error() != want {
			t.Fatalf("got %v, want %s", err, want)
		}
	}
}

// TestAnEndedContextStopsRetries ends the context while the bucket waits for the next attempt.
func TestAnEndedContextStopsRetries(t *testing.T) {
	sim, b := open(t, func(c *bucket.Config) { c.MaxPause = time.Hour })
	harness.Must(t, b.PutBytes(t.Context(), "one", []byte("x")))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	sim.FailWith(func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Length", "5")
		_, _ = w.Write([]byte("x"))
		go stop()
		panic(http.ErrAbortHandler)
	})
	if _, err := b.Read(ctx, "one", 10); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := b.Read(ctx, "one", 10); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after the time limit: got %v, want %v", err, context.DeadlineExceeded)
	}
}
