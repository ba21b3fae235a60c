// Package ledger defines the progress of a current run ([Progress]) and the lines of the ledger ([Run]),
// each of a run or a follow-up. The package reads no database, so that the daemon can
// show runs without importing warehouse or pipeline.
package ledger

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"placementsync/internal/humanize"
	"placementsync/internal/stream"
)

// Outcome says how a run or another command ended.
type Outcome string

// Outcomes. A Killed run did not write its own ledger line: it was ended by SIGKILL or a power
// cut, or the disk was full. Misused and Locked are never written to the ledger.
const (
	Complete    Outcome = "complete"
	Partial     Outcome = "partial"
	Failed      Outcome = "failed"
	Interrupted Outcome = "interrupted"
	Killed      Outcome = "killed"
	Misused     Outcome = "misused" // wrong usage or configuration
	Locked      Outcome = "held"    // another run has the lock; for a night held by checks, see Run.Held
)

// ExitCode returns the process exit code for an outcome, or -1 for Killed. The numbers are
// part of the command-line interface and are defined only here.
func (o Outcome) ExitCode() int {
	code, ok := map[Outcome]int{Complete: 0, Misused: 2, Partial: 3, Locked: 4, Interrupted: 130, Killed: -1}[o]
	if !ok {
		return 1
	}
	return code
}

// Kinds of ledger lines, without follow-ups. An empty kind means a night: earlier releases had no other kinds.
// A refresh reads only the records of webhook events, and does not count for the schedule.
const (
	Night   = "night"
	Refresh = "refresh"
	// Replay builds the tables of a night again from its stored responses. Rebuild restores
	// the catalog from the Parquet series. Rollback points readers at an earlier version.
	Replay   = "replay"
	Rebuild  = "rebuild"
	Rollback = "rollback"
)

// Kinds of ledger lines of follow-ups. A follow-up does not change the snapshot that readers see.
const (
	Backup = "backup"
	Lake   = "lake"
	Watch  = "watch"
	// Rehearsal restores a backup and compares it with the warehouse. An operator or cron starts
	// it.
	Rehearsal = "rehearsal"
)

// Run is a line of the ledger, of a run or a follow-up. Failed runs have a line too. The line is written to
// state/ when the run or follow-up ends. The next publish copies the lines of runs to meta.runs.
type Run struct {
	ID string `json:"run_id"`
	// Kind is one of the kinds above.
	Kind string `json:"kind,omitempty"`
	// Version is the version that a rollback points readers at, or that a follow-up used.
	Version    string    `json:"version,omitempty"`
	StartedAt  time.Time `json:"started_at"`
	EndedAt    time.Time `json:"ended_at,omitzero"` // zero if the run was killed
	SnapshotAt time.Time `json:"snapshot_at,omitzero"`
	Outcome    Outcome   `json:"outcome"`
	ExitCode   int       `json:"exit_code"` // -1 if the run was killed
	Program    string    `json:"program_version"`
	// Attempts counts the executions of the run: more than one if it was resumed.
	Attempts int    `json:"attempts"`
	Error    string `json:"error,omitempty"`

	Requests         int64   `json:"requests"`
	Bytes            int64   `json:"bytes"`
	Retries          int64   `json:"retries"`
	ThrottledSeconds float64 `json:"throttled_seconds"`
	// Responses is the number of stored responses of a night or refresh, including those of earlier attempts. It
	// is 0 if the number is unknown: the run was killed, or an earlier release ran it.
	Responses int `json:"responses,omitempty"`

	Rows    int64 `json:"rows"`
	New     int64 `json:"rows_new"`
	Changed int64 `json:"rows_changed"`
	Gone    int64 `json:"rows_gone"`

	// Losses are the lost rows or ids that made a gate stop the run before its publish.
	Losses []Loss `json:"losses,omitempty"`
	// Checks are the results of checks that failed or did not run.
	Checks []CheckResult `json:"checks,omitempty"`
	// Held means that the night was not published because of failed checks. Its version is kept.
	Held bool `json:"held,omitempty"`
	// Accepted names the failed checks of a held night that an operator published at AcceptedAt.
	Accepted   []string  `json:"accepted,omitempty"`
	AcceptedAt time.Time `json:"accepted_at,omitzero"`

	Streams []Stream `json:"streams"`
}

