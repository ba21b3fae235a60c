package command_test

import (
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

	"placementsync/internal/command"
)

// journalStream opens a stream as systemd gives it to a service, and returns what the
// environment says of it. read closes it and returns what was written.
func journalStream(t *testing.T) (stderr *os.File, named string, read func() string) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	journald, stderr := os.NewFile(uintptr(fds[0]), "journald"), os.NewFile(uintptr(fds[1]), "stderr")
	t.Cleanup(func() {
		_ = journald.Close()
		_ = stderr.Close()
	})
	info, err := stderr.Stat()
	if err != nil {
		t.Fatal(err)
	}
	stat := info.Sys().(*syscall.Stat_t)
	return stderr, fmt.Sprintf("%d:%d", stat.Dev, stat.Ino), func() string {
		_ = stderr.Close()
		text, err := io.ReadAll(journald)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

// timeOfLine is the time of a line of JSON behind its priority.
var timeOfLine = regexp.MustCompile(`(?m)^(<\d>{)"time":"20[^"]+",`)

func TestTheJournalIsRecognised(t *testing.T) {
	t.Parallel()
	stderr, named, _ := journalStream(t)
	other, _, _ := journalStream(t)
	for name, c := range map[string]struct {
		file *os.File
		text string
		set  bool
		want bool
	}{
		"the stream":                   {stderr, named, true, true},
		"a variable that is inherited": {other, named, true, false},
		"no variable":                  {stderr, "", false, false},
		"another text":                 {stderr, "journal", true, false},
	} {
		if got := command.FeedsJournal(c.file, func(string) (string, bool) { return c.text, c.set }); got != c.want {
			t.Errorf("%s: got %t, want %t", name, got, c.want)
		}
	}
}

// TestLinesForTheJournalBeginWithTheirPriority in both formats, those of an error too.
func TestLinesForTheJournalBeginWithTheirPriority(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		"text": "<7>level=DEBUG msg=a run=1\n<6>level=INFO msg=b run=1 took=1.235s\n<4>level=WARN msg=\"c\\nd\" run=1 g.stream=orders\n<3>level=ERROR msg=e\n" +
			"<3>program: it answered\n<3>two lines\n",
		"json": `<7>{"level":"DEBUG","msg":"a","run":1}` + "\n" + `<6>{"level":"INFO","msg":"b","run":1,"took":1.235}` + "\n" +
			`<4>{"level":"WARN","msg":"c\nd","run":1,"g":{"stream":"orders"}}` + "\n" + `<3>{"level":"ERROR","msg":"e"}` + "\n" +
			`<3>{"level":"ERROR","msg":"command failed","command":"work","exit_code":1,"error":"it answered\ntwo lines"}` + "\n",
	} {
		stderr, named, read := journalStream(t)
		f := command.Flags{Journal: command.FeedsJournal(stderr, func(string) (string, bool) { return named, true })}
		root := &cobra.Command{Use: "program"}
		f.AddTo(root)
		root.AddCommand(&cobra.Command{Use: "work", RunE: command.MarkWork(func(*cobra.Command, []string) error {
			log := f.NewLogger(stderr)
			with := log.With("run", 1)
			with.Debug("a")
			with.Info("b", "took", 1234567*time.Microsecond, "reason", "", "error", nil)
			with.WithGroup("g").Warn("c\nd", "stream", "orders")
			log.Log(t.Context(), slog.LevelError, "e")
			return errors.New("it answered\ntwo lines")
		})})
		if code := f.Execute(context.Background(), root, []string{"work", "--verbose", "--log-format", format}, io.Discard, stderr); code != 1 {
			t.Errorf("ended with %d", code)
		}
		got := read()
		if format == "json" { // it has the time, which a collector reads
			got = timeOfLine.ReplaceAllString(got, "$1")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", format, diff)
		}
	}
}
