package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	"placementsync/internal/ledger"
)

// gracePeriod is the time that a command has to end after the first signal, unless it
// called waitForWork. The documentation promises 5 s.
const gracePeriod = 4 * time.Second

// RunInterruptible runs work and returns its exit code. SIGINT and SIGTERM cancel the
// context of the work. RunInterruptible then waits until the work ends, until the grace period
// is over, or until a second signal. In the last two cases it prints the text in abandoned, and
// returns while the work is still running. That is safe because the program may be killed at
// any instruction without losing data. Work that may need longer to end calls waitForWork,
// which disables the grace period.
func RunInterruptible(stderr io.Writer, abandoned string, work func(ctx context.Context, waitForWork func()) int) int {
	endCrashesBySignal()
	var hasNoLimit atomic.Bool
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	done := make(chan int, 1)
	go func() { done <- work(ctx, func() { hasNoLimit.Store(true) }) }()
	select {
	case code := <-done:
		return code
	case s := <-signals:
		cancel(signalError{s})
	}
	timer := time.NewTimer(gracePeriod)
	defer timer.Stop()
	if hasNoLimit.Load() {
		timer.Stop()
	}
	select {
	case code := <-done:
		return code
	case <-signals:
	case <-timer.C:
	}
	fmt.Fprintln(stderr, abandoned)
	return ledger.Interrupted.ExitCode()
}

// endCrashesBySignal makes a crash end the program by SIGABRT. By default Go exits with
// code 2 after a panic, out of memory, or an abort in C code. Code 2 means a wrong
// configuration, after which a supervisor does not restart the program. Core dumps are
// disabled because the memory contains secrets.
func endCrashesBySignal() {
	debug.SetTraceback("crash")
	forbidCoreDumps()
}

// signalError is the cause of a context that a signal cancelled.
type signalError struct{ signal os.Signal }

func (e signalError) Error() string {
	if e.signal == os.Interrupt {
		return "stopped by an interrupt (SIGINT)"
	}
	return "stopped by a request to terminate (SIGTERM)"
}

// Unwrap makes errors.Is(err, context.Canceled) true.
func (signalError) Unwrap() error { return context.Canceled }
