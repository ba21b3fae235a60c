package repair

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/warehouse"
)

// replayRepair returns the repair that builds the expected version again from stored responses: a rollback to
// the newest intact catalog, and a replay of each later night. hasResponses reports whether all stored responses
// of a run are intact. ok is false if a night has none, or if the rollback would remove days that it needs.
func (inv *inventory) replayRepair(hasResponses func(run string) bool) (repair Step, ok bool) {
	base, baseAt := inv.newestCatalog()
	if base == "" { // without manifests, only the ledger names the version on which the expected version builds
		base = inv.publishedBefore(inv.expected)
		baseAt, _ = inv.timeOf(base)
	}
	if hasResponses == nil || !inv.intactCatalogs[base] {
		return repair, false
	}
	if _, err := inv.w.Versions.ReadManifest(base); err != nil {
		return repair, false
	}
	if _, err := inv.w.Versions.Lineage(base); err != nil {
		return repair, false
	}
	var nights []string
	for run := inv.expected; run != base; {
		if run <= base {
			return repair, false // the expected version does not build on the newest catalog
		}
		m, hasManifest := inv.manifest(run)
		if !hasManifest && inv.isNightAfter(run, baseAt) {
			m.Previous = base
		}
		night, previous := nightOf(run, m)
		if previous >= run || night != "" && !hasResponses(night) {
			return repair, false
		}
		if night != "" {
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
	if r := ledger.Find(inv.runs, run); !isRunID || r.ID != "" && !r.IsNight() {
		return false
	}
	for other := range inv.manifests {
		if otherAt, _ := inv.timeOf(other); otherAt.After(baseAt) && otherAt.Before(at) {
			return false
		}
	}
	return true
}
