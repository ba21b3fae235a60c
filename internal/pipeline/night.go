// Package pipeline runs a night. It is the only package that connects fetch, transform, load and
// warehouse. Reading order: Run in this file, then resume.go, preflight.go,
// extract.go, decode.go and publish.go. mode.go contains the differences between nights,
// refreshes and replays.
//
// A runner executes a run, from taking the lock to writing the ledger line. Its reader
// requests the streams, and a finisher grades each stream while the next one is read. Reader and
// finisher share a night, which contains the draft of a version and the stage of its rows.
//
// A resumed run repeats the steps with the id and the start time in the unfinished-run file, and reads most responses
// from the landing. An id for which no time was left keeps its rows, and the next night selects it by the usual rule.
//
// The package must not know configuration files, flags, schedules or terminals: cmd/sync passes
// in their values.
package pipeline

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"placementsync/internal/audit"
	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/stream"
	"placementsync/internal/transform"
	"placementsync/internal/warehouse"
	"placementsync/internal/webhook"
)

// Config configures a run.
type Config struct {
	Warehouse warehouse.Config
	// NewWarehouse allows a run to create the warehouse. Without it, a folder that contains no warehouse is an
	// error, because its disk may not be mounted.
	NewWarehouse bool
	Fetch        fetch.Config
	// Streams are all streams with tables in the warehouse, lists before details.
	Streams []stream.Stream
	// Chosen names the streams to read. Other streams keep their rows.
	Chosen  []string
	Details Details
	// LiveDays is the number of days for which a detail is live after its record changed.
	// Settled details are read again within Recheck nights. A Recheck of 0 means never.
	LiveDays, Recheck int
	// BatchRows is the number of rows after which a decoder stages its rows. Defaults to 8,192.
	BatchRows int
	TeamID    string // of the partner; defaults to the team of the token
	// OtherNames are names under which the service sends columns, by table.column, in addition to those in schema/.
	OtherNames map[string]string
	// MinorUnits means that the service sends prices in the smallest unit of their currency.
	MinorUnits bool
	// Ignored are columns, as table.column, and members of JSON columns, as table.column.member, whose changes add no
	// version of a row.
	Ignored []string
	// Privacy names the private columns. Their values are removed or hashed before rows are staged.
	Privacy transform.Privacy
	// Limits are the limits for deletions. AllowMassDelete accepts a mass deletion if a second
	// reading of the lists confirms the deletion.
	Limits          load.Limits
	AllowMassDelete bool
	// Checks audit the merged rows before they are published. CheckTimeout limits the time of
	// each check. 0 means no limit.
	Checks       audit.Set
	CheckTimeout time.Duration
	// AcceptLoss allows Rebuild to publish fewer snapshots, runs or rows than the current catalog
	// contains, and Replay to publish a run whose landed responses are partly lost.
	AcceptLoss bool
	DryRun     bool // merge, but do not publish
	// FinishCommit completes and publishes a merge even if ctx ends after the merge began.
	FinishCommit bool
	// ResumeMaxAge is the maximum age of an unpublished run that is resumed. Its landed
	// responses are used and not requested again. 0 means never.
	ResumeMaxAge time.Duration
	Fresh        bool // start a new run even if an earlier one could be resumed
	// MaxDuration limits the time for reading, measured on the real clock from the start of this attempt at the
	// run. 0 means no limit.
	MaxDuration time.Duration
	Progress    *ProgressTracker // may be nil
	// Now is the clock of the snapshot time and of the ledger line. fetch measures waits
	// and latencies on the real clock.
	Now func() time.Time
	Log *slog.Logger
}

// Result is the result of a run. A partial run is a result and not an error:
// Run.Outcome and the grades in Run.Streams show what is missing and why.
type Result struct {
	Run      ledger.Run
	Changes  []load.Change
	Manifest warehouse.Manifest
	// IsUnsynced means that the run failed, but readers see its snapshot: the link "latest" was switched
	// and could not be synced.
	IsUnsynced bool
}

