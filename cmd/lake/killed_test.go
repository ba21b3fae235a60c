package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"placementsync/internal/testing/torture"
)

// strike is a publish that is killed at one of its steps.
type strike struct {
	Dir, Step string
	Nth       int
}

// struckEnv makes this test binary the process that is killed.
const struckEnv = "PLACEMENTSYNC_LAKE_STRIKE"

// TestStruckProcess is the main function of the killed process.
func TestStruckProcess(t *testing.T) {
	var s strike
	text := os.Getenv(struckEnv)
	if text == "" {
		t.Skip("runs in the processes that a trial starts")
	}
	h := &fixture{T: t, dir: s.Dir}
	h.must(json.Unmarshal([]byte(text), &s))
	h.dir = s.Dir
	h.step = func(name string) error {
		if name == s.Step {
			if s.Nth--; s.Nth == 0 {
				h.must(syscall.Kill(os.Getpid(), syscall.SIGKILL))
				select {}
			}
		}
		return nil
	}
	h.publish()
}

// kill runs publish in a process that is killed at a step.
func (h *fixture) kill(step string, nth int) {
	h.Helper()
	text, err := json.Marshal(strike{h.dir, step, nth})
	h.must(err)
	self, err := os.Executable()
	h.must(err)
	cmd := exec.CommandContext(h.Context(), self, "-test.run=^TestStruckProcess$")
	cmd.Env = append(os.Environ(), struckEnv+"="+string(text))
	out, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.ExitCode() != -1 {
		h.Fatalf("the process was not killed at %s (%d): %v\n%s", step, nth, err, out)
	}
}

// steps counts the steps of an undisturbed publish into another lake.
func (h *fixture) steps() map[string]int {
	h.Helper()
	var mu sync.Mutex
	found := map[string]int{}
	h.step = func(name string) error {
		mu.Lock()
		defer mu.Unlock()
		found[name]++
		return nil
	}
	defer func() { h.step = nil }()
	h.must(os.CopyFS(h.path("copy"), os.DirFS(h.path("lake"))))
	h.publish()
	h.must(os.RemoveAll(h.path("lake")))
	h.must(os.Rename(h.path("copy"), h.path("lake")))
	return found
}

// TestTrialAKilledPublisherLeavesAllOrNothing kills a publish in each kind of step. Afterwards all
// tables show one readable night, and the next publish completes the new one.
func TestTrialAKilledPublisherLeavesAllOrNothing(t *testing.T) {
	torture.RequireTrials(t, os.Getenv)
	h := newFixture(t, 1)
	first := h.publish()[0].Run
	second := h.night()
	steps := h.steps()
	for _, step := range slices.Sorted(keys(steps)) {
		nth := (steps[step] + 1) / 2
		h.must(os.CopyFS(h.path("before"), os.DirFS(h.path("lake"))))
		h.kill(step, nth)
		want := first
		if step == "after commit catalog" {
			want = second
		}
		if run := h.whole(); run != want {
			t.Errorf("killed at %s (%d): the lake shows %s, want %s", step, nth, run, want)
		}
		if p := h.publish(); p[0].Already != (want == second) {
			t.Errorf("killed at %s (%d): then published %+v", step, nth, p)
		}
		if run := h.whole(); run != second {
			t.Errorf("killed at %s (%d), then published: the lake shows %s", step, nth, run)
		}
		h.must(os.RemoveAll(h.path("lake")))
		h.must(os.Rename(h.path("before"), h.path("lake")))
	}
	for _, kind := range []string{"data", "manifest", "manifest list", "metadata", "catalog"} {
		if !slices.ContainsFunc(slices.Collect(keys(steps)), func(s string) bool { return strings.HasSuffix(s, " "+kind) }) {
			t.Errorf("the publish has no step of the kind %s: %v", kind, steps)
		}
	}
}

func keys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// TestAFailedStepLeavesAllOrNothing makes steps of the disk fail. The written files are
// removed unless the night is visible.
func TestAFailedStepLeavesAllOrNothing(t *testing.T) {
	h := newFixture(t, 1)
	first := h.publish()[0].Run
	second := h.night()
	files := h.filesOfLake()
	for _, step := range []string{"before complete data", "after complete manifest", "before complete metadata", "before commit catalog"} {
		h.step = func(name string) error {
			if name == step {
				return syscall.EIO
			}
			return nil
		}
		h.fail(1, syscall.EIO.Error(), "publish")
		h.step = nil
		if run := h.whole(); run != first {
			t.Errorf("failed at %s: the lake shows %s", step, run)
		}
		if now := h.filesOfLake(); !slices.Equal(now, files) {
			t.Errorf("failed at %s: the lake has %d files, before %d", step, len(now), len(files))
		}
	}
	h.step = func(name string) error {
		if name == "after commit catalog" {
			return syscall.EIO
		}
		return nil
	}
	h.fail(1, "as a whole or not at all", "publish")
	h.step = nil
	if run := h.whole(); run != second {
		t.Errorf("failed after the commit: the lake shows %s", run)
	}
}

// TestTwoPublishersOneWins lets a second publisher commit before the first one does. The first
// one gets an error, and its files are removed.
func TestTwoPublishersOneWins(t *testing.T) {
	for name, published := range map[string]int{"the first night": 0, "a later night": 1} {
		t.Run(name, func(t *testing.T) {
			h := newFixture(t, 1)
			if published > 0 {
				h.publish()
				h.night()
			}
			var files []string
			h.step = func(step string) error {
				if step == "before commit catalog" && files == nil {
					h.step = nil
					h.publish()
					files = h.filesOfLake()
				}
				return nil
			}
			h.fail(1, "another publisher changed", "publish")
			h.same(h.whole())
			if now := h.filesOfLake(); len(now) >= len(files) {
				t.Errorf("the lake has %d files, before %d", len(now), len(files))
			}
			if p := h.publish(); !p[0].Already {
				t.Errorf("then published %+v", p)
			}
		})
	}
}
