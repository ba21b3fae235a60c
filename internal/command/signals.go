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

// grace is how long a command may take to end in order after the first signal,
// unless it called patient. The promise to operators is 5 s.
const grace = 4 * time.Second

// RunInterruptible runs a command's work and returns its exit code. SIGINT and
// SIGTERM end the context of the work. Work that does not end within grace, such as
// a long step of the database, is abandoned with a last line that says what is kept, and
// at once after a second signal: a program may be killed at any instruction and loses
// nothing. patient is called by a command that may take longer to end.
func RunInterruptible(stderr io.Writer, kept string, work func(ctx context.Context, patient func()) int) int {
	endCrashesBySignal()
	var patient atomic.Bool
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	done := make(chan int, 1)
	go func() { done <- work(ctx, func() { patient.Store(true) }) }()
	select {
	case code := <-done:
		return code
	case s := <-signals:
		cancel(signalError{s})
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	if patient.Load() {
		timer.Stop()
	}
	select {
	case code := <-done:
		return code
	case <-signals:
	case <-timer.C:
	}
	fmt.Fprintln(stderr, kept)
	return ledger.Interrupted.ExitCode()
}

// endCrashesBySignal lets the program end by SIGABRT when it crashes. Go would end it with
// exit code 2 after a panic, when memory runs out, and when a library in C aborts: that is
// the code of a wrong configuration, after which a supervisor does not start it again.
// Nothing of its memory is written to disk, since secrets are in it.
func endCrashesBySignal() {
	debug.SetTraceback("crash")
	forbidCoreDumps()
}

// signalError says which signal stopped a command.
type signalError struct{ signal os.Signal }

func (e signalError) Error() string {
	if e.signal == os.Interrupt {
		return "stopped by an interrupt (SIGINT)"
	}
	return "stopped by a request to terminate (SIGTERM)"
}

// Unwrap returns what a context that ended returns.
func (signalError) Unwrap() error { return context.Canceled }
