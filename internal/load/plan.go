package load

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"
	"time"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// Details decides which details a night asks for, and keeps what became of them.
type Details struct {
	stage *staging
	// known is for readEarlier.
	known earlier
}

// earlier is what plans ask of earlier nights. It is read once: a subquery of each plan
// for it takes longer than the plan.
type earlier struct {
	once sync.Once
	err  error
	// nights are the times of the published ones, newest first.
	nights []time.Time
	// events is set where events are known.
	events bool
}

// readEarlier reads it. Webhook events are staged before any plan.
func (p *Details) readEarlier(ctx context.Context) (*earlier, error) {
	e := &p.known
	e.once.Do(func() {
		e.err = eachRow(ctx, p.stage.draft, []sqlText{planSQL.Render("earlier_nights", nil)}, func(scan func(...any) error) error {
			var at time.Time
			err := scan(&at)
			e.nights = append(e.nights, at)
			return err
		})
		if e.err == nil {
			e.err = queryRow(ctx, p.stage.draft, liveSQL.Render("has_events", values{
				"statuses": p.stage.knownRows("article_status_events", "event_id"),
				"comments": p.stage.knownRows("article_comment_events", "event_id")})).Scan(&e.events)
		}
	})
	return e, e.err
}

// Rereading says which details a night asks for again.
type Rereading struct {
	// All asks for every one; the rest is then unused.
	All bool
	// LiveDays is how long after its last change a parent is live, in days.
	LiveDays int
	// Recheck is the number of nights within which every settled detail is read again; 0:
	// never.
	Recheck int
}

// Turn says how soon a night asks for a detail. The time of a night may end before all
// were asked for.
type Turn int

// The turns, first to last.
const (
	// TurnEvent is that of what an event named since it was read.
	TurnEvent Turn = iota
	// TurnLive is that of what changes without a trace.
	TurnLive
	// TurnChanged is that of what the lists show to have changed.
	TurnChanged
	// TurnNew is that of what was never read.
	TurnNew
	// TurnSettled is that of what is read again although it did not change.
	TurnSettled
)

// OldestFirst stands for all turns, in the order of the last reading, and NeverRead for
// those of them that no night has read.
const (
	NeverRead   Turn = -2
	OldestFirst Turn = -1
)

// Plan counts what a night does about the details of a stream.
type Plan struct {
	// Fetch counts the ids to ask for, Recheck those of them that are settled and only
	// read again, Carried those that keep their rows, and Unread those that the night had
	// no time for, which Fetch and Recheck then leave out.
	Fetch, Recheck, Carried, Unread int64
	// Nights is how many nights ago the oldest of the carried was read, 0 without any.
	Nights int64
}

// planColumns are those of a plan before it is made.
const planColumns sqlText = "id VARCHAR, fingerprint VARCHAR, why VARCHAR, turn INTEGER, overdue BOOLEAN, unread BOOLEAN, stays BOOLEAN"

// Plan decides about every id that a stream of details could be asked for: every value of
// its parent columns that was staged tonight or stands in main, and every id that main
// describes already, so that what nothing names any longer is closed by an answer and not
// by silence. proven tells which lists were read whole tonight: unless all that vouch
// were, nothing is settled.
func (p *Details) Plan(ctx context.Context, st stream.Stream, r Rereading, proven func(string) bool) (Plan, error) {
	if err := p.stage.settle(ctx); err != nil {
		return Plan{}, err
	}
	known, err := p.readEarlier(ctx)
	if err != nil {
		return Plan{}, fmt.Errorf("plan %s: %w", st.Name, err)
	}
	live := sqlText("FALSE")
	if st.Life != 0 {
		live = planSQL.Render("is_live", values{"ids": p.liveIDs(st.Life, r.LiveDays)})
	}
	// Whether it is the turn of a settled detail to be read again, and whether an earlier
	// night had no time for it.
	var due, overdue sqlText = "FALSE", "FALSE"
	if r.Recheck > 0 {
		due = planSQL.Render("is_due", values{"nights": r.Recheck, "tonight": len(known.nights) % r.Recheck})
	}
	if r.Recheck > 1 && len(known.nights) > r.Recheck-2 {
		overdue = planSQL.Render("is_overdue", values{"since": known.nights[r.Recheck-2]})
	}
	turns, turn := values{"event": int(TurnEvent), "live": int(TurnLive), "new": int(TurnNew), "settled": int(TurnSettled)}, "turn_while_live"
	if st.Rule == stream.ByRow {
		turns["changed"], turn = int(TurnChanged), "turn_by_row"
	}
	return p.storePlan(ctx, st, planSQL.Render("create_plan", values{"plan": planTable(st.Name), "why": p.reasonFor(st, r, proven),
		"turn": planSQL.Render(turn, turns), "live": live, "due": due, "overdue": overdue,
		"named_ids": p.namedIDs(st), "fingerprints": p.fingerprints(st), "touched": p.touchedIDs(st.Life, known.events), "stream": st.Name}))
}

