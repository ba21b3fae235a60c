package explore_test

import (
	"fmt"
	"html"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/testing/harness"
)

// flatListings is a common table expression of the reference queries, with the name flat. It has one row
// per listing, with lists of the prices and tags of the listing. It is written independently of the SQL of
// the program.
const flatListings = `WITH flat AS (SELECT l.*,
	coalesce((SELECT list(DISTINCT t.name ORDER BY t.name) FROM main.product_listing_tags AS t WHERE t.product_listing_id = l.id AND t.name IS NOT NULL), []) AS tags,
	coalesce((SELECT list({'amount': p.unit_amount, 'currency': p.currency, 'tier': p.pricing_tier}) FROM main.product_listing_prices AS p
		WHERE p.product_listing_id = l.id AND p.unit_amount IS NOT NULL), []) AS prices
	FROM main.product_listings AS l) `

// catalogSearch contains the parameters of a catalog address. A nil value of a facet means NULL.
type catalogSearch struct {
	words  []string
	facets map[string][]*string
	ranges map[string][2]string
	sort   string
	page   int
}

// facetColumns maps facets to columns of product_listings.
var facetColumns = map[string]string{"country": "country", "state": "state", "channel": "channel_type", "placement": "placement_type", "dofollow": "is_do_follow", "disclaimer": "disclaimer"}

var rangeColumns = map[string]string{"authority": "domain_authority", "ranking": "domain_ranking", "days": "max_delivery_days"}

func (s catalogSearch) address() url.Values {
	v := url.Values{"q": {strings.Join(s.words, " ")}, "sort": {s.sort}, "page": {strconv.Itoa(s.page)}, "col": {"price", "tags"}}
	for key, values := range s.facets {
		for _, value := range values {
			switch {
			case value == nil:
				v.Add(key, "(none)")
			case *value == "":
				v.Add(key, "(empty)")
			case strings.HasPrefix(*value, "("):
				v.Add(key, "("+*value)
			default:
				v.Add(key, *value)
			}
		}
	}
	for key, ends := range s.ranges {
		v.Set(key+"_min", ends[0])
		v.Set(key+"_max", ends[1])
	}
	return v
}

func literal(text *string) string {
	if text == nil {
		return "NULL"
	}
	return "'" + strings.ReplaceAll(*text, "'", "''") + "'"
}

// oneOf returns the condition that an expression equals one of the values, including NULL.
func oneOf(expression string, values []*string) string {
	var parts []string
	for _, v := range values {
		parts = append(parts, expression+" IS NOT DISTINCT FROM "+literal(v))
	}
	return "(" + strings.Join(parts, " OR ") + ")"
}

// lowestPrice returns the expression for the lowest price of the chosen currencies and tiers.
func (s catalogSearch) lowestPrice() string {
	condition := "true"
	if c := s.facets["currency"]; len(c) > 0 {
		condition += " AND " + oneOf("x.currency", c)
	}
	if c := s.facets["tier"]; len(c) > 0 {
		condition += " AND " + oneOf("x.tier", c)
	}
	return "list_min([x.amount FOR x IN prices IF " + condition + "])"
}

// where returns the condition for rows of flat.
func (s catalogSearch) where() string {
	all := []string{"true"}
	for _, w := range s.words {
		w = strings.ReplaceAll(w, "'", "''")
		all = append(all, fmt.Sprintf("(strpos(lower(coalesce(name, '')), lower('%[1]s')) > 0 OR strpos(lower(coalesce(outlet_name, '')), lower('%[1]s')) > 0 OR strpos(lower(coalesce(website_url, '')), lower('%[1]s')) > 0)", w))
	}
	for key, values := range s.facets {
		if name := facetColumns[key]; name != "" && len(values) > 0 {
			all = append(all, oneOf("CAST("+name+" AS VARCHAR)", values))
		}
	}
	if values := s.facets["tag"]; len(values) > 0 {
		var parts []string
		for _, v := range values {
			if v == nil {
				parts = append(parts, "len(tags) = 0")
			} else {
				parts = append(parts, "list_contains(tags, "+literal(v)+")")
			}
		}
		all = append(all, "("+strings.Join(parts, " OR ")+")")
	}
	if len(s.facets["currency"])+len(s.facets["tier"]) > 0 {
		all = append(all, s.lowestPrice()+" IS NOT NULL")
	}
	for key, ends := range s.ranges {
		name := rangeColumns[key]
		if key == "price" {
			name = s.lowestPrice()
		}
		all = append(all, fmt.Sprintf("%s BETWEEN %s AND %s", name, ends[0], ends[1]))
	}
	return "coalesce(" + strings.Join(all, " AND ") + ", false)"
}

