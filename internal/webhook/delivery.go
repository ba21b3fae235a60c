package webhook

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"placementsync/internal/stream"
)

// The headers of the envelope of a delivery, after the prefix of the sender (spec 6.2).
const (
	headerID        = "event-id"
	headerTopic     = "topic"
	headerTimestamp = "timestamp"
	headerSource    = "source"
	headerSignature = "signature"
)

// envelopeHeaders are the headers of a delivery with the prefix of its sender.
type envelopeHeaders struct {
	all    http.Header
	prefix string
}

// findEnvelope uses the first prefix with a signature header. It returns false if there is none.
func findEnvelope(all http.Header, prefixes []string) (h envelopeHeaders, isSigned bool) {
	for _, prefix := range prefixes {
		h = envelopeHeaders{all, prefix}
		if len(h.signatures()) > 0 {
			return h, true
		}
	}
	return envelopeHeaders{}, false
}

func (h envelopeHeaders) get(name string) string { return h.all.Get(h.prefix + name) }

func (h envelopeHeaders) signatures() []string { return h.all.Values(h.prefix + headerSignature) }

// missingHeaderError means that a delivery lacks a header of the envelope.
type missingHeaderError struct {
	names    []string // of the missing header, one for each prefix
	received []string // names of the received headers, without values
}

// newMissingHeader limits the received names, because anybody can send them.
func newMissingHeader(name string, prefixes []string, received http.Header) *missingHeaderError {
	const maxNames, maxBytes = 40, 100
	e := &missingHeaderError{}
	for _, prefix := range prefixes {
		e.names = append(e.names, strings.ToLower(prefix+name))
	}
	for _, name := range slices.Sorted(maps.Keys(received)) {
		if len(e.received) == maxNames {
			e.received = append(e.received, "…")
			break
		}
		e.received = append(e.received, strings.ToLower(name[:min(len(name), maxBytes)]))
	}
	return e
}

func (e *missingHeaderError) headline() string {
	return "no header " + strings.Join(e.names, " or ")
}

// Error contains no values of headers, because they may be secrets.
func (e *missingHeaderError) Error() string {
	return e.headline() + ": if this was the service, compare serve.webhook_prefixes with the received headers (" +
		strings.Join(e.received, ", ") + "); otherwise ignore it"
}

// scheme begins a signature (spec 6.4).
const scheme = "v0="

// maxSignatureHeader is the limit of the header in bytes; about sixty signatures fit. A rotation of secrets needs two.
const maxSignatureHeader = 4096

// isSignedBy reports whether any signature in the header is the HMAC-SHA256 of the body under any
// secret. It compares every signature with every secret in constant time, so that the duration reveals
// nothing about a valid signature.
func isSignedBy(secrets []string, header string, body []byte) bool {
	signatures := parseSignatures(header)
	match := 0
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(body)
		want := mac.Sum(nil)
		for _, got := range signatures {
			match |= subtle.ConstantTimeCompare(want, got)
		}
	}
	return match == 1
}

// parseSignatures skips signatures of other schemes, for example of a later version. Some senders write
// the scheme before each signature, others once before the first of several (spec 6.6).
func parseSignatures(header string) [][]byte {
	if len(header) > maxSignatureHeader {
		return nil
	}
	var signatures [][]byte
	inScheme := false
	for text := range strings.SplitSeq(header, ",") {
		text = strings.TrimSpace(text)
		digits, begins := strings.CutPrefix(text, scheme)
		if strings.Contains(text, "=") {
			inScheme = begins
		}
		if !inScheme || len(digits) != hex.EncodedLen(sha256.Size) {
			continue
		}
		if sum, err := hex.DecodeString(digits); err == nil {
			signatures = append(signatures, sum)
		}
	}
	return signatures
}

// maxHeader limits a stored header, in bytes.
const maxHeader = 256

func newEvent(h envelopeHeaders, body []byte, now time.Time) stream.Event {
	e := stream.Event{
		Topic:    boundedHeader(h.get(headerTopic)),
		Source:   boundedHeader(h.get(headerSource)),
		Sent:     sentTime(boundedHeader(h.get(headerTimestamp))),
		Received: now.UTC(),
		Body:     body,
	}
	e.ID = eventID(h.get(headerID), e.Topic, body)
	return e
}

// sentTime returns a timestamp of Unix seconds or milliseconds as RFC 3339, and any other timestamp
// unchanged. Numbers outside the years 2000 to 2099 are not times.
func sentTime(text string) string {
	const from2000, before2100 = 946_684_800, 4_102_444_800 // Unix seconds
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		return text
	case n >= from2000 && n < before2100:
		return time.Unix(n, 0).UTC().Format(time.RFC3339)
	case n >= from2000*1000 && n < before2100*1000:
		return time.UnixMilli(n).UTC().Format(time.RFC3339Nano)
	}
	return text
}

