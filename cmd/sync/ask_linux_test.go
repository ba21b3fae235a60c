package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"placementsync/internal/testing/harness"
)

// terminal is a pseudo terminal on which a program runs.
type terminal struct {
	control *os.File // the side of the test
	output  bytes.Buffer
}

// startOnTerminal starts the program in the folder dir, on a new terminal.
func startOnTerminal(t *testing.T, dir string, args ...string) (*terminal, *exec.Cmd) {
	t.Helper()
	control, tty := openTerminal(t, 80)
	t.Cleanup(func() { control.Close() })
	defer tty.Close()
	cmd := exec.CommandContext(t.Context(), "placementsync", args...)
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "TMPDIR=" + os.TempDir()}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	harness.Must(t, cmd.Start())
	return &terminal{control: control}, cmd
}

// readUntil reads the output until it contains the text or the program has ended. If the text is
// empty, it reads until the end.
func (term *terminal) readUntil(text string) {
	buffer := make([]byte, 4<<10)
	for text == "" || !strings.Contains(term.output.String(), text) {
		n, err := term.control.Read(buffer)
		term.output.Write(buffer[:n])
		if err != nil { // EIO: the program closed the terminal
			return
		}
	}
}

// TestTypedTokenIsNotEchoed types a token on a pseudo terminal, or ends the program there with
// Ctrl-C or a signal. The terminal must not show the token, and must echo input afterwards.
func TestTypedTokenIsNotEchoed(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	baseURL := smallService(t)
	for name, c := range map[string]struct {
		typed    string
		signal   os.Signal
		exitCode int
		want     string // in the output
	}{
		"a token": {"pc_demo\r", nil, 0, "next: placementsync run"},
		"Ctrl-C":  {"pc_\x03", nil, 130, "init was ended before all questions were answered; nothing was written"},
		"SIGTERM": {"", syscall.SIGTERM, 130, "stopped by a request to terminate"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			term, cmd := startOnTerminal(t, dir, "init", "--base-url", baseURL)
			term.readUntil("a separate file): ")
			if c.signal != nil {
				harness.Must(t, cmd.Process.Signal(c.signal))
			}
			_, err := term.control.WriteString(c.typed)
			harness.Must(t, err)
			term.readUntil("")
			exitErr, _ := errors.AsType[*exec.ExitError](cmd.Wait())
			if code := cmd.ProcessState.ExitCode(); code != c.exitCode {
				t.Errorf("the exit code is %d (%v), want %d", code, exitErr, c.exitCode)
			}
			if output := term.output.String(); !strings.Contains(output, c.want) || strings.Contains(output, "pc_") {
				t.Errorf("the terminal shows:\n%s\nwant %q and no token", output, c.want)
			}
			mode, err := unix.IoctlGetTermios(int(term.control.Fd()), unix.TCGETS)
			harness.Must(t, err)
			if mode.Lflag&unix.ECHO == 0 || mode.Lflag&unix.ICANON == 0 {
				t.Error("the terminal no longer echoes input")
			}
			if _, err := os.Stat(filepath.Join(dir, "config.yaml")); (err == nil) != (c.exitCode == 0) {
				t.Errorf("init ended with %d; config.yaml exists: %t (%v), want it only after success", c.exitCode, err == nil, err)
			}
		})
	}
}
