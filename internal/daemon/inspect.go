package daemon

import (
	"context"
	"strings"
	"time"
)

// Names of what is read for the metrics, as their errors are counted. All but the ledger
// are read by an inspection.
const (
	ReadLedger   = "ledger"
	ReadFree     = "free"
	ReadUsage    = "usage"
	ReadVersion  = "version"
	ReadInbox    = "inbox"
	ReadVerified = "verified"
	ReadWatches  = "watches"
)

func readNames() []string {
	return []string{ReadLedger, ReadFree, ReadUsage, ReadVersion, ReadInbox, ReadVerified, ReadWatches}
}

// describeRead says for people what a name stands for.
func describeRead(name string) string {
	return map[string]string{ReadLedger: "the ledger", ReadFree: "the room on the disk", ReadUsage: "what the warehouse takes of the disk",
		ReadVersion: "the version that readers see", ReadInbox: "the inbox of webhooks", ReadVerified: "the last verification",
		ReadWatches: "what watches have sent"}[name]
}

// inspectionAge is how long an inspection is shown. One begins every checkEvery, so that
// an older one means that the disk does not answer.
const inspectionAge = 15 * time.Minute

// Inspection is what a look at the warehouse found. What could not be read has an error
// and no value: a zero would pass for one.
type Inspection struct {
	At time.Time
	// Errors are why something could not be read, by its name.
	Errors map[string]error
	// Free is the room on the disk in bytes, Needed what the next night may take of it;
	// -1: the system does not say.
	Free, Needed int64
	// Usage is what the parts of the warehouse took of the disk at UsageAt.
	Usage   []Usage
	UsageAt time.Time
	// Tables are the rows of the version that readers see; none before the first.
	Tables []TableRows
	// SeriesMissing is how many days the Parquet series lacks, since a run could not write
	// them.
	SeriesMissing int
	// InboxBytes wait for the next night; InboxLimit is how many may, 0: any number.
	InboxBytes, InboxLimit int64
	// InboxFullSince is when the first delivery was refused for want of room; zero: there
	// is room.
	InboxFullSince time.Time
	// Verified are the last results of verify, one for each depth that there was.
	Verified []Verified
	Watches  []WatchStatus
}

// Usage is what one part of the warehouse takes of the disk.
type Usage struct {
	Part  string
	Bytes int64
}

// TableRows is the number of rows of a table.
type TableRows struct {
	Table string
	Rows  int64
}

// WatchStatus is how far a watch has come.
type WatchStatus struct {
	Name string
	// Looked is the snapshot of its last look; zero: there was none.
	Looked time.Time
	// Found counts the findings of that look, Waiting the messages that no receiver took
	// yet.
	Found, Waiting int64
	// Sent is when a message last reached all its receivers; zero: none has.
	Sent time.Time
}

// Has reports whether an inspection read something.
func (i Inspection) Has(name string) bool { return !i.At.IsZero() && i.Errors[name] == nil }

// lastVerified returns the last result of one depth.
func (i Inspection) lastVerified(full bool) (v Verified, ok bool) {
	for _, v = range i.Verified {
		if v.Full == full {
			return v, true
		}
	}
	return Verified{}, false
}

// TotalUsage is what all parts take.
func (i Inspection) TotalUsage() (sum int64) {
	for _, part := range i.Usage {
		sum += part.Bytes
	}
	return sum
}

// startInspect looks at the warehouse, unless a look is at work: scrapes and pages are
// answered from the last one, however slow the disk is.
func (s *scheduler) startInspect(ctx context.Context) {
	inspect := s.d.settings().Inspect
	now := s.d.cfg.Now()
	switch {
	case inspect == nil || ctx.Err() != nil:
		return
	case s.inspecting:
		if now.Sub(s.inspectSince) >= inspectionAge {
			s.countDeaf()
		}
		return
	}
	s.inspecting, s.inspectSince = true, now
	go func() { s.inspected <- inspect(ctx) }()
}

// endInspect keeps what was found, unless the end of ctx cut the look short, and logs
// what can no longer be read.
func (s *scheduler) endInspect(ctx context.Context, found Inspection) {
	s.inspecting = false
	if ctx.Err() != nil {
		return
	}
	var before Inspection
	s.d.board.update(func(b *board) {
		for name := range found.Errors {
			b.tally.readErrors[name]++
		}
		before, b.inspection, b.deaf = b.inspection, found, time.Time{}
	})
	s.logChanges(before.Errors, found.Errors)
}

// logChanges says once what can no longer be read, a line for each cause, and once what
// can be read again.
func (s *scheduler) logChanges(before, now map[string]error) {
	lost, causes := map[string][]string{}, []string(nil)
	var again []string
	for _, name := range readNames() {
		switch err := now[name]; {
		case err != nil && before[name] == nil:
			if lost[err.Error()] == nil {
				causes = append(causes, err.Error())
			}
			lost[err.Error()] = append(lost[err.Error()], name)
		case err == nil && before[name] != nil:
			again = append(again, name)
		}
	}
	for _, cause := range causes {
		s.d.cfg.Log.Warn("metrics are missing, parts of the warehouse cannot be read", "sources", strings.Join(lost[cause], ", "), "error", cause)
	}
	if len(again) > 0 {
		s.d.cfg.Log.Info("parts of the warehouse can be read again", "sources", strings.Join(again, ", "))
	}
}

// countDeaf counts and shows that the look at work gets no answer: what the last one found
// is too old to be shown.
func (s *scheduler) countDeaf() {
	isNew := false
	s.d.board.update(func(b *board) {
		isNew, b.deaf = b.deaf.IsZero(), s.inspectSince
		for _, name := range readNames() {
			if name != ReadLedger {
				b.tally.readErrors[name]++
			}
		}
	})
	if isNew {
		s.d.cfg.Log.Warn("metrics are missing, the disk of the warehouse does not answer", "started", s.inspectSince)
	}
}
