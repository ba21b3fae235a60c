package explore

import "placementsync/internal/ledger"

// showSnapshot says what the pages are read from, and how sure it is that all is there.
func showSnapshot(v *visit) (reply, error) {
	grades, err := v.askNamed("stream_grades", nil)
	if err != nil {
		return nil, err
	}
	for _, r := range grades.Records {
		if grade := r["grade"]; !grade.Null {
			grade.Text = string(ledger.StandingOf(grade.Text)) + " (" + grade.Text + ")"
			r["grade"] = grade
		}
	}
	return htmlPage{Title: "Snapshot", Template: "snapshot", Data: buildTable("Streams", grades, v.links(), false)}, nil
}