// ErrNoData means that no stream could be read.
var ErrNoData = errors.New("read the service: no stream could be read; nothing was published; readers keep the last snapshot: run placementsync check")

// night is the state of a run.
type night struct {
	cfg          Config
	mode         runMode
	wh           *warehouse.Warehouse
	run          ledger.Run // the ledger line
	draft        *warehouse.Draft
	stage        *load.Stage // nil before readAndPublish, and after closeStage
	drift        *driftCollector
	idCase       transform.IDCase
	landedEvents webhook.Batch    // landed by this run from the inbox
	eventSinks   map[string]*sink // by stream; nil before the inbox is read
}

// close closes the stage. It removes a draft that was not published.
func (n *night) close(ctx context.Context) error {
	err := n.closeStage(ctx)
	if n.draft != nil {
		err = errors.Join(err, n.draft.Discard())
	}
	n.draft = nil
	return err
}

func (n *night) closeStage(ctx context.Context) error {
	stage := n.stage
	if stage == nil {
		return nil
	}
	n.stage = nil
	return stage.Close(context.WithoutCancel(ctx))
}

type runner struct {
	night     *night
	lock      *warehouse.Lock
	reader    *reader         // nil until execute has created the client
	reread    map[string]bool // the streams that were read a second time because of a gate
	published bool            // the snapshot is visible
}

// Run executes one night: lock, preflight, extract, gate, merge, publish. Once the run
// has started, the Result is also set if there is an error. Callers can tell these errors apart:
// *warehouse.NoWarehouseError, *warehouse.LockedError (another run holds the lock), fetch.ErrAuth,
// *load.MassDeleteError, *warehouse.VerifyError, ErrNoData, *HoldError and
// *warehouse.UnsyncedSwitchError. After an error the landed responses are kept, and unless
// Result.IsUnsynced is set, readers keep the last snapshot.
func Run(ctx context.Context, cfg Config) (Result, error) {
	wh := warehouse.New(cfg.Warehouse)
	now := snapshotTime(cfg)
	r, err := startRun(cfg, wh, runMode{kind: ledger.Night, dryRun: cfg.DryRun}, now, now)
	if err != nil {
		return Result{}, err
	}
	res, err := r.runOrResume(ctx, now)
	return r.finishRun(ctx, res, err)
}

func snapshotTime(cfg Config) time.Time { return cfg.Now().UTC().Truncate(time.Microsecond) }

func startRun(cfg Config, wh *warehouse.Warehouse, mode runMode, now, snapshotAt time.Time) (*runner, error) {
	cfg.Fetch.Offline = !mode.usesNetwork()
	if mode.isRefresh() {
		cfg.Fetch.Patience = 0 // a waiting refresh would hold the lock; the next night reads the same records
	}
	takeLock := wh.LockExisting
	if cfg.NewWarehouse {
		takeLock = wh.Lock
	}
	lock, err := takeLock(mode.kind, now)
	if err != nil {
		return nil, wh.Folder.DiskFullErr(err)
	}
	id, err := nameRun(wh, lock, snapshotAt, now)
	if err != nil {
		return nil, wh.Folder.DiskFullErr(errors.Join(err, lock.Release()))
	}
	n := &night{cfg: cfg, mode: mode, wh: wh, drift: newDriftCollector()}
	n.run = ledger.Run{ID: id, Kind: mode.kind, StartedAt: now, SnapshotAt: snapshotAt, Program: cfg.Warehouse.Program}
	return &runner{night: n, lock: lock, reread: map[string]bool{}}, nil
}

// nameRun chooses the id of a run that builds the snapshot of the given time, and writes it into
// the lock. The lock must be held: otherwise a run of the same second could choose the same id.
func nameRun(wh *warehouse.Warehouse, lock *warehouse.Lock, snapshotAt, now time.Time) (id string, err error) {
	if id, err = wh.RunLog.NewRunID(snapshotAt); err != nil {
		return "", err
	}
	return id, lock.WriteHolder(id, now)
}

