package watch_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/testing/harness"
	"placementsync/internal/watch"
)

// TestEachFindingIsSentOnce evaluates watches on several nights. A step has the rows of a new
// snapshot and the expected deliveries: chat(a b*) is a message to the channel chat with the findings
// a and b, and the star marks a new finding. The step "again" evaluates the same snapshot once
// more. The step "back" rolls back to the previous snapshot.
func TestEachFindingIsSentOnce(t *testing.T) {
	t.Parallel()
	sendAll := func(w watch.Watch) watch.Watch { w.NewOnly = false; return w }
	noKey := func(w watch.Watch) watch.Watch { w.Key = nil; return w }
	over := func(w watch.Watch) watch.Watch {
		w.When = condition("amount", true, "100")
		return w
	}
	unchanged := func(w watch.Watch) watch.Watch { return w }
	for name, c := range map[string]struct {
		change func(watch.Watch) watch.Watch
		steps  []string // rows, separated by spaces, then an arrow and the deliveries
	}{
		"new findings":                            {unchanged, []string{"a|1 b|1 -> chat(a* b*)", "a|1 b|1 ->", "a|1 b|1 c|1 -> chat(c*)", "again ->"}},
		"finding that ended and returns":          {unchanged, []string{"a|1 -> chat(a*)", "->", "a|1 -> chat(a*)"}},
		"changed value outside the key":           {unchanged, []string{"a|1 -> chat(a*)", "a|2 ->"}},
		"changed value without a key":             {noKey, []string{"a|1 -> chat(a*)", "a|2 -> chat(a*)", "a|2 ->"}},
		"two rows with one key":                   {unchanged, []string{"a|1 a|2 -> chat(a*)"}},
		"NULL and empty text as keys":             {unchanged, []string{"NULL|1 -> chat(NULL*)", "NULL|1 |1 -> chat(*)"}},
		"all findings each night":                 {sendAll, []string{"a|1 -> chat(a*)", "a|1 b|1 -> chat(a b*)", "again ->", "a|1 -> chat(a)", "->"}},
		"rollback of a night with a new finding":  {unchanged, []string{"a|1 -> chat(a*)", "a|1 b|1 -> chat(b*)", "back ->", "a|1 b|1 c|1 -> chat(c*)"}},
		"rollback of a night that lost a finding": {unchanged, []string{"a|1 -> chat(a*)", "b|1 -> chat(b*)", "back ->", "a|1 ->", "a|1 b|1 -> chat(b*)"}},
		"rollback of two nights":                  {unchanged, []string{"a|1 -> chat(a*)", "b|1 -> chat(b*)", "->", "back ->", "back ->", "a|1 b|1 ->"}},
		"over a number":                           {over, []string{"a|100 b|100.000001 c|NULL -> chat(b*)", "a|101 b|99 -> chat(a*)", "b|100.5 -> chat(b*)"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, w := newFixture(t), c.change(billsWatch())
			for i, step := range c.steps {
				action, want, _ := strings.Cut(step, "->")
				switch action := strings.TrimSpace(action); action {
				case "again":
				case "back":
					f.snapshots, f.rows = f.snapshots[:len(f.snapshots)-1], nil
				default:
					f.publish(strings.Fields(action)...)
				}
				res, got := f.evaluate(t, w)
				harness.Must(t, res.Err)
				if diff := cmp.Diff(strings.TrimSpace(want), formatDeliveries(got)); diff != "" {
					t.Errorf("step %d, %q: deliveries (-want +got):\n%s", i+1, step, diff)
				}
				for _, d := range got {
					for _, finding := range d.message.Findings {
						if finding.New != finding.Since.Equal(res.Snapshot.At) {
							t.Errorf("step %d, %q: the finding %+v is new, or since the snapshot, but not both", i+1, step, finding)
						}
					}
				}
			}
		})
	}
}

// TestRollbackOfANightInTheFuture rolls back a night whose clock was wrong. Later nights must be
// evaluated as usual, although their snapshots are earlier.
func TestRollbackOfANightInTheFuture(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), billsWatch()
	f.publish("a|1")
	f.evaluate(t, w)
	f.clockOffset = 1000 * 24 * time.Hour
	f.publish("a|1", "b|1")
	f.evaluate(t, w)
	f.snapshots, f.clockOffset = f.snapshots[:1], 0
	for i, want := range []string{"chat(c*)", "", "chat(b*)"} {
		f.publish([][]string{{"a|1", "b|1", "c|1"}, {"a|1", "c|1"}, {"a|1", "b|1", "c|1"}}[i]...)
		if res, got := f.evaluate(t, w); formatDeliveries(got) != want || res.Err != nil {
			t.Errorf("night %d after the rollback: delivered %q, want %q (%v)", i+1, formatDeliveries(got), want, res.Err)
		}
	}
}

