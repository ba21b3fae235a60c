package webhook_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"

	"placementsync/internal/durable"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
	"placementsync/internal/webhook"
)

// FuzzPlainText checks that the text of any document is bounded and contains all texts of the
// document in order.
func FuzzPlainText(f *testing.F) {
	f.Add([]byte(`{"type":"doc","content":[{"type":"orderedList","attrs":{"start":-1},"content":[{"type":"mention"}]}]}`))
	f.Add([]byte(`{"type":"bulletList","content":[{"type":"listItem","content":[{"type":"text","text":"a\nb","marks":[{"type":"link","attrs":{"href":"c"}}]}]}]}`))
	f.Add([]byte(`[{"type":"date","text":"d"},{"type":"panel","content":"e"},{"type":"hardBreak"},{"type":"link","content":["f"],"url":"g"}]`))
	f.Add([]byte(`"x"`))
	f.Fuzz(func(t *testing.T, document []byte) {
		got := webhook.PlainText(document)
		if !utf8.ValidString(got) || len(got) > 1<<20+10 {
			t.Errorf("the text has %d bytes, valid UTF-8: %t, want at most 1 MiB of valid UTF-8", len(got), utf8.ValidString(got))
		}
		var root any
		if json.Unmarshal(document, &root) != nil || strings.Contains(got, "…") {
			return
		}
		rest := removeSpace(got)
		for _, text := range collectTexts(nil, root) {
			_, after, found := strings.Cut(rest, removeSpace(text))
			if !found {
				t.Fatalf("the text %q lacks %q, or has it in another order", got, text)
			}
			rest = after
		}
	})
}

func removeSpace(text string) string {
	return strings.Join(strings.FieldsFunc(text, unicode.IsSpace), "")
}

// collectTexts returns the texts of a document in order. It is a second, simpler implementation of
// PlainText.
func collectTexts(texts []string, node any) []string {
	switch node := node.(type) {
	case string:
		return append(texts, node)
	case []any:
		for _, child := range node {
			texts = collectTexts(texts, child)
		}
	case map[string]any:
		kind, _ := node["type"].(string)
		text, hasText := node["text"].(string)
		switch kind {
		case "text":
			return append(texts, text)
		case "hardBreak", "hard_break", "rule", "horizontalRule", "horizontal_rule", "mention", "emoji", "image", "media":
			return texts
		case "bulletList", "bullet_list", "taskList", "orderedList", "ordered_list", "inlineCard", "blockCard", "embedCard", "link":
			// Only their content is read, even if they have a text.
		default:
			if hasText && node["content"] == nil {
				return append(texts, text)
			}
		}
		return collectTexts(texts, node["content"])
	}
	return texts
}

// FuzzRecord checks that a record contains the members of its body, with all digits of numbers, and the
// members of the envelope. A member of the envelope replaces a member of the body.
func FuzzRecord(f *testing.F) {
	f.Add(webhook.StatusChanged, []byte(`{"article_id":"a","n":1.50,"n":2e400}`))
	f.Add("comment.created", []byte(` {"id":"c","content":{"type":"doc"},"event_id":"forged"} `))
	f.Add("x", []byte(`{"id":5}`))
	f.Fuzz(func(t *testing.T, topic string, body []byte) {
		topic = strings.ToValidUTF8(topic, "\uFFFD") // as the receiver does
		record, err := webhook.EventRecord(stream.Event{ID: "e", Topic: topic, Body: body})
		if err != nil {
			if invalid := (*webhook.InvalidError)(nil); !errors.As(err, &invalid) {
				t.Errorf("got %v, want an *InvalidError", err)
			}
			return
		}
		want, got := members(t, body), members(t, record)
		want["event_id"], want["topic"], want["source"], want["sent_at"] = "e", topic, nil, nil
		want["received_at"] = got["received_at"]
		if text, hasText := got["content_text"]; hasText {
			want["content_text"] = text
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("record of %q (-body +record):\n%s", body, diff)
		}
	})
}

func members(t *testing.T, object []byte) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	all := map[string]any{}
	harness.Must(t, d.Decode(&all))
	return all
}

// hasSignature is a second implementation of the signature check (spec 6.4).
func hasSignature(header string, body []byte) bool {
	want := strings.TrimPrefix(sign(secret, string(body)), "v0=")
	elements := strings.Split(header, ",")
	for i, element := range elements {
		if !regexp.MustCompile(`^\s*(v0=)?(?i:` + want + `)\s*$`).MatchString(element) {
			continue
		}
		scheme := i // of the nearest element with a scheme
		for scheme > 0 && !strings.Contains(elements[scheme], "=") {
			scheme--
		}
		if strings.HasPrefix(strings.TrimSpace(elements[scheme]), "v0=") {
			return len(header) <= 4096
		}
	}
	return false
}

