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

// The envelope of a delivery (spec section 6.2).
const (
	headerID        = "X-Hook-Event-Id"
	headerTopic     = "X-Hook-Topic"
	headerTimestamp = "X-Hook-Timestamp"
	headerSource    = "X-Hook-Source"
	headerSignature = "X-Hook-Signature"
)

// maxHeader bounds what is kept of one header, in bytes.
const maxHeader = 256

// newEvent takes the envelope from the headers of a delivery.
func newEvent(h http.Header, body []byte, now time.Time) stream.Event {
	e := stream.Event{Topic: kept(h.Get(headerTopic)), Source: kept(h.Get(headerSource)), Sent: kept(h.Get(headerTimestamp)),
		Received: now.UTC(), Body: body}
	e.ID = identity(h.Get(headerID), e.Topic, body)
	return e
}

// identity is the event id. Without one, the same topic and body are the same
// event, so that a retry is still known again. One that is too long or no text
// is replaced by its hash.
func identity(id, topic string, body []byte) string {
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

// kept cuts a header to what is kept of it.
func kept(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxHeader)], "\uFFFD")
}

// fresh reports whether the envelope's timestamp is within maxAge of now, in
// either direction: clocks are never quite the same, and a time in the future
// would outlive any limit. Without a readable timestamp nothing is fresh.
func fresh(e stream.Event, maxAge time.Duration) bool {
	if maxAge <= 0 {
		return true
	}
	sent, err := time.Parse(time.RFC3339Nano, e.Sent)
	if err != nil {
		// ISO 8601 without a zone is taken as UTC, as everywhere.
		sent, err = time.Parse("2006-01-02T15:04:05.999999999", e.Sent)
	}
	return err == nil && e.Received.Sub(sent).Abs() <= maxAge
}
