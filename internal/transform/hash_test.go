package transform_test

import (
	"testing"

	"placementsync/internal/stream"
	"placementsync/internal/transform"
)

// hashOf returns the row_hash of the first row of a table after decoding a body.
func hashOf(t *testing.T, d *transform.Decoder, table, body string) string {
	t.Helper()
	if _, err := d.Decode([]byte(body), transform.Origin{Seq: 9}); err != nil {
		t.Fatal(err)
	}
	rows := rowsOf(t, d.Flush())[table]
	if len(rows) == 0 {
		t.Fatalf("no row of %s from %s", table, body)
	}
	return rows[0][stream.RowHash]
}

func TestRowHashIsEqualForEqualValues(t *testing.T) {
	for name, pair := range map[string][2]string{
		"order of names":             {`"doc":{"a":1,"b":{"c":2,"d":3}}`, `"doc":{"b":{"d":3,"c":2},"a":1}`},
		"white space":                {`"doc":[1,{"a":null}]`, "\"doc\": [ 1 ,\n{ \"a\" : null } ]"},
		"notation of numbers":        {`"doc":[1,100,0.5,-0,0,1e20]`, `"doc":[1.0,1e2,5E-1,0,0.00e7,100000000000000000000]`},
		"a negative exponent":        {`"doc":1`, `"doc":10e-1`},
		"notation of strings":        {`"doc":"é/\n"`, `"doc":"\u00e9\/\u000a"`},
		"notation of names":          {`"doc":{"é":1}`, `"doc":{"\u00e9":1}`},
		"order of unknown fields":    {`"zz":1,"aa":{"x":1,"y":2}`, `"aa":{"y":2.0,"x":1},"zz":1.0`},
		"an unknown field with null": {`"label":"a"`, `"label":"a","zz":null`},
		"null and absent":            {`"label":"a"`, `"label":"a","price":null,"parts":[]`},
		"a trailing zero":            {`"price":1.5`, `"price":1.500`},
		"an amount as text":          {`"price":1.5`, `"price":"15e-1"`},
		"two zones":                  {`"at":"2026-01-01T00:00:00Z"`, `"at":"2026-01-01T02:00:00.000+02:00"`},
		"an integer with a point":    {`"big":7`, `"big":7.0`},
		"a boolean as text":          {`"flag":true`, `"flag":"yes"`},
		"flat and nested":            {`"owner_id":"1"`, `"owner":{"id":"1"}`},
		"duplicate names":            {`"doc":{"a":1,"a":2}`, `"doc":{"a": 1.0,"a":2}`},
	} {
		t.Run(name, func(t *testing.T) {
			d := decoderOf(t, "things")
			if a, b := hashOf(t, d, "things", thingBody(pair[0])), hashOf(t, d, "things", thingBody(pair[1])); a != b {
				t.Errorf("hash of %s is %s, of %s is %s; want them equal", pair[0], a, pair[1], b)
			}
		})
	}
}

func TestRowHashDiffersForDifferentValues(t *testing.T) {
	d := decoderOf(t, "things")
	seen := map[string]string{}
	for _, members := range []string{
		`"label":""`, `"label":null`, `"label":"a"`, `"label":"b"`, `"owner":"a"`, `"owner_id":"a"`, `"token_type":"a"`,
		`"flag":true`, `"flag":false`, `"small":0`, `"small":1`, `"big":0`, `"big":1`, `"big":-1`, `"price":0`, `"price":1`, `"price":0.000001`,
		`"at":"1970-01-01T00:00:00Z"`, `"at":"1970-01-01T00:00:00.000001Z"`,
		`"doc":0`, `"doc":1`, `"doc":10`, `"doc":"1"`, `"doc":[1]`, `"doc":[[1]]`, `"doc":[1,2]`, `"doc":[2,1]`, `"doc":{}`, `"doc":[]`, `"doc":true`, `"doc":"true"`,
		`"doc":{"a":null}`, `"doc":{"a":"b"}`, `"doc":{"b":"a"}`, `"doc":9007199254740993`, `"doc":9007199254740992`, `"doc":0.1`, `"doc":0.10000000000000000001`,
		`"doc":1e2000000000000`, `"doc":1e2000000000001`,
		`"doc":["a","b"]`, `"doc":["a\",\"b"]`, `"doc":"é"`, `"doc":"e"`, `"zz":1`, `"zz":2`, `"aa":1`, `"zz":{"aa":1}`,
	} {
		h := hashOf(t, d, "things", thingBody(members))
		if other, again := seen[h]; again {
			t.Errorf("%s and %s have the same hash", other, members)
		}
		seen[h] = members
	}
}

// TestRowHashIsStable compares row_hash with constants. If it changed, every row of every
// warehouse would seem changed.
func TestRowHashIsStable(t *testing.T) {
	const body = `{"id":"t","label":"café","flag":true,"small":-3,"big":9007199254740993,"price":149.99,` +
		`"at":"2026-03-01T12:34:56.789Z","doc":{"b":[1.50,"x"],"a":null},"token_type":"custom","owner":{"id":"o","name":"Ann"},` +
		`"zz":{"y":-1e3},"parts":[{"name":"first"}]}`
	for table, want := range map[string]string{"things": "8030992572232629815", "parts": "15971549031607265162"} {
		if got := hashOf(t, decoderOf(t, "things"), table, body); got != want {
			t.Errorf("row_hash in %s is %s, want %s", table, got, want)
		}
	}
}

func TestRowHashIgnoresColumnOrderAndNewColumns(t *testing.T) {
	s := stream.Stream{Name: "s", Tables: []stream.Table{{Name: "things", Key: []string{"id"}}}}
	hashes := map[string]bool{}
	for _, columns := range []string{"id a b:BIGINT", "b:BIGINT a id", "id a new b:INTEGER extra:JSON more:TIMESTAMPTZ"} {
		b, err := transform.Compile(s, map[string]stream.Definition{"things": parseDefinition("things", columns)})
		if err != nil {
			t.Fatal(err)
		}
		hashes[hashOf(t, b.NewDecoder(), "things", `{"id":"1","a":"x","b":7}`)] = true
	}
	if len(hashes) != 1 {
		t.Errorf("order, new columns and a wider integer gave %d hashes, want 1", len(hashes))
	}
}

func TestRowHashOfAChildIgnoresTheParent(t *testing.T) {
	d := decoderOf(t, "things")
	a := hashOf(t, d, "parts", `{"id":"a","parts":[{"name":"x"}]}`)
	if b := hashOf(t, d, "parts", `{"id":"b","parts":[{"name":"x"}]}`); a != b {
		t.Errorf("the same part of two things has hashes %s and %s, want one", a, b)
	}
}