// TestKillRepeatsAtMostOneDelivery kills a run at each step and starts another run. Every message
// must be delivered. At most one message may be delivered twice, unchanged. No message of the
// earlier night may be repeated.
func TestKillRepeatsAtMostOneDelivery(t *testing.T) {
	t.Parallel()
	earlier, w := newFixture(t), billsWatch()
	w.Channels = []string{"chat", "mail"}
	earlier.publish("a|1")
	earlier.evaluate(t, w)
	for n := 1; ; n++ {
		f := newFixture(t)
		harness.Must(t, os.CopyFS(filepath.Join(f.dir, "state"), os.DirFS(filepath.Join(earlier.dir, "state"))))
		f.publish("a|1") // the night whose state was copied
		step, killed := 0, false
		f.failAt = func(string, string) error {
			if step++; step == n {
				panic(syscall.SIGKILL)
			}
			return nil
		}
		f.publish("a|1", "b|1")
		for again := true; again; {
			again = func() (died bool) {
				defer func() {
					if r := recover(); r != nil {
						died, killed = true, true
					}
				}()
				res, _ := f.evaluate(t, w)
				if res.Err != nil || res.Pending > 0 {
					t.Errorf("killed at step %d: got the error %v and %d pending messages, want none", n, res.Err, res.Pending)
				}
				return false
			}()
		}
		times, messages := map[string]int{}, map[string]watch.Message{}
		for _, d := range f.delivered {
			key := d.channel + " " + formatDeliveries([]delivery{d})
			if first, ok := messages[key]; ok && !cmp.Equal(first, d.message) {
				t.Errorf("killed at step %d: a repeated message differs (-first +second):\n%s", n, cmp.Diff(first, d.message))
			}
			times[key], messages[key] = times[key]+1, d.message
		}
		if times["chat chat(b*)"] == 0 || times["mail mail(b*)"] == 0 || len(times) != 2 || len(f.delivered) > 3 {
			t.Errorf("killed at step %d: delivered %s, want b to chat and to mail, at most one of them twice", n, formatDeliveries(f.delivered))
		}
		if !killed {
			if n < 20 {
				t.Errorf("fault injection has only %d steps, want at least 20", n)
			}
			return
		}
	}
}

// TestFailedWriteRepeatsAtMostOneDelivery makes each write step fail in turn.
func TestFailedWriteRepeatsAtMostOneDelivery(t *testing.T) {
	t.Parallel()
	for n := 1; ; n++ {
		f := newFixture(t)
		step, isFull := 0, false
		f.failAt = func(name, _ string) error {
			if step++; step == n && !strings.Contains(name, "delivery") {
				isFull = true
				return syscall.ENOSPC
			}
			return nil
		}
		f.publish("a|1")
		res, first := f.evaluate(t, billsWatch())
		failed := step >= n
		if isFull && !errors.Is(res.Err, syscall.ENOSPC) {
			t.Errorf("step %d failed: got the error %v, want the full disk", n, res.Err)
		}
		f.failAt = nil
		_, second := f.evaluate(t, billsWatch())
		if len(first)+len(second) < 1 || len(first)+len(second) > 2 {
			t.Errorf("step %d failed: delivered %d and %d messages, want one or two in total (%v)", n, len(first), len(second), res.Err)
		}
		if len(first)+len(second) == 2 && (res.Err == nil || !strings.Contains(res.Err.Error(), "the message will be sent once more")) {
			t.Errorf("step %d failed: delivered twice with the error %v, want an error that the message will be sent once more", n, res.Err)
		}
		if !failed {
			if step < 10 {
				t.Errorf("fault injection has only %d steps, want at least 10", step)
			}
			return
		}
	}
}

