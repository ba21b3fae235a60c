package load

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"slices"
	"strings"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// Rereading says which details a night asks for again.
type Rereading struct {
	// All asks for every one; the rest is then unused.
	All bool
	// LiveDays is how long after its last change a parent is live.
	LiveDays int
	// Recheck is the number of nights within which every settled detail is
	// read again; 0: never.
	Recheck int
}

// Why a detail is asked for tonight, or is not.
const (
	whyNew     = "new"
	whyChanged = "changed"
	whyLive    = "live"
	whyEvent   = "event"
	whyRecheck = "recheck"
	whyAll     = "all"
	whyCarried = "carried"
)

// Turn says how soon a night asks for a detail. The time of a night may end
// before all had theirs.
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
	// TurnSettled is that of what is read again although nothing calls for it.
	TurnSettled
)

// Plan counts what a night will do about the details of a stream.
type Plan struct {
	// Fetch counts the ids to ask for, Recheck those of them that are settled
	// and only read again, Carried those that keep their rows, Vouched those of the
	// latter whose own row in a list shows tonight that they did not change, and
	// Unread those that the night had no time for, which Fetch and Recheck then
	// leave out.
	Fetch, Recheck, Carried, Vouched, Unread int64
	// Nights is how many nights ago the oldest was read of those that are carried
	// and not vouched for; 0: there are none.
	Nights int64
}

// planned names the list of a stream's ids with what becomes of each.
func planned(st string) string { return staged(st, "$plan") }

// Plan decides about every id that a stream of details could be asked for:
// every value of its parent columns that was staged tonight or stands in main,
// and every id that main describes already, so that what nothing names any
// longer is closed by an answer and not by silence. proven tells which lists
// were read whole tonight: without all of those that vouch, nothing is settled.
func (s *Stage) Plan(ctx context.Context, st stream.Stream, r Rereading, proven func(string) bool) (Plan, error) {
	if err := s.Settle(ctx); err != nil {
		return Plan{}, err
	}
	heard, err := s.heard(ctx, st.Life)
	if err != nil {
		return Plan{}, fmt.Errorf("plan %s: %w", st.Name, err)
	}
	make := fmt.Sprintf(`CREATE OR REPLACE TABLE %s AS
		SELECT id, fingerprint, %s AS why, %s AS turn, read_at, named, overdue, FALSE AS unread,
			fingerprint IS NULL OR known IS NOT DISTINCT FROM fingerprint AS stays,
			fingerprint IS NOT NULL AND %t AS vouched FROM (%s)`,
		planned(st.Name), s.why(st, r, proven), turn(st), st.Over != "", s.facts(st, r, heard))
	return s.makePlan(ctx, st, make)
}

// PlanAgain decides about a stream that was planned tonight already. What lists
// vouch for stays decided, unless records that came since name other ids.
func (s *Stage) PlanAgain(ctx context.Context, st stream.Stream, r Rereading, proven func(string) bool) (Plan, error) {
	if err := s.Settle(ctx); err != nil {
		return Plan{}, err
	}
	named := true
	if st.Rule == stream.ByRow {
		err := s.draft.DB.QueryRowContext(ctx, fmt.Sprintf("SELECT EXISTS (SELECT 1 FROM (%s) ANTI JOIN %s USING (id))",
			s.parentQuery(st), planned(st.Name))).Scan(&named)
		if err != nil {
			return Plan{}, fmt.Errorf("plan %s again: %w", st.Name, err)
		}
	}
	if !named {
		return s.countPlan(ctx, st)
	}
	return s.Plan(ctx, st, r, proven)
}

// facts are what the rules look at, for each id: its fingerprint tonight and the
// one that is known, and whether it is new, touched by an event, live, or due to
// be read again although settled.
func (s *Stage) facts(st stream.Stream, r Rereading, heard string) string {
	live := "FALSE"
	if st.Life != 0 {
		live = "i.id IN (" + s.live(st.Life, r.LiveDays) + ")"
	}
	due, overdue := dueAgain(r.Recheck)
	return fmt.Sprintf(`SELECT i.id, i.named, v.fingerprint, d.fingerprint AS known, d.read_at,
			d.id IS NULL OR d.failed_at IS NOT NULL AS new,
			t.heard > d.read_at AS event, %s AS live, %s AS due, coalesce(%s, FALSE) AS overdue
		FROM (%s) i LEFT JOIN (%s) v USING (id) LEFT JOIN (%s) t USING (id)
		LEFT JOIN meta.details d ON d.stream = %s AND d.id = i.id`,
		live, due, overdue, s.parentQuery(st), s.vouched(st), heard, warehouse.Literal(st.Name))
}

