// Package notify sends alerts about nights, follow-ups, verifications and the webhook inbox, and a
// heartbeat after each complete night. It also delivers messages of other packages to
// channels: a webhook, a chat or e-mail.
//
// The package must not know nights or watches: the caller fills alerts and messages. If an alert
// cannot be sent, the error is logged and the night does not fail. If a message cannot be
// delivered, the error is returned, and the caller sends the message again.
package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/stream"
)

// Events of an alert.
const (
	Failed     = "failed"     // the night was not published
	Partial    = "partial"    // published, but streams are incomplete, or a last step of the night, such as extending the series, failed
	Gate       = "gate"       // a gate stopped the publishing
	Held       = "held"       // checks held the night; a person decides
	Warned     = "warned"     // published, and a check failed that did not fail before
	Damaged    = "damaged"    // a verification found damage
	Unverified = "unverified" // a verification failed without a result
	Behind     = "behind"     // published, but a follow-up, such as a backup, failed
	Full       = "full"       // the webhook inbox is full
	Recovered  = "recovered"  // Behind or Full has ended
)

// Inbox is the value of Alert.Work for Full, and for Recovered after Full.
const Inbox = "inbox"

// Config contains the receivers. Both addresses are secrets, because the path of such an address
// contains a credential. Errors and log lines never contain the addresses.
type Config struct {
	// FailureURL receives alerts. Empty disables them.
	FailureURL string
	// HeartbeatURL is called after a complete night. Empty disables the heartbeat.
	HeartbeatURL string
	UserAgent    string
	// Timeout limits one attempt. Defaults to 10 seconds.
	Timeout time.Duration
	// Backoff is the time before the second of three attempts. The time before the third
	// is four times as long. Defaults to 2 seconds.
	Backoff time.Duration
	Proxy   func(*http.Request) (*url.URL, error) // of [http.Transport]
}

// Alert is the JSON body of an alert. Slack and compatible receivers show only Text.
type Alert struct {
	// Text is set by Notifier.Alert.
	Text  string `json:"text"`
	Event string `json:"event"`
	Run   string `json:"run_id"`
	// Work is the kind of follow-up that failed or recovered, such as backup, or [Inbox]. It is empty
	// for other events.
	Work      string    `json:"work,omitempty"`
	ExitCode  int       `json:"exit_code"`
	Error     string    `json:"error,omitempty"`
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at"`
	// Since is the start of the problem. Defaults to StartedAt.
	Since time.Time `json:"since"`
	// Streak is the number of nights or attempts in a row with this result.
	Streak int `json:"times"`
	// SnapshotAt is the time of the snapshot that readers see, for Failed, Gate, Held and Partial. It is
	// zero if there is no snapshot, or if SnapshotUnknown is set.
	SnapshotAt time.Time `json:"snapshot_at,omitzero"`
	// SnapshotUnknown means that the snapshot could not be determined.
	SnapshotUnknown bool `json:"-"`
	// Advice is an instruction for the operator. Each event has a default.
	Advice  string   `json:"advice"`
	Streams []Stream `json:"streams"` // incomplete streams of a partial night
	// Checks are the failed checks of Held and Warned, and those that did not run.
	Checks  []ledger.CheckResult `json:"checks,omitempty"`
	Program string               `json:"program_version"`
}

// Stream is a stream that was not read, or not completely.
type Stream struct {
	Stream string       `json:"stream"`
	Grade  stream.Grade `json:"grade"`
	// Standing is the grade in plain words.
	Standing string `json:"standing"`
	Reason   string `json:"reason"`
}

// Notifier sends alerts, heartbeats and messages. It is safe for concurrent use.
type Notifier struct {
	cfg  Config
	log  *slog.Logger
	http *http.Client
}

// New returns a notifier that logs each alert.
func New(cfg Config, log *slog.Logger) *Notifier {
	cfg.Timeout = cmp.Or(cfg.Timeout, 10*time.Second)
	cfg.Backoff = cmp.Or(cfg.Backoff, 2*time.Second)
	return &Notifier{cfg: cfg, log: log, http: newClient(cfg)}
}

// Alert sets the text and the defaults of an alert, and posts it to the failure address. It returns
// false if the alert has to be sent again. If no address is configured, it does nothing.
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
	a.Streak = max(1, a.Streak)
	event, effect, advice := a.describe()
	a.Advice = cmp.Or(a.Advice, advice)
	a.Text = a.text(event, effect)
	body, err := json.Marshal(a)
	if err == nil {
		err = n.sendRequest(ctx, request{method: http.MethodPost, address: n.cfg.FailureURL, body: body})
	}
	if err == nil {
		n.log.InfoContext(ctx, "alert sent", "event", a.Event, "run", a.Run)
		return true
	}
	n.log.WarnContext(ctx, "alert not sent", "event", a.Event, "run", a.Run, "error", err)
	return false
}

// Heartbeat calls the heartbeat address. If no address is configured, it does nothing.
func (n *Notifier) Heartbeat(ctx context.Context) {
	if n.cfg.HeartbeatURL == "" {
		return
	}
	if err := n.sendRequest(ctx, request{method: http.MethodGet, address: n.cfg.HeartbeatURL}); err != nil {
		n.log.WarnContext(ctx, "heartbeat not sent", "error", err)
		return
	}
	n.log.DebugContext(ctx, "heartbeat sent")
}
