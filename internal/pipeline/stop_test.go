package pipeline

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/duckdb/duckdb-go/v2"
	"github.com/google/go-cmp/cmp"

	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
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
// once. Its second page has 6 other records without an id in each pass. Less than half of the records are rejected, and
// the progress counts each pass.
func TestRepeatedPagesCountAsRecords(t *testing.T) {
	tracker := &ProgressTracker{}
	tracker.current.Streams = []ledger.StreamProgress{{Name: "list"}}
	k := &sink{reading: &reading{prepared: &prepared{locked: &locked{cfg: Config{Progress: tracker}}}}}
	good := stream.PageFacts{Records: 10, IDs: make([]uint64, 10)}
	k.countRecords(good)
	for pass := 2; pass <= 3; pass++ {
		request := fetch.Request{Stream: "list", Pass: pass, Page: 1}
		if _, err := k.readResponse(t.Context(), fetch.Response{Request: request, Previous: &good}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		k.countRecords(stream.PageFacts{Records: 6})
	}
	if err := k.rejectionErr(); err != nil { // 3 * 6 of 3 * 16 records
		t.Errorf("a list of which 37 %% is rejected is not used: %v", err)
	}
	want := ledger.StreamProgress{Name: "list", Pass: 3, Done: 1, Rows: 10}
	if diff := cmp.Diff(want, tracker.current.Streams[0]); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
}

type causeError struct{}

func (*causeError) Error() string { return "stopped" }
func (*causeError) Unwrap() error { return context.Canceled }
