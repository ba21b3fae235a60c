package explore_test

import (
	"encoding/csv"
	"html"
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

var (
	statementPattern   = regexp.MustCompile(`(?s)<pre id="statement"[^>]*>(.*?)</pre>`)
	totalPattern       = regexp.MustCompile(`(\d[\d,]*) listings?`)
	countedPattern     = regexp.MustCompile(`<input type="checkbox" name="(\w+)" value="([^"]*)"[^>]*> <bdi>[^<]*</bdi> <span class="count">(\d+)</span>`)
	listingLinkPattern = regexp.MustCompile(`<td[^>]*><a href="/explore/listings/([^"]*)">`)
)

// catalogFilters maps parameters of the catalog to equivalent SQL conditions on product_listings.
func catalogFilters() map[string]string {
	return map[string]string{
		"":                                     "true",
		"q=MORNING":                            "outlet_name = 'Morning News'",
		"q=news+guest":                         "id = 'a'",
		"q=z%C3%9Crich":                        "id = 'c'",
		"q=%25+_wild_":                         "id = 'f'",
		"q=%3Cscript%3E":                       "id = 'd'",
		"q=o1":                                 "false",
		"country=United+States":                "country = 'United States'",
		"country=United+States&country=":       "country = 'United States'",
		"country=(none)":                       "country IS NULL",
		"country=Israel&country=(none)":        "country = 'Israel' OR country IS NULL",
		"state=((none)":                        "state = '(none)'",
		"state=it%27s+%22quoted%22":            "id = 'e'",
		"country=Nowhere":                      "false",
		"dofollow=true":                        "is_do_follow",
		"dofollow=(none)&dofollow=false":       "is_do_follow IS NOT true",
		"disclaimer=Sponsored&channel=website": "disclaimer = 'Sponsored' AND channel_type = 'website'",
		"placement=article&authority_min=10":   "placement_type = 'article' AND domain_authority >= 10",
		"tag=news":                             "id IN ('a', 'b', 'd')",
		"tag=news&tag=it%27s":                  "id IN ('a', 'b', 'c', 'd')",
		"tag=(none)":                           "id NOT IN ('a', 'b', 'c', 'd')",
		"currency=USD":                         "id IN ('a', 'b', 'e', 'x/../y?#%')",
		"currency=(none)":                      "id = 'c'",
		"currency=USD&tier=pro":                "id IN ('a', 'e')",
		"currency=EUR&tier=pro":                "false",
		"tier=(none)":                          "id = 'c'",
		"currency=USD&price_max=100":           "id IN ('a', 'x/../y?#%')",
		"currency=USD&price_min=100":           "id IN ('b', 'e')",
		"currency=USD&tier=standard&price_min=100&price_max=200.0": "id IN ('a', 'b')",
		"days_max=4":                     "max_delivery_days <= 4",
		"ranking_min=-1&ranking_max=900": "domain_ranking <= 900",
	}
}

// testFilters compares the listings on the page and in the download with a query of this test. The
// statement on the page must return the same rows as the download.
func testFilters(t *testing.T, s *site) {
	for address, where := range catalogFilters() {
		t.Run(address, func(t *testing.T) {
			want := column(s.sql(t, "SELECT id FROM main.product_listings WHERE "+where+" ORDER BY domain_authority DESC NULLS LAST, id"), 0)
			body := s.get(t, "/catalog?"+address, http.StatusOK)
			if diff := cmp.Diff(want, listedIDs(t, body)); diff != "" {
				t.Errorf("the page lists different rows (-SQL +page):\n%s", diff)
			}
			download := s.csv(t, "/catalog.csv?"+address)
			if diff := cmp.Diff(want, column(download, 0)); diff != "" {
				t.Errorf("the CSV has different rows (-SQL +CSV):\n%s", diff)
			}
			if diff := cmp.Diff(download, s.sql(t, shownStatement(t, body))); diff != "" {
				t.Errorf("the statement of the page returns different rows (-CSV +SQL):\n%s", diff)
			}
			if n := len(want); n > 0 && totalPattern.FindStringSubmatch(textOf(body))[1] != strconv.Itoa(n) {
				t.Errorf("the page shows %q, want %d listings", totalPattern.FindString(textOf(body)), n)
			}
		})
	}
}

// countedValues returns the values of a facet on the page, each with its number of listings.
func countedValues(body, facet string) string {
	var values []string
	for _, m := range countedPattern.FindAllStringSubmatch(body, -1) {
		if m[1] == facet && m[3] != "0" {
			values = append(values, html.UnescapeString(m[2])+" "+m[3])
		}
	}
	return strings.Join(values, ", ")
}

// testFacetCounts checks that a value of a facet is counted with the search, the ranges and the chosen values of the other
// facets, as if it replaced the chosen values of its own facet.
func testFacetCounts(t *testing.T, s *site) {
	for address, counts := range map[string]map[string]string{
		"": {"dofollow": "true 3, (none) 3, false 2", "currency": `USD 4, EUR 2, "><script> 1, (none) 1`,
			"tier": "standard 4, pro 2, <i>tier</i> 1, (none) 1", "tag": "(none) 4, news 3, <u>tag</u> 1, it's 1, politics 1"},
		"country=United+States": {"country": "United States 3, (none) 2, <b>Land</b> 1, Israel 1, Switzerland 1",
			"state": "Texas 2, Ohio 1", "dofollow": "true 2, false 1", "currency": "USD 3, EUR 1", "tag": "news 2, politics 1, (none) 1"},
		"country=United+States&dofollow=true": {"country": "United States 2, <b>Land</b> 1", "dofollow": "true 2, false 1",
			"channel": "website 2"},
		"currency=USD&tier=pro": {"currency": "USD 2", "tier": "pro 2, standard 3", "country": "Israel 1, United States 1"},
		"currency=USD&price_max=100": {"currency": `USD 2, EUR 2, "><script> 1, (none) 1`, "tier": "standard 2, pro 1",
			"dofollow": "true 2"},
		"q=news":                               {"country": "United States 3", "tag": "news 2, politics 1, (none) 1", "placement": "article 2, mention 1"},
		"tag=news&tag=(none)&authority_min=60": {"tag": "news 2, (none) 1, politics 1", "disclaimer": "(none) 2, Sponsored 1"},
		"tag=politics":                         {"tag": "politics 1, (none) 4, news 3, <u>tag</u> 1, it's 1"},
		"dofollow=false":                       {"currency": "USD 2", "tier": "pro 1, standard 1"},
		"currency=EUR&country=United+States":   {"currency": "EUR 1, USD 3", "tier": "standard 1"},
	} {
		body := s.get(t, "/catalog?"+address, http.StatusOK)
		for facet, want := range counts {
			if got := countedValues(body, facet); got != want {
				t.Errorf("%s: the facet %s has the counts %q, want %q", address, facet, got, want)
			}
		}
	}
}

// testCatalogIsSorted compares the order of the listings with a query of this test.
func testCatalogIsSorted(t *testing.T, s *site) {
	for key, sortedBy := range map[string]string{"name": "name", "outlet": "outlet_name", "authority": "domain_authority",
		"ranking": "domain_ranking", "days": "max_delivery_days", "created": "created_at"} {
		for sign, direction := range map[string]string{"": "", "-": " DESC"} {
			want := column(s.sql(t, "SELECT id FROM main.product_listings ORDER BY "+sortedBy+direction+" NULLS LAST, id"), 0)
			if diff := cmp.Diff(want, listedIDs(t, s.get(t, "/catalog?sort="+sign+key, http.StatusOK))); diff != "" {
				t.Errorf("sort=%s%s: the page has another order (-SQL +page):\n%s", sign, key, diff)
			}
		}
	}
}

// listedIDs returns the ids of the listings in the table.
func listedIDs(t *testing.T, body string) []string {
	t.Helper()
	ids := []string{}
	for _, m := range listingLinkPattern.FindAllStringSubmatch(body, -1) {
		id, err := url.PathUnescape(html.UnescapeString(m[1]))
		harness.Must(t, err)
		ids = append(ids, id)
	}
	return ids
}

func shownStatement(t *testing.T, body string) string {
	t.Helper()
	m := statementPattern.FindStringSubmatch(body)
	if m == nil {
		t.Fatalf("the page has no statement:\n%s", textOf(body))
	}
	return html.UnescapeString(m[1])
}

// column returns the values of one column, without its name in the first row.
func column(rows [][]string, index int) []string {
	values := []string{}
	for _, r := range rows[1:] {
		values = append(values, r[index])
	}
	return values
}

// testLowestPrices checks that the download and the page contain the lowest price in each currency.
// Only prices of the chosen tiers and currencies are compared.
func testLowestPrices(t *testing.T, s *site) {
	for address, want := range map[string]string{
		"q=guest":                                 `[{"currency":"EUR","price":90.000000,"tier":"standard"},{"currency":"USD","price":80.500000,"tier":"pro"}]`,
		"q=guest&tier=standard":                   `[{"currency":"EUR","price":90.000000,"tier":"standard"},{"currency":"USD","price":100.000000,"tier":"standard"}]`,
		"q=guest&tier=pro":                        `[{"currency":"USD","price":80.500000,"tier":"pro"}]`,
		"q=guest&currency=EUR&currency=GBP":       `[{"currency":"EUR","price":90.000000,"tier":"standard"}]`,
		"q=z%C3%9Crich&currency=EUR&currency=GBP": `[{"currency":"EUR","price":40.000000,"tier":""}]`,
	} {
		rows := s.csv(t, "/catalog.csv?col=price&"+address)
		if got := column(rows, slices.Index(rows[0], "prices")); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: the CSV has the prices %v, want %s", address, got, want)
		}
	}
	ascending := []string{"80.500000", "99.999999", "200.000000", "300.250000"}
	rows := s.csv(t, "/catalog.csv?currency=USD&sort=price")
	if got := column(rows, slices.Index(rows[0], "price")); !slices.Equal(got, ascending) {
		t.Errorf("the prices in ascending order are %v, want %v", got, ascending)
	}
	withoutTier := s.csv(t, "/catalog.csv?q=z%C3%9Crich&currency=EUR&sort=price")
	price, tier := slices.Index(withoutTier[0], "price"), slices.Index(withoutTier[0], "tier")
	if got := []string{withoutTier[1][price], withoutTier[1][tier]}; !slices.Equal(got, []string{"40.000000", ""}) {
		t.Errorf("the lowest price and its tier are %q, want 40 without a tier", got)
	}
	testDownloadColumns(t, s)
	wantTexts(t, s.get(t, "/catalog?col=price&q=guest&tier=standard", http.StatusOK), "90.00 EUR 100.00 USD")
	wantTexts(t, s.get(t, "/catalog?col=price&col=tier&q=guest", http.StatusOK), "90.00 EUR 80.50 USD Standard Pro")
	// Without a currency in the address, the page compares prices in the most frequent currency.
	for _, address := range []string{"sort=price", "sort=-price&price_min=90", "price_max=100"} {
		if diff := cmp.Diff(s.csv(t, "/catalog.csv?currency=USD&"+address), s.csv(t, "/catalog.csv?"+address)); diff != "" {
			t.Errorf("%s: the CSV differs from the CSV with currency=USD (-USD +no currency):\n%s", address, diff)
		}
		body := s.get(t, "/catalog?"+address, http.StatusOK)
		wantTexts(t, body, "Currency: USD, the most frequent")
		if diff := cmp.Diff(listedIDs(t, s.get(t, "/catalog?currency=USD&"+address, http.StatusOK)), listedIDs(t, body)); diff != "" {
			t.Errorf("%s: the page differs from the page with currency=USD (-USD +no currency):\n%s", address, diff)
		}
	}
}

