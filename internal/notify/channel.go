package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode"
)

// Kinds of channels.
const (
	Webhook = "webhook" // gets Message.Body
	Slack   = "slack"   // gets Message.Text, in the JSON that Slack takes
	Email   = "email"   // gets Message.Subject and Message.Text
)

// Channel is a receiver of messages.
type Channel struct {
	Kind string
	// URL is where Webhook and Slack post. It is a secret: no error contains it.
	URL string
	// Mail is for Email.
	Mail Mail
}

// Message is what a channel delivers.
type Message struct {
	// ID lets a receiver know a message again that comes twice.
	ID string
	// Subject is one line.
	Subject string
	// Text is for people. It may contain whatever the service sent.
	Text string
	// Body is a JSON object for programs.
	Body []byte
}

// Deliver sends a message, with retries. Without an error, the receiver has taken it;
// with one, it may have. The error is a *RefusedError if the receiver answered and does
// not take this message.
func (n *Notifier) Deliver(ctx context.Context, c Channel, m Message) error {
	switch c.Kind {
	case Webhook:
		return n.request(ctx, request{method: http.MethodPost, address: c.URL, body: m.Body, id: m.ID})
	case Slack:
		body, err := json.Marshal(newSlackText(m.Text))
		if err != nil {
			return fmt.Errorf("write the text: %w", err)
		}
		return n.request(ctx, request{method: http.MethodPost, address: c.URL, body: body, id: m.ID})
	case Email:
		return n.tryAgain(ctx, func(ctx context.Context) (bool, error) { return n.mailOnce(ctx, c.Mail, m) })
	}
	return fmt.Errorf("no kind of channel is called %q", c.Kind)
}

// slackText is a message to Slack and its kin, in which nothing of the text acts: no
// markup, no mention, and no address is fetched for a preview.
type slackText struct {
	Text        string `json:"text"`
	Markdown    bool   `json:"mrkdwn"`
	UnfurlLinks bool   `json:"unfurl_links"`
	UnfurlMedia bool   `json:"unfurl_media"`
}

// newSlackText escapes the three characters by which Slack knows links and mentions.
func newSlackText(text string) slackText {
	return slackText{Text: strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(breakMentions(text))}
}

// breakMentions puts a space without width behind what begins a mention in a plain text,
// and between the brackets of a link or an image: Mattermost reads both whatever the
// message says.
func breakMentions(text string) string {
	const space = '\u200b'
	var b strings.Builder
	before := ' '
	for _, r := range text {
		if before == ']' && (r == '(' || r == '[') {
			b.WriteRune(space)
		}
		b.WriteRune(r)
		if r == '@' && !unicode.IsLetter(before) && !unicode.IsDigit(before) {
			b.WriteRune(space)
		}
		before = r
	}
	return b.String()
}
