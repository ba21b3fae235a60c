package load

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
)

// Findings stages rejects and drift, and writes the tables of meta.
type Findings struct {
	stage *staging
	mu    sync.Mutex
	// carriers are not staged yet. Decoders report a few at a time, and in a small night an
	// INSERT for each report would take longer than the rows.
	carriers []stream.DriftCarrier
}

// carrierBatch is the number of carriers that are staged at once.
const carrierBatch = 8_192

// Drifts is the drift of a night. Most records show the same entries, so a
// [stream.DriftCarrier] names a set of them, and a set has indexes into All.
type Drifts struct {
	All  []stream.Drift
	Sets [][]int
}

// driftEntry is one entry of [Drifts.All] with its index.
type driftEntry struct {
	index int
	stream.Drift
}

// driftMember is an entry of a set.
type driftMember struct{ set, entry int }

const (
	rejectTable       sqlText = "stage.rejects"
	driftTable        sqlText = "stage.drift"
	driftSetTable     sqlText = "stage.drift_sets"
	driftCarrierTable sqlText = "stage.drift_carriers"
)

// A record with drift is found again in each pass over a list and in its detail. Therefore such
// records are staged and counted at the end, so that memory does not limit their number.
var (
	rejectColumns = []stagingColumn[stream.Reject]{
		textOrNull("table_name", func(r stream.Reject) string { return r.Table }),
		textOrNull("key", func(r stream.Reject) string { return r.Key }),
		textOrNull("parent", func(r stream.Reject) string { return r.Parent }),
		textOrNull("column_name", func(r stream.Reject) string { return r.Column }),
		textOrNull("raw", func(r stream.Reject) string { return r.Raw }),
		textOrNull("reason", func(r stream.Reject) string { return r.Reason }),
		textOrNull("stream", func(r stream.Reject) string { return r.Stream }),
		intOrNull("pass", func(r stream.Reject) int64 { return int64(r.Pass) }),
		intOrNull("page", func(r stream.Reject) int64 { return int64(r.Page) }),
		intOrNull("position", func(r stream.Reject) int64 { return int64(r.Position) }),
		uintColumn("answer", func(r stream.Reject) uint64 { return r.Answer }),
		uintColumn(stream.Seq, func(r stream.Reject) uint64 { return r.Seq }),
	}
	driftColumns = []stagingColumn[driftEntry]{
		intColumn("entry", func(d driftEntry) int64 { return int64(d.index) }),
		textColumn("table_name", func(d driftEntry) string { return d.Table }),
		textColumn("path", func(d driftEntry) string { return d.Path }),
		textColumn("kind", func(d driftEntry) string { return d.Kind }),
		textColumn("sample", func(d driftEntry) string { return d.Sample }),
		textOrNull("key", func(d driftEntry) string { return d.Key }),
	}
	driftSetColumns = []stagingColumn[driftMember]{
		intColumn("set_id", func(m driftMember) int64 { return int64(m.set) }),
		intColumn("entry", func(m driftMember) int64 { return int64(m.entry) }),
	}
	driftCarrierColumns = []stagingColumn[stream.DriftCarrier]{
		intColumn("set_id", func(c stream.DriftCarrier) int64 { return int64(c.Set) }),
		uintColumn("record", func(c stream.DriftCarrier) uint64 { return c.Record }),
	}
)

// AddRejects stages rejected values.
func (f *Findings) AddRejects(ctx context.Context, rejects []stream.Reject) error {
	return insertRows(ctx, f.stage, rejectTable, rejectColumns, rejects)
}

// AddDriftCarriers stages records with drift.
func (f *Findings) AddDriftCarriers(ctx context.Context, carriers []stream.DriftCarrier) error {
	f.mu.Lock()
	f.carriers = append(f.carriers, carriers...)
	var full []stream.DriftCarrier
	if len(f.carriers) >= carrierBatch {
		full, f.carriers = f.carriers, nil
	}
	f.mu.Unlock()
	return insertRows(ctx, f.stage, driftCarrierTable, driftCarrierColumns, full)
}

