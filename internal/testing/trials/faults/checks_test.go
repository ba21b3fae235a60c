package faults_test

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
)

// newCheckedHarness returns a harness whose nights have the built-in checks.
func newCheckedHarness(t *testing.T, world sim.Options) *trials.Harness {
	t.Helper()
	h := trials.NewHarness(t, world)
	trials.AddBuiltInChecks(t, h)
	return h
}

// requireNoFailedChecks runs nights with correct values, of which no check may fail except the named ones.
func requireNoFailedChecks(h *trials.Harness, nights int, exceptions ...string) {
	h.T.Helper()
	for n := range nights {
		for _, c := range h.GoodNight().Run.Checks {
			if !slices.Contains(exceptions, c.Name) {
				h.T.Errorf("night %d: the check %s %s in %d rows, want no failed check: %s %s", n+1, c.Name, c.Outcome, c.Rows, c.Reason, c.Sample)
			}
		}
	}
}

// TestTrialBusyNightsAreNotHeld runs nights of a world in which more than 5 % of the prices change
// each day, and 5 % of the listings are added and removed.
func TestTrialBusyNightsAreNotHeld(t *testing.T) {
	testharness.Long(t)
	t.Parallel()
	requireNoFailedChecks(newCheckedHarness(t, sim.Options{Seed: 3, Token: trials.Token, ListingChange: 0.1, ListingTurnover: 0.05}), 8)
}

// valueCase is a fault in the values of the service, and the check that finds the fault. If isHeld, a failure of the
// check holds the night: it is not published until an operator decides.
type valueCase struct {
	name   string
	change trials.ValueChange
	// share of the records with the fault. 0 means all.
	share  float64
	check  string
	isHeld bool
}

func valueCases() []valueCase {
	orderAmounts := []string{"total", "subtotal", "processing_fee", "discount", "credits_applied", "price", "sale_price", "product_price",
		"commission_amount", "internal_cost", "reseller_price", "vendor_cost"}
	toEuro := func(currency any) any { return strings.ReplaceAll(currency.(string), "USD", "EUR") }
	without := func(name string) trials.ValueChange {
		return func(_ string, object map[string]any) { delete(object, name) }
	}
	return []valueCase{
		{"prices times 100", trials.PricesTimes(100, 1), 0, "prices_scaled", true},
		{"prices divided by 100", trials.PricesTimes(1, 100), 0, "price_median_moved", true},
		{"zero prices", trials.PricesTimes(0, 1), 0, "price_median_moved", true},
		{"some zero prices", trials.PricesTimes(0, 1), 0.05, "prices_not_positive", false},
		{"another currency", trials.ReplaceFields(toEuro, "currency"), 0, "currency_changed", true},
		{"paid amounts times 100", trials.FieldsTimes(100, 1, orderAmounts...), 0, "settled_amounts_changed", true},
		{"some commissions above the sale price", commissionsAboveSale, 0.05, "commission_above_sale", false},
		{"domain_authority missing", without("domain_authority"), 0, "column_emptied", true},
		{"currency missing", without("currency"), 0, "nulls_rose", true},
		{"renamed statuses", renamedStatuses, 0, "statuses_renamed", true},
		{"times a day later", laterBy(24 * time.Hour), 0, "attributes_rewritten", true},
		{"dates of payment later", laterBy(2*time.Hour, "date_paid"), 0, "times_shifted", true},
		{"vendor costs divided by 100", trials.FieldsTimes(1, 100, "vendor_cost"), 0, "prices_scaled", true},
		{"budgets times 100", trials.FieldsTimes(100, 1, "budget"), 0, "prices_scaled", true},
		{"constant flags", trials.ReplaceFields(func(any) any { return false }, "is_do_follow"), 0, "flags_changed", true},
		{"inverted flags", trials.ReplaceFields(func(v any) any { return v != true }, "is_publisher_paid"), 0, "flags_changed", true},
		{"exchanged names", exchangedFields("name", "outlet_name"), 0, "columns_exchanged", true},
		{"exchanged numbers", exchangedFields("domain_authority", "domain_ranking"), 0, "columns_exchanged", true},
	}
}

// commissionsAboveSale sets commissions to 120 % of the sale price.
func commissionsAboveSale(_ string, object map[string]any) {
	if sale, ok := object["sale_price"].(json.Number); ok {
		object["commission_amount"] = trials.Times(sale, 6, 5)
	}
}

func renamedStatuses(within string, object map[string]any) {
	for key, value := range object {
		text, isText := value.(string)
		if isText && (key == "status" || key == "commission_status" || key == "prefix" && strings.HasPrefix(within, "status")) {
			object[key] = "state_" + text
		}
	}
}

// exchangedFields returns a change that exchanges the values of two fields in objects that have both.
func exchangedFields(one, other string) trials.ValueChange {
	return func(_ string, object map[string]any) {
		value, hasOne := object[one]
		otherValue, hasOther := object[other]
		if hasOne && hasOther {
			object[one], object[other] = otherValue, value
		}
	}
}

// laterBy returns a change that adds an interval to the times of the named fields, or of all fields without names.
func laterBy(interval time.Duration, names ...string) trials.ValueChange {
	return func(_ string, object map[string]any) {
		for name, value := range object {
			text, isText := value.(string)
			if !isText || len(names) > 0 && !slices.Contains(names, name) {
				continue
			}
			for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
				if at, err := time.Parse(layout, text); err == nil {
					object[name] = at.Add(interval).Format(layout)
				}
			}
		}
	}
}