func TestUndeliveredMessagesAreSentAgain(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), billsWatch()
	w.Channels = []string{"chat", "mail"}
	f.channelErrs["chat"] = errReceiver
	f.publish("a|1")
	res, got := f.evaluate(t, w)
	if formatDeliveries(got) != "mail(a*)" || res.Pending != 1 || len(res.Messages) != 0 || !errors.Is(res.Err, errReceiver) ||
		!strings.Contains(res.Err.Error(), "send the message of the watch bills: to chat: the receiver returned 500; the message is kept, and the next night or placementsync watch sends it") {
		t.Errorf("delivered %s with %d pending, want mail(a*) with 1: %v", formatDeliveries(got), res.Pending, res.Err)
	}
	id := got[0].message.ID
	f.publish("a|1", "b|1")
	res, got = f.evaluate(t, w)
	if formatDeliveries(got) != "mail(b*)" || res.Pending != 2 || strings.Count(res.Err.Error(), "returned 500") != 1 {
		t.Errorf("delivered %s with %d pending, want mail(b*) with 2: %v", formatDeliveries(got), res.Pending, res.Err)
	}
	delete(f.channelErrs, "chat")
	res, got = f.evaluate(t, w)
	if formatDeliveries(got) != "chat(a*) chat(b*)" || got[0].message.ID != id || res.Pending != 0 || len(res.Messages) != 2 || !res.WasEvaluated {
		t.Errorf("delivered %s with %d pending, want chat(a*) chat(b*) with 0: %v", formatDeliveries(got), res.Pending, res.Err)
	}
	res, got = f.evaluate(t, w)
	if len(got) != 0 || res.Err != nil {
		t.Errorf("delivered %s, want nothing after a complete delivery (%v)", formatDeliveries(got), res.Err)
	}
}

// TestFailingChannelIsTriedOnce checks that all watches together try a failing channel once
// and that the other channels receive their messages.
func TestFailingChannelIsTriedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("a|1")
	f.channelErrs["chat"] = errReceiver
	attempts := 0
	cfg := f.config(t)
	cfg.Send = func(ctx context.Context, channel string, m watch.Message) error {
		if channel == "chat" {
			attempts++
		}
		return f.send(ctx, channel, m)
	}
	bills, other := billsWatch(), billsWatch()
	other.Name, other.Channels = "other", []string{"chat", "mail"}
	results := harness.MustValue(watch.Run(t.Context(), cfg, []watch.Watch{bills, other}))
	if attempts != 1 || formatDeliveries(f.delivered) != "mail(a*)" || results[0].Err == nil || results[1].Err == nil {
		t.Errorf("tried %d times and delivered %s, want once and mail(a*): %v", attempts, formatDeliveries(f.delivered), results)
	}
	delete(f.channelErrs, "chat")
	harness.MustValue(watch.Run(t.Context(), cfg, []watch.Watch{bills, other}))
	if got := f.delivered[1:]; formatDeliveries(got) != "chat(a*) chat(a*)" || got[0].message.ID == got[1].message.ID {
		t.Errorf("delivered %+v, want a message of each watch with its own id", got)
	}
}

// TestRefusedMessageDoesNotBlockLaterMessages has a receiver that refuses each message with the word
// spam. Later messages of the same watch must be delivered.
func TestRefusedMessageDoesNotBlockLaterMessages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	cfg := f.config(t)
	cfg.Send = func(ctx context.Context, channel string, m watch.Message) error {
		if strings.Contains(m.Text, "spam") {
			return fmt.Errorf("%w: the mail server returned 554", watch.ErrRefused)
		}
		return f.send(ctx, channel, m)
	}
	bills, other := billsWatch(), billsWatch()
	other.Name, other.Key = "other", []string{"amount"}
	f.publish("spam|1")
	f.publish("spam|1")
	for _, want := range []string{"", "chat(b*) chat(b*)"} {
		f.delivered = nil
		results := harness.MustValue(watch.Run(t.Context(), cfg, []watch.Watch{bills, other}))
		if formatDeliveries(f.delivered) != want || results[0].Pending != 1 || results[0].Err == nil || results[1].Pending != 1 || results[1].Err == nil {
			t.Errorf("delivered %s, want %s: %+v", formatDeliveries(f.delivered), want, results)
		}
		f.publish("spam|1", "b|2")
	}
}

