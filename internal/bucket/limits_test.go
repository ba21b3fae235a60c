package bucket_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"placementsync/internal/bucket"
	"placementsync/internal/checksum"
	"placementsync/internal/testing/s3sim"
)

// errorWriter fails each write.
type errorWriter struct{ err error }

func (w errorWriter) Write([]byte) (int, error) { return 0, w.err }

// TestRequestsThatCannotSucceedAreNotRepeated downloads an object to a full disk, an object of another program that is too
// large, and an object that grew.
func TestRequestsThatCannotSucceedAreNotRepeated(t *testing.T) {
	sim, b := open(t, nil)
	data := bytes.Repeat([]byte("x"), 100_000)
	if err := b.PutBytes(t.Context(), "one", data); err != nil {
		t.Fatal(err)
	}
	sum, full := checksum.SumText("", data), errors.New("the disk is full")
	err := b.Get(t.Context(), "one", sum, func() (io.Writer, error) { return errorWriter{full}, nil })
	if n := sim.Requests()["GET"]; !errors.Is(err, full) || n != 1 {
		t.Errorf("a full disk: got %v after %d requests, want %v after 1", err, n, full)
	}
	if _, err := b.Read(t.Context(), "one", 10); err == nil || sim.Requests()["GET"] != 2 {
		t.Errorf("an object that is too large: got %v after %d requests, want an error after 1", err, sim.Requests()["GET"]-1)
	}
	var got bytes.Buffer
	sum.Bytes = 10
	err = b.Get(t.Context(), "one", sum, func() (io.Writer, error) { got.Reset(); return &got, nil })
	if !errors.Is(err, bucket.ErrDiffers) || got.Len() > 11 {
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
	if err != nil {
		t.Fatal(err)
	}
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
	code = "NoSuchKey"
	if err := b.Delete(t.Context(), "one"); err != nil {
		t.Errorf("a missing object: %v", err)
	}
}
