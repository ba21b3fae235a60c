package bench_test

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"placementsync/internal/testing/pinned"
)

// peerFiles contains the scripts of the peers, the pinned versions of their packages, and the
// statements that count the loaded rows.
//
//go:embed peers/*.py peers/*.sh peers/*.sql peers/*.txt
var peerFiles embed.FS

const (
	// peersSmall and peersLarge are the names of two sections.
	peersSmall, peersLarge = "peers-small", "peers-large"

	// small and large are parts of the names of figures.
	small = "at a tenth of the listings"
	large = "at all listings"
	// smallDivisor divides the number of listings for the small comparison.
	smallDivisor = 10
)

func dltFigureName(size, clock string) string {
	return fmt.Sprintf("dlt against this program, %s time, %s", clock, size)
}

func curlFigureName(name, size, clock string) string {
	return fmt.Sprintf("this program against %s, %s time, %s", name, clock, size)
}

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
	// needs are the required programs.
	needs []string
	// isSlow means that the peer is in the large comparison only if settings.allPeers is set.
	isSlow bool
}

// Names of the peers on the page.
const (
	thisProgram = "this program"
	dlt         = "dlt"
	pyAirbyte   = "PyAirbyte"
	curl        = "curl and DuckDB"
	// fastCurl allows DuckDB to write rows in any order, as the performance guide of DuckDB
	// recommends. By default DuckDB keeps the order.
	fastCurl = "curl and DuckDB at its fastest"
)

func peers() []peer {
	return []peer{
		{name: dlt, filePrefix: "dlt", command: []string{"python", "dlt_listings.py"}},
		{name: pyAirbyte, filePrefix: "airbyte", command: []string{"python", "airbyte_listings.py"}, isSlow: true},
		{name: curl, filePrefix: "listings", command: []string{"bash", "listings.sh"}, needs: curlNeeds()},
		{name: fastCurl, filePrefix: "listings", command: []string{"bash", "listings.sh"}, needs: curlNeeds(), variables: []string{"ANY_ORDER=1"}},
	}
}

func curlNeeds() []string { return []string{"bash", "curl", "grep", "cut", "cat"} }

// peerResult is the result of one program at one size.
type peerResult struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// Listings is the number of listings of the service.
	Listings int `json:"listings"`
	// Wall and CPU are in seconds and Peak in bytes, with one element per run.
	Wall []float64 `json:"wall_seconds"`
	CPU  []float64 `json:"cpu_seconds"`
	Peak []float64 `json:"peak_bytes"`
	counts
}

// counts are the numbers of tables, rows and records in DuckDB after the load.
type counts struct {
	Tables int64 `json:"tables"`
	Rows   int64 `json:"rows"`
	recordCounts
}

// recordCounts are the numbers of records and of items in their lists. They must equal the numbers
// of the service.
type recordCounts struct{ Listings, Prices, Tags, Links, Includes int64 }

func (r *peerResult) add(u usage) {
	r.Wall, r.CPU, r.Peak = append(r.Wall, u.Wall), append(r.CPU, u.CPU), append(r.Peak, u.RSS)
}

func (r peerResult) row() string {
	median := func(unit string, runs []float64) string { return formatFigure(figure{Runs: runs}.median(), unit) }
	name := r.Name
	if r.Version != "" {
		name += " (" + r.Version + ")"
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %d | %d | %d |", name, median("s", r.Wall), median("s", r.CPU),
		median("MiB", valuesOf(r.Peak, func(v float64) float64 { return v / mebibyte })), r.Tables, r.Rows, len(r.Wall))
}

// measurePeers returns a function that runs this program and each peer in turn, with the same
// service.
func measurePeers(size string) func(t *testing.T, s settings) findings {
	return func(t *testing.T, s settings) findings {
		t.Helper()
		all := comparePeers(t, s, equip(t, s), size)
		return findings{Figures: peerFigures(size, all), OtherFigures: curlFigures(fastCurl, size, all), Peers: all}
	}
}

// peerFigures returns the ratios that are main figures.
func peerFigures(size string, all []peerResult) []figure {
	own, peer := resultOf(thisProgram, all), resultOf(dlt, all)
	return append([]figure{
		{Name: dltFigureName(size, "wall"), Unit: "x", Runs: pairedRatios(peer.Wall, own.Wall)},
		{Name: dltFigureName(size, "CPU"), Unit: "x", Runs: pairedRatios(peer.CPU, own.CPU)},
	}, curlFigures(curl, size, all)...)
}

// curlFigures returns the ratios of this program to one of the two variants of curl and DuckDB.
func curlFigures(name, size string, all []peerResult) []figure {
	own, peer := resultOf(thisProgram, all), resultOf(name, all)
	return []figure{
		{Name: curlFigureName(name, size, "wall"), Unit: "x", Runs: pairedRatios(own.Wall, peer.Wall)},
		{Name: curlFigureName(name, size, "CPU"), Unit: "x", Runs: pairedRatios(own.CPU, peer.CPU)},
	}
}

// resultOf returns the result of a program, or a result without runs if it was not measured.
func resultOf(name string, all []peerResult) (peer peerResult) {
	for _, r := range all {
		if r.Name == name {
			peer = r
		}
	}
	return peer
}