func (r *runner) finishRun(ctx context.Context, res Result, err error) (Result, error) {
	wh := r.night.wh
	var afterSwitchErr *warehouse.AfterSwitchError
	if r.published {
		errors.As(err, &afterSwitchErr)
	}
	err = wh.Folder.DiskFullErr(r.logIfPublished(err))
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = &stoppedError{cause, err, r.night.mode.stopConsequence()}
	}
	res.Run = r.completeLedgerLine(ctx, err)
	if afterSwitchErr != nil {
		r.night.run.Outcome, r.night.run.Error = ledger.Partial, ledger.Summarize(afterSwitchErr)
		r.night.run.ExitCode = ledger.Partial.ExitCode()
		res.Run = r.night.run
	}
	recordErr := wh.RunLog.Record(res.Run)
	if recordErr == nil && r.night.mode.kind != ledger.Replay {
		// A replay writes no unfinished-run file: an existing file belongs to another run.
		recordErr = wh.RunLog.RemoveUnresumableRun()
	}
	return res, wh.Folder.DiskFullErr(errors.Join(err, r.logIfPublished(recordErr), r.lock.Release()))
}

// stoppedError contains the cause and the consequence of a stop of a run. The message omits the errors
// that the stop caused, and contains all other errors.
type stoppedError struct {
	cause, err  error
	consequence string
}

func (e *stoppedError) Error() string {
	text := e.cause.Error()
	if e.cause == context.Canceled {
		text = "the run was stopped before it was complete"
	}
	if others := errorsBesideStop(e.err, e.cause); len(others) > 0 {
		text += ": " + strings.Join(others, "; ")
	}
	return text + "; " + e.consequence
}

func errorsBesideStop(err, cause error) (others []string) {
	if err == errStage {
		return nil // it only marks where the joined error occurred
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
			return nil // one error that wraps two; joined errors are on separate lines
		}
		for _, joined := range e.Unwrap() {
			others = append(others, errorsBesideStop(joined, cause)...)
		}
	}
	return others
}

func (e *stoppedError) Unwrap() []error { return []error{e.cause, e.err} }

// logIfPublished returns nil after the publish: readers see the snapshot, and the next run completes the
// remaining steps.
func (r *runner) logIfPublished(err error) error {
	if err == nil || !r.published {
		return err
	}
	warnIncomplete(r.night.cfg.Log, r.night.run.ID, err)
	return nil
}

func warnIncomplete(log *slog.Logger, run string, err error) {
	log.Warn("published, but a later step failed; the next run completes it", "run", run, "error", err)
}

func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) execute(ctx context.Context) (res Result, err error) {
	n := r.night
	began := time.Now()
	raw := n.wh.Folder.RawPath(cmp.Or(n.mode.replayedRun, n.run.ID))
	landing, err := fetch.OpenLanding(raw, fetch.LandingOptions{Step: n.cfg.Warehouse.Step})
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, landing.Close()) }()
	if damaged := landing.Damaged(); damaged > 0 {
		n.cfg.Log.Warn("lines in the index of the stored responses are damaged: a run requests these responses again, a replay omits them", "damaged", damaged)
	}
	if n.cfg.Details != AllDetails {
		runs, err := n.wh.RunLog.Runs()
		if err != nil {
			return res, err
		}
		n.cfg.Fetch.Unsortable = lastPublishedNight(runs).UnsortedStreams()
	}
	client, err := fetch.New(n.cfg.Fetch, landing, n.cfg.Log)
	if err != nil {
		return res, err
	}
	defer client.Close()
	r.reader = &reader{night: n, client: client, landing: landing, began: began}
	if n.cfg.Progress != nil {
		runs, err := n.wh.RunLog.Runs()
		if err != nil {
			return res, err
		}
		n.cfg.Progress.beginRun(client, n, runs)
		defer n.cfg.Progress.endRun()
	}
	if r.reader.token, err = checkToken(ctx, client, n.cfg.TeamID); err != nil {
		return res, err
	}
	if err := r.checkRights(r.reader.token.describeRights()); err != nil {
		return res, err
	}
	return r.publishWithRereads(ctx)
}

