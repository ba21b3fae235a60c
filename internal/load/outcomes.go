package load

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
)

// Outcome is the result of the request for one id.
type Outcome string

const (
	// Answered means that the staged rows of the id are complete.
	Answered Outcome = "answered"
	// NotFound means that the request returned 404.
	NotFound Outcome = "404"
	// Missed means that the request failed, or that the response does not prove which rows were
	// deleted. Staged rows of the id are merged, and the other stored rows of the id are kept.
	Missed Outcome = "missed"
)

// AddOutcomes stages requested ids of a stream, which all have the same outcome.
func (s *Stage) AddOutcomes(ctx context.Context, streamName string, ids []string, outcome Outcome) error {
	return appendRows(ctx, s, streamName, requestedName, ids, func(id string) []driver.Value { return []driver.Value{id, string(outcome)} })
}

// IDsToRequest returns the planned ids of a stream. Ids that were never read come first, then those that were
// read longest ago.
func (s *Stage) IDsToRequest(ctx context.Context, st stream.Stream) ([]string, error) {
	ids, err := queryColumn[string](ctx, s.draft, planSQL.Render("ids_to_request", values{"plan": planTable(st.Name)}))
	if err != nil {
		return nil, fmt.Errorf("list the ids for %s: %w", st.Name, err)
	}
	return ids, nil
}

// MarkUnread marks each planned id without a request as unread, and returns the updated plan. Rechecks
// that are not overdue are marked as carried instead.
func (s *Stage) MarkUnread(ctx context.Context, st stream.Stream) (Plan, error) {
	if err := s.flush(ctx, allStreams); err != nil {
		return Plan{}, err
	}
	args := values{"plan": planTable(st.Name), "requested": requestedTable(st.Name)}
	if err := s.draft.Exec(ctx, planSQL.Render("carry_rechecks", args), planSQL.Render("mark_unread", args)); err != nil {
		return Plan{}, fmt.Errorf("mark the unread ids of %s: %w", st.Name, err)
	}
	return s.countPlan(ctx, st)
}

// KeptIDs are the ids of a detail stream that returned 404 although a list contains them.
type KeptIDs struct {
	IDs int64
	// WithRows counts the ids with stored rows, which are kept.
	WithRows int64
	// MaxNights is the largest number of nights since these rows were read. It is 0 if there are no such
	// rows, or if it is not known when they were read.
	MaxNights int64
}

// KeepListed changes the outcome NotFound of an id to Missed if a list still contains the id. The rows of
// the record are then kept. For a list that was not read in this run, and for details of another stream
// that were not read, KeepListed uses the rows in main.
func (s *Stage) KeepListed(ctx context.Context, st stream.Stream, wasRead func(string) bool) (kept KeptIDs, err error) {
	if err := s.flush(ctx, allStreams); err != nil {
		return KeptIDs{}, err
	}
	var listed []sqlText
	for _, ref := range usedIDColumns(st, wasRead) {
		for _, name := range stream.FilledBy(s.streams, ref.Table) {
			if name == st.Name || !ref.ShowsRecord() {
				continue
			}
			source, _ := stream.Find(s.streams, name)
			column, main := sqltext.Name(ref.Column), mainTable(ref.Table)
			listed = append(listed, planSQL.Render("listed_ids", values{"column": column, "table": stagedTable(name, ref.Table)}))
			switch {
			case source.Completes != "":
			case !source.IsDetail() && !wasRead(name):
				listed = append(listed, planSQL.Render("listed_ids", values{"column": column, "table": main}))
			case source.IsDetail():
				listed = append(listed, planSQL.Render("listed_ids_of_carried", values{"column": column, "main": main,
					"param": sqltext.Name(source.Param), "requested": requestedTable(name)}))
			}
		}
	}
	if len(listed) == 0 {
		return KeptIDs{}, nil
	}
	requested, union := requestedTable(st.Name), unionAll(listed)
	count := planSQL.Render("count_listed", values{"requested": requested, "listed": union, "stream": st.Name,
		"param": sqltext.Name(st.Param), "main": mainTable(st.Root().Name)})
	var oldest sql.NullTime
	err = queryRow(ctx, s.draft, count).Scan(&kept.IDs, &kept.WithRows, &oldest)
	if err == nil {
		err = s.draft.Exec(ctx, planSQL.Render("keep_listed", values{"requested": requested, "listed": union}))
	}
	if err == nil && oldest.Valid {
		kept.MaxNights, err = s.nightsSince(ctx, oldest.Time)
	}
	if err != nil {
		return KeptIDs{}, fmt.Errorf("compare the 404 responses of %s with the lists: %w", st.Name, err)
	}
	return kept, nil
}

// KnownIDs returns the ids of a detail stream that are known to have records: the ids of its rows in
// main, and the ids in the staged and stored rows of the column st.NonEmptyFor.
func (s *Stage) KnownIDs(ctx context.Context, st stream.Stream) (map[string]bool, error) {
	if err := s.flush(ctx, allStreams); err != nil {
		return nil, err
	}
	param := sqltext.Names([]string{st.Param})
	rows := []sqlText{liveSQL.Render("known_rows", values{"columns": param, "table": mainTable(st.Root().Name)})}
	if st.NonEmptyFor.Table != "" {
		rows = append(rows, s.knownRows(st.NonEmptyFor.Table, st.NonEmptyFor.Column))
	}
	known, err := queryTextSet(ctx, s.draft, planSQL.Render("known_ids", values{"param": param, "rows": unionAll(rows)}))
	if err != nil {
		return nil, fmt.Errorf("list the known ids of %s: %w", st.Name, err)
	}
	return known, nil
}