// TestChangedDefinitionIsEvaluatedAgain evaluates the same snapshot after a change to the watch. Findings of two
// definitions cannot be compared, so they are sent again, in a message with another id: a receiver drops a repeated id.
func TestChangedDefinitionIsEvaluatedAgain(t *testing.T) {
	t.Parallel()
	conditionOn := func(column string, over bool, limit string) func(*watch.Watch, *fixture) {
		return func(w *watch.Watch, _ *fixture) { w.When = condition(column, over, limit) }
	}
	const sentAgain = "chat(a*)"
	for name, c := range map[string]struct {
		change    func(*watch.Watch, *fixture)
		runsAgain bool
		want      string // deliveries
	}{
		"no change":       {func(*watch.Watch, *fixture) {}, false, ""},
		"other channels":  {func(w *watch.Watch, _ *fixture) { w.Channels = []string{"chat", "mail"} }, false, ""},
		"other advice":    {func(w *watch.Watch, _ *fixture) { w.Advice, w.Show = "Pay.", []string{"id"} }, false, ""},
		"the same number": {conditionOn("amount", true, "0.0"), false, ""},
		"another key":     {func(w *watch.Watch, _ *fixture) { w.Key = []string{"id", "amount"} }, true, sentAgain},
		"no key":          {func(w *watch.Watch, _ *fixture) { w.Key = nil }, true, sentAgain},
		"another query":   {func(w *watch.Watch, _ *fixture) { w.Query = "r" }, true, sentAgain},
		"another SQL":     {func(_ *watch.Watch, f *fixture) { f.writeQuery(t, "q", "SELECT 2") }, true, sentAgain},
		"a parameter":     {func(w *watch.Watch, _ *fixture) { w.Params = map[string]string{"p": "1"} }, true, sentAgain},
		"another column":  {conditionOn("other", true, "0"), true, ""}, // which the query does not have
		"under":           {conditionOn("amount", false, "0"), true, ""},
		"another number":  {conditionOn("amount", true, "-1"), true, sentAgain},
		"another time":    {func(_ *watch.Watch, f *fixture) { f.snapshots[0].At = f.snapshots[0].At.Add(time.Hour) }, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, w := newFixture(t), billsWatch()
			conditionOn("amount", true, "0")(&w, f)
			f.publish("a|1")
			_, first := f.evaluate(t, w)
			c.change(&w, f)
			res, got := f.evaluate(t, w)
			if res.WasEvaluated == c.runsAgain {
				t.Errorf("WasEvaluated is %v, want %v", res.WasEvaluated, !c.runsAgain)
			}
			if formatDeliveries(got) != c.want || len(got) > 0 && got[0].message.ID == first[0].message.ID {
				t.Errorf("delivered %+v after the message %s, want %q with another id", got, first[0].message.ID, c.want)
			}
		})
	}
}

func TestRemovedChannelLosesItsPendingMessages(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), billsWatch()
	w.Channels = []string{"chat", "mail"}
	f.channelErrs["chat"] = errReceiver
	f.publish("a|1")
	f.evaluate(t, w)
	w.Channels = []string{"mail"}
	if res, got := f.evaluate(t, w); len(got) != 0 || res.Err != nil || res.Pending != 0 {
		t.Errorf("without chat: delivered %s with %d pending, want nothing: %v", formatDeliveries(got), res.Pending, res.Err)
	}
	delete(f.channelErrs, "chat")
	w.Channels = []string{"chat", "mail"}
	if res, got := f.evaluate(t, w); len(got) != 0 || res.Err != nil {
		t.Errorf("with chat again: delivered %s, want nothing (%v)", formatDeliveries(got), res.Err)
	}
}

// TestPendingMessagesAreLimited has a receiver that fails for 102 nights. At most 100 messages may
// be kept. When the receiver works again, all findings must be delivered.
func TestPendingMessagesAreLimited(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), billsWatch()
	f.channelErrs["chat"] = errReceiver
	var rows []string
	for i := range 102 {
		rows = append(rows, fmt.Sprintf("%03d|1", i))
		f.publish(rows...)
		res, _ := f.evaluate(t, w)
		if res.Pending > 100 {
			t.Fatalf("night %d: %d messages are pending, want at most 100", i, res.Pending)
		}
		if i == 101 && !strings.Contains(res.Err.Error(), "100 messages are pending because a channel does not accept them") {
			t.Errorf("the error of the last night is %v, want \"100 messages are pending\"", res.Err)
		}
	}
	delete(f.channelErrs, "chat")
	f.evaluate(t, w)
	f.evaluate(t, w)
	arrived := map[string]bool{}
	for _, d := range f.delivered {
		for _, f := range d.message.Findings {
			arrived[*f.Values["id"]] = true
		}
	}
	if len(arrived) != 102 || len(f.delivered) != 101 {
		t.Errorf("delivered %d findings in %d messages, want 102 in 101", len(arrived), len(f.delivered))
	}
}

