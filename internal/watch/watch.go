// Package watch looks after each night for what somebody waits for, and sends what is new:
// the rows of a query that meet a condition, each once.
//
// It knows neither the configuration nor how a night goes, and no receiver: the snapshot, the
// folder for its state and the delivery are passed in.
package watch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/query"
	"placementsync/internal/warehouse"
)

// Watch is one question, and who hears of its findings.
type Watch struct {
	Name string
	// Query is SQL or the name of a query, Params are its parameters.
	Query  string
	Params map[string]string
	// When says which rows are findings.
	When Condition
	// Key lists the columns by which a finding is known again. Without names it is all of
	// them. Rows with the same key are one finding.
	Key []string
	// Show lists the columns that a message has. Without names it is all of them.
	Show []string
	// NewOnly sends a finding once. Otherwise each snapshot sends all that there are.
	NewOnly bool
	// Advice is a line of the message: what to do.
	Advice string
	// Channels are for Config.Send.
	Channels []string

	// text is the SQL of a named query that a user may edit. Findings of another text
	// cannot be compared.
	text string
}

// Catalog is the snapshot that readers see: a *query.DB.
type Catalog interface {
	// Snapshots are those that led to it, oldest first. The last one is the one that
	// answers.
	Snapshots(ctx context.Context) ([]query.Snapshot, error)
	Sources(ctx context.Context, q query.Query, values map[string]string) ([]query.Source, error)
	Run(ctx context.Context, q query.Query, values map[string]string, w query.Writer) (int64, error)
}

// Config is what watches work with.
type Config struct {
	Catalog Catalog
	// Queries are those that a watch can name.
	Queries query.Library
	// Folder remembers from night to night what was found and sent.
	Folder *warehouse.Folder
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

// Result is what became of a watch.
type Result struct {
	Watch string
	// At is the snapshot in which it was looked for.
	At query.Snapshot
	// Unread has a line for people about each table behind the query that was not read. No
	// answer says anything then, and nothing was looked for.
	Unread []string
	// Doubt says in one line which other tables are not proven, and why.
	Doubt string
	// Found counts the findings, New those that are sent. NoNumber counts the rows whose
	// value is NULL or no number, so that a condition cannot be judged.
	Found, New, NoNumber int
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
	d := delivery{Config: cfg, failed: map[string]error{}}
	results := make([]Result, len(watches))
	for i, w := range watches {
		results[i] = d.runWatch(ctx, w, line)
	}
	return results, nil
}

// runWatch writes what is owed before it sends any of it, and what was sent after that: a
// kill repeats one delivery, and loses none.
func (d delivery) runWatch(ctx context.Context, w Watch, line []query.Snapshot) Result {
	res := Result{Watch: w.Name, At: line[len(line)-1]}
	s, err := readState(d.Folder, w)
	if err != nil {
		res.Err = err
		return res
	}
	dropped := s.dropChannels(w.Channels)
	changed, err := d.lookFor(ctx, w, line, s, &res)
	if err != nil {
		err = fmt.Errorf("look for %s: %w", w.Name, err)
	}
	if d.DryRun {
		for _, owed := range s.Waiting {
			res.Messages = append(res.Messages, owed.Message)
		}
		res.Err = err
		return res
	}
	if changed || dropped {
		if wrote := stateFile(d.Folder, w.Name).Write(s); wrote != nil {
			res.Err = errors.Join(err, fmt.Errorf("record the findings of %s: %w: nothing was sent", w.Name, wrote))
			return res
		}
	}
	res.Err = errors.Join(err, d.sendWaiting(ctx, w.Name, s, &res))
	res.Waiting = len(s.Waiting)
	return res
}

// lookFor asks, unless this snapshot was asked before, and adds to the state what is new
// and the message about it. changed reports whether the state did; not after an error.
func (cfg Config) lookFor(ctx context.Context, w Watch, line []query.Snapshot, s *state, res *Result) (changed bool, err error) {
	now := res.At
	q, err := cfg.Queries.Resolve(w.Query)
	if err != nil {
		return false, err
	}
	if q.File != "" {
		w.text = q.SQL
	}
	if s.hasLooked(w, now) {
		res.SeenBefore = true
		return false, nil
	}
	if len(s.Waiting) >= mostWaiting {
		return false, fmt.Errorf("%d messages wait for a channel that does not take them: repair it, or take it out of the watch; until then nothing more is looked for", len(s.Waiting))
	}
	ctx, stop := context.WithTimeoutCause(ctx, cfg.Timeout, fmt.Errorf("the query took longer than %s: narrow it", cfg.Timeout))
	defer stop()
	if err := res.judge(ctx, cfg.Catalog, q, w.Params); err != nil {
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
	c := &collector{watch: w, now: now, before: &next, base: base, found: map[string]time.Time{}}
	if _, err := cfg.Catalog.Run(ctx, q, w.Params, c); err != nil {
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

// Check plans the query of a watch and looks at the columns of its answer. It runs nothing
// of it.
func Check(ctx context.Context, db *query.DB, q query.Query, w Watch) error {
	if _, err := db.Sources(ctx, q, w.Params); err != nil && !errors.Is(err, query.ErrNoPlan) {
		return err
	}
	columns, err := db.Describe(ctx, q, w.Params)
	if err != nil {
		return nil // the night looks at the columns of a text that cannot be described
	}
	return (&collector{watch: w}).Begin(columns)
}

// judge says how sure the tables behind the query are.
func (res *Result) judge(ctx context.Context, c Catalog, q query.Query, params map[string]string) error {
	sources, err := c.Sources(ctx, q, params)
	if errors.Is(err, query.ErrNoPlan) {
		res.Doubt = err.Error()
		return nil
	}
	if err != nil {
		return err
	}
	var others []ledger.Problem
	for _, p := range query.FindProblems(sources) {
		if p.Standing == ledger.NotRead {
			res.Unread = append(res.Unread, ledger.DescribeProblems([]ledger.Problem{p}))
		} else {
			others = append(others, p)
		}
	}
	res.Doubt = ledger.DescribeProblems(others)
	return nil
}

// causeErr says which bound was over rather than that one was.
func causeErr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
