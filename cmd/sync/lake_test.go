package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"placementsync/internal/ledger"
	"placementsync/internal/s3sim"
)

// lakeInstaller makes the command that puts the program of the lake into PATH. It is
// built when the first script asks for it.
func lakeInstaller(t *testing.T) func(*testscript.TestScript, bool, []string) {
	dir := t.TempDir()
	build := sync.OnceValue(func() error { return buildLake(dir) })
	return func(ts *testscript.TestScript, neg bool, args []string) {
		demand(ts, !neg && len(args) == 0, "install-lake")
		ts.Check(build())
		ts.Setenv("PATH", dir+string(os.PathListSeparator)+ts.Getenv("PATH"))
	}
}

// buildLake builds the program of the lake into a folder.
func buildLake(dir string) error {
	out, err := exec.Command("go", "build", "-tags", "duckdb_arrow", "-o", filepath.Join(dir, lakeProgram), "../lake").CombinedOutput()
	if err != nil {
		return fmt.Errorf("build %s: %w\n%s", lakeProgram, err, out)
	}
	return nil
}

// TestTortureLakeOnAServer publishes nights into a bucket of a server of its own process,
// which checks signatures and checksums as that of a provider does, and reads them back.
func TestTortureLakeOnAServer(t *testing.T) {
	requireTrials(t)
	address, gate, _ := startVersity(t)
	bin := t.TempDir()
	fatal(t, buildLake(bin))
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	d := newDepot(t)
	d.moveTo(t, address)
	text, err := os.ReadFile(d.g.Config)
	fatal(t, err)
	fatal(t, os.WriteFile(d.g.Config, []byte(strings.Replace(string(text), "backup: s3://store/night",
		"lake: {catalog: 'sqlite:catalog.db', warehouse: s3://store/lake}", 1)), 0o600))
	fatal(t, checkLake(t.Context(), d))

	fatal(t, d.night(t))
	d.verifyLake(t)
	slow := 5
	gate.set(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && slow > 0 {
			slow--
			s3sim.Refuse(w, http.StatusServiceUnavailable, "SlowDown")
			return true
		}
		return false
	})
	fatal(t, d.night(t))
	d.verifyLake(t)

	gate.set(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut {
			return false
		}
		s3sim.Refuse(w, http.StatusForbidden, "AccessDenied")
		return true
	})
	err = d.night(t)
	if code(t, err) != ledger.Partial.ExitCode() || !strings.Contains(err.Error(), "AccessDenied") {
		t.Errorf("the night ended with %d: %v", code(t, err), err)
	}
	gate.set(nil)
	fatal(t, d.night(t))
	d.verifyLake(t)
	if strings.Contains(d.out.String(), s3sim.SecretKey) {
		t.Error("the output contains a key")
	}
}

// checkLake is the part of check that is about the lake.
func checkLake(ctx context.Context, d *depot) error {
	cfg, err := d.g.loadConfig()
	if err != nil {
		return err
	}
	return d.g.checkLake(ctx, cfg)
}

// verifyLake compares every table of the newest night with its version.
func (d *depot) verifyLake(t *testing.T) {
	t.Helper()
	if out, err := d.g.runLake(t.Context(), "verify"); err != nil {
		t.Errorf("verify the lake: %v: %s", err, out)
	}
}
