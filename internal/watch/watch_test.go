package watch_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/watch"
)

// TestEachFindingIsSentOnce follows watches through nights. A step is the rows of a new
// snapshot; "again" looks at the same one; "back" rolls back to the one before and "looks"
// there.
func TestEachFindingIsSentOnce(t *testing.T) {
	t.Parallel()
	allOf := func(w watch.Watch) watch.Watch { w.NewOnly = false; return w }
	whole := func(w watch.Watch) watch.Watch { w.Key = nil; return w }
	over := func(w watch.Watch) watch.Watch {
		c, err := watch.NewCondition("amount", true, "100")
		must(t, err)
		w.When = c
		return w
	}
	same := func(w watch.Watch) watch.Watch { return w }
	for name, c := range map[string]struct {
		of    func(watch.Watch) watch.Watch
		steps []string // rows, separated by spaces, and what arrives behind an arrow
	}{
		"new ones":                           {same, []string{"a|1 b|1 -> chat(a* b*)", "a|1 b|1 ->", "a|1 b|1 c|1 -> chat(c*)", "again ->"}},
		"one that ended and comes back":      {same, []string{"a|1 -> chat(a*)", "->", "a|1 -> chat(a*)"}},
		"a value that changes is not new":    {same, []string{"a|1 -> chat(a*)", "a|2 ->"}},
		"a whole row is another":             {whole, []string{"a|1 -> chat(a*)", "a|2 -> chat(a*)", "a|2 ->"}},
		"rows of one key are one finding":    {same, []string{"a|1 a|2 -> chat(a*)"}},
		"NULL is a key, and not the empty":   {same, []string{"NULL|1 -> chat(NULL*)", "NULL|1 |1 -> chat(*)"}},
		"all of them each night":             {allOf, []string{"a|1 -> chat(a*)", "a|1 b|1 -> chat(a b*)", "again ->", "a|1 -> chat(a)", "->"}},
		"a night that is rolled back":        {same, []string{"a|1 -> chat(a*)", "a|1 b|1 -> chat(b*)", "back ->", "a|1 b|1 c|1 -> chat(c*)"}},
		"a bad night that is rolled back":    {same, []string{"a|1 -> chat(a*)", "b|1 -> chat(b*)", "back ->", "a|1 ->", "a|1 b|1 -> chat(b*)"}},
		"two nights back":                    {same, []string{"a|1 -> chat(a*)", "b|1 -> chat(b*)", "->", "back ->", "back ->", "a|1 b|1 ->"}},
		"over a number":                      {over, []string{"a|100 b|100.000001 c|NULL -> chat(b*)", "a|101 b|99 -> chat(a*)", "b|100.5 -> chat(b*)"}},
		"no finding is no message":           {same, []string{"->", "->"}},
		"the first look at an old warehouse": {same, []string{"a|1 -> chat(a*)"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, w := newHouse(t), c.of(bills())
			for i, step := range c.steps {
				does, want, _ := strings.Cut(step, "->")
				switch does := strings.TrimSpace(does); does {
				case "again":
				case "back":
					h.line, h.rows = h.line[:len(h.line)-1], nil
				default:
					h.night(strings.Fields(does)...)
				}
				res, got := h.look(t, w)
				must(t, res.Err)
				if diff := cmp.Diff(strings.TrimSpace(want), ids(got)); diff != "" {
					t.Errorf("step %d, %q: arrived (-want +got):\n%s", i+1, step, diff)
				}
			}
		})
	}
}

// TestAClockThatWasAheadHidesNothing: a night of the far future is rolled back, and those
// after it are looked at as ever.
func TestAClockThatWasAheadHidesNothing(t *testing.T) {
	t.Parallel()
	h, w := newHouse(t), bills()
	h.night("a|1")
	h.look(t, w)
	h.ahead = 1000 * 24 * time.Hour
	h.night("a|1", "b|1")
	h.look(t, w)
	h.line, h.ahead = h.line[:1], 0
	for i, want := range []string{"chat(c*)", "", "chat(b*)"} {
		h.night([][]string{{"a|1", "b|1", "c|1"}, {"a|1", "c|1"}, {"a|1", "b|1", "c|1"}}[i]...)
		if res, got := h.look(t, w); ids(got) != want || res.Err != nil {
			t.Errorf("night %d after it: arrived %q, want %q (%v)", i+1, ids(got), want, res.Err)
		}
	}
}

