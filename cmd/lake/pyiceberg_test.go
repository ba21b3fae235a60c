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

// TestPyIcebergReadsEveryNight compares all columns of all tables of three nights with
// the published Parquet files, by another implementation of Iceberg.
func TestPyIcebergReadsEveryNight(t *testing.T) {
	python := findPyIceberg(t)
	h := newHouse(t, 3)
	published := h.publish("--all")
	h.comparedByPyIceberg(python, 3*len(published), map[string]string{"uri": "sqlite:///" + h.path("lake/catalog.db"), "warehouse": "file://" + h.path("lake")})
}

// findPyIceberg returns the Python that "make lake-test" installed. Without it the test is
// skipped.
func findPyIceberg(t *testing.T) string {
	t.Helper()
	python := filepath.Join(os.Getenv("PLACEMENTSYNC_ENGINES"), "venv", "bin", "python")
	if err := exec.CommandContext(t.Context(), python, "-c", "import pyiceberg.catalog.sql, sqlalchemy, pyarrow").Run(); err != nil {
		t.Skipf("make lake-test runs this; %s has no PyIceberg: %v", python, err)
	}
	return python
}

// comparedByPyIceberg requires that PyIceberg reads every table of every kept night as its
// Parquet files have it, and at least so many, from a catalog of these properties.
func (h *house) comparedByPyIceberg(python string, least int, properties map[string]string) {
	h.Helper()
	text, err := json.Marshal(properties)
	h.must(err)
	out, err := exec.CommandContext(h.Context(), python, "testdata/compare.py", h.path("warehouse/versions"), string(text)).CombinedOutput()
	compared, _ := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil || compared < least {
		h.Errorf("compared %d tables, want %d: %v\n%s", compared, least, err, out)
	}
}
