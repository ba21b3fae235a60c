package bench_test

import (
	"database/sql"
	"embed"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"

	"placementsync/internal/testing/harness"
	"placementsync/internal/testing/pinned"
)

// peerFiles contains the scripts of the peers, the pinned versions of their packages, and the
// statements that count the loaded rows.
//
//go:embed peers/*.py peers/*.sh peers/*.sql peers/*.txt
var peerFiles embed.FS

// peer is another program that loads the same records into DuckDB.
type peer struct {
	name string
	// filePrefix is the beginning of the names of the peer's files in peers/. The rest of a name is
	// _requirements.txt, _count.sql or another ending.
	filePrefix string
	// command is an interpreter and a script in peers/. The arguments of the script are the address of
	// the service and a folder.
	command []string
	// variables are added to the environment variables of the command.
	variables []string
}

// peers returns the other programs. With ANY_ORDER=1, the peer "at its fastest" lets DuckDB write the rows in
// any order, as DuckDB's performance guide recommends. By default DuckDB keeps their order.
func peers() []peer {
	return []peer{
		{name: "dlt", filePrefix: "dlt", command: []string{"python", "dlt_listings.py"}},
		{name: "curl and DuckDB", filePrefix: "listings", command: []string{"bash", "listings.sh"}},
		{name: "curl and DuckDB at its fastest", filePrefix: "listings", command: []string{"bash", "listings.sh"}, variables: []string{"ANY_ORDER=1"}},
	}
}

// recordCounts are the numbers of loaded listings and of the items in their lists.
type recordCounts struct{ Listings, Prices, Tags, Links, Includes int64 }

// measurePeers runs the programs and each peer in turn, with the same service. All of them must load the
// same numbers of records and of items of their lists.
func measurePeers(t *testing.T, s settings) *report {
	t.Helper()
	environments := installPeers(t)
	service := serveListings(t, s, world{Listings: s.listings, Remembered: true})
	defer service.stop(t)
	var want recordCounts
	requireSame := func(name, path, filePrefix string) {
		got := countLoaded(t, path, filePrefix)
		if want.Listings == 0 {
			want = got
		}
		if got != want || got.Listings != int64(s.listings) {
			t.Fatalf("%s loaded %+v, want %+v and %d listings", name, got, want, s.listings)
		}
	}
	r := &report{programs: s.programs}
	for run := range s.runs {
		for _, p := range s.programsOf(run) {
			dir, remove := scratch(t)
			j := job{program: s.programs[p].path, dir: dir, service: service, streams: listingsConfig}
			u, _ := measure(t, j.command(t))
			r.addUsage(p, "first night", u)
			requireSame(s.programs[p].name, filepath.Join(j.warehouse(), "latest", "catalog.duckdb"), "placementsync")
			remove()
		}
		for _, other := range peers() {
			dir, remove := scratch(t)
			u, _ := measure(t, other.startCommand(t, environments, service.url, dir))
			r.add(peerColumn, other.name+", wall time", "s", u.wall)
			r.add(peerColumn, other.name+", CPU time", "s", u.cpu)
			requireSame(other.name, filepath.Join(dir, "peer.duckdb"), other.filePrefix)
			remove()
		}
	}
	for _, quantity := range []string{"wall time", "CPU time"} {
		r.addRatio("dlt against the program, "+quantity, "dlt, "+quantity, "first night, "+quantity)
		r.addRatio("the program against curl and DuckDB, "+quantity, "first night, "+quantity, "curl and DuckDB, "+quantity)
		r.addRatio("the program against curl and DuckDB at its fastest, "+quantity, "first night, "+quantity, "curl and DuckDB at its fastest, "+quantity)
	}
	return r
}

// startCommand returns the command that starts a peer. In its PATH, the programs of the peer's
// environment come before the programs of the machine.
func (p peer) startCommand(t *testing.T, environments, url, dir string) *exec.Cmd {
	t.Helper()
	binDir := filepath.Join(environments, p.filePrefix, "bin")
	name := filepath.Join(binDir, p.command[0])
	if _, err := os.Stat(name); err != nil {
		name = p.command[0]
	}
	cmd := exec.CommandContext(t.Context(), name, filepath.Join(environments, "peers", p.command[1]), url, dir)
	cmd.Env = append(append(os.Environ(), p.variables...), "TOKEN=pc_demo", "HOME="+dir, "PATH="+binDir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return cmd
}

// countLoaded counts the loaded records in a DuckDB file. filePrefix is the beginning of the name of the
// SQL file with the statement.
func countLoaded(t *testing.T, path, filePrefix string) (c recordCounts) {
	t.Helper()
	statement, err := peerFiles.ReadFile("peers/" + filePrefix + "_count.sql")
	harness.Must(t, err)
	db, err := sql.Open("duckdb", path+"?access_mode=read_only")
	harness.Must(t, err)
	defer db.Close()
	harness.Must(t, db.QueryRowContext(t.Context(), string(statement)).Scan(&c.Listings, &c.Prices, &c.Tags, &c.Links, &c.Includes))
	return c
}

// installPeers installs the pinned packages of the peers, and returns the folder of their environments.
// If a required program is missing, it skips the section.
func installPeers(t *testing.T) (dir string) {
	t.Helper()
	for _, name := range []string{"bash", "curl", "grep", "cut", "cat"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("not measured: %s is not on the PATH", name)
		}
	}
	dir, _ = scratch(t)
	harness.Must(t, os.CopyFS(dir, peerFiles))
	for _, prefix := range []string{"dlt", "listings"} {
		err := pinned.InstallPythonPackages(t.Context(), filepath.Join(dir, prefix), filepath.Join(dir, "peers", prefix+"_requirements.txt"))
		if errors.Is(err, pinned.ErrNotInstallable) {
			t.Skipf("not measured: %v", err)
		}
		harness.Must(t, err)
	}
	return dir
}
