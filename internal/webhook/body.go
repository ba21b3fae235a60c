package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"placementsync/internal/stream"
)

// The topics of spec section 6.1.
const (
	StatusChanged   = "article.status_changed"
	CommentCreated  = "comment.created"
	CommentUpdated  = "comment.updated"
	CommentArchived = "comment.archived"
)

// InvalidError says that a signed body is no event of its topic. A retry would
// bring the same body.
type InvalidError struct{ Topic, Reason string }

func (e *InvalidError) Error() string {
	return fmt.Sprintf("read an event of topic %q: %s", e.Topic, e.Reason)
}

// envelope is what EventRecord adds to a body, by the names of the columns.
type envelope struct {
	EventID    string    `json:"event_id"`
	Topic      string    `json:"topic"`
	Source     *string   `json:"source"`
	SentAt     *string   `json:"sent_at"`
	ReceivedAt time.Time `json:"received_at"`
	// ContentText is the plain text of a rich comment, absent elsewhere.
	ContentText *string `json:"content_text,omitempty"`
}

// EventRecord is an event as one JSON object: the members of its body to the
// letter, followed by those of the envelope, which win over members of the same
// name. A body that is no event of its topic is an *InvalidError.
func EventRecord(e stream.Event) ([]byte, error) {
	body := bytes.TrimSpace(e.Body)
	if !json.Valid(body) {
		return nil, &InvalidError{e.Topic, "the body is no JSON"}
	}
	if body[0] != '{' {
		return nil, &InvalidError{e.Topic, "the body is no object"}
	}
	more := envelope{EventID: e.ID, Topic: e.Topic, Source: filled(e.Source), SentAt: filled(e.Sent), ReceivedAt: e.Received}
	if err := judge(e, body, &more); err != nil {
		return nil, err
	}
	tail, err := json.Marshal(more)
	if err != nil {
		return nil, fmt.Errorf("read event %q: %w", e.ID, err)
	}
	members := bytes.TrimSpace(body[:len(body)-1])
	if len(members) > 1 {
		tail[0] = ','
		return slices.Concat(members, tail), nil
	}
	return tail, nil
}

// judge demands of a body what makes it an event of its topic, and reads the
// text of a comment. Whatever else is missing or unfit is the table's matter.
func judge(e stream.Event, body []byte, more *envelope) error {
	if e.Topic == StatusChanged {
		if EventTargets(e).Article == "" {
			return &InvalidError{e.Topic, "no article_id"}
		}
		return nil
	}
	var comment struct {
		ID      json.RawMessage `json:"id"`
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(body, &comment); err != nil {
		return &InvalidError{e.Topic, err.Error()}
	}
	if id := scalar(comment.ID); id == "" {
		return &InvalidError{e.Topic, "no id, which is the comment's reference"}
	}
	if len(comment.Content) > 0 && string(comment.Content) != "null" {
		text := PlainText(comment.Content)
		more.ContentText = &text
	}
	return nil
}

// Targets are the records that a status change is about; empty ids for any
// other event.
type Targets struct{ Article, Campaign string }

// EventTargets reads what an event is about, without judging it.
func EventTargets(e stream.Event) Targets {
	var body struct {
		Article  json.RawMessage `json:"article_id"`
		Campaign json.RawMessage `json:"campaign_id"`
	}
	if e.Topic != StatusChanged || json.Unmarshal(e.Body, &body) != nil {
		return Targets{}
	}
	return Targets{scalar(body.Article), scalar(body.Campaign)}
}

// scalar is a text, or a number as it was written; empty for anything else.
func scalar(raw json.RawMessage) string {
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

func filled(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
