package pipeline

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/stream"
	"placementsync/internal/transform"
	"placementsync/internal/webhook"
	"placementsync/schema"
)

// Webhook events are read after the lists and before the details, because a detail that an event names is
// read again. The events are linked into the landing of the run, beside the responses, so that the run can
// be resumed or replayed. After the publish, the events are removed from the inbox. An event whose id is in
// meta.webhook_events is not loaded again. So a repeated delivery is loaded once, and so is an event that
// landed in two runs.

// Events are staged in batches of at most maxBatchEvents events and about maxBatchBytes bytes.
const (
	maxBatchEvents = 1000
	maxBatchBytes  = 8 << 20
)

const withheldBody = `"(withheld: the event may contain private columns)"`

func (n *night) takeEvents(ctx context.Context, client *fetch.Client) error {
	folders, err := n.landEvents(ctx)
	if err != nil {
		return err
	}
	routes, err := n.newEventRoutes(ctx)
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
			e.Body = client.RemoveTokens(ctx, e.Body)
			e.Seq, e.Received = seq, e.Received.UTC().Truncate(time.Microsecond) // the precision of the catalog
			batch = append(batch, e)
			if size += len(e.Body); len(batch) < maxBatchEvents && size < maxBatchBytes {
				continue
			}
			if err := n.stageEvents(ctx, batch, routes); err != nil {
				return err
			}
			batch, size = batch[:0], 0
		}
	}
	return n.stageEvents(ctx, batch, routes)
}

// eventRoute is the destination of the events of a topic. Each event gets a row in meta.webhook_events. If
// sink is not nil, it also gets rows of the stream of the sink.
type eventRoute struct {
	sink      *sink
	isPrivate bool // the bodies may contain private values
}

// Topics without a stream use the route of the empty topic. Their events may contain any private value.
func (n *night) newEventRoutes(ctx context.Context) (map[string]eventRoute, error) {
	n.eventSinks = map[string]*sink{}
	routes := map[string]eventRoute{}
	var unknownTopic eventRoute
	for _, s := range n.cfg.Streams {
		if !s.IsEvents() {
			continue
		}
		isPrivate := len(privateEventColumns(s, n.wh.Schema.Definitions[s.Root().Name], slices.Concat(n.cfg.Privacy.Drop, n.cfg.Privacy.Hash))) > 0
		unknownTopic.isPrivate = unknownTopic.isPrivate || isPrivate
		sink, err := n.newSink(ctx, s)
		if err != nil {
			return nil, err
		}
		n.eventSinks[s.Name] = sink
		for _, topic := range s.Topics {
			routes[topic] = eventRoute{sink, isPrivate}
		}
	}
	routes[""] = unknownTopic
	return routes, nil
}

// Only the first delivery of an event counts.
func (n *night) stageEvents(ctx context.Context, batch []stream.Event, routes map[string]eventRoute) error {
	if len(batch) == 0 {
		return nil
	}
	ids := make([]string, len(batch))
	for i, e := range batch {
		ids[i] = e.ID
	}
	known, err := n.stage.KnownEvents(ctx, ids)
	if err != nil {
		return err
	}
	var rows []load.EventRow
	for _, e := range batch {
		if known[e.ID] {
			continue
		}
		known[e.ID] = true
		route, hasRoute := routes[e.Topic]
		if !hasRoute {
			route = routes[""]
		}
		sum := sha256.Sum256(e.Body)
		e.Body = bytes.ToValidUTF8(e.Body, []byte("\uFFFD"))
		row := load.EventRow{Event: e, BodySum: hex.EncodeToString(sum[:]), Outcome: load.EventUnknown, Withheld: route.isPrivate}
		if route.sink != nil {
			if row.Outcome, err = route.sink.stageEvent(ctx, e, route.isPrivate); err != nil {
				return err
			}
		}
		rows = append(rows, row)
	}
	return n.stage.AddEvents(ctx, rows)
}

// landEvents links the events of the inbox into the landing of this run. It returns the event folder of this
// run, and the event folders of earlier runs that were rolled back or not published. For a replay, it returns
// only the folder of the replayed run.
func (n *night) landEvents(ctx context.Context) ([]string, error) {
	if !n.mode.usesNetwork() {
		return []string{n.wh.Folder.EventsPath(n.mode.replayedRun)}, nil
	}
	folder := n.wh.Folder.EventsPath(n.run.ID)
	var err error
	if n.landedEvents, err = webhook.Land(n.wh.Folder.Disk(), n.wh.Folder.InboxPath(), folder); err != nil {
		return nil, err
	}
	publishedRuns, err := n.stage.PublishedRuns(ctx)
	if err != nil {
		return nil, err
	}
	runs, err := n.wh.Folder.LandedRuns()
	if err != nil {
		return nil, err
	}
	var folders []string
	for _, run := range runs {
		if !publishedRuns[run] && run != n.run.ID {
			folders = append(folders, n.wh.Folder.EventsPath(run))
		}
	}
	return append(folders, folder), nil
}

