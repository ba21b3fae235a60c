package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"placementsync/internal/command"
	"placementsync/internal/stream"
	"placementsync/internal/testing/torture"
	"placementsync/internal/warehouse"
)

// TestMain lets this test binary be the program: scripts run it as a process of
// its own, with its exit code, signals and lock.
func TestMain(m *testing.M) {
	testscript.Main(tests{m}, map[string]func(){
		"placementsync": main,
		// The demo service in a process of its own.
		"placementsync-service": mainService,
		// It does not wait long for the program of the lake.
		"placementsync-hasty": mainHasty,
		// Its database is busy when a signal comes, and heeds it or does not.
		"placementsync-merging": func() { mainHeldBy(func(ctx context.Context) { <-ctx.Done() }) },
		"placementsync-stuck":   func() { mainHeldBy(func(context.Context) { select {} }) },
		// It crashes in one of the ways of crash_test.go.
		"placementsync-crashing": mainCrashing,
	})
}

// mainHasty is the program, which gives the one of the lake a moment.
func mainHasty() {
	p := hostProcess()
	p.lakeTimeout = 200 * time.Millisecond
	os.Exit(executeArgs(context.Background(), os.Args[1:], p))
}

// mainHeldBy is the program, with a night that stops in the middle of its merge.
func mainHeldBy(hold func(ctx context.Context)) {
	p := hostProcess()
	os.Exit(command.RunInterruptible(p.stderr, abandoned, func(ctx context.Context, patient func()) int {
		p.patient = patient
		p.step = func(name string) error {
			if name == "mid merge" {
				fmt.Fprintln(p.stderr, "held at", name)
				hold(ctx)
			}
			return nil
		}
		return executeArgs(ctx, os.Args[1:], p)
	}))
}

// TestScripts tells the command line as transcripts, one file per subject. Besides
// the commands of testscript they have:
//
//	exits CODE PROGRAM ARG...   run to the end, and demand the exit code
//	start PROGRAM ARG...        run in the background
//	await REGEXP                wait until its output matches
//	interrupt, terminate        send it SIGINT, SIGTERM
//	hangup                      send it SIGHUP
//	deliver SECRET ID TOPIC BODY STATUS  send it a webhook and demand the status
//	get PATH [TOKEN]            ask it for a page, once it serves
//	receive                     start a receiver of notifications, and set RECEIVER_URL
//	received REGEXP             demand that it got a matching request
//	ended CODE [WITHIN]         wait for its end, and demand the exit code, and that it came in time after the first signal
//	hold-lock DIR               take the lock of a warehouse until the script ends
//	leaves-no SECRET DIR...     demand that no file below the folders holds a secret, landed answers unpacked
//	sim-serve [FLAG...]         start a demo service, and set SIM_URL
//	sim-fault [KIND[@ROUTE]...] replace its faults; none: it is well again
//	sim-advance DAYS            let its world live on
//	sim-count PATH VAR [DAY]    set VAR to the number of records of a list; with DAY that of the demo
//	install-lake                build the program of the lake and put it into PATH
//	copy-demo DIR               leave what a demo of three nights does
//	sim-await PATH              wait until that path has been asked for
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Values[stageKey{}] = &stage{seen: map[string]chan struct{}{}}
			env.Setenv("STREAMS", strconv.Itoa(len(stream.All())))
			// Else each program with the race detector waits a second at its end, for
			// races of goroutines that it leaves behind: these leave none.
			env.Setenv("GORACE", "atexit_sleep_ms=50")
			root, err := filepath.Abs("../..")
			env.Setenv("ROOT", root)
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "start": start, "await": await, "interrupt": signalling(os.Interrupt), "terminate": signalling(syscall.SIGTERM), "ended": ended,
			"hold-lock": holdLock, "sim-serve": simServe, "sim-fault": simFault,
			"get": get, "hangup": hangup, "deliver": deliver, "receive": receive, "received": received,
			"leaves-no": leavesNo, "sim-advance": simAdvance, "sim-count": simCount, "sim-await": simAwait, "install-lake": installLake, "copy-demo": copyDemo,
		},
		Condition: func(name string) (bool, error) {
			if name != "trials" {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			return torture.TrialsWanted(os.Getenv), nil
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

func requireTrials(t *testing.T) {
	t.Helper()
	torture.RequireTrials(t, os.Getenv)
}

type stageKey struct{}

func stageOf(ts *testscript.TestScript) *stage { return ts.Value(stageKey{}).(*stage) }

// demand ends the script unless the command was written as it must be.
func demand(ts *testscript.TestScript, ok bool, usage string) {
	if !ok {
		ts.Fatalf("usage: %s", usage)
	}
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	demand(ts, !neg && len(args) >= 2, "exits CODE PROGRAM ARG...")
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		code = failed.ExitCode()
	} else {
		ts.Check(err)
	}
	if args[0] != strconv.Itoa(code) {
		ts.Fatalf("exit code is %d, want %s", code, args[0])
	}
}

func holdLock(ts *testscript.TestScript, neg bool, args []string) {
	demand(ts, !neg && len(args) == 1, "hold-lock DIR")
	wh, err := warehouse.Open(warehouse.Config{Dir: ts.MkAbs(args[0])})
	ts.Check(err)
	lock, err := wh.Lock("20261101T020000Z", time.Date(2026, time.November, 1, 2, 0, 0, 0, time.UTC))
	ts.Check(err)
	ts.Defer(func() { ts.Check(lock.Release()) })
}
