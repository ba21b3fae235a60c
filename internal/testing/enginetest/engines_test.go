package enginetest_test

import (
	"testing"

	"placementsync/internal/dialect"
	"placementsync/internal/testing/harness"
)

// TestSparkComputesViews computes views in Spark from the rows of the tests in queries/testdata. The time
// zone of the session has daylight saving time, which must not affect results.
func TestSparkComputesViews(t *testing.T) {
	e, dir := equip(t, "java"), t.TempDir()
	j := job{Scratch: dir, Timezone: "America/New_York", Cases: fixtureCases(t, findEngine(t, "spark"), "", dir)}
	// For the few rows of a test, compiling takes longer than interpreting.
	j.Spark = map[string]string{"spark.sql.codegen.wholeStage": "false"}
	e.run(t, "spark_sql.py", j)
}

// TestTrinoComputesViews computes views in Trino from the rows of the tests in queries/testdata.
func TestTrinoComputesViews(t *testing.T) {
	e, dir := equip(t, "mvn"), t.TempDir()
	e.installJars(t)
	e.run(t, "trino_sql.py", job{Scratch: dir, Timezone: "America/New_York", Cases: fixtureCases(t, findEngine(t, "trino"), "memory", dir)})
}

// TestEnginesComputeAYear computes all views from the data of a year of nights.
func TestEnginesComputeAYear(t *testing.T) {
	e, dir := equip(t, "java", "mvn"), t.TempDir()
	e.installJars(t)
	cases := func(engineName, engineCatalog string) []sqlCase {
		return []sqlCase{benchCase(t, findEngine(t, engineName), engineCatalog, dir)}
	}
	t.Run("spark", func(t *testing.T) { e.run(t, "spark_sql.py", job{Scratch: dir, Cases: cases("spark", "")}) })
	t.Run("trino", func(t *testing.T) { e.run(t, "trino_sql.py", job{Scratch: dir, Cases: cases("trino", "memory")}) })
}

func findEngine(t *testing.T, name string) dialect.Engine {
	t.Helper()
	engine, err := dialect.Find(name)
	harness.Must(t, err)
	return engine
}
