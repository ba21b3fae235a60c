package explore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"placementsync/internal/query"
)

// index is what makes the catalog fast: tables derived from a snapshot when its catalog
// is first asked for. They are in the memory of the sandbox, within its limit.
type index struct {
	// done is closed when the tables are there, or err says why not.
	done chan struct{}
	err  error
	// offers are the combinations of currency and tier that prices have, by code.
	offers []offer
	// counted remembers the facets of the last filters; sorting and paging do not count
	// them again.
	mu      sync.Mutex // guards counted
	counted []counted
}

// offer is a combination of currency and tier: the column price_<its place> of the index.
type offer struct{ Currency, Tier choice }

// counted are the counts of a filter.
type counted struct {
	filter string
	counts counts
}

const (
	// mostOffers bounds the columns of prices, and is what the bits of a BIGINT can say.
	mostOffers = 62
	// mostCounted is how many filters are remembered.
	mostCounted = 32
)

var errNotReady = errors.New("prepare the catalog: it takes some time once for each snapshot")

// The times before an index that could not be made is made again.
const (
	firstRetry = time.Second
	lastRetry  = 5 * time.Minute
)

// startIndex returns the index of a snapshot. The first to ask begins it; it is made also
// when that one goes away, since a search as one types ends most of its requests. One that
// failed is made again after a while, each time a longer one.
func (s *snapshot) startIndex(ctx context.Context) *index {
	s.making.Lock()
	defer s.making.Unlock()
	if s.index != nil && (!s.index.hasFailed() || time.Now().Before(s.retryAt)) {
		return s.index
	}
	if s.stopIndex != nil {
		s.stopIndex()
	}
	ix := &index{done: make(chan struct{})}
	inner, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.index, s.stopIndex = ix, stop
	go func() {
		defer close(ix.done)
		if ix.err = ix.build(inner, s.db); ix.err != nil {
			s.making.Lock()
			defer s.making.Unlock()
			s.retryAt = time.Now().Add(min(firstRetry<<min(s.failures, 10), lastRetry))
			s.failures++
		}
	}()
	return ix
}

// stopMaking stops the making of the index and waits for its end.
func (s *snapshot) stopMaking() {
	s.making.Lock()
	ix, stop := s.index, s.stopIndex
	s.making.Unlock()
	if ix != nil {
		stop()
		<-ix.done
	}
}

// hasFailed reports whether the index could not be made.
func (ix *index) hasFailed() bool {
	select {
	case <-ix.done:
		return ix.err != nil
	default:
		return false
	}
}

// useIndex waits for the index of a snapshot.
func (s *snapshot) useIndex(ctx context.Context, patience time.Duration) (*index, error) {
	ix := s.startIndex(ctx)
	wait := time.NewTimer(patience)
	defer wait.Stop()
	select {
	case <-ix.done:
		return ix, ix.err
	case <-wait.C:
		return nil, errNotReady
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the index of the catalog: %w", ctx.Err())
	}
}

// partRows is how many listings are indexed at a time.
const partRows = 200_000

// build makes the tables.
func (ix *index) build(ctx context.Context, db *query.DB) error {
	if err := ix.readOffers(ctx, db); err != nil {
		return err
	}
	var tables, prices, codes, joins strings.Builder
	for _, t := range codedTexts() {
		fmt.Fprintf(&tables, "CREATE OR REPLACE TABLE derived.%[1]s AS SELECT CAST(row_number() OVER (ORDER BY value NULLS FIRST) AS INTEGER) AS code, value\n"+
			"FROM (SELECT DISTINCT CAST(%[2]s AS VARCHAR) AS value FROM main.product_listings);\n", t.key, t.column)
		fmt.Fprintf(&joins, "\nLEFT JOIN derived.%[1]s AS %[1]s ON %[1]s.value IS NOT DISTINCT FROM CAST(l.%[2]s AS VARCHAR)", t.key, t.column)
		code := t.key + ".code"
		if t.label == "" { // it is sorted by, and NULL stands last both ways
			code = "CASE WHEN " + t.key + ".value IS NOT NULL THEN " + code + " END"
		}
		fmt.Fprintf(&codes, ",\n    %s AS %s", code, t.key)
	}
	for code := range ix.offers {
		fmt.Fprintf(&prices, ",\n    min(p.unit_amount) FILTER (o.code = %[1]d) AS price_%[1]d", code)
	}
	rows, err := collect(ctx, db, query.Query{Name: "catalog", SQL: "SELECT coalesce(max(rowid) + 1, 0) AS n FROM main.product_listings"}, nil)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(rows.Records[0]["n"].Text)
	if err != nil {
		return fmt.Errorf("count listings: %w", err)
	}
	pairs := []string{"{value_tables}", tables.String(), "{price_columns}", prices.String(), "{value_codes}", codes.String(), "{value_joins}", joins.String()}
	err = derive(ctx, db, "catalog_values", pairs...)
	into := "CREATE OR REPLACE TABLE derived.listings AS"
	for from := 0; err == nil && from < max(n, 1); from += partRows {
		err = derive(ctx, db, "catalog_part", append(pairs, "{from}", strconv.Itoa(from), "{to}", strconv.Itoa(from+partRows), "{into}", into)...)
		into = "INSERT INTO derived.listings"
	}
	if err != nil {
		return err
	}
	return derive(ctx, db, "catalog_tags")
}

