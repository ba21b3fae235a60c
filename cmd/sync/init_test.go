package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync"
	"placementsync/internal/config"
	"placementsync/internal/durable"
	"placementsync/internal/sim"
	"placementsync/internal/testing/harness"
)

// initResult is the result of the command "init".
type initResult struct {
	code           int
	stdout, stderr bytes.Buffer
	screen         bytes.Buffer // the questions and the echo
}

// executeInit executes the command "init" with typed answers.
func executeInit(t *testing.T, answers string, args ...string) *initResult {
	t.Helper()
	var result initResult
	p := processWithoutEnvironment(&result.stdout, &result.stderr)
	p.ask = newAsker(strings.NewReader(answers), &result.screen, func() (func(), error) { return func() {}, nil })
	result.code = executeArgs(t.Context(), append([]string{"init"}, args...), p)
	return &result
}

// smallService starts a small demo service and returns its address.
func smallService(t *testing.T) (baseURL string) {
	t.Helper()
	baseURL, stop, err := sim.New(smallWorld).Serve()
	harness.Must(t, err)
	t.Cleanup(func() { _ = stop() })
	return baseURL
}

// changedLines returns the lines of a file that are not in the example, without indentation and comments.
func changedLines(t *testing.T, file string) []string {
	t.Helper()
	example := map[string]bool{}
	for line := range strings.SplitSeq(string(placementsync.ExampleConfig), "\n") {
		example[line] = true
	}
	var changed []string
	for line := range strings.SplitSeq(read(t, file), "\n") {
		if !example[line] {
			line, _, _ = strings.Cut(strings.TrimSpace(line), " #")
			changed = append(changed, strings.TrimSpace(line))
		}
	}
	return changed
}

func modeOf(t *testing.T, file string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(file)
	harness.Must(t, err)
	return info.Mode()
}

// TestInitRepeatsQuestions types two wrong addresses before a valid address, and two wrong tokens
// before a valid token. After each wrong answer, init must ask again.
func TestInitRepeatsQuestions(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	baseURL, dir := smallService(t), t.TempDir()
	file, tokenFile := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "token")
	result := executeInit(t, "ftp://x\rhttp://api.example.com\r "+baseURL+" \r\rpc demo\rpc_demo\r", "--config", file)
	if result.code != 0 {
		t.Fatalf("init ended with %d, want 0:\n%s", result.code, &result.stderr)
	}
	if diff := cmp.Diff([]string{"base_url: " + baseURL, `token: ""`, "token_file: token"}, changedLines(t, file)); diff != "" {
		t.Errorf("the configuration (-want +got):\n%s", diff)
	}
	cfg, err := config.Load(file, nil)
	harness.Must(t, err)
	want := config.Default()
	want.API.BaseURL, want.API.TokenFile, want.Warehouse.Dir = baseURL, tokenFile, filepath.Join(dir, "warehouse")
	if diff := cmp.Diff(want, cfg); diff != "" {
		t.Errorf("the loaded configuration (-want +got):\n%s", diff)
	}
	if got := read(t, tokenFile); got != "pc_demo\n" {
		t.Errorf("the token is %q, want pc_demo", got)
	}
	if modeOf(t, tokenFile) != 0o600 || modeOf(t, file)&^0o640 != 0 {
		t.Errorf("the token has the mode %v, want 0600, and the configuration %v, want at most 0640", modeOf(t, tokenFile), modeOf(t, file))
	}
	screen := result.screen.String()
	for text, times := range map[string]int{"service, such as ": 3, "token (not shown; it is written to a separate file): ": 3, baseURL: 1, "pc": 0, "demo": 0} {
		if got := strings.Count(screen, text); got != times {
			t.Errorf("the screen shows %q %d times, want %d:\n%s", text, got, times, screen)
		}
	}
	for _, want := range []string{"is not an absolute http or https address", "with --allow-insecure", "api.token is empty", "api.token contains white space"} {
		if strings.Count(result.stderr.String(), want) != 1 {
			t.Errorf("stderr must contain %q once:\n%s", want, &result.stderr)
		}
	}
	if all := result.stdout.String() + result.stderr.String(); strings.Contains(all, "pc_demo") || strings.Contains(all, "pc demo") {
		t.Errorf("the output contains the token:\n%s", all)
	}
}

// TestInitWithoutAnswer ends the input at each question.
func TestInitWithoutAnswer(t *testing.T) {
	t.Parallel()
	for name, answers := range map[string]string{"immediately": "", "after the address": "https://api.example.com\r", "by Ctrl-C": "https://api.example.com\rpc_\x03"} {
		dir := filepath.Join(t.TempDir(), "etc")
		result := executeInit(t, answers, "--config", filepath.Join(dir, "config.yaml"))
		if result.code != 130 || !strings.Contains(result.stderr.String(), "init was ended before all questions were answered; nothing was written") {
			t.Errorf("%s: ended with %d, want 130 and nothing written: %s", name, result.code, &result.stderr)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s: a file was written (%v)", name, err)
		}
	}
}

