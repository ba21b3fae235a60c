package trials

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
)

// valueKind describes the columns with one type of values. write converts a JSON value to exact
// text. ok is false if the value has another type.
type valueKind struct {
	columns string   // separated by spaces, as in TableSpec
	types   []string // the valid DuckDB types
	write   func(v any) (text string, ok bool)
}

func (e TableSpec) kinds() []valueKind {
	kinds := []valueKind{
		{e.Text, []string{"VARCHAR"}, text},
		{e.integer, []string{"BIGINT"}, integer},
		{e.flag, []string{"BOOLEAN"}, flag},
		{e.money, []string{"DECIMAL(18,6)"}, money},
		{e.instant, []string{"TIMESTAMP WITH TIME ZONE"}, instant},
		{e.json, []string{"JSON"}, document},
	}
	// The method row fills these columns without write.
	filledByRow := func(any) (string, bool) { return "", false }
	kinds = append(kinds, valueKind{e.rawText, []string{"VARCHAR"}, filledByRow})
	if !e.keyOnly {
		kinds = append(kinds, valueKind{"extra", []string{"JSON"}, filledByRow})
	}
	return kinds
}

// Column splits the specification of a column, "name=source|source". The name is also the source if
// no source is specified.
func Column(spec string) (name string, sources []string) {
	name, from, hasSource := strings.Cut(spec, "=")
	if !hasSource {
		from = name
	}
	return strings.ReplaceAll(name, ".", "_"), strings.Split(from, "|")
}

// Types returns the valid DuckDB types of each column.
func (e TableSpec) Types() map[string][]string {
	all := map[string][]string{}
	for _, k := range e.kinds() {
		for _, spec := range strings.Fields(k.columns) {
			name, _ := Column(spec)
			all[name] = k.types
		}
	}
	return all
}

// row converts the item to a row of the table e. nested contains the paths of the fields that are
// stored in other rows.
func (it item) row(e TableSpec, nested []string) TextRow {
	texts := TextRow{}
	used := slices.Clone(nested)
	for _, k := range e.kinds() {
		for _, spec := range strings.Fields(k.columns) {
			name, sources := Column(spec)
			used = append(used, sources...)
			if text, ok := k.write(it.firstValue(sources, e.bare == name)); ok {
				texts[name] = text
			}
		}
	}
	if name, sources := Column(e.rawText); name != "" {
		object, _ := it.value.(map[string]any)
		if v, isSent := object[sources[0]]; isSent {
			texts[name] = Canonical(v)
		}
	}
	if unstored := leftover(it.value, used, ""); unstored != nil && !e.keyOnly {
		texts["extra"] = Canonical(unstored)
	}
	return texts
}

// firstValue returns the first non-empty value of the sources. If isBare is true and the item is not
// an object, it returns the item.
func (it item) firstValue(sources []string, isBare bool) any {
	if _, isObject := it.value.(map[string]any); !isObject && isBare {
		return it.value
	}
	var v any
	for _, source := range sources {
		if v == nil || v == "" {
			if next := it.resolve(source); next != nil {
				v = next
			}
		}
	}
	return v
}

// leftover returns the members of an object that no column and no table stores, or nil if all are stored. used
// contains the paths of the stored members. A nested object is reduced to its unstored members.
func leftover(v any, used []string, prefix string) map[string]any {
	object, _ := v.(map[string]any)
	var unstored map[string]any
	add := func(name string, v any) {
		if unstored == nil {
			unstored = map[string]any{}
		}
		unstored[name] = v
	}
	for name, v := range object {
		path := prefix + name
		inner, isObject := v.(map[string]any)
		isUsed := slices.Contains(used, path)
		hasUsedMember := slices.ContainsFunc(used, func(u string) bool { return strings.HasPrefix(u, path+".") })
		if !isUsed && !hasUsedMember {
			add(name, v)
			continue
		}
		if !isObject {
			// A null in place of an object with stored members needs no column.
			if !isUsed && v != nil {
				add(name, v)
			}
			continue
		}
		// Without stored members and a name, the whole object is stored, as JSON or as a row of another table.
		if !hasUsedMember && !isNamed(inner) {
			continue
		}
		// A text column stores the name of an object.
		if rest := leftover(inner, append(slices.Clone(used), path+".name"), path+"."); rest != nil {
			add(name, rest)
		}
	}
	return unstored
}

// isNamed reports whether an object has a name, like the people and places in support_agent and
// location. A text column stores the name of such an object. Other objects are stored as JSON.
func isNamed(object map[string]any) bool {
	return object["name"] != nil || object["first_name"] != nil
}

// text returns a string, number or boolean as text, or the name of an object.
func text(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	case map[string]any:
		name, ok := v["name"].(string)
		return name, ok
	}
	return "", false
}

func number(v any) (*big.Rat, bool) {
	var digits string
	switch v := v.(type) {
	case string:
		digits = v
	case json.Number:
		digits = v.String()
	}
	return new(big.Rat).SetString(digits)
}

func integer(v any) (string, bool) {
	n, ok := number(v)
	if !ok || !n.IsInt() {
		return "", false
	}
	return n.Num().String(), true
}

// money returns an amount with six decimals, with halves rounded away from zero.
func money(v any) (string, bool) {
	n, ok := number(v)
	if !ok {
		return "", false
	}
	return n.FloatString(6), true
}

func flag(v any) (string, bool) {
	b, ok := v.(bool)
	return strconv.FormatBool(b), ok
}

// MicrosecondLayout is the layout of a time as DuckDB writes it, without the zone.
const MicrosecondLayout = "2006-01-02 15:04:05.000000"

// instant parses a time in ISO 8601. A time without a zone is in UTC.
func instant(v any) (string, bool) {
	s, _ := v.(string)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", time.DateOnly} {
		if at, err := time.ParseInLocation(layout, s, time.UTC); err == nil {
			return at.UTC().Round(time.Microsecond).Format(MicrosecondLayout), true
		}
	}
	return "", false
}

// document returns a value as JSON. A text that contains an object or a list is read as such.
func document(v any) (string, bool) {
	if text, isText := v.(string); isText {
		switch content := Decode(text).(type) {
		case map[string]any, []any:
			v = content
		}
	}
	return Canonical(v), v != nil
}

// Canonical writes JSON without white space and with sorted names.
func Canonical(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// Decode decodes JSON and keeps the digits of numbers. Invalid JSON becomes the text of its error.
func Decode(text string) any {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return err.Error()
	}
	return v
}
