package daemon

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"placementsync/internal/ledger"
)

// metrics are the counts of this process alone. All others are read at each scrape, most
// of them from the ledger: other processes run nights too, and a restart hides nothing.
type metrics struct {
	missed, reloads *prometheus.CounterVec
	reloaded        prometheus.Gauge
}

func newMetrics(cfg Config, d *Daemon) *metrics {
	factory := promauto.With(cfg.Metrics)
	counter := func(name, help, label string) *prometheus.CounterVec {
		return factory.NewCounterVec(prometheus.CounterOpts{Name: metricPrefix + name, Help: help}, []string{label})
	}
	m := &metrics{
		missed:  counter("missed_slots_total", "Scheduled times without a night of their own.", "reason"),
		reloads: counter("config_reloads_total", "Reloads of the configuration.", "result"),
		reloaded: factory.NewGauge(prometheus.GaugeOpts{Name: metricPrefix + "config_last_reload_successful",
			Help: "1 if the last reload of the configuration was applied, or there was none; 0 if it was refused."}),
	}
	// A rate over a series that appears with its first event misses that event.
	for _, why := range []string{missedRunning, missedHeld, missedDowntime} {
		m.missed.WithLabelValues(why)
	}
	m.reloads.WithLabelValues("applied")
	m.reloads.WithLabelValues("refused")
	m.reloaded.Set(1)
	cfg.Metrics.MustRegister(newReadings(d),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: metricPrefix + "build_info", Help: "The version, always 1.",
			ConstLabels: prometheus.Labels{"version": cfg.Version}}, func() float64 { return 1 }))
	return m
}

// metricPrefix begins the name of each metric that is not of any process.
const metricPrefix = "placementsync_"

// reading is a metric that is read at each scrape.
type reading struct {
	name, help string
	labels     []string
	isCounter  bool
	// collect emits the values. What is not known is not emitted: a zero would pass for
	// its value.
	collect func(s scrape, emit emitter)
}

// emitter takes a value, with those of the labels.
type emitter func(value float64, labels ...string)

// scrape is what one scrape is answered from.
type scrape struct {
	snapshot
	d *Daemon
}

func (r reading) newDesc() *prometheus.Desc {
	return prometheus.NewDesc(metricPrefix+r.name, r.help, r.labels, nil)
}

// readings exports them.
type readings struct {
	d   *Daemon
	all []reading
}

func newReadings(d *Daemon) readings {
	var all []reading
	for _, some := range [][]reading{runReadings(), nightReadings(), streamReadings(), refreshReadings(), diskReadings(),
		verifyReadings(), followReadings(), watchReadings(), scheduleReadings()} {
		all = append(all, some...)
	}
	if d.cfg.HookResults != nil {
		all = append(all, hookReadings()...)
	}
	return readings{d, all}
}

// Describe implements prometheus.Collector.
func (r readings) Describe(to chan<- *prometheus.Desc) {
	for _, one := range r.all {
		to <- one.newDesc()
	}
}

// Collect implements prometheus.Collector.
func (r readings) Collect(to chan<- prometheus.Metric) {
	s := scrape{r.d.board.readSnapshot(), r.d}
	for _, one := range r.all {
		desc, kind := one.newDesc(), prometheus.GaugeValue
		if one.isCounter {
			kind = prometheus.CounterValue
		}
		one.collect(s, func(value float64, labels ...string) {
			to <- prometheus.MustNewConstMetric(desc, kind, value, labels...)
		})
	}
}

// whenRead is a reading that needs something to have been read.
func whenRead(name string, collect func(s scrape, emit emitter)) func(scrape, emitter) {
	return func(s scrape, emit emitter) {
		if name == ReadLedger && s.LedgerErr == nil || name != ReadLedger && s.Inspection.Has(name) {
			collect(s, emit)
		}
	}
}

// emitOutcomes emits 1 for the outcome that is, and 0 for the others.
func emitOutcomes(emit emitter, is ledger.Outcome) {
	for _, outcome := range runOutcomes() {
		emit(boolValue(outcome == is), string(outcome))
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
