package main

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// TestPyIcebergReadsEveryNight compares all columns of all tables of three nights with
// the published Parquet files, by another implementation of Iceberg.
func TestPyIcebergReadsEveryNight(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err == nil {
		err = exec.CommandContext(t.Context(), python, "-c", "import pyiceberg.catalog.sql, sqlalchemy, pyarrow").Run()
	}
	if err != nil {
		t.Skip("python3 with pyiceberg[sql-sqlite,pyarrow] is not here: pip install it to run this")
	}
	h := newHouse(t, 3)
	published := h.publish("--all")
	out, err := exec.CommandContext(t.Context(), python, "testdata/compare.py", h.path("lake"), h.path("warehouse/versions")).CombinedOutput()
	compared, _ := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil || compared < 3*len(published) {
		t.Errorf("compared %d tables: %v\n%s", compared, err, out)
	}
}
