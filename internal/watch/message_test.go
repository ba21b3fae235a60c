package watch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/ledger"
	"placementsync/internal/query"
	"placementsync/internal/testing/harness"
	"placementsync/internal/watch"
)

func TestMessagesAreBounded(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), billsWatch()
	w.Advice = "Pay them."
	f.columns = []string{"id", "amount#", "title"} // # marks a numeric column
	var rows []string
	for i := range 1234 {
		rows = append(rows, fmt.Sprintf("%d%s|NULL|%s", i, strings.Repeat("ä", 5000), strings.Repeat("ö", 500)))
	}
	f.publish(rows...)
	res, got := f.evaluate(t, w)
	harness.Must(t, res.Err)
	m := got[0].message
	// The message contains 20 findings, and its text the first 10.
	if m.Watch != "bills" || len(m.Findings) != 20 || m.New != 1234 || m.More != 1214 || !strings.HasSuffix(m.Text, "and 1224 more\nPay them.") ||
		!strings.HasPrefix(m.Text, "bills: 1234 new findings in the snapshot of 2026-11-01 02:00 UTC\n") || m.Subject != "placementsync: bills: 1234 new findings" {
		t.Errorf("got %d findings, %d new, %d more, want 20, 1234 and 1214; subject %q, text:\n%s", len(m.Findings), m.New, m.More, m.Subject, m.Text)
	}
	body, err := json.Marshal(m)
	if !bytes.Contains(body, []byte(`"not_read":[]`)) {
		t.Errorf("the object has no empty list of unread tables:\n%.200s", body)
	}
	if err != nil || len(body) > 100_000 || utf8.RuneCountInString(m.Text) > 2_400 {
		t.Errorf("the message has %d bytes and its text %d characters, want at most 100000 and 2400 (%v)", len(body), utf8.RuneCountInString(m.Text), err)
	}
	if first := m.Findings[0]; !first.New || !first.Since.Equal(f.snapshots[0].At) {
		t.Errorf("the first finding is %+v, want a new one since %s", first, f.snapshots[0].At)
	}
	rows = nil
	for i := range 10_001 {
		rows = append(rows, fmt.Sprintf("x%d|1|", i))
	}
	f.publish(rows...)
	if res, got := f.evaluate(t, w); res.Err == nil || !strings.Contains(res.Err.Error(), "evaluate the watch bills: there are more than 10000 findings: narrow the query or its condition") || len(got) > 0 {
		t.Errorf("delivered %d messages with the error %v, want none and the error \"more than 10000 findings\"", len(got), res.Err)
	}
}

// TestMessageObjects compares the whole objects of a message about a finding of the second night, and of one about a
// table that the third night did not read.
func TestMessageObjects(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), billsWatch()
	f.publish("a|1")
	f.evaluate(t, w)
	for _, c := range []struct {
		rows    []string
		sources []query.Source
		want    string
	}{
		{[]string{"a|1", "b|NULL"}, nil, `{"watch":"bills","subject":"placementsync: bills: 1 new finding, 2 in all",` +
			`"text":"bills: 1 new finding, 2 in all in the snapshot of 2026-11-02 02:00 UTC\n` +
			`New findings are those that the snapshot of 2026-11-01 02:00 UTC did not have.\n- id: b",` +
			`"run_id":"20261102T020000Z","snapshot_at":"2026-11-02T02:00:00Z","since":"2026-11-01T02:00:00Z","found":2,"new":1,"more":0,` +
			`"findings":[{"new":true,"since":"2026-11-02T02:00:00Z","values":{"amount":null,"id":"b"}}],"not_read":[],"program_version":"test"}`},
		{nil, unreadTable("orders", "403"), `{"watch":"bills","subject":"placementsync: bills: not checked",` +
			`"text":"bills: not checked, because tables are missing from the snapshot of 2026-11-03 02:00 UTC\n- orders was not read: 403\n` +
			`The watch continues as soon as these tables are read. The command \"placementsync check\" shows which streams the token may read.",` +
			`"run_id":"20261103T020000Z","snapshot_at":"2026-11-03T02:00:00Z","found":0,"new":0,"more":0,` +
			`"findings":[],"not_read":["orders was not read: 403"],"program_version":"test"}`},
	} {
		f.publish(c.rows...)
		f.sources = c.sources
		res, got := f.evaluate(t, w)
		if res.Watch != "bills" || len(got) != 1 || len(got[0].message.ID) != 32 {
			t.Fatalf("the watch %q delivered %+v, want one message of the watch bills with an id", res.Watch, got)
		}
		id := fmt.Sprintf(`{"id":%q,`, got[0].message.ID)
		body, err := json.Marshal(got[0].message)
		harness.Must(t, err)
		if diff := cmp.Diff(id+c.want[1:], string(body)); diff != "" {
			t.Errorf("object (-want +got):\n%s", diff)
		}
	}
}