// comparePeers measures this program and the peers at one size. environments is the folder of the
// installed peers.
func comparePeers(t *testing.T, s settings, environments, size string) []peerResult {
	t.Helper()
	truth := truthOf(t, s.listings)
	service := serve(t, world{Listings: s.listings, CatalogOnly: true})
	defer service.stop(t)
	requestAllPages(t, service, s.listings)
	all := []peerResult{{Name: thisProgram, Listings: s.listings}}
	for _, p := range peers() {
		if size == small || !p.isSlow || s.allPeers {
			all = append(all, peerResult{Name: p.name, Version: p.version(t), Listings: s.listings})
		}
	}
	for run := range s.runs {
		for i := range all {
			r := &all[i]
			var u usage
			if u, r.counts = runPeer(t, s, environments, r.Name, service); r.recordCounts != truth {
				t.Fatalf("%s loaded %+v, want %+v", r.Name, r.recordCounts, truth)
			}
			r.add(u)
			t.Logf("run %d: %s took %.1f s, %.1f CPU s, %.0f MiB", run+1, r.Name, u.Wall, u.CPU, u.RSS/mebibyte)
		}
	}
	return all
}

// runPeer measures one run of a program that loads into an empty folder, and counts the loaded rows.
func runPeer(t *testing.T, s settings, environments, name string, service *service) (usage, counts) {
	t.Helper()
	dir, remove := scratch(t)
	defer remove()
	if name == thisProgram {
		j := job{binary: s.binary, dir: dir, service: service, extraConfig: listingsConfig}
		u := measureTree(t, exec.CommandContext(t.Context(), s.binary, "run", "--config", j.writeConfig(t)))
		return u, count(t, filepath.Join(j.warehouse(), "latest", "catalog.duckdb"), "placementsync")
	}
	for _, p := range peers() {
		if p.name == name {
			u := measureTree(t, p.startCommand(t, environments, service.url, dir))
			return u, count(t, filepath.Join(dir, "peer.duckdb"), p.filePrefix)
		}
	}
	t.Fatalf("there is no peer %q", name)
	return usage{}, counts{}
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

// count counts the loaded rows in a DuckDB file. filePrefix is the beginning of the name of the SQL
// file with the statement.
func count(t *testing.T, path, filePrefix string) (c counts) {
	t.Helper()
	statement, err := peerFiles.ReadFile("peers/" + filePrefix + "_count.sql")
	must(t, err)
	db, err := sql.Open("duckdb", path+"?access_mode=read_only")
	must(t, err)
	defer db.Close()
	must(t, db.QueryRowContext(t.Context(), string(statement)).Scan(&c.Tables, &c.Rows, &c.Listings, &c.Prices, &c.Tags, &c.Links, &c.Includes))
	return c
}

// truthOf counts the records of the service. The service writes them as files, which DuckDB reads.
func truthOf(t *testing.T, listings int) (truth recordCounts) {
	t.Helper()
	ndjson, remove := writeListings(t, world{Listings: listings, CatalogOnly: true})
	defer remove()
	db, err := sql.Open("duckdb", "")
	must(t, err)
	defer db.Close()
	must(t, db.QueryRowContext(t.Context(), fmt.Sprintf(`SELECT count(*), sum(len(prices)), sum(len(tags)), sum(len(example_links)), sum(len(includes))
		FROM read_json('%s/*.ndjson', format = 'newline_delimited', columns = %s)`, ndjson, listingColumns)).
		Scan(&truth.Listings, &truth.Prices, &truth.Tags, &truth.Links, &truth.Includes))
	return truth
}

// version returns the pinned version of the peer's package. The package has the name
// filePrefix, but the package of curl and DuckDB is duckdb-cli.
func (p peer) version(t *testing.T) string {
	t.Helper()
	data, err := peerFiles.ReadFile("peers/" + p.filePrefix + "_requirements.txt")
	must(t, err)
	for line := range strings.Lines(string(data)) {
		name, version, isPinned := strings.Cut(strings.TrimSpace(line), "==")
		if isPinned && (name == p.filePrefix || name == "duckdb-cli") {
			return version
		}
	}
	return ""
}

// equip returns a folder with the environments of all peers. It installs them if no other section has
// done so. If a required program is missing, it skips the section.
func equip(t *testing.T, s settings) (dir string) {
	t.Helper()
	dir = filepath.Join(s.shared, "environments")
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	startedAt := time.Now()
	must(t, os.CopyFS(dir, peerFiles))
	for _, p := range peers() {
		err := p.install(t.Context(), dir)
		if errors.Is(err, pinned.ErrNotInstallable) {
			must(t, os.RemoveAll(dir))
			t.Skipf("not measured: %v", err)
		}
		must(t, err)
	}
	t.Logf("installed the environments of the peers in %.0f s", time.Since(startedAt).Seconds())
	return dir
}

// install installs the environment of a peer below a folder.
func (p peer) install(ctx context.Context, dir string) error {
	for _, program := range p.needs {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("%w: %s needs %s, which is not on the PATH", pinned.ErrNotInstallable, p.name, program)
		}
	}
	environment := filepath.Join(dir, p.filePrefix)
	if _, err := os.Stat(environment); err == nil {
		return nil // another peer has installed the same environment
	}
	if err := pinned.InstallPythonPackages(ctx, environment, filepath.Join(dir, "peers", p.filePrefix+"_requirements.txt")); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}
