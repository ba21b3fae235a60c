package daemon

import "placementsync/internal/ledger"

// diskReadings are of the disk of the warehouse.
func diskReadings() []reading {
	known := func(value func(Inspection) int64) func(scrape, emitter) {
		return whenRead(ReadFree, func(s scrape, emit emitter) {
			if n := value(s.Inspection); n >= 0 {
				emit(float64(n))
			}
		})
	}
	return []reading{
		{"disk_free_bytes", "Room on the disk of the warehouse.", nil, false, known(func(i Inspection) int64 { return i.Free })},
		{"disk_needed_bytes", "What the next night may take of the disk: twice the newest version.", nil, false, known(func(i Inspection) int64 { return i.Needed })},
		{"disk_used_bytes", "What a part of the warehouse takes of the disk; a file with several names counts once.", []string{"part"}, false,
			whenRead(ReadUsage, func(s scrape, emit emitter) {
				for _, u := range s.Inspection.Usage {
					emit(float64(u.Bytes), u.Part)
				}
			})},
		{"disk_measured_timestamp_seconds", "When the parts of the warehouse were last measured.", nil, false,
			whenRead(ReadUsage, func(s scrape, emit emitter) { emit(unixSeconds(s.Inspection.UsageAt)) })},
	}
}

// hookReadings are of the webhook receiver and its inbox.
func hookReadings() []reading {
	return []reading{
		{"webhook_results_total", "Webhook deliveries by result.", []string{"result"}, true, func(s scrape, emit emitter) {
			for result, n := range s.d.cfg.HookResults() {
				emit(float64(n), result)
			}
		}},
		{"inbox_bytes", "Webhook events that no night has published yet.", nil, false,
			whenRead(ReadInbox, func(s scrape, emit emitter) { emit(float64(s.Inspection.InboxBytes)) })},
		{"inbox_limit_bytes", "How much may wait in the inbox; absent without a limit.", nil, false,
			whenRead(ReadInbox, func(s scrape, emit emitter) {
				if limit := s.Inspection.InboxLimit; limit > 0 {
					emit(float64(limit))
				}
			})},
		{"inbox_full_since_timestamp_seconds", "Since when deliveries are refused for want of room in the inbox; 0: they are not.", nil, false,
			whenRead(ReadInbox, func(s scrape, emit emitter) { emit(unixSeconds(s.Inspection.InboxFullSince)) })},
	}
}

// Depths of a verification.
const (
	depthStructure = "structure"
	depthFull      = "full"
)

// verifyReadings are of the last verifications, also those that were started by hand.
func verifyReadings() []reading {
	depth := []string{"depth"}
	known := func(collect func(v Verified, depth string, emit emitter)) func(scrape, emitter) {
		return whenRead(ReadVerified, func(s scrape, emit emitter) {
			for _, v := range s.Inspection.Verified {
				collect(v, v.depth(), emit)
			}
		})
	}
	// What failed before it could look found nothing out, and has no value.
	lookedInto := func(value func(v Verified) float64) func(scrape, emitter) {
		return known(func(v Verified, depth string, emit emitter) {
			if !v.At.IsZero() {
				emit(value(v), depth)
			}
		})
	}
	return []reading{
		{"last_verify_timestamp_seconds", "When names and sizes (structure), or every byte (full), were last verified; 0: never.", depth, false,
			whenRead(ReadVerified, func(s scrape, emit emitter) {
				for _, full := range []bool{false, true} {
					v, _ := s.Inspection.lastVerified(full)
					emit(unixSeconds(v.At), Verified{Full: full}.depth())
				}
			})},
		{"last_verify_duration_seconds", "How long the last verification took.", depth, false,
			lookedInto(func(v Verified) float64 { return v.Took.Seconds() })},
		{"last_verify_damaged_files", "Damaged files that the last verification, and nights since, found.", depth, false,
			known(func(v Verified, depth string, emit emitter) {
				if !v.At.IsZero() || len(v.Met) > 0 { // a night may have met damage before the first verify
					emit(float64(len(v.Damaged)+len(v.Met)), depth)
				}
			})},
		{"last_verify_result", "1 for the result of the last verification, 0 for the others; failed: it could not look.", []string{"depth", "result"}, false,
			known(func(v Verified, depth string, emit emitter) {
				for _, result := range []string{Whole, "rebuildable", "damaged", string(ledger.Failed)} {
					emit(boolValue(v.Result == result), depth, result)
				}
			})},
	}
}

// followReadings are of the work after nights.
func followReadings() []reading {
	each := func(value func(ledger.Follow) float64) func(scrape, emitter) {
		return whenRead(ReadLedger, func(s scrape, emit emitter) {
			for _, f := range s.Follows {
				emit(value(f), f.Last.Kind)
			}
		})
	}
	kind := []string{"kind"}
	return []reading{
		{"follow_last_success_timestamp_seconds", "When the work after a night last succeeded; 0: never.", kind, false, each(func(f ledger.Follow) float64 { return unixSeconds(f.Succeeded) })},
		{"follow_last_duration_seconds", "How long the last work after a night took.", kind, false, each(func(f ledger.Follow) float64 { return f.Last.Took().Seconds() })},
		{"follow_failures", "How often the work after a night failed since it last succeeded.", kind, false, each(func(f ledger.Follow) float64 { return float64(f.Failures) })},
		{"follow_behind", "1 if the last work after a night failed.", kind, false, each(func(f ledger.Follow) float64 { return boolValue(f.IsBehind()) })},
		{"follow_info", "The run that the last work after a night brought elsewhere, always 1.", []string{"kind", "run"}, false,
			whenRead(ReadLedger, func(s scrape, emit emitter) {
				for _, f := range s.Follows {
					emit(1, f.Last.Kind, f.Last.Version)
				}
			})},
	}
}

// watchReadings are of the watches of the configuration.
func watchReadings() []reading {
	each := func(value func(WatchStatus) float64) func(scrape, emitter) {
		return whenRead(ReadWatches, func(s scrape, emit emitter) {
			for _, w := range s.Inspection.Watches {
				emit(value(w), w.Name)
			}
		})
	}
	name := []string{"watch"}
	return []reading{
		{"watch_snapshot_timestamp_seconds", "The snapshot that a watch last looked at; 0: none.", name, false, each(func(w WatchStatus) float64 { return unixSeconds(w.Looked) })},
		{"watch_findings", "What a watch found in that snapshot.", name, false, each(func(w WatchStatus) float64 { return float64(w.Found) })},
		{"watch_waiting_messages", "Messages of a watch that no receiver took yet.", name, false, each(func(w WatchStatus) float64 { return float64(w.Waiting) })},
		{"watch_sent_timestamp_seconds", "When a message of a watch last reached all its receivers; 0: never.", name, false, each(func(w WatchStatus) float64 { return unixSeconds(w.Sent) })},
	}
}
