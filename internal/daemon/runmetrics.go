package daemon

import (
	"cmp"
	"strings"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/stream"
)

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
				counts := map[[2]string]int{}
				for _, c := range night.Checks {
					counts[[2]string{c.Severity, string(c.Outcome)}]++
				}
				for _, severity := range []string{"hold", "warn"} {
					for _, outcome := range []ledger.CheckOutcome{ledger.CheckFailed, ledger.CheckNotRun} {
						emit(float64(counts[[2]string{severity, string(outcome)}]), severity, strings.ReplaceAll(string(outcome), " ", "_"))
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
			for _, stream := range night.Streams {
				collect(stream, emit)
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
				counts := map[ledger.Standing]int{}
				for _, s := range night.Streams {
					if !s.Events && !s.IsExcluded() {
						counts[ledger.StandingOf(s.Grade)]++
					}
				}
				for _, standing := range []ledger.Standing{ledger.Proven, ledger.NotProven, ledger.Carried, ledger.NotRead} {
					if ok {
						emit(float64(counts[standing]), strings.ReplaceAll(string(standing), " ", "_"))
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
