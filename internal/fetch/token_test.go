package fetch

import (
	"bytes"
	"context"
	"testing"
)

// TestScrubTokenForms defines which forms of a token are recognized and which are not, as
// documented in docs/security.md.
func TestScrubTokenForms(t *testing.T) {
	t.Parallel()
	var known tokens
	known.read = func(context.Context) (string, error) { return `pc_Ab9+/"xYz=0123`, nil }
	if _, err := known.currentToken(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		echoed   string
		scrubbed bool
	}{
		"unchanged":            {`pc_Ab9+/"xYz=0123`, true},
		"in JSON":              {`pc_Ab9+\/\"xYz=0123`, true},
		"in a URL":             {`pc_Ab9%2B%2F%22xYz%3D0123`, true},
		"a part of the token":  {`c_Ab9+/"xYz=0123`, false},
		"in capitals":          {`PC_AB9+/"XYZ=0123`, false},
		"in base64":            {`cGNfQWI5Ky8ieFl6PTAxMjM=`, false},
		"in a URL, lower case": {`pc_Ab9%2b%2f%22xYz%3d0123`, false},
	} {
		body, want := []byte(`{"echo":"`+c.echoed+`","id":"p1"}`), `{"echo":"`+c.echoed+`","id":"p1"}`
		if c.scrubbed {
			want = `{"echo":"<secret>","id":"p1"}`
		}
		got, found := known.scrubBody(bytes.Clone(body))
		if string(got) != want || found != c.scrubbed {
			t.Errorf("%s: body %s becomes %s (found %v), want %s", name, body, got, found, want)
		}
		if text := known.scrubText(string(body)); text != want {
			t.Errorf("%s: text %s becomes %s, want %s", name, body, text, want)
		}
	}
}

func TestShortTokenIsNotScrubbedInBodies(t *testing.T) {
	t.Parallel()
	var known tokens
	known.read = func(context.Context) (string, error) { return "price", nil }
	if _, err := known.currentToken(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, found := known.scrubBody([]byte(`{"price":1}`)); found {
		t.Errorf("a word of five letters was replaced as a token: %s", got)
	}
	if got := known.scrubText("the token is price"); got != "the token is <secret>" {
		t.Errorf("scrubText returned %q, want <secret> instead of the token", got)
	}
}

// BenchmarkScrubBody scrubs a body of the usual page size.
func BenchmarkScrubBody(b *testing.B) {
	known := tokens{forms: tokenForms("pc_Ab9+/xYz0123456789_abcdefghijKLMNOP")}
	body := bytes.Repeat([]byte(`{"id":"6650f1c2ab1f","name":"Placement in a Magazine","website_url":"https://www.example.com"},`), 700)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		known.scrubBody(body)
	}
}
