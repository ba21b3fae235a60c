package explore

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"placementsync/internal/html"
	"placementsync/internal/humanize"
	"placementsync/internal/query"
	"placementsync/internal/sqltext"
)

type fieldsView struct {
	ID, Title string
	Folded    bool
	Fields    []fieldView
	NeverSet  string // the names of the fields that never had a value
	DeletedAt string
	More      string // a note if not all versions of the row were read
}

type fieldView struct {
	Label, About string
	Now          periodView
	Before       []periodView
}

// orEarlier is appended to the time of the oldest row version that was read, if not all were read.
const orEarlier = " or earlier"

// addFields adds the fields of the record from all its tables. The times at which the record appeared
// and was deleted are those of its row in the first table that contains the record.
func (v *visit) addFields(view *recordView) error {
	first, err := v.runStatement(recordSQL.Render("first_snapshot", nil))
	if err != nil {
		return err
	}
	view.FirstSnapshot = html.Moment(first.Rows[0].Get("first_at").Text)
	for i, t := range v.route.kind.tables {
		views, presence, err := v.readFields(t)
		if err != nil {
			return err
		}
		for j := range views {
			isFirst := len(view.Fields) == 0
			views[j].ID = fmt.Sprintf("fields-%d-%d", i, j)
			views[j].Folded = !isFirst && !t.open
			view.Fields = append(view.Fields, views[j])
		}
		isRecord := t.idColumn == "id" // rows with another key only refer to the record
		if !isRecord || len(presence) == 0 || view.FirstSeen != "" {
			continue
		}
		view.FirstSeen = clockOf(presence[0].from)
		if views[0].More != "" {
			view.FirstSeen += orEarlier
		}
		if last := presence[len(presence)-1]; !last.isOpen() {
			view.DeletedAt = clockOf(last.to)
			deletion, err := v.runStatement(recordSQL.Render("vanished", sqltext.Values{"table": t.table, "id": v.PathValue("id")}))
			if err != nil {
				return err
			}
			if len(deletion.Rows) > 0 {
				view.Evidence = deletion.Rows[0].Get("evidence").Text
			}
		}
	}
	return nil
}

// readFields reads the record's rows in one table. presence contains the periods in which the first row existed.
func (v *visit) readFields(t fieldTable) (views []fieldsView, presence []period, err error) {
	columns, err := v.runStatement(recordSQL.Render("columns", sqltext.Values{"table": t.table}))
	if err != nil || len(columns.Rows) == 0 {
		return nil, nil, err
	}
	names := make([]string, len(columns.Rows))
	about := map[string]string{}
	for i, r := range columns.Rows {
		names[i] = r.Get("column_name").Text
		// "Spec" and the number of a section of the service's specification follow the description.
		about[names[i]], _, _ = strings.Cut(r.Get("comment").Text, " Spec ")
	}
	// If there are more than maxRows row versions, the newest are read.
	versions, err := v.runStatement(recordSQL.Render("versions", sqltext.Values{"table": sqltext.Name(t.table), "key": sqltext.Name(t.idColumn),
		"columns": sqltext.Names(names), "most": maxRows, "id": v.PathValue("id")}))
	if query.IsMissing(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	ids, versionsByID := query.GroupRecords(versions.Rows, func(r query.Record) string { return r.Get("id").Text })
	for _, id := range ids {
		fields, periods := v.buildFields(t, versions, versionsByID[id], about)
		if presence == nil {
			presence = periods
		}
		views = append(views, fields)
	}
	return views, presence, nil
}

// buildFields returns the fields of one row from its versions. all contains the versions of all rows.
func (v *visit) buildFields(t fieldTable, all query.Result, versions []query.Record, about map[string]string) (view fieldsView, presence []period) {
	view.Title = t.title
	oldestSuffix := ""
	if len(all.Rows) == maxRows {
		oldestSuffix, view.More = orEarlier, "Only the newest "+humanize.Number(maxRows)+" versions are shown."
	}
	if t.nameColumn != "" {
		view.Title += ": " + html.Clip(versions[len(versions)-1].Get(t.nameColumn).Or(html.Unknown), maxText)
	}
	presence = periodsOf(versions, make([]query.Value, len(versions)))
	view.DeletedAt = clockOf(presence[len(presence)-1].to)
	var neverSet []string
	for _, r := range rolesOf(all.Columns) {
		if r.Name == "valid_from" || r.Name == "valid_to" {
			continue
		}
		isAlwaysNull := !slices.ContainsFunc(versions, func(version query.Record) bool { return !version.Get(r.Name).Null })
		if isAlwaysNull {
			neverSet = append(neverSet, strings.ReplaceAll(r.Name, "_", " "))
			continue
		}
		parts := []fieldPart{{r.label, valuesOf(versions, r.Name)}}
		if r.Type == "JSON" {
			var texts []json.RawMessage
			for _, value := range parts[0].values {
				texts = append(texts, json.RawMessage(value.Text))
			}
			parts = partsOfJSON(r.label, texts)
			r.Type = "VARCHAR" // the values are texts
		}
		for _, part := range parts {
			periods := periodsOf(versions, part.values)
			now, before := viewPeriods(periods, func(value query.Value) html.Cell {
				const maxFieldText = 5000 // more than in a table
				cell := r.buildCell(value)
				if cell.Class == "w" {
					cell.Text = html.Clip(value.Text, maxFieldText)
				}
				if r.idColumn == r.Name && !value.Null {
					cell.Link = v.links().linkRecord(r.kind, value.Text)
				}
				return cell
			})
			if n := len(before); n > 0 {
				before[n-1].Since += oldestSuffix
			} else {
				now.Since += oldestSuffix
			}
			view.Fields = append(view.Fields, fieldView{Label: part.label, About: about[r.Name], Now: now, Before: before})
		}
	}
	view.NeverSet = strings.Join(neverSet, ", ")
	return view, presence
}

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
		if len(merged) == 0 {
			merged = append(merged, p)
			continue
		}
		last := &merged[len(merged)-1]
		hasGap := !last.isOpen() && p.from.After(last.to)
		if hasGap || last.value != p.value {
			merged = append(merged, p)
			continue
		}
		endsLater := p.isOpen() || p.to.After(last.to)
		if endsLater && !last.isOpen() {
			last.to = p.to
		}
	}
	return merged
}

