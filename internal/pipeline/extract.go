package pipeline

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/stream"
)

type reader struct {
	night   *night
	client  *fetch.Client
	landing *fetch.Landing
	token   Token
	began   time.Time // start of this attempt at the run, on the real clock
	// finished is filled by the finisher, and can be read while no stream is unfinished.
	finished results
}

// unfinishedResult is the result of a stream until finishStream has staged its remaining rows.
type unfinishedResult struct {
	streamResult
	sink *sink         // nil if the stream was not requested
	took time.Duration // for reading and staging so far
	err  error
}

func newUnfinishedResult(s stream.Stream) *unfinishedResult {
	return &unfinishedResult{streamResult: streamResult{stream: s, evidence: fetch.Evidence{Grade: stream.Skipped, TotalFirst: -1, TotalLast: -1}}}
}

// extract reads the streams one after the other, lists before details. All workers read the same stream,
// because fewer records change during a short walk. The error of a single stream is part of the
// stream's result. extract returns only errors that end the night.
func (r *reader) extract(parent context.Context) error {
	ctx, end := context.WithCancelCause(parent)
	defer end(nil)
	f := &finisher{reader: r, queue: make(chan unfinishedResult, len(r.night.cfg.Streams))}
	go f.run(ctx, end)
	err := r.readStreams(ctx, f)
	close(f.queue)
	f.unfinished.Wait() // until then, the finisher adds to r.finished
	return cmp.Or(f.err, err, r.finished.requireData(len(r.night.cfg.Chosen) == 1))
}

func (r *reader) readStreams(ctx context.Context, f *finisher) error {
	n := r.night
	runs, err := n.wh.RunLog.Runs()
	if err != nil {
		return err
	}
	for _, s := range unreadListsFirst(n.cfg.Streams, lastPublishedNight(runs)) {
		// The ids of the details are known when the lists are finished.
		if s.IsEvents() || s.IsDetail() || n.mode.isRefresh() {
			if f.unfinished.Wait(); f.err != nil {
				return f.err
			}
		}
		if s.IsEvents() && n.eventSinks == nil {
			if err := n.takeEvents(ctx, r.client); err != nil {
				return markStageErr(err)
			}
		}
		result := newUnfinishedResult(s)
		if r.isWanted(&result.streamResult) {
			if err := r.readStream(ctx, result); err != nil {
				return err
			}
		}
		f.unfinished.Add(1)
		f.queue <- *result
	}
	return nil
}

// isWanted reports whether a stream is read in this run. If the stream is not read, isWanted also sets
// the reason. In a refresh, the stream keeps its last reason instead.
func (r *reader) isWanted(result *streamResult) bool {
	s, mode := result.stream, r.night.mode
	reason := r.night.cfg.skipReason(r.token, s)
	result.refused = len(missingScopes(r.token, s)) > 0
	if mode.keepsGrade(s) {
		return reason == "" && len(mode.targetIDs(s)) > 0
	}
	result.evidence.Reason = reason
	if reason == "" && !s.IsDetail() && !s.IsEvents() && !r.canRead(s, r.listParam(s)) {
		result.failure = r.unreadErr(0, 0)
		result.evidence.Reason = result.failure.Error()
		return false
	}
	return reason == ""
}

// readStream returns errors that end the night. Other errors are in result.err.
func (r *reader) readStream(ctx context.Context, result *unfinishedResult) (err error) {
	s, began := result.stream, time.Now()
	defer func() { result.took += time.Since(began) }()
	r.night.cfg.Progress.setReading(s)
	if result.sink = cmp.Or(result.sink, r.night.eventSinks[s.Name]); result.sink == nil {
		if result.sink, err = r.night.newSink(ctx, s); err != nil {
			return err
		}
	}
	switch {
	case s.IsEvents():
		result.err = r.night.gradeEvents(ctx, result)
	case s.IsDetail():
		result.err = r.readDetails(ctx, result)
	default:
		result.evidence, result.err = r.client.Walk(ctx, s, r.listParam(s), result.sink.readBody)
		result.distinct = int64(result.evidence.Distinct)
		result.failure, result.missed = result.evidence.Failure, int64(result.evidence.FailedPages)
		if result.failure != nil {
			result.evidence.Reason = ledger.Summarize(result.failure)
		}
		result.coverage = load.Whole
		if result.evidence.Grade == stream.BestEffort {
			result.coverage = load.Unproven
		}
	}
	if endsNight(ctx, result.err) {
		return errors.Join(result.err, result.sink.stagingErr)
	}
	return nil
}

func (r *reader) listParam(s stream.Stream) string {
	if strings.Contains(s.Path, "{team_id}") {
		return r.token.TeamID
	}
	return ""
}

// endsNight reports whether all other streams would fail with the same error.
func endsNight(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, fetch.ErrAuth) || errors.Is(err, fetch.ErrLanding) || errors.Is(err, errStage))
}

// finisher finishes streams in the order in which they were read. DuckDB removes the duplicate records
// of one list while the next list is requested.
type finisher struct {
	reader     *reader
	queue      chan unfinishedResult
	unfinished sync.WaitGroup // the streams that were queued and are not finished
	err        error          // ended the night; can be read after unfinished.Wait
}