// addDrift stages the entries and sets, and counts the records of each entry.
func (f *Findings) addDrift(ctx context.Context, d Drifts) error {
	entries := make([]driftEntry, len(d.All))
	for i, drift := range d.All {
		entries[i] = driftEntry{i, drift}
	}
	var members []driftMember
	for i, set := range d.Sets {
		for _, entry := range set {
			members = append(members, driftMember{i, entry})
		}
	}
	if err := insertRows(ctx, f.stage, driftCarrierTable, driftCarrierColumns, f.carriers); err != nil {
		return err
	}
	if err := insertRows(ctx, f.stage, driftTable, driftColumns, entries); err != nil {
		return err
	}
	if err := insertRows(ctx, f.stage, driftSetTable, driftSetColumns, members); err != nil {
		return err
	}
	if err := f.stage.flush(ctx); err != nil {
		return err
	}
	if err := f.stage.draft.Exec(ctx, metaSQL.Render("count_drift", nil)); err != nil {
		return fmt.Errorf("count the drift: %w", err)
	}
	return nil
}

// WriteRejects replaces the rejects of every table that was read tonight, so that meta.rejects
// does not grow by the same values every night. It returns the number of written rows.
func (f *Findings) WriteRejects(ctx context.Context, cover map[string]Coverage) (int64, error) {
	if err := f.stage.flush(ctx); err != nil {
		return 0, err
	}
	// Without earlier rejects the keys of a table need not be compared.
	known, err := queryTextSet(ctx, f.stage.draft, metaSQL.Render("rejected_tables", nil))
	if err != nil {
		return 0, fmt.Errorf("read the rejects: %w", err)
	}
	var drops []sqlText
	read := []string{""}
	for _, t := range stream.Tables(f.stage.streams) {
		wasRead := func(name string) bool { return cover[name] != Carried }
		if !slices.ContainsFunc(stream.FilledBy(f.stage.streams, t.Name), wasRead) {
			continue
		}
		// An event is read once, so its rejects are kept.
		lists, _ := f.stage.sources(t.Name)
		if known[t.Name] && !slices.ContainsFunc(lists, stream.Stream.IsEvents) {
			drops = append(drops, f.dropRejects(t))
		}
		read = append(read, t.Name)
	}
	if err := f.stage.draft.Atomically(ctx, drops); err != nil {
		return 0, fmt.Errorf("replace the rejects: %w", err)
	}
	res, err := f.stage.draft.DB.ExecContext(ctx, string(metaSQL.Render("write_rejects", values{"run": f.stage.draft.Run, "tables": read})))
	if err != nil {
		return 0, fmt.Errorf("write the rejects: %w", err)
	}
	return res.RowsAffected()
}

// dropRejects returns SQL that removes the rejects of a table, except those of rows whose own
// values, record or parent were not read tonight.
func (f *Findings) dropRejects(t stream.Table) sqlText {
	lists, detail := f.stage.sources(t.Name)
	feeder := append(lists, detail)[0]
	root := feeder.Root()
	unread := func(of stream.Table) sqlText {
		return metaSQL.Render("unread_keys", values{"key": sqltext.Names(of.Key), "main": mainTable(of.Name), "desired": desiredTable(of.Name)})
	}
	kept := []sqlText{"key IN " + unread(t)}
	switch {
	case t.Name != root.Name:
		kept = append(kept, "parent IN "+unread(t), "key IN "+unread(root), "parent IN "+unread(root))
	case feeder.IsDetail() && feeder.Param != "":
		kept = append(kept, "parent IN "+metaSQL.Render("unread_parents", values{"plan": planTable(feeder.Name), "asked": askedTable(feeder.Name)}))
	}
	return metaSQL.Render("drop_rejects", values{"table": t.Name, "stays": sqltext.JoinSQL(kept, " OR ")})
}
