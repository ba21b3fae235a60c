package daemon

import (
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/repair"
	"placementsync/internal/watch"
)

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
	each := func(collect func(v repair.VerifyRecord, depth string, emit emitter)) func(scrape, emitter) {
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
			each(func(v repair.VerifyRecord, depth string, emit emitter) {
				if !v.At.IsZero() { // zero if all verifications failed
					emit(v.Seconds, depth)
				}
			})),
		gauge("last_verify_damaged_files", "Damaged files found by the last verification.", depthLabel,
			each(func(v repair.VerifyRecord, depth string, emit emitter) {
				if !v.At.IsZero() {
					emit(float64(len(v.DamagedFiles)), depth)
				}
			})),
		gauge("last_verify_result", "1 for the result of the last verification, 0 for the other results. The result failed means that the verification could not finish.", []string{"depth", "result"},
			each(func(v repair.VerifyRecord, depth string, emit emitter) {
				for _, result := range []string{repair.Whole, repair.Rebuildable, repair.DataLost, string(ledger.Failed)} {
					emit(boolValue(verdict(v) == result), depth, result)
				}
			})),
	}
}

func followUpMetrics() []metric {
	each := func(value func(ledger.FollowUp) float64) func(scrape, emitter) {
		return ifRead(SourceLedger, func(s scrape, emit emitter) {
			for _, f := range s.FollowUps {
				emit(value(f), f.Last.Kind)
			}
		})
	}
	kindLabel := []string{"kind"}
	return []metric{
		gauge("follow_last_success_timestamp_seconds", "Time of the last success of this follow-up (watch, lake, backup, rehearsal). 0 before the first success.", kindLabel,
			each(func(f ledger.FollowUp) float64 { return unixSeconds(f.SucceededAt) })),
		gauge("follow_last_duration_seconds", "Duration of the last run of this follow-up.", kindLabel,
			each(func(f ledger.FollowUp) float64 { return f.Last.Took().Seconds() })),
		gauge("follow_failures", "Consecutive failures of this follow-up.", kindLabel,
			each(func(f ledger.FollowUp) float64 { return float64(f.Failures) })),
		gauge("follow_behind", "1 if this follow-up failed since its last success.", kindLabel,
			each(func(f ledger.FollowUp) float64 { return boolValue(f.IsBehind()) })),
		gauge("follow_info", "Always 1. The label run is the night that this follow-up processed last.", []string{"kind", "run"},
			ifRead(SourceLedger, func(s scrape, emit emitter) {
				for _, f := range s.FollowUps {
					emit(1, f.Last.Kind, f.Last.Version)
				}
			})),
	}
}

func watchMetrics() []metric {
	each := func(value func(watch.Status) float64) func(scrape, emitter) {
		return ifRead(SourceWatches, func(s scrape, emit emitter) {
			for _, w := range s.Inspection.Watches {
				emit(value(w), w.Watch)
			}
		})
	}
	watchLabel := []string{"watch"}
	return []metric{
		gauge("watch_snapshot_timestamp_seconds", "Time of the snapshot that a watch checked last. 0 before the first check.", watchLabel,
			each(func(w watch.Status) float64 { return unixSeconds(w.Evaluated.At) })),
		gauge("watch_findings", "Findings of a watch in the snapshot that it checked last.", watchLabel,
			each(func(w watch.Status) float64 { return float64(w.Found) })),
		gauge("watch_waiting_messages", "Messages of a watch that are not delivered yet.", watchLabel,
			each(func(w watch.Status) float64 { return float64(w.Pending) })),
		gauge("watch_sent_timestamp_seconds", "Time of the last message that reached all receivers of a watch. 0 before the first such message.", watchLabel,
			each(func(w watch.Status) float64 { return unixSeconds(w.Sent) })),
	}
}
