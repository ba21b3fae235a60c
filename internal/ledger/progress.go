package ledger

import "time"

// Progress is how far a run is, at one moment.
type Progress struct {
	Run       string
	StartedAt time.Time
	// Phase says what is being done, for people.
	Phase string
	// Requests and Retries are those of this attempt at the run so far.
	Requests, Retries int64
	// Expected is how many requests the whole run may take, from the last night and
	// from what the lists have said so far; 0: unknown.
	Expected int64
	// PerSecond is the rate of requests for the current stream, or, in its first
	// second, of the run so far; Allowed is the configured one; 0: no limit.
	PerSecond, Allowed float64
	// Left is the time that the rest will take at that rate; 0: unknown.
	Left time.Duration
	// Streams are in the order in which they are read.
	Streams []StreamProgress
}

// States of a stream.
const (
	Waiting = "waiting"
	Reading = "reading"
	Read    = "read"
)

// StreamProgress is how far a stream is.
type StreamProgress struct {
	Name  string
	State string
	// Done of Total: pages of the pass over a list, or ids that are asked for.
	// Total is 0 until the service has said.
	Done, Total int64
	// Pass counts the passes over a list.
	Pass int
	Rows int64
	// Requests and Retries include those without a usable answer.
	Requests, Retries int64
	PerSecond         float64
	// Left is the time that the rest of it will take; 0: unknown.
	Left time.Duration
	// Grade and Reason are empty until it is read.
	Grade, Reason string
}

// Share is how much of a stream is done, 0 to 100; -1: not known.
func (s StreamProgress) Share() int64 {
	switch {
	case s.State == Read:
		return 100
	case s.Total <= 0:
		return -1
	}
	return min(100, 100*s.Done/s.Total)
}

// ReadStreams counts the streams that are read; the template of the status page asks.
func (p Progress) ReadStreams() int {
	n := 0
	for _, s := range p.Streams {
		if s.State == Read {
			n++
		}
	}
	return n
}
