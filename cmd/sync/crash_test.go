package main

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"placementsync/internal/cli"
)

// mainCrash is a program that crashes. The argument of the program selects the kind of crash.
func mainCrash() {
	kind := os.Args[1]
	os.Exit(cli.RunInterruptible(os.Stderr, "", func(context.Context, func()) int {
		crash(kind)
		return 0
	}))
}

func crash(kind string) {
	switch kind {
	case "panic":
		panic("a mistake")
	case "panic in a goroutine":
		go func() {
			var nilPointer *int
			*nilPointer = 1
		}()
		select {} // only the crash ends the program
	case "fatal error": // cannot be recovered
		new(sync.Mutex).Unlock()
	case "abort in C":
		db, err := sql.Open("duckdb", ":memory:")
		if err != nil {
			panic(err)
		}
		db.SetMaxOpenConns(1)
		for _, text := range abortingSQL() {
			_, _ = db.Exec(text) // the last statement fails, and Close crashes
		}
		_ = db.Close()
	case "abort from outside": // as the watchdog of systemd does
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Signal(syscall.SIGABRT)
		}
		if err != nil {
			panic(err)
		}
		select {}
	}
}

// abortingSQL returns statements that make DuckDB write a log when it is closed. The log cannot be
// written, and DuckDB throws an uncaught exception.
func abortingSQL() []string {
	return []string{"SET enable_external_access = false", "SET lock_configuration = true",
		"FROM enable_logging(level='trace', storage='file', storage_path='/nowhere/log')", "SELECT 42"}
}

// TestCrashExitCode checks that a crash does not end with exit code 2. This code means a wrong
// configuration, and systemd would not restart the daemon.
func TestCrashExitCode(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"panic": "panic: a mistake", "panic in a goroutine": "nil pointer dereference", "fatal error": "unlock of unlocked mutex",
		"abort in C": "SIGABRT: abort", "abort from outside": "SIGABRT",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), "placementsync-crashing", kind)
			cmd.Dir = t.TempDir()
			var stderr strings.Builder
			cmd.Stderr = &stderr
			exitErr, ok := errors.AsType[*exec.ExitError](cmd.Run())
			if !ok {
				t.Fatal("the program did not crash")
			}
			status := exitErr.Sys().(syscall.WaitStatus)
			// Go sends SIGQUIT to its other threads to get their stacks. If a thread of DuckDB
			// receives it first, the process ends with that signal instead.
			isExpectedSignal := status.Signal() == syscall.SIGABRT || kind == "abort in C" && status.Signal() == syscall.SIGQUIT
			if !status.Signaled() || !isExpectedSignal || status.CoreDump() {
				t.Errorf("the program ended with %v, want SIGABRT without a core file", exitErr)
			}
			if !strings.Contains(stderr.String(), want) {
				t.Errorf("stderr is\n%.2000s\nwant %q", stderr.String(), want)
			}
			if left, _ := filepath.Glob(filepath.Join(cmd.Dir, "*")); len(left) > 0 {
				t.Errorf("the program left the files %v", left)
			}
		})
	}
}
