package torture_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"placementsync/internal/testing/harness"
	"placementsync/internal/testing/torture"
)

// fuzzTimeVar is the environment variable with the time for each target. "make fuzz" sets it.
const fuzzTimeVar = "PLACEMENTSYNC_FUZZTIME"

// target is a fuzz target and the folder of its package, relative to the root.
type target struct{ name, folder string }

// TestFuzzTargets runs every fuzz target of the repository in a child process, each for the configured time.
func TestFuzzTargets(t *testing.T) {
	duration := os.Getenv(fuzzTimeVar)
	if duration == "" {
		t.Skip("run make fuzz")
	}
	targets := findTargets(t)
	if len(targets) < 10 {
		t.Errorf("found the targets %v, want at least 10", targets)
	}
	for _, fuzz := range targets {
		t.Run(fuzz.name, func(t *testing.T) {
			startedAt := time.Now()
			out, err := fuzz.run(t, duration)
			inputs, ok := countInputs(out)
			if err != nil || !ok {
				t.Errorf("%s in %s: %v\n%s", fuzz.name, fuzz.folder, err, out)
			}
			harness.Must(t, torture.Open(os.Getenv).EndTrial(startedAt, t.Failed(), torture.Trial{
				Name: "fuzz " + fuzz.name, Procedure: "generated inputs for " + fuzz.folder + ", " + duration, Runs: inputs,
				Outcome: "no failure"}))
		})
	}
}

func (fuzz target) run(t *testing.T, duration string) (out []byte, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "test", "-tags", "duckdb_arrow", "-run", "^$", "-fuzz", "^"+fuzz.name+"$",
		"-fuzztime", duration, "-timeout", "0", "./"+fuzz.folder)
	cmd.Dir = filepath.Join("..", "..", "..")
	return cmd.CombinedOutput()
}

// countInputs returns the number of tested inputs: the last number after "execs:" in the output.
func countInputs(out []byte) (n int, ok bool) {
	matches := regexp.MustCompile(`execs: (\d+)`).FindAllSubmatch(out, -1)
	if len(matches) == 0 {
		return 0, false
	}
	n, err := strconv.Atoi(string(matches[len(matches)-1][1]))
	return n, err == nil
}

// findTargets finds the fuzz targets in the sources.
func findTargets(t *testing.T) (all []target) {
	t.Helper()
	root, fuzzFunc := filepath.Join("..", "..", ".."), regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)
	for _, top := range []string{"cmd", "internal"} {
		harness.Must(t, filepath.WalkDir(filepath.Join(root, top), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			folder, relErr := filepath.Rel(root, filepath.Dir(path))
			for _, match := range fuzzFunc.FindAllSubmatch(text, -1) {
				all = append(all, target{string(match[1]), filepath.ToSlash(folder)})
			}
			return errors.Join(err, relErr)
		}))
	}
	return all
}
