package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/stream"
	"placementsync/internal/transform"
	"placementsync/internal/webhook"
)

// Webhook events are read after the lists and before the details, because a detail that an event names is
// read again. The events are linked into the folder of the stored responses, so that the run can
// be resumed or replayed. After the publish, the events are removed from the inbox. An event whose id is in
// meta.webhook_events is not loaded again, for example a repeated delivery.

// Events are staged in batches of at most maxBatchEvents events and about maxBatchBytes bytes.
const (
	maxBatchEvents = 1000
	maxBatchBytes  = 8 << 20
)

const withheldBody = `"(withheld: the event may contain private columns)"`

// readEvents stages the events of the inbox, and grades the given streams, which are all streams of events.
func (d *reading) readEvents(ctx context.Context, streams []stream.Stream) error {
	if len(streams) == 0 {
		return nil
	}
	var runs []*streamRun
	var sinks []*sink // of runs
	for _, s := range streams {
		run, _ := d.begin(s)
		sink, err := d.openSink(ctx, s)
		if err != nil {
			return markStageErr(err)
		}
		runs, sinks = append(runs, run), append(sinks, sink)
	}
	if err := d.takeEvents(ctx, sinks); err != nil {
		return markStageErr(err)
	}
	for i, run := range runs {
		if err := d.finish(ctx, run, sinks[i], d.gradeEvents(ctx, run, sinks[i])); err != nil {
			return err
		}
	}
	return nil
}

func (d *reading) takeEvents(ctx context.Context, sinks []*sink) error {
	folders, err := d.linkEvents(ctx)
	if err != nil {
		return err
	}
	var batch []stream.Event
	seq, size := uint64(0), 0
	for _, folder := range folders {
		for e, err := range webhook.Read(folder) {
			if err != nil {
				return err
			}
			seq++
			e.Body = d.client.RemoveTokens(ctx, e.Body)
			e.Seq, e.Received = seq, e.Received.UTC().Truncate(time.Microsecond) // the precision of the catalog
			batch = append(batch, e)
			size += len(e.Body)
			if len(batch) < maxBatchEvents && size < maxBatchBytes {
				continue
			}
			if err := d.stageEvents(ctx, batch, sinks); err != nil {
				return err
			}
			batch, size = batch[:0], 0
		}
	}
	return d.stageEvents(ctx, batch, sinks)
}

// stageEvents stages a row of meta.webhook_events for each event, and the rows of its stream. Only the first delivery
// of an event counts.
func (d *reading) stageEvents(ctx context.Context, batch []stream.Event, sinks []*sink) error {
	if len(batch) == 0 {
		return nil
	}
	ids := make([]string, len(batch))
	for i, e := range batch {
		ids[i] = e.ID
	}
	known, err := d.stage.KnownEvents(ctx, ids)
	if err != nil {
		return err
	}
	var rows []load.EventRow
	for _, e := range batch {
		if known[e.ID] {
			continue
		}
		known[e.ID] = true
		sum := sha256.Sum256(e.Body)
		e.Body = bytes.ToValidUTF8(e.Body, []byte("\uFFFD"))
		row := load.EventRow{Event: e, BodySum: hex.EncodeToString(sum[:]), Outcome: load.EventUnknown}
		i := slices.IndexFunc(sinks, func(k *sink) bool { return slices.Contains(k.stream.Topics, e.Topic) })
		if i >= 0 {
			row.Withheld = sinks[i].isPrivate
			if row.Outcome, err = sinks[i].stageEvent(ctx, e); err != nil {
				return err
			}
		} else { // an event of an unknown topic may contain any private value
			row.Withheld = slices.ContainsFunc(sinks, func(k *sink) bool { return k.isPrivate })
		}
		rows = append(rows, row)
	}
	return d.stage.AddEvents(ctx, rows)
}

// linkEvents links the events of the inbox into the folder of this run. It returns the event folder of this
// run, and the event folders of earlier runs that were rolled back or not published. A replay links no events: it
// returns the folders that the replayed run has read.
func (d *reading) linkEvents(ctx context.Context) ([]string, error) {
	runID := cmp.Or(d.mode.replayedRun, d.line.ID)
	folder := d.wh.Folder.EventsPath(runID)
	if d.mode.usesNetwork() {
		var err error
		if d.inbox, err = webhook.LinkEvents(d.wh.Folder.Disk(), d.wh.Folder.InboxPath(), folder); err != nil {
			return nil, err
		}
	}
	publishedRuns, err := d.stage.PublishedRuns(ctx)
	if err != nil {
		return nil, err
	}
	runs, err := d.wh.Folder.RunsWithResponses()
	if err != nil {
		return nil, err
	}
	var folders []string
	for _, run := range runs {
		isLater := !d.mode.usesNetwork() && run > runID
		if !publishedRuns[run] && run != runID && !isLater {
			folders = append(folders, d.wh.Folder.EventsPath(run))
		}
	}
	return append(folders, folder), nil
}

// A stream of events is never proven, because missed deliveries cannot be detected.
func (d *reading) gradeEvents(ctx context.Context, run *streamRun, sink *sink) error {
	hasRows, err := d.stage.HasRows(ctx, run.stream.Root().Name)
	if err != nil {
		return markStageErr(err)
	}
	run.coverage = load.Unproven
	run.evidence.Grade, run.evidence.Reason = stream.BestEffort, "built from received webhook deliveries; missed deliveries cannot be detected"
	if !hasRows && sink.records.Load() == 0 {
		run.evidence.Grade, run.evidence.Reason = stream.Skipped, ledger.ReasonNoDelivery
	}
	return nil
}

// stageEvent stages an invalid body as a reject, because it cannot be requested again.
func (k *sink) stageEvent(ctx context.Context, e stream.Event) (outcome string, err error) {
	record, err := webhook.EventRecord(e)
	if err == nil {
		_, err = k.decodeBody(ctx, fetch.Response{Seq: e.Seq, Body: record})
	}
	switch {
	case errors.As(err, new(*webhook.InvalidError)), errors.Is(err, transform.ErrMalformed):
		reject := stream.Reject{Table: k.stream.Root().Name, Key: e.ID, Raw: string(e.Body), Reason: err.Error(), Seq: e.Seq}
		if k.isPrivate {
			reject.Raw = withheldBody
		}
		return load.EventRejected, k.reading.stage.AddRejects(ctx, []stream.Reject{reject})
	case err != nil:
		return "", err
	}
	return load.EventStored, nil
}
