package explore

import (
	"cmp"
	"slices"

	"placementsync/internal/query"
)

// formField is one parameter in the form of a query.
type formField struct {
	// Param is the name of the parameter. Key is its name in the address.
	Param, Key, Label, About string
	Value                    string
	// Hint is shown in an empty field.
	Hint string
	// Numeric fields show a numeric keyboard on phones.
	Numeric bool
	// Options are the values of a selection. Suggestions are values for a text field, if there are no
	// Options.
	Options     []option
	Suggestions []string
	Problem     string
	// Required fields have no default.
	Required bool
}
type option struct {
	Value, Label string
	Chosen       bool
}

func (q *question) buildForm() ([]formField, error) {
	var fields []formField
	for _, p := range q.query.Params {
		f := formField{Param: p.Name, Key: paramKey + p.Name, Label: labelOf(p.Name), About: p.About, Required: p.Default == "",
			Numeric: p.Type == "BIGINT" || p.Type == "COUNT" || p.Type == "DECIMAL", Hint: hintOf(p)}
		value, given := q.values[p.Name]
		if !given {
			value = p.Default
		}
		switch value {
		case "NULL":
		case query.ScheduleTimezone: // the form shows the time zone instead of the name of its setting
			f.Value = cmp.Or(q.pool.cfg.Timezone, "UTC")
		default:
			f.Value = value
		}
		if err := q.addChoices(&f, p); err != nil {
			return nil, err
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// addChoices adds the known values of a parameter. Few values become a selection, many become
// suggestions.
func (q *question) addChoices(f *formField, p query.Param) error {
	const maxSelection, maxSuggestions = 40, 500
	if p.Type == "DATE" {
		f.Suggestions = []string{"snapshot-7d", "snapshot-30d", "snapshot-90d", "snapshot-365d"}
		return nil
	}
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
		f.Options = append(f.Options, option{v, v, v == f.Value})
	}
	return nil
}

// hintOf returns the meaning of an empty field: any value, the default, or a missing required value.
func hintOf(p query.Param) string {
	switch {
	case p.TakesNull():
		return "any"
	case p.Default == "":
		return "required"
	}
	return p.Default
}
