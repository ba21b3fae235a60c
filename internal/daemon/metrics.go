package daemon

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const metricPrefix = "placementsync_"

type metric struct {
	name, help string
	labels     []string
	isCounter  bool
	// collect emits the values. An unknown value is not emitted, because zero would look like a
	// known value.
	collect func(s scrape, emit emitter)
}

type emitter func(value float64, labels ...string)

// scrape is the state that one response of /metrics reports.
type scrape struct {
	status
	d *Daemon
}

func counter(name, help string, labels []string, collect func(scrape, emitter)) metric {
	return metric{name, help, labels, true, collect}
}

func gauge(name, help string, labels []string, collect func(scrape, emitter)) metric {
	return metric{name, help, labels, false, collect}
}

func (m metric) newDesc() *prometheus.Desc {
	return prometheus.NewDesc(metricPrefix+m.name, m.help, m.labels, nil)
}

type collector struct {
	d       *Daemon
	metrics []metric
}

func newCollector(d *Daemon) collector {
	c := collector{d: d}
	for _, group := range [][]metric{counterMetrics(), nightMetrics(), streamMetrics(), refreshMetrics(), diskMetrics(), hookMetrics(),
		verifyMetrics(), followUpMetrics(), watchMetrics(), scheduleMetrics()} {
		c.metrics = append(c.metrics, group...)
	}
	return c
}

// Describe implements prometheus.Collector.
func (c collector) Describe(to chan<- *prometheus.Desc) {
	for _, m := range c.metrics {
		to <- m.newDesc()
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(to chan<- prometheus.Metric) {
	s := scrape{c.d.state.read(), c.d}
	for _, m := range c.metrics {
		desc, kind := m.newDesc(), prometheus.GaugeValue
		if m.isCounter {
			kind = prometheus.CounterValue
		}
		m.collect(s, func(value float64, labels ...string) {
			to <- prometheus.MustNewConstMetric(desc, kind, value, labels...)
		})
	}
}

// ifRead limits collect to the scrapes for which a source was read.
func ifRead(source string, collect func(s scrape, emit emitter)) func(scrape, emitter) {
	return func(s scrape, emit emitter) {
		isRead := s.Inspection.Has(source)
		if source == SourceLedger {
			isRead = s.LedgerErr == nil
		}
		if isRead {
			collect(s, emit)
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