// testDownloadColumns compares whole rows of downloads, with all columns, the default ones and only the tier.
func testDownloadColumns(t *testing.T, s *site) {
	t.Helper()
	const all = "price tier outlet authority ranking dofollow disclaimer days country state city " +
		"channel placement website tags created"
	for address, want := range map[string][2]string{
		"q=guest&currency=USD&col=" + strings.ReplaceAll(all, " ", "&col="): {
			"id,name,price,currency,tier,outlet_id,outlet_name,domain_authority,domain_ranking,is_do_follow,disclaimer," +
				"min_delivery_days,max_delivery_days,country,state,city,channel_type,placement_type,website_url,tags,created_at",
			"a,Guest post,80.500000,USD,pro,o1,Morning News,70,900,true,,2,5,United States,Texas,,website,article," +
				`https://www.morning.example/,["news","politics"],`},
		"q=guest": {"id,name,prices,outlet_id,outlet_name,domain_authority,is_do_follow," +
			"min_delivery_days,max_delivery_days,country,channel_type,placement_type,website_url", ""},
		"currency=(none)&col=price":     {"id,name,price,currency,tier", "c,Press release,60.000000,,"},
		"q=guest&currency=USD&col=tier": {"id,name,price,currency,tier", "a,Guest post,80.500000,USD,pro"},
		"q=guest&tier=pro&col=tier": {"id,name,prices",
			`a,Guest post,[{"currency":"USD","price":80.500000,"tier":"pro"}]`},
		"q=guest&col=city&col=disclaimer": {"id,name,disclaimer,city", "a,Guest post,,"},
	} {
		rows := s.csv(t, "/catalog.csv?"+address)
		if got := strings.Join(rows[0], ","); got != want[0] {
			t.Errorf("%s: the CSV has the columns %s, want %s", address, got, want[0])
		}
		if got := strings.Join(rows[1], ","); got != want[1] && want[1] != "" {
			t.Errorf("%s: the CSV has the row %s, want %s", address, got, want[1])
		}
	}
}

