package fetch

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
)

const longToken = "pc_Ab9+/xYz0123456789_abcdefghijKLMNOP"

func TestEverySpellingOfATokenIsScrubbed(t *testing.T) {
	t.Parallel()
	var known tokens
	known.read = func(context.Context) (string, error) { return longToken, nil }
	if _, _, err := known.currentToken(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := func(text, format string) string { return escapeBytes(text, format, func(byte) bool { return true }) }
	for name, spelt := range map[string]string{
		"as it is": longToken, "in a query": url.QueryEscape(longToken), "in a path": url.PathEscape(longToken),
		"in JSON": strings.ReplaceAll(longToken, "/", `\/`), "in capitals": strings.ToUpper(longToken), "in small letters": strings.ToLower(longToken),
		"each byte escaped": all(longToken, "%%%02X"), "each byte escaped in small letters": all(longToken, "%%%02x"),
		"signs escaped":              strings.NewReplacer("_", "%5f", "+", "%2b", "/", "%2f").Replace(longToken),
		"base64":                     base64.StdEncoding.EncodeToString([]byte(longToken)),
		"base64 of a user and it":    base64.StdEncoding.EncodeToString([]byte("u:" + longToken)),
		"base64 of a header":         base64.URLEncoding.EncodeToString([]byte("Bearer " + longToken + "\n")),
		"base64 of something longer": base64.RawStdEncoding.EncodeToString([]byte("abcd" + longToken + "xyz")),
	} {
		body := []byte(`{"echo":"` + spelt + `","id":"p1"}`)
		got, found := known.scrubBody(bytes.Clone(body))
		if !found || !bytes.Contains(got, []byte(secretMark)) || !bytes.HasSuffix(got, []byte(`","id":"p1"}`)) {
			t.Errorf("%s: %s becomes %s", name, body, got)
		}
		// What is left must not be the token, but for what a neighbor shares in base64.
		if rest := bytes.ReplaceAll(got, []byte(secretMark), nil); len(rest) > len(`{"echo":"","id":"p1"}`)+14 {
			t.Errorf("%s: left over is %s", name, rest)
		}
		if text := known.scrubText(string(body)); text != string(got) {
			t.Errorf("%s: a text becomes %s, a body %s", name, text, got)
		}
	}
	if body, found := known.scrubBody([]byte(`{"a":"` + longToken[1:] + `"}`)); found {
		t.Errorf("a part of the token is taken for it: %s", body)
	}
}

// TestTheFinderFindsWhatIsThere compares it with a plain search, on texts of few letters.
func TestTheFinderFindsWhatIsThere(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	word := func(length int) string {
		letters := make([]byte, length)
		for i := range letters {
			letters[i] = "abc"[random.IntN(3)]
		}
		return string(letters)
	}
	hits := 0
	for range 20_000 {
		texts := []string{word(8 + random.IntN(4)), word(8 + random.IntN(8)), "short"}
		body := word(random.IntN(400))
		if random.IntN(3) == 0 {
			at := random.IntN(len(body) + 1)
			body = body[:at] + texts[random.IntN(2)] + body[at:]
		}
		want := strings.Contains(body, texts[0]) || strings.Contains(body, texts[1])
		if got := newFinder(texts).isIn([]byte(body)); got != want {
			t.Fatalf("%q in %q: %v, want %v", texts[:2], body, got, want)
		}
		if want {
			hits++
		}
	}
	if hits < 1000 {
		t.Errorf("only %d bodies had one of the texts", hits)
	}
}

// BenchmarkScrubBody searches a page as the service sends it.
func BenchmarkScrubBody(b *testing.B) {
	var page strings.Builder
	for i := range 100 {
		fmt.Fprintf(&page, `{"id":"6650f1c2ab%06d","name":"Placement %d in a Magazine","website_url":"https://www.example%d.com","country":"United States","prices":[{"unit_amount":%d.50,"currency":"USD","pricing_tier":"standard"}],"description":"Sponsored post with one link, permanent, published within %d days."},`, i*7919, i, i, i*13, i)
	}
	body := []byte(page.String())
	f := newFinder(spellToken(longToken))
	b.Run("finder", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			f.isIn(body)
		}
	})
	b.Run("one by one", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			for _, text := range f.texts {
				bytes.Contains(body, text)
			}
		}
	})
	b.Run("the token alone", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			bytes.Contains(body, []byte(longToken))
		}
	})
}
