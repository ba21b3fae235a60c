package webhook_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"placementsync/internal/webhook"
)

// directReceiver is a receiver whose handler is called without a network, for tests with synctest.
type directReceiver struct{ receiver *webhook.Receiver }

func newDirectReceiver(t *testing.T, dir string) directReceiver {
	t.Helper()
	receiver := webhook.New(webhook.Config{Dir: dir}, slog.New(slog.DiscardHandler), time.Now)
	must(t, receiver.Reload(policyOf(secret)))
	must(t, receiver.Open())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- receiver.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	synctest.Wait()
	return directReceiver{receiver}
}

func (r directReceiver) send(id string) int {
	body := strings.NewReader("{}")
	req := httptest.NewRequest(http.MethodPost, "/hooks", body)
	req.Header.Set("x-hook-event-id", id)
	req.Header.Set("x-hook-signature", sign(secret, "{}"))
	w := httptest.NewRecorder()
	r.receiver.ServeHTTP(w, req)
	return w.Code
}

// BenchmarkDeliveries sends 500 signed deliveries per second over HTTP and reports the
// response times.
func BenchmarkDeliveries(b *testing.B) {
	const perSecond = 500
	d := newFixture(b, webhook.Config{}).start()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	bodyFormat := `{"article_id":"` + strings.Repeat("a", 36) + `","notes":"` + strings.Repeat("x", 1000) + `","n":%d}`
	durations := make([]time.Duration, b.N)
	var failed atomic.Int64
	var pending sync.WaitGroup
	tick := time.NewTicker(time.Second / perSecond)
	defer tick.Stop()
	b.ResetTimer()
	for i := range b.N {
		<-tick.C
		pending.Go(func() {
			start := time.Now()
			resp, err := client.Do(d.request(delivery{id: fmt.Sprint(i), topic: webhook.StatusChanged, body: fmt.Sprintf(bodyFormat, i)}))
			if err != nil || resp.StatusCode != http.StatusNoContent {
				failed.Add(1)
				return
			}
			durations[i] = time.Since(start)
			_ = resp.Body.Close()
		})
	}
	pending.Wait()
	b.StopTimer()
	slices.Sort(durations)
	b.ReportMetric(float64(durations[len(durations)/2].Microseconds())/1e3, "p50-ms")
	b.ReportMetric(float64(durations[len(durations)*99/100].Microseconds())/1e3, "p99-ms")
	b.ReportMetric(float64(failed.Load()), "failed")
}