// TestInitFillsInPackageExample checks that the example of a package is filled in once and keeps its values and its
// mode. The token file has the group of the example, but its group may read it only if the example is closed to others.
func TestInitFillsInPackageExample(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	baseURL := smallService(t)
	for mode, tokenMode := range map[os.FileMode]os.FileMode{0o640: 0o640, 0o644: 0o600} {
		dir := t.TempDir()
		file, tokenFile := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "token")
		text, err := config.Fill(placementsync.ExampleConfig, map[string]string{"api.token": "", "api.token_file": tokenFile, "warehouse.dir": filepath.Join(dir, "state/warehouse")})
		harness.Must(t, err)
		harness.Must(t, os.WriteFile(file, append(text, "# added by somebody\n"...), 0o600))
		const group = 12345
		if os.Geteuid() == 0 {
			harness.Must(t, os.Chown(file, 0, group))
		}
		harness.Must(t, os.Chmod(file, mode))

		if result := executeInit(t, "pc_demo\r", "--config", file, "--base-url", baseURL); result.code != 0 {
			t.Fatalf("init ended with %d, want 0:\n%s", result.code, &result.stderr)
		}
		want := []string{"base_url: " + baseURL, `token: ""`, fmt.Sprintf("token_file: %q", tokenFile), fmt.Sprintf("dir: %q", filepath.Join(dir, "state/warehouse")), "# added by somebody"}
		if diff := cmp.Diff(want, changedLines(t, file)); diff != "" {
			t.Errorf("the configuration (-want +got):\n%s", diff)
		}
		for name, want := range map[string]os.FileMode{file: mode, tokenFile: tokenMode} {
			info, err := os.Stat(name)
			harness.Must(t, err)
			if gid := durable.AccessOf(info).GID; info.Mode() != want || os.Geteuid() == 0 && gid != group {
				t.Errorf("%s has the mode %v and the group %d, want %v and the group of the example", name, info.Mode(), gid, want)
			}
		}
		if result := executeInit(t, "", "--config", file, "--base-url", baseURL); result.code != 2 || !strings.Contains(result.stderr.String(), "is already filled in") {
			t.Errorf("a second init ended with %d, want 2: %s", result.code, &result.stderr)
		}
	}
}

// TestInitByRootSetsGroup checks that the owner of the warehouse can read the configuration
// and the token.
func TestInitByRootSetsGroup(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can change the owner of a folder")
	}
	const otherUser = 1 // the user "daemon" of every Unix system
	baseURL, dir := smallService(t), t.TempDir()
	stateDir := filepath.Join(dir, "state")
	harness.Must(t, os.Mkdir(stateDir, 0o700))
	harness.Must(t, os.Chown(stateDir, otherUser, otherUser))
	file := filepath.Join(dir, "config.yaml")
	result := executeInit(t, "pc_demo\r", "--config", file, "--base-url", baseURL, "--dir", filepath.Join(stateDir, "warehouse"))
	if result.code != 0 || !strings.Contains(result.stdout.String(), "next: runuser -u daemon -- placementsync run") {
		t.Fatalf("init ended with %d, want 0 and the command for the user \"daemon\":\n%s%s", result.code, &result.stdout, &result.stderr)
	}
	for _, name := range []string{file, filepath.Join(dir, "token")} {
		info, err := os.Stat(name)
		harness.Must(t, err)
		if access := durable.AccessOf(info); access != (durable.Access{UID: 0, GID: otherUser, Mode: 0o640}) {
			t.Errorf("%s has the mode %v, the owner %d and the group %d, want 0640, 0 and %d", name, info.Mode(), access.UID, access.GID, otherUser)
		}
	}
}

// TestInitKeepsInlineToken checks that a token in the existing configuration is kept.
func TestInitKeepsInlineToken(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	baseURL, dir := smallService(t), t.TempDir()
	file, otherFile := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "other")
	text, err := config.Fill(placementsync.ExampleConfig, map[string]string{"api.token": "pc_demo"})
	harness.Must(t, err)
	harness.Must(t, os.WriteFile(file, text, 0o600))
	harness.Must(t, os.WriteFile(otherFile, []byte("pc_other"), 0o600))
	for _, flag := range []string{"--token-file=" + otherFile, "--token-env=OTHER"} {
		result := executeInit(t, "", "--config", file, "--base-url", baseURL, flag)
		if result.code != 2 || !strings.Contains(result.stderr.String(), "has a token in api.token") || read(t, file) != string(text) {
			t.Errorf("%s: ended with %d, want 2 and an unchanged file: %s", flag, result.code, &result.stderr)
		}
	}
	if result := executeInit(t, "", "--config", file, "--base-url", baseURL); result.code != 0 {
		t.Fatalf("init ended with %d, want 0:\n%s", result.code, &result.stderr)
	}
	if diff := cmp.Diff([]string{"base_url: " + baseURL, "token: pc_demo"}, changedLines(t, file)); diff != "" {
		t.Errorf("the configuration (-want +got):\n%s", diff)
	}
}

