package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
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

// maxHeader limits a stored header, in bytes.
const maxHeader = 256

func newEvent(h envelopeHeaders, body []byte, now time.Time) stream.Event {
	e := stream.Event{Topic: boundedHeader(h.get(headerTopic)), Source: boundedHeader(h.get(headerSource)),
		Sent: sentTime(boundedHeader(h.get(headerTimestamp))), Received: now.UTC(), Body: body}
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

// scheme begins every signature (spec 6.4).
const scheme = "v0="

// maxSignatureHeader allows about sixty signatures, in bytes. A rotation of secrets needs two.
const maxSignatureHeader = 4096

func signingKeys(secrets []string) ([][]byte, error) {
	keys := make([][]byte, 0, len(secrets))
	for _, s := range secrets {
		if s == "" {
			return nil, errors.New("read the webhook secrets: one is empty, so anyone could sign an event: " +
				"fill it in, or remove it")
		}
		keys = append(keys, []byte(s))
	}
	return keys, nil
}

// isSigned reports whether any signature in the header is the HMAC-SHA256 of the body under any
// key. It compares every signature with every key in constant time, so that the duration reveals
// nothing about a valid signature.
func isSigned(keys [][]byte, header string, body []byte) bool {
	signatures := parseSignatures(header)
	if len(signatures) == 0 {
		return false
	}
	match := 0
	for _, key := range keys {
		mac := hmac.New(sha256.New, key)
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
		if begins || strings.Contains(text, "=") {
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
