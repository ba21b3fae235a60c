package load

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestColumnsMakeTablesAndBatches checks the CREATE TABLE statement and the batch of the columns
// of a staging table.
func TestColumnsMakeTablesAndBatches(t *testing.T) {
	type pair struct {
		text string
		n    int64
	}
	columns := []stagingColumn[pair]{
		textColumn("a", func(p pair) string { return p.text }),
		textOrNull("b", func(p pair) string { return p.text }),
		intColumn("c", func(p pair) int64 { return p.n }),
		intOrNull("d", func(p pair) int64 { return p.n }),
		uintColumn(`e"`, func(p pair) uint64 { return uint64(p.n) }),
	}
	want := sqlText(`CREATE TABLE stage.t ("a" VARCHAR, "b" VARCHAR, "c" BIGINT, "d" BIGINT, "e""" UBIGINT)`)
	if got := createTable("stage.t", columns); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	batch := newBatch(columns, []pair{{"x", 1}, {"", 0}})
	defer batch.Release()
	text, err := batch.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	wantRows := `[{"a":"x","b":"x","c":1,"d":1,"e\"":1}` + "\n" + `,{"a":"","b":null,"c":0,"d":null,"e\"":0}` + "\n]"
	if diff := cmp.Diff(wantRows, string(text)); diff != "" {
		t.Errorf("batch (-want +got):\n%s", diff)
	}
}

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
