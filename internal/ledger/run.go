// Package ledger states what is said of a run: how far it is while it is at work
// (Progress), and what the ledger keeps of it (Run). It is data and nothing else, so
// that the daemon can show runs without knowing warehouse or pipeline.
package ledger

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"placementsync/internal/plural"
)

// Outcome is how a run, or any other work of the program, ended.
type Outcome string

// Outcomes. A Killed run did not write its own entry: it was ended by SIGKILL or
// with the machine, or the disk had no room for a line. Misused and Held are
// never in the ledger.
const (
	Complete    Outcome = "complete"
	Partial     Outcome = "partial"
	Failed      Outcome = "failed"
	Interrupted Outcome = "interrupted"
	Killed      Outcome = "killed"
	Misused     Outcome = "misused" // usage or configuration
	Held        Outcome = "held"    // another run holds the lock
)

// ExitCode is the number that a script or a supervisor gets for an outcome. It
// is a promise and the only place that knows these numbers. Killed has none.
func (o Outcome) ExitCode() int {
	code, ok := map[Outcome]int{Complete: 0, Misused: 2, Partial: 3, Held: 4, Interrupted: 130, Killed: -1}[o]
	if !ok {
		return 1
	}
	return code
}

// Kinds of runs. Runs of a program from before there were refreshes have no kind:
// they are nights.
const (
	Night   = "night"
	Refresh = "refresh"
	// Replay builds the tables of a night again from its landed answers. Rebuild
	// builds the catalog from the Parquet series. Rollback points readers at an
	// earlier version.
	Replay   = "replay"
	Rebuild  = "rebuild"
	Rollback = "rollback"
)

// Kinds of work that follows the publish of a night. It is no run: readers see the same
// before and after it.
const (
	Backup = "backup"
	Lake   = "lake"
	Watch  = "watch"
)

// Run is what the ledger keeps of one night, failed ones too. It is written to
// state/ when the night ends and joins meta.runs at the next publish.
type Run struct {
	ID string `json:"run_id"`
	// Kind distinguishes nights from refreshes, which read the few records that
	// events named and do not count for the schedule.
	Kind string `json:"kind,omitempty"`
	// Version is the one that a rollback points readers at, or that a backup, the lake or
	// the watches are of.
	Version    string    `json:"version,omitempty"`
	StartedAt  time.Time `json:"started_at"`
	EndedAt    time.Time `json:"ended_at,omitzero"` // zero: killed, unknown
	SnapshotAt time.Time `json:"snapshot_at,omitzero"`
	Outcome    Outcome   `json:"outcome"`
	ExitCode   int       `json:"exit_code"` // -1: killed
	Program    string    `json:"program_version"`
	// Attempts counts how often the run ended; more than once when it was resumed.
	Attempts int    `json:"attempts"`
	Error    string `json:"error,omitempty"`

	Requests         int64   `json:"requests"`
	Bytes            int64   `json:"bytes"`
	Retries          int64   `json:"retries"`
	ThrottledSeconds float64 `json:"throttled_seconds"`

	Rows    int64 `json:"rows"`
	New     int64 `json:"rows_new"`
	Changed int64 `json:"rows_changed"`
	Gone    int64 `json:"rows_gone"`

	// Losses are why a gate stopped the run.
	Losses []Loss `json:"losses,omitempty"`
	// NightsLeft estimates how many more nights are needed for what this one had no
	// time to read; 0: nothing was left, or it is unknown.
	NightsLeft int64 `json:"nights_left,omitempty"`

	Streams []Stream `json:"streams"`
}

// IsNight reports whether the run is a night, read or replayed.
func (r Run) IsNight() bool { return r.Kind == "" || r.Kind == Night || r.Kind == Replay }

// IsFollow reports whether the entry is of work that follows a publish, and of no run.
// Its Version is what it brought elsewhere, its Bytes are those that it sent.
func (r Run) IsFollow() bool { return r.Kind == Backup || r.Kind == Lake || r.Kind == Watch }

// IsPublished reports whether the run gave readers a snapshot.
func (r Run) IsPublished() bool {
	return (r.Outcome == Complete || r.Outcome == Partial) && !r.SnapshotAt.IsZero()
}

// Took is how long the run lasted.
func (r Run) Took() time.Duration { return r.EndedAt.Sub(r.StartedAt) }