// TestAKillRepeatsAtMostADelivery kills a night at each step, one after the other, and
// lets the next process go on: every message arrives, one of them at most twice, with the
// same id and the same bytes, and nothing of the night before.
func TestAKillRepeatsAtMostADelivery(t *testing.T) {
	t.Parallel()
	before, w := newHouse(t), bills()
	w.Channels = []string{"chat", "mail"}
	before.night("a|1")
	before.look(t, w)
	for n := 1; ; n++ {
		h := newHouse(t)
		must(t, os.CopyFS(filepath.Join(h.dir, "state"), os.DirFS(filepath.Join(before.dir, "state"))))
		h.night("a|1")
		at, killed := 0, false
		h.steps = func(string) error {
			if at++; at == n {
				panic(syscall.SIGKILL)
			}
			return nil
		}
		h.night("a|1", "b|1")
		for again := true; again; {
			again = func() (died bool) {
				defer func() {
					if r := recover(); r != nil {
						died, killed = true, true
					}
				}()
				res, _ := h.look(t, w)
				if res.Err != nil || res.Waiting > 0 {
					t.Errorf("killed at step %d: %v, %d waiting", n, res.Err, res.Waiting)
				}
				return false
			}()
		}
		times, texts := map[string]int{}, map[string]watch.Message{}
		for _, d := range h.got {
			key := d.channel + " " + ids([]delivered{d})
			if first, ok := texts[key]; ok && !cmp.Equal(first, d.message) {
				t.Errorf("killed at step %d: a repeated message differs: %s", n, cmp.Diff(first, d.message))
			}
			times[key], texts[key] = times[key]+1, d.message
		}
		if times["chat chat(b*)"] == 0 || times["mail mail(b*)"] == 0 || len(times) != 2 || len(h.got) > 3 {
			t.Errorf("killed at step %d: arrived %s", n, ids(h.got))
		}
		if !killed {
			if n < 20 {
				t.Errorf("only %d steps: fault injection has lost its points", n)
			}
			return
		}
	}
}

// TestADiskThatFailsSendsNothingUnrecorded lets each step of the disk fail, without a
// kill.
func TestADiskThatFailsSendsNothingUnrecorded(t *testing.T) {
	t.Parallel()
	for n := 1; ; n++ {
		h := newHouse(t)
		at := 0
		h.steps = func(name string) error {
			if at++; at == n && !strings.Contains(name, "delivery") {
				return syscall.ENOSPC
			}
			return nil
		}
		h.night("a|1")
		res, first := h.look(t, bills())
		failed := at >= n
		steps := at
		h.steps = nil
		_, second := h.look(t, bills())
		if len(first)+len(second) < 1 || len(first)+len(second) > 2 {
			t.Errorf("step %d failed: %d and %d messages arrived (%v)", n, len(first), len(second), res.Err)
		}
		if len(first)+len(second) == 2 && (res.Err == nil || !strings.Contains(res.Err.Error(), "it is sent once more")) {
			t.Errorf("step %d failed: sent twice, and the first time said %v", n, res.Err)
		}
		if !failed {
			if steps < 10 {
				t.Errorf("only %d steps", steps)
			}
			return
		}
	}
}

func TestWhatIsNotDeliveredComesAgain(t *testing.T) {
	t.Parallel()
	h, w := newHouse(t), bills()
	w.Channels = []string{"chat", "mail"}
	h.deaf["chat"] = errDeaf
	h.night("a|1")
	res, got := h.look(t, w)
	if ids(got) != "mail(a*)" || res.Waiting != 1 || len(res.Messages) != 0 || !errors.Is(res.Err, errDeaf) ||
		!strings.Contains(res.Err.Error(), "send bills: to chat: the receiver answered 500: kept, the next night sends it again") {
		t.Errorf("arrived %s, %d waiting: %v", ids(got), res.Waiting, res.Err)
	}
	id := got[0].message.ID
	h.night("a|1", "b|1")
	res, got = h.look(t, w)
	if ids(got) != "mail(b*)" || res.Waiting != 2 || strings.Count(res.Err.Error(), "answered 500") != 1 {
		t.Errorf("arrived %s, %d waiting: %v", ids(got), res.Waiting, res.Err)
	}
	delete(h.deaf, "chat")
	res, got = h.look(t, w)
	if ids(got) != "chat(a*) chat(b*)" || got[0].message.ID != id || res.Waiting != 0 || len(res.Messages) != 2 || !res.SeenBefore {
		t.Errorf("arrived %s, %d waiting: %v", ids(got), res.Waiting, res.Err)
	}
	res, got = h.look(t, w)
	if len(got) != 0 || res.Err != nil {
		t.Errorf("arrived %s once more (%v)", ids(got), res.Err)
	}
}

