package ledger

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"placementsync/internal/plural"
)

// Standing says in the words of people what a grade means for the rows of a stream. Every
// part of the program that speaks of a grade uses these words and no others.
type Standing string

// Standings, worst first.
const (
	NotRead   Standing = "not read"   // never: there are no rows of it
	Carried   Standing = "carried"    // not this time: the rows are those of an earlier night
	NotProven Standing = "not proven" // read, but rows may be missing
	Proven    Standing = "proven"     // read, and nothing is missing
)

// Grades are the grades of streams, worst first, as meta.streams has them.
func Grades() []string {
	return []string{"skipped", "carried_forward", "best_effort", "bounded", "repaired", "exact"}
}

// StandingOf is what a grade means. No grade is that of a stream which no run knows; one
// that a later program gave proves nothing to this one.
func StandingOf(grade string) Standing {
	switch grade {
	case "exact", "repaired", "bounded":
		return Proven
	case "carried_forward":
		return Carried
	case "skipped", "":
		return NotRead
	}
	return NotProven
}

// WasRead reports whether a grade is that of a stream which was read, proven or not.
func WasRead(grade string) bool {
	s := StandingOf(grade)
	return s == Proven || s == NotProven
}

// worry orders standings for people: the higher, the earlier it is said.
func (s Standing) worry() int {
	return slices.Index([]Standing{Proven, NotProven, Carried, NotRead}, s)
}

// Problem is what is wrong with the rows of a stream, or of a table.
type Problem struct {
	Name     string
	Standing Standing
	// Reason is why, as meta.streams has it.
	Reason string
	// Since is when the oldest of the rows was last read; zero: not known.
	Since time.Time
}

// SortProblems puts what was not read first, and keeps the order within a standing.
func SortProblems(problems []Problem) {
	slices.SortStableFunc(problems, func(a, b Problem) int { return b.Standing.worry() - a.Standing.worry() })
}

// DescribeProblems says in one line what is wrong, worst first: names that share a
// reason share a clause. It is empty when nothing is.
func DescribeProblems(problems []Problem) string {
	problems = slices.Clone(problems)
	SortProblems(problems)
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

// describe is the clause of names that share a problem.
func (p Problem) describe(names []string) string {
	verb := map[bool]map[bool]string{true: {true: "was", false: "were"}, false: {true: "is", false: "are"}}[p.Standing == NotRead][len(names) == 1]
	text := fmt.Sprintf("%s %s %s", joinNames(names), verb, p.Standing)
	if p.Standing == Carried && !p.Since.IsZero() {
		text += " since " + p.Since.UTC().Format("2006-01-02 15:04 UTC")
	}
	if p.Reason != "" {
		text += ": " + shortenReason(p.Reason)
	}
	return text
}

// shortenReason cuts a reason to its first line and to what a line of several has room
// for.
func shortenReason(reason string) string {
	const most = 160
	reason, _, _ = strings.Cut(ShortenError(reason), "\n")
	if runes := []rune(reason); len(runes) > most {
		return string(runes[:most]) + "\u2026"
	}
	return reason
}

// joinNames lists names as a sentence does, and counts those beyond the first few.
func joinNames(names []string) string {
	const most = 4
	if more := len(names) - most; more > 1 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// Reasons of streams that the configuration leaves out.
const (
	ReasonNotChosen = "not chosen"
	ReasonNoDetails = "streams.details is none"
)

// IsLeftOut reports whether the configuration left the stream out, so that it was not to
// be read: nothing is wrong with it, and no night will change its grade.
func (s Stream) IsLeftOut() bool {
	return !WasRead(s.Grade) && (strings.HasPrefix(s.Reason, ReasonNotChosen) || strings.HasPrefix(s.Reason, ReasonNoDetails))
}

// Problem is what is to be said of the stream's rows.
func (s Stream) Problem() Problem {
	return Problem{Name: s.Stream, Standing: StandingOf(s.Grade), Reason: s.Reason, Since: s.AgeSince}
}

// WorstFirst are the streams of the run, those that made it partial first and then those
// whose rows are least sure.
func (r Run) WorstFirst() []Stream {
	sorted := slices.Clone(r.Streams)
	slices.SortStableFunc(sorted, func(a, b Stream) int {
		if a.Lacking != b.Lacking {
			return map[bool]int{true: -1, false: 1}[a.Lacking]
		}
		return StandingOf(b.Grade).worry() - StandingOf(a.Grade).worry()
	})
	return sorted
}

// Lacks are the streams that make a run partial, which is what somebody can act on. A run
// of an earlier program did not mark them: of a partial one they are those that were
// read before or could not be proven.
func (r Run) Lacks() []Stream {
	marked := r.Outcome != Partial || slices.ContainsFunc(r.Streams, func(s Stream) bool { return s.Lacking })
	var lacks []Stream
	for _, s := range r.WorstFirst() {
		if standing := StandingOf(s.Grade); s.Lacking || !marked && (standing == Carried || standing == NotProven) {
			lacks = append(lacks, s)
		}
	}
	return lacks
}

// Summary is the outcome with the number of streams that are not proven: a run is complete
// when every stream that should be read was read, also where nothing proves that its
// rows are all.
func (r Run) Summary() string {
	counts := map[Standing]int{}
	for _, s := range r.Streams {
		if !s.Events {
			counts[StandingOf(s.Grade)]++
		}
	}
	text, named := string(r.Outcome), false
	for _, standing := range []Standing{NotRead, Carried, NotProven} {
		n := counts[standing]
		switch {
		case n == 0:
			continue
		case named:
			text += fmt.Sprintf(", %d %s", n, standing)
		default:
			text += fmt.Sprintf(", %s %s", plural.Count(n, "stream"), standing)
		}
		named = true
	}
	return text
}

// Why says in one line why the run did not complete; empty: it did.
func (r Run) Why() string {
	if r.Error != "" {
		line, _, _ := strings.Cut(ShortenError(r.Error), "\n")
		return line
	}
	var problems []Problem
	for _, s := range r.Lacks() {
		problems = append(problems, s.Problem())
	}
	return DescribeProblems(problems)
}