func (r *runner) readAndPublish(ctx context.Context) (res Result, err error) {
	n := r.night
	defer func() { err = errors.Join(err, n.close(ctx)) }()
	if n.mode.usesNetwork() {
		n.draft, err = n.wh.Begin(ctx, n.run.ID, n.run.SnapshotAt)
	} else {
		n.draft, err = n.wh.BeginFrom(ctx, n.run.ID, n.run.SnapshotAt, n.mode.base)
	}
	if err != nil {
		return res, err
	}
	n.draft.Kind = n.run.Kind
	if n.stage, err = load.Open(ctx, n.draft, n.cfg.Streams, n.cfg.Ignored); err != nil {
		return res, err
	}
	if err := n.unifyStoredIDs(ctx); err != nil {
		return res, err
	}
	if err := r.reader.extract(ctx); err != nil {
		return res, err
	}
	if n.cfg.FinishCommit {
		ctx = context.WithoutCancel(ctx)
	}
	// From here on, DuckDB needs the memory. DuckDB's limit does not include the memory that Go
	// has freed and not returned to the system.
	debug.FreeOSMemory()
	return r.publish(ctx)
}

// unifyStoredIDs finds the case of the stored ids, and writes the ids of other rows in this case.
func (n *night) unifyStoredIDs(ctx context.Context) error {
	ids, err := n.stage.UnifyIDs(ctx)
	if err != nil {
		return err
	}
	if ids.IsKnown {
		n.idCase.Set(ids.IsUpper)
	}
	if ids.Rewritten > 0 {
		n.cfg.Log.Warn("the ids of stored rows were in another case than most ids: they are now in the same case, and their rows get a version if they are read",
			"rows", ids.Rewritten)
	}
	return nil
}

func (n *night) unifyIDs(ids []string) []string {
	unified := make([]string, len(ids))
	for i, id := range ids {
		unified[i] = n.idCase.Unify(id)
	}
	return unified
}

// err is the error of the run, or nil.
func (r *runner) completeLedgerLine(ctx context.Context, err error) ledger.Run {
	run := &r.night.run
	run.EndedAt = run.StartedAt.Add(max(0, r.night.cfg.Now().Sub(run.StartedAt)))
	switch {
	case err == nil:
		run.Outcome = r.reader.finished.outcome()
	case ctx.Err() != nil:
		run.Outcome, run.SnapshotAt = ledger.Interrupted, time.Time{}
	default:
		run.Outcome, run.SnapshotAt = ledger.Failed, time.Time{}
	}
	if err != nil {
		run.Error = ledger.Summarize(err)
	}
	if r.night.mode.dryRun {
		run.SnapshotAt = time.Time{}
	}
	run.ExitCode = run.Outcome.ExitCode()
	run.Streams, run.Requests, run.Bytes, run.Retries, run.ThrottledSeconds = nil, 0, 0, 0, 0
	if r.reader == nil {
		return *run
	}
	if r.night.mode.usesNetwork() {
		run.Responses = r.reader.landing.Responses()
	}
	telemetry := map[string]fetch.Telemetry{}
	for _, t := range r.reader.client.Telemetry() {
		telemetry[t.Stream] = t
		run.Requests += t.Requests
		run.Bytes += t.Bytes
		run.Retries += t.Retries
		run.ThrottledSeconds += t.RetryWait.Seconds()
	}
	for _, result := range r.reader.finished {
		run.Streams = append(run.Streams, result.ledgerStream(telemetry[result.stream.Name], r.night.cfg.Fetch.RequestsPerSecond))
	}
	return *run
}
