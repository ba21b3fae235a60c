package ledger

import (
	"cmp"
	"time"

	"placementsync/internal/stream"
)

// Progress is the progress of a run at one moment.
type Progress struct {
	Run       string
	StartedAt time.Time
	// Phase describes the current work.
	Phase string
	// Requests and Retries are counted from the start of this attempt at the run.
	Requests, Retries int64
	// Expected is the estimated number of requests of the whole run. It is estimated from the
	// last night and from the totals in the responses. 0 means unknown.
	Expected int64
	// PerSecond is the request rate of the current stream. During the stream's first second, it is
	// the rate of the whole run. AllowedPerSecond is the configured limit, or 0 without a limit.
	PerSecond, AllowedPerSecond float64
	// Left is the remaining time of the run at the rate PerSecond or, if PerSecond is 0, at the rate
	// AllowedPerSecond. 0 means unknown.
	Left time.Duration
	// WaitingFor is the reason why the run waits for the service, since WaitingSince and until
	// WaitingUntil, the time of the next attempt. It is empty if the service answers.
	WaitingFor                 string
	WaitingSince, WaitingUntil time.Time
	// Streams are in the order in which they are read.
	Streams []StreamProgress
}

// States of a stream.
const (
	Waiting = "waiting"
	Reading = "reading"
	Read    = "read"
)

// StreamProgress is the progress of one stream.
type StreamProgress struct {
	Name  string
	State string
	// Done and Total count the pages of the current pass over a list, or the ids of single
	// records. The Total of a list is 0 until a response contains it. The Total of details is 0 until the
	// ids to request are known.
	Done, Total int64
	// Pass counts the passes over a list.
	Pass int
	Rows int64
	// Requests and Retries include failed requests. PerSecond is the request rate.
	Requests, Retries int64
	PerSecond         float64
	// Left is the remaining time for the stream. 0 means unknown.
	Left time.Duration
	// Grade and Reason are empty until the stream is read.
	Grade  stream.Grade
	Reason string
}

// Share returns the finished part of a stream in percent, or -1 if it is unknown.
func (s StreamProgress) Share() int64 {
	switch {
	case s.State == Read:
		return 100
	case s.Total <= 0:
		return -1
	}
	return min(100, 100*s.Done/s.Total)
}

// EstimateRemaining sets Expected, PerSecond and Left of the run and of its streams. requestsBefore contains, for each
// stream, the number of requests of the last run that read the stream, or -1 if it was never read. runRate is the
// request rate of the run so far. It is used for a stream that has no rate yet.
func (p *Progress) EstimateRemaining(requestsBefore []int64, runRate float64) {
	remaining, isKnown := int64(0), true
	for i := range p.Streams {
		s := &p.Streams[i]
		streamRemaining, isStreamKnown := s.remainingRequests(requestsBefore[i])
		remaining += streamRemaining
		isKnown = isKnown && isStreamKnown
		if s.State == Reading {
			p.PerSecond = cmp.Or(s.PerSecond, runRate)
			s.Left = durationAt(streamRemaining, cmp.Or(p.PerSecond, p.AllowedPerSecond))
		}
	}
	if isKnown {
		p.Expected, p.Left = p.Requests+remaining, durationAt(remaining, cmp.Or(p.PerSecond, p.AllowedPerSecond))
	}
}

// remainingRequests estimates the requests that the stream still needs.
func (s StreamProgress) remainingRequests(requestsBefore int64) (requests int64, isKnown bool) {
	switch {
	case s.State == Read:
		return 0, true
	case s.Total > 0:
		return max(0, s.Total-s.Done), true
	case requestsBefore < 0:
		return 0, false
	}
	return max(0, requestsBefore-s.Requests), true
}

// durationAt returns 0 if the rate is unknown.
func durationAt(requests int64, perSecond float64) time.Duration {
	if perSecond <= 0 {
		return 0
	}
	return time.Duration(float64(requests) / perSecond * float64(time.Second))
}

// DescribeWait describes the wait for the service, or returns an empty string if the service answers.
func (p Progress) DescribeWait() string {
	if p.WaitingFor == "" {
		return ""
	}
	return "waiting for the service until " + p.WaitingUntil.UTC().Format("15:04:05") + " UTC: " + p.WaitingFor
}

// StreamsRead counts the finished streams. The template of the status page calls it.
func (p Progress) StreamsRead() int {
	n := 0
	for _, s := range p.Streams {
		if s.State == Read {
			n++
		}
	}
	return n
}