// withFacet returns the search in which one value replaces the chosen values of a facet.
func (s catalogSearch) withFacet(facet string, value *string) catalogSearch {
	changed := s
	changed.facets = map[string][]*string{}
	for key, values := range s.facets {
		changed.facets[key] = values
	}
	changed.facets[facet] = []*string{value}
	return changed
}

// orderBy returns the ORDER BY expressions for rows of flat.
func (s catalogSearch) orderBy() string {
	key, down := strings.CutPrefix(s.sort, "-")
	name := map[string]string{"name": "name", "outlet": "outlet_name", "authority": "domain_authority", "ranking": "domain_ranking",
		"days": "max_delivery_days", "created": "created_at", "price": s.lowestPrice()}[key]
	if down {
		return name + " IS NULL, " + name + " DESC, id"
	}
	return name + " IS NULL, " + name + ", id"
}

// randomSearch returns a search with random words, ranges and values of the facets.
func randomSearch(r *rand.Rand, values map[string][]*string) catalogSearch {
	s := catalogSearch{facets: map[string][]*string{}, ranges: map[string][2]string{}, page: 1 + r.IntN(2)}
	for _, w := range []string{"NEWS", "zürich", "_", "%", "it's", "site1", "1"} {
		if r.IntN(12) == 0 {
			s.words = append(s.words, w)
		}
	}
	for _, key := range slices.Sorted(func(yield func(string) bool) {
		for key := range values {
			if !yield(key) {
				return
			}
		}
	}) {
		for range max(0, r.IntN(8)-5) {
			if v := values[key][r.IntN(len(values[key]))]; !slices.Contains(s.facets[key], v) {
				s.facets[key] = append(s.facets[key], v)
			}
		}
	}
	for key, limit := range map[string]int{"authority": 30, "ranking": 200, "days": 12} {
		if r.IntN(8) == 0 {
			s.ranges[key] = [2]string{strconv.Itoa(r.IntN(limit / 2)), strconv.Itoa(limit/2 + r.IntN(limit/2))}
		}
	}
	sorts := []string{"name", "outlet", "authority", "ranking", "days", "created"}
	if len(s.facets["currency"]) == 1 {
		sorts = append(sorts, "price", "price")
		if r.IntN(2) == 0 {
			s.ranges["price"] = [2]string{"50.5", "700"}
		}
	}
	s.sort = []string{"", "-"}[r.IntN(2)] + sorts[r.IntN(len(sorts))]
	return s
}

var (
	countedChoicePattern = regexp.MustCompile(`<input type="checkbox" name="(\w+)" value="([^"]*)"(?: checked)?> <bdi>[^<]*</bdi> <span class="count">(\d+)</span>`)
	shownRowPattern      = regexp.MustCompile(`(?s)<tr><td[^>]*><a href="/explore/listings/([^"]*)"><bdi>[^<]*</bdi></a></td><td class="n lines(?: none)?"[^>]*>(.*?)</td><td[^>]*>(.*?)</td></tr>`)
)

