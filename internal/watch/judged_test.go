package watch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"placementsync/internal/ledger"
	"placementsync/internal/query"
	"placementsync/internal/watch"
)

func TestMessagesAreBounded(t *testing.T) {
	t.Parallel()
	h, w := newHouse(t), bills()
	w.Advice = "Pay them."
	var rows []string
	for i := range 1234 {
		rows = append(rows, fmt.Sprintf("%d%s|NULL", i, strings.Repeat("ä", 5000)))
	}
	h.night(rows...)
	res, got := h.look(t, w)
	must(t, res.Err)
	m := got[0].message
	if len(m.Findings) != 20 || m.New != 1234 || m.More != 1214 || !strings.HasSuffix(m.Text, "and 1224 more\nPay them.") ||
		!strings.HasPrefix(m.Text, "bills: 1234 new findings in the snapshot of 2026-11-01 02:00 UTC\n") || m.Subject != "placementsync: bills: 1234 new findings" {
		t.Errorf("got %d findings, %d new, %d more, %s:\n%s", len(m.Findings), m.New, m.More, m.Subject, m.Text)
	}
	if body, err := json.Marshal(m); err != nil || len(body) > 100_000 || utf8.RuneCountInString(m.Text) > 2_400 {
		t.Errorf("the message has %d bytes, its text %d (%v)", len(body), len(m.Text), err)
	}
	rows = nil
	for i := range 10_001 {
		rows = append(rows, fmt.Sprintf("x%d|1", i))
	}
	h.night(rows...)
	if res, got := h.look(t, w); res.Err == nil || !strings.Contains(res.Err.Error(), "look for bills: there are more than 10000 findings: narrow the query or its condition") || len(got) > 0 {
		t.Errorf("arrived %d: %v", len(got), res.Err)
	}
}

// TestHostileValuesDoNotAct: what the service sent makes no line, no control character and
// no other direction of writing in the text, and is exact in the object.
func TestHostileValuesDoNotAct(t *testing.T) {
	t.Parallel()
	h, w := newHouse(t), bills()
	value := "x\r\nBcc: all@example.com\n\n- b: 2 \x1b[2J\u202e\u2066\u200b\u2028\x00 <!channel> *b* {{.}} &amp;"
	h.night(value + "|1")
	_, got := h.look(t, w)
	m := got[0].message
	if lines := strings.Split(m.Text, "\n"); len(lines) != 3 || !strings.HasPrefix(lines[2], "- id: x  Bcc: all@example.com  - b: 2 ") {
		t.Errorf("the text is %q", m.Text)
	}
	for _, r := range strings.ReplaceAll(m.Text, "\n", "") {
		if !unicode.IsGraphic(r) {
			t.Errorf("%U is in the text %q", r, m.Text)
		}
	}
	if *m.Findings[0].Values["id"] != value || strings.Contains(m.Subject, "Bcc") {
		t.Errorf("the object has %q", *m.Findings[0].Values["id"])
	}
}

func TestWatchesThatCannotBeLookedFor(t *testing.T) {
	t.Parallel()
	number := func(column string) func(*watch.Watch, *house) {
		return func(w *watch.Watch, _ *house) {
			c, err := watch.NewCondition(column, true, "1")
			must(t, err)
			w.When = c
		}
	}
	for name, c := range map[string]struct {
		change func(*watch.Watch, *house)
		want   string
	}{
		"no such column":  {number("amont"), `look for bills: the answer has no column "amont", which when names: it has id, amount`},
		"a text":          {number("id"), `the column "id" of its condition has no numbers: cast it to DECIMAL, or name another one`},
		"no such key":     {func(w *watch.Watch, _ *house) { w.Key = []string{"nr"} }, `no column "nr", which key names`},
		"nothing to show": {func(w *watch.Watch, _ *house) { w.Show = []string{"nr"} }, `no column "nr", which show names`},
		"the query fails": {func(_ *watch.Watch, h *house) { h.ask = func(context.Context) error { return errDeaf } }, "look for bills: the receiver answered 500"},
		"it does not end": {func(_ *watch.Watch, h *house) {
			h.ask = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		}, "look for bills: the query took longer than 10ms: narrow it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, w := newHouse(t), bills()
			h.night("a|1")
			c.change(&w, h)
			cfg := h.config(t)
			cfg.Timeout = 10 * time.Millisecond
			results, err := watch.Run(t.Context(), cfg, []watch.Watch{w})
			must(t, err)
			if results[0].Err == nil || !strings.Contains(results[0].Err.Error(), c.want) || len(h.got) > 0 {
				t.Errorf("got %v, want %s", results[0].Err, c.want)
			}
			// What it could not find is found once it can.
			h.ask = nil
			if _, got := h.look(t, bills()); ids(got) != "chat(a*)" {
				t.Errorf("afterwards arrived %s", ids(got))
			}
		})
	}
	h := newHouse(t)
	if _, err := watch.Run(t.Context(), h.config(t), []watch.Watch{bills()}); err == nil || !strings.Contains(err.Error(), "no snapshot") {
		t.Errorf("without a snapshot: %v", err)
	}
}

func TestNumbersAreComparedExactly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		over         bool
		limit, value string
		found        bool
		judged       bool
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
		h, w := newHouse(t), bills()
		var err error
		w.When, err = watch.NewCondition("amount", c.over, c.limit)
		must(t, err)
		h.night("a|" + c.value)
		res, _ := h.look(t, w)
		if (res.Found == 1) != c.found || (res.NoNumber == 0) != c.judged || res.Err != nil {
			t.Errorf("%s over %s (%t): found %d, not judged %d (%v)", c.value, c.limit, c.over, res.Found, res.NoNumber, res.Err)
		}
	}
	if _, err := watch.NewCondition("amount", true, "many"); err == nil {
		t.Error("a text was taken for a number")
	}
}

// TestWhatIsNotJudgedIsSaid in the message about the others.
func TestWhatIsNotJudgedIsSaid(t *testing.T) {
	t.Parallel()
	h, w := newHouse(t), bills()
	var err error
	w.When, err = watch.NewCondition("amount", true, "1")
	must(t, err)
	h.night("a|2", "b|NULL", "c|NaN")
	h.sources = []query.Source{{Table: "orders", Standing: ledger.Carried, RowsSince: h.line[0].At}}
	_, got := h.look(t, w)
	if !strings.HasSuffix(got[0].message.Text, "\nBehind this: orders is carried since 2026-11-01 02:00 UTC.") {
		t.Errorf("it says %q", got[0].message.Text)
	}
	if !strings.Contains(got[0].message.Text, "Not judged: 2 rows without a number in amount.") {
		t.Errorf("it says %q", got[0].message.Text)
	}
}
