// Package watch looks after each night for what somebody waits for, and sends what is new:
// the rows of a query that meet a condition, each once.
//
// It knows neither the configuration nor how a night goes, and no receiver: the catalog,
// the state from night to night and the delivery are passed in.
package watch

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Watch is one question, and who hears of its findings.
type Watch struct {
	Name string
	// Query and Params are for Catalog.
	Query  string
	Params map[string]string
	// Text is the SQL of Query where that names one that a user may edit; empty: it is
	// not one. With another text the findings of before cannot be compared.
	Text string
	// When says which rows are findings.
	When Condition
	// Key lists the columns by which a finding is known again; empty: all. Rows with the
	// same key are one finding.
	Key []string
	// Show lists the columns that a message has; empty: all.
	Show []string
	// NewOnly sends a finding once. Otherwise each snapshot sends all that there are.
	NewOnly bool
	// Advice is a line of the message: what to do.
	Advice string
	// Channels are for Config.Send.
	Channels []string
}

// Snapshot is one published state of all tables.
type Snapshot struct {
	Run string    `json:"run_id"`
	At  time.Time `json:"snapshot_at"`
}

// Column is a column of an answer.
type Column struct {
	Name    string
	Numeric bool
}

// Value is a value of an answer, with all its digits.
type Value struct {
	Text   string
	IsNull bool
}

// Rows takes an answer, row by row.
type Rows interface {
	Begin(columns []Column) error
	// Add takes a row, which is valid until it returns.
	Add(row []Value) error
}

// Catalog is what readers see.
type Catalog interface {
	// Snapshots are those that led to it, oldest first. The last one is what Ask answers
	// from.
	Snapshots(ctx context.Context) ([]Snapshot, error)
	// Ask answers the query of a watch.
	Ask(ctx context.Context, w Watch, rows Rows) error
	// Judge says how sure the tables behind the query are.
	Judge(ctx context.Context, w Watch) (Sources, error)
}

// Sources are the tables behind a query.
type Sources struct {
	// Unread has a line for people about each that was not read: no row of it can be
	// missed, so no answer says anything.
	Unread []string
	// Doubt says in one line which others are not proven, and why; empty: none.
	Doubt string
}

// State remembers from night to night what was found and sent. What it wrote is there
// whole or not at all, however the process ends.
type State interface {
	// Read reads what was written under a name; ok is false when nothing was. An error
	// says that it is damaged.
	Read(name string, into any) (ok bool, err error)
	Write(name string, value any) error
}

// Config is what watches work with.
type Config struct {
	Catalog Catalog
	State   State
	// Send delivers a message. With an error it may have arrived all the same; it comes
	// again, with the same id. One without ErrRefused ends what is sent to the channel.
	Send func(ctx context.Context, channel string, m Message) error
	// Program is the version that is at work.
	Program string
	// DryRun looks, and neither sends nor writes.
	DryRun bool
	// Timeout bounds the query of one watch. Defaults to 2 minutes.
	Timeout time.Duration
	// Now is the time that is remembered of a delivery. Defaults to time.Now.
	Now func() time.Time
}

// Result is what became of a watch. Nothing was looked for where Sources has unread ones.
type Result struct {
	Watch string
	// At is the snapshot in which it was looked for.
	At Snapshot
	// Found counts the findings, New those that are sent. NoNumber counts the rows whose
	// value is NULL or no number, so that a condition cannot be judged.
	Found, New, NoNumber int
	Sources
	// SeenBefore is set if this snapshot was looked at before.
	SeenBefore bool
	// Messages are those that were delivered to all their channels, or with DryRun those
	// that would be sent.
	Messages []Message
	// Waiting counts the messages that could not be delivered. They are sent with the next
	// night.
	Waiting int
	Err     error
}

