package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"
)

// installLake adds the folder of the lake program to PATH.
func installLake(ts *testscript.TestScript, neg bool, args []string) {
	requireUsage(ts, !neg && len(args) == 0, "install-lake")
	dir, err := shared.lake()
	ts.Check(err)
	ts.Setenv("PATH", dir+string(os.PathListSeparator)+ts.Getenv("PATH"))
}

// buildLake builds the lake program into a folder.
func buildLake(dir string) error {
	out, err := exec.Command("go", "build", "-C", "../../lake", "-ldflags=-s -w", "-tags", "duckdb_arrow", "-o", filepath.Join(dir, lakeProgram), "./cmd/lake").CombinedOutput()
	if err != nil {
		return fmt.Errorf("build %s: %w\n%s", lakeProgram, err, out)
	}
	return nil
}