// TestRareChosenValuesAreCounted chooses a rare value of a facet that has more values than the page
// counts. The chosen value must be counted.
func TestRareChosenValuesAreCounted(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	s := newSite(t, "states.sql")
	wantTexts(t, s.get(t, "/catalog?state=S149", http.StatusOK), "State S149 1 S1 2", "1 listing, 1 to 1")
	wantTexts(t, s.get(t, "/catalog?col=name&sort=name", http.StatusOK), "298 listings, 1 to 50")
	middle := s.get(t, "/catalog?sort=name&page=2", http.StatusOK)
	wantTexts(t, middle, "298 listings, 51 to 100")
	for _, link := range []string{`rel="prev" href="?page=1&amp;sort=name"`, `rel="next" href="?page=3&amp;sort=name"`} {
		if !strings.Contains(middle, link) {
			t.Errorf("the second of six pages lacks the link %s", link)
		}
	}
	wantTexts(t, s.get(t, "/catalog?state=(none)", http.StatusOK), "State not stated 1 S1 2", "1 listing, 1 to 1")
	wantTexts(t, s.get(t, "/catalog?state=Nowhere", http.StatusOK), "State Nowhere 0 S1 2", "No listings found.")
}

// testInvalidAddresses checks that invalid parameters are errors and are never ignored.
func testInvalidAddresses(t *testing.T, s *site) {
	for address, want := range map[string]string{
		"sort=price&currency=USD&currency=EUR":  "Prices of different currencies cannot be compared",
		"price_min=1&currency=USD&currency=EUR": "Prices of different currencies cannot be compared",
		"price_min=1e3&currency=USD":            `price_min "1e3" is not a number`,
		"authority_max=1);DROP+TABLE+x":         "Read the address: invalid semicolon",
		"col=row_hash":                          `Unknown column "row_hash"`,
		"sort=id%27":                            "The catalog cannot be sorted by",
		"page=0":                                `Page "0" is not a number`,
		"q=%00":                                 `The parameter "q" is not a text`,
		"q=%ff":                                 `The parameter "q" is not a text`,
		"q=" + strings.Repeat("a+", 20):         "more than 12 words",
		"q=" + strings.Repeat("a", 501):         `The parameter "q" is not a text of up to 500 bytes`,
		"page=1000001":                          `Page "1000001" is not a number from 1 to 1000000`,
		"col=":                                  `Unknown column ""`,
	} {
		wantTexts(t, s.get(t, "/catalog?"+address, http.StatusBadRequest), want)
		s.get(t, "/catalog.csv?"+address, http.StatusBadRequest)
	}
	s.get(t, "/catalog?as_of=2026-11-01", http.StatusBadRequest)
	if body := s.get(t, "/catalog?price_min=1&currency=USD&currency=EUR&q=news", http.StatusBadRequest); !strings.Contains(body, `name="currency" value="USD"`) {
		t.Error("the form has no choice of currencies")
	}
	form := s.get(t, "/catalog?authority_min=5.&q=news&country=United+States&ranking_max=9&sort=name&col=city", http.StatusBadRequest)
	for _, input := range []string{`name="authority_min" id="authority_min" value="5."`, `name="q" id="q" value="news"`, `value="United States" checked`,
		`id="ranking_max" value="9"`, `name="sort" value="name"`, `name="col" value="city"`} {
		if !strings.Contains(form, input) {
			t.Errorf("the form lacks the given value %s", input)
		}
	}
	wantTexts(t, s.get(t, "/catalog?currency=USD&currency=EUR&sort=price&price_min=1&country=Spain", http.StatusBadRequest), "Country Spain 0")
	wantTexts(t, s.get(t, "/catalog?country=Spain&q=a"+strings.Repeat("+a", 12), http.StatusBadRequest), "Country Spain State not counted")
	if body := s.get(t, "/catalog?sort=website", http.StatusBadRequest); strings.Contains(body, `name="sort" value="website"`) {
		t.Error("the form repeats the invalid sort order")
	}
	wantTexts(t, s.get(t, "/catalog?page=2", http.StatusOK), "8 listings: this page does not exist")
}

