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

// reader asks the service for the streams of a night, one after the other.
type reader struct {
	night  *night
	client *fetch.Client
	token  Token
	// began is when this attempt at the run did, on the real clock. listsEnded is how long
	// after it the last list was read, and until how long after it details of the stream
	// that is being read are begun; 0 of both: not yet, and no such bound.
	began             time.Time
	listsEnded, until time.Duration
	// last is the last night with a snapshot, and isShort whether its time was short.
	last             ledger.Run
	hasLast, isShort bool
	// done is added to by the finisher, and may be read after its waitFinished.
	done results
}

// received is a stream that was asked for all it has, with the rows that its
// decoders still hold and the error that ended it, if one did.
type received struct {
	streamResult
	sink *sink // nil: it was not asked for
	// details adds up what became of the ids of a stream that is read in parts.
	details fetch.Details
	// took is how long reading and staging it have taken so far.
	took time.Duration
	err  error
}

func newReceived(s stream.Stream) *received {
	return &received{streamResult: streamResult{stream: s, evidence: fetch.Evidence{Stream: s.Name, Grade: fetch.Skipped, TotalFirst: -1, TotalLast: -1}}}
}

// extract reads the streams one after the other, lists before details, each
// with all workers at once: the shorter a walk, the less can change under it,
// and the governor is fully used either way. Only what makes the rest
// pointless is an error; a stream that fails is a result.
func (r *reader) extract(parent context.Context) error {
	ctx, end := context.WithCancelCause(parent)
	defer end(nil)
	behind := &finisher{reader: r, queue: make(chan received, len(r.night.cfg.Streams)), ended: make(chan struct{})}
	go behind.run(ctx, end)
	err := r.readStreams(ctx, behind)
	finishErr := behind.close() // the finisher adds to r.done until then
	if err = cmp.Or(finishErr, err, r.done.requireAny(len(r.night.cfg.Chosen) == 1)); err != nil {
		return err
	}
	return r.forecastNights(ctx)
}

func (r *reader) readStreams(ctx context.Context, behind *finisher) error {
	n := r.night
	if err := r.lookBack(); err != nil {
		return err
	}
	var begun map[string]*received
	for _, s := range listsFirst(n.cfg.Streams, r.last) {
		// What details are asked for is known when the lists are finished.
		if s.IsEvents() || s.IsDetail() || n.mode.isRefresh() {
			if err := cmp.Or(behind.waitFinished(), n.waitOpened(ctx)); err != nil {
				return err
			}
		}
		if s.IsEvents() && n.eventSinks == nil {
			if err := n.takeEvents(ctx); err != nil {
				return stageErr(err)
			}
		}
		if s.IsDetail() && begun == nil {
			var err error
			r.listsEnded = time.Since(r.began)
			if begun, err = r.readAhead(ctx); err != nil {
				return err
			}
		}
		one := begun[s.Name]
		if one == nil {
			one = newReceived(s)
		}
		if one.err == nil && r.isWanted(&one.streamResult) {
			if err := r.readStream(ctx, one, load.PrioritySettled); err != nil {
				return err
			}
		}
		behind.open.Add(1)
		behind.queue <- *one
	}
	return nil
}

// isWanted reports whether a stream is to be read in this run, and enters why not.
func (r *reader) isWanted(one *streamResult) bool {
	s, mode := one.stream, r.night.mode
	reason := r.night.cfg.skipReason(r.token, s)
	if mode.leavesStream(s) {
		return reason == "" && len(mode.targetIDs(s)) > 0
	}
	one.evidence.Reason = reason
	if reason == "" && !s.IsDetail() && !s.IsEvents() && !r.mayRead(s, r.listParam(s)) {
		one.failed = r.unreadErr(s, 0, 0)
		one.evidence.Reason = one.failed.Error()
		return false
	}
	return reason == ""
}

// readStream asks one stream for all it has, details up to a turn. The error is one
// that ends the night; any other stays with the stream.
func (r *reader) readStream(ctx context.Context, one *received, last load.Priority) (err error) {
	s, began := one.stream, time.Now()
	defer func() { one.took += time.Since(began) }()
	r.night.cfg.Watch.setReading(s)
	if one.sink = cmp.Or(one.sink, r.night.eventSinks[s.Name]); one.sink == nil {
		if one.sink, err = r.night.newSink(s); err != nil {
			return err
		}
	}
	switch {
	case s.IsEvents():
		one.err = r.night.gradeEvents(ctx, one)
	case s.IsDetail():
		one.err = r.readDetails(ctx, one, last)
	default:
		one.evidence, one.err = r.client.Walk(ctx, s, r.listParam(s), one.sink.readBody)
		one.distinct = int64(one.evidence.Distinct)
		one.cover = load.Whole
		if one.evidence.Grade == fetch.BestEffort {
			one.cover = load.Unproven
		}
	}
	if endsNight(ctx, one.err) {
		return errors.Join(one.err, one.sink.broken)
	}
	return nil
}

// listParam fills the path of a list; most have no parameter.
func (r *reader) listParam(s stream.Stream) string {
	if strings.Contains(s.Path, "{team_id}") {
		return r.token.TeamID
	}
	return ""
}

// endsNight reports whether an error would meet every other stream, too. A disk that
// could not store an answer is one, even for a moment: the service is not to blame,
// and the next run resumes.
func endsNight(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.As(err, new(*fetch.AuthError)) ||
		errors.As(err, new(*fetch.LandingError)) || errors.Is(err, errStage))
}

