package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync"
	"placementsync/internal/command"
	"placementsync/internal/config"
	"placementsync/internal/durable"
	"placementsync/internal/sim"
)

// initRun is the result of a run of init.
type initRun struct {
	code           int
	stdout, stderr bytes.Buffer
	screen         bytes.Buffer // the questions and the echo
}

// initWith runs the command "init" with typed answers.
func initWith(t *testing.T, answers string, args ...string) *initRun {
	t.Helper()
	var run initRun
	p := process{stdout: &run.stdout, stderr: &run.stderr, Host: command.Host{LookupEnv: func(string) (string, bool) { return "", false }, Now: time.Now},
		ask: newAsker(strings.NewReader(answers), &run.screen, func() (func(), error) { return func() {}, nil })}
	run.code = executeArgs(t.Context(), append([]string{"init"}, args...), p)
	return &run
}

// smallService starts a small demo service and returns its address.
func smallService(t *testing.T) (base string) {
	t.Helper()
	base, stop, err := sim.New(sim.Options{Seed: 1, Outlets: 6, Listings: 60, Profiles: 2, Campaigns: 3, Orders: 8, Token: demoToken}).Serve(context.WithoutCancel(t.Context()), "")
	must(t, err)
	t.Cleanup(func() { _ = stop() })
	return base
}

// changedLines returns the lines of a file that are not in the example.
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
	must(t, err)
	return info.Mode()
}

// TestInitRepeatsQuestions types wrong addresses and tokens before a valid address and token.
func TestInitRepeatsQuestions(t *testing.T) {
	t.Parallel()
	base, dir := smallService(t), t.TempDir()
	file, token := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "token")
	run := initWith(t, "ftp://x\rhttp://api.example.com\r "+base+" \r\rpc demo\rpc_demo\r", "--config", file)
	if run.code != 0 {
		t.Fatalf("init ended with %d, want 0:\n%s", run.code, &run.stderr)
	}
	if diff := cmp.Diff([]string{"base_url: " + base, `token: ""`, `token_file: "token"`}, changedLines(t, file)); diff != "" {
		t.Errorf("the configuration (-want +got):\n%s", diff)
	}
	cfg, err := config.Load(file, nil)
	must(t, err)
	want := config.Default()
	want.API.BaseURL, want.API.TokenFile, want.Warehouse.Dir = base, token, filepath.Join(dir, "warehouse")
	if diff := cmp.Diff(want, cfg); diff != "" {
		t.Errorf("the loaded configuration (-want +got):\n%s", diff)
	}
	if got := read(t, token); got != "pc_demo\n" {
		t.Errorf("the token is %q, want pc_demo", got)
	}
	if runtime.GOOS != "windows" && (modeOf(t, token) != 0o600 || modeOf(t, file)&^0o640 != 0) {
		t.Errorf("the token has the mode %v, want 0600, and the configuration %v, want at most 0640", modeOf(t, token), modeOf(t, file))
	}
	screen := run.screen.String()
	for text, times := range map[string]int{"service, such as ": 3, "token (not shown; it is written to a separate file): ": 3, base: 1, "pc": 0, "demo": 0} {
		if got := strings.Count(screen, text); got != times {
			t.Errorf("the screen shows %q %d times, want %d:\n%s", text, got, times, screen)
		}
	}
	for _, want := range []string{"is not an absolute http or https address", "with --allow-insecure", "api.token is empty", "api.token contains white space"} {
		if strings.Count(run.stderr.String(), want) != 1 {
			t.Errorf("stderr must contain %q once:\n%s", want, &run.stderr)
		}
	}
	if all := run.stdout.String() + run.stderr.String(); strings.Contains(all, "pc_demo") || strings.Contains(all, "pc demo") {
		t.Errorf("the output contains the token:\n%s", all)
	}
}

// TestInitWithoutAnswer ends the input at each question.
func TestInitWithoutAnswer(t *testing.T) {
	t.Parallel()
	for name, answers := range map[string]string{"at once": "", "after the address": "https://api.example.com\r", "by Ctrl-C": "https://api.example.com\rpc_\x03"} {
		dir := filepath.Join(t.TempDir(), "etc")
		run := initWith(t, answers, "--config", filepath.Join(dir, "config.yaml"))
		if run.code != 130 || !strings.Contains(run.stderr.String(), "no answer was given: nothing was written") {
			t.Errorf("%s: ended with %d, want 130 and nothing written: %s", name, run.code, &run.stderr)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s: a file was written (%v)", name, err)
		}
	}
}

