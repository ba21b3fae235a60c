package webhook_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
	"placementsync/internal/webhook"
)

func TestRichTextBecomesPlain(t *testing.T) {
	doc := func(nodes string) string { return `{"type":"doc","content":[` + nodes + `]}` }
	cases := []struct{ name, document, want string }{
		{"a paragraph", doc(`{"type":"paragraph","content":[{"type":"text","text":"Fine "},{"type":"text","text":"by me.","marks":[{"type":"bold"}]}]}`), "Fine by me."},
		{"two paragraphs", doc(`{"type":"paragraph","content":[{"type":"text","text":"a"}]},{"type":"paragraph","content":[{"type":"text","text":"b"}]}`), "a\nb"},
		{"a break", doc(`{"type":"paragraph","content":[{"type":"text","text":"a"},{"type":"hardBreak"},{"type":"text","text":"b"}]}`), "a\nb"},
		{"a heading and a quote", doc(`{"type":"heading","attrs":{"level":2},"content":[{"type":"text","text":"H"}]},{"type":"blockquote","content":[{"type":"paragraph","content":[{"type":"text","text":"q"}]}]}`), "H\nq"},
		{"a list", doc(`{"type":"bulletList","content":[{"type":"listItem","content":[{"type":"paragraph","content":[{"type":"text","text":"a"}]},{"type":"paragraph","content":[{"type":"text","text":"a2"}]}]},{"type":"listItem","content":[{"type":"paragraph","content":[{"type":"text","text":"b"}]}]}]},{"type":"paragraph","content":[{"type":"text","text":"end"}]}`), "- a\n  a2\n- b\nend"},
		{"a list whose last item is empty", doc(`{"type":"bulletList","content":[{"type":"listItem","content":[{"type":"text","text":"a"}]},{"type":"listItem"}]},{"type":"paragraph","content":[{"type":"text","text":"end"}]}`), "- a\nend"},
		{"a list in a numbered list", doc(`{"type":"orderedList","attrs":{"start":3},"content":[{"type":"listItem","content":[{"type":"paragraph","content":[{"type":"text","text":"a"}]},{"type":"bulletList","content":[{"type":"listItem","content":[{"type":"paragraph","content":[{"type":"text","text":"b"}]}]}]}]},{"type":"listItem","content":[{"type":"paragraph","content":[{"type":"text","text":"c"}]}]}]}`), "3. a\n   - b\n4. c"},
		{"a list whose content is not an array", doc(`{"type":"bulletList","content":{"type":"listItem","content":[{"type":"text","text":"a"}]}}`), "- a"},
		{"a mention", doc(`{"type":"paragraph","content":[{"type":"text","text":"Ask "},{"type":"mention","attrs":{"id":"u1","label":"Ada"}},{"type":"text","text":"."}]}`), "Ask @Ada."},
		{"a mention whose name begins with @", doc(`{"type":"mention","attrs":{"label":"@Ada"}}`), "@Ada"},
		{"a mention with two names", doc(`{"type":"mention","text":"x","attrs":{"label":"Ada"}}`), "@Ada"},
		{"an unknown node with a text and content", doc(`{"type":"panel","text":"x","content":[{"type":"text","text":"inside"}]}`), "inside"},
		{"a list that begins beyond all numbers", doc(`{"type":"orderedList","attrs":{"start":1e300},"content":[{"type":"text","text":"a"}]}`), "1. a"},
		{"an emoji", doc(`{"type":"paragraph","content":[{"type":"text","text":"Fine "},{"type":"emoji","attrs":{"shortName":":smile:","text":"😀"}}]}`), "Fine 😀"},
		{"a list that begins below zero", doc(`{"type":"orderedList","attrs":{"start":-5},"content":[{"type":"text","text":"a"}]}`), "1. a"},
		{"a list that begins at zero", doc(`{"type":"orderedList","attrs":{"start":0},"content":[{"type":"text","text":"a"}]}`), "0. a"},
		{"a paragraph after a nested list", doc(`{"type":"bulletList","content":[{"type":"listItem","content":[{"type":"text","text":"a"},{"type":"bulletList","content":[{"type":"text","text":"b"}]}]}]},{"type":"paragraph","content":[{"type":"text","text":"end"}]}`), "- a\n  - b\nend"},
		{"a link", doc(`{"type":"paragraph","content":[{"type":"text","text":"draft","marks":[{"type":"link","attrs":{"href":"https://example.com/d"}}]}]}`), "draft (https://example.com/d)"},
		{"a link whose text is its address", doc(`{"type":"paragraph","content":[{"type":"text","text":"https://example.com","marks":[{"type":"link","attrs":{"href":"https://example.com"}}]}]}`), "https://example.com"},
		{"an image", doc(`{"type":"image","attrs":{"src":"https://example.com/i.png","alt":"the chart"}}`), "the chart"},
		{"an unknown block", doc(`{"type":"panel","content":[{"type":"paragraph","content":[{"type":"text","text":"inside"}]}]}`), "inside"},
		{"an unknown inline node", doc(`{"type":"paragraph","content":[{"type":"text","text":"a"},{"type":"date","text":"1 May"}]}`), "a1 May"},
		{"a horizontal rule", doc(`{"type":"paragraph","content":[{"type":"text","text":"a"}]},{"type":"horizontalRule"},{"type":"paragraph","content":[{"type":"text","text":"b"}]}`), "a\n---\nb"},
		{"an empty document", doc(``), ""},
		{"an empty paragraph", doc(`{"type":"paragraph"},{"type":"paragraph","content":[{"type":"text","text":"b"}]}`), "b"},
		{"a JSON string", `"plain text"`, "plain text"},
		{"nodes of wrong types", doc(`7,null,"x",{"type":9,"content":{"type":"text","text":"y"}},{"type":"text","text":5,"marks":"z"}`), "x\ny"},
		{"a list without a first number, of two texts", doc(`{"type":"orderedList","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`), "1. a\n2. b"},
		{"an item of two texts, after a text", doc(`{"type":"text","text":"x"},{"type":"bulletList","content":[{"type":"listItem","content":[{"type":"text","text":""},{"type":"text","text":"a"},{"type":"text","text":"b\nc"}]}]}`), "x\n- ab\n  c"},
		{"an item with an empty text", doc(`{"type":"bulletList","content":[{"type":"text","text":""}]}`), ""},
		{"two breaks", doc(`{"type":"text","text":"a"},{"type":"hardBreak"},{"type":"hardBreak"},{"type":"text","text":"b"}`), "a\n\nb"},
		{"a mention without a name", doc(`{"type":"mention","attrs":{"label":""}}`), ""},
		{"a mention whose label is empty", doc(`{"type":"mention","attrs":{"label":"","text":7,"id":"u1"}}`), "@u1"},
		{"marks that are no links", doc(`{"type":"text","text":"a","marks":[{"type":"link"},{"type":"anchor","attrs":{"href":"b"}}]}`), "a"},
		{"a rule between texts", doc(`{"type":"text","text":"a"},{"type":"rule"},{"type":"text","text":"b"}`), "a\n---\nb"},
		{"an empty block between texts", doc(`{"type":"text","text":"a"},{"type":"panel"},{"type":"text","text":"b"}`), "a\nb"},
		{"a block before a text", doc(`{"type":"panel","content":[{"type":"text","text":"a"}]},{"type":"text","text":"b"}`), "a\nb"},
		{"a card", doc(`{"type":"inlineCard","content":[{"type":"text","text":"a "}],"attrs":{"url":"https://example.com"}}`), "a https://example.com"},
		{"a list of tasks", doc(`{"type":"taskList","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`),
			"- a\n- b"},
		{"the names of another editor", doc(`{"type":"bullet_list","content":[{"type":"text","text":"a"}]},` +
			`{"type":"ordered_list","content":[{"type":"text","text":"b"}]},{"type":"text","text":"c"},{"type":"hard_break"},` +
			`{"type":"text","text":"d","marks":[{"type":"link","attrs":{"url":"https://example.com"}}]},` +
			`{"type":"horizontal_rule"},{"type":"media","attrs":{"url":"https://example.com/m"}}`),
			"- a\n1. b\nc\nd (https://example.com)\n---\nhttps://example.com/m"},
		{"a number", `5`, ""},
		{"not JSON", `{`, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, webhook.PlainText([]byte(c.document))); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRichTextIsBounded(t *testing.T) {
	deep := strings.Repeat(`{"type":"x","content":[`, 4000) + `{"type":"text","text":"deep"}` + strings.Repeat("]}", 4000)
	if got := webhook.PlainText([]byte(deep)); got != "…" {
		t.Errorf("a deep document became %q, want %q", got, "…")
	}
	for depth, want := range map[int]string{64: "deep", 65: "…"} {
		nested := strings.Repeat("[", depth) + `"deep"` + strings.Repeat("]", depth)
		if got := webhook.PlainText([]byte(nested)); got != want {
			t.Errorf("a text at the depth %d became %q, want %q", depth, got, want)
		}
	}
	if got := webhook.PlainText([]byte(`"a` + strings.Repeat("é", 1<<19) + `"`)); !utf8.ValidString(got) || len(got) != 1<<20-1+len("…") {
		t.Errorf("a long text became %d bytes, valid %t, want 1 MiB without half a character", len(got), utf8.ValidString(got))
	}
	item := `{"type":"listItem","content":["a\n` + strings.Repeat("b\\n", 20_000) + `"]}`
	lists := strings.Repeat(`{"type":"bulletList","content":[`, 30) + item + strings.Repeat("]}", 30)
	if got := webhook.PlainText([]byte(lists)); len(got) > 1<<20+10 {
		t.Errorf("a nested list became %d bytes, want at most 1 MiB", len(got))
	}
}

func TestEventRecord(t *testing.T) {
	at := time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)
	const tail = `"event_id":"e","topic":"%","source":"s","sent_at":"2026-11-20T01:00:00Z","received_at":"2026-11-20T02:00:00Z"`
	cases := []struct{ name, topic, body, want string }{
		{"a status change", webhook.StatusChanged, ` {"article_id":"a", "n":1.50} `, `{"article_id":"a", "n":1.50,` + tail + `}`},
		{"a byte order mark", webhook.StatusChanged, "\ufeff" + `{"article_id":"a"}`, `{"article_id":"a",` + tail + `}`},
		{"a number for an id", webhook.StatusChanged, `{"article_id":7}`, `{"article_id":7,` + tail + `}`},
		{"a comment", "comment.updated", `{"id":"c","content":{"type":"doc","content":[{"type":"text","text":"hi"}]}}`,
			`{"id":"c","content":{"type":"doc","content":[{"type":"text","text":"hi"}]},` + tail + `,"content_text":"hi"}`},
		{"a comment without content", "comment.archived", `{"id":"c"}`, `{"id":"c",` + tail + `}`},
		{"a comment with null as content", "comment.archived", `{"id":"c","content":null}`, `{"id":"c","content":null,` + tail + `}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			e := stream.Event{ID: "e", Topic: c.topic, Source: "s", Sent: "2026-11-20T01:00:00Z", Received: at, Body: []byte(c.body)}
			got, err := webhook.EventRecord(e)
			harness.Must(t, err)
			if diff := cmp.Diff(strings.ReplaceAll(c.want, "%", c.topic), string(got)); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEventRecordRejectsInvalidBodies(t *testing.T) {
	for name, c := range map[string]struct{ topic, body, reason string }{
		"not JSON":                           {webhook.StatusChanged, "article_id=1", "the body is not JSON"},
		"an empty body":                      {webhook.StatusChanged, "", "the body is not JSON"},
		"two objects":                        {webhook.StatusChanged, `{"article_id":"a"}{}`, "the body is not JSON"},
		"a list":                             {webhook.StatusChanged, `["a"]`, "the body is not an object"},
		"a status change without article_id": {webhook.StatusChanged, `{"status":{"prefix":"x"}}`, "the body has no article_id"},
		"an article_id that is an object":    {webhook.StatusChanged, `{"article_id":{}}`, "the body has no article_id"},
		"an empty object":                    {webhook.StatusChanged, `{}`, "the body has no article_id"},
		"an empty comment":                   {"comment.created", `{ }`, "the body has no id of the comment"},
		"a comment without id":               {"comment.created", `{"content":"x"}`, "the body has no id of the comment"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := webhook.EventRecord(stream.Event{Topic: c.topic, Body: []byte(c.body)})
			want := fmt.Sprintf("read an event of the topic %q: %s", c.topic, c.reason)
			if !errors.As(err, new(*webhook.InvalidError)) || err.Error() != want {
				t.Errorf("got record %s, %v, want an *InvalidError: %s", got, err, want)
			}
		})
	}
}

// TestTargetsOfAStatusChange reads the ids of the records that a night reads again.
func TestTargetsOfAStatusChange(t *testing.T) {
	for name, c := range map[string]struct{ topic, body, article, campaign string }{
		"a status change":                   {webhook.StatusChanged, "\ufeff" + `{"article_id":"a","campaign_id":7}`, "a", "7"},
		"without a campaign":                {webhook.StatusChanged, `{"article_id":"a","campaign_id":null}`, "a", ""},
		"not JSON":                          {webhook.StatusChanged, `{"article_id":"a"`, "", ""},
		"a comment, whose topic is another": {"comment.created", `{"id":"c","article_id":"a","campaign_id":"b"}`, "", ""},
	} {
		article, campaign := webhook.EventTargets(stream.Event{Topic: c.topic, Body: []byte(c.body)})
		if article != c.article || campaign != c.campaign {
			t.Errorf("%s: the targets are %q and %q, want %q and %q", name, article, campaign, c.article, c.campaign)
		}
	}
}
