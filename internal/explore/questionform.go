package explore

import (
	"slices"

	"placementsync/internal/query"
)

// formField is one parameter in the form of a question.
type formField struct {
	// Param is its name, Key that in the address.
	Param, Key, Label, About string
	Value                    string
	// Hint stands in an empty field.
	Hint string
	// Numeric fields get the keys for numbers on a phone.
	Numeric bool
	// Options are all values that can be chosen; Known some that can be typed.
	Options []option
	Known   []string
	// Problem says what is wrong with the value.
	Problem string
	// Required fields have no default.
	Required bool
}

// option is one value of a choice.
type option struct {
	Value, Label string
	Chosen       bool
}

// buildForm makes the fields of the parameters, with the values of the address.
func (q *question) buildForm() ([]formField, error) {
	var fields []formField
	for _, p := range q.query.Params {
		f := formField{Param: p.Name, Key: paramKey + p.Name, Label: labelOf(p.Name), About: p.About, Required: p.Default == "",
			Numeric: p.Type == "BIGINT" || p.Type == "COUNT" || p.Type == "DECIMAL", Hint: hintOf(p)}
		value, given := q.values[p.Name]
		if !given {
			value = p.Default
		}
		if value != "NULL" {
			f.Value = value
		}
		if err := q.addChoices(&f, p); err != nil {
			return nil, err
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// addChoices offers the values of a parameter: few as a choice, many beside the typing.
func (q *question) addChoices(f *formField, p query.Param) error {
	const few, many = 40, 500
	if p.Type == "DATE" {
		f.Known = []string{"snapshot-7d", "snapshot-30d", "snapshot-90d", "snapshot-365d"}
		return nil
	}
	values, more, err := q.db.ParamValues(q.Context(), p, many)
	switch {
	case query.IsMissing(err): // the question itself says what the snapshot lacks
		return nil
	case err != nil || len(values) == 0:
		return err
	case more || len(values) > few:
		f.Known = values
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

// hintOf says what an empty field means.
func hintOf(p query.Param) string {
	switch {
	case p.TakesNull():
		return "any"
	case p.Default == "":
		return "needed"
	}
	return p.Default
}