// TestKnownFindingsAreNotMore evaluates 25 new findings beside a known one, and then a watch that sends all findings.
func TestKnownFindingsAreNotMore(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), billsWatch()
	rows := []string{"known|1"}
	f.publish(rows...)
	f.evaluate(t, w)
	for i := range 25 {
		rows = append(rows, fmt.Sprintf("x%d|1", i))
	}
	f.publish(rows...)
	_, got := f.evaluate(t, w)
	if m := got[0].message; m.More != 5 || !strings.HasSuffix(m.Text, "\nand 15 more") || m.Subject != "placementsync: bills: 25 new findings, 26 in all" {
		t.Errorf("the message omits %d findings, want the other 5 new ones; subject %q, text:\n%s", m.More, m.Subject, m.Text)
	}
	all := billsWatch()
	all.Name, all.NewOnly = "all", false
	f.evaluate(t, all)
	for range 2 {
		f.publish(rows...)
		_, got = f.evaluate(t, all)
	}
	if m := got[0].message; m.More != 6 || m.Subject != "placementsync: all: 26 findings, 0 new" || !m.Findings[0].Since.Equal(f.snapshots[1].At) ||
		!strings.Contains(m.Text, "\n- id: known, amount: 1 (since 2026-11-02)\n") {
		t.Errorf("the message omits %d findings, want 6 known ones since the second snapshot; subject %q, text:\n%s", m.More, m.Subject, m.Text)
	}
}

// TestMessageTextIsSanitized evaluates a value with line ends, control characters and marks of the
// writing direction. The text of the message must not contain these characters. The JSON object
// must contain the unchanged value.
func TestMessageTextIsSanitized(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), billsWatch()
	value := "x\r\nBcc: all@example.com\n\n- b: 2 \x1b[2J\u202e\u2066\u200b\u2028\x00 <!channel> *b* {{.}} &amp;"
	f.columns = []string{"id", "amount#", "a\nname"} // PIVOT makes names of values
	f.publish(value + "|NULL|z")
	_, got := f.evaluate(t, w)
	m := got[0].message
	if lines := strings.Split(m.Text, "\n"); len(lines) != 3 || !strings.HasPrefix(lines[2], "- id: x  Bcc: all@example.com  - b: 2 ") {
		t.Errorf("the text is %q, want three lines and the value on the last one", m.Text)
	}
	for _, r := range strings.ReplaceAll(m.Text, "\n", "") {
		if !unicode.IsGraphic(r) {
			t.Errorf("the text %q contains %U, want only graphic characters", m.Text, r)
		}
	}
	if values := m.Findings[0].Values; values["amount"] != nil || values["a\nname"] == nil || !strings.HasSuffix(m.Text, ", a name: z") {
		t.Errorf("got the values %v and the text %q, want the column after NULL too", values, m.Text)
	}
	if *m.Findings[0].Values["id"] != value || strings.Contains(m.Subject, "Bcc") {
		t.Errorf("the object has the value %q, want %q; the subject is %q, want no value in it", *m.Findings[0].Values["id"], value, m.Subject)
	}
}

