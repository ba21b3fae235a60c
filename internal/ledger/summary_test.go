package ledger_test

import (
	"errors"
	"fmt"
	"testing"

	"placementsync/internal/ledger"
)

type longError struct{}

func (longError) Error() string {
	return "GET https://api.example.com/orders?page=1 answered 503: {...}"
}
func (longError) Summary() string { return "GET /orders answered 503" }

func TestSummarize(t *testing.T) {
	t.Parallel()
	plain := errors.New("no space left on device")
	for want, err := range map[string]error{
		"GET /orders answered 503": longError{},
		"no space left on device":  plain,
		"5 of 60 ids failed; first error: GET /orders answered 503; go on": fmt.Errorf("5 of 60 ids failed; first error: %w; go on", longError{}),
		"check: no space left on device\nGET /orders answered 503":         fmt.Errorf("check: %w", errors.Join(plain, longError{})),
	} {
		if got := ledger.Summarize(err); got != want {
			t.Errorf("%v\ngot  %s\nwant %s", err, got, want)
		}
	}
	if why := (ledger.Run{Error: "GET /orders answered 401\nmore"}).Why(); why != "GET /orders answered 401" {
		t.Errorf("Why() = %q, want the first line of the error", why)
	}
}
