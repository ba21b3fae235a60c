package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"placementsync/internal/fetch"
	"placementsync/internal/humanize"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// streamRun is the reading of one stream in a run, from its start to its grade.
type streamRun struct {
	stream   stream.Stream
	began    time.Time // on the real clock
	coverage load.Coverage
	evidence fetch.Evidence
	// ids counts all known ids of a detail stream. requested counts the requested ids. found counts the
	// ids whose response was a record or a list. missed counts the ids, or the pages of a list, whose request failed.
	ids, requested, found, missed int64
	// notFound are the ids with a 404 although a list contains them. Those that make the night partial also
	// count as missed.
	notFound load.KeptIDs
	// carried counts the ids whose rows are kept without a request. rechecked counts the
	// settled ids that were read again.
	carried, rechecked int64
	unread             int64 // number of ids that the night had no time for
	// distinct counts the different record ids. It is 0 for records without ids.
	distinct int64
	// rows counts the received records. rejects counts the invalid values and records.
	rows, rejects int64
	isRefused     bool      // the token may not read the stream
	failure       error     // left the stream unread or partly read
	since         time.Time // when the oldest carried row was read
	// stored contains the row counts and the age of the rows in the snapshot, if isMerged is set.
	stored   load.RowAges
	isMerged bool
}

// fail records an error that left the stream unread or partly read.
func (s *streamRun) fail(err error) {
	s.failure, s.evidence.Reason = err, ledger.Summarize(err)
}

type streamRuns []streamRun

func (all streamRuns) wasRead(name string) bool {
	return slices.ContainsFunc(all, func(s streamRun) bool { return s.stream.Name == name && s.coverage != load.Carried })
}

func (all streamRuns) coverage() map[string]load.Coverage {
	coverage := map[string]load.Coverage{}
	for _, s := range all {
		coverage[s.stream.Name] = s.coverage
	}
	return coverage
}

// requireData returns an error if no stream could be read. Events do not count, nor do details without requests.
// The stream of the token counts only if it is the only chosen stream.
func (all streamRuns) requireData(isOnlyStream bool) error {
	var reasons strings.Builder
	for _, s := range all {
		isData := !s.stream.IsEvents() && (s.stream.Path != tokenPath || isOnlyStream)
		wasRequested := !s.stream.IsDetail() || s.requested > 0
		if isData && wasRequested && s.coverage != load.Carried {
			return nil
		}
		fmt.Fprintf(&reasons, "\n  %s: %s", s.stream.Name, s.evidence.Reason)
	}
	return fmt.Errorf("%w%s", ErrNoData, reasons.String())
}

// gradeTables sets the grade of each table, and the note about details that were not read.
func (all streamRuns) gradeTables(tables []warehouse.ManifestTable) {
	var streams []stream.Stream
	grades := map[string]stream.GradeReason{}
	for _, s := range all {
		streams = append(streams, s.stream)
		grades[s.stream.Name] = stream.GradeReason{Grade: s.evidence.Grade, Reason: s.evidence.Reason}
	}
	for i := range tables {
		g, _ := stream.GradeTable(streams, tables[i].Name, grades)
		tables[i].Grade, tables[i].Note = g.Grade, g.Note
	}
}

// failLostRight sets the failure of a stream that an earlier night read and that this night may not read, for example
// because the token lost a scope. The night is partial until the configuration excludes the stream.
func (s *streamRun) failLostRight() {
	unread := ledger.Stream{Grade: s.evidence.Grade, Reason: s.evidence.Reason}
	if s.failure != nil || s.evidence.Grade != stream.CarriedForward || unread.IsExcluded() {
		return
	}
	s.evidence.Reason += "; an earlier night read this stream: restore the right, or add the stream to streams.exclude"
	s.failure = errors.New(s.evidence.Reason)
}

