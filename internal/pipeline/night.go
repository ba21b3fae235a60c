// Package pipeline is one night: the only place where fetch, transform, load
// and warehouse meet. Reading order: Run in this file, then resume, preflight,
// extract, decode and publish; mode says what a refresh and a replay do differently.
//
// A runner takes a run from its lock to its ledger entry. Its reader asks for the
// streams, the finisher behind it decides what each of them proves, and all of them
// work on one night: the draft of a version and the stage of its rows.
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
	"slices"
	"strings"
	"time"

	"placementsync/internal/checks"
	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
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
	// Details says which single records are read.
	Details Details
	// LiveDays is how long after its last change a parent is live, and
	// Recheck the number of nights within which settled details are read
	// again; 0: never.
	LiveDays, Recheck int
	// BatchRows is the number of rows after which a decoder stages them; 0: 8,192,
	// which loads best. It does not change what is loaded.
	BatchRows int
	// KnownRecords is the length of a list from which on unchanged records are not
	// staged; 0: 1,000. It does not change what is loaded.
	KnownRecords int
	// TeamID is the team of the partner. Empty: taken from the token.
	TeamID string
	// Privacy keeps values out of everything that is staged or published.
	Privacy transform.Privacy
	// Limits are the gates. AllowMassDelete believes a mass deletion that a
	// second reading of the lists confirms.
	Limits          load.Limits
	AllowMassDelete bool
	// Checks audit the merged rows before they are published. CheckTimeout bounds each of
	// them; 0 means no bound.
	Checks       checks.Set
	CheckTimeout time.Duration
	// AcceptLoss lets Rebuild publish less than readers have.
	AcceptLoss bool
	// DryRun extracts and gates, and publishes nothing.
	DryRun bool
	// FinishCommit completes a merge and a publish that have begun when ctx ends;
	// without it the night ends there too.
	FinishCommit bool
	// ResumeMaxAge is how old a run that did not publish may be to be resumed: its
	// answers are used and not asked for a second time. 0: never.
	ResumeMaxAge time.Duration
	// Build tells programs of the same version apart: what another one decoded is not
	// recalled.
	Build string
	// Fresh begins a new run even if one waits to be resumed.
	Fresh bool
	// MaxDuration bounds how long a run reads, on the real clock from the start of
	// this attempt; 0: no bound. After it no list and no detail is asked for, and
	// what was read is published.
	MaxDuration time.Duration
	// Watch, if set, is updated with the progress of the night.
	Watch *Watch
	// Now gives the snapshot's time. Waiting and latencies are measured on the
	// real clock in fetch.
	Now func() time.Time
	Log *slog.Logger
}

