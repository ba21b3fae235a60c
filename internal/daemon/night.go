package daemon

import "time"

// Outcomes of a night.
const (
	Complete    = "complete"
	Partial     = "partial"
	Failed      = "failed"
	Interrupted = "interrupted"
	Killed      = "killed" // its process died
	// Held means that another run had the lock, so that this one did not begin.
	Held = "held"
)

// Night is one run as the daemon shows and counts it.
type Night struct {
	Run string
	// By is the kind of a run that is no night: refresh, rollback or rebuild. It
	// counts only for what readers see. Empty: a night.
	By             string
	Started, Ended time.Time
	// Snapshot is the time of the published rows; zero: none were published.
	Snapshot time.Time
	Outcome  string
	// Error is why it failed; empty when it did not.
	Error              string
	Requests, Bytes    int64
	Retries            int64
	Rows               int64
	New, Changed, Gone int64
	Streams            []Stream
}

// Stream is what a night did with one stream.
type Stream struct {
	Name, Grade, Reason string
	Rows, Rejects       int64
	Requests, Retries   int64
	// Throttled is the time spent waiting for Retry-After and before retries,
	// summed over all workers.
	Throttled time.Duration
	// Since is when the rows of a carried stream were last proven.
	Since time.Time
}

// Verified is the result of a verification.
type Verified struct {
	At   time.Time
	Took time.Duration
	// Result is one word: whole is good.
	Result string
	// Damaged are the files that are damaged.
	Damaged []string
	// Error is why the warehouse could not be checked.
	Error string
}

// Whole is the Result of a warehouse without damage.
const Whole = "whole"

// Published reports whether the night published a snapshot.
func (n Night) Published() bool {
	return (n.Outcome == Complete || n.Outcome == Partial) && !n.Snapshot.IsZero()
}

// Took is how long the night lasted.
func (n Night) Took() time.Duration { return n.Ended.Sub(n.Started) }

// Progress is how far a night is.
type Progress struct {
	Run     string
	Started time.Time
	// Phase says what the night does, for people.
	Phase    string
	Requests int64
	Retries  int64
	// Expected is the number of requests of the whole night, from the last one;
	// 0: unknown.
	Expected int64
	// Left is the estimated time until the end; 0: unknown.
	Left time.Duration
	// PerSecond is the rate of requests, Allowed the configured one; 0: no limit.
	PerSecond, Allowed float64
	Streams            []StreamProgress
}

// StreamProgress is how far a stream is.
type StreamProgress struct {
	Name string
	// State is waiting, reading or read.
	State string
	// Done and Total count pages of this pass, or single records; Total 0: unknown.
	Done, Total             int64
	Rows, Requests, Retries int64
	// Grade is empty until the stream is read.
	Grade string
}
