package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
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
		"in a URL, lower case": {`pc_Ab9%2b%2f%22xYz%3d0123`, true},
		"as JSON escapes":      {`\u0070c\u005fAb9\u002B\u002f\u0022xYz=\u0030123`, true},
		"in a URL in JSON":     {`pc_Ab9\u00252b\u002525%2F\"xYz=0123`, false},
		"in JSON in JSON":      {`pc_Ab9\\u002b\\/\\\"xYz=0123`, true},
		"escapes of both":      {`pc_Ab9%2B\/\u00252\u0032xYz%3D0123`, true},
		"a part, with escapes": {`pc_Ab9\u002b\/\"xYz=012`, false},
		"twice":                {`pc_Ab9%2b/%22xYz=0123`, true},
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

// TestScrubEscapedTokens escapes each character of a token in each way, and all pairs of characters.
func TestScrubEscapedTokens(t *testing.T) {
	t.Parallel()
	const token = `pc+%/p_c+x"=`
	ways := []func(c byte) string{
		func(c byte) string { return fmt.Sprintf(`\u%04x`, c) },
		func(c byte) string { return fmt.Sprintf(`\u%04X`, c) },
		func(c byte) string { return fmt.Sprintf(`\\u%04x`, c) },
		func(c byte) string { return fmt.Sprintf(`%%%02x`, c) },
		func(c byte) string { return fmt.Sprintf(`%%%02X`, c) },
		func(c byte) string { return fmt.Sprintf(`\u0025%02X`, c) },
	}
	known := tokens{all: []string{token}}
	check := func(spelled string) {
		t.Helper()
		for _, around := range []string{`{"a":"%s"}`, `{"a":"100%%25 pc+ \n\\ %sx%s\u00e4"}`, `%s`} {
			body := strings.ReplaceAll(around, "%s", spelled)
			want := strings.ReplaceAll(around, "%s", secretMark)
			if got, found := known.scrubBody([]byte(body)); string(got) != want || !found {
				t.Fatalf("%s becomes %s (found %v), want %s", body, got, found, want)
			}
		}
	}
	for i := range token {
		for _, first := range ways {
			check(token[:i] + first(token[i]) + token[i+1:])
			for j := i + 1; j < len(token); j++ {
				for _, second := range ways {
					check(token[:i] + first(token[i]) + token[i+1:j] + second(token[j]) + token[j+1:])
				}
			}
		}
	}
}

