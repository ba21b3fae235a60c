// Package pipeline runs a night. It is the only package that connects fetch, transform, load and
// warehouse. Reading order: Run and execute in this file, then streams.go, decode.go and publish.go.
//
// A run goes through phases. Each phase is a type that embeds the phase before it, and contains what the
// phase adds:
//
//	locked     the lock is held, and the run has an id
//	prepared   the token was checked, and responses can be requested, or stored ones read
//	reading    the draft and the stage are open, and the streams are read one after the other
//	read       each stream is graded
//	merged     the draft contains the new rows
//	published  readers see the version
//
// A reading that a gate stops is repeated from prepared. The methods of runMode are the differences between nights,
// refreshes and replays.
//
// A resumed run repeats the steps with the id and the start time in the unfinished-run file, and reads most responses
// from the store. An id for which no time was left keeps its rows, and the next night selects it by the usual rule.
//
// The package must not know configuration files, flags, schedules or terminals: cmd/sync passes
// in their values.
package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/repair"
	"placementsync/internal/warehouse"
)

// Run executes one night: lock, preflight, extract, gate, merge, publish. Once the run
// has started, the Result is also set if there is an error. Callers can tell these errors apart:
// *warehouse.NoWarehouseError, *warehouse.LockedError (another run holds the lock), fetch.ErrAuth,
// *load.MassDeleteError, *warehouse.VerifyError, ErrNoData, *HoldError and
// *warehouse.UnsyncedSwitchError. After an error the stored responses are kept, and unless
// Result.IsUnsynced is set, readers keep the last snapshot.
func Run(ctx context.Context, cfg Config) (Result, error) {
	now := snapshotTime(cfg)
	l, err := begin(cfg, runMode{kind: ledger.Night, dryRun: cfg.DryRun}, now, now)
	if err != nil {
		return Result{}, err
	}
	res, err := l.resumeOrExecute(ctx, now)
	return l.end(ctx, res, err)
}

// Replay builds the version of a run again, from its stored responses and the version on which the
// run was built. It publishes the version with a new run id and the snapshot time of that run.
// Replay is for unpublished runs, and for the newest run after an upgrade that improves decoding. It
// returns an error if later nights are built on the run, or if stored responses are lost and Config.AcceptLoss is not set.
// Streams without a stored response are carried.
func Replay(ctx context.Context, cfg Config, run string) (Result, error) {
	at, err := repair.ReplayTime(warehouse.New(cfg.Warehouse), run)
	if err != nil {
		return Result{}, err
	}
	mode := runMode{kind: ledger.Replay, dryRun: cfg.DryRun, replayedRun: run}
	l, err := begin(cfg, mode, snapshotTime(cfg), at)
	if err != nil {
		return Result{}, err
	}
	if l.mode.base, err = repair.PrepareReplay(l.wh, run, cfg.AcceptLoss); err != nil {
		return Result{}, errors.Join(err, l.lock.Release())
	}
	res, err := l.execute(ctx)
	return l.end(ctx, res, err)
}

// Targets are the records that a refresh reads again.
type Targets struct{ Articles, Campaigns []string }

// ErrPostponed means that a refresh did not start: no night was published yet, or a night can be
// resumed, or a night is held.
var ErrPostponed = errors.New("refresh: no night was published yet, or a night can be resumed or is held; nothing was changed: the next night reads these records")

// Refresh reads the details of the given articles and campaigns again, and the events in the inbox. It
// publishes a new version. All other rows, grades and ages are those of the last version. A refresh does
// not count for the schedule, or for the order in which settled details are read again. A failed refresh
// is not resumed, because the next night reads its records. Refresh returns the errors of [Run], and
// ErrPostponed.
func Refresh(ctx context.Context, cfg Config, targets Targets) (Result, error) {
	now := snapshotTime(cfg)
	l, err := begin(cfg, runMode{kind: ledger.Refresh, targets: targets}, now, now)
	if err != nil {
		return Result{}, err
	}
	if err := l.checkRefreshable(now); err != nil {
		return Result{}, errors.Join(err, l.lock.Release())
	}
	res, err := l.execute(ctx)
	return l.end(ctx, res, err)
}