// TestTrialSmallAccountsAreProtected runs nights of a small account, of which no check may hold one. Then it makes the
// service return wrong values, of which a check must hold each night.
func TestTrialSmallAccountsAreProtected(t *testing.T) {
	t.Parallel()
	h := newCheckedHarness(t, sim.Options{Seed: 5, Token: trials.Token, Outlets: 8, Profiles: 2, Folders: 2, Listings: 20, Campaigns: 6, Orders: 12, Files: 12})
	requireNoFailedChecks(h, trials.Size(20, 2))
	checks := map[string]string{
		"prices times 100": "prices_scaled", "renamed statuses": "statuses_renamed", "domain_authority missing": "column_emptied",
		"prices divided by 100": "prices_scaled", "zero prices": "prices_scaled", "another currency": "currency_changed",
		"exchanged names": "columns_exchanged",
	}
	for _, c := range valueCases() {
		check := checks[c.name]
		isShort := slices.Contains([]string{"prices times 100", "renamed statuses", "domain_authority missing"}, c.name)
		if check == "" || testing.Short() && !isShort {
			continue
		}
		h.Service.SetValueFaults(sim.ValueFault{Change: c.change, Day: h.Service.Day() + 1})
		_, err := h.FailedNight(t.Context(), 1)
		h.Service.SetValueFaults()
		hold, isHeld := errors.AsType[*pipeline.HoldError](err)
		if !isHeld || !slices.ContainsFunc(hold.Checks, func(k ledger.CheckResult) bool { return k.Name == check }) {
			t.Errorf("%s: got %v, want a night held by %s", c.name, err, check)
		}
		if published := h.GoodNight(); slices.ContainsFunc(published.Run.Checks, ledger.CheckResult.HoldsNight) {
			t.Errorf("the night after %s has the checks %+v, want none that holds it", c.name, published.Run.Checks)
		}
	}
}

// TestWrongValuesAreFound makes the service return wrong values. If the check that finds a
// fault has the severity "hold", the night must not be published, and the next good night must be
// published. If the severity is "warn", the night must be published, and meta.checks must contain
// the failure. Half of the faults occur alone, without other changes of the data. The other half
// occur together with the changes of a day. In "make torture", each fault occurs in both ways.
func TestWrongValuesAreFound(t *testing.T) {
	t.Parallel()
	h := newCheckedHarness(t, sim.Options{Seed: 1, Token: trials.Token})
	cases := valueCases()
	if testing.Short() {
		shortCases := []string{"prices times 100", "some zero prices", "exchanged names"}
		cases = slices.DeleteFunc(cases, func(c valueCase) bool { return !slices.Contains(shortCases, c.name) })
	}
	requireNoFailedChecks(h, 2)
	for i, c := range cases {
		for _, alone := range []bool{true, false} {
			if os.Getenv("PLACEMENTSYNC_TORTURE") == "" && alone != (i%2 == 0) {
				continue
			}
			if alone {
				h.At = h.At.Add(time.Hour)
			} else {
				// Details that were read with a wrong amount keep it until they are read again, so two checks can still fail.
				requireNoFailedChecks(h, 1, "prices_not_positive", "commission_above_sale")
				h.NextDay()
			}
			requireFound(h, c)
		}
		h.GoodNight()
	}
}

// requireFound runs a night of the current day with the fault of a case, and checks its outcome.
func requireFound(h *trials.Harness, c valueCase) {
	h.T.Helper()
	h.Service.SetValueFaults(sim.ValueFault{Change: c.change, Share: c.share, Day: h.Service.Day()})
	defer h.Service.SetValueFaults()
	latestBefore, countsBefore := h.LatestRun(), h.RowCounts()
	res, err := pipeline.Run(h.T.Context(), h.Config)
	held, _, heldErr := trials.WarehouseOf(h.Config).Held()
	testharness.Must(h.T, heldErr)
	type night struct {
		Outcome        ledger.Outcome
		Published      string
		Held           string
		Found, Blocked bool // by the check
	}
	want := night{ledger.Complete, res.Run.ID, "", true, false}
	if c.isHeld {
		want = night{ledger.Failed, latestBefore, res.Run.ID, true, true}
	}
	isFound := slices.ContainsFunc(res.Run.Checks, func(k ledger.CheckResult) bool {
		return k.Name == c.check && k.Outcome == ledger.CheckFailed && k.Rows > 0 && len(k.Sample) > 0
	})
	got := night{res.Run.Outcome, h.LatestRun(), held.Manifest.RunID, isFound, slices.Contains(held.FailedChecks(), c.check)}
	if diff := cmp.Diff(want, got); diff != "" || errors.As(err, new(*pipeline.HoldError)) != c.isHeld {
		h.T.Errorf("%s: the night ended with %v and the checks %+v (-want +got):\n%s", c.name, err, res.Run.Checks, diff)
	}
	if c.isHeld {
		if diff := cmp.Diff(countsBefore, h.RowCounts()); diff != "" {
			h.T.Errorf("%s: the last snapshot changed (-before +after):\n%s", c.name, diff)
		}
	} else if n := h.Count("meta.checks", "run_id = ? AND outcome = 'failed' AND sample IS NOT NULL", res.Run.ID); n != 1 {
		h.T.Errorf("%s: meta.checks has %d failed checks, want 1", c.name, n)
	}
}