// TestScrubAtTheEndOfABody scrubs an escaped token in which characters occur several times, and bodies that end within
// an escape.
func TestScrubAtTheEndOfABody(t *testing.T) {
	t.Parallel()
	const token = "a+b+c+d+efgh"
	known := tokens{all: []string{token}}
	for body, want := range map[string]string{
		"a+b+c%2Bd+efgh":                secretMark,
		"xa+b+c+d%2Befgh":               "x" + secretMark,
		"a+b+c%2Bd+efg":                 "a+b+c%2Bd+efg",
		"a%2":                           "a%2",
		"a%":                            "a%",
		`a+b+c+d+efg\u006`:              `a+b+c+d+efg\u006`,
		`a+b+c+d+efg\u0068`:             secretMark,
		`a+b\`:                          `a+b\`,
		`a+b+c\u002zd+efgh`:             `a+b+c\u002zd+efgh`,
		"a+b+c%2zd+efgh":                "a+b+c%2zd+efgh",
		"a+b+c%z2d+efgh":                "a+b+c%z2d+efgh",
		`a+b+c\u002Bd+efgh%2`:           secretMark + "%2",
		`a+b+c\/d+efgh`:                 `a+b+c\/d+efgh`,
		"a+b%2Bc+d+efgh a+b%2Bc+d+efgh": secretMark + " " + secretMark,
	} {
		if got, found := known.scrubBody([]byte(body)); string(got) != want || found != (want != body) {
			t.Errorf("%s becomes %s (found %t), want %s", body, got, found, want)
		}
		if got := known.scrubText(body); got != want {
			t.Errorf("the text %s becomes %s, want %s", body, got, want)
		}
	}
}

// TestPercentSignsOfAToken escapes a token that contains a percent sign before two digits.
func TestPercentSignsOfAToken(t *testing.T) {
	t.Parallel()
	known := tokens{all: []string{"ab%2bcdefgh"}}
	if got, _ := known.scrubBody([]byte(`{"a":"\u0061b%2bcdefgh"}`)); string(got) != `{"a":"<secret>"}` {
		t.Errorf("the body becomes %s, want it without the token", got)
	}
}

// TestRenewedTokenIsUsed asks for a new token after another worker has read it. The source must not be read again.
func TestRenewedTokenIsUsed(t *testing.T) {
	t.Parallel()
	known := tokens{current: "new", read: func(context.Context) (string, error) { return "", errors.New("read again") }}
	if renewed, err := known.renewToken(t.Context(), "old"); !renewed || err != nil {
		t.Errorf("got %t and %v, want the token that is known", renewed, err)
	}
}

// TestExcerptCutsNoToken places a token across the end of the excerpt. No part of it may be shown.
func TestExcerptCutsNoToken(t *testing.T) {
	t.Parallel()
	var known tokens
	known.read = func(context.Context) (string, error) { return "pc_0123456789", nil }
	if _, err := known.currentToken(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := known.excerpt([]byte(strings.Repeat(".", maxExcerpt-5) + "pc_0123456789")); strings.Contains(got, "pc_") {
		t.Errorf("the excerpt contains a part of the token: %s", got)
	}
	for text, want := range map[string]string{
		"x" + strings.Repeat("é", 100): "x" + strings.Repeat("é", 59) + "...", // without half a character
		strings.Repeat("é", 60):        strings.Repeat("é", 60),
		"a\r\n\tb\x1b\u200bc\xff":      "a   bc",
	} {
		if got := known.excerpt([]byte(text)); got != want {
			t.Errorf("the excerpt of %q is %q, want %q", text, got, want)
		}
	}
}

// TestBodiesAreDescribed describes bodies that are not shown.
func TestBodiesAreDescribed(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"a":1}`: "JSON", "\ufeff <html>": "HTML or XML", "\xff\xfe": "binary data", "a\x00b": "binary data", "no\nrecord": "text", `{"a":`: "text",
	} {
		if got := bodyType([]byte(body)); got != want {
			t.Errorf("%q is described as %s, want %s", body, got, want)
		}
	}
	for text, want := range map[string]string{"unexpected EOF": "unexpected EOF", `malformed HTTP version: "x"`: "malformed HTTP version (not shown)"} {
		if got := (unquotedError{errors.New(text)}).Error(); got != want {
			t.Errorf("the error %q is shown as %q, want %q", text, got, want)
		}
	}
}

func TestURLsAreShownWithoutCredentials(t *testing.T) {
	t.Parallel()
	var known tokens
	for address, want := range map[string]string{
		"https://user:pass@host.test/a?x=1&api_key=2": "https://host.test/a?x=1&api_key=<secret>",
		"https://host.test/a?X-Signature=1&y=2":       "https://host.test/a?X-Signature=<secret>&y=2",
		"https://host.test/a?token":                   "https://host.test/a?token",
		"https://user:pass@host.test:x/":              "<secret>",
	} {
		if got := known.redactURL(address); got != want {
			t.Errorf("%s becomes %s, want %s", address, got, want)
		}
	}
}

// TestBrokenRecordsAreNotQuoted describes the beginning of a response that broke off.
func TestBrokenRecordsAreNotQuoted(t *testing.T) {
	t.Parallel()
	var known tokens
	if text, message, kind := known.describeBody(0, []byte(`{"name":"Ada`)); text+message+kind != "" {
		t.Errorf("the error quotes a record: %s, %s, %s", text, message, kind)
	}
}

// TestReplacedTokensStaySecret replaces the token during a run. A response that was requested with the first token may
// still contain it.
func TestReplacedTokensStaySecret(t *testing.T) {
	t.Parallel()
	known := tokens{read: func(context.Context) (string, error) { return "token/of-the-evening", nil }}
	if _, err := known.currentToken(t.Context()); err != nil {
		t.Fatal(err)
	}
	known.read = func(context.Context) (string, error) { return "token-of-the-morning", nil }
	if _, err := known.renewToken(t.Context(), "token/of-the-evening"); err != nil {
		t.Fatal(err)
	}
	const echoed = `{"a":"token/of-the-evening","b":"token\/of-the-evening","c":"token-of-the-morning","d":"\u0074oken/of-the-evening"}`
	const want = `{"a":"<secret>","b":"<secret>","c":"<secret>","d":"<secret>"}`
	if body, _ := known.scrubBody([]byte(echoed)); string(body) != want || known.scrubText(echoed) != want {
		t.Errorf("a response becomes %s and a text %s, want %s", body, known.scrubText(echoed), want)
	}
}