// pastNights are the published nights before this one, as SQL.
const pastNights = "FROM meta.runs WHERE snapshot_at IS NOT NULL AND kind IS DISTINCT FROM 'refresh'"

// dueAgain is whether it is the turn of a settled detail to be read again, and
// whether it was: the turn of an id comes by its hash, that of a night by its
// number, and where a night had no time for it, one of the next has.
func dueAgain(nights int) (due, overdue string) {
	overdue = "FALSE"
	if nights == 0 {
		return "FALSE", overdue
	}
	if nights > 1 {
		overdue = fmt.Sprintf("d.read_at < (SELECT snapshot_at %s ORDER BY snapshot_at DESC LIMIT 1 OFFSET %d)", pastNights, nights-2)
	}
	return fmt.Sprintf("md5_number_lower(i.id) %% %d = (SELECT count(*) %s) %% %[1]d", nights, pastNights), overdue
}

// turn is when an id is asked for, if it is, as an SQL expression over facts.
// What the lists vouch for is settled while they stay the same, live or not.
func turn(st stream.Stream) string {
	live, changed := "live", "FALSE"
	if st.Rule == stream.ByRow {
		changed = "known IS DISTINCT FROM fingerprint AND NOT new"
		live = "live AND (new OR known IS DISTINCT FROM fingerprint)"
	}
	return fmt.Sprintf("CASE WHEN event THEN %d WHEN %s THEN %d WHEN %s THEN %d WHEN new THEN %d ELSE %d END",
		TurnEvent, live, TurnLive, changed, TurnChanged, TurnNew, TurnSettled)
}

// PlanOnly decides to ask for some ids of a stream, known or not, and to carry
// all others.
func (s *Stage) PlanOnly(ctx context.Context, st stream.Stream, ids []string) (Plan, error) {
	if err := s.Settle(ctx); err != nil {
		return Plan{}, err
	}
	// The fingerprint stays that of the night that saw the rows in the lists.
	targets := literals(ids)
	make := fmt.Sprintf(`CREATE OR REPLACE TABLE %s AS
		SELECT i.id, d.fingerprint, CASE WHEN i.id IN (%s) THEN %s ELSE %s END AS why,
			0 AS turn, d.read_at, NULL::TIMESTAMPTZ AS named, FALSE AS overdue, FALSE AS unread, TRUE AS stays, FALSE AS vouched
		FROM (SELECT id FROM (%s) UNION SELECT unnest([%s])) i LEFT JOIN meta.details d ON d.stream = %s AND d.id = i.id`, planned(st.Name),
		targets, warehouse.Literal(whyEvent), warehouse.Literal(whyCarried), s.parentQuery(st), targets, warehouse.Literal(st.Name))
	return s.makePlan(ctx, st, make)
}

// makePlan makes the list of a stream's ids and counts it.
func (s *Stage) makePlan(ctx context.Context, st stream.Stream, make string) (Plan, error) {
	if err := s.draft.Exec(ctx, make); err != nil {
		return Plan{}, fmt.Errorf("plan %s: %w", st.Name, err)
	}
	return s.countPlan(ctx, st)
}

func (s *Stage) countPlan(ctx context.Context, st stream.Stream) (Plan, error) {
	var p Plan
	err := s.draft.DB.QueryRowContext(ctx, fmt.Sprintf(`SELECT wanted, recheck, carried, vouched, unread,
			CASE WHEN carried > vouched THEN 1 + (SELECT count(*) %[4]s AND snapshot_at > oldest) ELSE 0 END
		FROM (SELECT count(*) FILTER (why <> %[2]s AND NOT unread) AS wanted, count(*) FILTER (why = %[3]s AND NOT unread) AS recheck,
			count(*) FILTER (why = %[2]s) AS carried, count(*) FILTER (why = %[2]s AND vouched) AS vouched, count(*) FILTER (unread) AS unread,
			min(read_at) FILTER (why = %[2]s AND NOT vouched) AS oldest FROM %[1]s)`,
		planned(st.Name), warehouse.Literal(whyCarried), warehouse.Literal(whyRecheck), pastNights)).
		Scan(&p.Fetch, &p.Recheck, &p.Carried, &p.Vouched, &p.Unread, &p.Nights)
	if err != nil {
		return Plan{}, fmt.Errorf("count the plan of %s: %w", st.Name, err)
	}
	return p, nil
}

