package load_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/load"
	"placementsync/internal/sqltext"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// TestEveryStatementIsUsed finds the names of all statements of the .sql files in the code.
func TestEveryStatementIsUsed(t *testing.T) {
	read := func(pattern string) string {
		files, err := filepath.Glob(pattern)
		harness.Must(t, err)
		var all strings.Builder
		for _, file := range files {
			text, err := os.ReadFile(file)
			harness.Must(t, err)
			all.Write(text)
		}
		return all.String()
	}
	code, names := read("*.go"), regexp.MustCompile(`(?m)^-- name: (\w+)$`).FindAllStringSubmatch(read("sql/*.sql"), -1)
	for _, m := range names {
		if !strings.Contains(code, `"`+m[1]+`"`) {
			t.Errorf("the statement %s is not used", m[1])
		}
	}
	if len(names) < 100 {
		t.Errorf("found %d statements, want at least 100", len(names))
	}
}

var update = flag.Bool("update", false, "write testdata/merge-campaigns.sql instead of comparing it")

// TestMergeStatementsOfATable compares the statements that DuckDB executes while it merges the table campaigns, which a list
// and details fill, with testdata/merge-campaigns.sql. The file shows them with all names and values. In the night one
// campaign is new, one has changed and one was deleted. After an intended change of the SQL, run
// "go test ./internal/load -run TestMergeStatementsOfATable -update".
func TestMergeStatementsOfATable(t *testing.T) {
	h := newFixture(t, "campaigns", "campaign_details")
	campaign := func(seq int, id, status string) string {
		return jsonRow(seq, seq, "id", `"`+id+`"`, "status", `"`+status+`"`)
	}
	h.planDetails = true
	_, err := h.run(map[string]streamInput{
		"campaigns": {coverage: load.Whole, rows: rows{"campaigns": campaign(1, "a", "new") + "," + campaign(2, "b", "new")}},
		"campaign_details": {coverage: load.ByID, rows: rows{"campaigns": campaign(3, "a", "new") + "," + campaign(4, "b", "new")},
			outcomes: map[load.Outcome][]string{load.Answered: {"a", "b"}}},
	}, load.Limits{})
	harness.Must(t, err)
	var statements []string
	h.beforeMerge = func(_ *load.Stage, d *warehouse.Draft) {
		harness.Must(t, d.Exec(t.Context(), "CALL enable_logging('QueryLog')"))
	}
	h.afterMerge = func(_ *load.Stage, d *warehouse.Draft, _ map[string]load.Coverage, _ []load.Change) {
		read := func(scan func(...any) error) error {
			var statement string
			err := scan(&statement)
			statements = append(statements, statement)
			return err
		}
		harness.Must(t, d.EachRow(t.Context(), []sqltext.SQL{"SELECT message FROM duckdb_logs() WHERE type = 'QueryLog'"}, read))
	}
	changes, err := h.run(map[string]streamInput{
		"campaigns": {coverage: load.Whole, rows: rows{"campaigns": campaign(5, "a", "done") + "," + campaign(6, "c", "new")}},
		"campaign_details": {coverage: load.ByID, rows: rows{"campaigns": campaign(7, "a", "done") + "," + campaign(8, "c", "new")},
			outcomes: map[load.Outcome][]string{load.Answered: {"a", "c"}, load.NotFound: {"b"}}},
	}, load.Limits{Rows: 10})
	harness.Must(t, err)
	if diff := cmp.Diff(load.Change{Table: "campaigns", Before: 2, After: 2, New: 1, Changed: 1, Gone: 1}, changes["campaigns"]); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	aboutTable := regexp.MustCompile(`"(\$extra )?campaigns"`)
	aboutChild := regexp.MustCompile(`TABLE \S*"questionnaires"`)
	breaks := regexp.MustCompile(`, (coalesce\(|'[a-z0-9_]+=')`) // before each column of a long list
	var text strings.Builder
	for _, statement := range statements {
		if aboutTable.MatchString(statement) && !aboutChild.MatchString(statement) {
			text.WriteString(breaks.ReplaceAllString(strings.TrimSpace(statement), ",\n        $1") + ";\n\n")
		}
	}
	path := filepath.Join("testdata", "merge-campaigns.sql")
	if *update {
		harness.Must(t, os.MkdirAll("testdata", 0o755))
		harness.Must(t, os.WriteFile(path, []byte(text.String()), 0o644))
	}
	want, err := os.ReadFile(path)
	harness.Must(t, err)
	if diff := cmp.Diff(string(want), text.String()); diff != "" {
		t.Errorf("the statements have changed (-want +got):\n%s", diff)
	}
}