// TestCatalogEqualsReferenceQueries requests random addresses and compares total, facet counts, order, rows,
// prices and tags with independent queries on main. The fixture has more combinations of currency and tier
// than a BIGINT has bits, so that an implementation with one bit per combination would fail.
func TestCatalogEqualsReferenceQueries(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	s := newSite(t, "combinations.sql")
	readRows := func(text string) [][]string { return s.sql(t, text)[1:] }
	if n := len(readRows("SELECT DISTINCT currency, pricing_tier FROM main.product_listing_prices WHERE unit_amount IS NOT NULL")); n <= 64 {
		t.Fatalf("the fixture has %d combinations of currency and tier, want more than 64", n)
	}
	values := map[string][]*string{}
	valueStatements := map[string]string{"tag": "SELECT DISTINCT unnest(tags) AS value FROM flat UNION ALL SELECT NULL",
		"currency": "SELECT DISTINCT unnest(prices).currency AS value FROM flat", "tier": "SELECT DISTINCT unnest(prices).tier AS value FROM flat"}
	for key, name := range facetColumns {
		valueStatements[key] = "SELECT DISTINCT CAST(" + name + " AS VARCHAR) AS value FROM flat"
	}
	for key, text := range valueStatements {
		for _, r := range readRows(flatListings + "SELECT value IS NULL, 'x' || coalesce(value, '') FROM (" + text + ") ORDER BY ALL") {
			if text := strings.TrimPrefix(r[1], "x"); r[0] == "true" {
				values[key] = append(values[key], nil)
			} else {
				values[key] = append(values[key], &text)
			}
		}
	}
	random, pagesWithRows, rowCount := rand.New(rand.NewPCG(1, 2)), 0, 0
	for range 20 {
		search := randomSearch(random, values)
		address := search.address().Encode()
		body := s.get(t, "/catalog?"+address, http.StatusOK)

		// One row with the total and the counts of all values of all facets.
		names, counts := []string{"total"}, []string{"count(*) FILTER (WHERE " + search.where() + ")"}
		for key, all := range values {
			for _, v := range all {
				single := catalogSearch{facets: map[string][]*string{key: {v}}}.address()
				names = append(names, key+"="+single.Get(key))
				counts = append(counts, "count(*) FILTER (WHERE "+search.withFacet(key, v).where()+")")
			}
		}
		want, got := map[string]string{}, map[string]string{"total": "0"}
		for i, n := range readRows(flatListings + "SELECT " + strings.Join(counts, ", ") + " FROM flat")[0] {
			if n != "0" || i == 0 {
				want[names[i]] = n
			}
		}
		if m := totalPattern.FindStringSubmatch(textOf(body)); m != nil {
			got["total"] = m[1]
		}
		for _, m := range countedChoicePattern.FindAllStringSubmatch(body, -1) {
			if m[3] != "0" {
				got[m[1]+"="+html.UnescapeString(m[2])] = m[3]
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: counts (-reference +page):\n%s", address, diff)
		}

		wantRows, gotRows := [][]string{}, [][]string{}
		condition := "true"
		if c := search.facets["currency"]; len(c) > 0 {
			condition = oneOf("x.currency", c)
		}
		if c := search.facets["tier"]; len(c) > 0 {
			condition += " AND " + oneOf("x.tier", c)
		}
		for _, r := range readRows(flatListings + "SELECT id, (SELECT string_agg(text, ' ' ORDER BY currency NULLS LAST) FROM (SELECT u.x.currency AS currency, printf('%.2f', min(u.x.amount)::DOUBLE) || ' ' || coalesce(u.x.currency, '(no currency)') AS text " +
			"FROM (SELECT unnest([x FOR x IN prices IF " + condition + "]) AS x) AS u GROUP BY u.x.currency)) AS prices, list_aggregate(tags, 'string_agg', ', ') AS tags FROM flat WHERE " + search.where() +
			" ORDER BY " + search.orderBy() + fmt.Sprintf(" LIMIT 50 OFFSET %d", 50*(search.page-1))) {
			wantRows = append(wantRows, []string{r[0], normalizeCell(r[1]), normalizeCell(r[2])})
		}
		for _, m := range shownRowPattern.FindAllStringSubmatch(body, -1) {
			gotRows = append(gotRows, []string{m[1], normalizeCell(textOf(m[2])), normalizeCell(textOf(m[3]))})
		}
		if diff := cmp.Diff(wantRows, gotRows); diff != "" {
			t.Errorf("%s: rows (-reference +page):\n%s", address, diff)
		}
		if len(wantRows) > 0 {
			pagesWithRows++
			rowCount += len(wantRows)
		}
	}
	if pagesWithRows < 6 {
		t.Errorf("the test compared %d pages with rows (%d rows), want at least 6 pages", pagesWithRows, rowCount)
	}
}

// normalizeCell normalizes the spaces of a cell and removes the apostrophe before a formula. An empty cell
// becomes a dash.
func normalizeCell(text string) string {
	if text = strings.Join(strings.Fields(strings.TrimPrefix(text, "'")), " "); text == "" {
		return "–"
	}
	return text
}
