package pipeline_test

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"placementsync/internal/audit"
	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	testharness "placementsync/internal/testing/harness"
)

// TestPricesInMinorUnits runs a night that reads prices in cents as units, and nights that know the unit: a check holds
// the first one, because the factor of all prices is the same.
func TestPricesInMinorUnits(t *testing.T) {
	h := newHarness(t, smallWorld(), "product_listings")
	all, err := audit.Load("", nil, nil)
	testharness.Must(t, err)
	h.cfg.Checks, err = all.Choose([]string{"prices_scaled"})
	testharness.Must(t, err)
	h.cfg.CheckTimeout = time.Minute
	price := regexp.MustCompile(`("unit_amount":"?)([0-9.]+)`)
	h.service.SetFaults(sim.Fault{Kind: sim.FaultRewrite, Rewrite: func(body []byte) []byte {
		return price.ReplaceAllFunc(body, func(field []byte) []byte {
			part := price.FindSubmatch(field)
			units, err := strconv.ParseFloat(string(part[2]), 64)
			testharness.Must(t, err)
			return fmt.Appendf(part[1], "%.0f", math.Round(100*units))
		})
	}})
	h.requireComplete(h.night())
	const scaled = "SELECT sum(unit_amount * %d) FROM product_listing_prices"
	inCents := h.singleLine(fmt.Sprintf(scaled, 1))

	h.cfg.MinorUnits = true
	_, err = h.unchangedNight()
	hold := errorOf[*pipeline.HoldError](t, err)
	if !strings.Contains(hold.Error(), "prices_scaled") || !strings.Contains(hold.Error(), "factor 0.01,") {
		t.Errorf("the night was held because of\n%v\nwant prices_scaled with the factor 0.01", hold)
	}
	h.cfg.Checks = audit.Set{}
	h.requireComplete(h.unchangedNight())
	h.requireLines(fmt.Sprintf(scaled, 100), inCents)
}
