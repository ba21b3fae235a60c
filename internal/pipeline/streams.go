package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"placementsync/internal/fetch"
	"placementsync/internal/humanize"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/stream"
	"placementsync/internal/transform"
	"placementsync/internal/warehouse"
	"placementsync/internal/webhook"
)

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

// readStreams reads the streams one after the other: the lists, then the events, then the details, whose ids the lists
// contain. All workers read the same stream, because fewer records change during a short walk. The error of a
// single stream is part of its streamRun. readStreams returns only errors that end the night.
func (d *reading) readStreams(ctx context.Context) (*read, error) {
	lists, events, details := inReadingOrder(d.cfg.Streams, d.lastNight)
	for _, s := range lists {
		if err := d.readList(ctx, s); err != nil {
			return nil, err
		}
	}
	if err := d.readEvents(ctx, events); err != nil {
		return nil, err
	}
	for _, s := range details {
		if err := d.readDetails(ctx, s); err != nil {
			return nil, err
		}
	}
	if err := d.streams.requireData(len(d.cfg.Chosen) == 1); err != nil {
		return nil, err
	}
	// A published version must not outlive its stored responses.
	return &read{d}, d.store.Sync()
}

// inReadingOrder puts the lists first that the last night had no time for. The order of details and events does
// not change: the streams with the most ids, which are those of the catalog, are last.
func inReadingOrder(streams []stream.Stream, lastNight ledger.Run) (lists, events, details []stream.Stream) {
	var unread []stream.Stream
	for _, s := range streams {
		wasUnread := slices.ContainsFunc(lastNight.Streams, func(l ledger.Stream) bool {
			return l.Stream == s.Name && l.Incomplete && l.Grade.IsUnread()
		})
		switch {
		case s.IsEvents():
			events = append(events, s)
		case s.IsDetail():
			details = append(details, s)
		case wasUnread:
			unread = append(unread, s)
		default:
			lists = append(lists, s)
		}
	}
	return slices.Concat(unread, lists), events, details
}

// lastPublishedNight returns the newest night with a snapshot, or a run without an id.
func lastPublishedNight(runs []ledger.Run) ledger.Run {
	for _, r := range slices.Backward(runs) {
		if r.IsNight() && !r.SnapshotAt.IsZero() {
			return r
		}
	}
	return ledger.Run{}
}

// readList reads a list until it is proven to be complete.
func (d *reading) readList(ctx context.Context, s stream.Stream) error {
	run, reason := d.begin(s)
	param := d.token.pathParam(s)
	if reason == "" && !d.canRead(s, param) {
		run.fail(d.unreadErr(0, 0))
		reason = run.evidence.Reason
	}
	if reason != "" {
		return d.finishUnread(ctx, run)
	}
	sink, err := d.openSink(ctx, s)
	if err != nil {
		return err
	}
	run.evidence, err = d.client.Walk(ctx, s, param, sink.readResponse)
	run.distinct, run.missed = int64(run.evidence.Distinct), int64(run.evidence.FailedPages)
	if run.evidence.Failure != nil {
		run.fail(run.evidence.Failure)
	}
	run.coverage = load.Whole
	if run.evidence.Grade == stream.BestEffort {
		run.coverage = load.Unproven
	}
	return d.finish(ctx, run, sink, err)
}

// begin begins the run of a stream. reason is not empty if the stream is not read.
func (d *reading) begin(s stream.Stream) (run *streamRun, reason string) {
	run = &streamRun{stream: s, began: time.Now(), isRefused: len(missingScopes(d.token, s)) > 0,
		evidence: fetch.Evidence{Grade: stream.Skipped, TotalFirst: -1, TotalLast: -1}}
	reason = d.cfg.skipReason(d.token, s)
	if !d.mode.keepsGrade(s) {
		run.evidence.Reason = reason
	} else if reason == "" && len(d.mode.targetIDs(s)) == 0 {
		reason = "the refresh has no target in this stream"
	}
	return run, reason
}

// endsNight reports whether all other streams would fail with the same error.
func endsNight(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, fetch.ErrAuth) || errors.Is(err, fetch.ErrStore) || errors.Is(err, errStage))
}

// finish stages the remaining rows of a stream, and grades the stream. err is the error of its requests. finish
// returns an error that ends the night. After any other error, the stream keeps its last rows.
func (d *reading) finish(ctx context.Context, run *streamRun, sink *sink, err error) error {
	err = errors.Join(err, sink.stagingErr)
	if err == nil {
		err = sink.flushDecoders(ctx, sink.decoders...)
	}
	if endsNight(ctx, err) {
		return err
	}
	// Passes over a list overlap, so records with ids are counted by distinct ids.
	run.rows, run.rejects = cmp.Or(run.distinct, sink.records.Load()), sink.rejects.Load()
	if err != nil {
		if err := d.finishFailed(ctx, run, err); err != nil {
			return err
		}
		return d.finishRows(ctx, run)
	}
	if rejectionErr := sink.rejectionErr(); run.failure == nil && rejectionErr != nil {
		run.failure, run.evidence.Reason = rejectionErr, ledger.Summarize(rejectionErr)+"; "+run.evidence.Reason
	}
	if d.mode.isRefresh() && run.coverage == load.ByID {
		if err := run.capGrade(ctx, d.draft); err != nil {
			return err
		}
	}
	return d.finishRows(ctx, run)
}

