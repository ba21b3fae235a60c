package daemon

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"placementsync/internal/ledger"
)

// metrics are those of nights, for Prometheus. Counters count since the start of the
// process. The results of the last night are gauges, which are set from the ledger at
// the start, so that a restart does not hide them. Times are read from the ledger at
// each scrape: other processes run nights too.
type metrics struct {
	runs, missed, reloads *prometheus.CounterVec

	newRows, changed, gone prometheus.Gauge

	requests, retries, throttled, rejects *prometheus.CounterVec
	rows                                  *prometheus.GaugeVec
	grade                                 *prometheus.GaugeVec
}

func gradeNames() []string {
	return []string{"exact", "repaired", "bounded", "best_effort", "carried_forward", "skipped"}
}

func newMetrics(cfg Config, d *Daemon) *metrics {
	factory := promauto.With(cfg.Metrics)
	counter := func(name, help, label string) *prometheus.CounterVec {
		return factory.NewCounterVec(prometheus.CounterOpts{Name: "placementsync_" + name, Help: help}, []string{label})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return factory.NewGauge(prometheus.GaugeOpts{Name: "placementsync_" + name, Help: help})
	}
	m := &metrics{
		runs:      counter("runs_total", "Nights that ended since the start of the process.", "outcome"),
		missed:    counter("missed_slots_total", "Scheduled times without a night of their own.", "reason"),
		reloads:   counter("config_reloads_total", "Reloads of the configuration.", "result"),
		newRows:   gauge("last_run_new_rows", "Rows that the last published night added."),
		changed:   gauge("last_run_changed_rows", "Rows that the last published night changed."),
		gone:      gauge("last_run_gone_rows", "Rows that the last published night closed."),
		requests:  counter("stream_requests_total", "Requests sent.", "stream"),
		retries:   counter("stream_retries_total", "Requests that repeated another one.", "stream"),
		throttled: counter("stream_throttled_seconds_total", "Time spent waiting for Retry-After and before retries, summed over all workers.", "stream"),
		rejects:   counter("stream_rejects_total", "Values and records that did not fit the schema and were kept raw.", "stream"),
		rows: factory.NewGaugeVec(prometheus.GaugeOpts{Name: "placementsync_stream_rows",
			Help: "Records that the last night read."}, []string{"stream"}),
		grade: factory.NewGaugeVec(prometheus.GaugeOpts{Name: "placementsync_stream_grade",
			Help: "1 for the grade that the last night gave to a stream, 0 for the others."}, []string{"stream", "grade"}),
	}
	m.createSeries(cfg.Streams)
	registerNow(cfg, d)
	return m
}

// createSeries creates every series before its first event: a rate over a series that
// appears with its first event misses that event.
func (m *metrics) createSeries(streams []string) {
	for _, outcome := range []ledger.Outcome{ledger.Complete, ledger.Partial, ledger.Failed, ledger.Interrupted, ledger.Held} {
		m.runs.WithLabelValues(string(outcome))
	}
	for _, why := range []string{missedRunning, missedHeld, missedDowntime} {
		m.missed.WithLabelValues(why)
	}
	m.reloads.WithLabelValues("applied")
	m.reloads.WithLabelValues("refused")
	for _, s := range streams {
		for _, c := range []*prometheus.CounterVec{m.requests, m.retries, m.throttled, m.rejects} {
			c.WithLabelValues(s)
		}
		m.rows.WithLabelValues(s)
		for _, g := range gradeNames() {
			m.grade.WithLabelValues(s, g)
		}
	}
}

// registerNow registers what is read at each scrape.
func registerNow(cfg Config, d *Daemon) {
	lookup := func(name, help string, value func() float64) {
		cfg.Metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "placementsync_" + name, Help: help}, value))
	}
	lookup("snapshot_age_seconds", "Age of the snapshot that readers see; NaN before the first.", func() float64 {
		now := d.board.readSnapshot()
		if n, ok := now.currentRun(); ok {
			return now.At.Sub(n.SnapshotAt).Seconds()
		}
		return math.NaN()
	})
	lookup("last_success_timestamp_seconds", "When the last night that published a snapshot ended; 0: never.", func() float64 {
		n, _ := d.board.readSnapshot().lastPublished()
		return unixSeconds(n.EndedAt)
	})
	lookup("last_run_duration_seconds", "How long the last night took.", func() float64 {
		n, _ := d.board.readSnapshot().lastNight()
		return n.Took().Seconds()
	})
	lookup("next_run_timestamp_seconds", "When the next night is due.", func() float64 {
		return unixSeconds(d.board.readSnapshot().Next)
	})
	lookup("ready", "1 if /readyz answers 200.", func() float64 { return boolValue(len(d.unreadyReasons()) == 0) })
	lookup("run_active", "1 while a night runs.", func() float64 { return boolValue(!d.board.readSnapshot().Running.IsZero()) })
	lookup("last_verify_timestamp_seconds", "When the warehouse was last verified; 0: never.", func() float64 {
		v, _ := d.cfg.Verified()
		return unixSeconds(v.At)
	})
	lookup("last_verify_damaged_files", "Damaged files that the last verification found.", func() float64 {
		v, _ := d.cfg.Verified()
		return float64(len(v.Damaged))
	})
	cfg.Metrics.MustRegister(followStates(cfg.Follows))
	if cfg.HookResults != nil {
		cfg.Metrics.MustRegister(hookResults(cfg.HookResults))
	}
	lookup("run_requests", "Requests of the night that runs; 0: none runs.", func() float64 {
		p, _ := d.cfg.Progress()
		return float64(p.Requests)
	})
	lookup("run_requests_per_second", "Rate of requests of the night that runs; 0: none runs.", func() float64 {
		p, _ := d.cfg.Progress()
		return p.PerSecond
	})
	cfg.Metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "placementsync_build_info", Help: "The version, always 1.",
			ConstLabels: prometheus.Labels{"version": cfg.Version}}, func() float64 { return 1 }))
}

