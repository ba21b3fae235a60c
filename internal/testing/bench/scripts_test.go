package bench_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"placementsync/internal/sim"
	"placementsync/internal/testing/pinned"
)

// TestPeerScriptsParse checks the syntax of each script with its interpreter.
func TestPeerScriptsParse(t *testing.T) {
	for _, p := range peers() {
		t.Run(p.name, func(t *testing.T) {
			args := []string{"python3", "-c", "import ast, sys; ast.parse(open(sys.argv[1]).read())"}
			if p.command[0] == "bash" {
				args = []string{"bash", "-n"}
			}
			if _, err := exec.LookPath(args[0]); err != nil {
				t.Skipf("%s is not installed", args[0])
			}
			args = append(args, filepath.Join("peers", p.command[1]))
			if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// TestPeersArePinned checks that every line of the requirements has an exact version, so
// that measurements are repeatable.
func TestPeersArePinned(t *testing.T) {
	for _, p := range peers() {
		if p.version(t) == "" {
			t.Errorf("the requirements of %s do not pin its version", p.name)
		}
		data, err := peerFiles.ReadFile("peers/" + p.filePrefix + "_requirements.txt")
		must(t, err)
		for line := range strings.Lines(string(data)) {
			if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") && strings.Count(line, "==") != 1 {
				t.Errorf("the requirements of %s contain %q, which has no exact version", p.name, line)
			}
		}
	}
}

// TestListingsSQLLoadsAllRecords runs listings.sql on two pages, and counts the loaded rows.
func TestListingsSQLLoadsAllRecords(t *testing.T) {
	service := sim.New(world{Listings: 200, CatalogOnly: true}.options())
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "pages"), 0o755))
	pages, err := pagesOf(t.Context(), service, 2)
	must(t, err)
	for i, body := range pages {
		must(t, os.WriteFile(filepath.Join(dir, "pages", fmt.Sprintf("%d.json", i+1)), body, 0o644))
	}
	statements, err := peerFiles.ReadFile("peers/listings.sql")
	must(t, err)
	t.Chdir(dir)
	db, err := sql.Open("duckdb", "peer.duckdb")
	must(t, err)
	_, err = db.ExecContext(t.Context(), string(statements))
	must(t, err)
	must(t, db.Close())
	if bytesIn(t, filepath.Join(dir, "product_listings.parquet")) == 0 {
		t.Error("the Parquet file is empty")
	}

	var want recordCounts
	for _, record := range service.Records("/products/listings") {
		var lists struct {
			Prices, Tags, Includes []json.RawMessage
			Links                  []json.RawMessage `json:"example_links"`
		}
		must(t, json.Unmarshal(record, &lists))
		want.Listings++
		want.Prices, want.Tags = want.Prices+int64(len(lists.Prices)), want.Tags+int64(len(lists.Tags))
		want.Links, want.Includes = want.Links+int64(len(lists.Links)), want.Includes+int64(len(lists.Includes))
	}
	if got := count(t, filepath.Join(dir, "peer.duckdb"), "listings"); got.recordCounts != want || got.Rows != 200 {
		t.Errorf("listings.sql loaded %d rows with %+v, want 200 rows with %+v", got.Rows, got.recordCounts, want)
	}
	if truth := truthOf(t, 200); truth != want {
		t.Errorf("truthOf returned %+v, want %+v", truth, want)
	}
}

// TestPeersNameMissingPrograms installs the peers with an empty PATH. The error must name the
// peer and report a missing program.
func TestPeersNameMissingPrograms(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, p := range peers() {
		err := p.install(t.Context(), t.TempDir())
		if !errors.Is(err, pinned.ErrNotInstallable) || !strings.Contains(err.Error(), p.name) || !strings.Contains(err.Error(), "is not on the PATH") {
			t.Errorf("%s: got the error %v, want the error ErrNotInstallable with the name of the peer and \"is not on the PATH\"", p.name, err)
		}
	}
}