// testHostileNames checks that texts of the service are escaped, in the page and in downloads.
func testHostileNames(t *testing.T, s *site) {
	body := s.get(t, "/catalog?"+url.Values{"col": {"outlet", "website", "state", "tags", "price", "country"}}.Encode(), http.StatusOK)
	withoutAddress := strings.ReplaceAll(body, "https://user:pass@evil.example/</bdi>", "")
	wantEscaped(t, withoutAddress, "<script>alert", "<img", "<b>Land", "<u>tag", "<i>tier", `href="javascript`, "user:pass")
	wantTexts(t, body, "<script>alert(1)</script>", "javascript:alert(1)", "שלום עולם", "not stated")
	if host := `title="https://www.morning.example/"><bdi>morning.example</bdi>`; !strings.Contains(body, host) {
		t.Errorf("the page lacks %s, want the host, and the address as its title", host)
	}
	wantTexts(t, s.get(t, "/catalog?q=star", http.StatusOK), "No listing matches.", "Outlets: Morning <i>Star</i>")
	// Each word is in the name or in the address of the outlet.
	wantTexts(t, s.get(t, "/catalog?q=news+morning.example", http.StatusOK), "Outlets: Morning News Columns")
	rows, err := csv.NewReader(strings.NewReader(s.get(t, "/catalog.csv?q=hyperlink", http.StatusOK))).ReadAll()
	harness.Must(t, err)
	if got := rows[1][1]; got != `'=HYPERLINK("http://evil")` {
		t.Errorf("a formula in the CSV is %q, want an apostrophe before it", got)
	}
}

// TestEmptyCatalog checks the catalog page of a snapshot without listings: the page must show that the
// listings were not read, or that the snapshot has no grades.
func TestEmptyCatalog(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	wantTexts(t, newSite(t, "unread.sql").get(t, "/catalog", http.StatusOK), "No listings found.", "not read", "missing scope products.read")
	s := newSite(t)
	wantTexts(t, s.get(t, "/catalog", http.StatusOK), "No listing", "streams: unknown")
	wantTexts(t, s.get(t, "/catalog?sort=price", http.StatusOK), "No listings found.")
	if got := s.csv(t, "/catalog.csv"); len(got) != 1 {
		t.Errorf("the CSV has %d lines, want only the header", len(got))
	}
}
