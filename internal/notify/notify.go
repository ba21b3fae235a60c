// Package notify tells others how a night ended: an alert when it failed, was
// partial or was stopped by a gate, and a heartbeat when it was complete.
//
// It must not know what a night is: it is handed what to tell. Telling never fails
// a night; what could not be told is a line of the log.
package notify

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Events of an alert.
const (
	Failed  = "failed"  // nothing was published
	Partial = "partial" // published, but some streams keep earlier rows or have none
	Gate    = "gate"    // a gate refused to publish what was read
	Damaged = "damaged" // a look for damage found some
)

// Config says whom to tell. Both addresses are secrets, since such receivers put
// the credential into the path: they are in no error and no line of the log.
type Config struct {
	// FailureURL gets alerts; "": nobody does.
	FailureURL string
	// HeartbeatURL is called after a complete night; "": nobody is.
	HeartbeatURL string
	// UserAgent is sent along.
	UserAgent string
	// Timeout bounds an attempt. Defaults to 10 seconds.
	Timeout time.Duration
	// Backoff is the time before the second of three attempts; the third comes
	// after four times that. Defaults to 2 seconds.
	Backoff time.Duration
}

// Alert is the JSON body that is posted. Receivers that speak Slack's dialect show
// Text and pass over the rest.
type Alert struct {
	Text      string    `json:"text"`
	Event     string    `json:"event"`
	Run       string    `json:"run_id"`
	ExitCode  int       `json:"exit_code"`
	Error     string    `json:"error,omitempty"`
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at"`
	// Streams are those whose rows are not of this night.
	Streams []Stream `json:"streams"`
	Program string   `json:"program_version"`
}

// Stream is a stream that could not be read as it should.
type Stream struct {
	Stream string `json:"stream"`
	Grade  string `json:"grade"`
	Reason string `json:"reason"`
}

// attempts is how often one receiver is tried.
const attempts = 3

// Teller tells. It is safe for concurrent use.
type Teller struct {
	cfg  Config
	log  *slog.Logger
	http *http.Client
}

// New returns a teller that logs what it could not tell to log.
func New(cfg Config, log *slog.Logger) *Teller {
	cfg.Timeout = cmp.Or(cfg.Timeout, 10*time.Second)
	cfg.Backoff = cmp.Or(cfg.Backoff, 2*time.Second)
	return &Teller{cfg: cfg, log: log, http: &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true, TLSHandshakeTimeout: cfg.Timeout},
		Timeout:   cfg.Timeout,
		// A receiver that has moved is a mistake in the configuration; following
		// would turn a POST into a GET, and hand the secret on.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Alert posts a to the failure address, if there is one.
func (t *Teller) Alert(ctx context.Context, a Alert) {
	if t.cfg.FailureURL == "" {
		return
	}
	if a.Streams == nil {
		a.Streams = []Stream{}
	}
	a.Text = alertText(a)
	body, err := json.Marshal(a)
	if err == nil {
		err = t.send(ctx, http.MethodPost, t.cfg.FailureURL, body)
	}
	t.logResult(ctx, "alert", err)
}

// Heartbeat calls the heartbeat address, if there is one.
func (t *Teller) Heartbeat(ctx context.Context) {
	if t.cfg.HeartbeatURL != "" {
		t.logResult(ctx, "heartbeat", t.send(ctx, http.MethodGet, t.cfg.HeartbeatURL, nil))
	}
}

func (t *Teller) logResult(ctx context.Context, what string, err error) {
	if err != nil {
		t.log.WarnContext(ctx, "not told how the night ended", "what", what, "error", err)
		return
	}
	t.log.InfoContext(ctx, "told how the night ended", "what", what)
}

// alertText is the alert for people.
func alertText(a Alert) string {
	var b strings.Builder
	switch a.Event {
	case Partial:
		fmt.Fprintf(&b, "placementsync: night %s is published but partial", a.Run)
	case Damaged:
		fmt.Fprintf(&b, "placementsync: the warehouse is damaged: placementsync verify --read-data names the commands that repair it")
	case Gate:
		fmt.Fprintf(&b, "placementsync: a gate stopped night %s; readers keep the last snapshot", a.Run)
	default:
		fmt.Fprintf(&b, "placementsync: night %s failed; readers keep the last snapshot", cmp.Or(a.Run, "(not begun)"))
	}
	fmt.Fprintf(&b, " (exit code %d)", a.ExitCode)
	if a.Error != "" {
		fmt.Fprintf(&b, "\n%s", shorten(a.Error))
	}
	const shown = 10
	for i, s := range a.Streams {
		if i == shown {
			fmt.Fprintf(&b, "\nand %d more streams", len(a.Streams)-shown)
			break
		}
		fmt.Fprintf(&b, "\n%s is %s: %s", s.Stream, s.Grade, shorten(s.Reason))
	}
	return b.String()
}

// shorten keeps a message readable in a chat.
func shorten(s string) string {
	const most = 300
	s, _, _ = strings.Cut(s, "\n")
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return s
}

// send tries a few times. The error never holds the address.
func (t *Teller) send(ctx context.Context, method, address string, body []byte) error {
	wait := t.cfg.Backoff
	for attempt := 1; ; attempt++ {
		again, err := t.sendOnce(ctx, method, address, body)
		if err == nil || !again || attempt == attempts {
			return err
		}
		select {
		case <-time.After(wait):
			wait *= 4
		case <-ctx.Done():
			return err
		}
	}
}

// sendOnce makes one attempt; again says whether another one could help.
func (t *Teller) sendOnce(ctx context.Context, method, address string, body []byte) (again bool, err error) {
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return false, errors.New("the address cannot be used")
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("User-Agent", t.cfg.UserAgent)
	res, err := t.http.Do(r)
	if err != nil {
		return true, fmt.Errorf("reach the receiver: %w", withoutURL(err))
	}
	defer res.Body.Close()
	// Read a little, so that the receiver does not see a reset.
	_, _ = io.CopyN(io.Discard, res.Body, 4<<10)
	if res.StatusCode/100 == 2 {
		return false, nil
	}
	return res.StatusCode >= 500 || res.StatusCode == http.StatusTooManyRequests, fmt.Errorf("the receiver answered %s", res.Status)
}

// withoutURL takes the address out of an error of package http.
func withoutURL(err error) error {
	if inner, ok := errors.AsType[*url.Error](err); ok {
		return inner.Err
	}
	return err
}