// A stream of events is never proven, because missed deliveries cannot be detected.
func (n *night) gradeEvents(ctx context.Context, result *unfinishedResult) error {
	hasRows, err := n.stage.HasRows(ctx, result.stream.Root().Name)
	if err != nil {
		return markStageErr(err)
	}
	result.coverage = load.Unproven
	result.evidence.Grade, result.evidence.Reason = stream.BestEffort, "built from received webhook deliveries; missed deliveries cannot be detected"
	if !hasRows && result.sink.records.Load() == 0 {
		result.evidence.Grade, result.evidence.Reason = stream.Skipped, ledger.ReasonNoDelivery
	}
	return nil
}

// stageEvent stages an invalid body as a reject, because it cannot be requested again.
func (k *sink) stageEvent(ctx context.Context, e stream.Event, isPrivate bool) (outcome string, err error) {
	record, err := webhook.EventRecord(e)
	if err == nil {
		_, err = k.decodeBody(ctx, fetch.Response{Seq: e.Seq, Body: record})
	}
	switch {
	case errors.As(err, new(*webhook.InvalidError)), errors.Is(err, transform.ErrMalformed):
		reject := stream.Reject{Table: k.stream.Root().Name, Key: e.ID, Raw: string(e.Body), Reason: err.Error(), Seq: e.Seq}
		if isPrivate {
			reject.Raw = withheldBody
		}
		return load.EventRejected, k.night.stage.AddRejects(ctx, []stream.Reject{reject})
	case err != nil:
		return "", err
	}
	return load.EventStored, nil
}

// PrivateColumns returns all columns whose values the rules of privacy remove or hash, as table.column: the
// columns that the rules name, and the columns of other tables with the same values.
func PrivateColumns(privacy transform.Privacy) ([]string, error) {
	definitions, _ := schema.Definitions()
	privacy.Key = []byte("any") // the columns do not depend on the key
	private := slices.Concat(privacy.Drop, privacy.Hash)
	for _, s := range stream.AllWithEvents() {
		binding, err := bindPrivately(s, definitions, privacy)
		if err != nil {
			return nil, err
		}
		private = append(private, binding.PrivateColumns()...)
	}
	slices.Sort(private)
	return slices.Compact(private), nil
}

func bindPrivately(s stream.Stream, definitions map[string]stream.Definition, privacy transform.Privacy) (*transform.Binding, error) {
	binding, err := transform.Compile(s, definitions)
	if err != nil {
		return nil, err
	}
	return binding, binding.Protect(privacyOf(s, definitions[s.Root().Name], privacy))
}

// privacyOf returns the private columns of a stream. root is its first table. For a stream of events, they are
// derived from the private columns of its table and of the tables with records of the same kind.
func privacyOf(s stream.Stream, root stream.Definition, configured transform.Privacy) transform.Privacy {
	if !s.IsEvents() {
		return configured
	}
	drop := privateEventColumns(s, root, configured.Drop)
	privacy := transform.Privacy{Key: configured.Key}
	for _, column := range privateEventColumns(s, root, configured.Hash) {
		switch c, _ := root.Column(column); {
		case slices.Contains(drop, column):
		case c.Type == stream.Text:
			privacy.Hash = append(privacy.Hash, root.Name+"."+column)
		default: // only text columns can be hashed
			drop = append(drop, column)
		}
	}
	for _, column := range drop {
		privacy.Drop = append(privacy.Drop, root.Name+"."+column)
	}
	return privacy
}

// privateEventColumns returns the private columns of the table of an event stream. configured contains private
// columns as table.column. They also apply to tables with records of the same kind. If the table
// of the event stream lacks such a column, its column extra is private, because it may contain the value. If
// the plain text or the rich text of a comment is private, both are private.
func privateEventColumns(s stream.Stream, def stream.Definition, configured []string) []string {
	var columns []string
	for _, private := range configured {
		table, column, _ := strings.Cut(private, ".")
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
