package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"placementsync/internal/cli"
	"placementsync/internal/testing/harness"
)

// journalStream opens a stream like the stderr of a systemd service. variable is the value that
// JOURNAL_STREAM has for this stream. read closes the stream and returns the written text.
func journalStream(t *testing.T) (stderr *os.File, variable string, read func() string) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	harness.Must(t, err)
	journald, stderr := os.NewFile(uintptr(fds[0]), "journald"), os.NewFile(uintptr(fds[1]), "stderr")
	t.Cleanup(func() {
		_ = journald.Close()
		_ = stderr.Close()
	})
	info, err := stderr.Stat()
	harness.Must(t, err)
	stat := info.Sys().(*syscall.Stat_t)
	return stderr, fmt.Sprintf("%d:%d", stat.Dev, stat.Ino), func() string {
		_ = stderr.Close()
		text, err := io.ReadAll(journald)
		harness.Must(t, err)
		return string(text)
	}
}

// timeOfLine matches the time in a JSON line with a priority.
var timeOfLine = regexp.MustCompile(`(?m)^(<\d>{)"time":"20[^"]+",`)

func TestFeedsJournal(t *testing.T) {
	t.Parallel()
	stderr, variable, _ := journalStream(t)
	redirected, _, _ := journalStream(t)
	for name, c := range map[string]struct {
		file     *os.File
		variable string
		isSet    bool
		want     bool
	}{
		"stream to journald": {stderr, variable, true, true},
		"redirected stderr":  {redirected, variable, true, false},
		"variable not set":   {stderr, "", false, false},
		"invalid variable":   {stderr, "journal", true, false},
	} {
		if got := cli.FeedsJournal(c.file, func(string) (string, bool) { return c.variable, c.isSet }); got != c.want {
			t.Errorf("%s: got %t, want %t", name, got, c.want)
		}
	}
}

// TestJournalLinesBeginWithTheirPriority covers log lines in both formats and the final
// error.
func TestJournalLinesBeginWithTheirPriority(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		"text": "<7>level=DEBUG msg=a run=1\n<6>level=INFO msg=b run=1 took=1.235s until=1970-01-01T00:00:00.000Z\n" +
			"<4>level=WARN msg=\"c\\nd\" run=1 g.stream=orders\n<3>level=ERROR msg=e\n" +
			"<3>program: the service failed\n<3>two lines\n",
		"json": `<7>{"level":"DEBUG","msg":"a","run":1}` + "\n" + `<6>{"level":"INFO","msg":"b","run":1,"took":1.235,"until":"1970-01-01T00:00:00Z"}` + "\n" +
			`<4>{"level":"WARN","msg":"c\nd","run":1,"g":{"stream":"orders"}}` + "\n" + `<3>{"level":"ERROR","msg":"e"}` + "\n" +
			`<3>{"level":"ERROR","msg":"command failed","command":"work","exit_code":1,"error":"the service failed\ntwo lines"}` + "\n",
	} {
		stderr, variable, read := journalStream(t)
		f := cli.Flags{Journal: cli.FeedsJournal(stderr, func(string) (string, bool) { return variable, true })}
		root := &cobra.Command{Use: "program"}
		f.AddTo(root)
		root.AddCommand(&cobra.Command{Use: "work", RunE: func(*cobra.Command, []string) error {
			log := f.NewLogger(stderr)
			runLog := log.With("run", 1)
			runLog.Debug("a")
			runLog.Info("b", "took", 1234567*time.Microsecond, "until", time.Unix(0, 0).UTC(), "reason", "", "error", nil)
			runLog.WithGroup("g").Warn("c\nd", "stream", "orders")
			log.Log(t.Context(), slog.LevelError, "e")
			return errors.New("the service failed\ntwo lines")
		}})
		if code := f.Execute(context.Background(), root, []string{"work", "--verbose", "--log-format", format}, io.Discard, stderr); code != 1 {
			t.Errorf("the exit code is %d, want 1", code)
		}
		got := read()
		if format == "json" { // JSON lines keep the time for log collectors
			if n := len(timeOfLine.FindAllString(got, -1)); n != 5 {
				t.Errorf("%d of 5 lines have a time:\n%s", n, got)
			}
			got = timeOfLine.ReplaceAllString(got, "$1")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", format, diff)
		}
	}
}

// TestLogWriterAddsPriorities writes lines with and without a level, for journald and for a terminal.
func TestLogWriterAddsPriorities(t *testing.T) {
	t.Parallel()
	for isJournal, want := range map[bool]string{true: "<4>level=WARN msg=a\n<6>no level\n", false: "level=WARN msg=a\nno level\n"} {
		var text bytes.Buffer
		f := cli.Flags{Journal: isJournal}
		for _, line := range []string{"level=WARN msg=a\n", "no level\n"} {
			_, _ = io.WriteString(f.LogWriter(&text), line)
		}
		if text.String() != want {
			t.Errorf("to journald: %t: got %q, want %q", isJournal, &text, want)
		}
	}
}
