package damage_test

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/pinned"
	"placementsync/internal/testing/torture"
	"placementsync/internal/testing/trials"
)

// recipe is a section of docs/bi.md with executable code.
type recipe struct {
	heading, language string
	// versions is the beginning of the text in parentheses after the heading.
	versions string
	// printCode is appended to the recipe and prints its result. Empty means that the recipe itself
	// prints the result. The output must equal the result of wantSQL.
	printCode, wantSQL string
}

// listingSeries is SQL that reads the Parquet files of product_listings for all days. SERIES is
// replaced by the folder parquet/.
const listingSeries = "read_parquet('SERIES/product_listings/*/*.parquet', hive_partitioning = true)"

func recipes() []recipe {
	const rowsAndDays = "(SELECT count(*) || ' ' || count(DISTINCT snapshot_date) FROM " + listingSeries + ")"
	return []recipe{
		{"Python: duckdb", "python", "2.0.0, and 1.1.0",
			"total = sum(row[2] for row in prices if row[2] is not None)\nprint(total, len(prices), len(frame))",
			"SELECT concat_ws(' ', sum(unit_amount), count(*), count(*)) FROM product_listing_prices"},
		{"Python: pandas", "python", "3.1.1",
			"print(now['unit_amount'].sum(), len(days), days['snapshot_date'].nunique(), pd.to_datetime(days['snapshot_date'].astype(str)).max().date())",
			"SELECT concat_ws(' ', sum(unit_amount), " + rowsAndDays + ", (SELECT max(snapshot_date) FROM " + listingSeries + ")) FROM product_listing_prices"},
		{"Python: polars", "python", "2.1.0",
			"print(len(now), days['len'].sum(), len(days), segments['n'].sum())",
			"SELECT concat_ws(' ', count(*), " + rowsAndDays + ", count(*)) FROM product_listings"},
		{"Python: pyarrow", "python", "26.0.1",
			"print(now.num_rows, days.num_rows, len(set(days['snapshot_date'].to_pylist())), run.decode(), days.schema.field('snapshot_date').type)",
			"SELECT concat_ws(' ', count(*), " + rowsAndDays + ", (SELECT max(run_id) FROM meta.runs), 'date32[day]') FROM product_listings"},
		{"JavaScript: DuckDB's Node API", "js", "1.5.6-r.1", "",
			"SELECT string_agg(coalesce(currency, 'null') || ' ' || total, chr(10)) FROM (SELECT currency, sum(unit_amount) AS total FROM product_listing_prices GROUP BY ALL ORDER BY ALL)"},
		{"JavaScript: parquet-wasm", "js", "0.8.0, with apache-arrow 21.2.0", "",
			"SELECT (sum(unit_amount) * 1000000)::BIGINT || 'n' FROM product_listing_prices"},
	}
}

// TestTortureRecipesOfBITools runs the code of docs/bi.md and compares its results with the catalog.
func TestTortureRecipesOfBITools(t *testing.T) {
	trials.RequireTorture(t)
	recipesRun := 0
	defer trials.RecordTrial(t, time.Now(), func() torture.Trial {
		return torture.Trial{Name: "recipes of the page on BI tools", Procedure: "each recipe for Python and JavaScript in docs/bi.md is run unchanged", Runs: recipesRun,
			Outcome: "all values equal those of the catalog, with every digit"}
	})
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "bi.md"))
	testharness.Must(t, err)
	h := trials.NewHarness(t, trials.TrialWorld(5), trials.FewStreams()...)
	h.GoodNight()
	h.GoodNight()
	folder := t.TempDir()
	testharness.Must(t, os.Symlink(h.Config.Warehouse.Dir, filepath.Join(folder, "warehouse")))
	for language, install := range map[string]func(t *testing.T) string{
		"python": func(t *testing.T) string { return installPython(t, "recipes") },
		"js":     func(t *testing.T) string { return installNode(t, folder) },
	} {
		t.Run(language, func(t *testing.T) {
			program := install(t)
			for _, r := range recipes() {
				if r.language != language {
					continue
				}
				want := trials.Query(t, h.Catalog(), strings.ReplaceAll(r.wantSQL, "SERIES", h.Path("parquet")))[0][0].String
				if got := r.runCode(t, string(page), folder, program); got != want {
					t.Errorf("%s: the recipe printed %q, want %q as in the catalog", r.heading, got, want)
				}
				recipesRun++
			}
		})
	}
}

// runCode runs the first code block of the section, then r.printCode, and returns the output.
func (r recipe) runCode(t *testing.T, page, folder, program string) string {
	t.Helper()
	section := regexp.MustCompile("(?s)\n### " + regexp.QuoteMeta(r.heading+" ("+r.versions) + ".*?\n```" + r.language + "\n(.*?)```").FindStringSubmatch(page)
	if section == nil {
		t.Fatalf("docs/bi.md has no section %q (%s) with code in %s", r.heading, r.versions, r.language)
	}
	file := filepath.Join(folder, map[string]string{"python": "recipe.py", "js": "recipe.js"}[r.language])
	testharness.Must(t, os.WriteFile(file, []byte(section[1]+r.printCode+"\n"), 0o600))
	cmd := exec.CommandContext(t.Context(), program, file)
	cmd.Dir = folder
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, cmp.Or(stderr.String(), string(out)))
	}
	return strings.TrimSpace(string(out))
}

// installNode installs the JavaScript packages of the recipes into a folder, and returns the path of node.
func installNode(t *testing.T, folder string) string {
	t.Helper()
	for _, name := range []string{"package.json", "package-lock.json"} {
		data, err := os.ReadFile(testdataFile(t, name))
		testharness.Must(t, errors.Join(err, os.WriteFile(filepath.Join(folder, name), data, 0o600)))
	}
	err := pinned.InstallNodePackages(t.Context(), folder)
	if errors.Is(err, pinned.ErrNotInstallable) {
		t.Skipf("the packages cannot be installed: %v", err)
	}
	testharness.Must(t, err)
	return "node"
}