// TestInitWithoutQuestions finds the token in a file that the environment names, or in the existing configuration,
// which also accepts plain http. No service runs, so the check fails after the configuration was written.
func TestInitWithoutQuestions(t *testing.T) {
	t.Parallel()
	tokenFile := filepath.Join(t.TempDir(), "token")
	harness.Must(t, os.WriteFile(tokenFile, []byte("pc_demo"), 0o600))
	for name, c := range map[string]struct {
		existing map[string]string
		want     []string
	}{
		"a new configuration": {nil, []string{"allow_insecure: true"}},
		"the example with a token": {map[string]string{"api.token": "pc_demo", "api.allow_insecure": "true"},
			[]string{"allow_insecure: true", "token: pc_demo"}},
	} {
		file := filepath.Join(t.TempDir(), "config.yaml")
		args := []string{"init", "--config", file, "--base-url", "http://0.0.0.0:1"}
		if c.existing != nil {
			text, err := config.Fill(placementsync.ExampleConfig, c.existing)
			harness.Must(t, errors.Join(err, os.WriteFile(file, text, 0o600)))
		} else {
			args = append(args, "--allow-insecure")
		}
		var stderr bytes.Buffer
		p := processWithoutEnvironment(io.Discard, &stderr)
		p.LookupEnv = func(name string) (string, bool) { return tokenFile, name == "PLACEMENTSYNC_TOKEN_FILE" }
		if code := executeArgs(t.Context(), args, p); code != 1 || !strings.Contains(stderr.String(), "connection refused") {
			t.Errorf("%s: init ended with %d: %s; want 1 after the check", name, code, &stderr)
		}
		want := append([]string{"base_url: http://0.0.0.0:1"}, c.want...)
		slices.Sort(want)
		got := changedLines(t, file)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: the configuration (-want +got):\n%s", name, diff)
		}
	}
}

// TestInitChecksFolderBeforeQuestions checks that a missing folder of the token is reported before
// init asks for a token.
func TestInitChecksFolderBeforeQuestions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "config.yaml")
	result := executeInit(t, "pc_demo\r", "--config", file, "--base-url=https://api.example.com", "--token-file", filepath.Join(dir, "none", "token"))
	if result.code != 2 || !strings.Contains(result.stderr.String(), "for the token does not exist") || result.screen.Len() > 0 {
		t.Errorf("init ended with %d: %s\non the screen: %s\nwant 2, the missing folder and no question", result.code, &result.stderr, &result.screen)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("a file was written (%v)", err)
	}
}

// TestInitInUnwritableFolder checks that init leaves no token file if it cannot write the configuration.
func TestInitInUnwritableFolder(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs a folder in which even root can create no file")
	}
	tokenFile := filepath.Join(t.TempDir(), "token")
	result := executeInit(t, "pc_demo\r", "--config", "/proc/config.yaml", "--base-url=https://api.example.com", "--token-file", tokenFile)
	if result.code != 1 || !strings.Contains(result.stderr.String(), "/proc/") || !strings.Contains(result.stderr.String(), "no configuration was written") {
		t.Errorf("init ended with %d: %s; want 1 and the folder", result.code, &result.stderr)
	}
	if _, err := os.Stat(tokenFile); !os.IsNotExist(err) {
		t.Errorf("a token was written (%v)", err)
	}
}

// TestInitLineEndings fills in an example with CRLF line endings. A byte order mark is
// rejected.
func TestInitLineEndings(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	baseURL, dir := smallService(t), t.TempDir()
	file := filepath.Join(dir, "config.yaml")
	withBOM := "\ufeff" + string(placementsync.ExampleConfig)
	harness.Must(t, os.WriteFile(file, []byte(withBOM), 0o600))
	result := executeInit(t, "pc_demo\r", "--config", file, "--base-url", baseURL)
	if result.code != 2 || !strings.Contains(result.stderr.String(), "begins with a byte order mark") || read(t, file) != withBOM {
		t.Errorf("with a byte order mark: ended with %d, want 2 and an unchanged file: %s", result.code, &result.stderr)
	}
	harness.Must(t, os.WriteFile(file, []byte(strings.ReplaceAll(string(placementsync.ExampleConfig), "\n", "\r\n")), 0o600))
	if result := executeInit(t, "pc_demo\r", "--config", file, "--base-url", baseURL); result.code != 0 {
		t.Fatalf("with \\r\\n: ended with %d, want 0:\n%s", result.code, &result.stderr)
	}
	text := read(t, file)
	harness.Must(t, os.WriteFile(file, []byte(strings.ReplaceAll(text, "\r\n", "\n")), 0o600))
	if diff := cmp.Diff([]string{"base_url: " + baseURL, `token: ""`, "token_file: token"}, changedLines(t, file)); diff != "" {
		t.Errorf("the configuration (-want +got):\n%s", diff)
	}
}

