package explore

import (
	"slices"
	"strings"
	"time"

	"placementsync/internal/html"
	"placementsync/internal/query"
)

// formField is one parameter in a form. Key is its name in the address.
type formField struct {
	Key, Label, About string
	Value             string
	Default           string   // the value that is left out of the address
	Hint              string   // shown in an empty field
	IsDate            bool     // shown with a calendar
	IsList            bool     // the value is a list, such as one of statuses, and needs a wide field
	Numeric           bool     // phones show a numeric keyboard
	Options           []option // of a selection
	Suggestions       []string // for a text field without Options
	Problem           string
	Required          bool
}

type option struct {
	Value, Label string
	Chosen       bool
}

// preset is a period, with the address of its result.
type preset struct {
	Label, Link string
	Chosen      bool
}

// addPresets adds the usual periods up to the snapshot, if the query has the parameters "since" and "until".
func (q *question) addPresets() {
	for _, name := range []string{"since", "until"} {
		if p, ok := q.view.Param(name); !ok || p.Type != "DATE" {
			return
		}
	}
	today := q.snapshot.At.UTC()
	month := today.AddDate(0, 0, 1-today.Day())
	add := func(label string, since, until time.Time) {
		first, end := since.Format(time.DateOnly), ""
		if !until.IsZero() {
			end = until.Format(time.DateOnly)
		}
		q.view.Presets = append(q.view.Presets, preset{
			Label:  label,
			Link:   q.addressWith(pair{paramKey + "since", first}, pair{paramKey + "until", end}),
			Chosen: q.values["since"] == first && q.values["until"] == end,
		})
	}
	add("Last 7 days", today.AddDate(0, 0, -6), time.Time{})
	add("This month", month, time.Time{})
	add("Last month", month.AddDate(0, -1, 0), month)
}

// buildForm adds the parameters to the view.
func (q *question) buildForm() error {
	q.addPresets()
	for _, p := range q.view.Params {
		f := &formField{
			Key: paramKey + p.Name, Label: query.LabelOf(p.Name), About: p.About, Hint: hintOf(p), Required: p.Default == "",
			Numeric: p.Type == "BIGINT" || p.Type == "COUNT" || p.Type == "DECIMAL",
			IsList:  p.Type == "STATUSES" || strings.Contains(p.Default, ","),
		}
		value, given := q.values[p.Name]
		if !given {
			value = p.Default
		}
		f.Value, f.Default = q.shownValue(p, value), q.shownValue(p, p.Default)
		_, dateErr := time.Parse(time.DateOnly, f.Value)
		fitsCalendar := f.Value == "" || dateErr == nil
		f.IsDate = fitsCalendar && p.Type == "DATE"
		if err := q.addChoices(f, p); err != nil {
			return err
		}
		if p.Name == "top" {
			q.view.Top = f
		} else {
			q.view.Fields = append(q.view.Fields, f)
		}
	}
	return nil
}

// shownValue returns the value of a parameter as the form shows it. A date relative to the snapshot is a date.
func (q *question) shownValue(p query.Param, value string) string {
	if value == "NULL" {
		return ""
	}
	value = q.explorer.cfg.Settings.Value(p, value)
	if days, isRelative := p.RelativeDays(value); isRelative {
		return q.snapshot.At.UTC().AddDate(0, 0, -days).Format(time.DateOnly)
	}
	if month, err := time.Parse("2006-01", value); p.Type == "DATE" && err == nil {
		return month.Format(time.DateOnly)
	}
	return value
}

// addChoices adds the known values of a parameter: few as a selection, many as suggestions.
func (q *question) addChoices(f *formField, p query.Param) error {
	if p.Type == "TIMEZONE" {
		f.Suggestions = slices.Compact([]string{q.shownValue(p, query.ScheduleTimezone), "UTC"})
		return nil
	}
	const maxSelection, maxSuggestions = 40, 500
	values, more, err := q.db.ParamValues(q.Context(), p, maxSuggestions)
	switch {
	case query.IsMissing(err): // running the query reports the missing table or column
		return nil
	case err != nil || len(values) == 0:
		return err
	case more || len(values) > maxSelection:
		f.Suggestions = values
		return nil
	}
	if f.Value != "" && !slices.Contains(values, f.Value) {
		values = append(values, f.Value)
	}
	if p.TakesNull() || f.Value == "" {
		f.Options = append(f.Options, option{"", hintOf(p), f.Value == ""})
	}
	for _, v := range values {
		f.Options = append(f.Options, option{v, labelOfValue(p, v), v == f.Value})
	}
	return nil
}

// labelOfValue returns a value of an enumeration, or a choice such as price_per_point, as words. Names are unchanged.
func labelOfValue(p query.Param, value string) string {
	switch {
	case p.Type == "BOOLEAN":
		return html.YesNo(value)
	case strings.Contains(p.Type, "|"): // names of columns or of ways to compare
		return query.LabelOf(value)
	case p.Values == "", query.Column{Name: p.Name, Type: "VARCHAR"}.IsEnum():
		return query.EnumWords(value)
	}
	return value
}

func hintOf(p query.Param) string {
	switch {
	case p.TakesNull():
		return "any"
	case p.Default == "":
		return "required"
	}
	return p.Default
}
