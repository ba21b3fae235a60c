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
// A reading that a gate stops is repeated from prepared. mode.go contains the differences between nights,
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
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/stream"
	"placementsync/internal/transform"
	"placementsync/internal/warehouse"
	"placementsync/internal/webhook"
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
		return res, read.suspectsOf(gate), err
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

// locked is a run that holds the lock.
type locked struct {
	cfg         Config
	mode        runMode
	wh          *warehouse.Warehouse
	lock        *warehouse.Lock
	line        ledger.Run // the ledger line
	isPublished bool       // readers see the snapshot
}

func snapshotTime(cfg Config) time.Time { return cfg.Now().UTC().Truncate(time.Microsecond) }

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
	line := ledger.Run{ID: id, Kind: mode.kind, StartedAt: now, SnapshotAt: snapshotAt, Program: cfg.Warehouse.Program}
	return &locked{cfg: cfg, mode: mode, wh: wh, lock: lock, line: line}, nil
}

// prepared is a run whose token was checked.
type prepared struct {
	*locked
	client    *fetch.Client
	store     *fetch.ResponseStore
	token     Token
	began     time.Time       // start of this attempt at the run, on the real clock
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
	if l.cfg.Details != AllDetails {
		l.cfg.Fetch.Unsortable = lastPublishedNight(runs).UnsortedStreams()
	}
	if p.client, err = fetch.New(l.cfg.Fetch, p.store, l.cfg.Log); err != nil {
		return nil, errors.Join(err, p.store.Close())
	}
	l.cfg.Progress.beginRun(p, runs)
	p.token, err = checkToken(ctx, p.client, l.cfg.TeamID)
	if err == nil {
		err = l.checkRights(p.token.describeRights())
	}
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
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

// requestAgain makes the next reading request the given streams again. It uses the stored responses of the other streams.
func (p *prepared) requestAgain(streams []string) {
	p.line.Streams = nil
	for _, name := range streams {
		p.readTwice[name] = true
		p.client.Refetch(name)
	}
}

// reading is a run that reads its streams into the stage of a draft.
type reading struct {
	*prepared
	draft      *warehouse.Draft
	stage      *load.Stage
	closeStage func() error // closes the stage at the first call
	drift      *driftCollector
	idCase     transform.IDCase
	inbox      webhook.Batch // the events that were linked from the inbox into the folder of the run
	streams    streamRuns    // in the order in which they were read
}

func (p *prepared) open(ctx context.Context) (d *reading, err error) {
	d = &reading{prepared: p, drift: newDriftCollector()}
	if p.mode.usesNetwork() {
		d.draft, err = p.wh.Begin(ctx, p.line.ID, p.line.SnapshotAt)
	} else {
		d.draft, err = p.wh.BeginFrom(ctx, p.line.ID, p.line.SnapshotAt, p.mode.base)
	}
	if err != nil {
		return nil, err
	}
	d.draft.Kind = p.line.Kind
	if d.stage, err = load.Open(ctx, d.draft, p.cfg.Streams, p.cfg.Ignored); err != nil {
		return nil, errors.Join(err, d.draft.Discard())
	}
	d.closeStage = sync.OnceValue(func() error { return d.stage.Close(context.WithoutCancel(ctx)) })
	if err = d.unifyStoredIDs(ctx); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// close closes the stage. It removes a draft that was not published.
func (d *reading) close() error {
	d.describeStreams()
	return errors.Join(d.closeStage(), d.draft.Discard())
}

// describeStreams writes the requests and the streams so far into the ledger line.
func (d *reading) describeStreams() {
	d.countRequests()
	d.line.Streams = nil
	telemetry := d.telemetry()
	for _, s := range d.streams {
		d.line.Streams = append(d.line.Streams, s.ledgerStream(telemetry[s.stream.Name], d.cfg.Fetch.RequestsPerSecond))
	}
}

// unifyStoredIDs finds the case of the stored ids, and writes the ids of other rows in this case.
func (d *reading) unifyStoredIDs(ctx context.Context) error {
	ids, err := d.stage.UnifyIDs(ctx)
	if err != nil {
		return err
	}
	if ids.IsKnown {
		d.idCase.Set(ids.IsUpper)
	}
	if ids.Rewritten > 0 {
		d.cfg.Log.Warn("the ids of stored rows were in another case than most ids: they are now in the same case, and their rows get a version if they are read",
			"rows", ids.Rewritten)
	}
	return nil
}

func (d *reading) unifyIDs(ids []string) []string {
	unified := make([]string, len(ids))
	for i, id := range ids {
		unified[i] = d.idCase.Unify(id)
	}
	return unified
}

// read is a run whose streams are graded.
type read struct{ *reading }

// A gate stops a night with an unusual number of deletions, because the service may have omitted records
// that still exist. Before a gate stops the night, the streams of the affected tables, and the lists that contain
// their ids, are requested a second time in the same run. Their first responses are not used. --allow-mass-delete
// accepts a loss only if the second reading confirms the loss.

// suspectsOf returns the streams to read a second time because of a gate, lists before details. It returns none if the
// streams of a table with a loss were read twice, because this loss would remain, and in a replay. The losses are
// then final.
func (r *read) suspectsOf(gate *load.MassDeleteError) []string {
	suspects := r.streamsToReread(gate.Losses)
	if len(suspects) == 0 || !r.mode.usesNetwork() {
		r.line.Losses, gate.Reread = gate.Losses, r.mode.usesNetwork()
		return nil
	}
	r.cfg.Log.Warn("too many rows would be deleted: streams are read a second time", "streams", suspects, "error", ledger.DescribeLosses(gate.Losses))
	return suspects
}

func (r *read) streamsToReread(losses []ledger.Loss) (names []string) {
	suspects := map[string]bool{}
	for _, l := range losses {
		if len(r.streamsReadOnce(l.Table)) == 0 {
			return nil
		}
		r.addSuspects(l.Table, suspects)
	}
	for _, s := range r.cfg.Streams {
		if suspects[s.Name] && r.wasReadOnce(s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// addSuspects adds the streams that may have omitted rows of a table: the streams that fill the table, and the streams
// that contain the ids of its details.
func (r *read) addSuspects(table string, suspects map[string]bool) {
	for _, name := range stream.FilledBy(r.cfg.Streams, table) {
		if suspects[name] {
			continue
		}
		suspects[name] = true
		s, _ := stream.Find(r.cfg.Streams, name)
		for _, ref := range s.IDColumns {
			if ref.ShowsRecord() {
				r.addSuspects(ref.Table, suspects)
			}
		}
	}
}

func (r *read) streamsReadOnce(table string) []string {
	return slices.DeleteFunc(stream.FilledBy(r.cfg.Streams, table), func(name string) bool { return !r.wasReadOnce(name) })
}

func (r *read) wasReadOnce(name string) bool { return r.streams.wasRead(name) && !r.readTwice[name] }
