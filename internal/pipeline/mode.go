package pipeline

import (
	"placementsync/internal/ledger"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// Details selects the details that a night reads.
type Details string

const (
	ChangedDetails Details = "changed" // selected by stream.Rule
	AllDetails     Details = "all"
	NoDetails      Details = "none" // lists only
)

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
