package daemon

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"placementsync/internal/repair"
	"placementsync/internal/warehouse"
	"placementsync/internal/watch"
	"placementsync/internal/webhook"
)

// Sources of metrics. Read errors are counted by source.
const (
	SourceLedger   = "ledger"
	SourceFree     = "free"
	SourceUsage    = "usage"
	SourceVersion  = "version"
	SourceInbox    = "inbox"
	SourceVerified = "verified"
	SourceWatches  = "watches"
	SourceHeld     = "held"
)

func sources() []string { return append([]string{SourceLedger}, inspectedSources()...) }

func inspectedSources() []string {
	return []string{SourceFree, SourceUsage, SourceVersion, SourceInbox, SourceVerified, SourceWatches, SourceHeld}
}

// sourceNames are the names of the sources on the status page.
var sourceNames = map[string]string{SourceLedger: "the ledger", SourceFree: "the free disk space", SourceUsage: "the disk usage of the warehouse",
	SourceVersion: "the current version", SourceInbox: "the webhook inbox", SourceVerified: "the last verification",
	SourceWatches: "the state of the watches", SourceHeld: "the held night"}

const (
	// An inspection starts every minute, so an older one means that the disk does not respond.
	maxInspectionAge = 15 * time.Minute
	// A measurement of the disk usage reads the whole folder. It is repeated earlier after a new version.
	maxUsageAge = 10 * time.Minute
)

// Inspection is the state of the warehouse at one time. A source that could not be read has
// an error, and its fields are not shown.
type Inspection struct {
	At time.Time
	// Errors contains the sources that could not be read.
	Errors map[string]error
	// FreeBytes is the free disk space. NeededBytes is the space that the next night may need.
	FreeBytes, NeededBytes int64
	Usage                  []warehouse.Usage
	UsageAt                time.Time // time of the measurement of Usage
	Tables                 []warehouse.ManifestTable
	// MissingDays counts the days of the Parquet series that a run could not write.
	MissingDays int
	Inbox       webhook.InboxState
	// Verifications contains the last verification of every byte and the last verification of
	// names and sizes only.
	Verifications []repair.VerifyRecord
	Watches       []watch.Status
	// Held is the held night. Nil means that no night is held.
	Held *warehouse.HeldNight
}

// Has reports whether a source was read.
func (i Inspection) Has(source string) bool { return !i.At.IsZero() && i.Errors[source] == nil }

// lastVerification returns nil if there is none, or if it could not be read.
func (i Inspection) lastVerification(readData bool) *repair.VerifyRecord {
	at := slices.IndexFunc(i.Verifications, func(v repair.VerifyRecord) bool { return v.ReadData == readData })
	if at < 0 {
		return nil
	}
	return &i.Verifications[at]
}

// Inspector inspects a warehouse. It is not safe for concurrent use.
type Inspector struct {
	Warehouse  *warehouse.Warehouse
	WatchNames []string // of the configured watches
	LakeDir    string   // local folder of the lake, measured too; empty means none
	Receiver   *webhook.Receiver
	Now        func() time.Time

	usage        []warehouse.Usage
	usageAt      time.Time
	usageVersion string
}

// Inspect reads each source, even if other sources cannot be read.
func (i *Inspector) Inspect(ctx context.Context) Inspection {
	result := Inspection{Errors: map[string]error{}}
	record := func(source string, err error) {
		if err != nil {
			result.Errors[source] = err
		}
	}
	if err := i.Warehouse.Folder.CheckExists(); err != nil {
		// An unmounted disk leaves an empty folder, which must not be inspected.
		for _, source := range inspectedSources() {
			record(source, err)
		}
	} else {
		record(SourceVersion, i.readVersion(&result))
		record(SourceFree, i.readFree(&result))
		record(SourceInbox, i.readInbox(&result))
		record(SourceVerified, i.readVerifications(&result))
		record(SourceWatches, i.readWatches(&result))
		record(SourceHeld, i.readHeld(&result))
		record(SourceUsage, i.readUsage(ctx, &result)) // last, because it reads the whole folder
	}
	result.At = i.Now().UTC() // the end time, because a new inspection of a slow disk must not look old
	return result
}

func (i *Inspector) readVersion(result *Inspection) error {
	m, _, err := i.Warehouse.Versions.ReadLatest()
	if err != nil {
		return err
	}
	result.Tables = m.Tables
	missing, err := i.Warehouse.Series.MissingDays()
	result.MissingDays = len(missing)
	return err
}

func (i *Inspector) readFree(result *Inspection) (err error) {
	if result.FreeBytes, err = i.Warehouse.Folder.FreeBytes(); err != nil {
		return err
	}
	result.NeededBytes, err = i.Warehouse.Versions.NextNightBytes()
	return err
}

