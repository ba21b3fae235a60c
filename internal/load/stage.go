// Package load writes Arrow record batches into a draft of the warehouse: staged in a file
// of their own as they come, gated when all are there, merged into main and past, and
// copied to Parquet. Its SQL stands in the folder sql, in the order of first use.
//
// Rows reach main in one of three ways. Those of a small or changed list are staged
// (lane.go, feed.go) and merged (merge.go). Those of a large list fill empty tables of
// main directly (adopt.go). A record that did not change leaves only its key in the stage
// (stored.go).
//
// It must not know how records were fetched or decoded; of a stream it knows which rows
// were staged and what their absence proves.
package load

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// Stage collects what a night reads, until it is merged. Its parts may be used from many
// goroutines.
type Stage struct {
	// Rows stages the rows of the streams.
	Rows *Rows
	// Events stages webhook events.
	Events *Events
	// Details plans which details are asked for.
	Details *Details
	// Findings stages what did not fit, and writes what the night found into meta.
	Findings *Findings

	staging *staging
	// after are the rows of the tables of main after the merge.
	after map[string]int64
}

// Open attaches a stage to a draft.
func Open(ctx context.Context, d *warehouse.Draft, defs map[string]stream.Definition, streams []stream.Stream) (*Stage, error) {
	s, err := openStaging(ctx, d, streamSet{defs, streams})
	if err != nil {
		return nil, fmt.Errorf("open the stage: %w", err)
	}
	return &Stage{Rows: &Rows{staging: s}, Events: &Events{s}, Details: &Details{stage: s}, Findings: &Findings{stage: s}, staging: s}, nil
}

// Close ends the stage and removes its file; the draft stays open.
func (s *Stage) Close(ctx context.Context) error { return s.staging.close(ctx) }

// Merge brings main to what the streams showed. Every changed and vanished row moves from
// main to past, new versions enter main, and a row that did not change is not touched.
// Nothing is written before all gates have passed; a *MassDeleteError names those that
// did not.
func (s *Stage) Merge(ctx context.Context, cover map[string]Coverage, limits Limits) ([]Change, error) {
	m := &merge{staging: s.staging, rows: s.Rows, details: s.Details, cover: cover, limits: limits}
	if err := m.staging.settle(ctx); err != nil {
		return nil, err
	}
	if err := m.staging.draft.LimitMemory(ctx, false); err != nil {
		return nil, err
	}
	if _, err := setThreads(ctx, m.staging.draft, m.staging.threads); err != nil {
		return nil, err
	}
	if err := m.unite(ctx); err != nil {
		return nil, err
	}
	changes, err := m.compare(ctx, stream.Tables(m.staging.streams))
	if err != nil {
		return nil, fmt.Errorf("compare the tables: %w", err)
	}
	if err := m.checkLosses(ctx, changes); err != nil {
		return nil, err
	}
	err = m.write(ctx, changes)
	s.after = map[string]int64{}
	for _, c := range changes {
		s.after[c.Table] = c.After
	}
	return changes, err
}

// Held is what a snapshot holds of a stream, in its first table.
type Held struct {
	// Rows counts all, Old those that were neither read nor proven tonight.
	Rows, Old int64
	// Since is when the oldest was last read of the ids that were neither read nor
	// proven tonight: zero when there is none, or for a list.
	Since time.Time
}

// CountHeld counts what main holds of every stream, after the merge, by what tonight's
// reading covered.
func (s *Stage) CountHeld(ctx context.Context, cover map[string]Coverage) (map[string]Held, error) {
	held := map[string]Held{}
	var counts []sqlText
	for i, st := range s.staging.streams {
		c, ok := cover[st.Name]
		switch rows, counted := s.after[st.Root().Name]; {
		case !ok:
		case counted && isCounted(st, c):
			held[st.Name] = Held{Rows: rows}
		default:
			counts = append(counts, s.Details.countHeld(i, st, c))
		}
	}
	err := eachRow(ctx, s.staging.draft, counts, func(scan func(...any) error) error {
		var i int
		var h Held
		var since sql.NullTime
		err := scan(&i, &h.Rows, &h.Old, &since)
		h.Since = since.Time
		held[s.staging.streams[i].Name] = h
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count what the snapshot holds: %w", err)
	}
	return held, nil
}
