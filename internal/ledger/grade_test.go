package ledger_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/ledger"
	"placementsync/internal/stream"
)

// TestStandings checks the meaning of every grade.
func TestStandings(t *testing.T) {
	t.Parallel()
	want := map[stream.Grade]ledger.Standing{
		"exact": ledger.Proven, "repaired": ledger.Proven, "bounded": ledger.Proven, "best_effort": ledger.NotProven,
		"carried_forward": ledger.Carried, "skipped": ledger.NotRead, "": ledger.NotRead, "grade_of_a_newer_program": ledger.NotProven,
	}
	for grade, standing := range want {
		if got := ledger.StandingOf(grade); got != standing {
			t.Errorf("the standing of grade %q is %q, want %q", grade, got, standing)
		}
		if wasRead := standing == ledger.Proven || standing == ledger.NotProven; grade.IsUnread() == wasRead {
			t.Errorf("grade %q counts as read: %v, want %v", grade, !wasRead, wasRead)
		}
	}
	for _, grade := range stream.Grades() {
		if _, ok := want[grade]; !ok {
			t.Errorf("the grade %q is not tested", grade)
		}
	}
	if first, last := stream.Grades()[0], stream.Grades()[5]; first != "skipped" || last != "exact" {
		t.Errorf("the worst grade is %q and the best %q, want skipped and exact", first, last)
	}
}

func TestDescribeProblems(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, time.November, 19, 2, 5, 0, 0, time.FixedZone("", 3600))
	carried := func(name string) ledger.Problem {
		return ledger.Problem{Name: name, Standing: ledger.Carried, Reason: "answered 500", Since: since}
	}
	var unproven []ledger.Problem
	for _, name := range strings.Fields("a b c d e f") {
		unproven = append(unproven, ledger.Problem{Name: name, Standing: ledger.NotProven})
	}
	longest := strings.Repeat("ü", 160)
	for name, c := range map[string]struct {
		problems []ledger.Problem
		want     string
	}{
		"no problem":               {nil, ""},
		"one name":                 {[]ledger.Problem{{Name: "orders", Standing: ledger.NotRead, Reason: "403"}}, "orders was not read: 403"},
		"two names, one clause":    {[]ledger.Problem{carried("orders"), carried("tags")}, "orders and tags are carried since 2026-11-19 01:05 UTC: answered 500"},
		"the same name twice":      {[]ledger.Problem{carried("orders"), carried("orders")}, "orders is carried since 2026-11-19 01:05 UTC: answered 500"},
		"carried, age unknown":     {[]ledger.Problem{{Name: "tags", Standing: ledger.Carried}}, "tags is carried"},
		"not carried, with an age": {[]ledger.Problem{{Name: "tags", Standing: ledger.NotProven, Since: since}}, "tags is not proven"},
		"two ages": {[]ledger.Problem{carried("a"), {Name: "b", Standing: ledger.Carried, Reason: "answered 500", Since: since.AddDate(0, 0, -1)}},
			"a is carried since 2026-11-19 01:05 UTC: answered 500; b is carried since 2026-11-18 01:05 UTC: answered 500"},
		"two reasons": {[]ledger.Problem{{Name: "a", Standing: ledger.NotRead, Reason: "x"}, {Name: "b", Standing: ledger.NotRead, Reason: "y"}},
			"a was not read: x; b was not read: y"},
		"the worst comes first": {[]ledger.Problem{unproven[0], carried("b"), {Name: "c", Standing: ledger.NotRead}, {Name: "d", Standing: ledger.NotRead}},
			"c and d were not read; b is carried since 2026-11-19 01:05 UTC: answered 500; a is not proven"},
		"four names":            {unproven[:4], "a, b, c and d are not proven"},
		"five names":            {unproven[:5], "a, b, c, d and e are not proven"},
		"six names":             {unproven, "a, b, c, d and 2 more are not proven"},
		"a reason of 160 runes": {[]ledger.Problem{{Name: "a", Standing: ledger.NotRead, Reason: longest + "\nmore"}}, "a was not read: " + longest},
		"a longer reason":       {[]ledger.Problem{{Name: "a", Standing: ledger.NotRead, Reason: longest + "ü"}}, "a was not read: " + longest + "…"},
	} {
		given := slices.Clone(c.problems)
		if got := ledger.DescribeProblems(c.problems); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
		if diff := cmp.Diff(given, c.problems); diff != "" {
			t.Errorf("%s: the problems were reordered:\n%s", name, diff)
		}
	}
}