func (i *Inspector) readInbox(result *Inspection) (err error) {
	result.Inbox, err = i.Receiver.Inbox()
	return err
}

func (i *Inspector) readVerifications(result *Inspection) error {
	for _, readData := range []bool{false, true} {
		v, ok, err := repair.LastRecord(i.Warehouse.Folder, readData)
		if err != nil {
			return err
		}
		if ok {
			result.Verifications = append(result.Verifications, v)
		}
	}
	return nil
}

func (i *Inspector) readWatches(result *Inspection) error {
	for _, name := range i.WatchNames {
		s, err := watch.ReadStatus(i.Warehouse.Folder, name)
		if err != nil {
			return err
		}
		result.Watches = append(result.Watches, s)
	}
	return nil
}

func (i *Inspector) readHeld(result *Inspection) error {
	held, ok, err := i.Warehouse.Held()
	if ok {
		result.Held = &held
	}
	return err
}

func (i *Inspector) readUsage(ctx context.Context, result *Inspection) error {
	version, _, err := i.Warehouse.Versions.Latest()
	if err != nil {
		return err
	}
	if now := i.Now(); version != i.usageVersion || now.Sub(i.usageAt).Abs() >= maxUsageAge {
		var otherFolders []warehouse.MeasuredFolder
		if i.LakeDir != "" {
			otherFolders = append(otherFolders, warehouse.MeasuredFolder{Part: "lake", Dir: i.LakeDir})
		}
		usage, err := i.Warehouse.Folder.Measure(ctx, otherFolders...)
		if err != nil {
			return err
		}
		i.usage, i.usageAt, i.usageVersion = usage, now.UTC(), version
	}
	result.Usage, result.UsageAt = i.usage, i.usageAt
	return nil
}

// startInspection starts an inspection, or reports one that has been running for too long. Pages and scrapes use
// the result of the last finished inspection, so they do not depend on the speed of the disk.
func (s *scheduler) startInspection(ctx context.Context) {
	now := s.d.cfg.Now()
	switch {
	case ctx.Err() != nil:
		return
	case !s.inspectingSince.IsZero():
		if now.Sub(s.inspectingSince) >= maxInspectionAge {
			s.recordStuck()
		}
		return
	}
	s.inspectingSince = now
	jobs := s.d.settings().Jobs
	s.runJob(func() func() {
		result := jobs.Inspect(ctx)
		return func() { s.endInspection(ctx, result) }
	})
}

func (s *scheduler) endInspection(ctx context.Context, result Inspection) {
	s.inspectingSince = time.Time{}
	if ctx.Err() != nil {
		return
	}
	var previous Inspection
	s.d.state.update(func(st *state) {
		for name := range result.Errors {
			st.counts.add(readErrorsTotal, name, 1)
		}
		previous = st.Inspection
		st.Inspection, st.StuckSince = result, time.Time{}
	})
	s.logReadErrors(previous.Errors, result.Errors)
	if held := result.Held; held != nil && (previous.Held == nil || previous.Held.Run.ID != held.Run.ID) {
		s.d.cfg.Log.Warn("a night is held", "run", held.Run.ID, "check", strings.Join(held.FailedChecks(), ","))
	}
}

// logReadErrors logs only sources that became unreadable, in one line for each cause, or readable again.
func (s *scheduler) logReadErrors(previous, current map[string]error) {
	unreadable := map[string][]string{} // names of sources, by cause
	var recovered []string
	for _, name := range sources() {
		switch err := current[name]; {
		case err != nil && previous[name] == nil:
			unreadable[err.Error()] = append(unreadable[err.Error()], name)
		case err == nil && previous[name] != nil:
			recovered = append(recovered, name)
		}
	}
	for _, cause := range slices.Sorted(maps.Keys(unreadable)) {
		s.d.cfg.Log.Warn("metrics are missing: parts of the warehouse cannot be read", "sources", strings.Join(unreadable[cause], ", "), "error", cause)
	}
	if len(recovered) > 0 {
		s.d.cfg.Log.Info("parts of the warehouse can be read again", "sources", strings.Join(recovered, ", "))
	}
}

// recordStuck counts a read error for each source but the ledger, because the running inspection
// does not end. The first call for an inspection logs a line.
func (s *scheduler) recordStuck() {
	isNew := false
	s.d.state.update(func(st *state) {
		isNew = st.StuckSince.IsZero()
		st.StuckSince = s.inspectingSince
		for _, name := range inspectedSources() {
			st.counts.add(readErrorsTotal, name, 1)
		}
	})
	if isNew {
		s.d.cfg.Log.Warn("metrics are missing: the disk of the warehouse does not respond", "started", s.inspectingSince)
	}
}
