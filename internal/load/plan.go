package load

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"
	"time"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
)

// Details plans which details a night requests, and stages the outcomes.
type Details struct {
	staging *staging
	earlier earlierNights
}

// earlierNights contains the facts of earlier nights that every plan needs. They are read once,
// because a subquery for them in each plan takes longer than the plan.
type earlierNights struct {
	once sync.Once
	err  error
	// times are the times of the published nights, newest first.
	times []time.Time
	// hasEvents is set when webhook events are stored or staged.
	hasEvents bool
}

// readEarlier must not be called before the webhook events are staged.
func (p *Details) readEarlier(ctx context.Context) (*earlierNights, error) {
	e := &p.earlier
	e.once.Do(func() {
		e.err = p.staging.draft.EachRow(ctx, []sqlText{planSQL.Render("earlier_nights", nil)}, func(scan func(...any) error) error {
			var at time.Time
			err := scan(&at)
			e.times = append(e.times, at)
			return err
		})
		if e.err == nil {
			e.err = queryRow(ctx, p.staging.draft, liveSQL.Render("has_events", values{
				"statuses": p.staging.knownRows("article_status_events", "event_id"),
				"comments": p.staging.knownRows("article_comment_events", "event_id")})).Scan(&e.hasEvents)
		}
	})
	return e, e.err
}

// Rereading selects the details that a night requests again.
type Rereading struct {
	// All requests every detail. The other fields are then unused.
	All bool
	// LiveDays is the number of days for which a campaign, order or profile makes details
	// live after its last change.
	LiveDays int
	// Recheck is the number of nights within which every settled detail is read again.
	// Zero means never.
	Recheck int
}

// Priority is the order in which a night requests details, because its time may end before all
// are read. Lower values come first.
type Priority int

const (
	// PriorityEvent is for details that an event named since they were read.
	PriorityEvent Priority = iota
	// PriorityLive is for details that may change without a change of their row in the list.
	PriorityLive
	// PriorityChanged is for details whose row in the list changed.
	PriorityChanged
	// PriorityNew is for details that were never read.
	PriorityNew
	// PrioritySettled is for details that are read again although no change is known.
	PrioritySettled
)

// OldestFirst selects ids of all priorities by the time of their last reading. NeverRead
// selects only the ids that were never read.
const (
	NeverRead   Priority = -2
	OldestFirst Priority = -1
)

// Plan counts the requested and the carried details of a stream.
type Plan struct {
	// Fetch counts the ids to request. Recheck counts the settled ones among them. Carried
	// counts the ids that keep their rows. Unread counts the ids for which the night had no
	// time. Fetch and Recheck do not include them.
	Fetch, Recheck, Carried, Unread int64
	// Nights is how many nights ago the oldest carried detail was read. It is 0 if no detail
	// is carried.
	Nights int64
}

// planColumns are the columns of the empty table that exists until a plan is computed.
const planColumns sqlText = "id VARCHAR, fingerprint VARCHAR, why VARCHAR, priority INTEGER, overdue BOOLEAN, unread BOOLEAN, stays BOOLEAN"

// Plan decides for every id of a detail stream whether it is requested. The ids are the staged
// and stored values of its parent columns, and the ids with rows in main. An id that no list
// names any longer is also requested, so that a 404 proves the deletion. wasRead reports whether
// a list was read tonight. If a list that shows changes of the details was not read, all details
// are requested.
func (p *Details) Plan(ctx context.Context, st stream.Stream, r Rereading, wasRead func(string) bool) (Plan, error) {
	if err := p.staging.flush(ctx, allStreams); err != nil {
		return Plan{}, err
	}
	earlier, err := p.readEarlier(ctx)
	if err != nil {
		return Plan{}, fmt.Errorf("plan %s: %w", st.Name, err)
	}
	args := values{"plan": planTable(st.Name), "stream": st.Name, "all": p.requestsAll(st, r, wasRead), "by_row": st.Rule == stream.ByRow,
		"event_priority": int(PriorityEvent), "live_priority": int(PriorityLive), "changed_priority": int(PriorityChanged),
		"new_priority": int(PriorityNew), "settled_priority": int(PrioritySettled),
		"nights": r.Recheck, "tonight": 0, "overdue_since": sqlText("NULL"), "live_ids": p.liveIDs(st.Life, r.LiveDays),
		"named_ids": p.namedIDs(st), "fingerprints": p.fingerprints(st), "touched": p.touchedIDs(st.Life, earlier.hasEvents)}
	if r.Recheck > 0 {
		args["tonight"] = len(earlier.times) % r.Recheck
	}
	if r.Recheck > 1 && len(earlier.times) > r.Recheck-2 {
		args["overdue_since"] = earlier.times[r.Recheck-2]
	}
	return p.storePlan(ctx, st, planSQL.Render("create_plan", args))
}

