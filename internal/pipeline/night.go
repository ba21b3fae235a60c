// Package pipeline is one night: the only place where fetch, transform, load
// and warehouse meet. Reading order: Run in this file, then preflight, extract,
// decode and publish.
//
// It must not know configuration files, flags, schedules or terminals: cmd
// wires those to it.
package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"placementsync/internal/fetch"
	"placementsync/internal/load"
	"placementsync/internal/stream"
	"placementsync/internal/transform"
	"placementsync/internal/warehouse"
	"placementsync/internal/webhook"
)

// Config is what a night needs to know.
type Config struct {
	Warehouse warehouse.Config
	Fetch     fetch.Config
	// Streams are all that the warehouse has tables for, lists before details.
	Streams []stream.Stream
	// Chosen names the streams to read; the others keep their rows.
	Chosen []string
	// Details is "changed" to read single records by the rules of their
	// streams, "none" to read lists only, and anything else to read all.
	Details string
	// LiveDays is how long after its last change a parent is live, and
	// Recheck the number of nights within which settled details are read
	// again; 0: never.
	LiveDays, Recheck int
	// BatchRows is after how many rows a decoder hands them on; 0: 8,192, which
	// loads best. It changes nothing of what is loaded.
	BatchRows int
	// KnownRecords is from how many records of a list on those that are as main
	// has them are not staged; 0: 1,000. It changes nothing of what is loaded.
	KnownRecords int
	// TeamID is the team of the partner. Empty: taken from the token.
	TeamID string
	// Privacy keeps values out of everything that is staged or published.
	Privacy transform.Privacy
	// Limits are the gates. AllowMassDelete believes a mass deletion that a
	// second reading of the lists confirms.
	Limits          load.Limits
	AllowMassDelete bool
	// DryRun extracts and gates, and publishes nothing.
	DryRun bool
	// FinishCommit merges and publishes to the end although ctx has ended
	// meanwhile; without it the night ends there too.
	FinishCommit bool
	// ResumeMaxAge is how old a run that did not publish may be to be taken up
	// again: its answers are used and not asked for a second time. 0: never.
	ResumeMaxAge time.Duration
	// Fresh begins a new run even if one waits to be taken up.
	Fresh bool
	// MaxDuration bounds how long a run reads, measured on the real clock from
	// the start of this attempt at it; 0: no bound. When it is over, no list and
	// no detail is begun, and what was read is published.
	MaxDuration time.Duration
	// Watch is shown how far the night is; nil: nobody watches.
	Watch *Watch
	// Now gives the snapshot's time. Waiting and latencies are measured on the
	// real clock in fetch.
	Now func() time.Time
	Log *slog.Logger
}

// Result is what a night did. A partial night is a result and not an error:
// Run.Outcome and the grades in Run.Streams say what is missing and why.
type Result struct {
	Run      warehouse.Run
	Changes  []load.Change
	Manifest warehouse.Manifest
}

// NothingError says that no stream could be read, so that there is nothing to
// publish.
type NothingError struct{ Reasons []string }

func (e *NothingError) Error() string {
	msg := "extract: no stream could be read; nothing was published, the last snapshot stays"
	for _, r := range e.Reasons {
		msg += "\n  " + r
	}
	return msg
}

// night is the state of one run.
type night struct {
	cfg    Config
	wh     *warehouse.Warehouse
	client *fetch.Client
	// draft and stage may be used once opened has returned.
	draft   *warehouse.Draft
	stage   *load.Stage
	opening *opening
	token   Token
	// began is when this attempt at the run did, on the real clock.
	began time.Time
	// done holds what each stream came to, in the order of cfg.Streams.
	done []streamResult
	// drift is added to by all that decode.
	drift *drift
	run   warehouse.Run
	// resumed is the run that was taken up; nil when this is a new one.
	resumed *warehouse.Unfinished
	// inbox is what the night took of the webhook events.
	inbox webhook.Batch
	// eventSinks are the sinks of the streams of events; nil: the inbox is not read yet.
	eventSinks map[string]*sink
	// reread are the streams that were read a second time because of a gate.
	reread map[string]bool
	// published is set when readers see the snapshot.
	published bool
	// only are the records that a refresh reads; nil for a night.
	only *Targets
	// landed is the run whose answers are used, base the version to build on
	// when offline.
	landed, base string
}

// Run executes one night: lock, preflight, extract, gate, merge, publish. It
// returns what the night did, also together with an error. Errors that decide
// something: *warehouse.HeldError (another run is at work), *fetch.AuthError,
// *load.MassDeleteError, *warehouse.VerifyError, *NothingError. After an error
// the last snapshot is untouched and the landed answers are kept.
func Run(ctx context.Context, cfg Config) (Result, error) {
	wh, err := warehouse.Open(cfg.Warehouse)
	if err != nil {
		return Result{}, err
	}
	now := cfg.Now().UTC().Truncate(time.Microsecond)
	id, err := wh.NewRunID(now)
	if err != nil {
		return Result{}, err
	}
	n := &night{cfg: cfg, wh: wh, drift: newDrift()}
	n.run = warehouse.Run{ID: id, Kind: warehouse.Night, StartedAt: now, SnapshotAt: now, Program: cfg.Warehouse.Program}
	lock, err := wh.Lock(n.run.ID, now)
	if err != nil {
		return Result{}, wh.Full(err)
	}
	res, err := n.begin(ctx, now, lock)
	return n.settle(ctx, lock, res, err)
}