// TestInitFillsInPackageExample checks that the example of a package is filled in once and keeps
// its values and its mode, and that the token file has the group of the example.
func TestInitFillsInPackageExample(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("file modes have no groups on this system")
	}
	base, dir := smallService(t), t.TempDir()
	file, token := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "token")
	text, err := config.Fill(placementsync.ExampleConfig, map[string]string{"api.token": "", "api.token_file": token, "warehouse.dir": filepath.Join(dir, "state/warehouse")})
	must(t, err)
	must(t, os.WriteFile(file, append(text, "# added by somebody\n"...), 0o600))
	const group = 12345
	if os.Geteuid() == 0 {
		must(t, os.Chown(file, 0, group))
	}
	must(t, os.Chmod(file, 0o640))

	if run := initWith(t, "pc_demo\r", "--config", file, "--base-url", base); run.code != 0 {
		t.Fatalf("init ended with %d, want 0:\n%s", run.code, &run.stderr)
	}
	want := []string{"base_url: " + base, `token: ""`, fmt.Sprintf("token_file: %q", token), fmt.Sprintf("dir: %q", filepath.Join(dir, "state/warehouse")), "# added by somebody"}
	if diff := cmp.Diff(want, changedLines(t, file)); diff != "" {
		t.Errorf("the configuration (-want +got):\n%s", diff)
	}
	for _, name := range []string{file, token} {
		info, err := os.Stat(name)
		must(t, err)
		if _, gid, _ := durable.Owner(info); info.Mode() != 0o640 || os.Geteuid() == 0 && gid != group {
			t.Errorf("%s has the mode %v and the group %d, want 0640 and the group of the example", name, info.Mode(), gid)
		}
	}
	if run := initWith(t, "", "--config", file, "--base-url", base); run.code != 2 || !strings.Contains(run.stderr.String(), "is already filled in") {
		t.Errorf("a second init ended with %d, want 2: %s", run.code, &run.stderr)
	}
}

// TestInitByRootSetsGroup checks that the owner of the warehouse can read the configuration
// and the token, with any umask.
func TestInitByRootSetsGroup(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can change the owner of a folder")
	}
	const daemon = 1
	base, dir := smallService(t), t.TempDir()
	state := filepath.Join(dir, "state")
	must(t, os.Mkdir(state, 0o700))
	must(t, os.Chown(state, daemon, daemon))
	file := filepath.Join(dir, "config.yaml")
	run := initWith(t, "pc_demo\r", "--config", file, "--base-url", base, "--dir", filepath.Join(state, "warehouse"))
	if run.code != 0 || !strings.Contains(run.stdout.String(), "next: runuser -u daemon -- placementsync run") {
		t.Fatalf("init ended with %d, want 0 and the command for the user \"daemon\":\n%s%s", run.code, &run.stdout, &run.stderr)
	}
	for _, name := range []string{file, filepath.Join(dir, "token")} {
		info, err := os.Stat(name)
		must(t, err)
		if uid, gid, _ := durable.Owner(info); info.Mode() != 0o640 || uid != 0 || gid != daemon {
			t.Errorf("%s has the mode %v, the owner %d and the group %d, want 0640, 0 and %d", name, info.Mode(), uid, gid, daemon)
		}
	}
}

// TestInitKeepsInlineToken checks that a token in the example is kept.
func TestInitKeepsInlineToken(t *testing.T) {
	t.Parallel()
	base, dir := smallService(t), t.TempDir()
	file, other := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "other")
	text, err := config.Fill(placementsync.ExampleConfig, map[string]string{"api.token": "pc_demo"})
	must(t, err)
	must(t, os.WriteFile(file, text, 0o600))
	must(t, os.WriteFile(other, []byte("pc_other"), 0o600))
	for _, flag := range []string{"--token-file=" + other, "--token-env=OTHER"} {
		run := initWith(t, "", "--config", file, "--base-url", base, flag)
		if run.code != 2 || !strings.Contains(run.stderr.String(), "has a token in api.token") || read(t, file) != string(text) {
			t.Errorf("%s: ended with %d, want 2 and an unchanged file: %s", flag, run.code, &run.stderr)
		}
	}
	if run := initWith(t, "", "--config", file, "--base-url", base); run.code != 0 {
		t.Fatalf("init ended with %d, want 0:\n%s", run.code, &run.stderr)
	}
	if diff := cmp.Diff([]string{"base_url: " + base, `token: "pc_demo"`}, changedLines(t, file)); diff != "" {
		t.Errorf("the configuration (-want +got):\n%s", diff)
	}
}

// TestInitChecksFolderBeforeQuestions checks that a missing folder of the token is reported before
// init asks for a token.
func TestInitChecksFolderBeforeQuestions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "config.yaml")
	run := initWith(t, "pc_demo\r", "--config", file, "--base-url=https://api.example.com", "--token-file", filepath.Join(dir, "none", "token"))
	if run.code != 2 || !strings.Contains(run.stderr.String(), "for the token does not exist") || run.screen.Len() > 0 {
		t.Errorf("init ended with %d: %s\non the screen: %s\nwant 2, the missing folder and no question", run.code, &run.stderr, &run.screen)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("a file was written (%v)", err)
	}
}

// TestInitInUnwritableFolder checks that a configuration that cannot be written leaves no token.
func TestInitInUnwritableFolder(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs a folder in which even root can create no file")
	}
	token := filepath.Join(t.TempDir(), "token")
	run := initWith(t, "pc_demo\r", "--config", "/proc/none/config.yaml", "--base-url=https://api.example.com", "--token-file", token)
	if run.code != 1 || !strings.Contains(run.stderr.String(), "/proc/none") || !strings.Contains(run.stderr.String(), "the configuration was not changed") {
		t.Errorf("init ended with %d: %s; want 1 and the folder", run.code, &run.stderr)
	}
	if _, err := os.Stat(token); !os.IsNotExist(err) {
		t.Errorf("a token was written (%v)", err)
	}
}

