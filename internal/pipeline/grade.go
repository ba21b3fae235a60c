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

type streamResult struct {
	stream   stream.Stream
	coverage load.Coverage
	evidence fetch.Evidence
	// ids counts all known ids of a detail stream. requested counts the requested ids. found counts the
	// ids whose response was a record or a list. missed counts the ids whose request failed.
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
	refused       bool      // the token may not read the stream
	failure       error     // left the stream unread or partly read
	since         time.Time // when the oldest of the rows that were not read in this run was last read
	// stored contains the row counts and the age of the rows in the snapshot. It is set after the merge,
	// when merged becomes true.
	stored load.RowAges
	merged bool
}

// results contains the streams in the order in which they were finished.
type results []streamResult

func (finished results) wasRead(name string) bool {
	return slices.ContainsFunc(finished, func(r streamResult) bool { return r.stream.Name == name && r.coverage != load.Carried })
}

func (finished results) coverage() map[string]load.Coverage {
	coverage := map[string]load.Coverage{}
	for _, r := range finished {
		coverage[r.stream.Name] = r.coverage
	}
	return coverage
}

func (finished results) outcome() ledger.Outcome {
	if slices.ContainsFunc(finished, func(r streamResult) bool { return r.failure != nil }) {
		return ledger.Partial
	}
	return ledger.Complete
}

// requireData returns an error if no stream could be read. Events do not count, nor do details without requests.
// The stream of the token counts only if it is the only chosen stream.
func (finished results) requireData(isOnlyStream bool) error {
	var reasons strings.Builder
	for _, r := range finished {
		isData := r.stream.Path != tokenPath || isOnlyStream
		if r.coverage != load.Carried && !r.stream.IsEvents() && (!r.stream.IsDetail() || r.requested > 0) && isData {
			return nil
		}
		fmt.Fprintf(&reasons, "\n  %s: %s", r.stream.Name, r.evidence.Reason)
	}
	return fmt.Errorf("%w%s", ErrNoData, reasons.String())
}

// setGrades sets the grade of each table, and the note about details that were not read.
func (finished results) setGrades(tables []warehouse.ManifestTable) {
	var streams []stream.Stream
	grades := map[string]stream.GradeReason{}
	for _, r := range finished {
		streams = append(streams, r.stream)
		grades[r.stream.Name] = stream.GradeReason{Grade: r.evidence.Grade, Reason: r.evidence.Reason}
	}
	for i := range tables {
		g, _ := stream.GradeTable(streams, tables[i].Name, grades)
		tables[i].Grade, tables[i].Note = g.Grade, g.Note
	}
}

// failLostRight sets the failure of a stream that an earlier night read and that this night may not read, for example
// because the token lost a scope. The night is partial until the configuration excludes the stream.
func (r *streamResult) failLostRight() {
	unread := ledger.Stream{Grade: r.evidence.Grade, Reason: r.evidence.Reason}
	if r.failure != nil || r.evidence.Grade != stream.CarriedForward || unread.IsExcluded() {
		return
	}
	r.evidence.Reason += "; an earlier night read this stream: restore the right, or add the stream to streams.exclude"
	r.failure = errors.New(r.evidence.Reason)
}