// checkRefreshable returns ErrPostponed before the first night, if a night can be resumed, and if
// a night is held. A resumed night keeps its snapshot time, so a later snapshot must not be published
// before the night is resumed. A held night can only be published while readers see the version on which
// it was built.
func (l *locked) checkRefreshable(now time.Time) error {
	if err := l.wh.Recover(); err != nil {
		return err
	}
	last, isUnfinished, err := l.wh.RunLog.ResumableRun()
	if err != nil {
		return err
	}
	_, hasVersion, err := l.wh.Versions.Latest()
	if err != nil {
		return err
	}
	_, isHeld, err := l.wh.Held()
	if err != nil {
		return err
	}
	canResume := isUnfinished && now.Sub(last.StartedAt) <= l.cfg.ResumeMaxAge
	if !hasVersion || isHeld || canResume {
		return ErrPostponed
	}
	return nil
}

func snapshotTime(cfg Config) time.Time { return cfg.Now().UTC().Truncate(time.Microsecond) }

// locked is a run that holds the lock.
type locked struct {
	cfg         Config
	mode        runMode
	wh          *warehouse.Warehouse
	lock        *warehouse.Lock
	line        ledger.Run // the ledger line
	isPublished bool       // readers see the snapshot
}

func begin(cfg Config, mode runMode, now, snapshotAt time.Time) (*locked, error) {
	wh := warehouse.New(cfg.Warehouse)
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
	id, err := wh.NameRun(lock, snapshotAt, now)
	if err != nil {
		return nil, wh.Folder.DiskFullErr(errors.Join(err, lock.Release()))
	}
	line := ledger.Run{ID: id, Kind: mode.kind, StartedAt: now, SnapshotAt: snapshotAt, Program: cfg.Warehouse.Program, Attempts: 1}
	return &locked{cfg: cfg, mode: mode, wh: wh, lock: lock, line: line}, nil
}

// resumeOrExecute resumes the last run if it can be resumed, and otherwise executes a new run.
func (l *locked) resumeOrExecute(ctx context.Context, now time.Time) (Result, error) {
	if err := l.wh.Recover(); err != nil {
		return Result{}, err
	}
	if err := l.adoptLastRun(now); err != nil {
		return Result{}, err
	}
	res, err := l.execute(ctx)
	if !errors.Is(err, errRightsChanged) {
		return res, err
	}
	l.cfg.Log.Warn("run not resumed", "run", l.line.ID, "error", err)
	if l.line.ID, err = l.wh.NameRun(l.lock, now, now); err != nil {
		return Result{}, err
	}
	l.mode.resumed, l.line.StartedAt, l.line.SnapshotAt, l.line.Attempts = nil, now, now, 1
	return l.execute(ctx)
}

// adoptLastRun takes over the id and start time of the last run, so that execute resumes it, if the last
// run was not published, is not too old and read from the same service. With Config.Fresh it does nothing.
func (l *locked) adoptLastRun(now time.Time) error {
	if !l.mode.isResumable() {
		return nil
	}
	last, ok, err := l.wh.RunLog.ResumableRun()
	if err != nil {
		return err
	}
	// A start in the future means that the clock was wrong, so the age of the responses is unknown.
	age := now.Sub(last.StartedAt)
	if !ok || l.cfg.Fresh || last.Source != l.cfg.Fetch.BaseURL || age < 0 || age > l.cfg.ResumeMaxAge {
		return nil
	}
	l.mode.resumed = &last
	l.line.ID, l.line.StartedAt, l.line.SnapshotAt, l.line.Attempts = last.Run, last.StartedAt, last.StartedAt, last.Attempt+1
	l.cfg.Log.Info("run resumed", "run", last.Run, "started", last.StartedAt, "attempt", l.line.Attempts)
	return l.lock.WriteHolder(last.Run, now)
}

// execute runs the phases after locked.
func (l *locked) execute(ctx context.Context) (res Result, err error) {
	if err := l.writeUnfinished(""); err != nil {
		return res, err
	}
	p, err := l.prepare(ctx)
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	for {
		var suspects []string
		res, suspects, err = p.readAndPublish(ctx)
		if len(suspects) == 0 {
			break
		}
		p.requestAgain(suspects) // a gate asks for a second reading of these streams
	}
	_, isStopped := errors.AsType[*load.MassDeleteError](err)
	if l.mode.isResumable() && (isStopped || errors.As(err, new(*HoldError))) {
		// A resumed run would use the same responses and stop again.
		err = errors.Join(err, l.wh.RunLog.RemoveResumableRun())
	}
	return res, err
}

