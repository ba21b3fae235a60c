package transform_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"placementsync/internal/stream"
	"placementsync/internal/transform"
)

// outcome is the result of the Decoder or of the reference decoder, in a form that can be compared.
type outcome struct {
	Rows    []string
	Rejects []string
}

func (o *outcome) add(table string, r row) {
	var cells []string
	for _, name := range slices.Sorted(maps.Keys(r)) {
		cells = append(cells, name+"="+r[name])
	}
	o.Rows = append(o.Rows, table+" "+strings.Join(cells, " "))
}

func (o *outcome) sort() {
	slices.Sort(o.Rows)
	slices.Sort(o.Rejects)
}

// fastOutcome returns the outcome of the Decoder.
func fastOutcome(t testing.TB, d *transform.Decoder, defs map[string]stream.Definition) outcome {
	t.Helper()
	var o outcome
	for table, rows := range rowsOf(t, d.Flush()) {
		for _, r := range rows {
			delete(r, stream.RowHash)
			delete(r, stream.Seq)
			for name, text := range r {
				if c, _ := defs[table].Column(name); c.Type == stream.JSON || strings.HasSuffix(name, "do_follow_links_raw") {
					r[name] = canonicalText(parse(t, []byte(text)))
				}
			}
			o.add(table, r)
		}
	}
	for _, r := range d.Findings().Rejects {
		o.Rejects = append(o.Rejects, r.Table+" | "+r.Key+" | "+r.Column)
	}
	o.sort()
	return o
}

// slowOutcome returns the outcome of the reference decoder.
func slowOutcome(r *reference) outcome {
	var o outcome
	for table, rows := range r.rows {
		for _, row := range rows {
			o.add(table, row)
		}
	}
	o.Rejects = r.rejects
	o.sort()
	return o
}

// testStream is a stream with its definitions and binding.
type testStream struct {
	stream  stream.Stream
	defs    map[string]stream.Definition
	binding *transform.Binding
}

func newTestStream(t testing.TB, s stream.Stream) testStream {
	t.Helper()
	return testStream{s, definitions(), compile(t, s)}
}

// compareDecoders decodes a body of records with both decoders and compares the outcomes.
func compareDecoders(t testing.TB, k testStream, body []byte) {
	t.Helper()
	d := k.binding.NewDecoder()
	if _, err := d.Decode(body, transform.Origin{Seq: 3, Param: "p"}); err != nil {
		t.Fatalf("decode %s: %v", body, err)
	}
	slow := slowOutcome(decodeSlowly(t, k, body, "p"))
	if diff := cmp.Diff(slow, fastOutcome(t, d, k.defs)); diff != "" {
		t.Fatalf("decoders differ on %s (-slow +fast):\n%s", body, diff)
	}
}

// fuzzedStreams returns the streams that FuzzRecords uses.
func fuzzedStreams(t testing.TB) []testStream {
	var all []testStream
	for _, name := range []string{"things", "outlet_listings", "product_listings", "orders", "order_items", "campaigns", "campaign_articles",
		"profiles", "profile_order_items", "files", "disclaimers"} {
		all = append(all, newTestStream(t, streamNamed(t, name)))
	}
	for _, name := range []string{"outlets", "articles", "products", "campaign_details"} {
		s := streamNamed(t, name)
		s.Envelope, s.Param = stream.Array, ""
		all = append(all, newTestStream(t, s))
	}
	return all
}

// FuzzRecords compares both decoders on random records.
func FuzzRecords(f *testing.F) {
	for i := range uint64(300) {
		f.Add(i)
	}
	streams := fuzzedStreams(f)
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		k := streams[r.IntN(len(streams))]
		g := recordGenerator{Rand: r, stream: k.stream, defs: k.defs}
		compareDecoders(t, k, g.body())
	})
}

// FuzzBody decodes arbitrary bytes. The decoder must not panic. It must return no rows for
// malformed bodies, and the rows of the reference decoder for lists of records.
func FuzzBody(f *testing.F) {
	for _, s := range []string{
		`[{"id":"a","parts":[{"name":"x"}],"at":"2026-01-01","price":1.5,"doc":{"a":[1]},"new":{"b":null}}]`,
		`{"records":[{"id":"a"}],"total_records":1,"next_page":null}`, `{"id":"a","owner":{"id":1,"name":"n"}}`,
		`{"data":[]}`, `[{"id":"a","label":"\ud800"},7]`, "[{\"id\":\"a\",\"label\":\"\xff\"}]", `{}`, `[`, `[{"id":"a","id":"b"}]`,
	} {
		f.Add([]byte(s))
	}
	things := newTestStream(f, streamNamed(f, "things"))
	f.Fuzz(func(t *testing.T, body []byte) {
		d := things.binding.NewDecoder()
		_, err := d.Decode(body, transform.Origin{})
		valid := jsontext.Value(body).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		if err != nil {
			if findings := d.Findings(); !errors.Is(err, transform.ErrMalformed) || d.Rows() > 0 || len(findings.Rejects)+len(findings.Drift) > 0 {
				t.Fatalf("decode: error %v, %d rows and findings %v; want ErrMalformed without rows and findings", err, d.Rows(), findings)
			}
			return
		}
		if !valid {
			t.Fatalf("decoded %q, which is not JSON", body)
		}
		if trimmed := strings.TrimLeft(string(body), " \t\r\n"); trimmed[0] == '[' {
			compareDecoders(t, things, body)
		}
	})
}

// FuzzScalar compares both decoders on a text, bare and quoted, in columns of all types.
func FuzzScalar(f *testing.F) {
	for _, v := range values {
		f.Add(strings.Trim(v, `"`))
	}
	things := newTestStream(f, streamNamed(f, "things"))
	f.Fuzz(func(t *testing.T, text string) {
		quoted, _ := jsontext.AppendQuote(nil, text)
		for _, v := range []string{text, string(quoted)} {
			body := []byte(`[{"id":"a","label":` + v + `,"flag":` + v + `,"small":` + v + `,"big":` + v + `,"price":` + v + `,"at":` + v + `,"doc":` + v + `}]`)
			if jsontext.Value(v).IsValid() {
				compareDecoders(t, things, body)
			}
		}
	})
}

// FuzzUnion compares both decoders on values of do_follow_links_allowed, which can be a boolean, a number or a text.
func FuzzUnion(f *testing.F) {
	for _, v := range values {
		f.Add(v)
	}
	for _, v := range []string{`"5 link"`, `"-0"`, `" none "`, `"1e1 links"`, `"unlimited links"`, `3.0`, `"00"`, `"2  links"`} {
		f.Add(v)
	}
	s := streamNamed(f, "outlets")
	s.Envelope, s.Param = stream.Array, ""
	outlets := newTestStream(f, s)
	f.Fuzz(func(t *testing.T, v string) {
		if jsontext.Value(v).IsValid() {
			compareDecoders(t, outlets, []byte(`[{"id":"o","outlet_channels":[{"id":"c","do_follow_links_allowed":`+v+`}]}]`))
		}
	})
}
