package sim

import (
	"bytes"
	"encoding/json"
	"hash/fnv"
	"math"
)

// ValueFault makes the service send wrong values in well-formed responses, on one simulated day. The world
// itself does not change: on other days the responses are as without the fault.
type ValueFault struct {
	Day int
	// Share is the share of affected records, from 0 to 1, selected by id. 0 means all.
	Share float64
	// Change is called for each affected record and for each object in it. within is the name of the field
	// that contains the object, or empty for the record. Numbers are of type json.Number.
	Change func(within string, object map[string]any)
}

func (w *world) distort(document []byte, rt *route) []byte {
	var today []ValueFault
	for _, f := range w.valueFaults {
		if f.Day == w.day {
			today = append(today, f)
		}
	}
	if len(today) == 0 || rt.binary {
		return document
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()        // keeps all digits of amounts
	_ = decoder.Decode(&value) // this service wrote the document
	records, _ := value.([]any)
	if object, ok := value.(map[string]any); ok {
		var isList bool
		if records, isList = object["records"].([]any); !isList {
			records = []any{object}
		}
	}
	for _, record := range records {
		for _, f := range today {
			if object, ok := record.(map[string]any); ok && f.affects(object) {
				f.changeObject("", object)
			}
		}
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

func (f ValueFault) affects(record map[string]any) bool {
	id, _ := record["id"].(string)
	if f.Share <= 0 || id == "" {
		return f.Share <= 0
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(id))
	return float64(mix(sum.Sum64())) < f.Share*math.MaxUint64
}

func (f ValueFault) changeObject(within string, object map[string]any) {
	f.Change(within, object)
	for key, value := range object {
		inner, isList := value.([]any)
		if !isList {
			inner = []any{value}
		}
		for _, element := range inner {
			if nested, ok := element.(map[string]any); ok {
				f.changeObject(key, nested)
			}
		}
	}
}
