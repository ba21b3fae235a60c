package explore

import (
	"slices"
	"time"

	"placementsync/internal/page"
	"placementsync/internal/query"
)

// period is a span of time in which a field had one value. from and to are times of snapshots. to is
// zero for the current value.
type period struct {
	value    query.Value
	from, to time.Time
}

func (p period) isOpen() bool { return p.to.IsZero() }

// mergePeriods merges adjacent and overlapping periods with equal values. The periods must be sorted
// by from. Periods with a gap between them are not merged: in the gap, the record did not exist.
func mergePeriods(periods []period) []period {
	var merged []period
	for _, p := range periods {
		n := len(merged)
		if n == 0 || merged[n-1].value != p.value || !merged[n-1].isOpen() && p.from.After(merged[n-1].to) {
			merged = append(merged, p)
			continue
		}
		if last := &merged[n-1]; !last.isOpen() && (p.isOpen() || p.to.After(last.to)) {
			last.to = p.to
		}
	}
	return merged
}

// periodsOf returns the periods of a column from records with valid_from and valid_to. If column is
// empty, it returns the periods in which a record existed.
func periodsOf(records []query.Record, column string) []period {
	periods := make([]period, len(records))
	for i, r := range records {
		periods[i] = period{value: r.Get(column), from: instantOf(r.Get("valid_from")), to: instantOf(r.Get("valid_to"))}
	}
	return mergePeriods(periods)
}

// groupRecords groups records by a label. labels contains each label once, in the order of the records.
func groupRecords(records []query.Record, label func(r query.Record) string) (labels []string, groups map[string][]query.Record) {
	groups = map[string][]query.Record{}
	for _, r := range records {
		l := label(r)
		if groups[l] == nil {
			labels = append(labels, l)
		}
		groups[l] = append(groups[l], r)
	}
	return labels, groups
}

// viewPeriods formats periods. now is the last period. before contains the earlier periods, the latest first.
func viewPeriods(periods []period, format func(v query.Value) page.Cell) (now periodView, before []periodView) {
	for i, p := range slices.Backward(periods) {
		view := periodView{format(p.value), clockOf(p.from), clockOf(p.to)}
		if i == len(periods)-1 {
			now = view
		} else {
			before = append(before, view)
		}
	}
	return now, before
}

// instantOf parses a time. It returns the zero time for NULL and for texts that are not a time.
func instantOf(v query.Value) time.Time {
	at, _ := time.Parse(time.RFC3339Nano, v.Text)
	return at
}

// clockOf formats a time. It returns an empty text for the zero time.
func clockOf(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return page.Clock(at)
}
