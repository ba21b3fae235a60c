package pipeline

import (
	"errors"
	"log/slog"
	"slices"
	"time"

	"placementsync/internal/audit"
	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/query"
	"placementsync/internal/stream"
	"placementsync/internal/transform"
	"placementsync/internal/warehouse"
	"placementsync/schema"
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

// Details selects the details that a night reads.
type Details string

const (
	ChangedDetails Details = "changed" // selected by stream.Rule
	AllDetails     Details = "all"
	NoDetails      Details = "none" // lists only
)

// PrivateColumns returns all columns whose values the rules of privacy remove or hash, as table.column: the
// columns that the rules name, and the columns of other tables with the same values.
func PrivateColumns(privacy transform.Privacy) ([]string, error) {
	definitions, _ := schema.Definitions()
	privacy.Key = []byte("any") // the columns do not depend on the key
	private := slices.Concat(privacy.Drop, privacy.Hash)
	for _, s := range stream.AllWithEvents() {
		binding, err := transform.Bind(s, definitions, privacy)
		if err != nil {
			return nil, err
		}
		private = append(private, binding.PrivateColumns()...)
	}
	slices.Sort(private)
	return slices.Compact(private), nil
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

// runMode is the kind of a run with its parameters. Its methods are the differences between the kinds.
type runMode struct {
	kind    string // ledger.Night, ledger.Refresh or ledger.Replay
	dryRun  bool
	resumed *warehouse.UnfinishedRun // the run that is resumed; nil for a new run
	targets Targets                  // of a refresh
	// replayedRun is the run whose stored responses a replay reads. base is the version on which the
	// replay is built. base is set after the lock was taken.
	replayedRun, base string
}

func (m runMode) usesNetwork() bool { return m.kind != ledger.Replay }

// isResumable reports whether the next run can resume this run, if this run does not publish.
func (m runMode) isResumable() bool { return m.kind == ledger.Night && !m.dryRun }

func (m runMode) isRefresh() bool { return m.kind == ledger.Refresh }

// keepsGrade reports whether a stream keeps its grade and age if it is not read. It is true in a refresh,
// except for events.
func (m runMode) keepsGrade(s stream.Stream) bool { return m.isRefresh() && !s.IsEvents() }

func (m runMode) targetIDs(s stream.Stream) []string {
	switch s.LiveWith {
	case stream.LiveWithArticle:
		return m.targets.Articles
	case stream.LiveWithCampaign:
		return m.targets.Campaigns
	}
	return nil
}

func (m runMode) stopConsequence() string {
	switch {
	case m.isRefresh():
		return "readers keep the last snapshot, and the next night reads the records of this refresh"
	case !m.isResumable():
		return "readers keep the last snapshot: repeat the command"
	}
	return "the stored responses are kept: run again to resume"
}