func (f *finisher) run(ctx context.Context, end context.CancelCauseFunc) {
	for result := range f.queue {
		if f.err == nil {
			if f.err = f.finishStream(ctx, result); f.err != nil {
				end(f.err)
			}
		}
		f.unfinished.Done()
	}
}

func (f *finisher) finishStream(ctx context.Context, result unfinishedResult) error {
	n, began := f.reader.night, time.Now()
	var err error
	if result.sink == nil {
		if err = f.carryRows(ctx, &result.streamResult); err != nil {
			return err
		}
		if n.mode.keepsGrade(result.stream) {
			// In a refresh, the stream also keeps its last grade and reason.
			var last ledger.Stream
			var known bool
			if last, known, err = n.draft.LastGrade(ctx, result.stream.Name); known {
				result.evidence.Grade, result.evidence.Reason, result.since = stream.Grade(last.Grade), last.Reason, last.AgeSince
			}
		} else {
			result.failLostRight()
		}
	} else {
		err = result.err
		if err == nil || result.sink.stagingErr != nil {
			err = errors.Join(err, result.sink.flushAll(ctx))
		}
		// Passes over a list overlap, so records with ids are counted by distinct ids.
		result.rows, result.rejects = cmp.Or(result.distinct, result.sink.records.Load()), result.sink.rejects.Load()
		if rejectionErr := result.sink.rejectionErr(); err == nil && result.failure == nil && rejectionErr != nil {
			result.failure, result.evidence.Reason = rejectionErr, rejectionErr.Error()+"; "+result.evidence.Reason
		}
		if err != nil {
			err = f.judgeError(ctx, &result.streamResult, err)
		} else if n.mode.isRefresh() && result.coverage == load.ByID {
			err = result.capGrade(ctx, n.draft)
		}
	}
	if err == nil {
		err = n.stage.FinishStream(ctx, result.stream, result.coverage)
	}
	if err != nil {
		return err
	}
	f.reader.finished = append(f.reader.finished, result.streamResult)
	n.cfg.Progress.setRead(result.streamResult)
	result.took += time.Since(began)
	f.logStream(ctx, result)
	return nil
}

func (f *finisher) logStream(ctx context.Context, result unfinishedResult) {
	n, level, message := f.reader.night, slog.LevelInfo, "stream read"
	standing, reason := ledger.StandingOf(result.evidence.Grade), result.evidence.Reason
	switch standing {
	case ledger.Proven:
		reason = "" // the evidence is in meta.streams
	case ledger.NotRead, ledger.Carried:
		message = "stream not read"
	}
	isInfo := slices.Contains(n.cfg.Chosen, result.stream.Name) || result.stream.IsEvents() && standing != ledger.NotRead
	if n.mode.isRefresh() || !isInfo {
		level = slog.LevelDebug
	}
	var telemetry fetch.Telemetry
	for _, t := range f.reader.client.Telemetry() {
		if t.Stream == result.stream.Name {
			telemetry = t
		}
	}
	log := n.cfg.Log
	if err := cmp.Or(result.failure, result.err); err != nil {
		log = log.With("error", err) // the reason contains only the summary
	}
	log.Log(ctx, level, message, "stream", result.stream.Name, "rows", result.rows, "requests", telemetry.Requests, "retries", telemetry.Retries,
		"standing", string(standing), "grade", result.evidence.Grade, "took", result.took, "reason", reason)
}

// judgeError returns err if it ends the night. After any other error, the stream keeps its last rows.
func (f *finisher) judgeError(ctx context.Context, r *streamResult, err error) error {
	switch {
	case endsNight(ctx, err):
		return err
	case errors.Is(err, fetch.ErrScope):
		r.evidence.Grade, r.evidence.Reason, r.refused = stream.Skipped, "403: "+ledger.Summarize(err), true
		isDocumented := r.stream.Scopes != nil && slices.Contains([]string{"full_access", "custom", "read_only"}, f.reader.token.Type)
		carryErr := f.carryRows(ctx, r)
		// If the type of the token or the scope of the stream is not documented, a 403 is expected, unless an earlier
		// night read the stream.
		if isDocumented || r.evidence.Grade == stream.CarriedForward {
			r.failure = err
		}
		return carryErr
	default:
		r.evidence.Grade, r.evidence.Reason, r.failure = stream.Skipped, ledger.Summarize(err), err
	}
	return f.carryRows(ctx, r)
}

// carryRows keeps the last rows of a stream that was not read. A stream that was never read is graded
// skipped, because its table is empty although the service may have rows.
func (f *finisher) carryRows(ctx context.Context, r *streamResult) error {
	n := f.reader.night
	since, ok, err := n.draft.RowsReadSince(ctx, r.stream.Name)
	if err != nil {
		return err
	}
	r.coverage = load.Carried
	if r.stream.Completes != "" {
		// The list is merged without new details. The plan decides which stored details still match
		// their record.
		if _, err := n.stage.PlanDetails(ctx, r.stream, load.Rereading{LiveDays: n.cfg.LiveDays}, f.reader.finished.wasRead); err != nil {
			return err
		}
	}
	if ok {
		r.since, r.evidence.Grade = since, stream.CarriedForward
	}
	return nil
}
