// Package notify reports how a night ended: an alert if it failed, was partial or was
// stopped by a gate, or if what follows it failed, and a heartbeat if it was complete.
//
// It delivers messages of others too, to channels: JSON, a chat or e-mail.
//
// It must not know what a night or a message is about: the caller fills them. A report
// that cannot be sent is a line of the log, and no error of the night; a message that
// cannot be sent is an error, and its sender's to send again.
package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// Events of an alert.
const (
	Failed  = "failed"  // nothing was published
	Partial = "partial" // published, but some streams have earlier rows or none
	Gate    = "gate"    // a gate refused to publish what was read
	Damaged = "damaged" // a verification found damage
	Behind  = "behind"  // published, but what follows a publish failed, such as a backup
	Full    = "full"    // the inbox of webhooks takes no more events
	// Recovered says that what was behind has caught up.
	Recovered = "recovered"
)

// Inbox is the Alert.Work of Full, and of its Recovered.
const Inbox = "inbox"

// Config has the receivers. Both addresses are secrets, since such receivers put the
// credential into the path: no error and no line of the log contains them.
type Config struct {
	// FailureURL gets alerts; "": none are sent.
	FailureURL string
	// HeartbeatURL is called after a complete night; "": never.
	HeartbeatURL string
	// UserAgent is sent with each request.
	UserAgent string
	// Timeout limits one attempt. Defaults to 10 seconds.
	Timeout time.Duration
	// Backoff is the time before the second of three attempts; before the third it
	// is four times that. Defaults to 2 seconds.
	Backoff time.Duration
}

// Alert is the JSON body of an alert. Receivers that are compatible with Slack show
// Text and ignore the rest.
type Alert struct {
	Text  string `json:"text"`
	Event string `json:"event"`
	Run   string `json:"run_id"`
	// Work is what is behind, such as backup; empty for other events.
	Work      string    `json:"work,omitempty"`
	ExitCode  int       `json:"exit_code"`
	Error     string    `json:"error,omitempty"`
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at"`
	// Streams are those that should have been read, and were not, or not wholly.
	Streams []Stream `json:"streams"`
	Program string   `json:"program_version"`
}

// Stream is a stream that should have been read, and was not, or not wholly.
type Stream struct {
	Stream string `json:"stream"`
	Grade  string `json:"grade"`
	// Standing is the grade in the words of people.
	Standing string `json:"standing"`
	Reason   string `json:"reason"`
}

// Notifier sends alerts and heartbeats. It is safe for concurrent use.
type Notifier struct {
	cfg  Config
	log  *slog.Logger
	http *http.Client
}

// New returns a notifier that logs what it sends.
func New(cfg Config, log *slog.Logger) *Notifier {
	cfg.Timeout = cmp.Or(cfg.Timeout, 10*time.Second)
	cfg.Backoff = cmp.Or(cfg.Backoff, 2*time.Second)
	return &Notifier{cfg: cfg, log: log, http: newClient(cfg.Timeout)}
}

// Alert posts a to the failure address, if there is one.
func (n *Notifier) Alert(ctx context.Context, a Alert) {
	if n.cfg.FailureURL == "" {
		return
	}
	if a.Streams == nil {
		a.Streams = []Stream{}
	}
	a.Text = alertText(a)
	body, err := json.Marshal(a)
	if err == nil {
		err = n.request(ctx, request{method: http.MethodPost, address: n.cfg.FailureURL, body: body})
	}
	n.logResult(ctx, "alert sent", "alert not sent", err)
}

// Heartbeat calls the heartbeat address, if there is one.
func (n *Notifier) Heartbeat(ctx context.Context) {
	if n.cfg.HeartbeatURL != "" {
		n.logResult(ctx, "heartbeat sent", "heartbeat not sent", n.request(ctx, request{method: http.MethodGet, address: n.cfg.HeartbeatURL}))
	}
}

func (n *Notifier) logResult(ctx context.Context, sent, notSent string, err error) {
	if err != nil {
		n.log.WarnContext(ctx, notSent, "error", err)
		return
	}
	n.log.InfoContext(ctx, sent)
}

// alertText is the alert as a text for people.
func alertText(a Alert) string {
	var b strings.Builder
	switch a.Event {
	case Partial:
		fmt.Fprintf(&b, "placementsync: night %s is published, but partial", a.Run)
	case Damaged:
		fmt.Fprintf(&b, "placementsync: the warehouse is damaged: run placementsync verify --read-data, which names the commands that repair it")
	case Behind:
		fmt.Fprintf(&b, "placementsync: the %s after night %s failed; readers see the night, and the next one tries again", a.Work, a.Run)
	case Full:
		return fmt.Sprintf("placementsync: the webhook inbox is full since %s: events are refused until a night succeeds: "+
			"see placementsync runs for why none does, or raise serve.inbox_max", a.StartedAt.UTC().Format("2006-01-02 15:04 UTC"))
	case Recovered:
		if a.Work == Inbox {
			return "placementsync: the webhook inbox has room again: events are accepted"
		}
		fmt.Fprintf(&b, "placementsync: the %s has caught up: it has night %s", a.Work, a.Run)
		return b.String()
	case Gate:
		fmt.Fprintf(&b, "placementsync: night %s is not published, since a gate refused it; readers keep the last snapshot", a.Run)
	default:
		night := "night " + a.Run + " failed"
		if a.Run == "" {
			night = "a night could not start"
		}
		fmt.Fprintf(&b, "placementsync: %s; readers keep the last snapshot", night)
	}
	fmt.Fprintf(&b, " (exit code %d)", a.ExitCode)
	if a.Error != "" {
		fmt.Fprintf(&b, "\n%s", shortenText(a.Error))
	}
	const shown = 10
	for i, s := range a.Streams {
		if i == shown {
			fmt.Fprintf(&b, "\nand %d more streams", len(a.Streams)-shown)
			break
		}
		fmt.Fprintf(&b, "\n%s is %s: %s", s.Stream, s.Standing, shortenText(s.Reason))
	}
	return b.String()
}

// shortenText cuts a message to its first line and to 300 characters, for a chat. An error
// may quote what the service answered: nothing of it mentions anybody or is a link.
func shortenText(s string) string {
	const most = 300
	s, _, _ = strings.Cut(s, "\n")
	s = strings.NewReplacer("<", "\u2039", ">", "\u203a").Replace(breakMentions(s))
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return s
}
