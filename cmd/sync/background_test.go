package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// backgroundProgram is a program that runs in the background of a script.
type backgroundProgram struct {
	cmd            *exec.Cmd
	stdout, stderr output
	done           chan struct{} // closed when the program ends
	firstSignalAt  time.Time
	endedAt        time.Time // valid after done is closed
}

// output collects the output of a program. After a write, the channel more contains a notice.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // has room for one notice
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.more <- struct{}{}:
	default:
	}
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func start(ts *testscript.TestScript, neg bool, args []string) {
	s := scriptEnvOf(ts)
	requireUsage(ts, !neg && len(args) > 0 && s.program == nil, "start PROGRAM ARG... (one at a time)")
	path, err := exec.LookPath(args[0])
	ts.Check(err)
	more := make(chan struct{}, 1)
	b := &backgroundProgram{cmd: exec.Command(path, args[1:]...), stdout: output{more: more}, stderr: output{more: more}, done: make(chan struct{})}
	b.cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "GORACE", "SIM_URL", "RECEIVER_URL", "PLACEMENTSYNC_TOKEN",
		"PLACEMENTSYNC_HASH_KEY_FILE", "STATUS_TOKEN_FILE", "WEBHOOK_SECRET_FILE", "CHAT_KEY"} {
		b.cmd.Env = append(b.cmd.Env, name+"="+ts.Getenv(name))
	}
	b.cmd.Stdout, b.cmd.Stderr = &b.stdout, &b.stderr
	ts.Check(b.cmd.Start())
	go func() {
		defer close(b.done)
		_ = b.cmd.Wait() // checkEnd checks the exit code
		b.endedAt = time.Now()
	}()
	s.program = b
	ts.Defer(func() { // a failed script leaves the program running
		_ = b.cmd.Process.Kill()
		<-b.done
	})
}

func await(ts *testscript.TestScript, neg bool, args []string) {
	b := scriptEnvOf(ts).program
	requireUsage(ts, !neg && len(args) == 1 && b != nil, "await REGEXP (after start)")
	pattern, err := regexp.Compile(`(?m)` + args[0])
	ts.Check(err)
	for ended := false; ; {
		if pattern.MatchString(b.stdout.String()) || pattern.MatchString(b.stderr.String()) {
			return
		}
		if ended {
			ts.Fatalf("the program ended without %q:\n%s%s", args[0], &b.stdout, &b.stderr)
		}
		select {
		case <-b.stdout.more: // shared with stderr
		case <-b.done:
			ended = true
		}
	}
}

// sendSignal returns the script command that sends a signal to the program.
func sendSignal(s os.Signal) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		b := scriptEnvOf(ts).program
		requireUsage(ts, !neg && len(args) == 0 && b != nil, "interrupt | terminate (after start)")
		if b.firstSignalAt.IsZero() {
			b.firstSignalAt = time.Now()
		}
		ts.Check(b.cmd.Process.Signal(s))
	}
}

// checkEnd implements the script command "ended". It waits for the end of the program, and checks
// its exit code and, if WITHIN is given, the time from the first signal to the end.
func checkEnd(ts *testscript.TestScript, neg bool, args []string) {
	s := scriptEnvOf(ts)
	requireUsage(ts, !neg && (len(args) == 1 || len(args) == 2) && s.program != nil, "ended CODE [WITHIN] (after start)")
	b := s.program
	s.program = nil
	<-b.done
	_, outErr := io.WriteString(ts.Stdout(), b.stdout.String())
	_, errErr := io.WriteString(ts.Stderr(), b.stderr.String())
	ts.Check(errors.Join(outErr, errErr))
	if code := b.cmd.ProcessState.ExitCode(); args[0] != strconv.Itoa(code) {
		ts.Fatalf("the exit code is %d, want %s", code, args[0])
	}
	if len(args) == 2 {
		within, err := time.ParseDuration(args[1])
		ts.Check(err)
		if took := b.endedAt.Sub(b.firstSignalAt); took > within {
			ts.Fatalf("the program ended %v after the first signal, want %v at most", took, within)
		}
	}
}
