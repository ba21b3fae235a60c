package pipeline

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"placementsync/internal/fetch"
	"placementsync/internal/load"
	"placementsync/internal/stream"
	"placementsync/internal/transform"
	"placementsync/internal/webhook"
)

// Webhook events are read after the lists and before the details, which they
// can make live. They are landed like answers, so that a run can be taken up or
// replayed with them, and leave the inbox when the run has published. They are
// told apart by their ids in meta.webhook_events: whatever comes twice, from the
// service, from the inbox or from the landing of another run, joins once.

// What is staged at once is bounded in events and in bytes.
const (
	eventBatch      = 1000
	eventBatchBytes = 8 << 20
)

// withheldBody stands for the body of a rejected event that may hold private
// values.
const withheldBody = `"(withheld: the event may hold private columns)"`

// takeEvents lands the inbox and stages what waits there, once a night.
func (n *night) takeEvents(ctx context.Context) error {
	if n.eventsTaken {
		return nil
	}
	n.eventsTaken = true
	folders, err := n.landEvents(ctx)
	if err != nil {
		return err
	}
	var batch []load.Event
	size := 0
	for e, err := range readAll(folders) {
		if err != nil {
			return err
		}
		batch = append(batch, e)
		if size += len(e.Body); len(batch) < eventBatch && size < eventBatchBytes {
			continue
		}
		if err := n.stage.AddEvents(ctx, batch); err != nil {
			return err
		}
		batch, size = batch[:0], 0
	}
	return errors.Join(n.stage.AddEvents(ctx, batch), n.stage.FinishEvents(ctx))
}

// readAll numbers the events of several folders.
func readAll(folders []string) iter.Seq2[load.Event, error] {
	return func(yield func(load.Event, error) bool) {
		seq := uint64(0)
		for _, folder := range folders {
			for e, err := range webhook.Read(folder) {
				seq++
				sum := sha256.Sum256(e.Body)
				staged := load.Event{ID: e.ID, Topic: e.Topic, Source: e.Source, Sent: e.Sent, Received: e.Received,
					Body: strings.ToValidUTF8(string(e.Body), "\uFFFD"), Sum: hex.EncodeToString(sum[:]), Seq: seq}
				if !yield(staged, err) || err != nil {
					return
				}
			}
		}
	}
}

// landEvents gives the folders of events that the snapshot may lack: what this
// run landed, and what runs did that it does not build on, since they were
// rolled back or did not publish.
func (n *night) landEvents(ctx context.Context) ([]string, error) {
	if !n.mode.asksService() {
		return []string{n.wh.LandedEvents(n.mode.source)}, nil
	}
	folder := n.wh.LandedEvents(n.run.ID)
	var err error
	if n.inbox, err = webhook.Land(n.wh.Disk(), n.wh.InboxPath(), folder); err != nil {
		return nil, err
	}
	if err := n.faultPoint("events landed"); err != nil {
		return nil, err
	}
	lineage, err := n.stage.Lineage(ctx)
	if err != nil {
		return nil, err
	}
	runs, err := n.wh.Landed()
	if err != nil {
		return nil, err
	}
	var folders []string
	for _, run := range runs {
		if !lineage[run] && run != n.run.ID {
			folders = append(folders, n.wh.LandedEvents(run))
		}
	}
	return append(folders, folder), nil
}

// readEvents turns the new events of a stream's topics into its rows. That a
// delivery never came cannot be seen, so that nothing is proven about them.
func (n *night) readEvents(ctx context.Context, s stream.Stream, sink *sink, r *streamResult) error {
	if err := errors.Join(n.takeEvents(ctx), n.judgeEvents(ctx, s, sink)); err != nil {
		return fmt.Errorf("%w: %w", errStage, err)
	}
	some, err := n.stage.HasRows(ctx, s.Root().Name)
	if err != nil {
		return fmt.Errorf("%w: %w", errStage, err)
	}
	r.cover = load.Unproven
	r.evidence.Grade, r.evidence.Reason = fetch.BestEffort, "built from the deliveries that were received; missed ones cannot be detected"
	if !some && sink.recordCount() == 0 {
		r.evidence.Grade, r.evidence.Reason = fetch.Skipped, "no webhook delivery was received yet"
	}
	return nil
}

func (n *night) judgeEvents(ctx context.Context, s stream.Stream, sink *sink) error {
	private := n.isPrivate(s)
	var verdicts []load.Verdict
	for e, err := range n.stage.NewEvents(ctx, s.Topics) {
		if err != nil {
			return err
		}
		outcome, err := sink.event(ctx, e, private)
		if err != nil {
			return err
		}
		verdicts = append(verdicts, load.Verdict{ID: e.ID, Outcome: outcome, Withheld: private})
		if len(verdicts) < eventBatch {
			continue
		}
		if err := n.stage.Judged(ctx, verdicts); err != nil {
			return err
		}
		verdicts = verdicts[:0]
	}
	return n.stage.Judged(ctx, verdicts)
}

// event stages one event, or rejects it: a body that is no event of its topic
// would be no better the second time.
func (k *sink) event(ctx context.Context, e load.Event, private bool) (outcome string, err error) {
	record, err := webhook.Event{ID: e.ID, Topic: e.Topic, Source: e.Source, Sent: e.Sent,
		Received: e.Received, Body: []byte(e.Body)}.Record()
	if err == nil {
		err = k.decodeEvent(ctx, e, record)
	}
	var invalid *webhook.InvalidError
	switch {
	case errors.As(err, &invalid), errors.Is(err, transform.ErrMalformed):
		reject := stream.Reject{Table: k.stream.Root().Name, Key: e.ID, Raw: e.Body, Reason: err.Error(), Seq: e.Seq}
		if private {
			reject.Raw = withheldBody
		}
		return load.EventRejected, k.night.stage.Reject(ctx, []stream.Reject{reject})
	case err != nil:
		return "", err
	}
	return load.EventStored, nil
}

func (k *sink) decodeEvent(ctx context.Context, e load.Event, record []byte) error {
	d := <-k.decoders
	defer func() { k.decoders <- d }()
	page, err := k.decodeBody(ctx, d, fetch.Response{Seq: e.Seq, Body: record})
	if err != nil {
		return err
	}
	k.count.Add(int64(page.Records))
	if err := k.stageFindings(ctx, d.Findings()); err != nil {
		return err
	}
	if d.Rows() < cmp.Or(k.night.cfg.BatchRows, batchRows) {
		return nil
	}
	return k.flushDecoders(ctx, d)
}

// noteEvents enters the events of the night into meta. A topic that is not
// known may be about anything that is private.
func (n *night) noteEvents(ctx context.Context) error {
	if !n.eventsTaken {
		return nil
	}
	withhold := slices.ContainsFunc(n.cfg.Streams, func(s stream.Stream) bool { return s.IsEvents() && n.isPrivate(s) })
	_, err := n.stage.NoteEvents(ctx, withhold)
	return err
}