// FuzzSignature compares both implementations of the signature check, with and without a
// valid signature in the header.
func FuzzSignature(f *testing.F) {
	f.Add("v0=00,v0=", 0, []byte("{}"))
	f.Add("v0=00,v1=00,"+sign(secret, "{}")[3:], 6, []byte("{}"))
	f.Add(sign(secret, "{}"), 3, []byte("{}"))
	f.Add(strings.ToUpper(sign(secret, "")), 0, []byte{})
	f.Fuzz(func(t *testing.T, header string, at int, body []byte) {
		at = max(0, min(at, len(header)))
		for _, h := range []string{header, header[:at] + sign(secret, string(body)) + header[at:], header[:at] + "," + sign(secret, string(body))} {
			if got, want := webhook.IsSignedBy([]string{secret}, h, body), hasSignature(h, body); got != want {
				t.Errorf("header %q, body %q: got signed %t, want %t", h, body, got, want)
			}
		}
	})
}

// FuzzReceiver sends arbitrary deliveries to a running receiver. A signed delivery that is fresh or
// known must get 204, or 401 if its body was sent under too many topics. Other deliveries must get
// 401 or 413.
func FuzzReceiver(f *testing.F) {
	f.Add("", "e1", "t", "2026-11-20T01:58:00Z", []byte("{}"), true)
	f.Add("v0=00", "", "t", "2026-11-20T02:05:00.5", []byte("{"), false)
	f.Add(",", "e\xff", "\n", "2026-11-20T02:00:00+14:00", []byte{}, true)
	f.Add("v0=00,v1=", "e2", "t", "1795140000", []byte("{}"), true)
	f.Add("v1=00", "e3", "t", "1795140000000", []byte("{}"), true)
	d := newFixture(f, webhook.Config{})
	d.startStrict(5 * time.Minute)
	knownEvents := map[string]bool{}
	topicsOf := map[string]map[string]bool{} // by body
	f.Fuzz(func(t *testing.T, signature, id, topic, timestamp string, body []byte, signed bool) {
		if signed {
			signature += "," + sign(secret, string(body))
		}
		req := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
		req.Header = http.Header{"X-Hook-Signature": {signature}, "X-Hook-Event-Id": {id}, "X-Hook-Topic": {topic},
			"X-Hook-Timestamp": {timestamp}}
		w := httptest.NewRecorder()
		d.receiver.ServeHTTP(w, req)
		eventKey := cmp.Or(id, "of the body "+topic+"\x00"+string(body))
		isLateRetry := knownEvents[eventKey] && w.Code == http.StatusNoContent
		want := http.StatusUnauthorized
		if len(body) > 1<<20 {
			want = http.StatusRequestEntityTooLarge
		} else if hasSignature(signature, body) && (isTimely(timestamp, d.now) || isLateRetry) {
			topicKey := strings.ToValidUTF8(topic[:min(len(topic), 256)], "\uFFFD")
			if topicsOf[string(body)] == nil {
				topicsOf[string(body)] = map[string]bool{}
			}
			switch topics := topicsOf[string(body)]; {
			case knownEvents[eventKey] || topics[topicKey]:
				want = http.StatusNoContent
			case len(topics) < 8:
				want = http.StatusNoContent
				knownEvents[eventKey], topics[topicKey] = true, true
			case w.Code == http.StatusNoContent: // the receiver forgot this body because its memory is limited
				want = http.StatusNoContent
			}
		}
		if w.Code != want {
			t.Errorf("got status %d, want %d", w.Code, want)
		}
	})
}

// isTimely is a second implementation of the check of timestamps, with a maximum age of five minutes.
func isTimely(timestamp string, now time.Time) bool {
	const maxAge = 5 * time.Minute
	if len(timestamp) > 256 {
		return false
	}
	if n, err := strconv.Atoi(timestamp); err == nil {
		for _, unit := range []time.Duration{time.Second, time.Millisecond} {
			age := now.UnixNano()/int64(unit) - int64(n)
			limit := int64(maxAge / unit)
			if age >= -limit && age <= limit {
				return true
			}
		}
		return false
	}
	for _, zone := range []string{"", "Z"} {
		if at, err := time.Parse(time.RFC3339, timestamp+zone); err == nil {
			return !at.Before(now.Add(-maxAge)) && !at.After(now.Add(maxAge))
		}
	}
	return false
}

// FuzzInbox links a file of arbitrary bytes, and checks that the linked events are the events of the file, and that
// a damaged file does not change the next one.
func FuzzInbox(f *testing.F) {
	f.Add([]byte("{}\n"))
	f.Add([]byte(`{"id":"a","received":"2026-11-20T02:00:00Z","body":"e30=","sum":"00000000"}` + "\n"))
	f.Add([]byte("\n\n\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, name := range []string{"20261120T020000.000000000Z.open", "20261120T020000.000000000Z-0123456789abcdef.log"} {
			dir := t.TempDir()
			harness.Must(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
			want := storedIDs(t, dir)
			const intact = `{"id":"next","received":"2026-11-20T02:00:01Z","body":"e30=","sum":"f8c5caae"}`
			harness.Must(t, os.WriteFile(filepath.Join(dir, "20261120T020001.000000000Z-0123456789abcdef.log"), []byte(intact+"\n"), 0o600))
			folder := filepath.Join(t.TempDir(), "linked")
			_, err := webhook.LinkEvents(durable.Disk{}, dir, folder)
			harness.Must(t, err)
			if diff := gocmp.Diff(append(want, "next"), storedIDs(t, folder)); diff != "" {
				t.Errorf("linked ids (-want +got):\n%s", diff)
			}
		}
	})
}
