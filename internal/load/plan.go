package load

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"slices"
	"time"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
)

// Rereading selects the details that a night requests again.
type Rereading struct {
	// All means that every detail is requested. LiveDays and RecheckNights are then not used.
	All bool
	// LiveDays is the number of days after a change of a campaign, order or profile for which
	// the details about it are live.
	LiveDays int
	// RecheckNights is the number of nights within which every settled detail is read again.
	// Zero means never.
	RecheckNights int
}

// Plan counts the ids of a detail stream. Each id is counted in one of ToRequest, Carried and Unread.
type Plan struct {
	// ToRecheck counts the settled ids in ToRequest. Carried counts the ids whose rows are kept without
	// a request. Unread counts the ids for which the night had no time.
	ToRequest, ToRecheck, Carried, Unread int64
	// MaxNights is the largest number of nights since a carried detail was read. It is 0 if no detail is
	// carried.
	MaxNights int64
}

// PlanDetails decides for every id of a detail stream whether it is requested. The ids are the staged and
// stored values of the columns st.IDColumns, and the ids with rows in main. With the rule
// stream.ByRow, an id that no list contains any longer counts as changed. It is requested, so that a 404
// proves the deletion. With this rule, all details are requested if a list that shows their changes was
// not read tonight. wasRead reports whether a stream was read.
func (s *Stage) PlanDetails(ctx context.Context, st stream.Stream, r Rereading, wasRead func(string) bool) (Plan, error) {
	nights, err := s.earlierNights(ctx)
	if err != nil {
		return Plan{}, fmt.Errorf("plan %s: %w", st.Name, err)
	}
	// Only details with the rule stream.ByRow have change lists.
	isUnread := func(l changeList) bool { return !wasRead(l.list.Name) }
	requestsAll := r.All || st.Rule == stream.EveryNight || slices.ContainsFunc(s.changeLists(st), isUnread)
	args := values{"plan": planTable(st.Name), "stream": st.Name, "all": requestsAll, "by_row": st.Rule == stream.ByRow,
		"nights": r.RecheckNights, "tonight": 0, "overdue_since": sqlText("NULL"), "live_ids": s.liveIDs(st.LiveWith, r.LiveDays),
		"candidate_ids": s.candidateIDs(st, wasRead), "fingerprints": s.fingerprints(st), "last_events": s.lastEvents(st.LiveWith)}
	if r.RecheckNights > 0 {
		args["tonight"] = len(nights) % r.RecheckNights
	}
	// The first of the earlier nights was one night ago. A detail that was read before the night with this index was
	// read at least RecheckNights nights ago.
	if oldest := r.RecheckNights - 2; oldest >= 0 && oldest < len(nights) {
		args["overdue_since"] = nights[oldest]
	}
	return s.storePlan(ctx, st, planSQL.Render("create_plan", args))
}

// PlanIDs plans to request only the given ids, and to carry all other ids. The given ids need not be
// known.
func (s *Stage) PlanIDs(ctx context.Context, st stream.Stream, ids []string) (Plan, error) {
	wasRead := func(string) bool { return false } // includes all columns
	return s.storePlan(ctx, st, planSQL.Render("create_refresh_plan",
		values{"plan": planTable(st.Name), "targets": ids, "candidate_ids": s.candidateIDs(st, wasRead), "stream": st.Name}))
}

func (s *Stage) storePlan(ctx context.Context, st stream.Stream, create sqlText) (Plan, error) {
	if err := s.flush(ctx, allStreams); err != nil {
		return Plan{}, err
	}
	if err := s.draft.Exec(ctx, create); err != nil {
		return Plan{}, fmt.Errorf("plan %s: %w", st.Name, err)
	}
	return s.countPlan(ctx, st)
}

func (s *Stage) countPlan(ctx context.Context, st stream.Stream) (Plan, error) {
	var plan Plan
	var oldest sql.NullTime
	err := queryRow(ctx, s.draft, planSQL.Render("count_plan", values{"plan": planTable(st.Name)})).
		Scan(&plan.ToRequest, &plan.ToRecheck, &plan.Carried, &plan.Unread, &oldest)
	if err != nil {
		return Plan{}, fmt.Errorf("count the plan of %s: %w", st.Name, err)
	}
	if plan.Carried == 0 {
		return plan, nil
	}
	plan.MaxNights = 1 // if it is not known when the details were read
	if oldest.Valid {
		if plan.MaxNights, err = s.nightsSince(ctx, oldest.Time); err != nil {
			return Plan{}, fmt.Errorf("count the plan of %s: %w", st.Name, err)
		}
	}
	return plan, nil
}

// nightsSince returns the number of nights since the night at a time. It is 1 for the previous night.
func (s *Stage) nightsSince(ctx context.Context, at time.Time) (int64, error) {
	earlier, err := s.earlierNights(ctx)
	nights := int64(1)
	for _, night := range earlier {
		if night.After(at) {
			nights++
		}
	}
	return nights, err
}