// finisher finishes streams in the order in which they were read, while the next
// lists are being asked for: DuckDB sorts out copies of records meanwhile, time in
// which the allowed requests would lie idle.
type finisher struct {
	reader *reader
	queue  chan received
	ended  chan struct{}
	open   sync.WaitGroup
	// err is what ended the night; it may be read after waitFinished.
	err error
}

// run finishes streams until close. It calls end when what it met ends the night.
func (f *finisher) run(ctx context.Context, end context.CancelCauseFunc) {
	defer close(f.ended)
	for one := range f.queue {
		if f.err == nil {
			if f.err = f.finishStream(ctx, one); f.err != nil {
				end(f.err)
			}
		}
		f.open.Done()
	}
}

// waitFinished returns when all streams that were read are finished.
func (f *finisher) waitFinished() error {
	f.open.Wait()
	return f.err
}

func (f *finisher) close() error {
	close(f.queue)
	<-f.ended
	return f.err
}

// finishStream stages what is left of a stream and decides what it proves.
func (f *finisher) finishStream(ctx context.Context, one received) error {
	n, r := f.reader.night, &one.streamResult
	err := n.waitOpened(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if one.sink == nil {
		err = f.carryRows(ctx, r)
		if err == nil && n.mode.leavesStream(r.stream) {
			// A refresh leaves it with its grade and reason, too.
			var last ledger.Stream
			var known bool
			if last, known, err = n.draft.LastGrade(ctx, r.stream.Name); known {
				r.evidence.Grade, r.evidence.Reason, r.since = fetch.Grade(last.Grade), last.Reason, last.AgeSince
			}
		}
	} else {
		err = one.err
		if err == nil || one.sink.broken != nil {
			err = errors.Join(err, one.sink.flushAll(ctx))
		}
		// Passes over a list overlap; its records are those it has ids for.
		r.rows, r.rejects = cmp.Or(r.distinct, one.sink.count.Load()), one.sink.rejects.Load()
		if err != nil {
			err = f.judgeError(ctx, r, err)
		} else if n.mode.isRefresh() && r.cover == load.ByID {
			err = r.capGrade(ctx, n.draft)
		}
	}
	if err == nil {
		distinct := !r.stream.IsDetail() && r.distinct > 0 && r.distinct == one.sink.count.Load()
		err = n.stage.Rows.Finish(ctx, r.stream, r.cover, distinct)
	}
	if err != nil {
		return err
	}
	if one.sink != nil && (r.cover == load.Whole || r.cover == load.Unproven) {
		one.sink.writeEntries()
	}
	f.reader.done = append(f.reader.done, *r)
	n.cfg.Watch.setRead(*r)
	if err := n.faultPoint("stream staged"); err != nil {
		return err
	}
	one.took += time.Since(began)
	f.logStream(ctx, one)
	return nil
}

// logStream writes the line of a stream. What nobody chose or delivered is not worth one,
// nor are those of a refresh, which is about a few records.
func (f *finisher) logStream(ctx context.Context, one received) {
	n, r, level, what := f.reader.night, one.streamResult, slog.LevelInfo, "stream read"
	standing, reason := ledger.StandingOf(string(r.evidence.Grade)), r.evidence.Reason
	switch standing {
	case ledger.Proven:
		reason = "" // it is evidence, which meta.streams has
	case ledger.NotRead, ledger.Carried:
		what = "stream not read"
	}
	wanted := slices.Contains(n.cfg.Chosen, r.stream.Name) || r.stream.IsEvents() && standing != ledger.NotRead
	if n.mode.isRefresh() || !wanted {
		level = slog.LevelDebug
	}
	var cost fetch.Telemetry
	for _, t := range f.reader.client.Telemetry() {
		if t.Stream == r.stream.Name {
			cost = t
		}
	}
	n.cfg.Log.Log(ctx, level, what, "stream", r.stream.Name, "rows", r.rows, "requests", cost.Requests, "retries", cost.Retries,
		"standing", string(standing), "grade", string(r.evidence.Grade), "took", one.took, "reason", reason)
}

// judgeError decides what an error means for the night: an end for all, a skipped
// stream, or one whose last rows are carried.
func (f *finisher) judgeError(ctx context.Context, r *streamResult, err error) error {
	var scope *fetch.ScopeError
	switch {
	case endsNight(ctx, err):
		return err
	case errors.As(err, &scope):
		r.evidence.Grade, r.evidence.Reason = fetch.Skipped, "403: "+err.Error()
		if f.reader.token.provesAccess(r.stream) {
			r.failed = err
		}
	default:
		r.evidence.Grade, r.evidence.Reason, r.failed = fetch.Skipped, err.Error(), err
	}
	return f.carryRows(ctx, r)
}

// carryRows leaves the last rows of a stream that was not read. Without any it is
// skipped: nothing missing is passed off as empty.
func (f *finisher) carryRows(ctx context.Context, r *streamResult) error {
	n := f.reader.night
	since, ok, err := n.draft.LastProven(ctx, r.stream.Name)
	if err != nil {
		return err
	}
	r.cover = load.Carried
	if r.stream.Completes != "" {
		// The list goes on without its details: the plan decides which of them
		// still describe their record.
		if _, err := n.stage.Details.Plan(ctx, r.stream, load.Rereading{LiveDays: n.cfg.LiveDays}, f.reader.done.wasRead); err != nil {
			return err
		}
	}
	if ok {
		r.since, r.evidence.Grade = since, fetch.CarriedForward
	}
	return nil
}