// Run looks for the findings of each watch in the newest snapshot, and sends what is new,
// and what could not be sent before. A watch that fails does not stop the others. The
// error is that of the catalog.
func Run(ctx context.Context, cfg Config, watches []Watch) ([]Result, error) {
	if cfg.Timeout == 0 {
		cfg.Timeout = 2 * time.Minute
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	line, err := cfg.Catalog.Snapshots(ctx)
	if err != nil {
		return nil, err
	}
	if len(line) == 0 {
		return nil, errors.New("look for findings: the catalog has no snapshot: start a night with placementsync run")
	}
	d := delivery{send: cfg.Send, now: cfg.Now, failed: map[string]error{}}
	results := make([]Result, len(watches))
	for i, w := range watches {
		results[i] = runWatch(ctx, cfg, d, w, line)
	}
	return results, nil
}

// runWatch writes what is owed before it sends any of it, and what was sent after that: a
// kill repeats one delivery, and loses none.
func runWatch(ctx context.Context, cfg Config, d delivery, w Watch, line []Snapshot) Result {
	res := Result{Watch: w.Name, At: line[len(line)-1]}
	s, err := readState(cfg.State, w)
	if err != nil {
		res.Err = err
		return res
	}
	dropped := s.dropChannels(w.Channels)
	changed, err := lookFor(ctx, cfg, w, line, s, &res)
	if err != nil {
		err = fmt.Errorf("look for %s: %w", w.Name, err)
	}
	if cfg.DryRun {
		for _, owed := range s.Waiting {
			res.Messages = append(res.Messages, owed.Message)
		}
		res.Err = err
		return res
	}
	if changed || dropped {
		if wrote := cfg.State.Write(w.Name, s); wrote != nil {
			res.Err = errors.Join(err, fmt.Errorf("record the findings of %s: %w: nothing was sent", w.Name, wrote))
			return res
		}
	}
	res.Err = errors.Join(err, d.sendWaiting(ctx, cfg.State, w.Name, s, &res))
	res.Waiting = len(s.Waiting)
	return res
}

// lookFor asks, unless this snapshot was asked before, and adds to the state what is new
// and the message about it. changed reports whether the state did; not after an error.
func lookFor(ctx context.Context, cfg Config, w Watch, line []Snapshot, s *state, res *Result) (changed bool, err error) {
	now := res.At
	if s.hasLooked(w, now) {
		res.SeenBefore = true
		return false, nil
	}
	if len(s.Waiting) >= mostWaiting {
		return false, fmt.Errorf("%d messages wait for a channel that does not take them: repair it, or take it out of the watch; until then nothing more is looked for", len(s.Waiting))
	}
	ctx, stop := context.WithTimeoutCause(ctx, cfg.Timeout, fmt.Errorf("the query took longer than %s: narrow it", cfg.Timeout))
	defer stop()
	if res.Sources, err = cfg.Catalog.Judge(ctx, w); err != nil {
		return false, causeErr(ctx, err)
	}
	next := *s // a look that fails forgets nothing of another definition
	base := next.begin(w, line)
	if len(res.Unread) > 0 {
		if next.Unread {
			return false, nil
		}
		next.Unread = true
		next.owe(newUnreadMessage(cfg.Program, w, now, res.Unread), w.Channels)
		*s = next
		return true, nil
	}
	c := &collector{watch: w, now: now, known: func(id string) (time.Time, bool) { return next.knownSince(id, base) }, found: map[string]time.Time{}}
	if err := cfg.Catalog.Ask(ctx, w, c); err != nil {
		return false, causeErr(ctx, err)
	}
	res.Found, res.New, res.NoNumber = len(c.found), c.fresh, c.noNumber
	if c.fresh > 0 || !w.NewOnly && res.Found > 0 {
		next.owe(newMessage(cfg.Program, w, now, base.Snapshot, c, res.Doubt), w.Channels)
	}
	next.end(now, c.found)
	*s = next
	return true, nil
}

// causeErr says which bound was over rather than that one was.
func causeErr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
