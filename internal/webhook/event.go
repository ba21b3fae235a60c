package webhook

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"placementsync/internal/stream"
)

// The envelope of a delivery (spec 6.2).
const (
	headerID        = "X-Hook-Event-Id"
	headerTopic     = "X-Hook-Topic"
	headerTimestamp = "X-Hook-Timestamp"
	headerSource    = "X-Hook-Source"
	headerSignature = "X-Hook-Signature"
)

// maxHeader limits a stored header, in bytes.
const maxHeader = 256

func newEvent(h http.Header, body []byte, now time.Time) stream.Event {
	e := stream.Event{Topic: boundedHeader(h.Get(headerTopic)), Source: boundedHeader(h.Get(headerSource)), Sent: boundedHeader(h.Get(headerTimestamp)),
		Received: now.UTC(), Body: body}
	e.ID = eventID(h.Get(headerID), e.Topic, body)
	return e
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
