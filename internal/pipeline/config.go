package pipeline

import (
	"errors"
	"log/slog"
	"time"

	"placementsync/internal/audit"
	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/query"
	"placementsync/internal/stream"
	"placementsync/internal/transform"
	"placementsync/internal/warehouse"
)

// Config configures a run.
type Config struct {
	Warehouse warehouse.Config
	// NewWarehouse allows a run to create the warehouse. Without it, a folder that contains no warehouse is an
	// error, because its disk may not be mounted.
	NewWarehouse bool
	Fetch        fetch.Config
	// Streams are all streams with tables in the warehouse, lists before details.
	Streams []stream.Stream
	// Chosen names the streams to read. Other streams keep their rows.
	Chosen  []string
	Details Details
	// LiveDays is the number of days for which a detail is live after its record changed.
	// Settled details are read again within Recheck nights. A Recheck of 0 means never.
	LiveDays, Recheck int
	// BatchRows is the number of rows after which a decoder stages its rows. Defaults to 8,192.
	BatchRows int
	TeamID    string // of the partner; defaults to the team of the token
	// OtherNames are names under which the service sends columns, by table.column, in addition to those in schema/.
	OtherNames map[string]string
	// MinorUnits means that the service sends prices in the smallest unit of their currency.
	MinorUnits bool
	// Ignored are columns, as table.column, and members of JSON columns, as table.column.member, whose changes add no
	// version of a row.
	Ignored []string
	// Privacy names the private columns. Their values are removed or hashed before rows are staged.
	Privacy transform.Privacy
	// Limits are the limits for deletions. AllowMassDelete accepts a mass deletion if a second
	// reading of the lists confirms the deletion.
	Limits          load.Limits
	AllowMassDelete bool
	// Checks audit the merged rows before they are published. CheckTimeout limits the time of
	// each check. 0 means no limit. Parameters of checks may name the Settings.
	Checks       audit.Set
	CheckTimeout time.Duration
	Settings     query.Settings
	// AcceptLoss allows Replay to publish a run whose stored responses are partly lost.
	AcceptLoss bool
	DryRun     bool // merge, but do not publish
	// FinishCommit completes and publishes a merge even if ctx ends after the merge began.
	FinishCommit bool
	// ResumeMaxAge is the maximum age of an unpublished run that is resumed. Its stored
	// responses are used and not requested again. 0 means never.
	ResumeMaxAge time.Duration
	Fresh        bool // start a new run even if an earlier one could be resumed
	// MaxDuration limits the time for reading, measured on the real clock from the start of this attempt at the
	// run. 0 means no limit.
	MaxDuration time.Duration
	Progress    *ProgressTracker // may be nil
	// Now is the clock of the snapshot time and of the ledger line. fetch measures waits
	// and latencies on the real clock.
	Now func() time.Time
	Log *slog.Logger
}

// Result is the result of a run. A partial run is a result and not an error:
// Run.Outcome and the grades in Run.Streams show what is missing and why.
type Result struct {
	Run      ledger.Run
	Changes  []load.Change
	Manifest warehouse.Manifest
	// IsUnsynced means that the run failed, but readers see its snapshot: the link "latest" was switched
	// and could not be synced.
	IsUnsynced bool
}

// ErrNoData means that no stream could be read.
var ErrNoData = errors.New("read the service: no stream could be read; nothing was published; readers keep the last snapshot: run placementsync check")
