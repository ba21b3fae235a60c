package webhook_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"placementsync/internal/testing/harness"
	"placementsync/internal/webhook"
)

// stall starts a delivery with a body that never ends. The body is not signed by the secret.
func (d *fixture) stall(bytes int) *net.TCPConn {
	d.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(d.url, "http://"))
	harness.Must(d.t, err)
	d.t.Cleanup(func() { _ = conn.Close() })
	_, err = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\nX-Hook-Signature: %s\r\n\r\n%s",
		sign("other", ""), strings.Repeat("x", bytes))
	harness.Must(d.t, err)
	return conn.(*net.TCPConn)
}

// TestBodiesUseLimitedMemory sends bodies to a receiver with memory for 4096 bytes. Stalled senders use only the
// memory of the bytes that they have sent, although they announce more. When a delivery ends, its memory is free.
func TestBodiesUseLimitedMemory(t *testing.T) {
	d := newFixture(t, webhook.Config{MaxInFlight: 4096}).start()
	var stalled []*net.TCPConn
	for range 100 {
		stalled = append(stalled, d.stall(1))
	}
	for i := range 3 {
		if got := d.send(delivery{id: fmt.Sprint(i), body: strings.Repeat(" ", 3900+i)}); got != http.StatusNoContent {
			t.Errorf("beside stalled senders, a delivery got status %d, want 204", got)
		}
	}
	if got := d.send(delivery{id: "large", body: strings.Repeat(" ", 5000)}); got != http.StatusServiceUnavailable {
		t.Errorf("a body larger than the memory got status %d, want 503", got)
	}
	for _, conn := range stalled {
		harness.Must(t, conn.CloseWrite())
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		harness.Must(t, err)
		if response.StatusCode != http.StatusBadRequest {
			t.Errorf("an incomplete body got status %d, want 400", response.StatusCode)
		}
		harness.Must(t, response.Body.Close())
	}
	if got := d.send(delivery{id: "last", body: strings.Repeat(" ", 4096)}); got != http.StatusNoContent {
		t.Errorf("a later delivery got status %d, want 204", got)
	}
	if counts := d.receiver.Counts(); counts[webhook.Crowded] != 1 || counts[webhook.Unavailable] != 0 {
		t.Errorf("counts are %v, want 1 crowded and none unavailable", counts)
	}
}