// periodsOf returns the periods of the values of records with valid_from and valid_to. With equal values, these are
// the periods in which a record existed.
func periodsOf(records []query.Record, values []query.Value) []period {
	periods := make([]period, len(records))
	for i, r := range records {
		periods[i] = period{value: values[i], from: instantOf(r.Get("valid_from")), to: instantOf(r.Get("valid_to"))}
	}
	return mergePeriods(periods)
}

func valuesOf(records []query.Record, column string) []query.Value {
	values := make([]query.Value, len(records))
	for i, r := range records {
		values[i] = r.Get(column)
	}
	return values
}

// viewPeriods returns the last period, and the earlier periods, the latest first.
func viewPeriods(periods []period, format func(v query.Value) html.Cell) (now periodView, before []periodView) {
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

// instantOf returns the zero time for NULL and for texts that are not a time.
func instantOf(v query.Value) time.Time {
	at, _ := time.Parse(time.RFC3339Nano, v.Text)
	return at
}

// clockOf returns an empty text for the zero time.
func clockOf(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return html.Clock(at)
}

// fieldPart is a field of a row, or a member of a JSON object in a field, with its value in each version of the row.
type fieldPart struct {
	label  string
	values []query.Value
}

// partsOfJSON returns a part for each member of the objects in a JSON column, also of inner objects. If a version has
// a value that is not an object, all versions are one part.
func partsOfJSON(label string, versions []json.RawMessage) []fieldPart {
	whole := fieldPart{label: label}
	members := map[string][]json.RawMessage{}
	isWhole := false
	for i, text := range versions {
		value, object := describeJSON(text), objectOf(text)
		whole.values = append(whole.values, value)
		if len(object) == 0 && !value.Null {
			isWhole = true
		}
		for name, member := range object {
			if members[name] == nil {
				members[name] = make([]json.RawMessage, len(versions))
			}
			members[name][i] = member
		}
	}
	if isWhole || len(members) == 0 {
		return []fieldPart{whole}
	}
	var parts []fieldPart
	for _, name := range slices.Sorted(maps.Keys(members)) {
		parts = append(parts, partsOfJSON(label+": "+name, members[name])...)
	}
	return parts
}

// objectOf returns the members of a JSON object, or nil for any other text.
func objectOf(text json.RawMessage) map[string]json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(text, &object) != nil {
		return nil
	}
	return object
}

// describeJSON returns a JSON value in words: all items of a list of texts and numbers, and only the number of items
// or members of other lists and objects. An empty text and the JSON value null become NULL.
func describeJSON(text json.RawMessage) query.Value {
	var list []json.RawMessage
	if object := objectOf(text); object != nil {
		return query.Value{Text: humanize.Count(len(object), "member")}
	}
	if json.Unmarshal(text, &list) == nil && list != nil {
		var items []string
		for _, item := range list {
			if strings.ContainsAny(string(item[:1]), "[{") {
				return query.Value{Text: humanize.Count(len(list), "item")}
			}
			items = append(items, describeJSON(item).Or("unknown"))
		}
		return query.Value{Text: strings.Join(items, ", ")}
	}
	var value any
	if json.Unmarshal(text, &value) != nil || value == nil {
		return query.Value{Null: true}
	}
	switch v := value.(type) {
	case string:
		return query.Value{Text: v}
	case bool:
		if v {
			return query.Value{Text: "yes"}
		}
		return query.Value{Text: "no"}
	}
	return query.Value{Text: string(text)} // a number keeps its digits
}
