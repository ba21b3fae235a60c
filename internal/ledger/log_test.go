package ledger_test

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"placementsync/internal/ledger"
)

// TestLogEnd checks the level and the values of the last log line of a night.
func TestLogEnd(t *testing.T) {
	t.Parallel()
	night := ledger.Run{ID: "a", Outcome: ledger.Complete, StartedAt: nightAt(1), EndedAt: nightAt(1).Add(90 * time.Second), SnapshotAt: nightAt(1),
		Requests: 5, Retries: 2, Rows: 9, New: 4, Changed: 3, Gone: 1}
	partial := night
	partial.Outcome, partial.Streams = ledger.Partial, []ledger.Stream{{Stream: "tags", Grade: "skipped", Incomplete: true}}
	failed := night
	failed.Outcome, failed.Error = ledger.Failed, "unreachable"
	unreachable := errors.New("unreachable, in all words")
	for want, r := range map[string]ledger.Run{
		`level=INFO msg="night ended" run=a outcome=complete version=a rows=9 new=4 changed=3 gone=1 requests=5 retries=2 took=1m30s reason="" error=""`:                 night,
		`level=WARN msg="night ended" run=a outcome=partial version=a rows=9 new=4 changed=3 gone=1 requests=5 retries=2 took=1m30s reason="tags was not read" error=""`: partial,
		`level=ERROR msg="night ended" run=a outcome=failed version="" requests=5 retries=2 took=1m30s reason="" error="unreachable, in all words"`:                      failed,
	} {
		var out bytes.Buffer
		var err error
		if r.Outcome == ledger.Failed {
			err = unreachable
		}
		r.LogEnd(slog.New(slog.NewTextHandler(&out, nil)), err)
		if _, got, _ := strings.Cut(strings.TrimSpace(out.String()), " "); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestStreakCountsConsecutiveNights(t *testing.T) {
	t.Parallel()
	nights := []ledger.Run{
		{ID: "a", Outcome: ledger.Failed}, {ID: "b", Outcome: ledger.Complete}, {ID: "c", Outcome: ledger.Failed},
		{ID: "d", Kind: ledger.Refresh, Outcome: ledger.Complete}, {ID: "e", Outcome: ledger.Interrupted}, {ID: "f", Outcome: ledger.Failed},
	}
	nights = slices.Insert(nights, 4, ledger.Run{ID: "killed", Outcome: ledger.Killed})
	for i := range nights {
		nights[i].StartedAt = nightAt(i)
		if nights[i].Outcome == ledger.Complete {
			nights[i].SnapshotAt = nightAt(i)
		}
	}
	latest := ledger.Run{ID: "f", Outcome: ledger.Failed, StartedAt: nightAt(6)}
	if n, since := latest.Streak(nights); n != 2 || !since.Equal(nightAt(2)) {
		t.Errorf("Streak: got %d nights since %s, want 2 since %s", n, since, nightAt(2))
	}
	if n, since := latest.Streak(nil); n != 1 || !since.Equal(latest.StartedAt) {
		t.Errorf("Streak without earlier runs: got %d since %s, want 1 since its start", n, since)
	}
	if at := ledger.NewestSnapshotTime(nights); !at.Equal(nightAt(3)) {
		t.Errorf("NewestSnapshotTime: got %s, want the time of the refresh", at)
	}
	if at := ledger.NewestSnapshotTime(nights[:1]); !at.IsZero() {
		t.Errorf("NewestSnapshotTime of unpublished runs: got %s, want the zero time", at)
	}
}

// nightAt returns the start of a night. The nights are counted from 0.
func nightAt(i int) time.Time { return time.Date(2026, time.November, 1+i, 2, 0, 0, 0, time.UTC) }
