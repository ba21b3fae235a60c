package pipeline

import (
	"placementsync/internal/ledger"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// Details says which single records a night reads.
type Details string

// The values of Details.
const (
	ChangedDetails Details = "changed" // by the rules of their streams
	AllDetails     Details = "all"
	NoDetails      Details = "none" // lists only
)

// runMode is what kind of run this is. It is made once, at the start, and asked for
// whatever the kinds do differently.
type runMode struct {
	// kind is warehouse.Night, Refresh or Replay.
	kind    string
	details Details
	dryRun  bool
	// resumed is the run that a night resumes; nil: it is a new one.
	resumed *warehouse.Unfinished
	// targets are the records that a refresh reads.
	targets Targets
	// source is the run whose landed answers a replay reads; empty: none. base is the
	// version that it builds on, which is found under the lock.
	source, base string
}

// asksService reports whether the run uses the network.
func (m runMode) asksService() bool { return m.kind != ledger.Replay }

// isResumable reports whether a later run may take this one up.
func (m runMode) isResumable() bool { return m.kind == ledger.Night && !m.dryRun }

// isRefresh reports whether the run reads its targets and the events alone, and
// leaves everything else as the last snapshot has it.
func (m runMode) isRefresh() bool { return m.kind == ledger.Refresh }

// leavesStream reports whether a stream that is not read keeps the grade and the age
// that it had, as in a refresh.
func (m runMode) leavesStream(s stream.Stream) bool { return m.isRefresh() && !s.IsEvents() }

// targetIDs are the ids that a refresh asks a stream for.
func (m runMode) targetIDs(s stream.Stream) []string {
	switch s.Life {
	case stream.AsArticle:
		return m.targets.Articles
	case stream.AsCampaign:
		return m.targets.Campaigns
	}
	return nil
}

// afterStop says how a run that was stopped goes on.
func (m runMode) afterStop() string {
	switch {
	case m.isRefresh():
		return "the last snapshot stays, and the next night reads the records of this refresh"
	case !m.isResumable():
		return "the last snapshot stays: begin again"
	}
	return "what has landed is kept, run again to resume"
}