// why is the rule of the stream as an SQL expression over facts.
func (s *Stage) why(st stream.Stream, r Rereading, proven func(string) bool) string {
	if r.All || st.Rule == stream.EveryNight || st.Rule == stream.ByRow && !s.vouchedWhole(st, proven) {
		return warehouse.Literal(whyAll)
	}
	calls, reason := "live", whyLive
	if st.Rule == stream.ByRow {
		calls, reason = "known IS DISTINCT FROM fingerprint", whyChanged
	}
	return fmt.Sprintf("CASE WHEN new THEN %s WHEN event THEN %s WHEN %s THEN %s WHEN due OR overdue THEN %s ELSE %s END",
		warehouse.Literal(whyNew), warehouse.Literal(whyEvent), calls, warehouse.Literal(reason),
		warehouse.Literal(whyRecheck), warehouse.Literal(whyCarried))
}

// vouchedWhole reports whether every list that vouches was read tonight.
func (s *Stage) vouchedWhole(st stream.Stream, proven func(string) bool) bool {
	for _, l := range s.vouchers(st) {
		if !proven(l.list.Name) {
			return false
		}
	}
	return true
}

// voucher is a list whose rows show the changes of a detail, by a reference.
type voucher struct {
	list stream.Stream
	ref  stream.Ref
}

// rows are the rows of the list that name an id, as SQL: id, row_hash and seq.
func (v voucher) rows(known bool) string {
	root, column := staged(v.list.Name, v.list.Root().Name), warehouse.Quote(v.ref.Column)
	named := fmt.Sprintf("SELECT %s AS id, row_hash, seq FROM %s", column, root)
	if !known {
		return named
	}
	return named + fmt.Sprintf(" UNION ALL SELECT k.%[1]s, r.row_hash, r.seq FROM %[2]s r JOIN main.%[3]s k ON k.%[4]s = r.%[5]s WHERE coalesce(r.%[1]s, '') = ''",
		column, root, warehouse.Quote(v.ref.Known), warehouse.Quote(v.ref.KnownKey), warehouse.Quote(v.list.Root().Key[0]))
}

func (s *Stage) vouchers(st stream.Stream) []voucher {
	var all []voucher
	for _, ref := range st.Parents {
		lists, _ := s.sources(ref.Table)
		for _, l := range lists {
			if ref.Vouches && !l.IsDetail() && l.Root().Name == ref.Table {
				all = append(all, voucher{l, ref})
			}
		}
	}
	return all
}

// vouched gives the fingerprint of each id: the sum over all rows that name it
// tonight, those inside them included, which share their seq. A row's own
// fingerprint is a sum over its values, so that adding rows up as they are would
// not see two of them swap a value, as prices do between tiers: the product of
// its halves ties a row's values together.
func (s *Stage) vouched(st stream.Stream) string {
	var parts []string
	for _, v := range s.vouchers(st) {
		rows := v.rows(len(stream.Feeding(s.streams, v.ref.Known)) > 0)
		parts = append(parts, "SELECT id, row_hash FROM ("+rows+")")
		for _, t := range v.list.Tables[1:] {
			parts = append(parts, fmt.Sprintf("SELECT r.id, c.row_hash FROM %s c JOIN (%s) r USING (seq)", staged(v.list.Name, t.Name), rows))
		}
	}
	if len(parts) == 0 {
		return "SELECT NULL::VARCHAR AS id, NULL::VARCHAR AS fingerprint WHERE FALSE"
	}
	return "SELECT id, sum(xor(row_hash, (row_hash >> 32) * (row_hash & 4294967295)))::VARCHAR AS fingerprint FROM (" + strings.Join(parts, " UNION ALL ") + ") GROUP BY id"
}

// Asks gives the ids that the plan of a stream asks for up to a turn and that
// were not asked for yet. Of one turn, those that were read longest ago come
// first, and of those that never were, the newest.
func (s *Stage) Asks(ctx context.Context, st stream.Stream, last Turn) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		rows, err := s.draft.DB.QueryContext(ctx, fmt.Sprintf(`SELECT id FROM %s WHERE why <> %s AND turn <= %d AND id NOT IN (SELECT id FROM %s)
			ORDER BY turn, read_at NULLS FIRST, named DESC NULLS LAST, id`, planned(st.Name), warehouse.Literal(whyCarried), last, asked(st.Name)))
		if err != nil {
			yield("", fmt.Errorf("list the ids for %s: %w", st.Name, err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); !yield(id, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield("", fmt.Errorf("list the ids for %s: %w", st.Name, err))
		}
	}
}

