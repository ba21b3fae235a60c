package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"placementsync/internal/cli"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// TestMain makes this test binary the program. Scripts run it as a separate process with its
// own exit code, signals and lock.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == statementCommandName { // started by the path of this binary, not by a name
		main()
	}
	testscript.Main(tests{m}, map[string]func(){
		"placementsync": main,
		// The demo service as a separate process.
		"placementsync-service": mainService,
		// The program with a short timeout for the lake program.
		"placementsync-hasty": mainShortTimeout,
		// The program with a night that pauses in its commit: until a signal, or forever.
		"placementsync-committing": func() { mainPausedInCommit(func(ctx context.Context) { <-ctx.Done() }) },
		"placementsync-stuck":      func() { mainPausedInCommit(func(context.Context) { select {} }) },
		// The program that crashes, see crash_test.go.
		"placementsync-crashing": mainCrash,
	})
}

// mainShortTimeout runs the program with a short timeout for the lake program.
func mainShortTimeout() {
	p := hostProcess()
	p.lakeTimeout = 200 * time.Millisecond
	os.Exit(executeArgs(context.Background(), os.Args[1:], p))
}

// mainPausedInCommit runs the program with a night that calls pause after its merge.
func mainPausedInCommit(pause func(ctx context.Context)) {
	p := hostProcess()
	os.Exit(cli.RunInterruptible(p.stderr, abandonedMessage, func(ctx context.Context, removeStopTimeLimit func()) int {
		p.removeStopTimeLimit = removeStopTimeLimit
		p.Step = func(name, _ string) error {
			if name == "before write run.json" {
				fmt.Fprintln(p.stderr, "paused in the commit")
				pause(ctx)
			}
			return nil
		}
		return executeArgs(ctx, os.Args[1:], p)
	}))
}

// TestScripts tests the command line by scripts, one file per subject. They use the commands of
// testscript and these commands:
//
//	exits CODE PROGRAM ARG...   run a program and check its exit code
//	start PROGRAM ARG...        start a program in the background
//	await REGEXP                wait until the output of this program matches REGEXP
//	interrupt, terminate        send SIGINT or SIGTERM to this program
//	hangup                      send SIGHUP to this program
//	deliver SECRET ID TOPIC BODY STATUS  send a webhook to this program and check the status
//	get PATH [TOKEN [HOST]]     get a page from this program
//	statement SQL               run SQL on the page "SQL" of this program
//	receive                     start a receiver of notifications, and set RECEIVER_URL
//	received REGEXP             check that the receiver got a matching request
//	ended CODE [WITHIN]         wait for the end of this program; check its exit code and the time since the first signal
//	hold-lock DIR               take the lock of a warehouse until the script ends
//	leaves-no SECRET DIR...     check that no file below the folders contains a secret, not even in decompressed responses
//	sim-serve [FLAG...]         start a demo service, and set SIM_URL
//	sim-fault [KIND[@ROUTE]...] replace the faults of this service; without arguments, remove them
//	sim-advance DAYS            advance this service by days
//	sim-count PATH VAR [DAY]    set VAR to the number of records of a list; with DAY, of the demo on that day
//	install-lake                build the lake program and add it to PATH
//	copy-night DIR              copy a warehouse of one night, in which a service of sim-serve was read
//	copy-nights DIR             copy the folder of a demo of three nights with few records and streams
//	copy-demo DIR               copy the folder of a demo of three nights with all streams
//	sim-await PATH              wait until a path of this service was requested
//
// A night costs more time than the other commands, so the configuration of a script names only the streams that it
// needs, and one thread: on a few rows, several threads only add work.
//
// The race detector makes scripts slow, so "make test" runs only the scripts of servers with it.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txtar")
	harness.Must(t, err)
	runScripts(t, testscript.Params{Files: slices.DeleteFunc(files, func(file string) bool {
		isConcurrent := slices.Contains([]string{"serve.txtar", "serve_drain.txtar"}, filepath.Base(file))
		if harness.Race {
			return !isConcurrent
		}
		return isConcurrent && testing.Short()
	})})
}

// TestTrialScripts runs the scripts that take more than a few seconds.
func TestTrialScripts(t *testing.T) {
	harness.Long(t)
	runScripts(t, testscript.Params{Dir: "testdata/trials"})
}

func runScripts(t *testing.T, params testscript.Params) {
	t.Helper()
	params.Setup = func(env *testscript.Env) error {
		env.Values[scriptEnvKey{}] = &scriptEnv{requestSignals: map[string]chan struct{}{}}
		env.Setenv("STREAMS", strconv.Itoa(len(stream.All())))
		// By default a program with the race detector waits a second at its end for
		// races of remaining goroutines. These programs have no remaining goroutines.
		env.Setenv("GORACE", "atexit_sleep_ms=50")
		root, err := filepath.Abs("../..")
		env.Setenv("ROOT", root)
		return err
	}
	params.Cmds = map[string]func(*testscript.TestScript, bool, []string){
		"exits": exits, "start": start, "await": await, "interrupt": sendSignal(os.Interrupt), "terminate": sendSignal(syscall.SIGTERM), "ended": checkEnd,
		"hold-lock": holdLock, "sim-serve": simServe, "sim-fault": simFault,
		"get": get, "statement": statement, "hangup": hangup, "deliver": deliver, "receive": receive, "received": received,
		"leaves-no": leavesNo, "sim-advance": simAdvance, "sim-count": simCount, "sim-await": simAwait, "install-lake": installLake,
		"copy-night":  copyShared("copy-night DIR", shared.night),
		"copy-nights": copyShared("copy-nights DIR", shared.nights),
		"copy-demo":   copyShared("copy-demo DIR", shared.demo),
	}
	params.RequireExplicitExec, params.RequireUniqueNames = true, true
	testscript.Run(t, params)
}

type scriptEnvKey struct{}

func scriptEnvOf(ts *testscript.TestScript) *scriptEnv { return ts.Value(scriptEnvKey{}).(*scriptEnv) }

// requireUsage ends the script with the usage of a command if ok is false.
func requireUsage(ts *testscript.TestScript, ok bool, usage string) {
	if !ok {
		ts.Fatalf("usage: %s", usage)
	}
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	requireUsage(ts, !neg && len(args) >= 2, "exits CODE PROGRAM ARG...")
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if exitErr, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exitErr.ExitCode()
	} else {
		ts.Check(err)
	}
	if args[0] != strconv.Itoa(code) {
		ts.Fatalf("the exit code is %d, want %s", code, args[0])
	}
}

func holdLock(ts *testscript.TestScript, neg bool, args []string) {
	requireUsage(ts, !neg && len(args) == 1, "hold-lock DIR")
	wh := warehouse.New(warehouse.Config{Dir: ts.MkAbs(args[0])})
	lock, err := wh.Lock("20261101T020000Z", time.Date(2026, time.November, 1, 2, 0, 0, 0, time.UTC))
	ts.Check(err)
	ts.Defer(func() { ts.Check(lock.Release()) })
}
