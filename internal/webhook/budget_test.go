package webhook_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"placementsync/internal/webhook"
)

// TestStalledSendersDoNotBlockOthers fills the memory budget with incomplete bodies.
func TestStalledSendersDoNotBlockOthers(t *testing.T) {
	const budget, senders, size = 4096, 12, 900
	d := newFixture(t, webhook.Config{MaxInFlight: budget}).start()
	statuses := make(chan int, senders)
	for range senders {
		conn := d.dial()
		_, err := fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\nX-Hook-Signature: %s\r\n\r\n%s",
			sign("other", ""), strings.Repeat("x", size))
		must(t, err)
		go func() {
			if response, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
				statuses <- response.StatusCode
				_ = response.Body.Close()
			}
		}()
	}
	requireEvicted := func(n int) {
		for range n {
			if status := <-statuses; status != http.StatusServiceUnavailable {
				t.Errorf("a stalled sender got status %d, want 503", status)
			}
		}
	}
	requireEvicted(senders - budget/size)
	hook := delivery{id: "1", topic: "t", body: `"` + strings.Repeat("y", 2*size) + `"`}
	if got := d.send(hook); got != http.StatusNoContent {
		t.Errorf("a complete delivery got status %d, want 204", got)
	}
	requireEvicted(2) // the complete body needs the memory of two more
	if got := d.receiver.Counts(); got[webhook.Crowded] != uint64(senders-budget/size+2) || got[webhook.Unavailable] != 0 {
		t.Errorf("counts are %v, want %d crowded and none unavailable", got, senders-budget/size+2)
	}
}

// onDeadline is a connection that calls a function when its read deadline is set.
type onDeadline func()

func (f onDeadline) SetReadDeadline(time.Time) error {
	f()
	return nil
}

func (d *fixture) dial() net.Conn {
	d.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(d.url, "http://"))
	must(d.t, err)
	d.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestUnsignedBodyIsNotRead(t *testing.T) {
	d := newFixture(t, webhook.Config{MaxBody: 100}).start()
	if got := d.send(delivery{body: strings.Repeat("x", 101), signature: unsigned}); got != http.StatusUnauthorized {
		t.Errorf("got status %d for a long body without a signature, want 401", got)
	}
}

// TestMemoryBudget reads bodies of 4 bytes with a budget of 10 bytes.
func TestMemoryBudget(t *testing.T) {
	var evicted []string
	budget := webhook.NewMemoryBudget(10)
	newBody := func(name, text string) webhook.Body {
		return budget.NewBody(strings.NewReader(text), onDeadline(func() { evicted = append(evicted, name) }))
	}
	read := func(b webhook.Body) bool {
		_, err := b.Read(make([]byte, 100))
		return err == nil
	}
	check := func(step string, got, want any) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %v, want %v", step, got, want)
		}
	}
	first, second, third := newBody("first", "1111"), newBody("second", "2222"), newBody("third", "3333")
	check("read the first body", read(first), true)
	check("protect the first body", first.Protect(), true)
	check("read the second body", read(second), true)
	check("read the third body, which is larger than the free budget", read(third), true)
	check("evicted after the third body", evicted, []string{"second"})
	check("read an evicted body", read(second), false)
	check("protect an evicted body", second.Protect(), false)
	third.Protect()
	fourth := newBody("fourth", "4444")
	check("read a fourth body while the others are protected", read(fourth), false)
	check("evicted after the fourth body", evicted, []string{"second", "fourth"})
	for _, b := range []webhook.Body{first, second, third, fourth} {
		b.Release()
	}
	check("use the whole budget after the release", read(newBody("fifth", "5555555555")), true)
	check("number of evicted bodies", len(evicted), 2)
}