// settle ends a run: it enters the ledger, and the lock is given back.
func (n *night) settle(ctx context.Context, lock *warehouse.Lock, res Result, err error) (Result, error) {
	err = n.wh.Full(n.afterPublish(err))
	if cause := context.Cause(ctx); err != nil && cause != nil {
		if !errors.Is(err, cause) {
			err = fmt.Errorf("%w: %w", cause, err)
		}
		err = fmt.Errorf("%w; %s", err, n.afterStop())
	}
	res.Run = n.end(ctx, err)
	return res, n.wh.Full(errors.Join(err, n.afterPublish(n.record(res.Run)), lock.Release()))
}

func (n *night) record(r warehouse.Run) error {
	if err := n.wh.Record(r); err != nil {
		return err
	}
	return n.wh.FinishedAside()
}

// afterStop says how a run that was stopped goes on.
func (n *night) afterStop() string {
	switch {
	case n.only != nil:
		return "the last snapshot stays, and the next night reads what this refresh was to read"
	case n.cfg.DryRun || n.cfg.Fetch.Offline:
		return "the last snapshot stays: begin again"
	}
	return "what has landed is kept, run again to resume"
}

// afterPublish turns an error that came when readers saw the snapshot already
// into a line of the log: the night is what it published, and the next run
// finishes what is left.
func (n *night) afterPublish(err error) error {
	if err == nil || !n.published {
		return err
	}
	warnUnfinished(n.cfg.Log, n.run.ID, err)
	return nil
}

// warnUnfinished tells of what was left undone behind a publish.
func warnUnfinished(log *slog.Logger, run string, cause error) {
	log.Warn("published, and then not finished: the next run does it", "run", run, "cause", cause)
}

// step tells a trial where the night is. An error is one that the disk would
// give there.
func (n *night) step(name string) error {
	if n.cfg.Warehouse.Step == nil {
		return nil
	}
	return n.cfg.Warehouse.Step(name)
}

func (n *night) execute(ctx context.Context) (res Result, err error) {
	n.began = time.Now()
	landing, err := fetch.OpenLanding(n.wh.RawPath(cmp.Or(n.landed, n.run.ID)), fetch.LandingOptions{Step: n.cfg.Warehouse.Step})
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, landing.Close()) }()
	if n.client, err = fetch.New(n.cfg.Fetch, landing, n.cfg.Log); err != nil {
		return res, err
	}
	defer n.client.Close()
	if err := n.show(); err != nil {
		return res, err
	}
	defer n.cfg.Watch.end()
	if n.token, err = preflight(ctx, n.client, n.cfg.TeamID); err != nil {
		return res, err
	}
	if err := n.admit(); err != nil {
		return res, err
	}
	return n.readUntilBelieved(ctx)
}

// readAndPublish reads all streams into a stage of their own and publishes it.
func (n *night) readAndPublish(ctx context.Context) (res Result, err error) {
	ctx, closeAll := n.open(ctx)
	defer func() { err = closeAll(err) }()
	if err := n.extract(ctx); err != nil {
		return res, err
	}
	if n.cfg.FinishCommit {
		ctx = context.WithoutCancel(ctx)
	}
	// From here on memory is DuckDB's, which does not know what decoding left.
	debug.FreeOSMemory()
	return n.publish(ctx)
}

// show tells the watch, if there is one, what the night is about to do.
func (n *night) show() error {
	if n.cfg.Watch == nil {
		return nil
	}
	runs, err := n.wh.Runs()
	if err == nil {
		n.cfg.Watch.begin(n, runs)
	}
	return err
}

// end closes the ledger's entry of this run.
func (n *night) end(ctx context.Context, err error) warehouse.Run {
	r := &n.run
	r.EndedAt = r.StartedAt.Add(n.elapsed())
	n.tally()
	switch {
	case err == nil:
		r.Outcome = n.outcome()
	case ctx.Err() != nil:
		r.Outcome, r.SnapshotAt = warehouse.Interrupted, time.Time{}
	default:
		r.Outcome, r.SnapshotAt = warehouse.Failed, time.Time{}
	}
	if err != nil {
		r.Error = err.Error()
	}
	if n.cfg.DryRun {
		r.SnapshotAt = time.Time{}
	}
	r.ExitCode = r.Outcome.ExitCode()
	return *r
}

// outcome is partial when a stream failed, so that its rows are those of an
// earlier night or are missing.
func (n *night) outcome() warehouse.Outcome {
	for _, d := range n.done {
		if d.failed != nil {
			return warehouse.Partial
		}
	}
	return warehouse.Complete
}

func (n *night) tally() {
	r := &n.run
	r.Streams, r.Requests, r.Bytes, r.Retries, r.ThrottledSeconds = nil, 0, 0, 0, 0
	cost := map[string]fetch.Telemetry{}
	if n.client != nil {
		for _, t := range n.client.Telemetry() {
			cost[t.Stream] = t
			r.Requests += t.Requests
			r.Bytes += t.Bytes
			r.Retries += t.Retries
			r.ThrottledSeconds += t.RetryWait.Seconds()
		}
	}
	for _, d := range n.done {
		s := n.ledgerStream(d, cost[d.stream.Name])
		r.Streams = append(r.Streams, s)
	}
}

func (n *night) elapsed() time.Duration {
	return max(0, n.cfg.Now().Sub(n.run.StartedAt))
}
