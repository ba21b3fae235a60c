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
	"log/slog"
	"net/http"
	"net/url"
	"time"
)

// Events of an alert.
const (
	Failed  = "failed"  // nothing was published
	Partial = "partial" // published, but some streams have earlier rows or none
	Gate    = "gate"    // a gate refused to publish what was read
	Damaged = "damaged" // a verification found damage
	// Unverified says that a verification failed: it found out nothing.
	Unverified = "unverified"
	Behind     = "behind" // published, but what follows a publish failed, such as a backup
	Full       = "full"   // the inbox of webhooks takes no more events
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
	// Proxy chooses a proxy for a request by HTTP; nil: none.
	Proxy func(*http.Request) (*url.URL, error)
}

// Alert is the JSON body of an alert. Receivers that are compatible with Slack show
// Text and ignore the rest.
type Alert struct {
	// Text says in three lines what happened, since when, and what to do.
	Text  string `json:"text"`
	Event string `json:"event"`
	Run   string `json:"run_id"`
	// Work is what is behind, such as backup; empty for other events.
	Work      string    `json:"work,omitempty"`
	ExitCode  int       `json:"exit_code"`
	Error     string    `json:"error,omitempty"`
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at"`
	// Since is when what the alert is about began, and Times how many nights, or attempts,
	// in a row ended like this one.
	Since time.Time `json:"since"`
	Times int       `json:"times"`
	// SnapshotAt is the time of the snapshot that readers have; zero: none.
	SnapshotAt time.Time `json:"snapshot_at,omitzero"`
	// SnapshotUnknown is set where nobody could look which one they have.
	SnapshotUnknown bool `json:"-"`
	// Advice says what to do. Defaults to what the event needs.
	Advice string `json:"advice"`
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
	return &Notifier{cfg: cfg, log: log, http: newClient(cfg)}
}

// Alert posts a to the failure address, if there is one. It reports whether nothing is
// left to send.
func (n *Notifier) Alert(ctx context.Context, a Alert) bool {
	if n.cfg.FailureURL == "" {
		return true
	}
	if a.Streams == nil {
		a.Streams = []Stream{}
	}
	if a.Since.IsZero() {
		a.Since = a.StartedAt
	}
	a.Times = max(1, a.Times)
	a.Advice = cmp.Or(a.Advice, a.defaultAdvice())
	a.Text = a.describe()
	body, err := json.Marshal(a)
	if err == nil {
		err = n.request(ctx, request{method: http.MethodPost, address: n.cfg.FailureURL, body: body})
	}
	if err == nil {
		n.log.InfoContext(ctx, "alert sent", "event", a.Event, "run", a.Run)
		return true
	}
	n.log.WarnContext(ctx, "alert not sent", "event", a.Event, "run", a.Run, "error", err)
	return false
}

// Heartbeat calls the heartbeat address, if there is one.
func (n *Notifier) Heartbeat(ctx context.Context) {
	if n.cfg.HeartbeatURL == "" {
		return
	}
	if err := n.request(ctx, request{method: http.MethodGet, address: n.cfg.HeartbeatURL}); err != nil {
		n.log.WarnContext(ctx, "heartbeat not sent", "error", err)
		return
	}
	n.log.DebugContext(ctx, "heartbeat sent") // as every night
}
