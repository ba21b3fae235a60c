package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"placementsync/internal/fetch"
	"placementsync/internal/load"
	"placementsync/internal/stream"
	"placementsync/internal/transform"
	"placementsync/internal/webhook"
)

// Webhook events are read after the lists and before the details, which they can make
// live. They are landed like answers, so that a run can be resumed or replayed with them,
// and are removed from the inbox when the run has published. meta.webhook_events has the
// ids of all that were read: whatever comes twice, from the service, from the inbox or
// from the landing of another run, is read once.

// What is staged at once is bounded in events and in bytes.
const (
	eventBatch      = 1000
	eventBatchBytes = 8 << 20
)

// withheldBody stands for the body of a rejected event that may hold private
// values.
const withheldBody = `"(withheld: the event may hold private columns)"`

// takeEvents lands the inbox and reads what is new in it, once a night. The ids of all
// events are staged first, so that the body of one that an earlier night has is not
// decoded. first is the sink of the stream that is read first.
func (n *night) takeEvents(ctx context.Context, first *sink) error {
	if n.eventSinks != nil {
		return nil
	}
	folders, err := n.landEvents(ctx)
	if err != nil {
		return err
	}
	routes, err := n.newEventRoutes(first)
	if err != nil {
		return err
	}
	var batch []stream.Event
	for e, err := range readInbox(folders) {
		if err != nil {
			return err
		}
		e.Body = nil
		if batch = append(batch, e); len(batch) < eventBatch {
			continue
		}
		if err := n.stage.Events.AddIDs(ctx, batch); err != nil {
			return err
		}
		batch = batch[:0]
	}
	if err := n.stage.Events.AddIDs(ctx, batch); err != nil {
		return err
	}
	places, err := n.stage.Events.FindNew(ctx)
	if err != nil || len(places) == 0 {
		return err
	}
	return n.decodeEvents(ctx, folders, places, routes)
}

// eventRoute is where the events of a topic go. Without a sink they stand in
// meta.webhook_events alone.
type eventRoute struct {
	sink *sink
	// private says that the bodies may hold private values.
	private bool
}

// newEventRoutes opens the sinks of the streams of events and gives the routes by
// topic. The empty topic stands for all that no stream has: those may be about
// anything that is private.
func (n *night) newEventRoutes(first *sink) (map[string]eventRoute, error) {
	n.eventSinks = map[string]*sink{first.stream.Name: first}
	routes := map[string]eventRoute{}
	var unknown eventRoute
	for _, s := range n.cfg.Streams {
		if !s.IsEvents() {
			continue
		}
		private := len(n.privateColumns(s, slices.Concat(n.cfg.Privacy.Drop, n.cfg.Privacy.Hash))) > 0
		unknown.private = unknown.private || private
		sink := n.eventSinks[s.Name]
		if sink == nil {
			var err error
			if sink, err = n.newSink(s); err != nil {
				return nil, err
			}
			n.eventSinks[s.Name] = sink
		}
		for _, topic := range s.Topics {
			routes[topic] = eventRoute{sink, private}
		}
	}
	routes[""] = unknown
	return routes, nil
}

// decodeEvents reads the inbox again and turns the events at some places into rows of
// their streams and of meta.webhook_events.
func (n *night) decodeEvents(ctx context.Context, folders []string, places []load.EventPlace, routes map[string]eventRoute) error {
	var batch []load.EventRow
	size := 0
	for e, err := range readInbox(folders) {
		if err != nil {
			return err
		}
		if len(places) == 0 {
			break
		}
		if e.Seq != places[0].Seq {
			continue
		}
		if e.ID != places[0].ID {
			break // a line before it can no longer be read
		}
		places = places[1:]
		route, known := routes[e.Topic]
		if !known {
			route = routes[""]
		}
		sum := sha256.Sum256(e.Body)
		e.Body = bytes.ToValidUTF8(e.Body, []byte("\uFFFD"))
		one := load.EventRow{Event: e, BodySum: hex.EncodeToString(sum[:]), Outcome: load.EventUnknown, Withheld: route.private}
		if route.sink != nil {
			if one.Outcome, err = route.sink.stageEvent(ctx, e, route.private); err != nil {
				return err
			}
		}
		batch = append(batch, one)
		if size += len(e.Body); len(batch) < eventBatch && size < eventBatchBytes {
			continue
		}
		if err := n.stage.Events.Add(ctx, batch); err != nil {
			return err
		}
		batch, size = batch[:0], 0
	}
	if len(places) > 0 {
		return fmt.Errorf("read the landed events again: %d of them are not where they were before; nothing was published: look at the disk, then run again", len(places))
	}
	return n.stage.Events.Add(ctx, batch)
}

