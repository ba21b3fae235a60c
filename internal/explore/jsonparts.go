package explore

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"placementsync/internal/humanize"
	"placementsync/internal/query"
)

// fieldPart is a field of a record, or a member of a JSON object in a field. valueOf returns the value of the
// member from the value of the field; nil means that they are the same.
type fieldPart struct {
	label   string
	valueOf func(query.Value) query.Value
}

// partsOfJSON returns a part for each member of a JSON column, also of inner objects. Objects that are another
// value in some version of the row are one part.
func partsOfJSON(label string, values []query.Value, jsonOf func(query.Value) json.RawMessage) []fieldPart {
	members := map[string]bool{}
	isWhole := false
	for _, value := range values {
		text := jsonOf(value)
		object := objectOf(text)
		if len(object) == 0 && !tellJSON(text).Null {
			isWhole = true
		}
		for member := range object {
			members[member] = true
		}
	}
	if isWhole || len(members) == 0 {
		return []fieldPart{{label, func(value query.Value) query.Value { return tellJSON(jsonOf(value)) }}}
	}
	var parts []fieldPart
	for _, member := range slices.Sorted(maps.Keys(members)) {
		parts = append(parts, partsOfJSON(label+": "+member, values, func(value query.Value) json.RawMessage {
			return objectOf(jsonOf(value))[member]
		})...)
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

// tellJSON returns a JSON value in words. A list of texts and numbers is told item by item. Other lists and
// objects are told by their length. An empty text and the JSON value null become NULL.
func tellJSON(text json.RawMessage) query.Value {
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
			items = append(items, tellJSON(item).Or("unknown"))
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
		return query.Value{Text: map[bool]string{true: "yes", false: "no"}[v]}
	}
	return query.Value{Text: string(text)} // a number keeps its digits
}
