package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"placementsync/internal/sim"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
)

// openTerminal opens both ends of a pseudo terminal.
func openTerminal(t *testing.T, width int) (control, tty *os.File) {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminal could be opened: %v", err)
	}
	fd := int(control.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	harness.Must(t, errors.Join(err, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0),
		unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: uint16(width)})))
	tty, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|syscall.O_NOCTTY, 0)
	harness.Must(t, err)
	return control, tty
}

// runOnTerminal runs the program on a terminal of the given width and returns its output. It
// checks that no line wraps.
func runOnTerminal(t *testing.T, width int, dir string, args ...string) string {
	t.Helper()
	control, tty := openTerminal(t, width)
	cmd := exec.CommandContext(t.Context(), "placementsync", args...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, tty, tty, tty
	var output bytes.Buffer
	copyEnded := make(chan struct{})
	harness.Must(t, errors.Join(cmd.Start(), tty.Close()))
	go func() {
		defer close(copyEnded)
		_, _ = io.Copy(&output, control) // an error means that the program has ended
	}()
	err := cmd.Wait()
	<-copyEnded
	_ = control.Close()
	if exitErr := new(exec.ExitError); err != nil && (!errors.As(err, &exitErr) || exitErr.ExitCode() != 3) {
		t.Fatalf("%v ended with %v, want exit code 0 or 3\n%s", args, err, &output)
	}
	plain := regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`).ReplaceAllString(output.String(), "")
	checkWidths(t, fmt.Sprintf("%v at %d columns", args, width), strings.ReplaceAll(plain, "\r", "\n"), width)
	return output.String()
}

// TestOutputFitsTerminal runs nights on terminals of several widths. Lines of the progress, the
// summary, the ledger and the changes must not wrap.
func TestOutputFitsTerminal(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	service := sim.New(smallWorld)
	baseURL, stop, err := service.Serve()
	harness.Must(t, err)
	t.Cleanup(func() { harness.Must(t, stop()) })
	dir := t.TempDir()
	text := fmt.Sprintf("api: {base_url: %s, token: %s, requests_per_second: 0, retry: {max_retries: 1, base: 1ms, max: 1ms}}\nwarehouse: {dir: ./warehouse, threads: 1}\nstreams: {include: [orders, outlet_listings, product_listings]}\n", baseURL, demoToken)
	harness.Must(t, os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(text), 0o600))

	screen := runOnTerminal(t, 80, dir, "run", "--new")
	if n := len(regexp.MustCompile(`[^_]orders +proven +8 rows`).FindAllString(screen, -1)); n != 1 {
		t.Errorf("the line of the stream orders was printed %d times above the bars, want once:\n%s", n, screen)
	}
	requirePatterns(t, screen,
		`(?m)(^|\x1b\[J)orders +proven +8 rows +\d+ requests?`, // \x1b[J clears the bars
		`total +\[.*\] +\d+/`+strconv.Itoa(len(stream.AllWithEvents()))+` streams, \d+(/\d+)? requests?`,
		`(?m)^orders +proven +8 +\d`, `(?m)^run \d{8}T\d{6}Z: published`)
	requirePatterns(t, runOnTerminal(t, 80, dir, "runs"), `(?m)^run +kind +readers +took +outcome +rows +new +changed +gone`)
	if testing.Short() {
		return
	}
	service.Advance(3)
	service.SetFaults(sim.Fault{Kind: sim.FaultStatus, Status: http.StatusServiceUnavailable, Route: "/orders"})
	requirePatterns(t, runOnTerminal(t, 60, dir, "run"), `(?m)^orders +carried +8`, `(?m)^run \d{8}T\d{6}Z[-\d]*: published, partial: orders is carried`)
	for _, width := range []int{60, 80, 120} {
		requirePatterns(t, runOnTerminal(t, width, dir, "runs"), `orders is carried`)
		requirePatterns(t, runOnTerminal(t, width, dir, "diff"), `table`, `what`, `new`, `old`)
	}
}

func requirePatterns(t *testing.T, text string, patterns ...string) {
	t.Helper()
	text = strings.ReplaceAll(text, "\r\n", "\n")
	for _, pattern := range patterns {
		if !regexp.MustCompile(pattern).MatchString(text) {
			t.Errorf("the terminal shows no match of %s:\n%s", pattern, text)
		}
	}
	if strings.Contains(text, "level=INFO") {
		t.Errorf("the output contains lines of the log:\n%s", text)
	}
}

// TestJournalPriorities sets JOURNAL_STREAM to the device and inode of stderr, as systemd does. Each
// line must then begin with its priority.
func TestJournalPriorities(t *testing.T) {
	t.Parallel()
	readEnd, writeEnd, err := os.Pipe()
	harness.Must(t, err)
	info, err := writeEnd.Stat()
	harness.Must(t, err)
	stat := info.Sys().(*syscall.Stat_t)
	cmd := exec.CommandContext(t.Context(), "placementsync", "check", "--config", "nosuch.yaml")
	cmd.Dir, cmd.Stderr = t.TempDir(), writeEnd
	cmd.Env = append(os.Environ(), fmt.Sprintf("JOURNAL_STREAM=%d:%d", stat.Dev, stat.Ino))
	exitErr := new(exec.ExitError)
	if err := cmd.Run(); !errors.As(err, &exitErr) {
		t.Errorf("the program ended with %v, want an exit code", err)
	}
	harness.Must(t, writeEnd.Close())
	got, err := io.ReadAll(readEnd)
	harness.Must(t, err)
	if !regexp.MustCompile(`^(<3>.+\n)+$`).Match(got) || !strings.HasPrefix(string(got), "<3>placementsync: ") {
		t.Errorf("stderr is %q, want lines that begin with <3>", got)
	}
}
