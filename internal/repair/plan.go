package repair

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/warehouse"
)

// Kind is the kind of a Step. The kinds are in the order in which their commands must run.
type Kind int

// The kinds of repairs.
const (
	// RestoreBackup is for a warehouse without any copy of the data.
	RestoreBackup Kind = iota
	// RebuildSeries must run before the commands that read the series. A rollback would remove the days
	// of versions with unreadable manifests, and a rebuild would fail at damaged files.
	RebuildSeries
	RollBack
	// ReplayNights rolls back and builds the later nights again from their stored responses.
	ReplayNights
	RebuildCatalog
	// RebuildSkippingDamage rebuilds the catalog without the damaged files.
	RebuildSkippingDamage
	RunNight
	// DropVersion removes a version that readers do not see. It must run after other repairs,
	// because they may copy files of the version.
	DropVersion
	// DiscardHeld removes the held night. Readers and repairs do not use its files.
	DiscardHeld
	// NoRepair is for stored responses. No other file contains their content.
	NoRepair
)

// Step is a command that repairs damage, or NoRepair.
type Step struct {
	Kind Kind
	// Version is the argument of RollBack and DropVersion, and of the rollback of ReplayNights.
	Version string
	// Nights are the runs that ReplayNights replays, oldest first, separated by spaces.
	Nights string
}

// Command returns the command line of the repair. ReplayNights has several commands, separated by semicolons.
// With NoRepair it is empty.
func (r Step) Command() string {
	switch r.Kind {
	case RestoreBackup:
		return "placementsync rebuild --from ADDRESS"
	case RebuildSeries:
		return "placementsync rebuild --series"
	case RollBack:
		return "placementsync rollback " + r.Version
	case ReplayNights:
		return "placementsync rollback " + r.Version + "; placementsync replay " + strings.ReplaceAll(r.Nights, " ", "; placementsync replay ")
	case RebuildCatalog:
		return "placementsync rebuild"
	case RebuildSkippingDamage:
		return "placementsync rebuild --skip-damaged"
	case RunNight:
		return "placementsync run"
	case DropVersion:
		return "placementsync prune --version " + r.Version
	case DiscardHeld:
		return "placementsync discard"
	default:
		return ""
	}
}

// MarshalText returns Command, for the JSON of verify.
func (r Step) MarshalText() ([]byte, error) { return []byte(r.Command()), nil }

// The rule of repairs: for each table and day, and for the version that readers should see, the best intact copy wins.
// Copies are better in this order:
//
//  1. the same bytes in another place: a version, the series, or the chain of files of changes
//  2. the rows in the history of an intact catalog that is not older than the day
//  3. the stored responses of a night, from which a replay builds its version again
//  4. the other files of the series, from which a rebuild builds a catalog without the lost rows
//  5. an older version
//  6. a backup
//
// A replay is only proposed if there is an intact catalog to begin with, and if the responses of each later night are
// intact. Rebuild and RestoreSeries use the same inventory as this rule.

// stepOfSnapshot returns the step that gives readers the version that they should see. isLost means that readers lose
// data.
func (c *checker) stepOfSnapshot() (step Step, isLost bool) {
	newest, newestAt := c.newestCatalog()
	m, hasManifest := c.manifest(c.expected)
	switch {
	case c.hasIntactCatalog(c.expected):
		return Step{Kind: RollBack, Version: c.expected}, false
	case hasManifest && c.hasAllTables(m):
		return Step{Kind: RebuildCatalog}, false
	case c.canReplay:
		return c.replay, false
	case c.hasTableAfter(newestAt):
		return Step{Kind: RebuildSkippingDamage}, true
	case newest != "":
		return Step{Kind: RollBack, Version: newest}, true
	}
	return Step{Kind: RestoreBackup}, true
}

// stepOfRows returns the step that restores a file of the series or of the chain. at is the snapshot time of its rows.
// Without a copy, the file can be written again from a catalog that is not older.
func (c *checker) stepOfRows(hasCopy bool, at time.Time) (step Step, isLost bool) {
	switch {
	case hasCopy || c.hasHistoryUntil(at):
		return Step{Kind: RebuildSeries}, false
	case c.canReplay:
		return c.replay, false
	}
	return Step{Kind: RebuildSkippingDamage}, true
}

