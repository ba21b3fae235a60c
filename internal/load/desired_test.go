package load

import "testing"

// TestMergeObjects merges JSON objects with unknown fields.
func TestMergeObjects(t *testing.T) {
	for name, c := range map[string]struct{ fallback, preferred, want string }{
		"different names":              {`{"b":1}`, `{"a":2}`, `{"a":2,"b":1}`},
		"the preferred value wins":     {`{"a":1}`, `{"a":2}`, `{"a":2}`},
		"a null is a value":            {`{"a":1}`, `{"a":null}`, `{"a":null}`},
		"digits are kept":              {`{"a":1.10}`, `{"b":1e400}`, `{"a":1.10,"b":1e400}`},
		"nested names are sorted":      {`{"a":{"z":1,"y":[2]}}`, `{}`, `{"a":{"y":[2],"z":1}}`},
		"the last of equal names wins": {`{"a":1,"a":2}`, `{}`, `{"a":2}`},
		"names keep escapes":           {`{"\"":1}`, `{"é":2}`, `{"\"":1,"é":2}`},
		"both are empty":               {`{}`, `{}`, `{}`},
	} {
		got, err := mergeObjects(c.fallback, c.preferred)
		if err != nil || got != c.want {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, c.want)
		}
	}
	if _, err := mergeObjects(`{"a":`, `{}`); err == nil {
		t.Error("an incomplete JSON object was accepted")
	}
}
