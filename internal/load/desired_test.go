package load

import "testing"

// TestMergeObjects merges the unknown fields of a list row and a detail.
func TestMergeObjects(t *testing.T) {
	for name, c := range map[string]struct{ under, over, want string }{
		"different fields":            {`{"b":1}`, `{"a":2}`, `{"a":2,"b":1}`},
		"the detail wins":             {`{"a":1}`, `{"a":2}`, `{"a":2}`},
		"a null is a value":           {`{"a":1}`, `{"a":null}`, `{"a":null}`},
		"digits are kept":             {`{"a":1.10}`, `{"b":1e400}`, `{"a":1.10,"b":1e400}`},
		"nested values are kept":      {`{"a":{"z":1,"y":[2]}}`, `{}`, `{"a":{"z":1,"y":[2]}}`},
		"the last of two fields wins": {`{"a":1,"a":2}`, `{}`, `{"a":2}`},
		"names keep escapes":          {`{"\"":1}`, `{"é":2}`, `{"\"":1,"é":2}`},
		"both are empty":              {`{}`, `{}`, `{}`},
	} {
		got, err := mergeObjects(c.under, c.over)
		if err != nil || got != c.want {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, c.want)
		}
	}
	if _, err := mergeObjects(`{"a":`, `{}`); err == nil {
		t.Error("an incomplete JSON object was accepted")
	}
}
