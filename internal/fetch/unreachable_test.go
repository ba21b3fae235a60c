package fetch_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"placementsync/internal/fetch"
)

// nameless is a transport whose resolver answers every question with a code of DNS.
func nameless(t *testing.T, code byte) http.RoundTripper {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	go func() {
		message := make([]byte, 512)
		for {
			n, from, err := server.ReadFrom(message)
			if err != nil {
				return
			}
			// The question comes back, as a response with the code.
			message[2], message[3] = message[2]|0x80, 0x80|code
			_, _ = server.WriteTo(message[:n], from)
		}
	}()
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", server.LocalAddr().String())
	}}
	return &http.Transport{DialContext: (&net.Dialer{Resolver: resolver}).DialContext}
}

// TestNobodyAnswers holds what is repeated where a host has no name or does not listen,
// for a night and for somebody who waits.
func TestNobodyAnswers(t *testing.T) {
	const noSuchName, refusedByServer = 3, 5
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	refusing := quick(nil)
	refusing.BaseURL, refusing.Transport = "http://"+closed.Addr().String(), nil
	unknown, ill := quick(nil), quick(nil)
	unknown.BaseURL, unknown.Transport = "http://nosuch.example.", nameless(t, noSuchName)
	ill.BaseURL, ill.Transport = "http://ill.example.", nameless(t, refusedByServer)
	for name, c := range map[string]struct {
		cfg         fetch.Config
		impatient   bool
		want        string
		unreachable bool
		repeats     int
	}{
		"an unknown name, at night":       {unknown, false, "after 3 attempts: dial tcp: lookup nosuch.example.", true, 2},
		"an unknown name, for somebody":   {unknown, true, "no such host; nothing answers there: correct api.base_url if it is wrong", true, 0},
		"a closed port, at night":         {refusing, false, "after 3 attempts: dial tcp " + closed.Addr().String(), true, 2},
		"a closed port, for somebody":     {refusing, true, "connection refused; nothing answers there", true, 0},
		"an ill resolver, for somebody":   {ill, true, "after 3 attempts: dial tcp: lookup ill.example.", false, 2},
		"an ill service, for somebody":    {served(t, play(status(503))), true, "answered 503", false, 2},
		"a service that resets, for both": {served(t, play(reset)), true, "after 3 attempts", false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			c.cfg.FailUnreachable = c.impatient
			client, err := fetch.New(c.cfg, nil, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			err = one(t, client)
			checkError(t, err, c.want)
			if got := errors.Is(err, fetch.ErrUnreachable); got != c.unreachable {
				t.Errorf("unreachable is %t, want %t: %v", got, c.unreachable, err)
			}
			if got := strings.Count(log.String(), "request is repeated"); got != c.repeats {
				t.Errorf("the log tells of %d repeats, want %d:\n%s", got, c.repeats, &log)
			}
		})
	}
}
