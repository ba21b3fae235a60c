package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"placementsync/internal/cli"
)

// TestLakeError checks that the error of the lake program is found in each format of its log,
// and after a crash. All other lines must be copied.
func TestLakeError(t *testing.T) {
	const line = "time=x level=INFO msg=\"a night\"\n"
	for _, c := range []struct{ lines, message, copied string }{
		{line + "placementsync-lake: publish x: it has 3 bytes\nsee placementsync-lake --help\n", "publish x: it has 3 bytes\nsee placementsync-lake --help", line},
		{`{"level":"INFO","msg":"a night","error":""}` + "\n" + `{"level":"ERROR","msg":"command failed","exit_code":1,"error":"publish x: it has \"3\" bytes"}` + "\n",
			`publish x: it has "3" bytes`, `{"level":"INFO","msg":"a night","error":""}` + "\n"},
		{line + "panic: index out of range\n\ngoroutine 1 [running]:\n", "panic: index out of range", line + "\ngoroutine 1 [running]:\n"},
		{line + "SIGABRT: abort\nPC=0x1\n", "SIGABRT: abort", line + "PC=0x1\n"},
		{line + "fatal error: all goroutines are asleep", "fatal error: all goroutines are asleep", line},
		{line, "", line},
	} {
		var out bytes.Buffer
		l := &lakeLog{out: &out}
		for part := range strings.SplitSeq(c.lines, " ") { // in parts, as from a pipe
			fmt.Fprint(l, part+" ")
		}
		l.partial = bytes.TrimSuffix(l.partial, []byte(" ")) // the loop added a space at the end
		if got := l.errorMessage(); got != c.message {
			t.Errorf("%q: the error is %q, want %q", c.lines, got, c.message)
		}
		if out.String() != c.copied {
			t.Errorf("%q: the copied lines are %q, want %q", c.lines, out.String(), c.copied)
		}
	}
}

// TestLakeLogPriorities checks the priorities of a log that is copied to journald.
func TestLakeLogPriorities(t *testing.T) {
	var out bytes.Buffer
	l := &lakeLog{out: (&cli.Flags{Journal: true}).LogWriter(&out)}
	fmt.Fprint(l, "time=x level=WARN msg=slow\n{\"level\":\"ERROR\",\"msg\":\"no\"}\nplain\n")
	const want = "<4>time=x level=WARN msg=slow\n<3>{\"level\":\"ERROR\",\"msg\":\"no\"}\n<6>plain\n"
	if got := out.String(); got != want {
		t.Errorf("the copied lines are %q, want %q", got, want)
	}
}
