package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"placementsync/internal/stream"
)

// Topics (spec 6.1).
const (
	StatusChanged   = "article.status_changed"
	CommentCreated  = "comment.created"
	CommentUpdated  = "comment.updated"
	CommentArchived = "comment.archived"
)

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
	added := envelope{EventID: e.ID, Topic: e.Topic, Source: nilIfEmpty(e.Source), SentAt: nilIfEmpty(e.Sent), ReceivedAt: e.Received, ContentText: text}
	tail, err := json.Marshal(added)
	if err != nil {
		return nil, fmt.Errorf("encode the envelope of event %q: %w", e.ID, err)
	}
	tail[0] = ',' // commentText has found an id, so the body has members
	return slices.Concat(bytes.TrimSpace(body[:len(body)-1]), tail), nil
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
	if err := json.Unmarshal(body, &comment); err != nil {
		return nil, &InvalidError{e.Topic, err.Error()}
	}
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
