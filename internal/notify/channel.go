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
	Webhook = "webhook" // receives Message.Body
	Slack   = "slack"   // receives Message.Text as Slack JSON
	Email   = "email"   // receives Message.Subject and Message.Text
)

// Channel is a receiver of messages.
type Channel struct {
	Kind string
	URL  string // of Webhook and Slack; a secret that errors never contain
	Mail Mail   // of Email
}

// Message contains the forms of one message for all kinds of channels.
type Message struct {
	ID      string // idempotency key, by which a receiver can drop a repeated delivery
	Subject string // one line
	Text    string // can contain untrusted text of the service
	Body    []byte // JSON object for programs
}

// Deliver sends a message, with retries. After an error the message may have arrived. The
// error is a *RefusedError if the receiver responded and rejected this message.
func (n *Notifier) Deliver(ctx context.Context, c Channel, m Message) error {
	switch c.Kind {
	case Webhook:
		return n.sendRequest(ctx, request{method: http.MethodPost, address: c.URL, body: m.Body, id: m.ID})
	case Slack:
		// Slack interprets links and mentions even with markup disabled. Escaping their characters
		// prevents that.
		escaped := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(breakMentionsAndLinks(m.Text))
		// Markup and the previews of links are disabled. Encoding texts and booleans cannot fail.
		body, _ := json.Marshal(map[string]any{"text": escaped, "mrkdwn": false, "unfurl_links": false, "unfurl_media": false})
		return n.sendRequest(ctx, request{method: http.MethodPost, address: c.URL, body: body, id: m.ID})
	case Email:
		return n.retry(ctx, func(ctx context.Context) (bool, error) { return n.mailOnce(ctx, c.Mail, m) })
	}
	return fmt.Errorf("send a message: unknown kind of channel %q", c.Kind)
}

// breakMentionsAndLinks inserts zero-width spaces after the @ of a mention and between the two
// pairs of brackets of a link or an image. Mattermost interprets mentions and links even with markup disabled.
func breakMentionsAndLinks(text string) string {
	const zeroWidthSpace = '\u200b'
	var b strings.Builder
	previous := ' '
	for _, r := range text {
		if previous == ']' && (r == '(' || r == '[') {
			b.WriteRune(zeroWidthSpace)
		}
		b.WriteRune(r)
		if r == '@' && !unicode.IsLetter(previous) && !unicode.IsDigit(previous) {
			b.WriteRune(zeroWidthSpace)
		}
		previous = r
	}
	return b.String()
}
