package cli_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"syscall"
	"testing"
	"time"

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

// TestTimeLimitAfterASignal sends one signal to two programs whose work goes on. The first ends after its time limit. The
// second has removed the limit, and waits for its work.
func TestTimeLimitAfterASignal(t *testing.T) {
	const workCode = 7
	var stderr bytes.Buffer
	released, firstCode, secondStarted := make(chan struct{}), make(chan int, 1), make(chan struct{})
	workEnded := make(chan struct{})
	go func() {
		firstCode <- cli.RunInterruptible(&stderr, "abandoned", func(ctx context.Context, _ func()) int {
			defer close(workEnded)
			<-secondStarted
			if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
				t.Error(err)
			}
			<-ctx.Done()
			<-released
			return workCode
		})
	}()
	secondCode := cli.RunInterruptible(io.Discard, "", func(ctx context.Context, removeStopTimeLimit func()) int {
		removeStopTimeLimit()
		close(secondStarted)
		<-ctx.Done()
		select {
		case code := <-firstCode:
			if code != ledger.Interrupted.ExitCode() || stderr.String() != "abandoned\n" {
				t.Errorf("after the time limit, the exit code is %d with the text %q, want an interruption", code, &stderr)
			}
			<-time.After(500 * time.Millisecond) // longer than the limit
		case <-time.After(20 * time.Second):
			t.Error("the program goes on after its time limit")
		}
		return workCode
	})
	close(released)
	<-workEnded
	if secondCode != workCode {
		t.Errorf("without a time limit, the exit code is %d, want %d of the ended work", secondCode, workCode)
	}
}
