package notify

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"placementsync/internal/testing/harness"
)

// TestPausesGrow sends to a receiver that fails. A program that is stopped does not wait.
func TestPausesGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var attempts []time.Duration
		n := New(Config{}, slog.New(slog.DiscardHandler))
		_ = n.retry(t.Context(), func(context.Context) (bool, error) {
			attempts = append(attempts, time.Since(start))
			return true, errors.New("503")
		})
		if want := []time.Duration{0, 2 * time.Second, 10 * time.Second}; !slices.Equal(attempts, want) {
			t.Errorf("the attempts began after %v, want %v", attempts, want)
		}
		stopped, stop := context.WithCancel(t.Context())
		stop()
		failures := 0
		_ = n.retry(stopped, func(context.Context) (bool, error) {
			failures++
			return true, errors.New("503")
		})
		if failures != 1 || time.Since(start) != 10*time.Second {
			t.Errorf("a stopped program sent %d times, %v after the start, want once after 10s", failures, time.Since(start))
		}
		if n.http.Timeout != 10*time.Second {
			t.Errorf("an attempt may take %v, want 10s", n.http.Timeout)
		}
	})
}

// TestPortsOfMailServers checks the ports of servers whose port is not configured.
func TestPortsOfMailServers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mail Mail
		want string
	}{
		{Mail{TLS: StartTLS}, "mail.test:587"}, {Mail{TLS: FullTLS}, "mail.test:465"}, {Mail{TLS: NoTLS}, "mail.test:25"}, {Mail{TLS: NoTLS, Port: 2525}, "mail.test:2525"},
	} {
		c.mail.Host = "mail.test"
		client, err := c.mail.newClient(t.Context(), time.Second)
		harness.Must(t, err)
		if got := client.ServerAddr(); got != c.want {
			t.Errorf("%s with port %d: got %s, want %s", c.mail.TLS, c.mail.Port, got, c.want)
		}
	}
}
