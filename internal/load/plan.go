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

// Plan counts what a night will do about the details of a stream.
type Plan struct {
	// Fetch counts the ids to ask for, Recheck those of them that are settled
	// and only read again, Carried those that keep their rows.
	Fetch, Recheck, Carried int64
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
		SELECT i.id, v.fingerprint, %s AS why
		FROM (%s) i LEFT JOIN (%s) v USING (id) LEFT JOIN (%s) t USING (id)
		LEFT JOIN meta.details d ON d.stream = %s AND d.id = i.id`, planned(st.Name), s.why(st, r, proven),
		s.parentQuery(st), s.vouched(st), heard, warehouse.Literal(st.Name))
	return s.makePlan(ctx, st, make)
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
		SELECT i.id, d.fingerprint, CASE WHEN i.id IN (%s) THEN %s ELSE %s END AS why
		FROM (%s UNION SELECT unnest([%s])) i LEFT JOIN meta.details d ON d.stream = %s AND d.id = i.id`, planned(st.Name),
		targets, warehouse.Literal(whyEvent), warehouse.Literal(whyCarried), s.parentQuery(st), targets, warehouse.Literal(st.Name))
	return s.makePlan(ctx, st, make)
}

// makePlan makes the list of a stream's ids and counts it.
func (s *Stage) makePlan(ctx context.Context, st stream.Stream, make string) (Plan, error) {
	if err := s.draft.Exec(ctx, make); err != nil {
		return Plan{}, fmt.Errorf("plan %s: %w", st.Name, err)
	}
	var p Plan
	err := s.draft.DB.QueryRowContext(ctx, fmt.Sprintf(`SELECT count(*) FILTER (why <> %[2]s),
		count(*) FILTER (why = %[3]s), count(*) FILTER (why = %[2]s) FROM %[1]s`,
		planned(st.Name), warehouse.Literal(whyCarried), warehouse.Literal(whyRecheck))).Scan(&p.Fetch, &p.Recheck, &p.Carried)
	if err != nil {
		return Plan{}, fmt.Errorf("count the plan of %s: %w", st.Name, err)
	}
	return p, nil
}

// why is the rule of the stream as an SQL expression over an id "i", its
// fingerprint tonight "v", its last event "t" and what is known of it "d".
func (s *Stage) why(st stream.Stream, r Rereading, proven func(string) bool) string {
	if r.All || st.Rule == stream.EveryNight {
		return warehouse.Literal(whyAll)
	}
	rules := []string{fmt.Sprintf("WHEN d.id IS NULL THEN %s WHEN t.heard > d.read_at THEN %s", warehouse.Literal(whyNew), warehouse.Literal(whyEvent))}
	if st.Rule == stream.ByRow {
		if !s.vouchedWhole(st, proven) {
			return warehouse.Literal(whyAll)
		}
		rules = append(rules, fmt.Sprintf("WHEN d.fingerprint IS DISTINCT FROM v.fingerprint THEN %s", warehouse.Literal(whyChanged)))
	} else {
		rules = append(rules, fmt.Sprintf("WHEN i.id IN (%s) THEN %s", s.live(st.Life, r.LiveDays), warehouse.Literal(whyLive)))
	}
	if r.Recheck > 0 {
		// The turn of an id comes by its hash, that of a night by its number.
		rules = append(rules, fmt.Sprintf(`WHEN md5_number_lower(i.id) %% %d = (SELECT count(*) FROM meta.runs
			WHERE snapshot_at IS NOT NULL AND kind IS DISTINCT FROM 'refresh') %% %[1]d THEN %s`, r.Recheck, warehouse.Literal(whyRecheck)))
	}
	return "CASE " + strings.Join(rules, " ") + fmt.Sprintf(" ELSE %s END", warehouse.Literal(whyCarried))
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

// voucher is a list whose rows show the changes of a detail, by a column.
type voucher struct {
	list   stream.Stream
	column string
}

func (s *Stage) vouchers(st stream.Stream) []voucher {
	var all []voucher
	for _, ref := range st.Parents {
		lists, _ := s.sources(ref.Table)
		for _, l := range lists {
			if ref.Vouches && !l.IsDetail() && l.Root().Name == ref.Table {
				all = append(all, voucher{l, ref.Column})
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
		root := staged(v.list.Name, v.list.Root().Name)
		id := warehouse.Quote(v.column)
		parts = append(parts, fmt.Sprintf("SELECT %s AS id, row_hash FROM %s", id, root))
		for _, t := range v.list.Tables[1:] {
			parts = append(parts, fmt.Sprintf("SELECT r.%s, c.row_hash FROM %s c JOIN %s r USING (seq)", id, staged(v.list.Name, t.Name), root))
		}
	}
	if len(parts) == 0 {
		return "SELECT NULL::VARCHAR AS id, NULL::VARCHAR AS fingerprint WHERE FALSE"
	}
	return "SELECT id, sum(xor(row_hash, (row_hash >> 32) * (row_hash & 4294967295)))::VARCHAR AS fingerprint FROM (" + strings.Join(parts, " UNION ALL ") + ") GROUP BY id"
}

// Asks gives, sorted, the ids that the plan of a stream asks for.
func (s *Stage) Asks(ctx context.Context, st stream.Stream) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		rows, err := s.draft.DB.QueryContext(ctx,
			fmt.Sprintf("SELECT id FROM %s WHERE why <> %s ORDER BY id", planned(st.Name), warehouse.Literal(whyCarried)))
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

// parentQuery lists every id that a stream could be asked for, once each.
func (s *Stage) parentQuery(st stream.Stream) string {
	var from []string
	add := func(column, table string) {
		from = append(from, fmt.Sprintf("SELECT %s AS id FROM %s", warehouse.Quote(column), table))
	}
	for _, ref := range st.Parents {
		feeders := stream.Feeding(s.streams, ref.Table)
		for _, name := range feeders {
			add(ref.Column, staged(name, ref.Table))
		}
		if len(feeders) > 0 {
			add(ref.Column, "main."+warehouse.Quote(ref.Table))
		}
	}
	if !slices.ContainsFunc(st.Parents, func(r stream.Ref) bool { return r.Table == st.Root().Name }) {
		add(st.Param, "main."+warehouse.Quote(st.Root().Name))
	}
	return "SELECT DISTINCT id FROM (" + strings.Join(from, " UNION ALL ") + ") WHERE id IS NOT NULL AND id <> ''"
}

// noteDetails keeps for the next night what each detail that answered looked
// like from outside. Of those that did not answer it keeps nothing, so that the
// next night asks again, live or settled.
func (s *Stage) noteDetails(ctx context.Context, tx *sql.Tx, cover map[string]Coverage) error {
	for _, st := range s.streams {
		if !st.IsDetail() || cover[st.Name] == Carried {
			continue
		}
		name := warehouse.Literal(st.Name)
		forget := fmt.Sprintf("DELETE FROM meta.details WHERE stream = %s AND id IN (SELECT id FROM %s)", name, asked(st.Name))
		keep := fmt.Sprintf(`INSERT INTO meta.details (stream, id, fingerprint, run_id, read_at)
			SELECT %s, id, fingerprint, %s, %s FROM %s WHERE id IN (SELECT id FROM %s WHERE outcome = %s)`,
			name, warehouse.Literal(s.draft.Run), s.draft.Stamp(), planned(st.Name), asked(st.Name), warehouse.Literal(string(Answered)))
		for _, statement := range []string{forget, keep} {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("note the details of %s: %w", st.Name, err)
			}
		}
	}
	return nil
}