func TestEvaluationErrors(t *testing.T) {
	t.Parallel()
	conditionOn := func(column string) func(*watch.Watch, *fixture) {
		return func(w *watch.Watch, _ *fixture) { w.When = condition(column, true, "1") }
	}
	for name, c := range map[string]struct {
		change func(*watch.Watch, *fixture)
		want   string
	}{
		"unknown column in when": {conditionOn("amont"), `evaluate the watch bills: the query returns no column "amont" for when: use one of id, amount`},
		"text column in when":    {conditionOn("id"), `the column "id" of the condition is not numeric: cast it to DECIMAL, or name another column`},
		"unknown column in key":  {func(w *watch.Watch, _ *fixture) { w.Key = []string{"nr"} }, `no column "nr" for key`},
		"unknown column in show": {func(w *watch.Watch, _ *fixture) { w.Show = []string{"nr"} }, `no column "nr" for show`},
		"unknown query":          {func(w *watch.Watch, _ *fixture) { w.Query = "nothing_of_ours" }, "evaluate the watch bills: "},
		"failing query": {func(_ *watch.Watch, f *fixture) {
			f.runQuery = func(context.Context) error { return errors.New("the query failed") }
		}, "evaluate the watch bills: the query failed"},
		"slow query": {func(_ *watch.Watch, f *fixture) {
			f.runQuery = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		}, "evaluate the watch bills: the query took longer than 10ms: read less, for example with WHERE"},
		"slow plan": {func(_ *watch.Watch, f *fixture) {
			f.readPlan = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		}, "evaluate the watch bills: the query took longer than 10ms: read less, for example with WHERE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, w := newFixture(t), billsWatch()
			f.publish("a|1")
			c.change(&w, f)
			cfg := f.config(t)
			cfg.Timeout = 10 * time.Millisecond
			results := harness.MustValue(watch.Run(t.Context(), cfg, []watch.Watch{w}))
			if results[0].Err == nil || !strings.Contains(results[0].Err.Error(), c.want) || len(f.delivered) > 0 {
				t.Errorf("got %v, want %s", results[0].Err, c.want)
			}
			// A later evaluation of the same snapshot has the findings. The star marks a new one.
			f.runQuery, f.readPlan = nil, nil
			if _, got := f.evaluate(t, billsWatch()); formatDeliveries(got) != "chat(a*)" {
				t.Errorf("after the repair, delivered %s, want chat(a*)", formatDeliveries(got))
			}
		})
	}
	f := newFixture(t)
	if _, err := watch.Run(t.Context(), f.config(t), []watch.Watch{billsWatch()}); err == nil || !strings.Contains(err.Error(), "no snapshot") {
		t.Errorf("Run without a snapshot: got %v, want an error", err)
	}
}

func TestNumbersAreComparedExactly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		over         bool
		limit, value string
		isFinding    bool
		isNumber     bool
	}{
		{true, "0.1", "0.1", false, true},
		{true, "0.1", "0.100000000000000000000000000000000001", true, true},
		{false, "-10", "-10.000000", false, true},
		{false, "-10", "-10.000001", true, true},
		{true, "9007199254740992", "9007199254740993", true, true},
		{true, "99999999999999999999999999999999999999", "170141183460469231731687303715884105727", true, true},
		{true, "1", "1e+300", true, true},
		{true, "1", "NaN", false, false},
		{true, "1", "Infinity", false, false},
		{true, "1", "-inf", false, false},
		{false, "1", "NULL", false, false},
	} {
		f, w := newFixture(t), billsWatch()
		w.When = condition("amount", c.over, c.limit)
		f.publish("a|" + c.value)
		res, _ := f.evaluate(t, w)
		if (res.Found == 1) != c.isFinding || (res.Skipped == 0) != c.isNumber || res.Err != nil {
			t.Errorf("value %s, limit %s, over %t: got %d findings and %d rows without a number (%v), want a finding: %t, a number: %t", c.value, c.limit,
				c.over, res.Found, res.Skipped, res.Err, c.isFinding, c.isNumber)
		}
	}
}