// TestInitOfRootServesOtherUser checks the folders that init creates for root, and the command that it recommends.
// If root ran the program, the owner of the warehouse could not write the new files.
func TestInitOfRootServesOtherUser(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can change the owner of a folder")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "config.yaml")
	harness.Must(t, os.WriteFile(file, []byte("warehouse: {dir: a/b}\n"), 0o600))
	g := newQuietGlobals()
	g.Config = file
	if got, want := g.commandLine("run"), "placementsync run --config "+file; got != want {
		t.Errorf("in a folder of root: got %s, want %s", got, want)
	}
	g.Config = "no such place/config.yaml"
	if got, want := g.commandLine("run"), "placementsync run --config 'no such place/config.yaml'"; got != want {
		t.Errorf("with a space in the path: got %s, want %s", got, want)
	}
	g.Config = file
	const otherUser = 1 // the user "daemon" of every Unix system
	harness.Must(t, os.Mkdir(filepath.Join(dir, "a"), 0o700))
	harness.Must(t, os.Chown(filepath.Join(dir, "a"), otherUser, otherUser))
	if got, want := g.commandLine("run"), "runuser -u daemon -- placementsync run --config "+file; got != want {
		t.Errorf("in a folder of another user: got %s, want %s", got, want)
	}
	harness.Must(t, g.createWarehouse())
	for _, name := range []string{"", "versions", "parquet", "raw", "state"} {
		info, err := os.Stat(filepath.Join(dir, "a/b", name))
		harness.Must(t, err)
		if access := durable.AccessOf(info); access.UID != otherUser || access.GID != otherUser {
			t.Errorf("the new folder a/b/%s belongs to %d:%d, want the owner of a", name, access.UID, access.GID)
		}
	}
	if info, err := os.Stat(dir); err != nil || durable.AccessOf(info).UID != 0 {
		t.Errorf("the folder above a has another owner: %+v (%v)", info, err)
	}
}

// TestRootIsWarnedOfUnreadableToken uses a warehouse of the user "daemon" and a token file of root.
// If the token file is missing, init must report this. If the owner of the warehouse cannot read the
// file, "check" must warn.
func TestRootIsWarnedOfUnreadableToken(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can change the owner of a folder")
	}
	const otherUser = 1 // the user "daemon" of every Unix system
	dir := t.TempDir()
	file, tokenFile := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "the token")
	text, err := config.Fill(placementsync.ExampleConfig, map[string]string{"api.token": "", "api.token_file": tokenFile})
	harness.Must(t, err)
	harness.Must(t, os.WriteFile(file, text, 0o640))
	harness.Must(t, os.Chmod(file, 0o640))
	harness.Must(t, os.Chown(file, 0, otherUser))
	harness.Must(t, os.Mkdir(filepath.Join(dir, "warehouse"), 0o700))
	harness.Must(t, os.Chown(filepath.Join(dir, "warehouse"), otherUser, otherUser))

	var out, stderr bytes.Buffer
	p := processWithoutEnvironment(&out, &stderr)
	executeArgs(t.Context(), []string{"init", "--config", file, "--base-url", "https://api.example.com"}, p)
	if want := tokenFile + " does not exist: write the token into it"; !strings.Contains(stderr.String(), want) {
		t.Errorf("init prints %s, want %s", &stderr, want)
	}
	harness.Must(t, os.WriteFile(tokenFile, []byte("pc_demo"), 0o600))
	const warning = "cannot be read by daemon, the owner of the warehouse: chgrp daemon '"
	for _, c := range []struct {
		mode         fs.FileMode
		owner, group int
		warns        bool
	}{{0o600, 0, 0, true}, {0o640, 0, 0, true}, {0o640, 0, otherUser, false}, {0o600, otherUser, 0, false},
		{0o644, 0, 0, false}} {
		harness.Must(t, os.Chown(tokenFile, c.owner, c.group))
		harness.Must(t, os.Chmod(tokenFile, c.mode))
		out.Reset()
		executeArgs(t.Context(), []string{"check", "--offline", "--config", file}, p)
		if got := strings.Contains(out.String(), "warning        ") && strings.Contains(out.String(), warning); got != c.warns {
			t.Errorf("mode %o, group %d: check prints\n%swant a warning: %t", c.mode, c.group, &out, c.warns)
		}
	}
}