// TestExcludedStreams checks IsExcluded and IsUnused.
func TestExcludedStreams(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		grade                stream.Grade
		reason               string
		isExcluded, isUnused bool
	}{
		{"skipped", ledger.ReasonNotChosen, true, true},
		{"skipped", "not chosen", true, true}, // of an earlier release
		{"skipped", ledger.ReasonNoDetails, true, true},
		{"skipped", ledger.ReasonNoDelivery, false, true},
		{"skipped", "403", false, false},
		{"carried_forward", ledger.ReasonNotChosen + " since May", true, false},
		{"carried_forward", ledger.ReasonNoDelivery, false, false},
		{"exact", ledger.ReasonNotChosen, false, false},
		{"best_effort", ledger.ReasonNoDetails, false, false},
	} {
		s := ledger.Stream{Grade: c.grade, Reason: c.reason}
		if s.IsExcluded() != c.isExcluded || s.IsUnused() != c.isUnused {
			t.Errorf("%s, %s: excluded %v, unused %v, want %v, %v", c.grade, c.reason, s.IsExcluded(), s.IsUnused(), c.isExcluded, c.isUnused)
		}
	}
}

// TestSummaryOfStreams checks which streams are named in messages about a run, and in which order.
func TestSummaryOfStreams(t *testing.T) {
	t.Parallel()
	names := func(streams []ledger.Stream) (all []string) {
		for _, s := range streams {
			all = append(all, s.Stream)
		}
		return all
	}
	// e is incomplete although its standing is proven: Incomplete takes precedence over the standing.
	streams := []ledger.Stream{
		{Stream: "a", Grade: "exact"}, {Stream: "b", Grade: "best_effort"}, {Stream: "c", Grade: "carried_forward"}, {Stream: "d", Grade: "skipped"},
		{Stream: "e", Grade: "bounded", Incomplete: true}, {Stream: "f", Grade: "skipped", Incomplete: true}, {Stream: "g", Grade: "carried_forward", Unsorted: true},
		{Stream: "events", Grade: "best_effort", Events: true}, {Stream: "h", Grade: "carried_forward", Incomplete: true},
	}
	r := ledger.Run{Outcome: ledger.Partial, Streams: streams}
	if got, want := names(r.WorstFirst()), strings.Fields("f h e d c g b events a"); !slices.Equal(got, want) {
		t.Errorf("the order is %q, want %q", got, want)
	}
	if got := names((ledger.Run{Streams: []ledger.Stream{streams[4], streams[3]}}).WorstFirst()); !slices.Equal(got, []string{"e", "d"}) {
		t.Errorf("the order is %q, want the incomplete stream e before the unread stream d", got)
	}
	if got := names(r.IncompleteStreams()); !slices.Equal(got, []string{"f", "h", "e"}) {
		t.Errorf("the incomplete streams are %q, want the marked streams f, h and e", got)
	}
	if got := r.UnsortedStreams(); !slices.Equal(got, []string{"g"}) {
		t.Errorf("the unsorted streams are %q, want g", got)
	}
	if got, want := r.Summary(), "partial, 2 streams not read, 3 carried, 1 not proven"; got != want {
		t.Errorf("the summary is %q, want %q", got, want)
	}
	if got, want := r.Why(), "f was not read; h is carried; e is proven"; got != want {
		t.Errorf("the reason is %q, want %q", got, want)
	}
	// The reason and the age of a stream are those of its row in meta.streams.
	old := ledger.Stream{Stream: "tags", Grade: "carried_forward", Reason: "answered 500", Incomplete: true,
		AgeSince: time.Date(2026, time.November, 19, 2, 5, 0, 0, time.UTC)}
	if got, want := (ledger.Run{Outcome: ledger.Partial, Streams: []ledger.Stream{{Stream: "a"}, old}}).Why(), "tags is carried since 2026-11-19 02:05 UTC: answered 500"; got != want {
		t.Errorf("the reason is %q, want %q", got, want)
	}
	unmarked := ledger.Run{Outcome: ledger.Partial, Streams: slices.Concat(streams[:4], []ledger.Stream{{Stream: "unsorted", Grade: "exact", Unsorted: true}})}
	if got := names(unmarked.IncompleteStreams()); !slices.Equal(got, []string{"c", "b"}) {
		t.Errorf("the incomplete streams of a run without marks are %q, want the carried and unproven streams c and b", got)
	}
	complete := ledger.Run{Outcome: ledger.Complete, Streams: streams[:2]}
	if got := names(complete.IncompleteStreams()); len(got) > 0 {
		t.Errorf("incomplete in a complete run: got %q, want none", got)
	}
	if got, want := complete.Summary(), "complete, 1 stream not proven"; got != want {
		t.Errorf("the summary is %q, want %q", got, want)
	}
	if got := (ledger.Run{Outcome: ledger.Complete, Streams: streams[:1]}).Summary(); got != "complete" {
		t.Errorf("the summary of a run with proven streams is %q, want complete", got)
	}
}
