package warehouse

import (
	"cmp"
	"slices"
)

// RepairKind is a command that repairs damage. The kinds are in the order in which their
// commands must run.
type RepairKind int

// The commands that repair damage.
const (
	// RestoreBackup is for a warehouse in which no copy of the data is left.
	RestoreBackup RepairKind = iota
	// MendSeries comes before all commands that read the series: a rollback withdraws the
	// days of versions whose manifests it cannot read, and a rebuild refuses damaged files.
	MendSeries
	RollBack
	RebuildCatalog
	// RebuildFromRest leaves damaged files out.
	RebuildFromRest
	RunNight
	// DropVersion removes a version that readers do not see. It comes late, because until
	// then its files are copies that other repairs use.
	DropVersion
	PruneLanded
)

// Repair is a command that repairs damage.
type Repair struct {
	Kind RepairKind
	// Version is the argument of RollBack and DropVersion.
	Version string
}

// Command is the repair as a user types it.
func (r Repair) Command() string {
	switch r.Kind {
	case RestoreBackup:
		return "placementsync rebuild --from ADDRESS"
	case MendSeries:
		return "placementsync rebuild --series"
	case RollBack:
		return "placementsync rollback " + r.Version
	case RebuildCatalog:
		return "placementsync rebuild"
	case RebuildFromRest:
		return "placementsync rebuild --skip-damaged"
	case RunNight:
		return "placementsync run"
	case DropVersion:
		return "placementsync prune --version " + r.Version
	default:
		return "placementsync prune"
	}
}

// MarshalText writes the command, in the JSON of verify.
func (r Repair) MarshalText() ([]byte, error) { return []byte(r.Command()), nil }

// PlanRepairs lists the repairs of damage in the order in which they must run. A rebuild
// publishes a version and replaces the links to it, so that no rollback is needed. Versions
// are removed only when nothing else is damaged.
func PlanRepairs(found []Damage) []Repair {
	var plan []Repair
	for _, d := range found {
		plan = append(plan, d.Repair)
	}
	slices.SortFunc(plan, func(a, b Repair) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Version, b.Version))
	})
	plan = slices.Compact(plan)
	has := func(kind RepairKind) bool {
		return slices.ContainsFunc(plan, func(r Repair) bool { return r.Kind == kind })
	}
	rest := has(RebuildFromRest)
	rebuild := rest || has(RebuildCatalog)
	return slices.DeleteFunc(plan, func(r Repair) bool {
		return r.Kind == RebuildCatalog && rest || r.Kind == RollBack && rebuild || r.Kind == DropVersion && plan[0].Kind < RunNight
	})
}