// TestInitLineEndings fills in an example with CRLF line endings. A byte order mark is
// rejected.
func TestInitLineEndings(t *testing.T) {
	t.Parallel()
	base, dir := smallService(t), t.TempDir()
	file := filepath.Join(dir, "config.yaml")
	marked := "\ufeff" + string(placementsync.ExampleConfig)
	must(t, os.WriteFile(file, []byte(marked), 0o600))
	run := initWith(t, "pc_demo\r", "--config", file, "--base-url", base)
	if run.code != 2 || !strings.Contains(run.stderr.String(), "begins with a byte order mark") || read(t, file) != marked {
		t.Errorf("with a byte order mark: ended with %d, want 2 and an unchanged file: %s", run.code, &run.stderr)
	}
	must(t, os.WriteFile(file, []byte(strings.ReplaceAll(string(placementsync.ExampleConfig), "\n", "\r\n")), 0o600))
	if run := initWith(t, "pc_demo\r", "--config", file, "--base-url", base); run.code != 0 {
		t.Fatalf("with \\r\\n: ended with %d, want 0:\n%s", run.code, &run.stderr)
	}
	text := read(t, file)
	must(t, os.WriteFile(file, []byte(strings.ReplaceAll(text, "\r\n", "\n")), 0o600))
	if diff := cmp.Diff([]string{"base_url: " + base, `token: ""`, `token_file: "token"`}, changedLines(t, file)); diff != "" {
		t.Errorf("the configuration (-want +got):\n%s", diff)
	}
}

// TestInitAdvisesRootToUseRunuser checks the command that init advises to root. Runs of root
// would create files that the user of the daemon cannot write.
func TestInitAdvisesRootToUseRunuser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can change the owner of a folder")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "config.yaml")
	must(t, os.WriteFile(file, []byte("warehouse: {dir: a/b}\n"), 0o600))
	g := &globals{process: process{Host: command.Host{LookupEnv: func(string) (string, bool) { return "", false }}}}
	g.Config = file
	if got, want := g.commandLine("run"), "placementsync run --config "+file; got != want {
		t.Errorf("in a folder of root: got %s, want %s", got, want)
	}
	g.Config = "no such place/config.yaml"
	if got, want := g.commandLine("run"), "placementsync run --config 'no such place/config.yaml'"; got != want {
		t.Errorf("with a space in the path: got %s, want %s", got, want)
	}
	g.Config = file
	const daemon = 1 // the user "daemon" of every Unix system
	must(t, os.Mkdir(filepath.Join(dir, "a"), 0o700))
	must(t, os.Chown(filepath.Join(dir, "a"), daemon, daemon))
	if got, want := g.commandLine("run"), "runuser -u daemon -- placementsync run --config "+file; got != want {
		t.Errorf("in a folder of another user: got %s, want %s", got, want)
	}
}

// TestInitWarnsOfUnreadableToken runs init with a token file of root and a configuration for the
// group of the daemon.
func TestInitWarnsOfUnreadableToken(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can change the owner of a folder")
	}
	const daemon = 1 // the user "daemon" of every Unix system
	dir := t.TempDir()
	file, token := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "the token")
	text, err := config.Fill(placementsync.ExampleConfig, map[string]string{"api.token": "", "api.token_file": token})
	must(t, err)
	must(t, os.WriteFile(file, text, 0o640))
	must(t, os.Chmod(file, 0o640))
	must(t, os.Chown(file, 0, daemon))
	must(t, os.Mkdir(filepath.Join(dir, "warehouse"), 0o700))
	must(t, os.Chown(filepath.Join(dir, "warehouse"), daemon, daemon))

	var out, problems bytes.Buffer
	p := process{stdout: &out, stderr: &problems, Host: command.Host{LookupEnv: func(string) (string, bool) { return "", false }, Now: time.Now}}
	executeArgs(t.Context(), []string{"init", "--config", file, "--base-url", "https://api.example.com"}, p)
	if want := token + " does not exist: write the token into it"; !strings.Contains(problems.String(), want) {
		t.Errorf("init prints %s, want %s", &problems, want)
	}
	must(t, os.WriteFile(token, []byte("pc_demo"), 0o600))
	const warning = "cannot be read by daemon, the owner of the warehouse: chgrp daemon '"
	for _, c := range []struct {
		mode  fs.FileMode
		group int
		warns bool
	}{{0o600, 0, true}, {0o640, 0, true}, {0o640, daemon, false}} {
		must(t, os.Chown(token, 0, c.group))
		must(t, os.Chmod(token, c.mode))
		out.Reset()
		executeArgs(t.Context(), []string{"check", "--offline", "--config", file}, p)
		if got := strings.Contains(out.String(), "warning        ") && strings.Contains(out.String(), warning); got != c.warns {
			t.Errorf("mode %o, group %d: check prints\n%swant a warning: %t", c.mode, c.group, &out, c.warns)
		}
	}
}
