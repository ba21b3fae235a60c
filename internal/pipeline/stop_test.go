package pipeline

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

func TestStoppedErrorContainsOtherErrors(t *testing.T) {
	cause := &causeError{}
	diskFull := errors.New("close the landing: no space left on device")
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"only the stop":            {fmt.Errorf("walk orders: %w", cause), "stopped; run again"},
		"a cancelled context":      {fmt.Errorf("%w: %w", errStage, context.Canceled), "stopped; run again"},
		"the stop and a full disk": {errors.Join(fmt.Errorf("walk orders: %w", cause), diskFull), "stopped: close the landing: no space left on device; run again"},
		"both in a wrapping error": {fmt.Errorf("read: %w", errors.Join(context.Canceled, diskFull)), "stopped: close the landing: no space left on device; run again"},
		"only a full disk":         {diskFull, "stopped: close the landing: no space left on device; run again"},
		"both during staging":      {fmt.Errorf("%w: %w", errStage, errors.Join(cause, diskFull)), "stopped: close the landing: no space left on device; run again"},
	} {
		if got := (&stoppedError{cause, c.err, "run again"}).Error(); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

type causeError struct{}

func (*causeError) Error() string { return "stopped" }
func (*causeError) Unwrap() error { return context.Canceled }