// NoteUnread leaves for a later night what the plan of a stream wants and nobody
// asked for, and gives the plan that was carried out. Nothing is known of what is
// left but what was: its rows stay. What is settled and was only to be read
// before its time is carried instead.
func (s *Stage) NoteUnread(ctx context.Context, st stream.Stream) (Plan, error) {
	if err := s.Settle(ctx); err != nil {
		return Plan{}, err
	}
	left := fmt.Sprintf("why <> %s AND id NOT IN (SELECT id FROM %s)", warehouse.Literal(whyCarried), asked(st.Name))
	err := s.draft.Exec(ctx,
		fmt.Sprintf("UPDATE %s SET why = %s WHERE why = %s AND NOT overdue AND %s", planned(st.Name),
			warehouse.Literal(whyCarried), warehouse.Literal(whyRecheck), left),
		fmt.Sprintf("UPDATE %s SET unread = TRUE WHERE %s", planned(st.Name), left))
	if err != nil {
		return Plan{}, fmt.Errorf("note what was not read of %s: %w", st.Name, err)
	}
	return s.countPlan(ctx, st)
}

// CaughtUp counts the details that were read tonight and need not be read again
// tomorrow: so many of those that are left can the next night read.
func (s *Stage) CaughtUp(ctx context.Context) (int64, error) {
	parts := []string{"SELECT 0 AS n"}
	for _, st := range s.streams {
		if st.IsDetail() {
			parts = append(parts, fmt.Sprintf("SELECT count(*) FROM %s SEMI JOIN %s USING (id) WHERE turn >= %d",
				planned(st.Name), asked(st.Name), TurnNew))
		}
	}
	var n int64
	err := s.draft.DB.QueryRowContext(ctx, "SELECT sum(n)::BIGINT FROM ("+strings.Join(parts, " UNION ALL ")+")").Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count what was read tonight: %w", err)
	}
	return n, nil
}

// parentQuery lists every id that a stream could be asked for, once each, with
// the time of the newest row that names it, where rows tell. What would change the
// path that it stands in is no id.
func (s *Stage) parentQuery(st stream.Stream) string {
	var from []string
	add := func(column, table, at string) {
		named := "NULL::TIMESTAMPTZ"
		if c, dated := s.defs[table].Column("created_at"); dated {
			named = warehouse.Quote(c.Name)
		}
		from = append(from, fmt.Sprintf("SELECT %s AS id, %s AS named FROM %s", warehouse.Quote(column), named, at))
	}
	for _, ref := range st.Parents {
		feeders := stream.Feeding(s.streams, ref.Table)
		for _, name := range feeders {
			add(ref.Column, ref.Table, staged(name, ref.Table))
		}
		if len(feeders) > 0 {
			add(ref.Column, ref.Table, "main."+warehouse.Quote(ref.Table))
		}
	}
	if root := st.Root().Name; !slices.ContainsFunc(st.Parents, func(r stream.Ref) bool { return r.Table == root }) {
		add(st.Param, root, "main."+warehouse.Quote(root))
	}
	return "SELECT id, max(named) AS named FROM (" + strings.Join(from, " UNION ALL ") + ") WHERE id NOT IN ('', '.', '..') GROUP BY id"
}

// noteDetails keeps for the next night what each detail that answered looked
// like from outside. One that did not answer is marked, so that the next night
// asks again, live or settled, and knows how old its rows are.
func (s *Stage) noteDetails(ctx context.Context, tx *sql.Tx, cover map[string]Coverage) error {
	for _, st := range s.streams {
		if !st.IsDetail() || cover[st.Name] == Carried {
			continue
		}
		name := warehouse.Literal(st.Name)
		missed := warehouse.Literal(string(Missed))
		forget := fmt.Sprintf("DELETE FROM meta.details WHERE stream = %s AND id IN (SELECT id FROM %s WHERE outcome <> %s)", name, asked(st.Name), missed)
		failed := fmt.Sprintf("UPDATE meta.details SET failed_at = %s WHERE stream = %s AND id IN (SELECT id FROM %s WHERE outcome = %s)",
			s.draft.Stamp(), name, asked(st.Name), missed)
		keep := fmt.Sprintf(`INSERT INTO meta.details (stream, id, fingerprint, run_id, read_at)
			SELECT %s, id, fingerprint, %s, %s FROM %s WHERE id IN (SELECT id FROM %s WHERE outcome = %s)`,
			name, warehouse.Literal(s.draft.Run), s.draft.Stamp(), planned(st.Name), asked(st.Name), warehouse.Literal(string(Answered)))
		for _, statement := range []string{forget, failed, keep} {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("note the details of %s: %w", st.Name, err)
			}
		}
	}
	return nil
}