// A missing id is replaced by a hash of topic and body, so that a retry is recognized. An id that is too
// long or not UTF-8 is replaced by its hash.
func eventID(id, topic string, body []byte) string {
	switch {
	case id == "":
		h := sha256.New()
		h.Write([]byte(topic + "\x00"))
		h.Write(body)
		return "body:" + hex.EncodeToString(h.Sum(nil))
	case len(id) > maxHeader || !utf8.ValidString(id):
		sum := sha256.Sum256([]byte(id))
		return "id:" + hex.EncodeToString(sum[:])
	}
	return id
}

func boundedHeader(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxHeader)], "\uFFFD")
}

// A timestamp in the future is limited too: otherwise the delivery could be repeated for longer than
// maxAge. An event without a valid timestamp is not fresh. If maxAge is 0, every event is fresh.
func isFresh(e stream.Event, maxAge time.Duration) bool {
	if maxAge <= 0 {
		return true
	}
	sent, err := time.Parse(time.RFC3339Nano, e.Sent)
	if err != nil {
		// ISO 8601 without a zone is UTC, as everywhere in the service.
		sent, err = time.Parse("2006-01-02T15:04:05.999999999", e.Sent)
	}
	return err == nil && e.Received.Sub(sent).Abs() <= maxAge
}

// StatusChanged is the topic of status changes. All other topics of the spec are topics of comments (spec 6.1).
const StatusChanged = "article.status_changed"

// InvalidError means that a signed body is not an event of its topic.
type InvalidError struct{ Topic, Reason string }

func (e *InvalidError) Error() string {
	return fmt.Sprintf("read an event of the topic %q: %s", e.Topic, e.Reason)
}

// envelope contains the members that EventRecord adds to a body. Their names are the column names.
type envelope struct {
	EventID     string    `json:"event_id"`
	Topic       string    `json:"topic"`
	Source      *string   `json:"source"`
	SentAt      *string   `json:"sent_at"`
	ReceivedAt  time.Time `json:"received_at"`
	ContentText *string   `json:"content_text,omitempty"` // of a rich comment
}

// EventRecord returns an event as one JSON object. The object contains the unchanged members of the
// body, and then the members of the envelope. A member of the envelope overrides a member of the body
// with the same name. EventRecord returns an *InvalidError if the body is not an event of its topic.
func EventRecord(e stream.Event) ([]byte, error) {
	body := bodyText(e)
	if !json.Valid(body) {
		return nil, &InvalidError{e.Topic, "the body is not JSON"}
	}
	if body[0] != '{' {
		return nil, &InvalidError{e.Topic, "the body is not an object"}
	}
	text, err := commentText(e, body)
	if err != nil {
		return nil, err
	}
	tail, err := json.Marshal(envelope{
		EventID: e.ID, Topic: e.Topic, Source: nilIfEmpty(e.Source), SentAt: nilIfEmpty(e.Sent), ReceivedAt: e.Received, ContentText: text,
	})
	if err != nil {
		return nil, fmt.Errorf("encode the envelope of event %q: %w", e.ID, err)
	}
	tail[0] = ',' // commentText has found an id, so the body has members
	return slices.Concat(body[:len(body)-1], tail), nil
}

// commentText returns the plain text of a comment, or nil if there is none. It treats every topic
// except StatusChanged as a comment. It returns an error for a body without the id that its topic
// requires. Other missing or malformed members are left to the decoder of the night.
func commentText(e stream.Event, body []byte) (*string, error) {
	if e.Topic == StatusChanged {
		if article, _ := EventTargets(e); article == "" {
			return nil, &InvalidError{e.Topic, "the body has no article_id"}
		}
		return nil, nil
	}
	var comment struct {
		ID      json.RawMessage `json:"id"`
		Content json.RawMessage `json:"content"`
	}
	_ = json.Unmarshal(body, &comment) // the body is a JSON object
	if id := scalarText(comment.ID); id == "" {
		return nil, &InvalidError{e.Topic, "the body has no id of the comment"}
	}
	if len(comment.Content) == 0 || string(comment.Content) == "null" {
		return nil, nil
	}
	text := PlainText(comment.Content)
	return &text, nil
}

// bodyText returns the body without a byte order mark and the white space around it.
func bodyText(e stream.Event) []byte {
	return bytes.TrimSpace(bytes.TrimPrefix(e.Body, []byte("\ufeff")))
}

// EventTargets returns the ids of the article and the campaign of a status change. They are empty
// if the body lacks them, and for other topics.
func EventTargets(e stream.Event) (article, campaign string) {
	var body struct {
		Article  json.RawMessage `json:"article_id"`
		Campaign json.RawMessage `json:"campaign_id"`
	}
	if e.Topic != StatusChanged || json.Unmarshal(bodyText(e), &body) != nil {
		return "", ""
	}
	return scalarText(body.Article), scalarText(body.Campaign)
}

// scalarText returns "" for a value that is neither a string nor a number.
func scalarText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var number json.Number
	if json.Unmarshal(raw, &number) == nil {
		return number.String()
	}
	return ""
}