// TestADeafChannelHoldsUpNoOther has a channel that fails asked once for all watches.
func TestADeafChannelHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.night("a|1")
	h.deaf["chat"] = errDeaf
	asked := 0
	cfg := h.config(t)
	cfg.Send = func(ctx context.Context, channel string, m watch.Message) error {
		if channel == "chat" {
			asked++
		}
		return h.send(ctx, channel, m)
	}
	one, two := bills(), bills()
	two.Name, two.Channels = "other", []string{"chat", "mail"}
	results, err := watch.Run(t.Context(), cfg, []watch.Watch{one, two})
	must(t, err)
	if asked != 1 || ids(h.got) != "mail(a*)" || results[0].Err == nil || results[1].Err == nil {
		t.Errorf("asked %d times, arrived %s: %v", asked, ids(h.got), results)
	}
}

// TestAMessageThatIsRefusedHoldsUpNoOther: a receiver that never takes one message, such as
// a mail server to which a name in it looks like spam, gets those after it all the same.
func TestAMessageThatIsRefusedHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	cfg := h.config(t)
	cfg.Send = func(ctx context.Context, channel string, m watch.Message) error {
		if strings.Contains(m.Text, "spam") {
			return fmt.Errorf("%w: the mail server answered 554", watch.ErrRefused)
		}
		return h.send(ctx, channel, m)
	}
	one, two := bills(), bills()
	two.Name, two.Key = "other", []string{"amount"}
	h.night("spam|1")
	h.night("spam|1")
	for _, want := range []string{"", "chat(b*) chat(b*)"} {
		h.got = nil
		results, err := watch.Run(t.Context(), cfg, []watch.Watch{one, two})
		must(t, err)
		if ids(h.got) != want || results[0].Waiting != 1 || results[0].Err == nil || results[1].Waiting != 1 || results[1].Err == nil {
			t.Errorf("arrived %s, want %s: %+v", ids(h.got), want, results)
		}
		h.night("spam|1", "b|2")
	}
}

// TestAChangedDefinitionLooksAnew at a snapshot that the watch has looked at: what it found
// by the old definition says nothing of the new one.
func TestAChangedDefinitionLooksAnew(t *testing.T) {
	t.Parallel()
	condition := func(column string, over bool, limit string) func(*watch.Watch, *house) {
		return func(w *watch.Watch, _ *house) {
			c, err := watch.NewCondition(column, over, limit)
			must(t, err)
			w.When = c
		}
	}
	for name, c := range map[string]struct {
		change func(*watch.Watch, *house)
		anew   bool
	}{
		"nothing":         {func(*watch.Watch, *house) {}, false},
		"other channels":  {func(w *watch.Watch, _ *house) { w.Channels = []string{"chat", "mail"} }, false},
		"other advice":    {func(w *watch.Watch, _ *house) { w.Advice = "Pay." }, false},
		"the same number": {condition("amount", true, "0.0"), false},
		"another key":     {func(w *watch.Watch, _ *house) { w.Key = []string{"id", "amount"} }, true},
		"no key":          {func(w *watch.Watch, _ *house) { w.Key = nil }, true},
		"another query":   {func(w *watch.Watch, _ *house) { w.Query = "r" }, true},
		"another text":    {func(_ *watch.Watch, h *house) { h.writeQuery(t, "q", "SELECT 2") }, true},
		"another value":   {func(w *watch.Watch, _ *house) { w.Params = map[string]string{"p": "1"} }, true},
		"another column":  {condition("other", true, "0"), true},
		"under":           {condition("amount", false, "0"), true},
		"another number":  {condition("amount", true, "-1"), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, w := newHouse(t), bills()
			condition("amount", true, "0")(&w, h)
			h.night("a|1")
			h.look(t, w)
			c.change(&w, h)
			if res, _ := h.look(t, w); res.SeenBefore == c.anew {
				t.Errorf("the snapshot counts as looked at: %v", res.SeenBefore)
			}
		})
	}
}

