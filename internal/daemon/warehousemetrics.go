package daemon

import (
	"placementsync/internal/integrity"
	"placementsync/internal/ledger"
	"placementsync/internal/watch"
)

func diskMetrics() []metric {
	// The system may not report the free space.
	ifKnown := func(value func(Inspection) int64) func(scrape, emitter) {
		return ifRead(SourceFree, func(s scrape, emit emitter) {
			if n := value(s.Inspection); n >= 0 {
				emit(float64(n))
			}
		})
	}
	return []metric{
		{"disk_free_bytes", "Room on the disk of the warehouse.", nil, false, ifKnown(func(i Inspection) int64 { return i.Free })},
		{"disk_needed_bytes", "What the next night may take of the disk: twice the newest version.", nil, false, ifKnown(func(i Inspection) int64 { return i.Needed })},
		{"disk_used_bytes", "What a part of the warehouse takes of the disk; a file with several names counts once.", []string{"part"}, false,
			ifRead(SourceUsage, func(s scrape, emit emitter) {
				for _, u := range s.Inspection.Usage {
					emit(float64(u.Bytes), u.Part)
				}
			})},
		{"disk_measured_timestamp_seconds", "When the parts of the warehouse were last measured.", nil, false,
			ifRead(SourceUsage, func(s scrape, emit emitter) { emit(unixSeconds(s.Inspection.UsageAt)) })},
	}
}

func hookMetrics() []metric {
	return []metric{
		{"webhook_results_total", "Webhook deliveries by result.", []string{"result"}, true, func(s scrape, emit emitter) {
			for result, n := range s.d.cfg.Program.HookResults() {
				emit(float64(n), result)
			}
		}},
		{"inbox_bytes", "Webhook events that no night has published yet.", nil, false,
			ifRead(SourceInbox, func(s scrape, emit emitter) { emit(float64(s.Inspection.InboxBytes)) })},
		{"inbox_limit_bytes", "How much may wait in the inbox; absent without a limit.", nil, false,
			ifRead(SourceInbox, func(s scrape, emit emitter) {
				if limit := s.Inspection.Inbox.Limit; limit > 0 {
					emit(float64(limit))
				}
			})},
		{"inbox_full_since_timestamp_seconds", "Since when deliveries are refused for want of room in the inbox; 0: they are not.", nil, false,
			ifRead(SourceInbox, func(s scrape, emit emitter) { emit(unixSeconds(s.Inspection.Inbox.FullSince)) })},
	}
}

// verifyMetrics include verifications by the command verify.
func verifyMetrics() []metric {
	depthLabel := []string{"depth"}
	each := func(collect func(v integrity.VerifyRecord, depth string, emit emitter)) func(scrape, emitter) {
		return ifRead(SourceVerified, func(s scrape, emit emitter) {
			for _, v := range s.Inspection.Verified {
				collect(v, depth(v.ReadData), emit)
			}
		})
	}
	return []metric{
		{"last_verify_timestamp_seconds", "When names and sizes (structure), or every byte (full), were last verified; 0: never.", depthLabel, false,
			ifRead(SourceVerified, func(s scrape, emit emitter) {
				for _, readData := range []bool{false, true} {
					v, _ := s.Inspection.lastVerified(readData)
					emit(unixSeconds(v.At), depth(readData))
				}
			})},
		{"last_verify_duration_seconds", "How long the last verification took.", depthLabel, false,
			each(func(v integrity.VerifyRecord, depth string, emit emitter) {
				if !v.At.IsZero() { // all verifications failed
					emit(v.Seconds, depth)
				}
			})},
		{"last_verify_damaged_files", "Damaged files that the last verification, and nights since, found.", depthLabel, false,
			each(func(v integrity.VerifyRecord, depth string, emit emitter) {
				files := len(v.Damaged)
				if v.Met != nil {
					files += len(v.Met.Files)
				}
				if !v.At.IsZero() || files > 0 { // a night may find damage before the first verification
					emit(float64(files), depth)
				}
			})},
		{"last_verify_result", "1 for the result of the last verification, 0 for the others; failed: it could not look.", []string{"depth", "result"}, false,
			each(func(v integrity.VerifyRecord, depth string, emit emitter) {
				for _, result := range []string{integrity.Whole, integrity.Rebuildable, integrity.Damaged, string(ledger.Failed)} {
					emit(boolValue(verdict(v) == result), depth, result)
				}
			})},
	}
}

func followMetrics() []metric {
	each := func(value func(ledger.Follow) float64) func(scrape, emitter) {
		return ifRead(SourceLedger, func(s scrape, emit emitter) {
			for _, f := range s.Follows {
				emit(value(f), f.Last.Kind)
			}
		})
	}
	kind := []string{"kind"}
	return []metric{
		{"follow_last_success_timestamp_seconds", "When the work after a night last succeeded; 0: never.", kind, false, each(func(f ledger.Follow) float64 { return unixSeconds(f.Succeeded) })},
		{"follow_last_duration_seconds", "How long the last work after a night took.", kind, false, each(func(f ledger.Follow) float64 { return f.Last.Took().Seconds() })},
		{"follow_failures", "How often the work after a night failed since it last succeeded.", kind, false, each(func(f ledger.Follow) float64 { return float64(f.Failures) })},
		{"follow_behind", "1 if the last work after a night failed.", kind, false, each(func(f ledger.Follow) float64 { return boolValue(f.IsBehind()) })},
		{"follow_info", "The run that the last work after a night brought elsewhere, always 1.", []string{"kind", "run"}, false,
			ifRead(SourceLedger, func(s scrape, emit emitter) {
				for _, f := range s.Follows {
					emit(1, f.Last.Kind, f.Last.Version)
				}
			})},
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
	name := []string{"watch"}
	return []metric{
		{"watch_snapshot_timestamp_seconds", "The snapshot that a watch last looked at; 0: none.", name, false, each(func(w watch.Status) float64 { return unixSeconds(w.Evaluated.At) })},
		{"watch_findings", "What a watch found in that snapshot.", name, false, each(func(w watch.Status) float64 { return float64(w.Found) })},
		{"watch_waiting_messages", "Messages of a watch that no receiver took yet.", name, false, each(func(w watch.Status) float64 { return float64(w.Pending) })},
		{"watch_sent_timestamp_seconds", "When a message of a watch last reached all its receivers; 0: never.", name, false, each(func(w watch.Status) float64 { return unixSeconds(w.Sent) })},
	}
}