// derive runs a file of the folder sql with pairs of a placeholder and what it stands for.
func derive(ctx context.Context, db *query.DB, file string, pairs ...string) error {
	text, err := statements.ReadFile("sql/" + file + ".sql")
	if err != nil {
		return err
	}
	return query.Derive(ctx, db, strings.NewReplacer(pairs...).Replace(string(text)))
}

// codedTexts are the columns of product_listings that the index has as numbers: facets, and
// what the table is sorted by.
func codedTexts() []facet {
	coded := []facet{{key: "name", column: "name"}, {key: "outlet_name", column: "outlet_name"}}
	for _, f := range facets() {
		if f.column != "" {
			coded = append(coded, f)
		}
	}
	return coded
}

// readOffers makes the table of offers and reads it.
func (ix *index) readOffers(ctx context.Context, db *query.DB) error {
	err := query.Derive(ctx, db, `CREATE OR REPLACE TABLE derived.offers AS
		SELECT CAST(row_number() OVER (ORDER BY currency, pricing_tier) - 1 AS INTEGER) AS code, currency, pricing_tier AS tier
		FROM (SELECT DISTINCT currency, pricing_tier FROM main.product_listing_prices WHERE unit_amount IS NOT NULL)`)
	if err != nil {
		return err
	}
	found, err := collect(ctx, db, query.Query{Name: "offers", SQL: fmt.Sprintf("SELECT currency, tier FROM derived.offers ORDER BY code LIMIT %d", mostOffers+1)}, nil)
	if err != nil {
		return err
	}
	if len(found.Records) > mostOffers {
		return &statusError{http.StatusNotImplemented, fmt.Sprintf("prepare the catalog: its prices have more than %d combinations of currency and tier", mostOffers),
			"Download it as CSV from " + base + "/catalog.csv, or ask with placementsync query find_placements."}
	}
	for _, r := range found.Records {
		ix.offers = append(ix.offers, offer{choice{r["currency"].Text, r["currency"].Null}, choice{r["tier"].Text, r["tier"].Null}})
	}
	return nil
}

// has is the condition that a listing has a price of some currencies and tiers.
func (ix *index) has(currencies, tiers []choice) string {
	mask := int64(0)
	for code, o := range ix.offers {
		if fits(currencies, o.Currency) && fits(tiers, o.Tier) {
			mask |= 1 << code
		}
	}
	return fmt.Sprintf("d.offers & %d <> 0", mask)
}

// price is the lowest price of some currencies and tiers, as an expression over the
// index. It is NULL for a listing that has none.
func (ix *index) price(currencies, tiers []choice) string {
	var fitting []string
	for code, o := range ix.offers {
		if fits(currencies, o.Currency) && fits(tiers, o.Tier) {
			fitting = append(fitting, "d.price_"+strconv.Itoa(code))
		}
	}
	switch len(fitting) {
	case 0:
		return "CAST(NULL AS DECIMAL(18,6))"
	case 1:
		return fitting[0]
	}
	return "least(" + strings.Join(fitting, ", ") + ")"
}

// currencies and tiers are those that prices have.
func (ix *index) currencies() (all []choice) {
	for _, o := range ix.offers {
		if !slices.Contains(all, o.Currency) {
			all = append(all, o.Currency)
		}
	}
	return all
}

func (ix *index) tiers() (all []choice) {
	for _, o := range ix.offers {
		if !slices.Contains(all, o.Tier) {
			all = append(all, o.Tier)
		}
	}
	return all
}

// fits reports whether a value is chosen; without a choice all are.
func fits(chosen []choice, value choice) bool {
	return len(chosen) == 0 || slices.Contains(chosen, value)
}

// remembered are the counts of a filter, if they were asked for lately.
func (ix *index) remembered(filter string) (counts, bool) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	i := slices.IndexFunc(ix.counted, func(c counted) bool { return c.filter == filter })
	if i < 0 {
		return counts{}, false
	}
	found := ix.counted[i]
	ix.counted = append(slices.Delete(ix.counted, i, i+1), found)
	return found.counts, true
}

func (ix *index) remember(filter string, c counts) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if len(ix.counted) == mostCounted {
		ix.counted = slices.Delete(ix.counted, 0, 1)
	}
	ix.counted = append(ix.counted, counted{filter, c})
}