// Result is what a night did. A partial night is a result and not an error:
// Run.Outcome and the grades in Run.Streams say what is missing and why.
type Result struct {
	Run      ledger.Run
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

// night is what a run works on: the draft of its version, the stage of its rows, and
// what it has seen so far.
type night struct {
	cfg  Config
	mode runMode
	wh   *warehouse.Warehouse
	// run is the entry of the ledger, as far as it is known.
	run ledger.Run
	// draft and stage may be used once waitOpened has returned.
	draft   *warehouse.Draft
	stage   *load.Stage
	opening *opening
	// drift is added to by all decoders.
	drift *drift
	// inbox holds the webhook events of this run.
	inbox webhook.Batch
	// eventSinks are the sinks of the streams of events. It is nil until the inbox was read.
	eventSinks map[string]*sink
}

// faultPoint calls Config.Warehouse.Step, if set (fault injection). An error is one
// that the disk would give there.
func (n *night) faultPoint(name string) error {
	if n.cfg.Warehouse.Step == nil {
		return nil
	}
	return n.cfg.Warehouse.Step(name)
}

// opening makes the draft and its stage while the first list is being asked for:
// copying a catalog takes a second a gigabyte, and creating one as long, time in which
// the allowed requests would lie idle.
type opening struct {
	done chan struct{}
	// err may be read when done is closed.
	err error
}

// openBehind starts the opening. The context that it returns ends when the opening
// fails: what is fetched then could not be staged. closeAll waits for the opening,
// closes stage and draft, and reports the first cause alone.
func (n *night) openBehind(parent context.Context) (ctx context.Context, closeAll func(err error) error) {
	o := &opening{done: make(chan struct{})}
	n.opening, n.draft, n.stage = o, nil, nil
	ctx, cancel := context.WithCancelCause(parent)
	go func() {
		defer close(o.done)
		if n.mode.asksService() {
			n.draft, o.err = n.wh.Begin(parent, n.run.ID, n.run.SnapshotAt)
		} else {
			n.draft, o.err = n.wh.BeginFrom(parent, n.run.ID, n.run.SnapshotAt, n.mode.base)
		}
		if o.err == nil {
			o.err = n.removeEntries(n.draft.Previous)
		}
		if o.err == nil {
			n.draft.Kind = n.run.Kind
			n.stage, o.err = load.Open(parent, n.draft, n.wh.Catalog.Definitions(), n.cfg.Streams)
		}
		if o.err != nil {
			cancel(o.err)
		}
	}()
	return ctx, func(err error) error {
		<-o.done
		defer cancel(nil)
		if n.stage != nil {
			err = errors.Join(err, n.stage.Close(context.WithoutCancel(parent)))
		}
		if n.draft != nil {
			// Publish empties the draft; on every other path it is dropped.
			err = errors.Join(err, n.draft.Discard())
		}
		if o.err != nil && errors.Is(err, o.err) {
			return o.err
		}
		return errors.Join(o.err, err)
	}
}

// waitOpened waits until draft and stage can be used.
func (n *night) waitOpened(ctx context.Context) error {
	select {
	case <-n.opening.done:
		return n.opening.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// runner takes a run from its lock to its entry in the ledger.
type runner struct {
	night *night
	lock  *warehouse.Lock
	// reader is nil until the service can be asked.
	reader *reader
	// reread are the streams that were read a second time because of a gate.
	reread map[string]bool
	// published is set when readers see the snapshot.
	published bool
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
	now := snapshotTime(cfg)
	r, err := startRun(cfg, wh, runMode{kind: ledger.Night, details: cfg.Details, dryRun: cfg.DryRun}, now, now)
	if err != nil {
		return Result{}, err
	}
	res, err := r.runOrResume(ctx, now)
	return r.finishRun(ctx, res, err)
}

// snapshotTime is the time of a run that starts now.
func snapshotTime(cfg Config) time.Time { return cfg.Now().UTC().Truncate(time.Microsecond) }

// startRun names a run that builds the snapshot of a time, and takes the lock for it.
func startRun(cfg Config, wh *warehouse.Warehouse, mode runMode, now, snapshot time.Time) (*runner, error) {
	// Any other value would silently read all or nothing.
	if !slices.Contains([]Details{ChangedDetails, AllDetails, NoDetails}, mode.details) {
		return nil, fmt.Errorf("begin a run: details to read are %q: use changed, all or none", mode.details)
	}
	cfg.Fetch.Offline = !mode.asksService()
	lock, err := wh.Lock(mode.kind, now)
	if err != nil {
		return nil, wh.Folder.FullErr(err)
	}
	// Under the lock, or another run of this second may take the same id.
	id, err := wh.Ledger.NewRunID(snapshot)
	if err == nil {
		err = lock.Name(id, now)
	}
	if err != nil {
		return nil, wh.Folder.FullErr(errors.Join(err, lock.Release()))
	}
	n := &night{cfg: cfg, mode: mode, wh: wh, drift: newDrift()}
	n.run = ledger.Run{ID: id, Kind: mode.kind, StartedAt: now, SnapshotAt: snapshot, Program: cfg.Warehouse.Program}
	return &runner{night: n, lock: lock, reread: map[string]bool{}}, nil
}

// finishRun enters a run in the ledger and releases the lock.
func (r *runner) finishRun(ctx context.Context, res Result, err error) (Result, error) {
	wh := r.night.wh
	var after *warehouse.AfterSwitchError
	if r.published {
		errors.As(err, &after)
	}
	err = wh.Folder.FullErr(r.ignoreOncePublished(err))
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = &stoppedError{cause, err, r.night.mode.afterStop()}
	}
	res.Run = r.closeEntry(ctx, err)
	if after != nil {
		r.night.run.Outcome, r.night.run.Error = ledger.Partial, after.Error()
		r.night.run.ExitCode = ledger.Partial.ExitCode()
		res.Run = r.night.run
	}
	recorded := wh.Ledger.Record(res.Run)
	if recorded == nil && r.night.mode.kind != ledger.Replay {
		// A replay writes no note and recovers none: one that is there is of another run.
		recorded = wh.Ledger.FinishAside()
	}
	return res, wh.Folder.FullErr(errors.Join(err, r.ignoreOncePublished(recorded), r.lock.Release()))
}

// stoppedError says why a run was stopped and how it goes on. What only follows from
// the stop is not repeated; what else went wrong is.
type stoppedError struct {
	cause, err error
	after      string
}

func (e *stoppedError) Error() string {
	text := e.cause.Error()
	if e.cause == context.Canceled {
		text = "stopped before its end"
	}
	if others := errorsBesideStop(e.err, e.cause); len(others) > 0 {
		text += ": " + strings.Join(others, "; ")
	}
	return text + "; " + e.after
}

// errorsBesideStop lists the joined errors that do not follow from a stop.
func errorsBesideStop(err, cause error) (others []string) {
	if err == errStage {
		return nil // says only where the other one was met
	}
	if !errors.Is(err, cause) && !errors.Is(err, context.Canceled) {
		if warehouse.IsInterrupted(err) {
			return nil
		}
		return []string{err.Error()}
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return errorsBesideStop(e.Unwrap(), cause)
	case interface{ Unwrap() []error }:
		if !strings.Contains(err.Error(), "\n") {
			return nil // one error that wraps two, and not two that are joined
		}
		for _, one := range e.Unwrap() {
			others = append(others, errorsBesideStop(one, cause)...)
		}
	}
	return others
}

// Unwrap returns why the run was stopped, and what it met then.
func (e *stoppedError) Unwrap() []error { return []error{e.cause, e.err} }

// ignoreOncePublished turns an error behind the publish into a line of the log: the run is
// what it published, partial where a step of the publish itself failed, and the next one
// completes what is left.
func (r *runner) ignoreOncePublished(err error) error {
	if err == nil || !r.published {
		return err
	}
	warnIncomplete(r.night.cfg.Log, r.night.run.ID, err)
	return nil
}

func warnIncomplete(log *slog.Logger, run string, err error) {
	log.Warn("published, but a later step failed; the next run completes it", "run", run, "error", err)
}

// inOrder calls the steps up to the first that fails.
func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// execute asks the service, or a landing, for everything and publishes it.
func (r *runner) execute(ctx context.Context) (res Result, err error) {
	n := r.night
	began := time.Now()
	raw := n.wh.Folder.RawPath(cmp.Or(n.mode.source, n.run.ID))
	landing, err := fetch.OpenLanding(raw, fetch.LandingOptions{Step: n.cfg.Warehouse.Step})
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, landing.Close()) }()
	if lost := landing.Damaged(); lost > 0 {
		n.cfg.Log.Warn("lines of the journal are damaged: a run asks again for their answers, a replay goes without them", "damaged", lost)
	}
	client, err := fetch.New(n.cfg.Fetch, landing, n.cfg.Log)
	if err != nil {
		return res, err
	}
	defer client.Close()
	r.reader = &reader{night: n, client: client, began: began}
	if n.cfg.Watch != nil {
		runs, err := n.wh.Ledger.Runs()
		if err != nil {
			return res, err
		}
		n.cfg.Watch.beginRun(client, n, runs)
		defer n.cfg.Watch.endRun()
	}
	if r.reader.token, err = checkToken(ctx, client, n.cfg.TeamID); err != nil {
		return res, err
	}
	if err := r.admitToken(r.reader.token.describeAccess()); err != nil {
		return res, err
	}
	return r.readUntilBelieved(ctx)
}

