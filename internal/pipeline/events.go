package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
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
// and are removed from the inbox when the run has published. An id that meta.webhook_events
// has is not read again, whether the service repeated the event or it is landed in two runs.

// Events are staged in batches that are bounded in number and in bytes.
const (
	eventBatch      = 1000
	eventBatchBytes = 8 << 20
)

// withheldBody stands for the body of a rejected event that may hold private
// values.
const withheldBody = `"(withheld: the event may hold private columns)"`

// takeEvents lands the inbox, opens the sinks of the streams of events and stages the events
// that no earlier night has.
func (n *night) takeEvents(ctx context.Context) error {
	folders, err := n.landEvents(ctx)
	if err != nil {
		return err
	}
	routes, err := n.newEventRoutes()
	if err != nil {
		return err
	}
	var batch []stream.Event
	size := 0
	for e, err := range readInbox(folders) {
		if err != nil {
			return err
		}
		batch = append(batch, e)
		if size += len(e.Body); len(batch) < eventBatch && size < eventBatchBytes {
			continue
		}
		if err := n.stageEvents(ctx, batch, routes); err != nil {
			return err
		}
		batch, size = batch[:0], 0
	}
	return n.stageEvents(ctx, batch, routes)
}

// eventRoute is where the events of a topic go: without a sink, to meta.webhook_events alone.
type eventRoute struct {
	sink *sink
	// private says that the bodies may hold private values.
	private bool
}

// newEventRoutes opens the sinks of the streams of events and returns the routes by
// topic. The empty topic stands for all topics without a stream: their events may be about
// anything that is private.
func (n *night) newEventRoutes() (map[string]eventRoute, error) {
	n.eventSinks = map[string]*sink{}
	routes := map[string]eventRoute{}
	var unknown eventRoute
	for _, s := range n.cfg.Streams {
		if !s.IsEvents() {
			continue
		}
		private := len(n.privateColumns(s, slices.Concat(n.cfg.Privacy.Drop, n.cfg.Privacy.Hash))) > 0
		unknown.private = unknown.private || private
		sink, err := n.newSink(s)
		if err != nil {
			return nil, err
		}
		n.eventSinks[s.Name] = sink
		for _, topic := range s.Topics {
			routes[topic] = eventRoute{sink, private}
		}
	}
	routes[""] = unknown
	return routes, nil
}

// stageEvents turns the new events of a batch into rows of their streams and of
// meta.webhook_events. Of several deliveries of one event the first counts.
func (n *night) stageEvents(ctx context.Context, batch []stream.Event, routes map[string]eventRoute) error {
	if len(batch) == 0 {
		return nil
	}
	ids := make([]string, len(batch))
	for i, e := range batch {
		ids[i] = e.ID
	}
	known, err := n.stage.Events.Known(ctx, ids)
	if err != nil {
		return err
	}
	var rows []load.EventRow
	for _, e := range batch {
		if known[e.ID] {
			continue
		}
		known[e.ID] = true
		route, found := routes[e.Topic]
		if !found {
			route = routes[""]
		}
		sum := sha256.Sum256(e.Body)
		e.Body = bytes.ToValidUTF8(e.Body, []byte("\uFFFD"))
		row := load.EventRow{Event: e, BodySum: hex.EncodeToString(sum[:]), Outcome: load.EventUnknown, Withheld: route.private}
		if route.sink != nil {
			if row.Outcome, err = route.sink.stageEvent(ctx, e, route.private); err != nil {
				return err
			}
		}
		rows = append(rows, row)
	}
	return n.stage.Events.Add(ctx, rows)
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

// gradeEvents grades a stream of events. Nothing is proven about it, since a delivery that
// never came cannot be detected.
func (n *night) gradeEvents(ctx context.Context, one *received) error {
	some, err := n.stage.Events.HasRows(ctx, one.stream.Root().Name)
	if err != nil {
		return stageErr(err)
	}
	one.cover = load.Unproven
	one.evidence.Grade, one.evidence.Reason = fetch.BestEffort, "built from the deliveries that were received; missed ones cannot be detected"
	if !some && one.sink.count.Load() == 0 {
		one.evidence.Grade, one.evidence.Reason = fetch.Skipped, "no webhook delivery was received yet"
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
		if table != def.Name && !slices.Contains(stream.SameKind(s.SameKindAs), table) {
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
