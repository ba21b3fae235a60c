package main

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"placementsync/internal/testing/harness"
)

// killPlan says when a child process kills itself: at the nth call of a step of its publish. Dir is the
// folder of the fixture.
type killPlan struct {
	Dir, Step string
	Nth       int
}

// killEnv is the environment variable with the killPlan of a child process as JSON.
const killEnv = "PLACEMENTSYNC_LAKE_KILL"

// TestKilledProcess runs in the child process that fixture.kill starts.
func TestKilledProcess(t *testing.T) {
	var plan killPlan
	planJSON := os.Getenv(killEnv)
	if planJSON == "" {
		t.Skip("runs only in child processes of a test")
	}
	h := &fixture{T: t}
	h.must(json.Unmarshal([]byte(planJSON), &plan))
	h.dir = plan.Dir
	h.step = func(name, _ string) error {
		if name == plan.Step {
			if plan.Nth--; plan.Nth == 0 {
				h.must(syscall.Kill(os.Getpid(), syscall.SIGKILL))
				select {}
			}
		}
		return nil
	}
	h.publish()
}

// kill runs publish in a child process that kills itself at the nth call of a step.
func (h *fixture) kill(step string, nth int) {
	h.Helper()
	planJSON, err := json.Marshal(killPlan{h.dir, step, nth})
	h.must(err)
	self, err := os.Executable()
	h.must(err)
	cmd := exec.CommandContext(h.Context(), self, "-test.run=^TestKilledProcess$")
	cmd.Env = append(os.Environ(), killEnv+"="+string(planJSON))
	out, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.ExitCode() != -1 {
		h.Fatalf("the process was not killed at call %d of the step %q: %v\n%s", nth, step, err, out)
	}
}

// countSteps runs a publish without faults, restores the lake, and returns the number of calls of each
// step. isAfterCommit selects the steps whose first call is after the commit.
func (h *fixture) countSteps() (counts map[string]int, isAfterCommit map[string]bool) {
	h.Helper()
	counts, isAfterCommit = map[string]int{}, map[string]bool{}
	h.step = func(name, _ string) error {
		counts[name]++
		if counts["after commit catalog"] > 0 && counts[name] == 1 {
			isAfterCommit[name] = true
		}
		return nil
	}
	defer func() { h.step = nil }()
	h.must(os.CopyFS(h.path("copy"), os.DirFS(h.path("lake"))))
	h.publish()
	h.must(os.RemoveAll(h.path("lake")))
	h.must(os.Rename(h.path("copy"), h.path("lake")))
	return counts, isAfterCommit
}

// TestTrialKilledPublishIsAllOrNothing kills one publish per step, at the middle call of the step.
// All tables must then show the same readable night: the new night if the commit was complete, and
// otherwise the earlier night. Readers of the folder must see the same, unless the kill was between the first
// rename of a metadata file and the commit. After the next publish all readers must see the new night.
func TestTrialKilledPublishIsAllOrNothing(t *testing.T) {
	harness.Long(t)
	h := newFixture(t, 1)
	h.keepNights(1) // so that the publish also removes files
	first := h.publish()[0].Run
	second := h.night()
	steps, isAfterCommit := h.countSteps()
	for _, step := range slices.Sorted(maps.Keys(steps)) {
		nth := (steps[step] + 1) / 2
		h.must(os.CopyFS(h.path("before"), os.DirFS(h.path("lake"))))
		h.kill(step, nth)
		committed := isAfterCommit[step]
		want := first
		if committed {
			want = second
		}
		if run := h.shownRun(); run != want {
			t.Errorf("killed at call %d of the step %q: the lake shows %s, want %s", nth, step, run, want)
		}
		isDuringCommit := strings.HasSuffix(step, " rename metadata") || step == "before fsync folder" || step == "after fsync folder"
		if wrong := h.wrongTablesOfFolderReaders(); len(wrong) > 0 && !isDuringCommit {
			t.Errorf("killed at call %d of the step %q: readers of the folder see another state of %v", nth, step, wrong)
		}
		if p := h.publish(); p[0].AlreadyPublished != committed {
			t.Errorf("killed at call %d of the step %q: the next publish returned %+v, want already published: %v", nth, step, p, committed)
		}
		if run := h.shownRun(); run != second {
			t.Errorf("killed at call %d of the step %q, then published: the lake shows %s, want %s", nth, step, run, second)
		}
		if wrong := h.wrongTablesOfFolderReaders(); len(wrong) > 0 {
			t.Errorf("killed at call %d of the step %q, then published: readers of the folder see another state of %v", nth, step, wrong)
		}
		h.must(os.RemoveAll(h.path("lake")))
		h.must(os.Rename(h.path("before"), h.path("lake")))
	}
	for _, kind := range []string{"data", "manifest", "manifest list", "metadata", "catalog"} {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(steps)), func(s string) bool { return strings.HasSuffix(s, " "+kind) }) {
			t.Errorf("the publish has no step of the kind %s: %v", kind, steps)
		}
	}
}

