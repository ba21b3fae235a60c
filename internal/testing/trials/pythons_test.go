package trials_test

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

	"placementsync/internal/testing/pinned"
)

// readerFile is the path of what other readers run, or of their pinned environment.
func readerFile(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", "readers", name))
	must(t, err)
	return path
}

// python installs an environment, and returns its Python. It skips the test where the
// machine cannot.
func python(t *testing.T, environment string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), environment)
	err := pinned.InstallPython(t.Context(), folder, readerFile(t, environment+"_requirements.txt"))
	if errors.Is(err, pinned.ErrLacking) {
		t.Skipf("not tried: %v", err)
	}
	must(t, err)
	return filepath.Join(folder, "bin", "python")
}

// TestDuckDBsOfPython reads with the oldest and the newest DuckDB that docs/bi.md
// promises: which names answer in a catalog that is attached, and which night a process
// sees after a publish.
func TestDuckDBsOfPython(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	type names struct{ Tables, Views, Macros string }
	all := names{"all", "all", "all"}
	for environment, c := range map[string]struct {
		attached names
		beside   int // which night a connection sees that is opened beside an older one
	}{
		"duckdb_oldest": {names{"all", "none", "none"}, 0},
		"duckdb_newest": {names{"all", "all", "none"}, 1},
	} {
		t.Run(environment, func(t *testing.T) {
			program := python(t, environment)
			h := newHouse(t, trialWorld(5), few()...)
			nights := []string{h.publication().run}
			var got map[string]names
			out, err := exec.CommandContext(t.Context(), program, readerFile(t, "names.py"), h.path("catalog.duckdb")).Output()
			must(t, errors.Join(err, json.Unmarshal(out, &got)))
			if diff := cmp.Diff(map[string]names{"opened": all, "attached": c.attached, "attached and used": all}, got); diff != "" {
				t.Errorf("what answers (-want +got):\n%s", diff)
			}
			seen := watchNights(t, exec.CommandContext(t.Context(), program, readerFile(t, "nights.py"), h.path("catalog.duckdb")), nights[0],
				func() { nights = append(nights, h.publication().run) })
			want := map[string]string{"kept open": nights[0], "opened beside it": nights[c.beside], "opened beside it by its real path": nights[1],
				"attached again": nights[1], "opened after it was closed": nights[1]}
			if diff := cmp.Diff(want, seen); diff != "" {
				t.Errorf("nights that are seen (-want +got):\n%s", diff)
			}
		})
	}
}

// watchNights starts a reader, publishes when it has seen the first night, and returns
// what it sees then.
func watchNights(t *testing.T, cmd *exec.Cmd, first string, publish func()) (seen map[string]string) {
	t.Helper()
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	cmd.Stderr = os.Stderr
	must(t, cmd.Start())
	said := bufio.NewReader(out)
	if line, err := said.ReadString('\n'); err != nil || strings.TrimSpace(line) != first {
		t.Fatalf("the reader began with %q (%v), want %s", line, err, first)
	}
	publish()
	_, err = fmt.Fprintln(in)
	must(t, err)
	rest, err := io.ReadAll(said)
	must(t, errors.Join(err, cmd.Wait(), json.Unmarshal(rest, &seen)))
	return seen
}
