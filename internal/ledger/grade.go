package ledger

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"placementsync/internal/humanize"
	"placementsync/internal/stream"
)

// Standing is the meaning of a grade in plain words. All pages, alerts and commands use these words.
type Standing string

// Standings, worst first.
const (
	NotRead   Standing = "not read"   // never read: the table has no rows of the stream
	Carried   Standing = "carried"    // not read completely in this run: the rows are from an earlier night
	NotProven Standing = "not proven" // read, but rows may be missing
	Proven    Standing = "proven"     // read, and no row is missing
)

// StandingOf returns the meaning of a grade. An unknown grade, from a newer program, is NotProven.
func StandingOf(grade stream.Grade) Standing {
	switch {
	case grade.IsProven():
		return Proven
	case grade == stream.CarriedForward:
		return Carried
	case grade.IsUnread():
		return NotRead
	}
	return NotProven
}

// rank is higher for a worse standing.
func (s Standing) rank() int {
	return slices.Index([]Standing{Proven, NotProven, Carried, NotRead}, s)
}

// Problem is the standing of a stream or of a table, with its reason.
type Problem struct {
	Name     string
	Standing Standing
	// Reason is the column reason of meta.streams.
	Reason string
	// Since is the oldest read time of the rows. Zero means unknown.
	Since time.Time
}

// DescribeProblems describes problems in one line, worst first. Names with the same standing, reason and
// Since share a clause.
func DescribeProblems(problems []Problem) string {
	problems = slices.Clone(problems)
	slices.SortStableFunc(problems, func(a, b Problem) int { return b.Standing.rank() - a.Standing.rank() })
	var clauses []string
	for len(problems) > 0 {
		first := problems[0]
		var names []string
		problems = slices.DeleteFunc(problems, func(p Problem) bool {
			same := p.Standing == first.Standing && p.Reason == first.Reason && p.Since.Equal(first.Since)
			if same && !slices.Contains(names, p.Name) {
				names = append(names, p.Name)
			}
			return same
		})
		clauses = append(clauses, first.describe(names))
	}
	return strings.Join(clauses, "; ")
}

func (p Problem) describe(names []string) string {
	verb := "are"
	switch isOne := len(names) == 1; {
	case p.Standing == NotRead && isOne:
		verb = "was"
	case p.Standing == NotRead:
		verb = "were"
	case isOne:
		verb = "is"
	}
	text := fmt.Sprintf("%s %s %s", joinNames(names), verb, p.Standing)
	if p.Standing == Carried && !p.Since.IsZero() {
		text += " since " + p.Since.UTC().Format("2006-01-02 15:04 UTC")
	}
	if p.Reason != "" {
		text += ": " + shortenReason(p.Reason)
	}
	return text
}

func shortenReason(reason string) string {
	const maxRunes = 160
	reason, _, _ = strings.Cut(reason, "\n")
	if runes := []rune(reason); len(runes) > maxRunes {
		return string(runes[:maxRunes]) + "\u2026"
	}
	return reason
}

func joinNames(names []string) string {
	const maxNames = 4
	if more := len(names) - maxNames; more > 1 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames], ", "), more)
	}
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// Reasons of streams that were not read although no error occurred. The configuration or --streams
// excludes streams with ReasonNotChosen or ReasonNoDetails.
const (
	ReasonNotChosen  = "excluded by streams.include, streams.exclude or --streams"
	ReasonNoDetails  = "streams.details is none"
	ReasonNoDelivery = "no webhook delivery was received yet"
)

// IsExcluded reports whether the stream was not read because the configuration or --streams excludes
// it.
func (s Stream) IsExcluded() bool {
	reasons := []string{ReasonNotChosen, ReasonNoDetails, "not chosen"} // earlier releases wrote "not chosen"
	return s.Grade.IsUnread() && slices.ContainsFunc(reasons, func(reason string) bool { return strings.HasPrefix(s.Reason, reason) })
}

// IsUnused reports whether the stream has no rows although no error occurred: it is excluded, or no
// webhook was delivered yet.
func (s Stream) IsUnused() bool {
	return StandingOf(s.Grade) == NotRead && (s.IsExcluded() || s.Reason == ReasonNoDelivery)
}

// Problem returns the stream's standing and reason as a Problem.
func (s Stream) Problem() Problem {
	return Problem{Name: s.Stream, Standing: StandingOf(s.Grade), Reason: s.Reason, Since: s.AgeSince}
}

// WorstFirst returns the streams of the run: first the incomplete streams, which make the run
// partial, then the others. In each group the worst standing is first.
func (r Run) WorstFirst() []Stream {
	sorted := slices.Clone(r.Streams)
	slices.SortStableFunc(sorted, func(a, b Stream) int {
		if a.Incomplete == b.Incomplete {
			return StandingOf(b.Grade).rank() - StandingOf(a.Grade).rank()
		}
		if a.Incomplete {
			return -1
		}
		return 1
	})
	return sorted
}

// IncompleteStreams returns the streams that make a run partial, worst first. An older program did not
// mark these streams. For a partial run without marked streams, IncompleteStreams returns the carried
// and unproven streams.
func (r Run) IncompleteStreams() []Stream {
	onlyMarked := r.Outcome != Partial || slices.ContainsFunc(r.Streams, func(s Stream) bool { return s.Incomplete })
	return slices.DeleteFunc(r.WorstFirst(), func(s Stream) bool {
		if onlyMarked {
			return !s.Incomplete
		}
		standing := StandingOf(s.Grade)
		return standing != Carried && standing != NotProven
	})
}

func (r Run) UnsortedStreams() (names []string) {
	for _, s := range r.Streams {
		if s.Unsorted {
			names = append(names, s.Stream)
		}
	}
	return names
}

// Summary returns the outcome with the numbers of unread, carried and unproven streams. Streams of
// webhook deliveries are not counted, because they are never proven. A complete run can have unproven
// streams: they were read, but rows may be missing.
func (r Run) Summary() string {
	counts := map[Standing]int{}
	for _, s := range r.Streams {
		if !s.Events {
			counts[StandingOf(s.Grade)]++
		}
	}
	parts := []string{string(r.Outcome)}
	for _, standing := range []Standing{NotRead, Carried, NotProven} {
		n := counts[standing]
		if n == 0 {
			continue
		}
		number := fmt.Sprint(n)
		if len(parts) == 1 { // only the first number has the noun
			number = humanize.Count(n, "stream")
		}
		parts = append(parts, fmt.Sprintf("%s %s", number, standing))
	}
	return strings.Join(parts, ", ")
}

// Why describes a run in one line: the first line of its error or, if it has no error, the incomplete
// streams and the checks that failed or could not be run. It returns an empty text if there are none.
func (r Run) Why() string {
	if r.Error != "" {
		line, _, _ := strings.Cut(r.Error, "\n")
		return line
	}
	var problems []Problem
	for _, s := range r.IncompleteStreams() {
		problems = append(problems, s.Problem())
	}
	parts := []string{DescribeProblems(problems), DescribeChecks(r.Checks)}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "; ")
}
