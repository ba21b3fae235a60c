// Package watch evaluates queries after each night. A row that meets the condition of a watch is
// a finding. New findings are sent to the channels of the watch.
//
// The package must not know the configuration, nights or receivers: the caller passes the catalog,
// the folder for the state of watches and the function that delivers a message.
package watch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/query"
	"placementsync/internal/warehouse"
)

// Watch is a query, the condition for its findings, and the channels that receive them.
type Watch struct {
	Name   string
	Query  string // SQL or the name of a query
	Params map[string]string
	When   Condition // selects the rows that are findings
	// Key lists the columns that identify a finding. Empty means all columns. Rows with the
	// same key are one finding.
	Key     []string
	Show    []string // columns that a message shows; empty means all
	NewOnly bool     // false sends all findings each night
	// Advice is a line of the message with instructions for the reader.
	Advice   string
	Channels []string // passed to Config.Send

	// querySQL is the SQL of a user-defined query, and otherwise empty. It is part of the digest,
	// because the user may edit it.
	querySQL string
}

// Catalog is the published snapshot, implemented by *query.DB.
type Catalog interface {
	// Snapshots returns the published snapshot and its ancestors, oldest first.
	Snapshots(ctx context.Context) ([]query.Snapshot, error)
	Sources(ctx context.Context, q query.Query, values map[string]string) ([]query.Source, error)
	Run(ctx context.Context, q query.Query, values map[string]string, w query.Writer) (int64, error)
}

// Config is the environment in which watches run.
type Config struct {
	Catalog Catalog
	Queries query.Library
	Folder  *warehouse.Folder // contains the state files
	// Send delivers a message. After an error, a later Run sends the message again with the same
	// ID, so the receiver can get the message twice. After an error other than ErrRefused, the
	// same Run does not call Send again for this channel.
	Send    func(ctx context.Context, channel string, m Message) error
	Program string // version of the running program
	// DryRun evaluates the watches without sending or writing.
	DryRun bool
	// Timeout limits the query of one watch. Defaults to 2 minutes.
	Timeout time.Duration
	Now     func() time.Time
}

// Result is the result of one watch.
type Result struct {
	Watch    string
	Snapshot query.Snapshot
	// Unread describes each table of the query that was never read. If it is not empty, the
	// query did not run.
	Unread []string
	// NotProven describes, in one line, the tables that are carried or not proven to be complete. If the
	// tables of the query are unknown, NotProven says why.
	NotProven string
	// Found is the number of all findings. New is the number of new findings. Skipped is the
	// number of rows without a number in the column of the condition, such as NULL.
	Found, New, Skipped int
	// WasEvaluated is set if an earlier Run already evaluated the watch at this snapshot.
	WasEvaluated bool
	// Messages are the messages that were delivered to all their channels. With DryRun, they are
	// the messages that would be sent.
	Messages []Message
	Pending  int // undelivered messages
	Err      error
}

// Run evaluates each watch at the newest snapshot. It sends messages about findings and the
// pending messages of earlier nights. The error of a watch is in its result and does not
// stop the other watches. Run returns an error only if the catalog cannot be read or has no snapshot.
func Run(ctx context.Context, cfg Config, watches []Watch) ([]Result, error) {
	if cfg.Timeout == 0 {
		cfg.Timeout = 2 * time.Minute
	}
	snapshots, err := cfg.Catalog.Snapshots(ctx)
	if err != nil {
		return nil, err
	}
	if len(snapshots) == 0 {
		return nil, errors.New("run watches: the catalog has no snapshot: start a night with placementsync run")
	}
	r := runner{Config: cfg, unreachable: map[string]error{}}
	results := make([]Result, len(watches))
	for i, w := range watches {
		results[i] = r.runWatch(ctx, w, snapshots)
	}
	return results, nil
}

// runner runs watches one after the other. It sends no more messages to a channel that could not be
// reached, so that messages to other channels need not wait for timeouts.
type runner struct {
	Config
	unreachable map[string]error // by channel
}

// runWatch evaluates a watch and sends its messages. A message is written to the state before it is
// sent, and removed from the state afterwards. If the process is killed, no message is lost, and at
// most one delivery is repeated.
func (r runner) runWatch(ctx context.Context, w Watch, snapshots []query.Snapshot) Result {
	res := Result{Watch: w.Name, Snapshot: snapshots[len(snapshots)-1]}
	s, err := readState(r.Folder, w.Name)
	if err != nil {
		res.Err = err
		return res
	}
	dropped := s.removeChannels(func(_ Message, channel string) bool { return !slices.Contains(w.Channels, channel) })
	changed, err := r.evaluate(ctx, w, snapshots, s, &res)
	if err != nil {
		err = fmt.Errorf("evaluate the watch %s: %w", w.Name, err)
	}
	if r.DryRun {
		for _, pending := range s.Pending {
			res.Messages = append(res.Messages, pending.Message)
		}
		res.Err = err
		return res
	}
	if changed || dropped {
		if writeErr := stateFile(r.Folder, w.Name).Write(s); writeErr != nil {
			res.Err = errors.Join(err, fmt.Errorf("write the state of the watch %s: %w; no message was sent", w.Name, writeErr))
			return res
		}
	}
	res.Err = errors.Join(err, r.sendPending(ctx, w.Name, s, &res))
	res.Pending = len(s.Pending)
	return res
}