// followStates exports how far the work after nights has come.
type followStates func() []ledger.Follow

// followMetric is what is exported of each kind of such work.
type followMetric struct {
	name, help string
	value      func(ledger.Follow) float64
}

func followMetrics() []followMetric {
	return []followMetric{
		{"last_success_timestamp_seconds", "When the work after a night last succeeded; 0: never.", func(f ledger.Follow) float64 { return unixSeconds(f.Succeeded) }},
		{"last_duration_seconds", "How long the last work after a night took.", func(f ledger.Follow) float64 { return f.Last.Took().Seconds() }},
		{"failures", "How often the work after a night failed since it last succeeded.", func(f ledger.Follow) float64 { return float64(f.Failures) }},
		{"behind", "1 if the last work after a night failed.", func(f ledger.Follow) float64 { return boolValue(f.IsBehind()) }},
	}
}

func (m followMetric) newDesc() *prometheus.Desc {
	return prometheus.NewDesc("placementsync_follow_"+m.name, m.help, []string{"kind"}, nil)
}

// newFollowInfo describes the metric whose label says what was brought elsewhere.
func newFollowInfo() *prometheus.Desc {
	return prometheus.NewDesc("placementsync_follow_info", "The run that the last work after a night brought elsewhere, always 1.", []string{"kind", "run"}, nil)
}

// Describe implements prometheus.Collector.
func (f followStates) Describe(to chan<- *prometheus.Desc) {
	to <- newFollowInfo()
	for _, m := range followMetrics() {
		to <- m.newDesc()
	}
}

// Collect implements prometheus.Collector.
func (f followStates) Collect(to chan<- prometheus.Metric) {
	for _, one := range f() {
		to <- prometheus.MustNewConstMetric(newFollowInfo(), prometheus.GaugeValue, 1, one.Last.Kind, one.Last.Version)
		for _, m := range followMetrics() {
			to <- prometheus.MustNewConstMetric(m.newDesc(), prometheus.GaugeValue, m.value(one), one.Last.Kind)
		}
	}
}

// hookResults exports the counts of the webhook receiver.
type hookResults func() map[string]uint64

func (h hookResults) newDesc() *prometheus.Desc {
	return prometheus.NewDesc("placementsync_webhook_results_total", "Webhook deliveries by result.", []string{"result"}, nil)
}

// Describe implements prometheus.Collector.
func (h hookResults) Describe(to chan<- *prometheus.Desc) { to <- h.newDesc() }

// Collect implements prometheus.Collector.
func (h hookResults) Collect(to chan<- prometheus.Metric) {
	for result, n := range h() {
		to <- prometheus.MustNewConstMetric(h.newDesc(), prometheus.CounterValue, float64(n), result)
	}
}

// countNight adds a night that ended to the counters.
func (m *metrics) countNight(n ledger.Run) {
	m.runs.WithLabelValues(string(n.Outcome)).Inc()
	if n.Outcome == ledger.Held {
		return
	}
	for _, s := range n.Streams {
		m.requests.WithLabelValues(s.Stream).Add(float64(s.Requests))
		m.retries.WithLabelValues(s.Stream).Add(float64(s.Retries))
		m.throttled.WithLabelValues(s.Stream).Add(s.RetryAfterSeconds)
		m.rejects.WithLabelValues(s.Stream).Add(float64(s.Rejects))
	}
	if n.IsPublished() {
		m.setLastNight(n)
	}
}

// setLastNight sets the gauges to the results of a published night.
func (m *metrics) setLastNight(n ledger.Run) {
	m.newRows.Set(float64(n.New))
	m.changed.Set(float64(n.Changed))
	m.gone.Set(float64(n.Gone))
	for _, s := range n.Streams {
		m.rows.WithLabelValues(s.Stream).Set(float64(s.Rows))
		for _, g := range gradeNames() {
			m.grade.WithLabelValues(s.Stream, g).Set(boolValue(g == s.Grade))
		}
	}
}

func unixSeconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1e3
}

func boolValue(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
