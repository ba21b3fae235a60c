package cli

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"placementsync/internal/ledger"
)

// gracePeriod is the time between the first signal and the end of the program, if the work does
// not end earlier. The documentation promises 5 s.
const gracePeriod = 4 * time.Second

// RunInterruptible runs work and returns its exit code. SIGINT and SIGTERM cancel the
// context of the work. RunInterruptible then waits until the work ends, until the grace period
// is over, or until a second signal. In the last two cases it prints abandonMessage,
// and returns the exit code of an interruption while the work is still running. That is safe
// because the program can be killed at any instruction without losing data. Work that can need
// longer to end calls removeStopTimeLimit when it begins: then only a second signal ends the wait early.
func RunInterruptible(stderr io.Writer, abandonMessage string, work func(ctx context.Context, removeStopTimeLimit func()) int) int {
	// A crash ends the program by SIGABRT. By default Go exits with code 2 after a panic, out of memory, or
	// an abort in C code. Code 2 means a wrong configuration, after which a supervisor does not restart the
	// program. Core dumps are disabled because the memory contains secrets. If the call fails, the system's
	// limit applies.
	debug.SetTraceback("crash")
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	// net/http writes received bytes to the global log, for example the end of a body that is longer than its
	// stated length. They can contain private values.
	log.SetOutput(io.Discard)
	var isStopTimeLimitRemoved atomic.Bool
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	done := make(chan int, 1)
	go func() { done <- work(ctx, func() { isStopTimeLimitRemoved.Store(true) }) }()
	select {
	case code := <-done:
		return code
	case s := <-signals:
		cancel(signalError{s})
	}
	var graceEnded <-chan time.Time // nil means that only a second signal ends the wait
	if !isStopTimeLimitRemoved.Load() {
		graceEnded = time.After(gracePeriod)
	}
	select {
	case code := <-done:
		return code
	case <-signals:
	case <-graceEnded:
	}
	fmt.Fprintln(stderr, abandonMessage)
	return ledger.Interrupted.ExitCode()
}

// signalError is the cause with which a signal cancels a context.
type signalError struct{ signal os.Signal }

func (e signalError) Error() string {
	if e.signal == os.Interrupt {
		return "stopped by an interrupt (SIGINT)"
	}
	return "stopped by a request to terminate (SIGTERM)"
}

// Unwrap makes errors.Is(err, context.Canceled) true.
func (signalError) Unwrap() error { return context.Canceled }