// TestMessageMentionsSkippedRowsAndIncompleteTables evaluates rows without a number, and a carried table.
func TestMessageMentionsSkippedRowsAndIncompleteTables(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), billsWatch()
	w.When = condition("amount", true, "1")
	f.publish("a|2", "b|NULL", "c|NaN")
	f.sources = []query.Source{{Table: "orders", Standing: ledger.Carried, RowsSince: f.snapshots[0].At}}
	_, got := f.evaluate(t, w)
	for _, want := range []string{"Skipped: 2 rows without a number in amount.\n", "\nPossibly incomplete: orders is carried since 2026-11-01 02:00 UTC."} {
		if !strings.Contains(got[0].message.Text, want) {
			t.Errorf("the text %q lacks %q", got[0].message.Text, want)
		}
	}
	f.publish("d|2")
	if _, got := f.evaluate(t, w); len(got) != 1 || strings.Contains(got[0].message.Text, "Skipped") {
		t.Errorf("got the messages %+v, want one without skipped rows", got)
	}
}

// TestMessageSaysThatItsSourcesAreUnknown evaluates a query without a plan, and one whose plan cannot be read.
func TestMessageSaysThatItsSourcesAreUnknown(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), billsWatch()
	f.publish("a|1")
	f.sourcesErr = fmt.Errorf("plan\x1bthe query: %w%s", query.ErrNoPlan, strings.Repeat("!", 1000))
	if res, got := f.evaluate(t, w); res.Err != nil || len(got) != 1 || len(got[0].message.NotProven) > 200+len("…") ||
		!strings.Contains(got[0].message.Text, "\nPossibly incomplete: plan the query: ") {
		t.Errorf("got %+v and the messages %+v, want one that is possibly incomplete", res, got)
	}
	f.publish("a|1", "b|1")
	f.sourcesErr = errors.New("no memory")
	if res, got := f.evaluate(t, w); res.Err == nil || !strings.Contains(res.Err.Error(), "no memory") || len(got) > 0 {
		t.Errorf("got the error %v and %d messages, want the error and none", res.Err, len(got))
	}
}

func TestUnreadTablesInAMessageAreLimited(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), billsWatch()
	for i := range 12 {
		f.sources = append(f.sources, unreadTable(fmt.Sprintf("table_%02d", i), "the token\x1blacks a right")...)
	}
	f.publish()
	_, got := f.evaluate(t, w)
	want := "\n- table_09 was not read: the token lacks a right\nand 2 more\nThe watch continues as soon as these tables are read."
	if len(got) != 1 || !strings.Contains(got[0].message.Text, want) {
		t.Errorf("the messages are %+v, want one with %q", got, want)
	}
	if body, err := json.Marshal(got[0].message); err != nil || !bytes.Contains(body, []byte(`"findings":[]`)) {
		t.Errorf("the object is %s (%v), want an empty list of findings", body, err)
	}
}

// TestMessageAfterARollbackBehindTheFirstEvaluation rolls back every evaluated night. The next message leaves out the
// finding a, which was sent before the rollback. So it must not say that every finding is new.
func TestMessageAfterARollbackBehindTheFirstEvaluation(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), billsWatch()
	f.publish()
	f.publish("a|1")
	_, first := f.evaluate(t, w)
	f.snapshots = f.snapshots[:1]
	f.publish("a|1", "b|1")
	_, got := f.evaluate(t, w)
	if formatDeliveries(got) != "chat(b*)" {
		t.Fatalf("delivered %q, want the new finding b only", formatDeliveries(got))
	}
	const everyNew, leftOut = "This is the first check, so every finding is new.\n", "New findings are those that no earlier check found.\n"
	for _, c := range []struct{ text, want, unwanted string }{
		{first[0].message.Text, everyNew, leftOut}, {got[0].message.Text, leftOut, everyNew},
	} {
		if !strings.Contains(c.text, c.want) || strings.Contains(c.text, c.unwanted) {
			t.Errorf("got the text\n%s\nwant %q, and not %q", c.text, c.want, c.unwanted)
		}
	}
}