// gradeDetails limits the grade of a detail stream to the worst grade of the streams that contain its
// ids. An unread stream counts as best_effort. If the token may read some of these streams, the others do not count,
// because the token cannot see their records. A detail stream without ids is graded skipped if its grade
// would be best_effort. If requests failed, gradeDetails sets s.failure.
func (all streamRuns) gradeDetails(s *streamRun, d fetch.Details) {
	parents := slices.DeleteFunc(slices.Clone(all), func(parent streamRun) bool {
		return !slices.ContainsFunc(s.stream.IDColumns, func(ref stream.IDColumn) bool {
			return slices.ContainsFunc(parent.stream.Tables, func(t stream.Table) bool { return t.Name == ref.Table })
		})
	})
	isRefused := func(parent streamRun) bool { return parent.isRefused && parent.evidence.Grade == stream.Skipped }
	if readable := slices.DeleteFunc(slices.Clone(parents), isRefused); len(readable) > 0 {
		parents = readable
	}
	for _, parent := range parents {
		parentGrade := parent.evidence.Grade
		if parentGrade.IsUnread() {
			parentGrade = stream.BestEffort
		}
		if worse := stream.WorseGrade(s.evidence.Grade, parentGrade); worse != s.evidence.Grade {
			s.evidence.Grade = worse
			quality := string(parent.evidence.Grade)
			if standing := ledger.StandingOf(parent.evidence.Grade); standing != ledger.Proven {
				quality = string(standing)
			}
			s.evidence.Reason = fmt.Sprintf("the ids come from the stream %s, which is %s", parent.stream.Name, quality)
		}
	}
	if d.RequestedIDs == 0 && s.carried == 0 && s.evidence.Grade == stream.BestEffort {
		s.evidence.Grade = stream.Skipped
	}
	if d.Failed > 0 {
		s.fail(fmt.Errorf("read %s: %d of %s failed%s; rows of earlier nights are kept; first error: %w",
			s.stream.Name, d.Failed, humanize.Count(d.RequestedIDs, "id"), describeRefused(d.Refused), d.FirstFailure))
	}
}

// maxNamedIDs limits the ids in a reason.
const maxNamedIDs = 5

