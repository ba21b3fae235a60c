package sim_test

import (
	"encoding/json"
	"math/big"
	"regexp"
	"slices"
	"testing"
	"time"

	"placementsync/internal/sim"
	"placementsync/internal/testing/harness"
)

// TestRealisticWorldHasOneForm compares the kinds of all values. In a realistic world each field has one kind
// besides null, and each time has the same format.
func TestRealisticWorldHasOneForm(t *testing.T) {
	harness.Slow(t)
	service := sim.New(sim.Options{Realistic: true})
	service.Advance(3)
	isTime, format := regexp.MustCompile(`^20\d\d-\d\d-\d\d`), regexp.MustCompile(`^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
	kinds := map[string]string{} // by pattern and field
	var collect func(field string, value any)
	collect = func(field string, value any) {
		kind := ""
		switch v := value.(type) {
		case nil:
			return
		case map[string]any:
			kind = "object"
			for key, inner := range v {
				collect(field+"."+key, inner)
			}
		case []any:
			kind = "list"
			for _, element := range v {
				collect(field+"[]", element)
			}
		case string:
			kind = "text"
			if isTime.MatchString(v) && !format.MatchString(v) {
				t.Errorf("%s is the time %q, want the format of the others", field, v)
			}
		case bool:
			kind = "bool"
		default:
			kind = "number"
		}
		if earlier := kinds[field]; earlier != "" && earlier != kind {
			t.Errorf("%s is a %s and a %s, want one form", field, earlier, kind)
		}
		kinds[field] = kind
	}
	for pattern, paths := range samplePaths(t, service, 60) {
		for _, path := range paths {
			records := service.Records(path)
			if object, ok := service.Object(path); ok && pattern != "/files/{id}/download" {
				records = append(records, object)
			}
			for _, raw := range records {
				collect(pattern, record(t, raw))
			}
		}
	}
	for _, field := range []string{"/products/listings.tags[].name", "/campaigns/{id}/articles.expected_completion_date", "/articles/{id}.files[].name"} {
		if kinds[field] != "text" {
			t.Errorf("%s is %q, want a text", field, kinds[field])
		}
	}
}

// TestRealisticWorldIsPlausible checks properties that a buyer of placements would notice: currencies, tiers, unique
// names, prices that rise with the authority, articles that are mostly on time, rare refunds, and mostly known costs.
func TestRealisticWorldIsPlausible(t *testing.T) {
	harness.Slow(t)
	service := sim.New(sim.Options{Realistic: true, Seed: 1})
	service.Advance(14)
	checkCatalog(t, service)

	var items, refunded, known int
	for _, raw := range service.Records("/order-items") {
		var item struct {
			Refunded bool         `json:"is_refunded"`
			Vendor   *json.Number `json:"vendor_cost"`
			Internal *json.Number `json:"internal_cost"`
		}
		decode(t, raw, &item)
		items++
		if item.Refunded {
			refunded++
		}
		if item.Vendor != nil {
			known++
		}
		if item.Internal != nil {
			t.Fatalf("an internal cost is %s, want null", *item.Internal)
		}
	}
	if refunded == 0 || 100*refunded > 3*items {
		t.Errorf("%d of %d items are refunded, want some, but at most 3 %%", refunded, items)
	}
	if known == items || 100*known < 90*items {
		t.Errorf("%d of %d items have a vendor cost, want at least 90 %%, but not all", known, items)
	}

	var published, onTime int
	prefixes := map[string]int{}
	for _, raw := range service.Records("/campaigns") {
		for _, row := range service.Records("/campaigns/" + record(t, raw)["id"].(string) + "/articles") {
			var article struct {
				Expected time.Time `json:"expected_completion_date"`
				Status   []statusStep
			}
			decode(t, row, &article)
			for _, step := range article.Status {
				prefixes[step.Prefix]++
			}
			if !slices.IsSortedFunc(article.Status, func(a, b statusStep) int { return b.At.Compare(a.At) }) {
				t.Fatalf("the statuses of %s are not newest first", row)
			}
			if newest := article.Status[0]; newest.Prefix == "published" {
				published++
				if !newest.At.After(article.Expected) {
					onTime++
				}
			}
		}
	}
	if share := 100 * onTime / max(1, published); published < 100 || share < 75 || share > 95 {
		t.Errorf("%d of %d articles were published on time, want 75 to 95 %% of at least 100", onTime, published)
	}
	if rejected := prefixes["rejected"]; len(prefixes) != 11 || rejected == 0 || 100*rejected > 5*published {
		t.Errorf("the statuses are %v, want all 11 and few rejections", prefixes)
	}
}

type statusStep struct {
	At     time.Time `json:"effective_at"`
	Prefix string
}

func checkCatalog(t *testing.T, service *sim.Service) {
	t.Helper()
	plainName := regexp.MustCompile(`^[A-Z][a-z]+( [A-Z][a-z]+)+$`)
	outletOf := map[string]string{}
	low, high := new(big.Rat), new(big.Rat) // the sums of prices of listings with a low and with a high authority
	var lowCount, highCount int64
	for _, raw := range service.Records("/products/listings") {
		var listing struct {
			OutletID  string `json:"outlet_id"`
			Outlet    string `json:"outlet_name"`
			Authority int    `json:"domain_authority"`
			Prices    []struct {
				Amount   json.Number `json:"unit_amount"`
				Currency string
				Tier     string `json:"pricing_tier"`
			}
		}
		decode(t, raw, &listing)
		if !plainName.MatchString(listing.Outlet) {
			t.Errorf("an outlet is named %q, want a plain name", listing.Outlet)
		}
		if other, ok := outletOf[listing.Outlet]; ok && other != listing.OutletID {
			t.Errorf("two outlets are named %q, want a name of its own for each", listing.Outlet)
		}
		outletOf[listing.Outlet] = listing.OutletID
		for _, price := range listing.Prices {
			if !slices.Contains([]string{"usd", "eur", "gbp"}, price.Currency) || !slices.Contains([]string{"basic", "pro"}, price.Tier) {
				t.Errorf("a price is in %q for the tier %q", price.Currency, price.Tier)
			}
		}
		amount, _ := new(big.Rat).SetString(listing.Prices[0].Amount.String())
		switch {
		case listing.Authority >= 70:
			high.Add(high, amount)
			highCount++
		case listing.Authority > 0 && listing.Authority < 40:
			low.Add(low, amount)
			lowCount++
		}
	}
	if lowCount == 0 || highCount == 0 {
		t.Fatalf("%d listings have a low and %d a high authority, want some of both", lowCount, highCount)
	}
	highMean := new(big.Rat).Quo(high, big.NewRat(highCount, 1))
	lowMean := new(big.Rat).Quo(low, big.NewRat(lowCount, 1))
	if highMean.Cmp(lowMean.Mul(lowMean, big.NewRat(3, 1))) < 0 {
		t.Errorf("the mean price of %d listings with a high authority is less than three times that of %d with a low one", highCount, lowCount)
	}
}

func decode(t *testing.T, raw json.RawMessage, into any) {
	t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}
