package explore

import (
	"maps"

	"placementsync/internal/ledger"
)

// showSnapshot says what the pages are read from, and how sure it is that all is there.
func showSnapshot(v *visit) (reply, error) {
	grades, err := v.askNamed("stream_grades", nil)
	if err != nil {
		return nil, err
	}
	said := make([]record, len(grades.Records))
	for i, r := range grades.Records {
		said[i] = maps.Clone(r)
		if grade := r["grade"]; !grade.Null {
			grade.Text = string(ledger.StandingOf(grade.Text)) + " (" + grade.Text + ")"
			said[i]["grade"] = grade
		}
	}
	grades.Records = said
	return page{Title: "Snapshot", Template: "snapshot", Data: grades}, nil
}
