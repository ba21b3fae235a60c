package damage_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/pinned"
	"placementsync/internal/testing/trials"
)

// testdataFile returns the absolute path of a file in testdata/readers.
func testdataFile(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", "readers", name))
	testharness.Must(t, err)
	return path
}

// installPython installs a Python environment from a requirements file in testdata/readers, and
// returns the path of its Python. It skips the test if the environment cannot be installed.
func installPython(t *testing.T, environment string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), environment)
	err := pinned.InstallPythonPackages(t.Context(), folder, testdataFile(t, environment+"_requirements.txt"))
	if errors.Is(err, pinned.ErrNotInstallable) {
		t.Skipf("the Python environment cannot be installed: %v", err)
	}
	testharness.Must(t, err)
	return filepath.Join(folder, "bin", "python")
}

// TestTrialPythonDuckDBVersions reads a warehouse with the oldest and the newest DuckDB of
// docs/bi.md. It checks which tables, views and macros can be queried in an opened and in an attached
// catalog, and which night each connection of a process sees after the next night is published.
func TestTrialPythonDuckDBVersions(t *testing.T) {
	testharness.Long(t)
	t.Parallel()
	// queryable describes which names can be queried: "all", "none", or a list of those that cannot.
	type queryable struct{ Tables, Views, Macros string }
	all := queryable{"all", "all", "all"}
	for environment, c := range map[string]struct {
		attached              queryable
		secondConnectionNight int // index of the night that a second connection sees while the first is open
	}{
		"duckdb_oldest": {queryable{"all", "none", "none"}, 0},
		"duckdb_newest": {queryable{"all", "all", "none"}, 1},
	} {
		t.Run(environment, func(t *testing.T) {
			python := installPython(t, environment)
			h := trials.NewHarness(t, trials.TrialWorld(5), trials.FewStreams()...)
			nights := []string{publishNight(h).run}
			var got map[string]queryable
			out, err := exec.CommandContext(t.Context(), python, testdataFile(t, "names.py"), h.Path("catalog.duckdb")).Output()
			testharness.Must(t, errors.Join(err, json.Unmarshal(out, &got)))
			if diff := cmp.Diff(map[string]queryable{"opened": all, "attached": c.attached, "attached and used": all}, got); diff != "" {
				t.Errorf("queryable names (-want +got):\n%s", diff)
			}
			seen := watchNights(t, exec.CommandContext(t.Context(), python, testdataFile(t, "nights.py"), h.Path("catalog.duckdb")), nights[0],
				func() { nights = append(nights, publishNight(h).run) })
			want := map[string]string{"first": nights[0], "second": nights[c.secondConnectionNight], "second by the real path": nights[1],
				"attached again": nights[1], "opened after the first was closed": nights[1]}
			if diff := cmp.Diff(want, seen); diff != "" {
				t.Errorf("visible nights (-want +got):\n%s", diff)
			}
		})
	}
}

// watchNights starts a reader, waits until the reader has seen the first night, and calls publish.
// It returns the night that each connection of the reader sees after that.
func watchNights(t *testing.T, cmd *exec.Cmd, first string, publish func()) (seen map[string]string) {
	t.Helper()
	in, err := cmd.StdinPipe()
	testharness.Must(t, err)
	out, err := cmd.StdoutPipe()
	testharness.Must(t, err)
	cmd.Stderr = os.Stderr
	testharness.Must(t, cmd.Start())
	output := bufio.NewReader(out)
	if line, err := output.ReadString('\n'); err != nil || strings.TrimSpace(line) != first {
		t.Fatalf("the reader saw %q first (%v), want %s", line, err, first)
	}
	publish()
	_, err = fmt.Fprintln(in)
	testharness.Must(t, err)
	rest, err := io.ReadAll(output)
	testharness.Must(t, errors.Join(err, cmd.Wait(), json.Unmarshal(rest, &seen)))
	return seen
}