// TestDamagedStateStopsTheWatch flips bits of the state file, truncates it, and replaces it by the
// state of another watch or of a later version. No message may be sent until the operator restores or
// removes the file.
func TestDamagedStateStopsTheWatch(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), billsWatch()
	f.publish("a|1")
	f.evaluate(t, w)
	path := f.statePath("bills")
	intact := harness.MustValue(os.ReadFile(path))
	other := billsWatch()
	other.Name = "other"
	f.evaluate(t, other)
	foreign := harness.MustValue(os.ReadFile(f.statePath("other")))
	harness.Must(t, f.folder(t).StateFile("watches", "bills.json").Write(map[string]int{"format": 2}))
	later := harness.MustValue(os.ReadFile(path))
	harness.Must(t, f.folder(t).StateFile("watches", "bills.json").Write(map[string]any{"format": 1, "watch": "bills"}))
	noFindings := harness.MustValue(os.ReadFile(path))
	harness.Must(t, f.folder(t).StateFile("watches", "bills.json").Write(map[string]any{"watch": "bills", "findings": map[string]any{}}))
	noFormat := harness.MustValue(os.ReadFile(path))
	f.publish("a|1", "b|1")
	unusable := map[string][]byte{
		"empty": nil, "cut": intact[:len(intact)/2], "zeros": make([]byte, len(intact)), "no state": []byte("{}"), "another watch": foreign, "a later version": later,
		"no findings": noFindings, "no format": noFormat,
	}
	for i := 0; i < len(intact); i += 31 {
		flipped := append([]byte(nil), intact...)
		flipped[i] ^= 4
		unusable[fmt.Sprintf("byte %d", i)] = flipped
	}
	for name, text := range unusable {
		harness.Must(t, os.WriteFile(path, text, 0o600))
		res, got := f.evaluate(t, w)
		want := "restore state/watches/bills.json from a backup, or remove it"
		if name == "a later version" {
			want = "format 2 of a later placementsync; no message was sent: use that version"
		}
		if len(got) != 0 || res.Err == nil || !strings.Contains(res.Err.Error(), want) || strings.Contains(res.Err.Error(), "%!") {
			t.Errorf("%s: delivered %s with the error %v, want nothing and the error %q", name, formatDeliveries(got), res.Err, want)
		}
		if kept, err := os.ReadFile(path); err != nil || string(kept) != string(text) {
			t.Errorf("%s: the state was overwritten (%v), want it kept", name, err)
		}
	}
	harness.Must(t, os.WriteFile(path, intact, 0o600))
	if res, got := f.evaluate(t, w); formatDeliveries(got) != "chat(b*)" {
		t.Errorf("with the restored state, delivered %s, want chat(b*) (%v)", formatDeliveries(got), res.Err)
	}
	harness.Must(t, os.Remove(path))
	if res, got := f.evaluate(t, w); formatDeliveries(got) != "chat(a* b*)" {
		t.Errorf("without a state, delivered %s, want chat(a* b*) (%v)", formatDeliveries(got), res.Err)
	}
}

func TestDryRunReturnsMessagesWithoutSending(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), billsWatch()
	f.publish("a|1")
	cfg := f.config(t)
	cfg.DryRun = true
	for range 2 {
		results := harness.MustValue(watch.Run(t.Context(), cfg, []watch.Watch{w}))
		if res := results[0]; res.Err != nil || len(res.Messages) != 1 || res.New != 1 || len(f.delivered) > 0 {
			t.Errorf("got %+v, delivered %s, want one message that is not delivered", res, formatDeliveries(f.delivered))
		}
	}
	if _, err := os.Stat(filepath.Join(f.dir, "state", "watches")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Stat of the state after a dry run: got %v, want no file", err)
	}
	f.channelErrs["chat"] = errReceiver
	f.evaluate(t, w)
	results := harness.MustValue(watch.Run(t.Context(), cfg, []watch.Watch{w}))
	if len(results[0].Messages) != 1 {
		t.Errorf("the dry run returned %+v, want the pending message", results[0])
	}
	f.publish("b|1")
	f.runQuery = func(context.Context) error { return errors.New("no such column") }
	results = harness.MustValue(watch.Run(t.Context(), cfg, []watch.Watch{w}))
	if results[0].Err == nil || len(results[0].Messages) != 1 {
		t.Errorf("the dry run of a failing query returned %+v, want its error and the pending message", results[0])
	}
}