// TestFailedPublishIsAllOrNothing makes one step of each publish fail. If the commit was not applied,
// the new files must be removed. If the commit was applied, the lake must show the new night.
func TestFailedPublishIsAllOrNothing(t *testing.T) {
	h := newFixture(t, 1)
	first := h.publish()[0].Run
	second := h.night()
	files := h.filesOfLake()
	for _, step := range []string{"before complete data", "after complete manifest", "before complete metadata", "before commit catalog"} {
		h.failAt(step)
		h.mustFail(1, syscall.EIO.Error(), "publish")
		h.failAt("")
		if run := h.shownRun(); run != first {
			t.Errorf("failed at %s: the lake shows %s, want %s", step, run, first)
		}
		if got := h.filesOfLake(); !slices.Equal(got, files) {
			t.Errorf("failed at %s: the lake has %d files, want %d as before the publish", step, len(got), len(files))
		}
	}
	h.failAt("after commit catalog")
	h.mustFail(1, "the night is in the lake completely or not at all", "publish")
	h.failAt("")
	if run := h.shownRun(); run != second {
		t.Errorf("failed after the commit: the lake shows %s, want %s", run, second)
	}
}

// TestAFailedNightKeepsTheNightsBefore publishes two nights, and fails the second. Its files are removed. The files of the first
// night must stay.
func TestAFailedNightKeepsTheNightsBefore(t *testing.T) {
	h := newFixture(t, 2)
	commits := 0
	h.step = func(name, _ string) error {
		if name == "before commit catalog" {
			commits++
		}
		if commits == 2 {
			return syscall.EIO
		}
		return nil
	}
	h.mustFail(1, syscall.EIO.Error(), "publish", "--all")
	h.step = nil
	h.requireEqualTables(h.shownRun())
}

// TestSimultaneousPublishFails starts a second publish before the commit of the first. The first publish must fail and
// remove its files, and must not show a metadata file to readers of the folder.
func TestSimultaneousPublishFails(t *testing.T) {
	for name, hasEarlierNight := range map[string]bool{"the first night": false, "a later night": true} {
		t.Run(name, func(t *testing.T) {
			h := newFixture(t, 1)
			if hasEarlierNight {
				h.publish()
				h.night()
			}
			var files []string
			h.step = func(step, _ string) error {
				if step == "before commit catalog" && files == nil {
					h.step = nil // of the other publisher
					h.publish()
					files = h.filesOfLake()
				}
				if files != nil && strings.Contains(step, "rename metadata") {
					t.Errorf("step %q after another publisher has committed", step)
				}
				return nil
			}
			h.mustFail(1, "another publisher changed", "publish")
			if hasEarlierNight {
				h.requireCleanFolders()
			}
			h.requireEqualTables(h.shownRun())
			if got := h.filesOfLake(); len(got) >= len(files) {
				t.Errorf("the files of the failed publish were not removed: the lake has %d files, want fewer than the %d during the publish", len(got), len(files))
			}
			if p := h.publish(); !p[0].AlreadyPublished {
				t.Errorf("the next publish returned %+v, want already published", p)
			}
		})
	}
}
