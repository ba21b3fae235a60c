package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestPyIcebergReadsEveryNight reads three nights with another implementation of Iceberg and
// compares all columns of all tables with the published Parquet files.
func TestPyIcebergReadsEveryNight(t *testing.T) {
	python := findPyIceberg(t)
	h := newFixture(t, 3)
	const minTablesPerNight = 3
	published := h.publish("--all")
	h.compareWithPyIceberg(python, minTablesPerNight*len(published), map[string]string{"uri": "sqlite:///" + h.path("lake/catalog.db"), "warehouse": "file://" + h.path("lake")})
}

// findPyIceberg returns the path of the Python that "make lake-test" installed. It skips the test if
// PyIceberg is not installed.
func findPyIceberg(t *testing.T) string {
	t.Helper()
	python := filepath.Join(os.Getenv("PLACEMENTSYNC_ENGINES"), "venv", "bin", "python")
	if err := exec.CommandContext(t.Context(), python, "-c", "import pyiceberg.catalog.sql, sqlalchemy, pyarrow").Run(); err != nil {
		t.Skipf("make lake-test runs this; %s has no PyIceberg: %v", python, err)
	}
	return python
}

// compareWithPyIceberg checks that every table of every kept night has the same rows in PyIceberg as in
// the Parquet file of the warehouse. It must compare at least minTables tables, summed over all nights.
func (h *fixture) compareWithPyIceberg(python string, minTables int, properties map[string]string) {
	h.Helper()
	text, err := json.Marshal(properties)
	h.must(err)
	out, err := exec.CommandContext(h.Context(), python, "testdata/compare.py", h.path("warehouse/versions"), string(text)).CombinedOutput()
	compared, _ := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil || compared < minTables {
		h.Errorf("compared %d tables, want at least %d: %v\n%s", compared, minTables, err, out)
	}
}
