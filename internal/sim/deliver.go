package sim

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Delivery is a webhook delivery (spec section 6). All fields except Body are sent as headers.
type Delivery struct {
	ID, Topic, Source string
	// SentAt is the timestamp. Zero means that the header is omitted.
	SentAt time.Time
	Body   []byte
}

// Deliver sends a delivery as the service does and returns the status of the response. Each
// secret adds a signature, as during a rotation. Without secrets the delivery is unsigned.
func Deliver(ctx context.Context, client *http.Client, url string, d Delivery, secrets ...string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(d.Body))
	if err != nil {
		return 0, fmt.Errorf("deliver event %q: %w", d.ID, err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("x-hook-event-id", d.ID)
	request.Header.Set("x-hook-topic", d.Topic)
	request.Header.Set("x-hook-source", d.Source)
	if !d.SentAt.IsZero() {
		request.Header.Set("x-hook-timestamp", d.SentAt.UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	var signatures []string
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(d.Body)
		signatures = append(signatures, fmt.Sprintf("v0=%x", mac.Sum(nil)))
	}
	if len(signatures) > 0 {
		request.Header.Set("x-hook-signature", strings.Join(signatures, ","))
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, fmt.Errorf("deliver event %q: %w", d.ID, err)
	}
	return response.StatusCode, response.Body.Close()
}

// StatusChange returns a delivery with the current status of an article.
func (s *Service) StatusChange(articleID string) (Delivery, error) {
	raw, ok := s.Object("/articles/" + articleID)
	if !ok {
		return Delivery{}, fmt.Errorf("make an event of article %q: the demo service has no such record", articleID)
	}
	var a struct {
		Campaign *string `json:"campaign_id"`
		Profile  *string `json:"profile_id"`
		Status   struct {
			Prefix string `json:"prefix"`
		} `json:"status"`
		Updated string `json:"updated_at"`
	}
	_ = json.Unmarshal(raw, &a) // this service wrote the record
	body := map[string]any{"article_id": articleID, "campaign_id": a.Campaign, "profile_id": a.Profile,
		"status": map[string]string{"id": "st-" + a.Status.Prefix, "prefix": a.Status.Prefix}, "effective_at": a.Updated, "changed_at": a.Updated}
	return s.newDelivery("article.status_changed", articleID+a.Status.Prefix, body), nil
}

// CommentChange returns a delivery about comment n of an article, counted from 0. topic is
// comment.created, comment.updated or comment.archived. The content is rich text with a
// paragraph for each line.
func (s *Service) CommentChange(topic, articleID string, n int) (Delivery, error) {
	records := s.Records("/articles/" + articleID + "/comments")
	if n >= len(records) {
		return Delivery{}, fmt.Errorf("make an event of comment %d of article %q: the demo service has no such record", n, articleID)
	}
	var c struct {
		ID      string  `json:"id"`
		Content string  `json:"content"`
		Created string  `json:"created_at"`
		Updated string  `json:"updated_at"`
		Parent  *string `json:"parent_comment_id"`
		Author  struct {
			Name string `json:"name"`
		} `json:"author"`
	}
	_ = json.Unmarshal(records[n], &c) // this service wrote the record
	body := map[string]any{"id": c.ID, "content": richText(c.Content), "author": map[string]string{"name": c.Author.Name},
		"created_at": c.Created, "updated_at": c.Updated, "parent_comment_id": c.Parent}
	return s.newDelivery(topic, c.ID+c.Updated+topic, body), nil
}

func richText(text string) any {
	var paragraphs []any
	for line := range strings.SplitSeq(text, "\n") {
		paragraphs = append(paragraphs, map[string]any{"type": "paragraph",
			"content": []any{map[string]any{"type": "text", "text": line}}})
	}
	return map[string]any{"type": "doc", "content": paragraphs}
}

// The id of a delivery is a hash of identity, so repeated deliveries of an event have the same id.
func (s *Service) newDelivery(topic, identity string, body map[string]any) Delivery {
	raw, _ := json.Marshal(body) // cannot fail: body contains only maps, lists, texts and nil
	sum := sha256.Sum256([]byte(identity))
	return Delivery{ID: fmt.Sprintf("evt_%x", sum[:12]), Topic: topic, Source: "demo", SentAt: s.Now(), Body: raw}
}
