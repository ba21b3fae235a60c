package season_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"placementsync/internal/sim"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
)

// release is an earlier release of the program. commit is used if the repository has no tag of the version.
type release struct{ version, commit string }

// earlierReleases lists the releases whose programs the upgrade trials build.
func earlierReleases() []release {
	return []release{
		{"1.0.0", "345f35328d5318e32c958f62d81e101914a5c5a8"},
		{"1.0.1", "b45f755da1449413f1a5ae54146e54e337a6a1f3"},
	}
}

// currentVersion is the version of the program that is built from the source of this test.
const currentVersion = "9.9.9"

// clockVariable is an environment variable with a time. The programs that these trials build use this
// time as the current time.
const clockVariable = "PLACEMENTSYNC_TRIAL_CLOCK"

// builtProgram is an executable of the current or of an earlier version.
type builtProgram struct{ path, version string }

// buildRelease returns the program of an earlier release. The first test run builds the program and
// keeps it in the user's cache folder for later test runs.
func buildRelease(t *testing.T, r release) builtProgram {
	t.Helper()
	repository := runTool(t, ".", "git", "rev-parse", "--show-toplevel")
	commit := r.commit
	tag := exec.CommandContext(t.Context(), "git", "-C", repository, "rev-parse", "--verify", "--quiet", "refs/tags/v"+r.version+"^{commit}")
	if tagged, err := tag.Output(); err == nil {
		commit = strings.TrimSpace(string(tagged))
	}
	cache, err := os.UserCacheDir()
	testharness.Must(t, err)
	p := builtProgram{filepath.Join(cache, "placementsync-releases", commit), r.version}
	if _, err := os.Stat(p.path); err == nil {
		return p
	}
	source := t.TempDir()
	archive := filepath.Join(t.TempDir(), "source.tar")
	runTool(t, repository, "git", "archive", "--output", archive, commit)
	runTool(t, source, "tar", "-xf", archive)
	testharness.Must(t, os.MkdirAll(filepath.Dir(p.path), 0o755))
	// The rename ensures that an interrupted build does not leave an incomplete program in the cache.
	temporary := p.path + fmt.Sprintf(".%d", os.Getpid())
	buildProgram(t, source, temporary, r.version)
	testharness.Must(t, os.Rename(temporary, p.path))
	return p
}

// buildCurrent builds the program from the source of this test.
func buildCurrent(t *testing.T) builtProgram {
	t.Helper()
	p := builtProgram{filepath.Join(t.TempDir(), "placementsync"), currentVersion}
	buildProgram(t, runTool(t, ".", "git", "rev-parse", "--show-toplevel"), p.path, p.version)
	return p
}

// buildProgram builds ./cmd/sync of a source folder. It replaces time.Now in the source by the time in clockVariable.
func buildProgram(t *testing.T, source, path, version string) {
	t.Helper()
	original := filepath.Join(source, "cmd", "sync", "main.go")
	// Earlier releases read the clock in process.go.
	earlier := filepath.Join(source, "cmd", "sync", "process.go")
	if _, err := os.Stat(earlier); err == nil {
		original = earlier
	}
	text, err := os.ReadFile(original)
	testharness.Must(t, err)
	clock := fmt.Sprintf("func() time.Time { at, _ := time.Parse(time.RFC3339, os.Getenv(%q)); return at }", clockVariable)
	if n := bytes.Count(text, []byte("time.Now")); n != 1 {
		t.Fatalf("%s reads the clock in %d places, want 1", original, n)
	}
	dir := t.TempDir()
	changed, overlay := filepath.Join(dir, filepath.Base(original)), filepath.Join(dir, "overlay.json")
	testharness.Must(t, os.WriteFile(changed, bytes.Replace(text, []byte("time.Now"), []byte(clock), 1), 0o600))
	replacements, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	testharness.Must(t, errors.Join(err, os.WriteFile(overlay, replacements, 0o600)))
	runTool(t, source, "go", "build", "-buildvcs=false", "-tags", "duckdb_arrow", "-overlay", overlay,
		"-ldflags", "-s -w -X main.version="+version, "-o", path, "./cmd/sync")
}

// runTool runs a command in a folder and returns its output without surrounding white space. The
// command must succeed.
func runTool(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, &stderr)
	}
	return strings.TrimSpace(string(out))
}

// command returns a command of a program with the configuration and the current time of the trial.
func (u *upgrade) command(p builtProgram, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(u.T.Context(), p.path, append([]string{"--config", u.configFile}, args...)...)
	cmd.Dir = filepath.Dir(u.configFile)
	cmd.Env = []string{"HOME=" + cmd.Dir, "TMPDIR=" + os.TempDir(), "PLACEMENTSYNC_TOKEN=" + trials.Token,
		"PLACEMENTSYNC_HASH_KEY=key-of-the-trial-with-32-characters", clockVariable + "=" + u.At.Format(time.RFC3339)}
	return cmd
}

// execute runs a command until it ends.
func (u *upgrade) execute(p builtProgram, args ...string) (code int, stdout, stderr string) {
	u.T.Helper()
	cmd := u.command(p, append([]string{"--quiet"}, args...)...)
	var stdoutText, stderrText strings.Builder
	cmd.Stdout, cmd.Stderr = &stdoutText, &stderrText
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		u.T.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), stdoutText.String(), stderrText.String()
}

// mustExecute runs a command and returns its standard output. The command must succeed.
func (u *upgrade) mustExecute(p builtProgram, args ...string) string {
	u.T.Helper()
	code, stdout, stderr := u.execute(p, args...)
	if code != 0 {
		u.T.Fatalf("%q of %s ended with exit code %d, want 0:\n%s%s", args, p.version, code, stdout, stderr)
	}
	return stdout
}

// servingLine matches the log message in which the command "serve" reports its address.
var servingLine = regexp.MustCompile(`msg=serving address=(\S+)`)

// deliverEvents runs the command "serve", sends the events to it, and stops it.
func (u *upgrade) deliverEvents(p builtProgram, events ...sim.Delivery) {
	u.T.Helper()
	cmd := u.command(p, "--verbose", "serve")
	stderr, err := cmd.StderrPipe()
	testharness.Must(u.T, err)
	testharness.Must(u.T, cmd.Start())
	lines := bufio.NewScanner(stderr)
	log, address := "", ""
	for address == "" && lines.Scan() {
		log += lines.Text() + "\n"
		if match := servingLine.FindStringSubmatch(lines.Text()); match != nil {
			address = match[1]
		}
	}
	if address == "" {
		u.T.Fatalf("serve of %s did not log its address (%v):\n%s", p.version, cmd.Wait(), log)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, event := range events {
		status, err := sim.Deliver(u.T.Context(), client, "http://"+address+"/hooks", event, trials.HookSecret)
		if err != nil || status != http.StatusNoContent {
			u.T.Errorf("serve of %s: the response to event %s has status %d (%v), want 204", p.version, event.ID, status, err)
		}
	}
	testharness.Must(u.T, cmd.Process.Signal(os.Interrupt))
	for lines.Scan() {
		log += lines.Text() + "\n"
	}
	if err := cmd.Wait(); err != nil {
		u.T.Fatalf("serve of %s ended with %v:\n%s", p.version, err, log)
	}
}
