package daemon

import (
	"cmp"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"placementsync/internal/ledger"
	"placementsync/internal/repair"
	"placementsync/internal/stream"
	"placementsync/internal/watch"
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

func counterMetrics() []metric {
	counted := func(name, label, help string) metric {
		return counter(name, help, []string{label}, func(s scrape, emit emitter) {
			for series, value := range s.counts.values {
				if series.counter == name {
					emit(value, series.label)
				}
			}
		})
	}
	return []metric{
		counted(runsTotal, "outcome", "Nights that ended since the start of the process, including nights of other processes."),
		counted(refreshesTotal, "outcome", "Refreshes that ended since the start of the process, including refreshes of other processes."),
		counted(requestsTotal, "stream", "Requests sent."),
		counted(retriesTotal, "stream", "Repeated requests."),
		counted(throttledTotal, "stream", "Waiting time for Retry-After and before retries, summed over all workers."),
		counted(rejectsTotal, "stream", "Values and records that did not fit the schema. They are stored unchanged in meta.rejects."),
		counted(readErrorsTotal, "source", "Failed reads of a source of metrics. The metrics of the source are missing until a read succeeds."),
		counted(reloadsTotal, "result", "Reloads of the configuration."),
	}
}

func nightMetrics() []metric {
	ofLastPublished := func(value func(ledger.Run) float64) func(scrape, emitter) {
		return ifRead(SourceLedger, func(s scrape, emit emitter) {
			if night, ok := s.lastPublishedNight(); ok {
				emit(value(night))
			}
		})
	}
	return []metric{
		gauge("last_run_outcome", "1 for the outcome of the last night, 0 for the others.", []string{"outcome"},
			ifRead(SourceLedger, func(s scrape, emit emitter) {
				if night, ok := s.lastNight(); ok {
					for _, outcome := range runOutcomes() {
						emit(boolValue(outcome == night.Outcome), string(outcome))
					}
				}
			})),
		gauge("last_run_duration_seconds", "Duration of the last night. Absent if the night was killed.", nil,
			ifRead(SourceLedger, func(s scrape, emit emitter) {
				if night, _ := s.lastNight(); !night.EndedAt.IsZero() {
					emit(max(0, night.Took().Seconds()))
				}
			})),
		gauge("last_run_held", "1 if failed checks hold the last night, or held it until it was discarded. 0 otherwise.", nil,
			ifRead(SourceLedger, func(s scrape, emit emitter) {
				if night, ok := s.lastNight(); ok {
					emit(boolValue(night.Held))
				}
			})),
		gauge("held_since_timestamp_seconds", "Time since which a night is held. 0 if no night is held.", nil,
			ifRead(SourceHeld, func(s scrape, emit emitter) {
				if held := s.Inspection.Held; held != nil {
					emit(unixSeconds(held.Run.EndedAt))
				} else {
					emit(0)
				}
			})),
		gauge("last_audit_checks", "Checks that failed or did not run (not_run) in the last night that was published or held.", []string{"severity", "outcome"},
			ifRead(SourceLedger, func(s scrape, emit emitter) {
				// A night that was neither published nor held can have ended before all checks ran.
				night, ok := s.findLast(func(r ledger.Run) bool { return r.Held || r.IsPublished() })
				if !ok {
					return
				}
				checks := map[[2]string]int{} // counts by severity and outcome
				for _, c := range night.Checks {
					checks[[2]string{c.Severity, string(c.Outcome)}]++
				}
				for _, severity := range []string{"hold", "warn"} {
					for _, outcome := range []ledger.CheckOutcome{ledger.CheckFailed, ledger.CheckNotRun} {
						emit(float64(checks[[2]string{severity, string(outcome)}]), severity, strings.ReplaceAll(string(outcome), " ", "_"))
					}
				}
			})),
		gauge("last_run_new_rows", "Rows that the last published night added.", nil,
			ofLastPublished(func(r ledger.Run) float64 { return float64(r.New) })),
		gauge("last_run_changed_rows", "Rows that the last published night changed.", nil,
			ofLastPublished(func(r ledger.Run) float64 { return float64(r.Changed) })),
		gauge("last_run_gone_rows", "Rows that the last published night deleted. History keeps them.", nil,
			ofLastPublished(func(r ledger.Run) float64 { return float64(r.Gone) })),
		gauge("last_success_timestamp_seconds", "End of the last night that published a snapshot. For a replay, the time of its snapshot. 0 before the first snapshot.", nil,
			ifRead(SourceLedger, func(s scrape, emit emitter) {
				night, _ := s.lastSuccess()
				emit(unixSeconds(night.EndedAt))
			})),
		gauge("snapshot_timestamp_seconds", "Time of the current snapshot. 0 before the first snapshot.", nil,
			ifRead(SourceLedger, func(s scrape, emit emitter) {
				emit(unixSeconds(s.CurrentRun.SnapshotAt))
			})),
	}
}

func streamMetrics() []metric {
	perStream := func(collect func(ledger.Stream, emitter)) func(scrape, emitter) {
		return ifRead(SourceLedger, func(s scrape, emit emitter) {
			night, _ := s.lastPublishedNight()
			for _, read := range night.Streams {
				collect(read, emit)
			}
		})
	}
	return []metric{
		gauge("stream_rows", "Rows of a stream in the last published night.", []string{"stream"},
			perStream(func(s ledger.Stream, emit emitter) { emit(float64(s.Rows), s.Stream) })),
		gauge("stream_grade", "1 for the grade of a stream in the last published night, 0 for the others. Webhook streams have no grade.", []string{"stream", "grade"},
			perStream(func(s ledger.Stream, emit emitter) {
				for _, grade := range stream.Grades() {
					if !s.Events {
						emit(boolValue(grade == s.Grade), s.Stream, string(grade))
					}
				}
			})),
		gauge("stream_left_out", "1 for a stream that the configuration excluded from the last published night, 0 for the others.", []string{"stream"},
			perStream(func(s ledger.Stream, emit emitter) { emit(boolValue(s.IsExcluded()), s.Stream) })),
		gauge("streams", "Streams of the last published night by the meaning of their grade. Webhook streams and streams that the configuration excludes are not counted.", []string{"standing"},
			ifRead(SourceLedger, func(s scrape, emit emitter) {
				night, ok := s.lastPublishedNight()
				streams := map[ledger.Standing]int{} // counts
				for _, read := range night.Streams {
					if !read.Events && !read.IsExcluded() {
						streams[ledger.StandingOf(read.Grade)]++
					}
				}
				for _, standing := range []ledger.Standing{ledger.Proven, ledger.NotProven, ledger.Carried, ledger.NotRead} {
					if ok {
						emit(float64(streams[standing]), strings.ReplaceAll(string(standing), " ", "_"))
					}
				}
			})),
		gauge("table_rows", "Rows of a table in the current version.", []string{"table"},
			ifRead(SourceVersion, func(s scrape, emit emitter) {
				for _, t := range s.Inspection.Tables {
					emit(float64(t.Rows), t.Name)
				}
			})),
		gauge("series_missing", "Days of published snapshots that are missing in the Parquet series, because a run could not write them.", nil,
			ifRead(SourceVersion, func(s scrape, emit emitter) { emit(float64(s.Inspection.MissingDays)) })),
	}
}

func refreshMetrics() []metric {
	return []metric{
		gauge("last_refresh_timestamp_seconds", "End of the last refresh, or its start if it was killed. 0 before the first refresh.", nil,
			ifRead(SourceLedger, func(s scrape, emit emitter) {
				emit(unixSeconds(cmp.Or(s.LastRefresh.EndedAt, s.LastRefresh.StartedAt)))
			})),
		gauge("last_refresh_duration_seconds", "Duration of the last refresh. Absent if the refresh was killed.", nil,
			ifRead(SourceLedger, func(s scrape, emit emitter) {
				if !s.LastRefresh.EndedAt.IsZero() {
					emit(max(0, s.LastRefresh.Took().Seconds()))
				}
			})),
		gauge("refresh_failures", "Failed refreshes since the last success.", nil,
			ifRead(SourceLedger, func(s scrape, emit emitter) { emit(float64(s.RefreshFailures)) })),
	}
}

func scheduleMetrics() []metric {
	// The interval after the last success is used, because the interval around now is wrong
	// on days without slots.
	emitInterval := func(schedule Schedule, after time.Time, emit emitter) {
		if !schedule.IsNever() {
			emit(schedule.Interval(after).Seconds())
		}
	}
	timestamp := func(timeOf func(scrape) time.Time) func(scrape, emitter) {
		return func(s scrape, emit emitter) {
			if at := timeOf(s); !at.IsZero() {
				emit(unixSeconds(at))
			}
		}
	}
	return []metric{
		gauge("build_info", "Always 1. The label version is the version of the program.", []string{"version"},
			func(s scrape, emit emitter) { emit(1, s.d.cfg.Version) }),
		counter("missed_slots_total", "Missed slots of the schedule.", []string{"reason"}, func(s scrape, emit emitter) {
			for _, reason := range []string{missedRunning, missedLocked, missedDowntime} {
				emit(float64(s.Missed[reason]), reason)
			}
		}),
		gauge("config_last_reload_successful", "1 if the last reload of the configuration was applied or there was no reload, 0 if it had errors.", nil,
			func(s scrape, emit emitter) { emit(boolValue(!s.LastReloadRefused)) }),
		gauge("next_run_timestamp_seconds", "Time of the next night.", nil,
			timestamp(func(s scrape) time.Time { return s.NextNight })),
		gauge("schedule_interval_seconds", "Time from the last published night to the next night by the schedule.", nil, func(s scrape, emit emitter) {
			night, _ := s.lastSuccess()
			emitInterval(s.d.settings().Schedule, cmp.Or(night.StartedAt, s.At), emit)
		}),
		gauge("next_verify_timestamp_seconds", "Time of the next verification. Absent without a schedule.", nil,
			timestamp(func(s scrape) time.Time { return s.NextVerify })),
		gauge("verify_interval_seconds", "Time from the last full verification to the next full verification by the schedule.", nil, func(s scrape, emit emitter) {
			after := s.At
			if v := s.Inspection.lastVerification(true); v != nil && !v.At.IsZero() {
				after = v.At
			}
			emitInterval(s.d.settings().VerifySchedule, after, emit)
		}),
		gauge("ready", "1 if /readyz returns status 200.", nil,
			func(s scrape, emit emitter) { emit(boolValue(len(s.d.unreadyReasons(s.status)) == 0)) }),
		gauge("run_active", "1 while a night of this process runs. Nights of other processes are not known.", nil,
			func(s scrape, emit emitter) { emit(boolValue(!s.RunningSince.IsZero())) }),
		gauge("run_requests", "Requests of the running night of this process, or 0.", nil, func(s scrape, emit emitter) {
			p, _ := s.d.cfg.Program.Progress()
			emit(float64(p.Requests))
		}),
		gauge("run_requests_per_second", "Request rate of the running night of this process, or 0.", nil, func(s scrape, emit emitter) {
			p, _ := s.d.cfg.Program.Progress()
			emit(p.PerSecond)
		}),
		gauge("waiting_seconds", "Time for which the running night of this process has been waiting for the service, or 0.", nil, func(s scrape, emit emitter) {
			p, _ := s.d.cfg.Program.Progress()
			if p.WaitingFor == "" {
				emit(0)
			} else {
				emit(s.d.cfg.Now().Sub(p.WaitingSince).Seconds())
			}
		}),
	}
}

func diskMetrics() []metric {
	return []metric{
		gauge("disk_free_bytes", "Free space on the disk of the warehouse.", nil,
			ifRead(SourceFree, func(s scrape, emit emitter) { emit(float64(s.Inspection.FreeBytes)) })),
		gauge("disk_needed_bytes", "Disk space that the next night may need: twice the newest version.", nil,
			ifRead(SourceFree, func(s scrape, emit emitter) { emit(float64(s.Inspection.NeededBytes)) })),
		gauge("disk_used_bytes", "Disk usage of a part of the warehouse. Hard links to one file count once.", []string{"part"},
			ifRead(SourceUsage, func(s scrape, emit emitter) {
				for _, u := range s.Inspection.Usage {
					emit(float64(u.Bytes), u.Part)
				}
			})),
		gauge("disk_measured_timestamp_seconds", "Time of the last measurement of disk_used_bytes.", nil,
			ifRead(SourceUsage, func(s scrape, emit emitter) { emit(unixSeconds(s.Inspection.UsageAt)) })),
	}
}

func hookMetrics() []metric {
	return []metric{
		counter("webhook_results_total", "Webhook deliveries by result.", []string{"result"}, func(s scrape, emit emitter) {
			for result, n := range s.d.cfg.Program.HookResults() {
				emit(float64(n), result)
			}
		}),
		gauge("inbox_bytes", "Size of the webhook events that are not published yet.", nil,
			ifRead(SourceInbox, func(s scrape, emit emitter) { emit(float64(s.Inspection.Inbox.Bytes)) })),
		gauge("inbox_limit_bytes", "Limit of the inbox. Absent without a limit.", nil,
			ifRead(SourceInbox, func(s scrape, emit emitter) {
				if limit := s.Inspection.Inbox.Limit; limit > 0 {
					emit(float64(limit))
				}
			})),
		gauge("inbox_full_since_timestamp_seconds", "Time when the inbox became full. 0 if it is not full.", nil,
			ifRead(SourceInbox, func(s scrape, emit emitter) { emit(unixSeconds(s.Inspection.Inbox.FullSince)) })),
	}
}

// The metrics include verifications by the command "verify".
func verifyMetrics() []metric {
	depthLabel := []string{"depth"}
	perVerification := func(collect func(v repair.VerifyRecord, depth string, emit emitter)) func(scrape, emitter) {
		return ifRead(SourceVerified, func(s scrape, emit emitter) {
			for _, v := range s.Inspection.Verifications {
				collect(v, depthOf(v.ReadData), emit)
			}
		})
	}
	return []metric{
		gauge("last_verify_timestamp_seconds", "Time of the last verification of names and sizes (structure) or of every byte (full). 0 before the first verification.", depthLabel,
			ifRead(SourceVerified, func(s scrape, emit emitter) {
				for _, readData := range []bool{false, true} {
					var at time.Time
					if v := s.Inspection.lastVerification(readData); v != nil {
						at = v.At
					}
					emit(unixSeconds(at), depthOf(readData))
				}
			})),
		gauge("last_verify_duration_seconds", "Duration of the last verification.", depthLabel,
			perVerification(func(v repair.VerifyRecord, depth string, emit emitter) {
				if !v.At.IsZero() { // zero if all verifications failed
					emit(v.Seconds, depth)
				}
			})),
		gauge("last_verify_damaged_files", "Damaged files found by the last verification.", depthLabel,
			perVerification(func(v repair.VerifyRecord, depth string, emit emitter) {
				if !v.At.IsZero() {
					emit(float64(len(v.DamagedFiles)), depth)
				}
			})),
		gauge("last_verify_result", "1 for the result of the last verification, 0 for the other results. The result failed means that the verification could not finish.", []string{"depth", "result"},
			perVerification(func(v repair.VerifyRecord, depth string, emit emitter) {
				for _, result := range []string{repair.Whole, repair.Rebuildable, repair.DataLost, string(ledger.Failed)} {
					emit(boolValue(verdict(v) == result), depth, result)
				}
			})),
	}
}

func followUpMetrics() []metric {
	perFollowUp := func(value func(ledger.FollowUp) float64) func(scrape, emitter) {
		return ifRead(SourceLedger, func(s scrape, emit emitter) {
			for _, f := range s.FollowUps {
				emit(value(f), f.Last.Kind)
			}
		})
	}
	kindLabel := []string{"kind"}
	return []metric{
		gauge("follow_last_success_timestamp_seconds", "Time of the last success of this follow-up (watch, lake, backup, rehearsal). 0 before the first success.", kindLabel,
			perFollowUp(func(f ledger.FollowUp) float64 { return unixSeconds(f.SucceededAt) })),
		gauge("follow_last_duration_seconds", "Duration of the last run of this follow-up.", kindLabel,
			perFollowUp(func(f ledger.FollowUp) float64 { return f.Last.Took().Seconds() })),
		gauge("follow_failures", "Consecutive failures of this follow-up.", kindLabel,
			perFollowUp(func(f ledger.FollowUp) float64 { return float64(f.Failures) })),
		gauge("follow_behind", "1 if this follow-up failed since its last success.", kindLabel,
			perFollowUp(func(f ledger.FollowUp) float64 { return boolValue(f.IsBehind()) })),
		gauge("follow_info", "Always 1. The label run is the night that this follow-up processed last.", []string{"kind", "run"},
			ifRead(SourceLedger, func(s scrape, emit emitter) {
				for _, f := range s.FollowUps {
					emit(1, f.Last.Kind, f.Last.Version)
				}
			})),
	}
}

func watchMetrics() []metric {
	perWatch := func(value func(watch.Status) float64) func(scrape, emitter) {
		return ifRead(SourceWatches, func(s scrape, emit emitter) {
			for _, w := range s.Inspection.Watches {
				emit(value(w), w.Watch)
			}
		})
	}
	watchLabel := []string{"watch"}
	return []metric{
		gauge("watch_snapshot_timestamp_seconds", "Time of the snapshot that a watch checked last. 0 before the first check.", watchLabel,
			perWatch(func(w watch.Status) float64 { return unixSeconds(w.Evaluated.At) })),
		gauge("watch_findings", "Findings of a watch in the snapshot that it checked last.", watchLabel,
			perWatch(func(w watch.Status) float64 { return float64(w.Found) })),
		gauge("watch_waiting_messages", "Messages of a watch that are not delivered yet.", watchLabel,
			perWatch(func(w watch.Status) float64 { return float64(w.Pending) })),
		gauge("watch_sent_timestamp_seconds", "Time of the last message that reached all receivers of a watch. 0 before the first such message.", watchLabel,
			perWatch(func(w watch.Status) float64 { return unixSeconds(w.Sent) })),
	}
}
