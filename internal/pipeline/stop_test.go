package pipeline

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/duckdb/duckdb-go/v2"

	"placementsync/internal/fetch"
	"placementsync/internal/stream"
)

func TestStoppedErrorContainsOtherErrors(t *testing.T) {
	cause := &causeError{}
	interrupted := &duckdb.Error{Type: duckdb.ErrorTypeInterrupt, Msg: "INTERRUPT Error: Interrupted!"}
	diskFull := errors.New("close the store: no space left on device")
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"only the stop":            {fmt.Errorf("walk orders: %w", cause), "stopped; run again"},
		"a cancelled context":      {fmt.Errorf("%w: %w", errStage, context.Canceled), "stopped; run again"},
		"the stop and a full disk": {errors.Join(fmt.Errorf("walk orders: %w", cause), diskFull), "stopped: close the store: no space left on device; run again"},
		"both in a wrapping error": {fmt.Errorf("read: %w", errors.Join(context.Canceled, diskFull)), "stopped: close the store: no space left on device; run again"},
		"only a full disk":         {diskFull, "stopped: close the store: no space left on device; run again"},
		"an interrupted query":     {errors.Join(fmt.Errorf("walk orders: %w", cause), fmt.Errorf("merge: %w", interrupted)), "stopped; run again"},
		"both during staging":      {fmt.Errorf("%w: %w", errStage, errors.Join(cause, diskFull)), "stopped: close the store: no space left on device; run again"},
	} {
		if got := (&stoppedError{cause, c.err, "run again"}).Error(); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// TestRepeatedPagesCountAsRecords reads a list in three passes. Its first page has 10 good records in each pass, and is decoded
// once. Its second page has 6 other records without an id in each pass. Less than half of the records are rejected.
func TestRepeatedPagesCountAsRecords(t *testing.T) {
	k := &sink{reading: &reading{prepared: &prepared{locked: &locked{}}}}
	good := stream.PageFacts{Records: 10, IDs: make([]uint64, 10)}
	k.countRecords(good)
	for range 2 {
		if _, err := k.readBody(t.Context(), fetch.Response{Previous: &good}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		k.countRecords(stream.PageFacts{Records: 6})
	}
	if err := k.rejectionErr(); err != nil {
		t.Errorf("a list of which 37 %% is rejected is not used: %v", err)
	}
}

type causeError struct{}

func (*causeError) Error() string { return "stopped" }
func (*causeError) Unwrap() error { return context.Canceled }