// PlanAgain decides about a stream that was planned tonight already. What lists vouch for
// stays decided, unless records that came since name other ids.
func (p *Details) PlanAgain(ctx context.Context, st stream.Stream, r Rereading, proven func(string) bool) (Plan, error) {
	if err := p.stage.settle(ctx); err != nil {
		return Plan{}, err
	}
	unplanned := true
	if st.Rule == stream.ByRow {
		query := planSQL.Render("has_unplanned", values{"named_ids": p.namedIDs(st), "plan": planTable(st.Name)})
		if err := queryRow(ctx, p.stage.draft, query).Scan(&unplanned); err != nil {
			return Plan{}, fmt.Errorf("plan %s again: %w", st.Name, err)
		}
	}
	if !unplanned {
		return p.countPlan(ctx, st)
	}
	return p.Plan(ctx, st, r, proven)
}

// PlanOnly decides to ask for some ids of a stream, known or not, and to carry all others.
func (p *Details) PlanOnly(ctx context.Context, st stream.Stream, ids []string) (Plan, error) {
	if err := p.stage.settle(ctx); err != nil {
		return Plan{}, err
	}
	return p.storePlan(ctx, st, planSQL.Render("create_refresh_plan",
		values{"plan": planTable(st.Name), "targets": ids, "named_ids": p.namedIDs(st), "stream": st.Name}))
}

func (p *Details) storePlan(ctx context.Context, st stream.Stream, create sqlText) (Plan, error) {
	if err := execute(ctx, p.stage.draft, create); err != nil {
		return Plan{}, fmt.Errorf("plan %s: %w", st.Name, err)
	}
	return p.countPlan(ctx, st)
}

func (p *Details) countPlan(ctx context.Context, st stream.Stream) (Plan, error) {
	var c Plan
	var oldest sql.NullTime
	known, err := p.readEarlier(ctx)
	if err == nil {
		err = queryRow(ctx, p.stage.draft, planSQL.Render("count_plan", values{"plan": planTable(st.Name)})).
			Scan(&c.Fetch, &c.Recheck, &c.Carried, &c.Unread, &oldest)
	}
	if err != nil {
		return Plan{}, fmt.Errorf("count the plan of %s: %w", st.Name, err)
	}
	if c.Carried > 0 {
		c.Nights = 1
		for _, night := range known.nights {
			if oldest.Valid && night.After(oldest.Time) {
				c.Nights++
			}
		}
	}
	return c, nil
}

// reasonFor is why an id is asked for tonight, or is carried.
func (p *Details) reasonFor(st stream.Stream, r Rereading, proven func(string) bool) sqlText {
	unproven := func(v voucher) bool { return !proven(v.list.Name) }
	switch {
	case r.All || st.Rule == stream.EveryNight:
		return "'all'"
	case st.Rule != stream.ByRow:
		return planSQL.Render("why_while_live", nil)
	case slices.ContainsFunc(p.vouchers(st), unproven):
		return "'all'"
	}
	return planSQL.Render("why_by_row", nil)
}

// namedIDs lists every id that a stream could be asked for.
func (p *Details) namedIDs(st stream.Stream) sqlText {
	var parts []sqlText
	add := func(column, table string, at sqlText) {
		named := sqlText("NULL::TIMESTAMPTZ")
		if _, dated := p.stage.defs[table].Column("created_at"); dated {
			named = "created_at"
		}
		parts = append(parts, planSQL.Render("naming_rows", values{"column": warehouse.Name(column), "named": named, "table": at}))
	}
	for _, ref := range st.Parents {
		feeders := stream.Feeding(p.stage.streams, ref.Table)
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

// voucher is a list whose rows show the changes of a detail, by a reference.
type voucher struct {
	list stream.Stream
	ref  stream.Ref
}

func (p *Details) vouchers(st stream.Stream) []voucher {
	var all []voucher
	for _, ref := range st.Parents {
		lists, _ := p.stage.sources(ref.Table)
		for _, l := range lists {
			if ref.Vouches && !l.IsDetail() && l.Root().Name == ref.Table {
				all = append(all, voucher{l, ref})
			}
		}
	}
	return all
}

// rows are the rows of the list that name an id: id, row_hash and seq.
func (v voucher) rows(known bool) sqlText {
	column, list := warehouse.Name(v.ref.Column), stagedTable(v.list.Name, v.list.Root().Name)
	named := planSQL.Render("vouching_rows", values{"column": column, "list": list})
	if !known {
		return named
	}
	return unionAll([]sqlText{named, planSQL.Render("vouching_rows_of_known", values{"column": column, "list": list,
		"known": mainTable(v.ref.Known), "known_key": warehouse.Name(v.ref.KnownKey), "key": warehouse.Name(v.list.Root().Key[0])})})
}

// fingerprints gives the fingerprint of each id, by all rows that name it tonight and
// those inside them.
func (p *Details) fingerprints(st stream.Stream) sqlText {
	var parts []sqlText
	for _, v := range p.vouchers(st) {
		rows := v.rows(len(stream.Feeding(p.stage.streams, v.ref.Known)) > 0)
		parts = append(parts, planSQL.Render("vouching_records", values{"rows": rows}))
		for _, t := range v.list.Tables[1:] {
			parts = append(parts, planSQL.Render("vouching_items", values{"items": stagedTable(v.list.Name, t.Name), "rows": rows}))
		}
	}
	if len(parts) == 0 {
		return planSQL.Render("no_fingerprints", nil)
	}
	return planSQL.Render("fingerprints", values{"rows": unionAll(parts)})
}
