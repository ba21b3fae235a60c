package repair

import "strings"

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
