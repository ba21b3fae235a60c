package main

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"placementsync/internal/sim"
	"placementsync/internal/webhook"
)

// delivery is one webhook delivery of a load test.
type delivery struct {
	event   sim.Delivery
	secrets []string
	// wantStatus is the expected status of the response.
	wantStatus int
	// isReplayed is set if the event was sent before under the same id.
	isReplayed bool

	status  int
	err     error
	latency time.Duration // since the delivery was due, even if it was sent later
}

// senders send the deliveries of a trial on time.
type senders struct {
	url    string
	client *http.Client
	// interval is the time between two deliveries.
	interval   time.Duration
	deliveries []delivery
}

func newSenders(plan loadPlan, url string, articles []string) *senders {
	s := &senders{url: url + "/hooks", interval: time.Second / time.Duration(plan.Rate),
		client: &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 1024}}}
	for i := range int(plan.Duration / s.interval) {
		s.deliveries = append(s.deliveries, newDelivery(i, articles[i%len(articles)]))
	}
	return s
}

// newDelivery returns the i-th delivery. Of each hundred deliveries, one has no signature, one is signed
// with a wrong secret, one repeats the previous event, and one repeats an older event.
func newDelivery(i int, article string) delivery {
	d := delivery{secrets: []string{loadSecret}, wantStatus: http.StatusNoContent}
	eventNumber := i
	switch i % 100 {
	case 13:
		d.secrets, d.wantStatus = nil, http.StatusUnauthorized
	case 47:
		d.secrets, d.wantStatus = []string{"another"}, http.StatusUnauthorized
	case 71:
		eventNumber, d.isReplayed = i-1, true
	case 91:
		eventNumber, d.isReplayed = i-60, true
	}
	body := fmt.Sprintf(`{"article_id":%q,"status":{"id":"st-%d","prefix":"published"},"effective_at":"2026-11-20T02:00:00Z","notes":%q}`,
		article, eventNumber, strings.Repeat("note ", 40))
	d.event = sim.Delivery{ID: fmt.Sprintf("evt-%07d", eventNumber), Topic: "article.status_changed", Source: "trial", Body: []byte(body)}
	return d
}

// send sends all deliveries and waits for the responses.
func (s *senders) send(ctx context.Context) deliveryResults {
	defer s.client.CloseIdleConnections()
	tick := time.NewTicker(max(s.interval, 2*time.Millisecond))
	defer tick.Stop()
	var requests sync.WaitGroup
	start := time.Now()
	for next := 0; next < len(s.deliveries); <-tick.C {
		for ; next < len(s.deliveries) && time.Since(start) >= time.Duration(next)*s.interval; next++ {
			d, due := &s.deliveries[next], start.Add(time.Duration(next)*s.interval)
			requests.Go(func() { d.send(ctx, s, due) })
		}
	}
	requests.Wait()
	return s.summarize(time.Since(start))
}

func (d *delivery) send(ctx context.Context, s *senders, due time.Time) {
	d.event.SentAt = due
	d.status, d.err = sim.Deliver(ctx, s.client, s.url, d.event, d.secrets...)
	d.latency = time.Since(due)
}

// deliveryResults are the results of all deliveries.
type deliveryResults struct {
	Sent, Accepted int
	// Rejected counts the invalid deliveries with the expected status 401.
	Rejected int
	// Rate is the actual number of deliveries a second.
	Rate float64
	// WrongStatuses counts the responses with an unexpected status.
	WrongStatuses int
	// BrokenConnections counts the deliveries without a response, because the connection was refused,
	// reset or timed out.
	BrokenConnections int
	// ServerErrors counts the responses with status 5xx. WrongStatuses counts them too.
	ServerErrors int
	Problems     []string
	P50, P99     time.Duration
	Longest      time.Duration
}

func (s *senders) summarize(took time.Duration) deliveryResults {
	r := deliveryResults{Sent: len(s.deliveries), Rate: float64(len(s.deliveries)) / took.Seconds()}
	var latencies []time.Duration
	for _, d := range s.deliveries {
		latencies = append(latencies, d.latency)
		switch {
		case d.err != nil:
			r.BrokenConnections++
			r.Problems = appendProblem(r.Problems, d.err.Error())
		case d.status != d.wantStatus:
			r.WrongStatuses++
			r.Problems = appendProblem(r.Problems, fmt.Sprintf("%s: got status %d, want %d", d.event.ID, d.status, d.wantStatus))
		case d.status == http.StatusNoContent:
			r.Accepted++
		default:
			r.Rejected++
		}
		if d.status >= 500 {
			r.ServerErrors++
		}
	}
	r.P50, r.P99, r.Longest = latencyPercentiles(latencies)
	return r
}

// appendProblem appends a problem if there are fewer than five.
func appendProblem(known []string, problem string) []string {
	if len(known) < 5 {
		known = append(known, problem)
	}
	return known
}

// latencyPercentiles returns the median, the 99th percentile and the maximum.
func latencyPercentiles(latencies []time.Duration) (p50, p99, longest time.Duration) {
	if len(latencies) == 0 {
		return 0, 0, 0
	}
	slices.Sort(latencies)
	percentile := func(quantile float64) time.Duration {
		return latencies[int(math.Ceil(quantile*float64(len(latencies))))-1]
	}
	return percentile(0.5), percentile(0.99), percentile(1)
}

// acknowledgedEvents returns the ids of the events with a successful response.
func (s *senders) acknowledgedEvents() map[string]bool {
	ids := map[string]bool{}
	for _, d := range s.deliveries {
		if d.status == http.StatusNoContent {
			ids[d.event.ID] = true
		}
	}
	return ids
}

// wantMetrics returns the expected counts in the metrics of "serve", by result of the delivery.
func (s *senders) wantMetrics() map[string]int {
	count := map[string]int{webhook.Unavailable: 0, webhook.Stale: 0, webhook.TooLarge: 0}
	for _, d := range s.deliveries {
		switch {
		case d.wantStatus == http.StatusUnauthorized:
			count[webhook.Unsigned]++
		case d.isReplayed:
			count[webhook.Replayed]++
		default:
			count[webhook.Stored]++
		}
	}
	return count
}

// startStalledSenders keeps n connections open until ctx ends, each with an incomplete large delivery. A
// connection that "serve" closes is replaced. wait returns when all connections are closed.
func startStalledSenders(ctx context.Context, url string, n int) (wait func()) {
	address := strings.TrimPrefix(url, "http://")
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for ctx.Err() == nil {
				stallDelivery(ctx, address)
			}
		})
	}
	return all.Wait
}

func stallDelivery(ctx context.Context, address string) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	_, _ = fmt.Fprintf(conn, "POST /hooks HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\nX-Hook-Signature: v0=%s\r\n\r\n{",
		address, 1<<20, strings.Repeat("0", 64))
	_, _ = conn.Read(make([]byte, 1)) // returns when "serve" responds or closes the connection
}
