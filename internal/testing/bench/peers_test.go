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

// scripts are what the peers run, their pinned environments, and the statements that
// count what they have loaded.
//
//go:embed peers/*.py peers/*.sh peers/*.sql peers/*.txt
var scripts embed.FS

// Sizes of the comparison with peers, and its two sections.
const (
	peersSmall, peersLarge = "peers-small", "peers-large"

	small = "at a tenth of the listings"
	large = "at all listings"
	// smallShare is what part of the listings the small comparison has.
	smallShare = 10
)

func againstDLT(size, what string) string {
	return fmt.Sprintf("dlt against this program, %s time, %s", what, size)
}

func againstScript(name, size, what string) string {
	return fmt.Sprintf("this program against %s, %s time, %s", name, what, size)
}

// peer is a way to have the same records in DuckDB.
type peer struct {
	name string
	// file begins the names of its files in peers/: _requirements.txt, _count.sql.
	file string
	// command is what runs below peers/, with the service's address and a folder as
	// arguments.
	command []string
	// environment is what its command has beside that of this process.
	environment []string
	// needs are programs that must be on the machine.
	needs []string
	// small leaves it out at full size unless all are asked for.
	small bool
}

// The peers by their names on the page.
const (
	ours      = "this program"
	dlt       = "dlt"
	pyAirbyte = "PyAirbyte"
	script    = "curl and DuckDB"
	// fastScript lets DuckDB write rows in any order, which its guide to performance
	// advises and its default does not do.
	fastScript = "curl and DuckDB at its fastest"
)

func peers() []peer {
	return []peer{
		{name: dlt, file: "dlt", command: []string{"python", "dlt_listings.py"}},
		{name: pyAirbyte, file: "airbyte", command: []string{"python", "airbyte_listings.py"}, small: true},
		{name: script, file: "listings", command: []string{"bash", "listings.sh"}, needs: scriptNeeds()},
		{name: fastScript, file: "listings", command: []string{"bash", "listings.sh"}, needs: scriptNeeds(), environment: []string{"ANY_ORDER=1"}},
	}
}

func scriptNeeds() []string { return []string{"bash", "curl", "grep", "cut", "cat"} }

// beside is what one of them took at one size.
type beside struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// Listings are how many the service had.
	Listings int `json:"listings"`
	// Wall and CPU are seconds, Peak is bytes: one of each run.
	Wall []float64 `json:"wall_seconds"`
	CPU  []float64 `json:"cpu_seconds"`
	Peak []float64 `json:"peak_bytes"`
	counts
}

// counts are what lies in DuckDB afterwards.
type counts struct {
	Tables int64 `json:"tables"`
	Rows   int64 `json:"rows"`
	items
}

// items are the records and what their lists hold, in whatever tables: they must be
// those of the service.
type items struct{ Listings, Prices, Tags, Links, Includes int64 }

func (b *beside) add(u usage) {
	b.Wall, b.CPU, b.Peak = append(b.Wall, u.Wall), append(b.CPU, u.CPU), append(b.Peak, u.RSS)
}

func (b beside) row() string {
	median := func(unit string, runs []float64) string { return shown(figure{Runs: runs}.median(), unit) }
	name := b.Name
	if b.Version != "" {
		name += " (" + b.Version + ")"
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %d | %d | %d |", name, median("s", b.Wall), median("s", b.CPU),
		median("MiB", each(b.Peak, func(v float64) float64 { return v / mebibyte })), b.Tables, b.Rows, len(b.Wall))
}

// measurePeers runs each peer on the same service as this program, one after the other,
// and that as often as asked.
func measurePeers(size string) func(t *testing.T, s settings) findings {
	return func(t *testing.T, s settings) findings {
		t.Helper()
		all := comparePeers(t, s, equip(t, s), size)
		return findings{Figures: peerFigures(size, all), Numbers: scriptFigures(fastScript, size, all), Peers: all}
	}
}

// peerFigures are the ratios that have a goal.
func peerFigures(size string, all []beside) []figure {
	we, they := besideOf(ours, all), besideOf(dlt, all)
	return append([]figure{
		{What: againstDLT(size, "wall"), Unit: "x", Runs: pairs(they.Wall, we.Wall)},
		{What: againstDLT(size, "CPU"), Unit: "x", Runs: pairs(they.CPU, we.CPU)},
	}, scriptFigures(script, size, all)...)
}

// scriptFigures are the ratios against the script, in one of its two ways.
func scriptFigures(name, size string, all []beside) []figure {
	we, they := besideOf(ours, all), besideOf(name, all)
	return []figure{
		{What: againstScript(name, size, "wall"), Unit: "x", Runs: pairs(we.Wall, they.Wall)},
		{What: againstScript(name, size, "CPU"), Unit: "x", Runs: pairs(we.CPU, they.CPU)},
	}
}

// besideOf is the one of a name; without runs where it was not measured.
func besideOf(name string, all []beside) (found beside) {
	for _, b := range all {
		if b.Name == name {
			found = b
		}
	}
	return found
}