// IsNight reports whether the run is a night, read or replayed.
func (r Run) IsNight() bool { return r.Kind == "" || r.Kind == Night || r.Kind == Replay }

// IsFollowUp reports whether the line is of a follow-up. Its Bytes are the sent bytes or, for a
// rehearsal, the fetched bytes.
func (r Run) IsFollowUp() bool {
	return r.Kind == Backup || r.Kind == Lake || r.Kind == Watch || r.Kind == Rehearsal
}

func (r Run) IsPublished() bool {
	return (r.Outcome == Complete || r.Outcome == Partial) && !r.SnapshotAt.IsZero()
}

func (r Run) Took() time.Duration { return r.EndedAt.Sub(r.StartedAt) }

// VisibleVersion returns the version that readers saw after the run published it. It is empty if the
// run published no version.
func (r Run) VisibleVersion() string {
	switch {
	case !r.IsPublished():
		return ""
	case r.Kind == Rollback:
		return r.Version
	}
	return r.ID
}

// Loss counts the rows that a run would have removed from a table: Gone of Before rows.
type Loss struct {
	Table string `json:"table"`
	// Stream is set if several streams fill the table and the loss is in one of them.
	Stream string `json:"stream,omitempty"`
	Gone   int64  `json:"gone"`
	Before int64  `json:"before"`
	// NotFound means that Gone and Before count ids, not rows: the service returned 404 for Gone of
	// Before ids although a list contains them. The rows of these ids would be kept.
	NotFound bool `json:"not_found,omitempty"`
}

// DescribeLosses describes the losses that made a gate stop a run. Of the tables that would
// lose rows, it names the first three and counts the others.
func DescribeLosses(losses []Loss) string {
	var parts []string
	for _, l := range losses {
		if l.NotFound {
			parts = append(parts, fmt.Sprintf("the service returned 404 for %d of %s of %s although a list contains them", l.Gone, humanize.Count(l.Before, "id"), l.Table))
		}
	}
	deletions := slices.DeleteFunc(slices.Clone(losses), func(l Loss) bool { return l.NotFound })
	named := min(len(deletions), 3)
	var tables []string
	for _, l := range deletions[:named] {
		table := l.Table
		if l.Stream != "" {
			table += " (" + l.Stream + ")"
		}
		tables = append(tables, fmt.Sprintf("%d of %s of %s", l.Gone, humanize.Count(l.Before, "row"), table))
	}
	if more := len(deletions) - named; more > 0 {
		tables = append(tables, "rows of "+humanize.Count(more, "more table"))
	}
	if len(tables) > 0 {
		parts = append(parts, strings.Join(tables, ", ")+" would be deleted in one night")
	}
	return strings.Join(parts, "; ")
}

// Unread counts the ids that the run left unread, and their streams.
func (r Run) Unread() (ids int64, streams int) {
	for _, s := range r.Streams {
		if s.Unread > 0 {
			ids, streams = ids+s.Unread, streams+1
		}
	}
	return ids, streams
}

