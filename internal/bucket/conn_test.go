package bucket

import (
	"net"
	"testing"
	"testing/synctest"
	"time"
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
