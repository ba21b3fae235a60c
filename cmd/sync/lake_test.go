package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// lakeInstaller makes the command that puts the program of the lake into PATH. It is
// built when the first script asks for it.
func lakeInstaller(t *testing.T) func(*testscript.TestScript, bool, []string) {
	dir := t.TempDir()
	build := sync.OnceValue(func() error {
		out, err := exec.Command("go", "build", "-tags", "duckdb_arrow", "-o", filepath.Join(dir, lakeProgram), "../lake").CombinedOutput()
		if err != nil {
			return fmt.Errorf("build %s: %w\n%s", lakeProgram, err, out)
		}
		return nil
	})
	return func(ts *testscript.TestScript, neg bool, args []string) {
		demand(ts, !neg && len(args) == 0, "install-lake")
		ts.Check(build())
		ts.Setenv("PATH", dir+string(os.PathListSeparator)+ts.Getenv("PATH"))
	}
}
