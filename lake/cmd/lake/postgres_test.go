package main

import (
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// postgresVar is the environment variable with the address of a Postgres database, for example
// postgres://lake@127.0.0.1/lake. Its password is in PGPASSWORD. The test adds the tables of
// an Iceberg catalog to the database and removes its own rows.
const postgresVar = "PLACEMENTSYNC_TEST_POSTGRES"

// TestPostgresCatalog publishes, verifies and expires nights with a catalog in Postgres. Two
// publishers also run at the same time.
func TestPostgresCatalog(t *testing.T) {
	address := os.Getenv(postgresVar)
	if address == "" {
		t.Skipf("%s is not set, for example to postgres://lake@127.0.0.1/lake", postgresVar)
	}
	h := newFixture(t, 1)
	name := fmt.Sprintf("trial_%d", time.Now().UnixNano())
	t.Cleanup(func() { h.deleteCatalogRows(address, name) })
	section := "catalog: '" + address + "', name: " + name + ", warehouse: ./lake, keep_nights: "
	h.configureLake(section + "9")
	if got := h.run("check"); got.code != 0 {
		t.Fatalf("check: got %+v, want exit code 0", got)
	}
	first := h.publish()[0].Run
	h.requireEqualTables(first)
	second := h.night()
	overlapped := false
	h.step = func(step, _ string) error {
		if step == "before commit catalog" && !overlapped {
			overlapped, h.step = true, nil
			h.publish()
		}
		return nil
	}
	h.mustFail(1, "another publisher changed", "publish")
	h.step = nil
	h.requireEqualTables(first)
	if run := h.shownRun(); run != second || !overlapped {
		t.Errorf("the lake shows %s, want %s; the publishes overlapped: %t", run, second, overlapped)
	}
	if p := h.publish(); !p[0].AlreadyPublished {
		t.Errorf("the next publish returned %+v, want already published", p)
	}
	h.configureLake(section + "1")
	if got := h.run("expire"); got.code != 0 || !strings.Contains(got.stdout, "removed 1 night") {
		t.Errorf("expire: got %+v, want one removed night", got)
	}
	h.requireEqualTables(h.shownRun())
}

// deleteCatalogRows removes the rows of a catalog from the database.
func (h *fixture) deleteCatalogRows(address, name string) {
	db, err := sql.Open("pgx", address)
	h.must(err)
	defer db.Close()
	for _, table := range []string{"iceberg_tables", "iceberg_namespace_properties"} {
		_, err := db.Exec("DELETE FROM "+table+" WHERE catalog_name = $1", name)
		h.must(err)
	}
}
