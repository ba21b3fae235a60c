package pipeline_test

import (
	"testing"
	"time"

	"placementsync/internal/audit"
	testharness "placementsync/internal/testing/harness"
)

// TestCurrenciesInLowerCaseChangeOnce publishes a version whose prices have currencies in lower case, as earlier releases
// stored them. The next night must store them in upper case, and no check may hold it.
func TestCurrenciesInLowerCaseChangeOnce(t *testing.T) {
	world := smallWorld()
	world.Listings = 90
	h := newHarness(t, world, "outlet_listings", "product_listings", "products")
	h.cfg.Chosen = []string{"product_listings"} // the checks of prices query the other two tables too, which are empty
	old := h.requireComplete(h.night()).Run
	h.requireLines("SELECT count(*) >= 60 FROM product_listing_prices WHERE currency = 'USD'", "true")
	prices := h.singleLine("SELECT count(*) FROM product_listing_prices WHERE currency = 'USD'")
	// The version of an earlier release has the same tables, with the currencies in lower case.
	w := h.warehouse()
	m, err := w.Versions.ReadManifest(h.latest())
	testharness.Must(t, err)
	h.at = h.at.Add(time.Hour)
	old.ID, old.StartedAt, old.EndedAt, old.SnapshotAt = h.at.Format("20060102T150405Z"), h.at, h.at, h.at
	d, err := w.Begin(t.Context(), old.ID, h.at)
	testharness.Must(t, err)
	// The earlier release hashed the values in lower case, so its hashes differ.
	testharness.Must(t, d.Exec(t.Context(), "UPDATE main.product_listing_prices SET currency = lower(currency), row_hash = hash(row_hash)"))
	for _, table := range m.Tables {
		isCopied, err := d.CopyUnchanged(table.Name)
		if err != nil || !isCopied {
			t.Fatalf("the file of %s was not copied: %v", table.Name, err)
		}
	}
	testharness.Must(t, d.WriteLedgerCopy(old))
	_, err = d.Publish(t.Context(), m.Tables)
	testharness.Must(t, err)
	testharness.Must(t, w.RunLog.Record(old))
	h.requireLines("SELECT count(*) FROM product_listing_prices WHERE currency = 'usd'", prices)
	h.cfg.Checks, err = audit.Load("", nil, nil)
	testharness.Must(t, err)
	h.cfg.CheckTimeout = time.Minute
	h.requireComplete(h.unchangedNight())
	h.requireLines("SELECT outcome FROM meta.checks WHERE check_name = 'currency_changed' ORDER BY run_id DESC LIMIT 1", "passed")
	h.requireLines("SELECT count(*) FROM product_listing_prices WHERE currency = 'USD'", prices)
	h.requireLines("SELECT count(*) FROM history.product_listing_prices WHERE currency = 'usd'", prices)
	h.cfg.Checks = audit.Set{}
	res := h.requireComplete(h.unchangedNight())
	if res.Run.Changed != 0 {
		t.Errorf("the night after that changed %d rows, want 0", res.Run.Changed)
	}
}