// VisibleVersion is the version that readers saw when the run had ended; empty when they saw
// the same as before.
func (r Run) VisibleVersion() string {
	switch {
	case !r.IsPublished():
		return ""
	case r.Kind == Rollback:
		return r.Version
	}
	return r.ID
}

// Loss is what a run would have taken from a table.
type Loss struct {
	Table string `json:"table"`
	// Stream is set when several streams fill the table and the loss is that of one.
	Stream string `json:"stream,omitempty"`
	Gone   int64  `json:"gone"`
	Before int64  `json:"before"`
	// NotFound says that these are ids that a list names and that were answered 404; their
	// rows would stay.
	NotFound bool `json:"not_found,omitempty"`
}

// DescribeLosses says for people what a gate stopped: the first tables by name, the
// others by their number.
func DescribeLosses(losses []Loss) string {
	var parts []string
	for _, l := range losses {
		if l.NotFound {
			parts = append(parts, fmt.Sprintf("%d of %s of %s that a list names are answered 404", l.Gone, plural.Count(l.Before, "id"), l.Table))
		}
	}
	losses = slices.DeleteFunc(slices.Clone(losses), func(l Loss) bool { return l.NotFound })
	if len(losses) > 0 {
		parts = append(parts, describeVanishing(losses)+" would vanish in one night")
	}
	return strings.Join(parts, "; ")
}

func describeVanishing(losses []Loss) string {
	named := min(len(losses), 3)
	var parts []string
	for _, l := range losses[:named] {
		of := l.Table
		if l.Stream != "" {
			of += " (" + l.Stream + ")"
		}
		parts = append(parts, fmt.Sprintf("%d of %s of %s", l.Gone, plural.Count(l.Before, "row"), of))
	}
	if more := len(losses) - named; more > 0 {
		parts = append(parts, "much of "+plural.Count(more, "more table"))
	}
	return strings.Join(parts, ", ")
}

// Unread sums up what the run left for a later night: so many ids, in so many
// streams.
func (r Run) Unread() (ids int64, streams int) {
	for _, s := range r.Streams {
		if s.Unread > 0 {
			ids, streams = ids+s.Unread, streams+1
		}
	}
	return ids, streams
}

// Stream is what one stream did in a run: its grade with the evidence, and
// its telemetry.
type Stream struct {
	Stream     string `json:"stream"`
	Grade      string `json:"grade"`
	Reason     string `json:"reason"`
	Pages      int64  `json:"pages"`
	Requests   int64  `json:"requests"`
	Passes     int64  `json:"passes"`
	TotalFirst int64  `json:"total_first"`
	TotalLast  int64  `json:"total_last"`
	Distinct   int64  `json:"distinct_ids"`
	Repeated   int64  `json:"repeated_ids"`
	// Rows are those of the first table in the snapshot, RowsOld those of them that
	// were neither read nor proven in this run. Of a run that ended before its rows were
	// merged, Rows counts the records that it read.
	Rows      int64 `json:"rows"`
	RowsOld   int64 `json:"rows_old"`
	Rejects   int64 `json:"rejects"`
	Fetched   int64 `json:"fetched"`
	Carried   int64 `json:"carried"`
	Rechecked int64 `json:"rechecked"`
	Failed    int64 `json:"failed"`
	// Unread are the ids that were left for a later night because run.max_duration
	// was over.
	Unread int64 `json:"unread"`
	// AgeSince is when the oldest of the rows in RowsOld was last read.
	AgeSince time.Time `json:"age_since,omitzero"`
	// Lacking streams make their run partial: they should have been read, and were not,
	// or not wholly.
	Lacking bool `json:"lacking,omitempty"`
	// Events are streams of webhook deliveries: that one never came cannot be seen, so
	// that nothing is ever proven about them, and no night could do better.
	Events bool `json:"events,omitempty"`

	Bytes             int64   `json:"bytes"`
	Retries           int64   `json:"retries"`
	RateLimited       int64   `json:"rate_limited"`
	Landed            int64   `json:"landed_hits"`
	LatencyP50        float64 `json:"latency_p50_ms"`
	LatencyP95        float64 `json:"latency_p95_ms"`
	LatencyMax        float64 `json:"latency_max_ms"`
	RateWaitSeconds   float64 `json:"rate_wait_seconds"`
	RetryAfterSeconds float64 `json:"retry_after_seconds"`
	RateUsed          float64 `json:"rate_used"`
}