// earlierNights returns the times of the published nights, newest first.
func (s *Stage) earlierNights(ctx context.Context) ([]time.Time, error) {
	return queryColumn[time.Time](ctx, s.draft, planSQL.Render("earlier_nights", nil))
}

func (s *Stage) candidateIDs(st stream.Stream, wasRead func(string) bool) sqlText {
	var parts []sqlText
	add := func(column, table string, stagedOrMain sqlText) {
		createdAt := sqlText("NULL::TIMESTAMPTZ")
		if _, ok := s.draft.Schema.Definitions[table].Column("created_at"); ok {
			createdAt = "created_at"
		}
		parts = append(parts, planSQL.Render("ids_in_table", values{"column": sqltext.Name(column), "created_at": createdAt, "table": stagedOrMain}))
	}
	for _, ref := range usedIDColumns(st, wasRead) {
		streams := stream.FilledBy(s.streams, ref.Table)
		for _, name := range streams {
			add(ref.Column, ref.Table, stagedTable(name, ref.Table))
		}
		if len(streams) > 0 {
			add(ref.Column, ref.Table, mainTable(ref.Table))
		}
	}
	if root := st.Root().Name; !slices.ContainsFunc(st.IDColumns, func(r stream.IDColumn) bool { return r.Table == root }) {
		add(st.Param, root, mainTable(root))
	}
	return planSQL.Render("candidate_ids", values{"rows": unionAll(parts)})
}

// usedIDColumns returns the columns from which tonight's ids are taken.
func usedIDColumns(st stream.Stream, wasRead func(string) bool) []stream.IDColumn {
	return slices.DeleteFunc(slices.Clone(st.IDColumns), func(ref stream.IDColumn) bool { return ref.IfUnread != "" && wasRead(ref.IfUnread) })
}

// changeList is a list whose rows show the changes of the details of a stream. ref.Column is the column
// with the ids of the details.
type changeList struct {
	list stream.Stream
	ref  stream.IDColumn
}

func (s *Stage) changeLists(st stream.Stream) []changeList {
	var all []changeList
	for _, ref := range st.IDColumns {
		streams, _ := s.sources(ref.Table)
		for _, l := range streams {
			if ref.ShowsChanges && !l.IsDetail() && l.Root().Name == ref.Table {
				all = append(all, changeList{l, ref})
			}
		}
	}
	return all
}

// fingerprints returns SQL that selects the fingerprint of each id. A fingerprint is computed from all
// rows that contain the id tonight, and from their child rows.
func (s *Stage) fingerprints(st stream.Stream) sqlText {
	var parts []sqlText
	for _, l := range s.changeLists(st) {
		column, list := sqltext.Name(l.ref.Column), stagedTable(l.list.Name, l.list.Root().Name)
		rows := planSQL.Render("rows_with_id", values{"column": column, "list": list})
		if len(stream.FilledBy(s.streams, l.ref.Lookup)) > 0 {
			rows = unionAll([]sqlText{rows, planSQL.Render("rows_without_id", values{"column": column, "list": list,
				"lookup": mainTable(l.ref.Lookup), "lookup_key": sqltext.Name(l.ref.LookupKey), "key": sqltext.Name(l.list.Root().Key[0])})})
		}
		parts = append(parts, planSQL.Render("record_hashes", values{"rows": rows}))
		for _, t := range l.list.Tables[1:] {
			if slices.Contains(l.ref.Unrelated, t.Name) {
				continue
			}
			parts = append(parts, planSQL.Render("child_row_hashes", values{"items": stagedTable(l.list.Name, t.Name), "rows": rows}))
		}
	}
	if len(parts) == 0 {
		return planSQL.Render("no_fingerprints", nil)
	}
	return planSQL.Render("fingerprints", values{"rows": unionAll(parts)})
}

// Some details change without a change of their row in the list. These details are read again while
// they are live, and after a webhook event about them.

func (s *Stage) liveIDs(liveWith stream.LiveWith, days int) sqlText {
	if liveWith == 0 {
		return planSQL.Render("no_live_ids", nil)
	}
	ids := []sqlText{planSQL.Render("live_campaigns", values{"now": s.draft.At, "days": days,
		"campaigns":         s.knownRows("campaigns", "id", "created_at", "updated_at"),
		"campaign_articles": s.knownRows("campaign_articles", "campaign_id", "live_url")})}
	if _, detail := s.sources("campaigns"); detail.Name != "" {
		ids = append(ids, planSQL.Render("changed_campaigns", values{"plan": planTable(detail.Name)}))
	}
	campaigns := unionAll(ids)
	switch liveWith {
	case stream.LiveWithCampaign:
		return campaigns
	case stream.LiveWithArticle:
		return planSQL.Render("live_articles", values{"live_campaigns": campaigns,
			"campaign_articles": s.knownRows("campaign_articles", "id", "campaign_id"),
			"articles":          s.knownRows("articles", "id", "live_url")})
	}
	return planSQL.Render("live_profiles", values{"live_campaigns": campaigns, "now": s.draft.At, "days": days,
		"campaigns": s.knownRows("campaigns", "id", "profile_id"),
		"orders":    s.knownRows("orders", "profile_id", "created_at", "updated_at", "date_paid"),
		"profiles":  s.knownRows("profiles", "id", "created_at", "updated_at")})
}