// evaluate runs the query, and adds the findings and a message about them to the state. If the watch
// was already evaluated at this snapshot, it does nothing. If tables of the query were never read,
// the query is not run, and the first evaluation that finds them unread adds a message about them. After
// an error the state is unchanged.
func (r runner) evaluate(ctx context.Context, w Watch, snapshots []query.Snapshot, s *state, res *Result) (changed bool, err error) {
	current := res.Snapshot
	q, err := r.Queries.Resolve(w.Query)
	if err != nil {
		return false, err
	}
	if q.File != "" {
		w.querySQL = q.SQL
	}
	if s.isEvaluated(w, current) {
		res.WasEvaluated = true
		return false, nil
	}
	if len(s.Pending) >= maxPending {
		return false, fmt.Errorf("%d messages are pending because a channel does not accept them, so the query did not run: repair the channel, or remove it from the watch", len(s.Pending))
	}
	ctx, stop := context.WithTimeoutCause(ctx, r.Timeout, fmt.Errorf("the query took longer than %s: read less, for example with WHERE", r.Timeout))
	defer stop()
	if err := res.describeSources(ctx, r.Catalog, q, w.Params); err != nil {
		return false, causeErr(ctx, err)
	}
	next := *s // a copy, because chooseBase may reset the state and the query may still fail
	base := next.chooseBase(w, snapshots)
	if len(res.Unread) > 0 {
		if next.IsUnreadReported {
			return false, nil
		}
		next.IsUnreadReported = true
		next.addPending(newUnreadMessage(r.Program, w, current, res.Unread), w.Channels)
		*s = next
		return true, nil
	}
	c := &collector{watch: w, current: current, state: &next, base: base, findings: map[string]time.Time{}}
	if _, err := r.Catalog.Run(ctx, q, w.Params, c); err != nil {
		return false, causeErr(ctx, err)
	}
	res.Found, res.New, res.Skipped = len(c.findings), c.newCount, c.skipped
	if c.newCount > 0 || !w.NewOnly && res.Found > 0 {
		next.addPending(newMessage(r.Program, w, current, base.Snapshot, c, res.NotProven), w.Channels)
	}
	next.addEvaluation(current, c.findings)
	*s = next
	return true, nil
}

// Check plans the query of a watch, and checks the columns of the result. It does not run the query.
func Check(ctx context.Context, db *query.DB, q query.Query, w Watch) error {
	if _, err := db.Sources(ctx, q, w.Params); err != nil && !errors.Is(err, query.ErrNoPlan) {
		return err
	}
	columns, err := db.Describe(ctx, q, w.Params)
	if err != nil {
		return nil // DuckDB cannot describe every statement; Run checks the columns later
	}
	return (&collector{watch: w}).Begin(columns)
}

func (res *Result) describeSources(ctx context.Context, c Catalog, q query.Query, params map[string]string) error {
	sources, err := c.Sources(ctx, q, params)
	if errors.Is(err, query.ErrNoPlan) {
		res.NotProven = err.Error()
		return nil
	}
	if err != nil {
		return err
	}
	var incomplete []ledger.Problem
	for _, p := range query.FindProblems(sources) {
		if p.Standing == ledger.NotRead {
			res.Unread = append(res.Unread, ledger.DescribeProblems([]ledger.Problem{p}))
		} else {
			incomplete = append(incomplete, p)
		}
	}
	res.NotProven = ledger.DescribeProblems(incomplete)
	return nil
}

// causeErr returns err, or the cause of ctx if ctx has ended. The cause names the timeout.
func causeErr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// ErrRefused is wrapped by the error of Config.Send if the receiver rejected the message, for example
// because of a value in it. The receiver may accept other messages, so later messages are still sent.
var ErrRefused = errors.New("refused")

// sendPending records each delivery before it sends the next message.
func (r runner) sendPending(ctx context.Context, name string, s *state, res *Result) error {
	channelErrs := map[string]error{}
	for _, pending := range slices.Clone(s.Pending) {
		for _, channel := range pending.Channels {
			if err := r.sendTo(ctx, channel, pending.Message); err != nil {
				channelErrs[channel] = err
				continue
			}
			pendingBefore := len(s.Pending)
			s.removeChannels(func(m Message, c string) bool { return m.ID == pending.Message.ID && c == channel })
			if len(s.Pending) < pendingBefore {
				res.Messages = append(res.Messages, pending.Message)
				s.Sent = r.Now().UTC()
			}
			if err := stateFile(r.Folder, name).Write(s); err != nil {
				return fmt.Errorf("write the state of the watch %s after its message was sent to %s: %w; the message will be sent once more", name, channel, err)
			}
		}
	}
	if len(channelErrs) == 0 {
		return nil
	}
	errs := slices.SortedFunc(maps.Values(channelErrs), func(x, y error) int { return strings.Compare(x.Error(), y.Error()) })
	return fmt.Errorf("send the message of the watch %s: %w; the message is kept, and the next night or placementsync watch sends it", name, errors.Join(errs...))
}

func (r runner) sendTo(ctx context.Context, channel string, m Message) error {
	if err := r.unreachable[channel]; err != nil {
		return err
	}
	err := r.Send(ctx, channel, m)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("to %s: %w", channel, err)
	if !errors.Is(err, ErrRefused) {
		r.unreachable[channel] = err
	}
	return err
}
