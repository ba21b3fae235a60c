package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/notify"
	"placementsync/internal/pipeline"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// TestUnitsAreValid checks the systemd units with systemd-analyze, with this test binary as the
// program.
func TestUnitsAreValid(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	self, err := os.Executable()
	harness.Must(t, err)
	dir := t.TempDir()
	for _, unit := range []string{"placementsync.service", "placementsync-run.service", "placementsync-run.timer"} {
		text := strings.ReplaceAll(read(t, "../../deploy/"+unit), "/usr/local/bin/placementsync", self)
		harness.Must(t, os.WriteFile(filepath.Join(dir, unit), []byte(text), 0o600))
	}
	runAnalyze := func(args ...string) {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("systemd-analyze %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	// --man=no: Documentation= is not checked, because the man page is not installed.
	runAnalyze("verify", "--man=no", "./placementsync.service", "./placementsync-run.service", "./placementsync-run.timer")
	// The threshold 20 is the exposure level 2.0 on a scale from 0 (safe) to 10. A program that needs
	// the network cannot have the level 0.
	runAnalyze("security", "--offline=true", "--threshold=20", "--no-pager", "./placementsync.service", "./placementsync-run.service")
}

// TestDeployedCommands checks that units and crontab call existing commands with existing
// flags.
func TestDeployedCommands(t *testing.T) {
	t.Parallel()
	commandPattern := regexp.MustCompile(`(?m)^[^#\n]*?/usr/local/bin/placementsync ([^>\n]+)`)
	for file, want := range map[string]string{"placementsync.service": "serve", "placementsync-run.service": "run", "crontab": "run"} {
		match := commandPattern.FindStringSubmatch(read(t, "../../deploy/"+file))
		if match == nil {
			t.Errorf("deploy/%s calls no command", file)
			continue
		}
		cmd, rest, err := newRoot(&globals{}).Find(strings.Fields(match[1]))
		if err != nil || cmd.Name() != want {
			t.Errorf("deploy/%s calls %q, want %s: %v", file, match[1], want, err)
			continue
		}
		if err := cmd.ParseFlags(rest); err != nil {
			t.Errorf("deploy/%s calls %q: %v", file, match[1], err)
		}
	}
}

// TestOperationsAreCurrent checks that docs/operations.md has a section for each exit code, alert
// and gate, that the section of a gate quotes its error message, and that the page names no unknown
// metric.
func TestOperationsAreCurrent(t *testing.T) {
	t.Parallel()
	text := read(t, "../../docs/operations.md")
	headings := func(pattern string) []string {
		var names []string
		for _, m := range regexp.MustCompile(`(?m)^### `+pattern).FindAllStringSubmatch(text, -1) {
			names = append(names, m[1])
		}
		return names
	}
	var codes []string
	for _, row := range regexp.MustCompile(`(?m)^  (\d+) `).FindAllStringSubmatch(exitCodes(), -1) {
		codes = append(codes, row[1])
	}
	compareNames(t, "exit codes", codes, headings(`Exit code (\d+)`))
	compareNames(t, "alerts", []string{notify.Failed, notify.Partial, notify.Gate, notify.Held, notify.Warned, notify.Damaged, notify.Unverified, notify.Behind, notify.Full, notify.Recovered}, headings("Alert `([a-z]+)`"))
	known := metricLabels(t)
	for _, name := range metricsIn(text) {
		if known[name] == nil {
			t.Errorf("docs/operations.md names the unknown metric %s", name)
		}
	}

	for gate, err := range map[string]error{
		"mass delete":  &load.MassDeleteError{Losses: []ledger.Loss{{Table: "orders", Gone: 60, Before: 60}}, Reread: true},
		"verification": &warehouse.VerifyError{Run: "r", Table: "orders", Problem: "p"},
		"nothing read": pipeline.ErrNoData,
	} {
		section, _, _ := strings.Cut(textAfter(text, "### Gate: "+gate+"\n"), "\n### ")
		quoted := regexp.MustCompile("`([^`]*nothing was published[^`]*)`").FindStringSubmatch(section)
		if quoted == nil || !strings.Contains(err.Error(), quoted[1]) {
			t.Errorf("the section of the gate %q quotes %q, which is not in the error %q", gate, quoted, err)
		}
	}
}

func textAfter(text, mark string) string {
	_, rest, _ := strings.Cut(text, mark)
	return rest
}

// compareNames compares the names in the code with the names in docs/operations.md, in any order.
func compareNames(t *testing.T, subject string, codeNames, pageNames []string) {
	t.Helper()
	reportMissing := func(names, others []string, complaint string) {
		isKnown := map[string]bool{}
		for _, name := range others {
			isKnown[name] = true
		}
		for _, name := range names {
			if !isKnown[name] {
				t.Errorf("docs/operations.md, %s: %s %s", subject, complaint, name)
			}
		}
	}
	reportMissing(codeNames, pageNames, "the page lacks")
	reportMissing(pageNames, codeNames, "the code lacks")
}

// metricsIn returns the names of metrics in a text.
func metricsIn(text string) []string {
	return regexp.MustCompile(`placementsync_[a-z_]+`).FindAllString(text, -1)
}

// TestVersionOfShallowClone checks that deploy/version.sh does not report the last commit of a
// shallow clone as a release, and that it fails in a repository that git rejects.
func TestVersionOfShallowClone(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	const script = `set -e
mkdir -p source/deploy && cp "$1" source/deploy/ && cd source
printf '# Changelog\n\n## 1.0.0 - 2026-11-22\n' > CHANGELOG.md
git init -q . && git add . && git -c user.name=n -c user.email=e commit -q -m one
deploy/version.sh
git -c user.name=n -c user.email=e commit -q --allow-empty -m two
git clone -q --depth 1 "file://$PWD" ../shallow
../shallow/deploy/version.sh
echo broken > ../shallow/.git/HEAD
! ../shallow/deploy/version.sh 2> /dev/null`
	file, err := filepath.Abs("../../deploy/version.sh")
	harness.Must(t, err)
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script, "sh", file)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	if err != nil || !regexp.MustCompile(`^1\.0\.0\n1\.0\.0\+g[0-9a-f]{9}\n$`).Match(out) {
		t.Errorf("the versions are %q (%v), want 1.0.0 and 1.0.0+g with a commit", out, err)
	}
}

// TestPackageTranscript checks that deploy/packages/transcript.txt contains the commands of
// deploy/packages/try.sh in their order. "make ship" writes the transcript.
func TestPackageTranscript(t *testing.T) {
	t.Parallel()
	transcript := read(t, "../../deploy/packages/transcript.txt")
	transcriptCommands := regexp.MustCompile(`(?m)^# (.*)$`).FindAllStringSubmatch(transcript, -1)
	scriptCommands := regexp.MustCompile(`(?m)^\t?show '(.*)'`).FindAllStringSubmatch(read(t, "../../deploy/packages/try.sh"), -1)
	if len(transcriptCommands) < 10 || len(transcriptCommands) != len(scriptCommands) {
		t.Errorf("the transcript has %d commands, want %d (at least 10) as in the script: run make ship", len(transcriptCommands), len(scriptCommands))
	}
	position := 0
	for _, command := range transcriptCommands {
		for position < len(scriptCommands) && strings.NewReplacer(`"$URL"`, "http://127.0.0.1:8000", "$URL", "http://127.0.0.1:8000").Replace(scriptCommands[position][1]) != command[1] {
			position++
		}
		if position++; position > len(scriptCommands) {
			t.Fatalf("the transcript has the command %q, which is not in the script at this place: run make ship", command[1])
		}
	}
}