func nilIfEmpty(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

const (
	// maxDepth limits the nesting of a document. Deeper nodes are omitted.
	maxDepth = 64
	// maxText limits the text in bytes, because indented lists can make the text many times as
	// long as the document.
	maxText = 1 << 20
	omitted = "…" // instead of text beyond a limit
)

// PlainText converts the rich text of a comment (spec 6.3) to lines. Mentions keep their names, and links
// keep their addresses. An unknown node is replaced by its text. The text of a JSON string is the string.
// Numbers, booleans, null and invalid JSON have an empty text.
func PlainText(document []byte) string {
	var root any
	if json.Unmarshal(document, &root) != nil {
		return ""
	}
	f := flattener{atLineStart: true}
	f.writeNode(root, 0)
	return strings.TrimRight(f.text.String(), "\n ")
}

type flattener struct {
	text strings.Builder
	// atLineStart is set before the first text of a line. Each line begins with indent, or with
	// bullet if bullet is not empty.
	atLineStart    bool
	indent, bullet string
	full           bool // maxText is reached
}

func (f *flattener) writeNode(n any, depth int) {
	if depth > maxDepth {
		f.write(omitted)
		return
	}
	switch n := n.(type) {
	case string:
		f.writeLines(n)
	case []any:
		for _, child := range n {
			f.writeNode(child, depth+1)
		}
	case map[string]any:
		f.writeObject(n, depth)
	}
}

func (f *flattener) writeObject(n map[string]any, depth int) {
	kind, _ := n["type"].(string)
	text, hasText := n["text"].(string)
	switch kind {
	case "text":
		f.writeLines(text)
		marks, _ := n["marks"].([]any)
		for _, m := range marks {
			mark, _ := m.(map[string]any)
			if address := textAttribute(mark, "href", "url"); mark["type"] == "link" && address != "" && address != text {
				f.write(" (" + address + ")")
			}
		}
	case "hardBreak", "hard_break":
		f.breakLine()
	case "mention":
		if name := textAttribute(n, "label", "text", "name", "id"); name != "" {
			f.write("@" + strings.TrimPrefix(name, "@"))
		}
	case "emoji":
		f.write(textAttribute(n, "text", "emoji", "shortName", "name"))
	case "image", "media":
		f.write(textAttribute(n, "alt", "title", "src", "url"))
	case "inlineCard", "blockCard", "embedCard", "link":
		f.writeNode(n["content"], depth+1)
		f.write(textAttribute(n, "href", "url"))
	case "bulletList", "bullet_list", "taskList", "orderedList", "ordered_list":
		f.writeList(n, strings.HasPrefix(kind, "ordered"), depth)
	case "rule", "horizontalRule", "horizontal_rule":
		f.endLine()
		f.write("---")
		f.endLine()
	default:
		switch {
		case hasText && n["content"] == nil: // an unknown inline node
			f.writeLines(text)
		case kind != "" || n["content"] != nil:
			f.endLine()
			f.writeNode(n["content"], depth+1)
			f.endLine()
		}
	}
}

func (f *flattener) writeList(n map[string]any, ordered bool, depth int) {
	items, isList := n["content"].([]any)
	if !isList {
		items = []any{n["content"]}
	}
	attrs, _ := n["attrs"].(map[string]any)
	first, ok := attrs["start"].(float64)
	if !ok || first < 0 || first > 1e9 {
		first = 1
	}
	f.endLine()
	outer := f.indent
	for i, item := range items {
		bullet := "- "
		if ordered {
			bullet = strconv.Itoa(int(first)+i) + ". "
		}
		f.indent, f.bullet = outer+strings.Repeat(" ", len(bullet)), outer+bullet
		f.writeNode(item, depth+1)
		f.endLine()
	}
	f.indent, f.bullet = outer, ""
}

func (f *flattener) endLine() {
	if !f.atLineStart {
		f.breakLine()
	}
}

func (f *flattener) breakLine() {
	if !f.full {
		f.text.WriteByte('\n')
	}
	f.atLineStart = true
}

func (f *flattener) writeLines(text string) {
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			f.breakLine()
		}
		f.write(line)
	}
}

func (f *flattener) write(text string) {
	if text == "" || f.full {
		return
	}
	if f.atLineStart {
		if f.bullet == "" {
			f.bullet = f.indent
		}
		text, f.bullet, f.atLineStart = f.bullet+text, "", false
	}
	if f.text.Len()+len(text) > maxText {
		f.full = true
		text = strings.ToValidUTF8(text[:max(0, maxText-f.text.Len())], "") + omitted // without half a character
	}
	f.text.WriteString(text)
}

// textAttribute returns the first of the named attributes of a node that is a string and not empty.
// If there is none, it looks for these names among the members of the node itself.
func textAttribute(n map[string]any, names ...string) string {
	attrs, _ := n["attrs"].(map[string]any)
	for _, from := range []map[string]any{attrs, n} {
		for _, name := range names {
			if text, _ := from[name].(string); text != "" {
				return text
			}
		}
	}
	return ""
}