// Stream is the result of one stream in a run: its grade with the evidence, and its
// telemetry. The fields are columns of meta.streams and meta.requests, described in schema/meta.
type Stream struct {
	Stream     string       `json:"stream"`
	Grade      stream.Grade `json:"grade"`
	Reason     string       `json:"reason"`
	Pages      int64        `json:"pages"`
	Requests   int64        `json:"requests"`
	Passes     int64        `json:"passes"`
	TotalFirst int64        `json:"total_first"`
	TotalLast  int64        `json:"total_last"`
	Distinct   int64        `json:"distinct_ids"`
	Repeated   int64        `json:"repeated_ids"`
	// Rows counts the rows of the stream's first table in the snapshot. RowsOld counts the rows
	// among them that this run neither read nor proved to be unchanged. If the run ended before the merge,
	// Rows counts the read records.
	Rows      int64 `json:"rows"`
	RowsOld   int64 `json:"rows_old"`
	Rejects   int64 `json:"rejects"`
	Fetched   int64 `json:"fetched"`
	Carried   int64 `json:"carried"`
	Rechecked int64 `json:"rechecked"`
	Failed    int64 `json:"failed"`
	// Unread counts the ids that were not requested because run.max_duration was over.
	Unread int64 `json:"unread"`
	// AgeSince is the oldest read time of the RowsOld rows.
	AgeSince time.Time `json:"age_since,omitzero"`
	// Incomplete marks a stream that was not read completely because of an error or a lack of
	// time. It makes the run partial.
	Incomplete bool `json:"lacking,omitempty"`
	// Unsorted marks a list that is not requested newest first, because the service refused that order or did not
	// keep it.
	Unsorted bool `json:"unsorted,omitempty"`
	// Events marks streams of webhook deliveries. Missed deliveries cannot be detected, so
	// these streams are never proven.
	Events bool `json:"events,omitempty"`

	Bytes             int64   `json:"bytes"`
	Retries           int64   `json:"retries"`
	RateLimited       int64   `json:"rate_limited"`
	Reused            int64   `json:"landed_hits"`
	LatencyP50        float64 `json:"latency_p50_ms"`
	LatencyP95        float64 `json:"latency_p95_ms"`
	LatencyMax        float64 `json:"latency_max_ms"`
	RateWaitSeconds   float64 `json:"rate_wait_seconds"`
	RetryAfterSeconds float64 `json:"retry_after_seconds"`
	RateUsed          float64 `json:"rate_used"`
}

// Find returns the run with the given id, or a Run without an ID if there is none.
func Find(runs []Run, id string) Run {
	if i := slices.IndexFunc(runs, func(r Run) bool { return r.ID == id }); i >= 0 {
		return runs[i]
	}
	return Run{}
}

// UnknownRunError means that a user named a run or version that does not exist.
type UnknownRunError struct {
	// Message contains the unknown name, the consequence and similar known names.
	Message string
}

func (e *UnknownRunError) Error() string { return e.Message }

// LogEnd logs the end of a night. The level is error if the run failed, warn if it is partial, and info
// otherwise. err is the error of the night, or nil: the ledger contains only its summary.
func (r Run) LogEnd(log *slog.Logger, err error) {
	level, reason := slog.LevelInfo, ""
	switch r.Outcome {
	case Failed:
		level = slog.LevelError
	case Partial:
		level, reason = slog.LevelWarn, r.Why()
	}
	log = log.With("run", r.ID, "outcome", string(r.Outcome), "version", r.VisibleVersion())
	if r.IsPublished() { // otherwise the row counts are unknown, not zero
		log = log.With("rows", r.Rows, "new", r.New, "changed", r.Changed, "gone", r.Gone)
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	log.Log(context.Background(), level, "night ended", "requests", r.Requests, "retries", r.Retries, "took", r.Took(),
		"reason", reason, "error", text)
}

// Streak counts the consecutive nights with the outcome of r, up to and including r. since is the start
// of the first of them. Interrupted and killed nights are ignored. runs are the runs up to r, with or
// without r.
func (r Run) Streak(runs []Run) (nights int, since time.Time) {
	nights, since = 1, r.StartedAt
	for _, run := range slices.Backward(runs) {
		if run.ID == r.ID || !run.IsNight() || run.Outcome == Interrupted || run.Outcome == Killed {
			continue
		}
		if run.Outcome != r.Outcome {
			return nights, since
		}
		nights, since = nights+1, run.StartedAt
	}
	return nights, since
}

// NewestSnapshotTime returns the snapshot time of the newest published run. Zero means that no run was
// published.
func NewestSnapshotTime(runs []Run) time.Time {
	for _, r := range slices.Backward(runs) {
		if r.IsPublished() {
			return r.SnapshotAt
		}
	}
	return time.Time{}
}

// Summarize returns the text of err for the ledger, for alerts and for pages. The text of each wrapped error with the
// method Summary is replaced by its summary. The log contains the whole text.
func Summarize(err error) string {
	text := err.Error()
	replaceTexts(&text, err)
	return text
}

func replaceTexts(text *string, err error) {
	switch e := err.(type) {
	case interface {
		error
		Summary() string
	}:
		*text = strings.ReplaceAll(*text, e.Error(), e.Summary())
	case interface{ Unwrap() error }:
		replaceTexts(text, e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, wrapped := range e.Unwrap() {
			replaceTexts(text, wrapped)
		}
	}
}