// writeUnfinished writes the unfinished-run file. A replay writes none: an existing file belongs to another run.
func (l *locked) writeUnfinished(rights string) error {
	u := l.describeRun(rights)
	switch {
	case l.mode.isResumable():
		return l.wh.RunLog.WriteResumableRun(u)
	case l.mode.usesNetwork():
		u.Kind = l.line.Kind
		return l.wh.RunLog.WriteUnresumableRun(u)
	}
	return nil
}

func (l *locked) describeRun(rights string) warehouse.UnfinishedRun {
	u := warehouse.UnfinishedRun{Run: l.line.ID, StartedAt: l.line.StartedAt, Source: l.cfg.Fetch.BaseURL,
		Rights: rights, Attempt: l.line.Attempts, Program: l.line.Program}
	if last := l.mode.resumed; last != nil {
		u.Rights = cmp.Or(rights, last.Rights)
	}
	return u
}

// prepared is a run whose token was checked.
type prepared struct {
	*locked
	client    *fetch.Client
	store     *fetch.ResponseStore
	token     Token
	began     time.Time       // start of this attempt at the run, on the real clock
	lastNight ledger.Run      // the newest night with a snapshot; without an id before the first night
	readTwice map[string]bool // the streams that are read a second time because of a gate
}

func (l *locked) prepare(ctx context.Context) (*prepared, error) {
	p := &prepared{locked: l, began: time.Now(), readTwice: map[string]bool{}}
	raw := l.wh.Folder.RawPath(cmp.Or(l.mode.replayedRun, l.line.ID))
	var err error
	if p.store, err = fetch.OpenResponseStore(raw, fetch.StoreOptions{Step: l.cfg.Warehouse.Step}); err != nil {
		return nil, err
	}
	if damaged := p.store.Damaged(); damaged > 0 {
		l.cfg.Log.Warn("lines in the index of the stored responses are damaged: a run requests these responses again, a replay omits them", "damaged", damaged)
	}
	runs, err := l.wh.RunLog.Runs()
	if err != nil {
		return nil, errors.Join(err, p.store.Close())
	}
	p.lastNight = lastPublishedNight(runs)
	if l.cfg.Details != AllDetails {
		l.cfg.Fetch.Unsortable = p.lastNight.UnsortedStreams()
	}
	if p.client, err = fetch.New(l.cfg.Fetch, p.store, l.cfg.Log); err != nil {
		return nil, errors.Join(err, p.store.Close())
	}
	l.cfg.Progress.beginRun(p, runs)
	p.token, err = checkToken(ctx, p.client, l.cfg.TeamID)
	if errors.Is(err, fetch.ErrNotStored) {
		err = fmt.Errorf("replay %s: the stored response with the rights of the token is lost, and the night cannot be read without it; nothing was published: "+
			"run placementsync rebuild, which builds the catalog from Parquet, or placementsync run, which reads the service", l.mode.replayedRun)
	}
	if err == nil {
		err = l.checkRights(p.token.describeRights())
	}
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// errRightsChanged means that the stored responses must not be mixed with new responses.
var errRightsChanged = errors.New("resume the run: the type, team or scopes of the token changed")

func (l *locked) checkRights(rights string) error {
	if !l.mode.isResumable() {
		return nil
	}
	last := l.mode.resumed
	if last != nil && last.Rights != "" && last.Rights != rights {
		return fmt.Errorf("%w from %q to %q; a new run starts", errRightsChanged, last.Rights, rights)
	}
	return l.writeUnfinished(rights)
}

func (p *prepared) close() error {
	p.countRequests()
	p.cfg.Progress.endRun()
	p.client.Close()
	return p.store.Close()
}

// telemetry returns the telemetry of the requests so far, by stream.
func (p *prepared) telemetry() map[string]fetch.Telemetry {
	byStream := map[string]fetch.Telemetry{}
	for _, t := range p.client.Telemetry() {
		byStream[t.Stream] = t
	}
	return byStream
}

// countRequests writes the requests so far into the ledger line.
func (p *prepared) countRequests() {
	line := &p.line
	line.Requests, line.Bytes, line.Retries, line.ThrottledSeconds = 0, 0, 0, 0
	for _, t := range p.client.Telemetry() {
		line.Requests += t.Requests
		line.Bytes += t.Bytes
		line.Retries += t.Retries
		line.ThrottledSeconds += t.RetryWait.Seconds()
	}
	if p.mode.usesNetwork() {
		line.Responses = p.store.Responses()
	}
}

// readAndPublish reads the streams, merges their rows and publishes the version. A dry run ends after the merge. If a
// gate stops the night because streams may have omitted rows, readAndPublish returns the names of these streams, which
// must be read a second time.
func (p *prepared) readAndPublish(ctx context.Context) (res Result, suspects []string, err error) {
	reading, err := p.open(ctx)
	if err != nil {
		return res, nil, err
	}
	defer func() { err = errors.Join(err, reading.close()) }()
	read, err := reading.readStreams(ctx)
	if err != nil {
		return res, nil, err
	}
	if p.cfg.FinishCommit {
		ctx = context.WithoutCancel(ctx)
	}
	// From here on, DuckDB needs the memory. DuckDB's limit does not include the memory that Go
	// has freed and not returned to the system.
	debug.FreeOSMemory()
	merged, err := read.merge(ctx)
	if gate, isStopped := errors.AsType[*load.MassDeleteError](err); isStopped {
		suspects = read.suspectsOf(gate.Losses)
		if len(suspects) == 0 { // the losses are final
			p.line.Losses, gate.Reread = gate.Losses, p.mode.usesNetwork()
		} else {
			p.cfg.Log.Warn("too many rows would be deleted: streams are read a second time", "streams", suspects,
				"error", ledger.DescribeLosses(gate.Losses))
		}
		return res, suspects, err
	}
	if err != nil {
		return res, nil, err
	}
	if p.mode.dryRun {
		return Result{Changes: merged.changes}, nil, nil
	}
	published, res, err := merged.publish(ctx)
	if err != nil {
		return res, nil, err
	}
	return res, nil, published.cleanUp()
}

// requestAgain makes the next reading request the given streams again. It uses the stored responses of the other streams.
func (p *prepared) requestAgain(streams []string) {
	for _, name := range streams {
		p.readTwice[name] = true
		p.client.Refetch(name)
	}
}

// end writes the ledger line of a run and releases the lock. err is the error of the run. An error after the publish is
// only logged: readers see the snapshot, and the next run completes the remaining steps.
func (l *locked) end(ctx context.Context, res Result, err error) (Result, error) {
	var afterSwitch *warehouse.AfterSwitchError
	if l.isPublished {
		errors.As(err, &afterSwitch)
	}
	err = l.wh.Folder.DiskFullErr(l.logIfPublished(err))
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = &stoppedError{cause, err, l.mode.stopConsequence()}
	}
	l.completeLine(ctx, err)
	if afterSwitch != nil { // the error is logged, and the ledger also shows it
		l.line.Outcome, l.line.Error = ledger.Partial, ledger.Summarize(afterSwitch)
		l.line.ExitCode = ledger.Partial.ExitCode()
	}
	recordErr := l.wh.RunLog.Record(l.line)
	if recordErr == nil && l.mode.kind != ledger.Replay {
		// A replay writes no unfinished-run file: an existing file belongs to another run.
		recordErr = l.wh.RunLog.RemoveUnresumableRun()
	}
	res.Run = l.line
	return res, l.wh.Folder.DiskFullErr(errors.Join(err, l.logIfPublished(recordErr), l.lock.Release()))
}

// logIfPublished logs an error of a published run, and returns nil. It returns any other error.
func (l *locked) logIfPublished(err error) error {
	if err == nil || !l.isPublished {
		return err
	}
	l.cfg.Log.Warn("published, but a later step failed; the next run completes it", "run", l.line.ID, "error", err)
	return nil
}

// completeLine completes the ledger line of a run that ends now. err is its error.
func (l *locked) completeLine(ctx context.Context, err error) {
	line := &l.line
	line.EndedAt = line.StartedAt.Add(max(0, l.cfg.Now().Sub(line.StartedAt)))
	line.Outcome = ledger.Complete
	if slices.ContainsFunc(line.Streams, func(s ledger.Stream) bool { return s.Incomplete }) {
		line.Outcome = ledger.Partial
	}
	if err != nil {
		line.Outcome, line.Error = ledger.Failed, ledger.Summarize(err)
		if ctx.Err() != nil {
			line.Outcome = ledger.Interrupted
		}
	}
	if err != nil || l.mode.dryRun {
		line.SnapshotAt = time.Time{}
	}
	line.ExitCode = line.Outcome.ExitCode()
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