func TestAChannelThatIsTakenOutIsOwedNothing(t *testing.T) {
	t.Parallel()
	h, w := newHouse(t), bills()
	w.Channels = []string{"chat", "mail"}
	h.deaf["chat"] = errDeaf
	h.night("a|1")
	h.look(t, w)
	w.Channels = []string{"mail"}
	if res, got := h.look(t, w); len(got) != 0 || res.Err != nil || res.Waiting != 0 {
		t.Errorf("arrived %s, %d waiting: %v", ids(got), res.Waiting, res.Err)
	}
	delete(h.deaf, "chat")
	w.Channels = []string{"chat", "mail"}
	if res, got := h.look(t, w); len(got) != 0 || res.Err != nil {
		t.Errorf("arrived %s (%v)", ids(got), res.Err)
	}
}

// TestAReceiverThatTakesNothingForMonths bounds what is kept, and loses nothing: once it
// takes messages again, what is new since then is found.
func TestAReceiverThatTakesNothingForMonths(t *testing.T) {
	t.Parallel()
	h, w := newHouse(t), bills()
	h.deaf["chat"] = errDeaf
	var rows []string
	for i := range 120 {
		rows = append(rows, fmt.Sprintf("%03d|1", i))
		h.night(rows...)
		res, _ := h.look(t, w)
		if res.Waiting > 100 {
			t.Fatalf("night %d: %d messages wait", i, res.Waiting)
		}
		if i == 119 && !strings.Contains(res.Err.Error(), "100 messages wait for a channel that does not take them") {
			t.Errorf("it says %v", res.Err)
		}
	}
	delete(h.deaf, "chat")
	h.look(t, w)
	h.look(t, w)
	arrived := map[string]bool{}
	for _, d := range h.got {
		for _, f := range d.message.Findings {
			arrived[*f.Values["id"]] = true
		}
	}
	if len(arrived) != 120 || len(h.got) != 101 {
		t.Errorf("%d findings arrived in %d messages, want 120 in 101", len(arrived), len(h.got))
	}
}