// setRowAges is called after the merge.
func (finished results) setRowAges(ctx context.Context, n *night) error {
	ages, err := n.stage.CountRowAges(ctx, finished.coverage())
	if err != nil {
		return err
	}
	for i := range finished {
		r := &finished[i]
		r.stored, r.merged = ages[r.stream.Name], true
		if r.stored.Old == 0 && r.coverage != load.Carried || !r.stored.Since.IsZero() {
			continue
		}
		if r.stored.Since = r.since; r.since.IsZero() {
			if r.stored.Since, _, err = n.draft.RowsReadSince(ctx, r.stream.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// gradeDetails limits the grade of a detail stream to the worst grade of the streams that contain its
// ids. An unread stream counts as best_effort. If the token may read some of these streams, the others do not count,
// because the token cannot see their records. A detail stream without ids is graded skipped if its grade
// would be best_effort. If requests failed, gradeDetails sets r.failure.
func (finished results) gradeDetails(r *streamResult, d fetch.Details) {
	parents := slices.DeleteFunc(slices.Clone(finished), func(parent streamResult) bool {
		return !slices.ContainsFunc(r.stream.IDColumns, func(ref stream.IDColumn) bool {
			return slices.ContainsFunc(parent.stream.Tables, func(t stream.Table) bool { return t.Name == ref.Table })
		})
	})
	isRefused := func(parent streamResult) bool { return parent.refused && parent.evidence.Grade == stream.Skipped }
	if readable := slices.DeleteFunc(slices.Clone(parents), isRefused); len(readable) > 0 {
		parents = readable
	}
	for _, parent := range parents {
		parentGrade := parent.evidence.Grade
		if parentGrade.IsUnread() {
			parentGrade = stream.BestEffort
		}
		if worse := stream.WorseGrade(r.evidence.Grade, parentGrade); worse != r.evidence.Grade {
			r.evidence.Grade = worse
			quality := string(parent.evidence.Grade)
			if standing := ledger.StandingOf(parent.evidence.Grade); standing != ledger.Proven {
				quality = string(standing)
			}
			r.evidence.Reason = fmt.Sprintf("the ids come from the stream %s, which is %s", parent.stream.Name, quality)
		}
	}
	if d.RequestedIDs == 0 && r.carried == 0 && r.evidence.Grade == stream.BestEffort {
		r.evidence.Grade = stream.Skipped
	}
	if d.Failed > 0 {
		r.failure = fmt.Errorf("read %s: %d of %s failed%s; rows of earlier nights are kept; first error: %w",
			r.stream.Name, d.Failed, humanize.Count(d.RequestedIDs, "id"), describeRefused(d.Refused), d.FirstFailure)
		r.evidence.Reason = ledger.Summarize(r.failure)
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
func (r *streamResult) gradeCarried(d fetch.Details, plan load.Plan, recheck int64) {
	if plan.Carried == 0 || stream.WorseGrade(r.evidence.Grade, stream.Bounded) != stream.Bounded {
		return
	}
	idCount := plan.ToRequest + plan.Carried
	r.evidence.Reason = d.DescribeResponses(int(idCount))
	switch {
	case recheck == 0:
		r.evidence.Grade = stream.BestEffort
		r.evidence.Reason += fmt.Sprintf("; %d unchanged ids are not requested again (streams.recheck is 0)", plan.Carried)
	case plan.MaxNights > recheck:
		r.evidence.Grade = stream.BestEffort
		r.evidence.Reason += fmt.Sprintf("; %d unchanged ids were last read up to %s ago, but streams.recheck is %d", plan.Carried, humanize.Count(plan.MaxNights, "night"), recheck)
	default:
		r.evidence.Grade = stream.Bounded
		r.evidence.Reason += fmt.Sprintf("; %d unchanged ids were last read at most %s ago", plan.Carried, humanize.Count(plan.MaxNights, "night"))
	}
}

// A request for an id of a list can return 404, because the record was deleted after the list was read. A
// stream is still proven if at most ordinaryNotFound ids, or ordinaryPercent percent of the requested ids,
// return 404.
const ordinaryNotFound, ordinaryPercent = 3, 1

// gradeNotFound limits the grade of a detail stream whose ids returned 404 although a list contains them. If
// each response of the stream is one record, a few such ids are ordinary. If each response is a list, it is not known
// how many rows one id lacks, so its rows must have been read on an earlier night. recheck is Config.Recheck.
func (r *streamResult) gradeNotFound(recheck int64) {
	kept := r.notFound
	if kept.IDs == 0 {
		return
	}
	problem := fmt.Sprintf("%d of %s returned 404 although a list contains them; ", kept.IDs, humanize.Count(r.requested, "id"))
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
	case kept.IDs > ordinaryNotFound && kept.IDs*100 > r.requested*ordinaryPercent:
		grade, missed = stream.BestEffort, kept.IDs
	case !r.stream.HasRowLists():
	case kept.WithRows < kept.IDs:
		grade, missed = stream.BestEffort, kept.IDs-kept.WithRows
	case kept.MaxNights == 0:
		grade = stream.BestEffort
		problem += ", and it is not known when they were read"
	case kept.MaxNights > recheck:
		grade = stream.BestEffort
		problem += fmt.Sprintf(", and were last read up to %s ago, but streams.recheck is %d", humanize.Count(kept.MaxNights, "night"), recheck)
	default:
		grade = stream.Bounded
		problem += fmt.Sprintf(", and were last read at most %s ago", humanize.Count(kept.MaxNights, "night"))
	}
	if worse := stream.WorseGrade(r.evidence.Grade, grade); worse != r.evidence.Grade {
		r.evidence.Grade, r.evidence.Reason = worse, problem
	} else {
		r.evidence.Reason += "; " + problem
	}
	r.missed += missed
	if missed > 0 && r.failure == nil {
		r.failure = fmt.Errorf("read %s: %s", r.stream.Name, problem)
	}
}

// notFoundLosses applies the limits for deletions of rows to the ids that returned 404.
func (finished results) notFoundLosses(limits load.Limits) (losses []ledger.Loss) {
	for _, r := range finished {
		table := r.stream.Root().Name
		gone := r.notFound.IDs
		if gone > 0 && limits.AreExceeded(gone, r.ids) && !limits.Confirmed(table) {
			losses = append(losses, ledger.Loss{Table: table, Gone: gone, Before: r.ids, NotFound: true})
		}
	}
	return losses
}

// capGrade grades a stream after a refresh has read a part of the stream. If the grade before the refresh
// was worse, it is kept, unless a request of the refresh failed. A stream that no night has read is
// graded best_effort.
func (r *streamResult) capGrade(ctx context.Context, draft *warehouse.Draft) error {
	last, ok, err := draft.LastGrade(ctx, r.stream.Name)
	if err != nil {
		return err
	}
	if !ok || last.Grade == stream.Skipped {
		last.Grade, last.Reason = stream.BestEffort, "only the records named by webhook events were read"
	}
	if r.failure == nil && stream.WorseGrade(r.evidence.Grade, last.Grade) == last.Grade {
		r.evidence.Grade, r.evidence.Reason = last.Grade, last.Reason
	}
	return nil
}
