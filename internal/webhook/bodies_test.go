package webhook_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"placementsync/internal/webhook"
)

// TestStalledSendersKeepNobodyOut fills all room with bodies that do not go on.
func TestStalledSendersKeepNobodyOut(t *testing.T) {
	const room, senders, size = 4096, 12, 900
	d := newDesk(t, webhook.Config{Secrets: []string{secret}, MaxInFlight: room}).open()
	answers := make(chan int, senders)
	for range senders {
		conn := d.dial()
		_, err := fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\nX-Hook-Signature: %s\r\n\r\n%s",
			sign("other", ""), strings.Repeat("x", size))
		must(t, err)
		go func() {
			if response, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
				answers <- response.StatusCode
				_ = response.Body.Close()
			}
		}()
	}
	refused := func(n int) {
		for range n {
			if status := <-answers; status != http.StatusServiceUnavailable {
				t.Errorf("a stalled sender was answered %d, want 503", status)
			}
		}
	}
	refused(senders - room/size)
	one := delivery{id: "1", topic: "t", body: `"` + strings.Repeat("y", 2*size) + `"`}
	if got := d.send(one); got != http.StatusNoContent {
		t.Errorf("a good delivery was answered %d", got)
	}
	refused(2)
	if got := d.receiver.Counts(); got[webhook.Crowded] != uint64(senders-room/size+2) || got[webhook.Unavailable] != 0 {
		t.Errorf("counted %v", got)
	}
}

// dial opens a connection that ends with the test.
func (d *desk) dial() net.Conn {
	d.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(d.url, "http://"))
	must(d.t, err)
	d.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestWhatClaimsNoSignatureIsNotRead(t *testing.T) {
	d := newDesk(t, webhook.Config{Secrets: []string{secret}, MaxBody: 100}).open()
	if got := d.send(delivery{body: strings.Repeat("x", 101), signature: unsigned}); got != http.StatusUnauthorized {
		t.Errorf("answered %d, want 401 whatever the body", got)
	}
}

func TestRoomForBodies(t *testing.T) {
	var cut []string
	all := webhook.NewBodies(10)
	enter := func(name, text string) webhook.Body {
		return all.Enter(strings.NewReader(text), func() { cut = append(cut, name) })
	}
	arrive := func(b webhook.Body) bool {
		_, err := b.Read(make([]byte, 100))
		return err == nil
	}
	demand := func(step string, got, want any) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", step, got, want)
		}
	}
	first, second, third := enter("first", "1111"), enter("second", "2222"), enter("third", "3333")
	demand("a body finds room", arrive(first), true)
	demand("a body is whole", first.Whole(), true)
	demand("another finds room", arrive(second), true)
	demand("a third one too", arrive(third), true)
	demand("what makes room is the oldest that is not whole", cut, []string{"second"})
	demand("it arrives no more", arrive(second), false)
	demand("nor is it whole", second.Whole(), false)
	third.Whole()
	fourth := enter("fourth", "4444")
	demand("among whole ones there is no room", arrive(fourth), false)
	demand("so that the newcomer goes", cut, []string{"second", "fourth"})
	for _, b := range []webhook.Body{first, second, third, fourth} {
		b.Leave()
	}
	demand("what left has given all of it back", arrive(enter("fifth", "5555555555")), true)
	demand("nobody else was cut", len(cut), 2)
}
