package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"placementsync/internal/dialect"
)

// newViewsFixture returns a fixture with only a configuration. The command "views" needs no more.
func newViewsFixture(t *testing.T) *fixture {
	h := &fixture{T: t, dir: t.TempDir()}
	h.write("config.yaml", "warehouse: {dir: ./warehouse}\nlake: {catalog: sqlite, warehouse: ./lake, namespace: acme}\n")
	return h
}

// printViews returns the output of the command "views". The output must contain no placeholder.
func (h *fixture) printViews(args ...string) string {
	h.Helper()
	got := h.run(append([]string{"views"}, args...)...)
	if got.code != 0 || got.stderr != "" || strings.Contains(got.stdout, "${") {
		h.Fatalf("views %v: got %+v, want SQL without placeholders", args, got)
	}
	return got.stdout
}

// TestViewsAreStatements checks the statements for each engine, with the names of the lake.
func TestViewsAreStatements(t *testing.T) {
	h := newViewsFixture(t)
	for engine, want := range map[string][]string{
		"spark": {"CREATE SCHEMA IF NOT EXISTS `My-Lake`.acme_mart;\n", "CREATE OR REPLACE VIEW `My-Lake`.acme_mart.payables (\n", "FROM `My-Lake`.acme_current."},
		"trino": {`CREATE SCHEMA IF NOT EXISTS "My-Lake".acme_mart;` + "\n", `CREATE OR REPLACE VIEW "My-Lake".acme_mart.payables` + "\n",
			`COMMENT ON COLUMN "My-Lake".acme_mart.payables.`, `FROM "My-Lake".acme_current.`},
	} {
		text := h.printViews("--dialect", engine, "--catalog", "My-Lake")
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: the SQL does not contain %q:\n%s", engine, w, text)
			}
		}
		views, err := filepath.Glob("../../../queries/engines/mart/*.sql")
		h.must(err)
		if n := strings.Count(text, "CREATE OR REPLACE VIEW"); n != len(views) || n == 0 {
			t.Errorf("%s: the output creates %d views, want %d", engine, n, len(views))
		}
		if !strings.HasSuffix(text, ";\n") {
			t.Errorf("%s: the last statement has no semicolon: %q", engine, text[max(0, len(text)-80):])
		}
		if text := h.printViews("--dialect", engine); !strings.Contains(text, "CREATE SCHEMA IF NOT EXISTS acme_mart;\n") {
			t.Errorf("%s: without a catalog the schema is not acme_mart:\n%s", engine, text)
		}
	}
	if h.printViews() != h.printViews("--dialect", dialect.Spark) {
		t.Error("the default is not the SQL of Spark")
	}
	if _, err := os.Stat(h.path("lake")); err == nil {
		t.Error("the command created a lake")
	}
}

func TestViewsRefusesInvalidFlags(t *testing.T) {
	h := newViewsFixture(t)
	h.mustFail(2, `no SQL for the engine "sprak": use one of spark, trino`, "views", "--dialect", "sprak")
	h.mustFail(2, `views takes no arguments and got "trino"`, "views", "trino")
	if got := h.run("views", "--dialect", "snowflake"); got.stdout != "" {
		t.Errorf("the command printed %s, want no output", got.stdout)
	}
}

// TestPublishViewsWithoutViewSupport runs publish --views with a catalog that cannot store views.
// It must publish the night and print how to get the views.
func TestPublishViewsWithoutViewSupport(t *testing.T) {
	h := newFixture(t, 1)
	got := h.run("publish", "--views")
	if got.code != 3 || !strings.Contains(got.stdout, "tables in one commit") {
		t.Fatalf("publish --views: got %+v, want exit code 3 after the commit", got)
	}
	for _, want := range []string{"the night is in the lake, but its views are not", "only a REST catalog can", "placementsync-lake views\" prints them"} {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("%q is not in %s", want, got.stderr)
		}
	}
	h.requireEqualTables(h.shownRun())
}
