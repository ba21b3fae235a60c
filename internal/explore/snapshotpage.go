package explore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"placementsync/internal/html"
	"placementsync/internal/ledger"
	"placementsync/internal/query"
	"placementsync/internal/stream"
)

type snapshotView struct {
	Grades  *html.Table
	Checks  *html.Table   // nil if no check was run on the snapshot
	Samples []*html.Table // the first violating rows of each failed check
}

func showSnapshot(v *visit) (reply, error) {
	grades, err := v.runNamed("stream_grades", nil)
	if err != nil {
		return nil, err
	}
	gradeIndex := slices.IndexFunc(grades.Columns, func(c query.Column) bool { return c.Name == "grade" })
	for _, r := range grades.Rows {
		if grade := &r.Values[gradeIndex]; !grade.Null {
			grade.Text = string(ledger.StandingOf(stream.Grade(grade.Text))) + " (" + grade.Text + ")"
		}
	}
	view := snapshotView{Grades: buildTable("Streams", rolesOf(grades.Columns), grades, v.links())}
	checks, err := v.runNamed("check_results", nil)
	if err != nil && !query.IsMissing(err) {
		return nil, err
	}
	if len(checks.Rows) == 0 {
		return newPage("Snapshot", "snapshot", view), nil
	}
	for _, r := range checks.Rows {
		sample := &r.Values[slices.IndexFunc(checks.Columns, func(c query.Column) bool { return c.Name == "sample" })]
		if !sample.Null {
			t, err := buildSample(r.Get("check_name").Text, sample.Text)
			if err != nil {
				return nil, err
			}
			view.Samples = append(view.Samples, t)
		}
		*sample = query.Value{Null: true}
	}
	view.Checks = buildTable("Checks", rolesOf(checks.Columns), checks, v.links())
	view.Checks.Blank = nil
	outcomeIndex := slices.IndexFunc(view.Checks.Heads, func(h html.Head) bool { return h.Name == "outcome" })
	for i, r := range checks.Rows {
		view.Checks.Rows[i].Cells[outcomeIndex] = html.TagCell(r.Get("outcome").Text)
	}
	return newPage("Snapshot", "snapshot", view), nil
}

// buildSample returns the table of a JSON array of objects with the same members.
func buildSample(check, sampleJSON string) (*html.Table, error) {
	t := &html.Table{Caption: "First rows of " + check, Stacked: true}
	var rows []json.RawMessage
	err := json.Unmarshal([]byte(sampleJSON), &rows)
	for i, row := range rows {
		names, cells, rowErr := readSampleRow(row)
		err = errors.Join(err, rowErr)
		t.Rows = append(t.Rows, html.Row{Cells: cells})
		if i > 0 {
			continue
		}
		for _, name := range names {
			t.Heads = append(t.Heads, html.Head{Label: query.LabelOf(name)})
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read the sample of the check %s: %w", check, err)
	}
	return t, nil
}

// readSampleRow returns the members of a JSON object in their order.
func readSampleRow(object json.RawMessage) (names []string, cells []html.Cell, err error) {
	d := json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	_, err = d.Token() // the opening brace
	for err == nil && d.More() {
		var name, value any
		name, err = d.Token()
		if err == nil {
			err = d.Decode(&value)
		}
		cell := html.Cell{Text: html.Unknown, Class: "none"}
		if value != nil {
			cell = html.Cell{Text: html.Clip(fmt.Sprint(value), maxCellText)}
		}
		names, cells = append(names, fmt.Sprint(name)), append(cells, cell)
	}
	return names, cells, err
}
