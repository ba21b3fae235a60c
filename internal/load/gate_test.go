package load_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/config"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/testing/harness"
)

// listings returns the input of a night with n listings.
func listings(n int) map[string]streamInput {
	var rows []string
	for i := range n {
		rows = append(rows, listing(fmt.Sprintf("p%03d", i), "x", i+1, i))
	}
	return wholeList(strings.Join(rows, ","), "")
}

func defaultLimits() load.Limits {
	d := config.Default().Run
	return load.Limits{Share: d.MassDeleteShare, Rows: int64(d.MassDeleteRows)}
}

// TestMassDeletionsExceedBothLimits compares numbers of deletions with the limits. Deleting all rows
// of a table with at least ten rows is always a mass deletion.
func TestMassDeletionsExceedBothLimits(t *testing.T) {
	defaults := defaultLimits()
	for _, c := range []struct {
		gone, before int64
		limits       load.Limits
		want         bool
	}{
		{60, 300, defaults, false}, {61, 300, defaults, true}, // the share
		{50, 100, defaults, false}, {51, 100, defaults, true}, // the rows
		{10, 10, defaults, true}, {9, 10, defaults, false}, {9, 9, defaults, false}, // all rows
		{0, 0, defaults, false}, {0, 9, load.Limits{}, false}, {1, 9, load.Limits{}, true},
		{10, 10, load.Limits{Share: 1, Rows: 1000}, true}, {999, 1000, load.Limits{Share: 1, Rows: 10}, false},
	} {
		if got := c.limits.AreExceeded(c.gone, c.before); got != c.want {
			t.Errorf("%d of %d rows with %+v: exceeded %t, want %t", c.gone, c.before, c.limits, got, c.want)
		}
	}
}

// TestMassDeleteErrorSaysWhatToDo checks the beginning and the end of the message.
func TestMassDeleteErrorSaysWhatToDo(t *testing.T) {
	for reread, wantEnd := range map[bool]string{false: ": run placementsync run", true: ": if the service deleted these records, run placementsync run --allow-mass-delete"} {
		err := &load.MassDeleteError{Losses: []ledger.Loss{{Table: "orders", Gone: 3, Before: 4}}, Reread: reread}
		if got := err.Error(); !strings.HasPrefix(got, "merge the tables: 3 of 4 rows of orders would be deleted in one night; nothing was published") || !strings.HasSuffix(got, wantEnd) {
			t.Errorf("the error with Reread %t is %q, want it to begin with the loss and end with %q", reread, got, wantEnd)
		}
	}
}

// TestLimitsApplyToEachListOfATable deletes all earlier rows of one of two lists that fill a table. In the same
// night, a row of this list is new, and a row of the other list is deleted. The loss must include neither.
func TestLimitsApplyToEachListOfATable(t *testing.T) {
	list := func(kind string, first, count int) streamInput {
		var locations []string
		for i := first; i < first+count; i++ {
			locations = append(locations, fmt.Sprintf(`{"kind":%q,"name":"%s %d","row_hash":%d,"seq":%d}`, kind, kind, i, i+1, i))
		}
		return streamInput{coverage: load.Whole, rows: rows{"locations": strings.Join(locations, ",")}}
	}
	lists := func(countryCount, firstCity, cityCount int) map[string]streamInput {
		return map[string]streamInput{"countries": list("country", 0, countryCount), "cities": list("city", firstCity, cityCount)}
	}
	h := newFixture(t, "product_listings", "countries", "cities")
	limits := load.Limits{Share: 0.2, Rows: 50}
	_, err := h.run(lists(40, 0, 10), limits)
	harness.Must(t, err)
	_, err = h.run(lists(39, 10, 1), limits)
	massDelete, _ := errors.AsType[*load.MassDeleteError](err)
	want := []ledger.Loss{{Table: "locations", Stream: "cities", Gone: 10, Before: 10}}
	if massDelete == nil || !cmp.Equal(massDelete.Losses, want) {
		t.Errorf("got %v, want losses %v", err, want)
	}
	_, err = h.run(lists(40, 0, 1), limits)
	harness.Must(t, err)
	h.requireRows("SELECT count(*) FROM meta.deletions WHERE evidence = 'absent from a proven walk of cities' AND key LIKE 'city/%'", "9")
	h.requireRows("SELECT count(*) FROM meta.deletions", "9")
	// The loss of a whole table is reported instead of the losses of its lists, unless it was confirmed. The city remains,
	// because the list of cities was not read.
	limits.Rows = 10
	onlyCountries := lists(2, 0, 1)
	delete(onlyCountries, "cities")
	_, err = h.run(onlyCountries, limits)
	massDelete, _ = errors.AsType[*load.MassDeleteError](err)
	want = []ledger.Loss{{Table: "locations", Gone: 38, Before: 41}}
	if massDelete == nil || !cmp.Equal(massDelete.Losses, want) {
		t.Errorf("got %v, want losses %v", err, want)
	}
	// Each table with such a loss is named.
	withListings := func(inputs map[string]streamInput, count int) map[string]streamInput {
		maps.Copy(inputs, listings(count))
		return inputs
	}
	_, err = h.run(withListings(lists(40, 0, 1), 41), limits)
	harness.Must(t, err)
	_, err = h.run(withListings(lists(2, 0, 1), 1), limits)
	massDelete, _ = errors.AsType[*load.MassDeleteError](err)
	want = []ledger.Loss{{Table: "product_listings", Gone: 40, Before: 41}, {Table: "locations", Gone: 38, Before: 41}}
	if massDelete == nil || !cmp.Equal(massDelete.Losses, want) {
		t.Errorf("got %v, want losses %v", err, want)
	}
	limits.Confirmed = func(table string) bool { return table == "product_listings" }
	if _, err = h.run(lists(2, 0, 1), limits); !errors.As(err, new(*load.MassDeleteError)) {
		t.Errorf("with the confirmation of an earlier table: got %v, want a mass deletion", err)
	}
	limits.Confirmed = func(table string) bool { return table == "locations" }
	_, err = h.run(lists(2, 0, 1), limits)
	harness.Must(t, err)
	h.requireRows("SELECT count(*) FROM locations", "3")
}