// readAndPublish reads all streams into a stage of their own and publishes it.
func (r *runner) readAndPublish(ctx context.Context) (res Result, err error) {
	n := r.night
	ctx, closeAll := n.openBehind(ctx)
	defer func() { err = closeAll(err) }()
	if err := r.reader.extract(ctx); err != nil {
		return res, err
	}
	if n.cfg.FinishCommit {
		ctx = context.WithoutCancel(ctx)
	}
	// From here on memory is DuckDB's, which does not know what decoding left.
	debug.FreeOSMemory()
	return r.publish(ctx)
}

// closeEntry completes the ledger's entry of a run that ends with err: with what each
// stream proved and cost.
func (r *runner) closeEntry(ctx context.Context, err error) ledger.Run {
	run := &r.night.run
	run.EndedAt = run.StartedAt.Add(max(0, r.night.cfg.Now().Sub(run.StartedAt)))
	switch {
	case err == nil:
		run.Outcome = r.reader.done.outcome()
	case ctx.Err() != nil:
		run.Outcome, run.SnapshotAt = ledger.Interrupted, time.Time{}
	default:
		run.Outcome, run.SnapshotAt = ledger.Failed, time.Time{}
	}
	if err != nil {
		run.Error = err.Error()
	}
	if r.night.mode.dryRun {
		run.SnapshotAt = time.Time{}
	}
	run.ExitCode = run.Outcome.ExitCode()
	run.Streams, run.Requests, run.Bytes, run.Retries, run.ThrottledSeconds = nil, 0, 0, 0, 0
	if r.reader == nil {
		return *run
	}
	cost := map[string]fetch.Telemetry{}
	for _, t := range r.reader.client.Telemetry() {
		cost[t.Stream] = t
		run.Requests += t.Requests
		run.Bytes += t.Bytes
		run.Retries += t.Retries
		run.ThrottledSeconds += t.RetryWait.Seconds()
	}
	for _, d := range r.reader.done {
		run.Streams = append(run.Streams, d.ledgerRow(cost[d.stream.Name], r.night.cfg.Fetch.RequestsPerSecond))
	}
	return *run
}
