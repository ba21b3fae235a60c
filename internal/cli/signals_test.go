package cli_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"placementsync/internal/cli"
	"placementsync/internal/ledger"
)

// TestSignalsEndTheWork sends signals to this process while work runs.
func TestSignalsEndTheWork(t *testing.T) {
	send := func(signal syscall.Signal) {
		if err := syscall.Kill(syscall.Getpid(), signal); err != nil {
			t.Error(err)
		}
	}
	const message, workCode = "abandoned", 7
	for name, c := range map[string]struct {
		signals     []syscall.Signal
		endsItself  bool // after the first signal
		code        int
		cause, text string
	}{
		"no signal": {code: workCode},
		"a request to terminate, and the work ends": {signals: []syscall.Signal{syscall.SIGTERM}, endsItself: true, code: workCode,
			cause: "stopped by a request to terminate (SIGTERM)"},
		"an interrupt, and the work ends": {signals: []syscall.Signal{syscall.SIGINT}, endsItself: true, code: workCode,
			cause: "stopped by an interrupt (SIGINT)"},
		"a second signal while the work goes on": {signals: []syscall.Signal{syscall.SIGTERM, syscall.SIGINT}, code: ledger.Interrupted.ExitCode(),
			cause: "stopped by a request to terminate (SIGTERM)", text: message + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var stderr bytes.Buffer
			released := make(chan struct{})
			ended := make(chan error, 1)
			code := cli.RunInterruptible(&stderr, message, func(ctx context.Context, removeStopTimeLimit func()) int {
				removeStopTimeLimit()
				var cause error
				defer func() { ended <- cause }()
				for _, signal := range c.signals {
					send(signal)
					<-ctx.Done() // of the first signal
					cause = context.Cause(ctx)
				}
				if len(c.signals) > 0 && !c.endsItself {
					<-released
				}
				return workCode
			})
			close(released)
			cause := <-ended
			if code != c.code || stderr.String() != c.text {
				t.Errorf("the exit code is %d with the text %q, want %d with %q", code, &stderr, c.code, c.text)
			}
			if c.cause != "" && (cause == nil || cause.Error() != c.cause || !errors.Is(cause, context.Canceled)) {
				t.Errorf("the context ended with %v, want %q, which is also context.Canceled", cause, c.cause)
			}
		})
	}
	// A core dump and lines of net/http can contain private values.
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil || limit.Cur != 0 || log.Writer() != io.Discard {
		t.Errorf("core dumps have at most %d bytes (%v), and the global log is written to %T, want 0 and no log", limit.Cur, err, log.Writer())
	}
}