// comparePeers measures at one size.
func comparePeers(t *testing.T, s settings, environment, size string) []beside {
	t.Helper()
	truth := truthOf(t, s.listings)
	service := serve(t, world{Listings: s.listings, Catalog: true})
	defer service.stop(t)
	warm(t, service, "", (s.listings+99)/100)
	all := []beside{{Name: ours, Listings: s.listings}}
	for _, p := range peers() {
		if size == small || !p.small || s.allPeers {
			all = append(all, beside{Name: p.name, Version: p.version(t), Listings: s.listings})
		}
	}
	for run := range s.runs {
		for i := range all {
			b := &all[i]
			var u usage
			if u, b.counts = runPeer(t, s, environment, b.Name, service); b.items != truth {
				t.Fatalf("%s loaded %+v of %+v", b.Name, b.items, truth)
			}
			b.add(u)
			t.Logf("run %d: %s took %.1f s, %.1f CPU s, %.0f MiB", run+1, b.Name, u.Wall, u.CPU, u.RSS/mebibyte)
		}
	}
	return all
}

// runPeer measures a run into an empty folder, and counts afterwards what is there.
func runPeer(t *testing.T, s settings, environment, name string, service *service) (usage, counts) {
	t.Helper()
	dir, remove := scratch(t)
	defer remove()
	if name == ours {
		night := job{binary: s.binary, dir: dir, service: service, rest: catalogOnly}
		u := measureTree(t, exec.CommandContext(t.Context(), s.binary, "run", "--config", night.write(t)))
		return u, count(t, filepath.Join(night.warehouse(), "latest", "catalog.duckdb"), "placementsync")
	}
	for _, p := range peers() {
		if p.name == name {
			u := measureTree(t, p.start(t, environment, service.url, dir))
			return u, count(t, filepath.Join(dir, "peer.duckdb"), p.file)
		}
	}
	t.Fatalf("there is no peer %q", name)
	return usage{}, counts{}
}

// start is the command of a peer, with the programs of its environment before those of
// the machine.
func (p peer) start(t *testing.T, environment, url, dir string) *exec.Cmd {
	t.Helper()
	programs := filepath.Join(environment, p.file, "bin")
	name := filepath.Join(programs, p.command[0])
	if _, err := os.Stat(name); err != nil {
		name = p.command[0]
	}
	cmd := exec.CommandContext(t.Context(), name, filepath.Join(environment, "peers", p.command[1]), url, dir)
	cmd.Env = append(append(os.Environ(), p.environment...), "TOKEN=pc_demo", "HOME="+dir, "PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"))
	return cmd
}

// count asks a DuckDB file what was loaded, with the statement of whoever loaded it.
func count(t *testing.T, path, file string) (c counts) {
	t.Helper()
	statement, err := scripts.ReadFile("peers/" + file + "_count.sql")
	must(t, err)
	db, err := sql.Open("duckdb", path+"?access_mode=read_only")
	must(t, err)
	defer db.Close()
	must(t, db.QueryRowContext(t.Context(), string(statement)).Scan(&c.Tables, &c.Rows, &c.Listings, &c.Prices, &c.Tags, &c.Links, &c.Includes))
	return c
}

// truthOf counts what the service holds, in a dump of its records.
func truthOf(t *testing.T, listings int) (truth items) {
	t.Helper()
	ndjson, remove := prepare(t, world{Listings: listings, Catalog: true})
	defer remove()
	db, err := sql.Open("duckdb", "")
	must(t, err)
	defer db.Close()
	must(t, db.QueryRowContext(t.Context(), fmt.Sprintf(`SELECT count(*), sum(len(prices)), sum(len(tags)), sum(len(example_links)), sum(len(includes))
		FROM read_json('%s/*.ndjson', format = 'newline_delimited', columns = %s)`, ndjson, listingColumns)).
		Scan(&truth.Listings, &truth.Prices, &truth.Tags, &truth.Links, &truth.Includes))
	return truth
}

// version is that of the first package that the requirements of a peer pin and that is
// named after it.
func (p peer) version(t *testing.T) string {
	t.Helper()
	data, err := scripts.ReadFile("peers/" + p.file + "_requirements.txt")
	must(t, err)
	for line := range strings.Lines(string(data)) {
		name, version, pinned := strings.Cut(strings.TrimSpace(line), "==")
		if pinned && (name == p.file || name == "duckdb-cli") {
			return version
		}
	}
	return ""
}

// equip makes the environments of all peers, unless another section has, and skips this
// one where the machine lacks what they need.
func equip(t *testing.T, s settings) (dir string) {
	t.Helper()
	dir = filepath.Join(s.shared, "environments")
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	begun := time.Now()
	must(t, os.CopyFS(dir, scripts))
	for _, p := range peers() {
		err := p.install(t.Context(), dir)
		if errors.Is(err, pinned.ErrLacking) {
			must(t, os.RemoveAll(dir))
			t.Skipf("not measured: %v", err)
		}
		must(t, err)
	}
	t.Logf("the environments of the peers took %.0f s", time.Since(begun).Seconds())
	return dir
}

// install makes the environment of a peer below a folder.
func (p peer) install(ctx context.Context, dir string) error {
	for _, program := range p.needs {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("%w: %s needs %s, which is not on the PATH", pinned.ErrLacking, p.name, program)
		}
	}
	at := filepath.Join(dir, p.file)
	if _, err := os.Stat(at); err == nil {
		return nil // another peer has the same
	}
	if err := pinned.InstallPython(ctx, at, filepath.Join(dir, "peers", p.file+"_requirements.txt")); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}