// lastEvents returns SQL that selects the ids of campaigns or articles that events name, with the time
// of the last event.
func (s *Stage) lastEvents(liveWith stream.LiveWith) sqlText {
	statusEvents := s.knownRows("article_status_events", "article_id", "campaign_id", "received_at")
	ids := planSQL.Render("articles_with_events", values{"status_events": statusEvents,
		"comment_events": s.knownRows("article_comment_events", "comment_id", "parent_comment_id", "received_at"),
		"known_comments": s.knownRows("article_comments", "id", "article_id")})
	switch liveWith {
	case stream.LiveWithArticle:
	case stream.LiveWithCampaign:
		ids = planSQL.Render("campaigns_with_events", values{"status_events": statusEvents, "articles_with_events": ids,
			"articles": s.knownRows("articles", "id", "campaign_id")})
	default: // events name no profiles
		return planSQL.Render("no_ids_with_events", nil)
	}
	return planSQL.Render("last_events", values{"ids_with_events": ids})
}

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
func (s *Stage) KeepListed(ctx context.Context, st stream.Stream, wasRead func(string) bool) (KeptIDs, error) {
	if err := s.flush(ctx, allStreams); err != nil {
		return KeptIDs{}, err
	}
	listed := s.listedIDs(st, wasRead)
	if len(listed) == 0 {
		return KeptIDs{}, nil
	}
	kept, err := s.keepIDs(ctx, st, unionAll(listed))
	if err != nil {
		return KeptIDs{}, fmt.Errorf("compare the 404 responses of %s with the lists: %w", st.Name, err)
	}
	return kept, nil
}

// listedIDs returns queries that select the ids of details which lists contain.
func (s *Stage) listedIDs(st stream.Stream, wasRead func(string) bool) (listed []sqlText) {
	for _, ref := range usedIDColumns(st, wasRead) {
		for _, name := range stream.FilledBy(s.streams, ref.Table) {
			if !ref.ShowsRecord() {
				continue
			}
			source, _ := stream.Find(s.streams, name)
			column, main := sqltext.Name(ref.Column), mainTable(ref.Table)
			listed = append(listed, planSQL.Render("listed_ids", values{"column": column, "table": stagedTable(name, ref.Table)}))
			if source.Completes != "" {
				continue // the stored rows are those of its list
			}
			switch {
			case !source.IsDetail() && !wasRead(name):
				listed = append(listed, planSQL.Render("listed_ids", values{"column": column, "table": main}))
			case source.IsDetail():
				listed = append(listed, planSQL.Render("listed_ids_of_carried", values{"column": column, "main": main,
					"param": sqltext.Name(source.Param), "requested": requestedTable(name)}))
			}
		}
	}
	return listed
}

func (s *Stage) keepIDs(ctx context.Context, st stream.Stream, listed sqlText) (kept KeptIDs, err error) {
	requested := requestedTable(st.Name)
	count := planSQL.Render("count_listed", values{"requested": requested, "listed": listed, "stream": st.Name,
		"param": sqltext.Name(st.Param), "main": mainTable(st.Root().Name)})
	var oldest sql.NullTime
	if err := queryRow(ctx, s.draft, count).Scan(&kept.IDs, &kept.WithRows, &oldest); err != nil {
		return KeptIDs{}, err
	}
	if err := s.draft.Exec(ctx, planSQL.Render("keep_listed", values{"requested": requested, "listed": listed})); err != nil {
		return KeptIDs{}, err
	}
	if oldest.Valid {
		kept.MaxNights, err = s.nightsSince(ctx, oldest.Time)
	}
	return kept, err
}

// KnownIDs returns the ids of a detail stream that are known to have records: the ids of its rows in
// main, and the ids in the staged and stored rows of the column st.NonEmptyFor.
func (s *Stage) KnownIDs(ctx context.Context, st stream.Stream) (map[string]bool, error) {
	if err := s.flush(ctx, allStreams); err != nil {
		return nil, err
	}
	param := sqltext.Names([]string{st.Param})
	rows := []sqlText{planSQL.Render("known_rows", values{"columns": param, "table": mainTable(st.Root().Name)})}
	if st.NonEmptyFor.Table != "" {
		rows = append(rows, s.knownRows(st.NonEmptyFor.Table, st.NonEmptyFor.Column))
	}
	known, err := queryTextSet(ctx, s.draft, planSQL.Render("known_ids", values{"param": param, "rows": unionAll(rows)}))
	if err != nil {
		return nil, fmt.Errorf("list the known ids of %s: %w", st.Name, err)
	}
	return known, nil
}