// TestUnreadTablesKeepFindings checks that findings of unread tables do not count as ended,
// and that one message reports the unread tables.
func TestUnreadTablesKeepFindings(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), billsWatch()
	f.publish("a|1")
	f.evaluate(t, w)
	f.sources = unreadTable("orders", "the token lacks orders.read")
	for i := range 2 {
		f.publish()
		res, got := f.evaluate(t, w)
		if res.Err != nil || len(res.Unread) != 1 || len(got) != 1-i {
			t.Fatalf("night %d: got %+v and %d messages, want one unread table and %d messages", i, res, len(got), 1-i)
		}
		if i == 0 && (!strings.Contains(got[0].message.Text, "bills: not checked, because tables are missing from the snapshot of 2026-11-02 02:00 UTC\n- orders was not read: the token lacks orders.read") ||
			len(got[0].message.Unread) != 1 || got[0].message.Watch != "bills" || got[0].message.ID == "") {
			t.Errorf("got the message %+v, want one of the watch bills with an id, and that orders was not read", got[0].message)
		}
	}
	f.sources = nil
	f.publish("a|1", "b|1")
	if res, got := f.evaluate(t, w); formatDeliveries(got) != "chat(b*)" {
		t.Errorf("read again: delivered %s, want chat(b*) (%v)", formatDeliveries(got), res.Err)
	}
	f.sources = unreadTable("orders", "")
	f.publish()
	if _, got := f.evaluate(t, w); len(got) != 1 {
		t.Errorf("unread again: delivered %d messages, want 1", len(got))
	}
}

// TestFindingsThatAreGoneAreForgotten evaluates a watch in seven nights, with another finding in each.
func TestFindingsThatAreGoneAreForgotten(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), billsWatch()
	for night := range 7 {
		f.publish(fmt.Sprintf("n%d|1", night))
		f.evaluate(t, w)
	}
	text := harness.MustValue(os.ReadFile(f.statePath("bills")))
	if n := strings.Count(string(text), `"number":`); n != 5 || strings.Count(string(text), `"last":`) != 5 {
		t.Errorf("the state file of a watch has %d evaluations after seven nights, want the last 5 and their findings:\n%s", n, text)
	}
	if !regexp.MustCompile(`"number": ?7`).Match(text) {
		t.Errorf("the state file lacks the evaluation 7:\n%s", text)
	}
}

// TestUnreadTablesAreReportedAgainAfterAChange changes the query of a watch. The unread tables of the
// new query must be reported, although the unread tables of the old query were reported before.
func TestUnreadTablesAreReportedAgainAfterAChange(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), billsWatch()
	f.publish()
	f.sources = unreadTable("orders", "")
	f.evaluate(t, w)
	w.Query, f.sources = "r", unreadTable("articles", "")
	f.publish()
	if _, got := f.evaluate(t, w); len(got) != 1 || !strings.Contains(got[0].message.Text, "articles was not read") {
		t.Errorf("delivered %d messages, want one about articles", len(got))
	}
}

// TestFailedQueryKeepsTheState changes a watch to a query that fails, and back. Meanwhile a pending
// message must be delivered. No finding may be sent twice.
func TestFailedQueryKeepsTheState(t *testing.T) {
	t.Parallel()
	f, w := newFixture(t), billsWatch()
	f.publish("a|1")
	f.evaluate(t, w)
	f.channelErrs["chat"] = errReceiver
	f.publish("a|1", "b|1")
	f.evaluate(t, w)
	delete(f.channelErrs, "chat")
	f.runQuery = func(context.Context) error { return errors.New("no such column") }
	wrong := w
	wrong.Query = "r"
	if res, got := f.evaluate(t, wrong); res.Err == nil || formatDeliveries(got) != "chat(b*)" {
		t.Errorf("with the failing query, delivered %s with the error %v, want chat(b*) and an error", formatDeliveries(got), res.Err)
	}
	f.runQuery = nil
	f.publish("a|1", "b|1", "c|1")
	if res, got := f.evaluate(t, w); formatDeliveries(got) != "chat(c*)" {
		t.Errorf("after the repair, delivered %s, want chat(c*) (%v)", formatDeliveries(got), res.Err)
	}
}
