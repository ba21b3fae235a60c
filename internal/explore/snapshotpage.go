package explore

import (
	"slices"

	"placementsync/internal/ledger"
	"placementsync/internal/query"
)

// showSnapshot shows the grades of the streams.
func showSnapshot(v *visit) (reply, error) {
	grades, err := v.runNamed("stream_grades", nil)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(grades.Columns, func(c query.Column) bool { return c.Name == "grade" })
	for _, r := range grades.Rows {
		if grade := &r.Values[at]; !grade.Null {
			grade.Text = string(ledger.StandingOf(grade.Text)) + " (" + grade.Text + ")"
		}
	}
	return htmlPage{Heading: "Snapshot", Template: "snapshot", Data: buildTable("Streams", grades, v.links())}, nil
}