// readInbox numbers the events of several folders. Times are as exact as the
// catalog stores them.
func readInbox(folders []string) iter.Seq2[stream.Event, error] {
	return func(yield func(stream.Event, error) bool) {
		seq := uint64(0)
		for _, folder := range folders {
			for e, err := range webhook.Read(folder) {
				seq++
				e.Seq, e.Received = seq, e.Received.UTC().Truncate(time.Microsecond)
				if !yield(e, err) || err != nil {
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
		return []string{n.wh.Folder.EventsPath(n.mode.source)}, nil
	}
	folder := n.wh.Folder.EventsPath(n.run.ID)
	var err error
	if n.inbox, err = webhook.Land(n.wh.Folder.Disk(), n.wh.Folder.InboxPath(), folder); err != nil {
		return nil, err
	}
	if err := n.faultPoint("events landed"); err != nil {
		return nil, err
	}
	lineage, err := n.stage.Events.Lineage(ctx)
	if err != nil {
		return nil, err
	}
	runs, err := n.wh.Folder.LandedRuns()
	if err != nil {
		return nil, err
	}
	var folders []string
	for _, run := range runs {
		if !lineage[run] && run != n.run.ID {
			folders = append(folders, n.wh.Folder.EventsPath(run))
		}
	}
	return append(folders, folder), nil
}

// readEvents turns the new events of a stream's topics into its rows. That a
// delivery never came cannot be seen, so that nothing is proven about them.
func (n *night) readEvents(ctx context.Context, s stream.Stream, sink *sink, r *streamResult) error {
	if err := n.takeEvents(ctx, sink); err != nil {
		return stageErr(err)
	}
	some, err := n.stage.Events.HasRows(ctx, s.Root().Name)
	if err != nil {
		return stageErr(err)
	}
	r.cover = load.Unproven
	r.evidence.Grade, r.evidence.Reason = fetch.BestEffort, "built from the deliveries that were received; missed ones cannot be detected"
	if !some && sink.count.Load() == 0 {
		r.evidence.Grade, r.evidence.Reason = fetch.Skipped, "no webhook delivery was received yet"
	}
	return nil
}

// stageEvent stages the rows of one event, or rejects it: a body that is no event of
// its topic would be no better the second time.
func (k *sink) stageEvent(ctx context.Context, e stream.Event, private bool) (outcome string, err error) {
	record, err := webhook.EventRecord(e)
	if err == nil {
		err = k.decodeEvent(ctx, e.Seq, record)
	}
	switch {
	case errors.As(err, new(*webhook.InvalidError)), errors.Is(err, transform.ErrMalformed):
		reject := stream.Reject{Table: k.stream.Root().Name, Key: e.ID, Raw: string(e.Body), Reason: err.Error(), Seq: e.Seq}
		if private {
			reject.Raw = withheldBody
		}
		return load.EventRejected, k.night.stage.Findings.AddRejects(ctx, []stream.Reject{reject})
	case err != nil:
		return "", err
	}
	return load.EventStored, nil
}

func (k *sink) decodeEvent(ctx context.Context, seq uint64, record []byte) error {
	d := <-k.decoders
	defer func() { k.decoders <- d }()
	page, err := k.decodeBody(ctx, d, fetch.Response{Seq: seq, Body: record})
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

// privacyOf returns the privacy rules of a stream. For events they are those of their
// table and of the table which describes the same things, so that what is private
// there is private here.
func (n *night) privacyOf(s stream.Stream) transform.Privacy {
	if !s.IsEvents() {
		return n.cfg.Privacy
	}
	drop := n.privateColumns(s, n.cfg.Privacy.Drop)
	own := transform.Privacy{Key: n.cfg.Privacy.Key}
	for _, column := range n.privateColumns(s, n.cfg.Privacy.Hash) {
		switch c, _ := n.wh.Catalog.Definition(s.Root().Name).Column(column); {
		case slices.Contains(drop, column):
		case c.Type == stream.Text:
			own.Hash = append(own.Hash, s.Root().Name+"."+column)
		default: // only texts can be hashed
			drop = append(drop, column)
		}
	}
	for _, column := range drop {
		own.Drop = append(own.Drop, s.Root().Name+"."+column)
	}
	return own
}

// privateColumns are the columns of a stream of events that rules hold for. A rule about
// a column that only the other table has withholds the unknown fields, where the
// value could be. The text of a comment and its rich form are one value.
func (n *night) privateColumns(s stream.Stream, rules []string) []string {
	def := n.wh.Catalog.Definition(s.Root().Name)
	var columns []string
	for _, rule := range rules {
		table, column, _ := strings.Cut(rule, ".")
		if table != def.Name && !slices.Contains(stream.Kind(s.Like), table) {
			continue
		}
		if _, ok := def.Column(column); !ok {
			column = "extra"
		}
		columns = append(columns, column)
		if column == "content" || column == "content_text" {
			columns = append(columns, "content", "content_text")
		}
	}
	slices.Sort(columns)
	return slices.Compact(columns)
}