// replayStep returns the step that builds the expected version again from stored responses: a rollback to the newest
// intact catalog, and a replay of each later night. ok is false if a night has no responses, or if the rollback would
// remove days that it needs.
func (inv *inventory) replayStep(damagedResponses []Damage) (step Step, ok bool) {
	base, baseAt := inv.newestCatalog()
	if base == "" { // without manifests, only the ledger names the version on which the expected version builds
		base = inv.publishedBefore(inv.expected)
		baseAt, _ = inv.timeOf(base)
	}
	if !inv.hasIntactCatalog(base) {
		return step, false
	}
	if _, err := inv.w.Versions.ReadManifest(base); err != nil {
		return step, false
	}
	if _, err := inv.w.Versions.Lineage(base); err != nil {
		return step, false
	}
	var nights []string
	for run := inv.expected; run != base; {
		if run <= base {
			return step, false // the expected version does not build on the newest catalog
		}
		m, hasManifest := inv.manifest(run)
		if !hasManifest && inv.isNightAfter(run, baseAt) {
			m.Previous = base
		}
		night, previous := nightOf(run, m)
		if previous >= run {
			return step, false // the manifest is wrong
		}
		if night != "" {
			if !hasResponses(inv.w, night, damagedResponses) {
				return step, false
			}
			nights = append(nights, night)
		}
		run = previous
	}
	slices.Reverse(nights)
	return Step{Kind: ReplayNights, Version: base, Nights: strings.Join(nights, " ")}, len(nights) > 0
}

// publishedBefore returns the version that readers saw before a run, by the ledger.
func (inv *inventory) publishedBefore(run string) (version string) {
	for _, r := range inv.runs {
		if r.ID == run {
			return version
		}
		version = cmp.Or(r.VisibleVersion(), version)
	}
	return ""
}

// nightOf returns the night whose responses give the version of a run, and the run on which the version builds.
// A rebuilt version has the same snapshot as the run that previous names, and needs no night of its own. previous
// is empty if the version cannot be replayed, because it is a refresh or the first version.
func nightOf(run string, m warehouse.Manifest) (night, previous string) {
	switch m.Kind {
	case "", ledger.Night:
		return run, m.Previous
	case ledger.Replay: // it has the time of its night, and a number
		night, _, _ = strings.Cut(run, "-")
		return night, m.Previous
	case ledger.Rebuild:
		return "", m.Night
	}
	return "", ""
}

// isNightAfter reports whether a run without an intact manifest is a night that builds on the snapshot of base: the
// ledger names no other kind of run, and no manifest is of a run between them.
func (inv *inventory) isNightAfter(run string, baseAt time.Time) bool {
	at, isRunID := warehouse.RunTime(run)
	if !isRunID || !ledger.Find(inv.runs, run).IsNight() {
		return false
	}
	for other := range inv.manifests {
		if otherAt, _ := inv.timeOf(other); otherAt.After(baseAt) && otherAt.Before(at) {
			return false
		}
	}
	return true
}

// makeRebuildsSkipDamage replaces "rebuild" by "rebuild --skip-damaged" if any damage needs the flag, because
// "rebuild" would end with an error at the lost file. Without an intact catalog, it also replaces "rebuild --series",
// which would end with the same error. A rebuild reads the intact copies itself, and the next verify reports the files
// that have a copy.
func (c *checker) makeRebuildsSkipDamage() {
	if !slices.ContainsFunc(c.Damage, func(d Damage) bool { return d.Repair.Kind == RebuildSkippingDamage }) {
		return
	}
	for i := range c.Damage {
		kind := &c.Damage[i].Repair.Kind
		if *kind == RebuildCatalog || *kind == RebuildSeries && c.result.Source == "" {
			*kind = RebuildSkippingDamage
		}
	}
}

// Plan returns the repairs of all damage in the order in which they must run, each once, without
// NoRepair. With a rebuild it leaves out rollbacks, because a rebuild also sets the links. If files must be repaired
// first, it leaves out DropVersion; the next verify reports the damaged version again. With ReplayNights it leaves out
// all other repairs: the replayed nights write their files again, and the next verify reports the rest.
func Plan(damage []Damage) []Step {
	var plan []Step
	for _, d := range damage {
		plan = append(plan, d.Repair)
	}
	slices.SortFunc(plan, func(a, b Step) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Version, b.Version))
	})
	plan = slices.Compact(plan)
	if i := slices.IndexFunc(plan, func(r Step) bool { return r.Kind == ReplayNights }); i >= 0 {
		return plan[i : i+1]
	}
	has := func(kind Kind) bool {
		return slices.ContainsFunc(plan, func(r Step) bool { return r.Kind == kind })
	}
	rebuilds := has(RebuildCatalog) || has(RebuildSkippingDamage)
	repairsFiles := len(plan) > 0 && plan[0].Kind < RunNight
	return slices.DeleteFunc(plan, func(r Step) bool {
		switch r.Kind {
		case NoRepair:
			return true
		case RollBack:
			return rebuilds
		case DropVersion:
			return repairsFiles
		}
		return false
	})
}