// finishFailed makes a stream keep its last rows because of an error of its requests.
func (d *reading) finishFailed(ctx context.Context, run *streamRun, err error) error {
	run.evidence.Grade = stream.Skipped
	if !errors.Is(err, fetch.ErrScope) {
		run.fail(err)
		return d.carryRows(ctx, run)
	}
	run.evidence.Reason, run.isRefused = "403: "+ledger.Summarize(err), true
	if err := d.carryRows(ctx, run); err != nil {
		return err
	}
	// If the type of the token or the scope of the stream is not documented, a 403 is expected, unless an earlier
	// night read the stream.
	isDocumented := run.stream.Scopes != nil && slices.Contains([]string{"full_access", "custom", "read_only"}, d.token.Type)
	if isDocumented || run.evidence.Grade == stream.CarriedForward {
		run.failure = err
	}
	return nil
}

// finishUnread finishes a stream that was not requested. In a refresh, it keeps its last grade and reason.
func (d *reading) finishUnread(ctx context.Context, run *streamRun) error {
	if err := d.carryRows(ctx, run); err != nil {
		return err
	}
	if !d.mode.keepsGrade(run.stream) {
		run.failLostRight()
		return d.finishRows(ctx, run)
	}
	last, isKnown, err := d.draft.LastGrade(ctx, run.stream.Name)
	if err != nil {
		return err
	}
	if isKnown {
		run.evidence.Grade, run.evidence.Reason, run.since = last.Grade, last.Reason, last.AgeSince
	}
	return d.finishRows(ctx, run)
}

// carryRows keeps the last rows of a stream that was not read. A stream that was never read is graded
// skipped, because its table is empty although the service may have rows.
func (d *reading) carryRows(ctx context.Context, run *streamRun) error {
	since, wasRead, err := d.draft.RowsReadSince(ctx, run.stream.Name)
	if err != nil {
		return err
	}
	run.coverage = load.Carried
	if run.stream.Completes != "" {
		// The list is merged without new details. The plan decides which stored details still match
		// their record.
		if _, err := d.stage.PlanDetails(ctx, run.stream, load.Rereading{LiveDays: d.cfg.LiveDays}, d.streams.wasRead); err != nil {
			return err
		}
	}
	if wasRead {
		run.since, run.evidence.Grade = since, stream.CarriedForward
	}
	return nil
}

// finishRows completes the staged rows of a stream whose coverage and grade are known.
func (d *reading) finishRows(ctx context.Context, run *streamRun) error {
	if err := d.stage.FinishStream(ctx, run.stream, run.coverage); err != nil {
		return err
	}
	d.streams = append(d.streams, *run)
	d.cfg.Progress.setRead(run)
	d.logStream(ctx, run)
	return nil
}

func (d *reading) logStream(ctx context.Context, run *streamRun) {
	level, message := slog.LevelInfo, "stream read"
	standing, reason := ledger.StandingOf(run.evidence.Grade), run.evidence.Reason
	switch standing {
	case ledger.Proven:
		reason = "" // the evidence is in meta.streams
	case ledger.NotRead, ledger.Carried:
		message = "stream not read"
	}
	isInfo := slices.Contains(d.cfg.Chosen, run.stream.Name) || run.stream.IsEvents() && standing != ledger.NotRead
	if d.mode.isRefresh() || !isInfo {
		level = slog.LevelDebug
	}
	telemetry := d.telemetry()[run.stream.Name]
	log := d.cfg.Log
	if run.failure != nil {
		log = log.With("error", run.failure) // the reason contains only the summary
	}
	log.Log(ctx, level, message, "stream", run.stream.Name, "rows", run.rows, "requests", telemetry.Requests, "retries", telemetry.Retries,
		"standing", string(standing), "grade", run.evidence.Grade, "took", time.Since(run.began), "reason", reason)
}

// Config.MaxDuration limits the time in which a night reads. After this time, no new list or id is
// requested. Requests in progress end normally, and the night merges and publishes the records that were
// read. Unread lists and ids keep their rows, and the next night plans to read them.

// isTimeOver reports whether the time for new lists and ids is over. A replay sends no requests, so its time is
// always over.
func (p *prepared) isTimeOver() bool {
	limit := p.cfg.MaxDuration
	return !p.mode.usesNetwork() || limit > 0 && time.Since(p.began) >= limit
}

// A list or id whose response was stored in an earlier attempt needs no time.
func (p *prepared) canRead(s stream.Stream, param string) bool {
	return !p.isTimeOver() || p.client.HasStored(s, param)
}

// unreadErr returns the error for a stream that this run had no time to read completely. For a list,
// unread and planned are 0. Otherwise they are numbers of ids.
func (p *prepared) unreadErr(unread, planned int64) error {
	when := "within run.max_duration (" + humanize.Duration(p.cfg.MaxDuration) + ")"
	if !p.mode.usesNetwork() {
		when = "by the run that is replayed"
	}
	if planned == 0 {
		return errors.New("the list was not read " + when + "; rows of earlier nights are kept")
	}
	return fmt.Errorf("%s of %s %s were not read %s", humanize.Number(unread), humanize.Number(planned), humanize.Noun(planned, "id"), when)
}