// TestADamagedStateIsNotAnEmptyOne flips bits of the state, cuts it, and puts that of
// another watch in its place: nothing is sent until somebody decides.
func TestADamagedStateIsNotAnEmptyOne(t *testing.T) {
	t.Parallel()
	h, w := newHouse(t), bills()
	h.night("a|1")
	h.look(t, w)
	path := filepath.Join(h.dir, "state", "watches", "bills.json")
	whole, err := os.ReadFile(path)
	must(t, err)
	other := bills()
	other.Name = "other"
	h.look(t, other)
	foreign, err := os.ReadFile(filepath.Join(h.dir, "state", "watches", "other.json"))
	must(t, err)
	h.night("a|1", "b|1")
	damaged := map[string][]byte{
		"empty": nil, "cut": whole[:len(whole)/2], "zeros": make([]byte, len(whole)), "no state": []byte("{}"), "another watch": foreign,
		"a later program": []byte(strings.Replace(string(whole), `"format": 1`, `"format": 2`, 1)),
	}
	for i := 0; i < len(whole); i += 31 {
		flipped := append([]byte(nil), whole...)
		flipped[i] ^= 4
		damaged[fmt.Sprintf("byte %d", i)] = flipped
	}
	for name, text := range damaged {
		must(t, os.WriteFile(path, text, 0o600))
		res, got := h.look(t, w)
		if len(got) != 0 || res.Err == nil || !strings.Contains(res.Err.Error(), "bring state/watches/bills.json back from a backup, or remove it") {
			t.Errorf("%s: arrived %s: %v", name, ids(got), res.Err)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != string(text) {
			t.Errorf("%s: the damaged state was written (%v)", name, err)
		}
	}
	must(t, os.WriteFile(path, whole, 0o600))
	if res, got := h.look(t, w); ids(got) != "chat(b*)" {
		t.Errorf("with the whole one arrived %s (%v)", ids(got), res.Err)
	}
	must(t, os.Remove(path))
	if res, got := h.look(t, w); ids(got) != "chat(a* b*)" {
		t.Errorf("without one arrived %s (%v)", ids(got), res.Err)
	}
}

func TestADryRunShowsAndChangesNothing(t *testing.T) {
	t.Parallel()
	h, w := newHouse(t), bills()
	h.night("a|1")
	cfg := h.config(t)
	cfg.DryRun = true
	for range 2 {
		results, err := watch.Run(t.Context(), cfg, []watch.Watch{w})
		must(t, err)
		if res := results[0]; res.Err != nil || len(res.Messages) != 1 || res.New != 1 || len(h.got) > 0 {
			t.Errorf("got %+v, arrived %s", res, ids(h.got))
		}
	}
	if _, err := os.Stat(filepath.Join(h.dir, "state", "watches")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a dry run wrote: %v", err)
	}
	h.deaf["chat"] = errDeaf
	h.look(t, w)
	results, err := watch.Run(t.Context(), cfg, []watch.Watch{w})
	must(t, err)
	if len(results[0].Messages) != 1 {
		t.Errorf("what waits is not shown: %+v", results[0])
	}
}

// TestNotReadIsNotNothing: with streams that were not read, no finding has ended, and that
// is said once.
func TestNotReadIsNotNothing(t *testing.T) {
	t.Parallel()
	h, w := newHouse(t), bills()
	h.night("a|1")
	h.look(t, w)
	h.sources = unread("orders", "the token lacks orders.read")
	for i := range 2 {
		h.night()
		res, got := h.look(t, w)
		if res.Err != nil || len(res.Unread) != 1 || len(got) != 1-i {
			t.Fatalf("night %d: got %+v, arrived %d", i, res, len(got))
		}
		if i == 0 && (!strings.Contains(got[0].message.Text, "bills: not read in the snapshot of 2026-11-02 02:00 UTC, so nothing can be said\n- orders was not read: the token lacks orders.read") ||
			len(got[0].message.Unread) != 1) {
			t.Errorf("it says %q", got[0].message.Text)
		}
	}
	h.sources = nil
	h.night("a|1", "b|1")
	if res, got := h.look(t, w); ids(got) != "chat(b*)" {
		t.Errorf("read again, arrived %s (%v)", ids(got), res.Err)
	}
	h.sources = unread("orders", "")
	h.night()
	if _, got := h.look(t, w); len(got) != 1 {
		t.Errorf("not read once more, arrived %d messages", len(got))
	}
}

// TestAWatchThatIsChangedLooksAnew: findings of another question cannot be compared.
func TestAWatchThatIsChangedLooksAnew(t *testing.T) {
	t.Parallel()
	h, w := newHouse(t), bills()
	h.night("a|1")
	h.look(t, w)
	w.Advice, w.Show = "Pay.", []string{"id"}
	if _, got := h.look(t, w); len(got) > 0 {
		t.Errorf("another advice: arrived %s", ids(got))
	}
	w.Query = "r"
	if _, got := h.look(t, w); ids(got) != "chat(a*)" {
		t.Errorf("another query: arrived %s", ids(got))
	}
	h.writeQuery(t, "r", "SELECT 2")
	if _, got := h.look(t, w); ids(got) != "chat(a*)" {
		t.Errorf("another text of the query: arrived %s", ids(got))
	}
}

// TestAWatchThatIsChangedSaysWhatIsNotRead: what was said was said of another question.
func TestAWatchThatIsChangedSaysWhatIsNotRead(t *testing.T) {
	t.Parallel()
	h, w := newHouse(t), bills()
	h.night()
	h.sources = unread("orders", "")
	h.look(t, w)
	w.Query, h.sources = "r", unread("articles", "")
	h.night()
	if _, got := h.look(t, w); len(got) != 1 || !strings.Contains(got[0].message.Text, "articles was not read") {
		t.Errorf("arrived %d messages", len(got))
	}
}

// TestAMistakeInAWatchForgetsNothing: a query that fails is mended, and what was sent
// before the mistake is not sent again, also with a message that waited meanwhile.
func TestAMistakeInAWatchForgetsNothing(t *testing.T) {
	t.Parallel()
	h, w := newHouse(t), bills()
	h.night("a|1")
	h.look(t, w)
	h.deaf["chat"] = errDeaf
	h.night("a|1", "b|1")
	h.look(t, w)
	delete(h.deaf, "chat")
	h.ask = func(context.Context) error { return errors.New("no such column") }
	wrong := w
	wrong.Query = "r"
	if res, got := h.look(t, wrong); res.Err == nil || ids(got) != "chat(b*)" {
		t.Errorf("arrived %s (%v)", ids(got), res.Err)
	}
	h.ask = nil
	h.night("a|1", "b|1", "c|1")
	if res, got := h.look(t, w); ids(got) != "chat(c*)" {
		t.Errorf("mended, arrived %s (%v)", ids(got), res.Err)
	}
}