// describeRefused names the ids that the service refused with a 403.
func describeRefused(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	text := fmt.Sprintf("; 403 for %s", strings.Join(ids[:min(len(ids), maxNamedIDs)], ", "))
	if more := len(ids) - maxNamedIDs; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// gradeCarried lowers the grade of a detail stream if ids are carried. An unchanged row of a list does not
// prove that the columns that only the detail contains are unchanged. recheck is Config.Recheck.
func (s *streamRun) gradeCarried(d fetch.Details, plan load.Plan, recheck int64) {
	if plan.Carried == 0 || stream.WorseGrade(s.evidence.Grade, stream.Bounded) != stream.Bounded {
		return
	}
	grade, problem := gradeAge(plan.MaxNights, recheck)
	if recheck == 0 {
		grade, problem = stream.BestEffort, "are not requested again (streams.recheck is 0)"
	}
	idCount := plan.ToRequest + plan.Carried
	s.evidence.Grade = grade
	s.evidence.Reason = fmt.Sprintf("%s; %d unchanged ids %s", d.DescribeResponses(int(idCount)), plan.Carried, problem)
}

// gradeAge grades rows whose oldest reading was this number of nights ago. sentence is the end of the reason.
func gradeAge(nights, recheck int64) (grade stream.Grade, sentence string) {
	age := humanize.Count(nights, "night")
	if nights > recheck {
		return stream.BestEffort, fmt.Sprintf("were last read up to %s ago, but streams.recheck is %d", age, recheck)
	}
	return stream.Bounded, fmt.Sprintf("were last read at most %s ago", age)
}

// A request for an id of a list can return 404, because the record was deleted after the list was read. A
// stream is still proven if at most ordinaryNotFound ids, or ordinaryPercent percent of the requested ids,
// return 404.
const ordinaryNotFound, ordinaryPercent = 3, 1

// gradeNotFound limits the grade of a detail stream whose ids returned 404 although a list contains them. If
// each response of the stream is one record, a few such ids are ordinary. If each response is a list, it is not known
// how many rows one id lacks, so its rows must have been read on an earlier night. recheck is Config.Recheck.
func (s *streamRun) gradeNotFound(recheck int64) {
	kept := s.notFound
	if kept.IDs == 0 {
		return
	}
	problem := fmt.Sprintf("%d of %s returned 404 although a list contains them; ", kept.IDs, humanize.Count(s.requested, "id"))
	switch kept.WithRows {
	case kept.IDs:
		problem += "their rows are kept"
	case 0:
		problem += "they have no rows from an earlier night"
	default:
		problem += fmt.Sprintf("%d have no rows from an earlier night, the rows of the others are kept", kept.IDs-kept.WithRows)
	}
	grade, missed := stream.Repaired, int64(0)
	switch {
	case kept.IDs > ordinaryNotFound && kept.IDs*100 > s.requested*ordinaryPercent:
		grade, missed = stream.BestEffort, kept.IDs
	case !s.stream.HasRowLists():
		// Each id is one record, which was probably deleted after the list was read.
	case kept.WithRows < kept.IDs:
		grade, missed = stream.BestEffort, kept.IDs-kept.WithRows
	case kept.MaxNights == 0:
		grade = stream.BestEffort
		problem += ", and it is not known when they were read"
	default:
		var age string
		grade, age = gradeAge(kept.MaxNights, recheck)
		problem += ", and " + age
	}
	if worse := stream.WorseGrade(s.evidence.Grade, grade); worse != s.evidence.Grade {
		s.evidence.Grade, s.evidence.Reason = worse, problem
	} else {
		s.evidence.Reason += "; " + problem
	}
	s.missed += missed
	if missed > 0 && s.failure == nil {
		s.failure = fmt.Errorf("read %s: %s", s.stream.Name, problem)
	}
}

// notFoundLosses applies the limits for deletions to the ids that returned 404 although a list contains them.
func (all streamRuns) notFoundLosses(limits load.Limits) (losses []ledger.Loss) {
	for _, s := range all {
		table := s.stream.Root().Name
		gone := s.notFound.IDs
		if gone > 0 && limits.AreExceeded(gone, s.ids) && !limits.Confirmed(table) {
			losses = append(losses, ledger.Loss{Table: table, Gone: gone, Before: s.ids, NotFound: true})
		}
	}
	return losses
}

// capGrade grades a stream after a refresh has read a part of the stream. If the grade before the refresh
// was worse, it is kept, unless a request of the refresh failed. A stream that no night has read is
// graded best_effort.
func (s *streamRun) capGrade(ctx context.Context, draft *warehouse.Draft) error {
	last, ok, err := draft.LastGrade(ctx, s.stream.Name)
	if err != nil {
		return err
	}
	if !ok || last.Grade == stream.Skipped {
		last.Grade, last.Reason = stream.BestEffort, "only the records named by webhook events were read"
	}
	if s.failure == nil && stream.WorseGrade(s.evidence.Grade, last.Grade) == last.Grade {
		s.evidence.Grade, s.evidence.Reason = last.Grade, last.Reason
	}
	return nil
}

// ledgerStream returns the line of the stream in the ledger. allowed is the limit of the request rate, per second. 0
// means no limit.
func (s *streamRun) ledgerStream(t fetch.Telemetry, allowed float64) ledger.Stream {
	e := s.evidence
	line := ledger.Stream{
		Stream: s.stream.Name, Grade: e.Grade, Reason: e.Reason, Pages: int64(e.Pages), Requests: t.Requests,
		Passes: int64(e.Passes), TotalFirst: e.TotalFirst, TotalLast: e.TotalLast, Distinct: int64(e.Distinct),
		Repeated: int64(e.Repeated), Rows: s.stored.Rows, RowsOld: s.stored.Old, Rejects: s.rejects,
		Fetched: s.found, Carried: s.carried,
		Rechecked: s.rechecked, Failed: s.missed, Unread: s.unread, AgeSince: s.stored.Since,
		Incomplete: s.failure != nil, Events: s.stream.IsEvents(), Unsorted: e.Unsortable,
		Bytes: t.Bytes, Retries: t.Retries, RateLimited: t.RateLimited, Reused: t.Hits,
		LatencyP50: t.P50.Seconds() * 1e3, LatencyP95: t.P95.Seconds() * 1e3, LatencyMax: t.Max.Seconds() * 1e3,
		RateWaitSeconds: t.RateWait.Seconds(), RetryAfterSeconds: t.RetryWait.Seconds(),
	}
	if !s.isMerged {
		line.Rows = s.rows
	}
	// The first request is not counted, because it did not wait.
	if span := t.Last.Sub(t.First).Seconds(); allowed > 0 && span > 0 {
		line.RateUsed = float64(t.Requests-1) / (span * allowed)
	}
	return line
}
