package ledger_test

import (
	"testing"
	"time"

	"placementsync/internal/ledger"
)

func TestShortenError(t *testing.T) {
	t.Parallel()
	const request, kept = `fetch stream "orders": GET https://api.example.com/orders?limit=100&page=1`, "; answers stored before are kept; the next run repeats the request"
	for text, want := range map[string]string{
		request + ` answered 503 Service Unavailable after 6 attempts: body begins "{\"error\":{\"status\":503,\"message\":\"say \\\"later\\\"\"}}"` + kept:           `GET /orders answered 503 Service Unavailable after 6 attempts: say "later"`,
		request + ` answered 500: body begins "{\"detail\": \"a long sentence that does not e..."` + kept:                                                             `GET /orders answered 500: a long sentence that does not e...`,
		request + ` answered 502 Bad Gateway: body begins "<!DOCTYPE html><title>\u00fc</title>"` + kept:                                                              `GET /orders answered 502 Bad Gateway with a page of HTML`,
		request + ` answered 500: body begins "{\"code\":5}"; the token lacks it`:                                                                                     `GET /orders answered 500 with JSON that has no message; the token lacks it`,
		request + ` answered 500: body begins "no such thing"` + kept:                                                                                                 `GET /orders answered 500: no such thing`,
		`read orders: 5 of 60 ids failed, their last rows are kept; first: fetch stream "order_details": GET http://127.0.0.1:1/orders/7 answered 404; there is none`: `read orders: 5 of 60 ids failed, their last rows are kept; first: GET /orders/7 answered 404; there is none`,
		`no space left on device`: `no space left on device`,
	} {
		if got := ledger.ShortenError(text); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
	if why := (ledger.Run{Error: request + " answered 401" + kept + "\nmore"}).Why(); why != "GET /orders answered 401" {
		t.Errorf("Why() = %q, want the shortened first line of the error", why)
	}
}

func TestStreakCountsConsecutiveNights(t *testing.T) {
	t.Parallel()
	nights := []ledger.Run{
		{ID: "a", Outcome: ledger.Failed}, {ID: "b", Outcome: ledger.Complete}, {ID: "c", Outcome: ledger.Failed},
		{ID: "d", Kind: ledger.Refresh, Outcome: ledger.Complete}, {ID: "e", Outcome: ledger.Interrupted}, {ID: "f", Outcome: ledger.Failed},
	}
	for i := range nights {
		nights[i].StartedAt = nightAt(i)
		if nights[i].Outcome == ledger.Complete {
			nights[i].SnapshotAt = nightAt(i)
		}
	}
	now := ledger.Run{ID: "f", Outcome: ledger.Failed, StartedAt: nightAt(5)}
	if n, since := now.Streak(nights); n != 2 || !since.Equal(nightAt(2)) {
		t.Errorf("Streak: got %d nights since %s, want 2 since %s", n, since, nightAt(2))
	}
	if n, since := now.Streak(nil); n != 1 || !since.Equal(now.StartedAt) {
		t.Errorf("Streak without earlier runs: got %d since %s, want 1 since its start", n, since)
	}
	if at := ledger.SnapshotOf(nights); !at.Equal(nightAt(3)) {
		t.Errorf("SnapshotOf: got %s, want the time of the refresh", at)
	}
	if at := ledger.SnapshotOf(nights[:1]); !at.IsZero() {
		t.Errorf("SnapshotOf of unpublished runs: got %s, want the zero time", at)
	}
}

func nightAt(day int) time.Time { return time.Date(2026, time.November, 1+day, 2, 0, 0, 0, time.UTC) }