// PlanOnly plans to request the given ids, known or not, and to carry all others.
func (p *Details) PlanOnly(ctx context.Context, st stream.Stream, ids []string) (Plan, error) {
	if err := p.staging.flush(ctx, allStreams); err != nil {
		return Plan{}, err
	}
	return p.storePlan(ctx, st, planSQL.Render("create_refresh_plan",
		values{"plan": planTable(st.Name), "targets": ids, "named_ids": p.namedIDs(st), "stream": st.Name}))
}

func (p *Details) storePlan(ctx context.Context, st stream.Stream, create sqlText) (Plan, error) {
	if err := p.staging.draft.Exec(ctx, create); err != nil {
		return Plan{}, fmt.Errorf("plan %s: %w", st.Name, err)
	}
	return p.countPlan(ctx, st)
}

func (p *Details) countPlan(ctx context.Context, st stream.Stream) (Plan, error) {
	var c Plan
	var oldest sql.NullTime
	earlier, err := p.readEarlier(ctx)
	if err == nil {
		err = queryRow(ctx, p.staging.draft, planSQL.Render("count_plan", values{"plan": planTable(st.Name)})).
			Scan(&c.Fetch, &c.Recheck, &c.Carried, &c.Unread, &oldest)
	}
	if err != nil {
		return Plan{}, fmt.Errorf("count the plan of %s: %w", st.Name, err)
	}
	if c.Carried > 0 {
		c.Nights = 1
		for _, night := range earlier.times {
			if oldest.Valid && night.After(oldest.Time) {
				c.Nights++
			}
		}
	}
	return c, nil
}

// requestsAll reports whether all details of a stream are requested.
func (p *Details) requestsAll(st stream.Stream, r Rereading, wasRead func(string) bool) bool {
	unread := func(v changeList) bool { return !wasRead(v.list.Name) }
	return r.All || st.Rule == stream.EveryNight || st.Rule == stream.ByRow && slices.ContainsFunc(p.changeLists(st), unread)
}

// namedIDs returns SQL that selects every id that could be requested.
func (p *Details) namedIDs(st stream.Stream) sqlText {
	var parts []sqlText
	add := func(column, table string, at sqlText) {
		namedAt := sqlText("NULL::TIMESTAMPTZ")
		if _, dated := p.staging.defs[table].Column("created_at"); dated {
			namedAt = "created_at"
		}
		parts = append(parts, planSQL.Render("naming_rows", values{"column": sqltext.Name(column), "named": namedAt, "table": at}))
	}
	for _, ref := range st.Parents {
		feeders := stream.FilledBy(p.staging.streams, ref.Table)
		for _, name := range feeders {
			add(ref.Column, ref.Table, stagedTable(name, ref.Table))
		}
		if len(feeders) > 0 {
			add(ref.Column, ref.Table, mainTable(ref.Table))
		}
	}
	if root := st.Root().Name; !slices.ContainsFunc(st.Parents, func(r stream.Ref) bool { return r.Table == root }) {
		add(st.Param, root, mainTable(root))
	}
	return planSQL.Render("named_ids", values{"rows": unionAll(parts)})
}

// changeList is a list whose rows show the changes of a detail stream. ref names the column of the
// list with the ids of the details.
type changeList struct {
	list stream.Stream
	ref  stream.Ref
}

func (p *Details) changeLists(st stream.Stream) []changeList {
	var all []changeList
	for _, ref := range st.Parents {
		lists, _ := p.staging.sources(ref.Table)
		for _, l := range lists {
			if ref.ShowsChanges && !l.IsDetail() && l.Root().Name == ref.Table {
				all = append(all, changeList{l, ref})
			}
		}
	}
	return all
}

// rows returns SQL that selects id, row_hash and seq of the rows with an id. If lookUp is set, the
// id of a row without one is looked up in the table Ref.Lookup.
func (v changeList) rows(lookUp bool) sqlText {
	column, list := sqltext.Name(v.ref.Column), stagedTable(v.list.Name, v.list.Root().Name)
	named := planSQL.Render("change_rows", values{"column": column, "list": list})
	if !lookUp {
		return named
	}
	return unionAll([]sqlText{named, planSQL.Render("change_rows_of_known", values{"column": column, "list": list,
		"known": mainTable(v.ref.Lookup), "known_key": sqltext.Name(v.ref.LookupKey), "key": sqltext.Name(v.list.Root().Key[0])})})
}

// fingerprints returns SQL that selects the fingerprint of each id. It is computed from all rows
// that contain the id tonight, and from the rows of their items.
func (p *Details) fingerprints(st stream.Stream) sqlText {
	var parts []sqlText
	for _, v := range p.changeLists(st) {
		rows := v.rows(len(stream.FilledBy(p.staging.streams, v.ref.Lookup)) > 0)
		parts = append(parts, planSQL.Render("change_records", values{"rows": rows}))
		for _, t := range v.list.Tables[1:] {
			parts = append(parts, planSQL.Render("change_items", values{"items": stagedTable(v.list.Name, t.Name), "rows": rows}))
		}
	}
	if len(parts) == 0 {
		return planSQL.Render("no_fingerprints", nil)
	}
	return planSQL.Render("fingerprints", values{"rows": unionAll(parts)})
}
