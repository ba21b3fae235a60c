package bucket_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"placementsync/internal/bucket"
	"placementsync/internal/checksum"
	"placementsync/internal/testing/harness"
	"placementsync/internal/testing/s3sim"
)

// errorWriter fails each write.
type errorWriter struct{ err error }

func (w errorWriter) Write([]byte) (int, error) { return 0, w.err }

// TestRequestsThatCannotSucceedAreNotRepeated downloads an object to a full disk, an object that is larger than the caller
// accepts, and an object that grew.
func TestRequestsThatCannotSucceedAreNotRepeated(t *testing.T) {
	sim, b := open(t, nil)
	data := bytes.Repeat([]byte("x"), 100_000)
	harness.Must(t, b.PutBytes(t.Context(), "one", data))
	sum, full := checksum.SumText("", data), errors.New("the disk is full")
	err := b.Get(t.Context(), "one", sum, func() (io.Writer, error) { return errorWriter{full}, nil })
	if n := sim.Requests()["GET"]; !errors.Is(err, full) || n != 1 {
		t.Errorf("a full disk: got %v after %d requests, want %v after 1", err, n, full)
	}
	if _, err := b.Read(t.Context(), "one", 10); err == nil || sim.Requests()["GET"] != 2 {
		t.Errorf("an object that is too large: got %v after %d requests, want an error after 1", err, sim.Requests()["GET"]-1)
	}
	err = b.Get(t.Context(), "one", sum, func() (io.Writer, error) { return nil, errors.New("the file is closed") })
	if err == nil || !strings.Contains(err.Error(), "the file is closed") {
		t.Errorf("a file that cannot be written: got %v, want its error", err)
	}
	var got bytes.Buffer
	sum = checksum.SumText("", data[:10])
	err = b.Get(t.Context(), "one", sum, func() (io.Writer, error) { got.Reset(); return &got, nil })
	// One byte more than the checksum expects shows that the object grew.
	if !errors.Is(err, bucket.ErrDiffers) || got.Len() > 10+1 {
		t.Errorf("an object that grew: got %v and %d bytes on the disk, want %v and at most 11", err, got.Len(), bucket.ErrDiffers)
	}
}

// serve returns a bucket on a server with one response.
func serve(t *testing.T, c bucket.Config, respond http.HandlerFunc) *bucket.Bucket {
	t.Helper()
	server := httptest.NewServer(respond)
	t.Cleanup(server.Close)
	c.Endpoint, c.Region, c.PathStyle, c.AccessKey, c.SecretKey = server.URL, "eu-test-1", true, s3sim.AccessKey, s3sim.SecretKey
	b, err := bucket.Open(t.Context(), c, "store", "a/b")
	harness.Must(t, err)
	return b
}

// TestConnectionsOfRefusedBodiesAreClosed reads an object that is larger than all buffers. The server can only end its
// response if the client closes the body.
func TestConnectionsOfRefusedBodiesAreClosed(t *testing.T) {
	ended := make(chan struct{})
	b := serve(t, bucket.Config{}, func(w http.ResponseWriter, _ *http.Request) {
		defer close(ended)
		w.Header().Set("Content-Length", "1000000000")
		for err := error(nil); err == nil; {
			_, err = w.Write(make([]byte, 1<<20))
		}
	})
	if _, err := b.Read(t.Context(), "one", 10); err == nil {
		t.Error("got no error, want one")
	}
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("the connection stays open after the body was refused")
	}
}

func TestAStalledResponseEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	b := serve(t, bucket.Config{MaxAttempts: 1, Stall: 50 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "10")
		_, _ = w.Write([]byte("12345"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	if _, err := b.Read(ctx, "one", 10); err == nil || ctx.Err() != nil {
		t.Errorf("got %v after a stall, and the context has %v; want an error before the end of the context", err, ctx.Err())
	}
}

// TestTransportKeepsConnections sends 16 requests at a time to a server, as the lake does for its tables. The second
// round must need no new connections.
func TestTransportKeepsConnections(t *testing.T) {
	const parallel = 16
	var arrived sync.WaitGroup
	var connections atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived.Done()
		arrived.Wait() // so that each request has a connection of its own
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	transport := bucket.Config{}.Transport()
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	for range 2 {
		arrived.Add(parallel)
		var group errgroup.Group
		for range parallel {
			group.Go(func() error {
				res, err := client.Get(server.URL)
				if err != nil {
					return err
				}
				return res.Body.Close()
			})
		}
		harness.Must(t, group.Wait())
	}
	if n := connections.Load(); n != parallel {
		t.Errorf("two rounds of %d requests needed %d connections, want %d", parallel, n, parallel)
	}
}

// TestAStalledStreamEnds leaves a request of HTTP/2 without a response, while another response keeps its connection busy.
func TestAStalledStreamEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil && r.URL.Path == "/busy" {
			_, _ = w.Write([]byte("x"))
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	transport := bucket.Config{Stall: 100 * time.Millisecond}.Transport()
	defer transport.CloseIdleConnections()
	transport.TLSClientConfig = &tls.Config{RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	client := &http.Client{Transport: transport}
	request := func(path string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+path, nil)
		harness.Must(t, err)
		return client.Do(r)
	}
	busy, err := request("/busy")
	if err != nil || busy.ProtoMajor != 2 {
		t.Fatalf("got %v (%v), want a response of HTTP/2", busy, err)
	}
	go func() { _, _ = io.Copy(io.Discard, busy.Body) }()
	if res, err := request("/stalled"); err == nil || ctx.Err() != nil {
		t.Errorf("got %v (%v) and the context has %v, want an error before the end of the context", res, err, ctx.Err())
	}
	_ = busy.Body.Close()
}

// TestAProxyMaySendChunks reads an object whose response states no length.
func TestAProxyMaySendChunks(t *testing.T) {
	b := serve(t, bucket.Config{MaxAttempts: 1}, func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).Flush()
		_, _ = w.Write([]byte("12345"))
	})
	if data, err := b.Read(t.Context(), "one", 5); err != nil || string(data) != "12345" {
		t.Errorf("got %q (%v), want the whole object", data, err)
	}
	if _, err := b.Read(t.Context(), "one", 4); err == nil || !strings.Contains(err.Error(), "more than the 4") {
		t.Errorf("got %v, want an error: the object is too large", err)
	}
}

// TestListsAreSorted lists objects of a server that returns them in another order. The newest backup is the last by name.
func TestListsAreSorted(t *testing.T) {
	sim, b := open(t, nil)
	sim.FailWith(func(w http.ResponseWriter, _ *http.Request) bool {
		_, _ = io.WriteString(w, "<ListBucketResult><Contents><Key>a/b/2</Key></Contents><Contents><Key>a/b/1</Key></Contents></ListBucketResult>")
		return true
	})
	list, err := b.List(t.Context(), "")
	if want := []bucket.Object{{Name: "1"}, {Name: "2"}}; err != nil || !slices.Equal(list, want) {
		t.Errorf("the list is %v (%v), want %v", list, err, want)
	}
}

// TestRemovals removes more objects than one request accepts, and objects that the server keeps.
func TestRemovals(t *testing.T) {
	sim, b := open(t, nil)
	if err := b.Delete(t.Context(), slices.Repeat([]string{"one"}, 1001)...); err != nil || sim.Requests()["POST"] != 2 {
		t.Errorf("removed 1001 objects with %d requests (%v), want 2: a server refuses more than 1000 objects", sim.Requests()["POST"], err)
	}
	code := "AccessDenied"
	sim.FailWith(func(w http.ResponseWriter, _ *http.Request) bool {
		_, _ = io.WriteString(w, "<DeleteResult><Error><Key>a/b/one</Key><Code>"+code+"</Code></Error></DeleteResult>")
		return true
	})
	if err := b.Delete(t.Context(), "one"); err == nil || !strings.Contains(err.Error(), "delete s3://store/a/b/one: the server returned AccessDenied") {
		t.Errorf("got %v, want an error: the server kept the object", err)
	}
	for odd, want := range map[string]string{"": "an error without a code", "Odd\u009b31m": "Odd?31m"} {
		code = odd
		if err := b.Delete(t.Context(), "one"); err == nil || !strings.HasSuffix(err.Error(), "the server returned "+want) {
			t.Errorf("the code %q: got %v, want %s: the text is shown on terminals", odd, err, want)
		}
	}
	code = "NoSuchKey"
	if err := b.Delete(t.Context(), "one"); err != nil {
		t.Errorf("a missing object: %v", err)
	}
}
