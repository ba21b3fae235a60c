package explore

import (
	"time"

	"placementsync/internal/page"
	"placementsync/internal/query"
)

// stay is a time during which a field had one value. Both ends are those of snapshots;
// a zero end means that it still has it.
type stay struct {
	value    query.Value
	from, to time.Time
}

func (s stay) isOpen() bool { return s.to.IsZero() }

// mergeStays unites spans of equal values that touch or overlap; spans are in the order
// of their beginnings. A gap, in which the record was not there, separates two spans.
func mergeStays(spans []stay) []stay {
	var merged []stay
	for _, s := range spans {
		n := len(merged)
		if n == 0 || merged[n-1].value != s.value || !merged[n-1].isOpen() && s.from.After(merged[n-1].to) {
			merged = append(merged, s)
			continue
		}
		if last := &merged[n-1]; !last.isOpen() && (s.isOpen() || s.to.After(last.to)) {
			last.to = s.to
		}
	}
	return merged
}

// staysOf reads the spans of one column of records that have valid_from and valid_to.
// Without a column, they are the times in which there was a record.
func staysOf(records []query.Record, column string) []stay {
	spans := make([]stay, len(records))
	for i, r := range records {
		spans[i] = stay{value: r.Get(column), from: instantOf(r.Get("valid_from")), to: instantOf(r.Get("valid_to"))}
	}
	return mergeStays(spans)
}

// groupRecords groups records by a label, in the order of the labels' first records.
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

// instantOf reads a time; zero for NULL and for what is no time.
func instantOf(c query.Value) time.Time {
	at, err := time.Parse(time.RFC3339Nano, c.Text)
	if err != nil {
		return time.Time{}
	}
	return at
}

// clockOf writes an instant for people; empty for none.
func clockOf(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return page.Clock(at)
}
