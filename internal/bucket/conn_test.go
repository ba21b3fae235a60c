package bucket

import (
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// TestADownloadMayTakeLongerThanAStall reads from a connection that receives a byte shortly before each stall.
func TestADownloadMayTakeLongerThanAStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		conn := &limitedConn{client, time.Minute}
		go func() {
			_, _ = server.Read(make([]byte, 1))
			for range 3 {
				time.Sleep(40 * time.Second)
				_, _ = server.Write([]byte("x"))
			}
		}()
		if _, err := conn.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := conn.Read(make([]byte, 1)); err != nil {
				t.Fatalf("a download of two minutes: %v", err)
			}
		}
	})
}

// TestAnUploadMayTakeLongerThanAStall writes to a connection for longer than its limit, while a Read waits for the response,
// as the client of net/http does.
func TestAnUploadMayTakeLongerThanAStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		conn := &limitedConn{client, time.Minute}
		response := make(chan error)
		go func() {
			_, err := conn.Read(make([]byte, 1))
			response <- err
		}()
		for range 3 {
			go func() { _, _ = server.Read(make([]byte, 1)) }()
			if _, err := conn.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(40 * time.Second)
		}
		go func() { _, _ = server.Write([]byte("x")) }()
		if err := <-response; err != nil {
			t.Errorf("the response to an upload of two minutes: %v", err)
		}
	})
}

// TestPausesAreLimited asks for the pause before a late attempt, which doubles with each attempt.
func TestPausesAreLimited(t *testing.T) {
	const limit = 50 * time.Millisecond
	retries := Config{MaxAttempts: 99, MaxPause: limit}.newRetryer()
	if pause, err := retries.RetryDelay(30, errors.New("busy")); err != nil || pause > limit {
		t.Errorf("the pause before attempt 31 is %s (%v), want at most %s", pause, err, limit)
	}
}

// TestTheBucketIsInThePathOrInTheHost signs an address for a server that needs the bucket in the path, for another
// server and for AWS.
func TestTheBucketIsInThePathOrInTheHost(t *testing.T) {
	// An address is signed without a request, so the steps that change requests have no place.
	withoutSteps := s3.WithPresignClientFromClientOptions(func(o *s3.Options) { o.APIOptions = nil })
	for want, c := range map[string]Config{
		"https://s3.example.com/store/a/one?":             {Endpoint: "https://s3.example.com", PathStyle: true},
		"https://store.s3.example.com/a/one?":             {Endpoint: "https://s3.example.com"},
		"https://store.s3.eu-test-1.amazonaws.com/a/one?": {},
	} {
		c.Region, c.AccessKey, c.SecretKey = "eu-test-1", "a", "b"
		b, err := Open(t.Context(), c, "store", "a")
		if err != nil {
			t.Fatal(err)
		}
		request, err := s3.NewPresignClient(b.client, withoutSteps).PresignGetObject(t.Context(), &s3.GetObjectInput{Bucket: &b.bucket, Key: b.objectKey("one")})
		if err != nil || !strings.HasPrefix(request.URL, want) {
			t.Errorf("with the endpoint %q and PathStyle %t the address is %v (%v), want %s", c.Endpoint, c.PathStyle, request, err, want)
		}
	}
}
