package explore_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"placementsync/internal/testing/harness"
)

// TestPages runs the tests of three fixtures. Tests of a fixture share its site.
func TestPages(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	for _, c := range []struct {
		fixture string
		tests   map[string]func(t *testing.T, s *site)
	}{
		{"records.sql", map[string]func(t *testing.T, s *site){
			"history of a listing":           testListingHistory,
			"deleted records":                testDeletedRecords,
			"links between records":          testLinksBetweenRecords,
			"records that no list contains":  testReferencedRecords,
			"records as of a snapshot":       testRecordsAsOf,
			"texts of records are escaped":   testHostileRecords,
			"lists of records":               testLists,
			"checks of the snapshot":         testChecks,
			"folded and flagged fields":      testFlags,
			"named queries are listed":       testQuestionsAreListed,
			"named queries as of a snapshot": testQuestionsAsOf,
			"charts of named queries":        testQuestionCharts,
			"links of the groups of a query": testGroupLinks,
			"names of files and sheets":      testFiles,
			"report":                         testReport,
			"tables of the schema page":      testSchema,
			"saved questions":                testSavedQuestions,
			"results of statements":          testStatements,
			"results as files":               testStatementFiles,
			"forged statements":              testForgedStatements,
			"statements that write":          testWritingStatements,
			"statements as questions":        testStatementAsQuestion,
		}},
		{"listings.sql", map[string]func(t *testing.T, s *site){
			"unread tables are not shown as empty": testUnreadTables,
			"result of a named query":              testQuestionResult,
			"wrong parameters":                     testWrongParameters,
			"unknown parameters":                   testUnknownParameters,
			"write deadlines":                      testWriteDeadlines,
			"layout":                               testLayout,
			"filters of the catalog":               testFilters,
			"counts of the catalog":                testFacetCounts,
			"order of the catalog":                 testCatalogIsSorted,
			"lowest prices of the catalog":         testLowestPrices,
			"invalid addresses":                    testInvalidAddresses,
			"texts of the catalog are escaped":     testHostileNames,
		}},
		{"tables.sql", map[string]func(t *testing.T, s *site){
			"tables are sorted":        testTablesAreSorted,
			"tables are filtered":      testTablesAreFiltered,
			"chips of filters":         testFilterChips,
			"wrong addresses of lists": testWrongTableAddresses,
			"results are tables":       testQuestionTables,
			"names of outlets":         testOutletNames,
			"sections are tables":      testSectionsAreTables,
		}},
	} {
		t.Run(c.fixture, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, c.fixture)
			for name, test := range c.tests {
				t.Run(name, func(t *testing.T) { test(t, s) })
			}
		})
	}
}

// testListingHistory checks the history of prices, fields and lists.
func testListingHistory(t *testing.T, s *site) {
	body := s.record(t, "/listings/L1")
	wantTexts(t, body, "Guest post", "Promised delivery 2 to 7 days", "In snapshots since 2026-11-01 02:00 (the first one)",
		"Standard 1,234.57 USD 2026-11-02 02:00 1 earlier 1,100.00 USD 2026-11-01 02:00 to 2026-11-02 02:00",
		"Pro 80.50 USD 2026-11-01 02:00", // only the position changed
		"Standard 90.00 EUR 2026-11-01 02:00",
		"news since 2026-11-01 02:00", "politics 2026-11-01 02:00 to 2026-11-02 02:00",
		"Domain authority 55 2026-11-02 02:00 1 earlier 40 2026-11-01 02:00 to 2026-11-02 02:00",
		"Maximum delivery days 7 2026-11-03 02:00 1 earlier 9",
		"Country Spain 2026-11-03 02:00 1 earlier – 2026-11-01 02:00 to 2026-11-03 02:00",
		"Never had a value: ", "Rejected values",
		"PO-17 2026-10-01 10:00 1,100.00 1,200.25 400.75 99.50 Approved", // margin: 1200.25 - 700 - 99.50
		"Ten facts Published 2026-10-01 10:00 2026-10-20 00:00 no no 2026-10-12 10:00 11.0 7")
	wantLinks(t, body, "/explore/outlets/O1", "/explore/orders/R1", "/explore/profiles/P1", "/explore/articles/A1", "https://www.morning.example/sample")
	if strings.Contains(body, " Spec ") {
		t.Error("the page cites sections of the specification")
	}
	wantTexts(t, body, "(the first one) Prices Tags Includes Example links Orders Sold items Promised and actual delivery "+
		"Other listings of the outlet Rejected values Product listing Product Prices")
	_, facts, _ := strings.Cut(body, `<dl class="facts">`)
	facts, _, _ = strings.Cut(facts, "</dl>")
	const wantFacts = "Outlet Morning News Website morning.example Place Spain Channel type Website " +
		"Placement type Article Domain authority 55 Do-follow yes Disclaimer Sponsored Promised delivery 2 to 7 days " +
		"In snapshots since 2026-11-01 02:00 (the first one)"
	if got := textOf(facts); got != wantFacts {
		t.Errorf("the facts are %q, want %q", got, wantFacts)
	}
	if n := strings.Count(body, "<summary>All fields with their history"); n != 1 {
		t.Errorf("%d tables of fields are folded, want one: the first of two tables is open", n)
	}
	const about = `<th scope="row" title="`
	if n, fields := strings.Count(body, about), strings.Count(body, `<th scope="row">`); n < 10 {
		t.Errorf("%d fields have a description, and %d have none", n, fields)
	}
	if n := strings.Count(body, `href="/explore/outlets/O1"`); n < 2 {
		t.Errorf("the page has %d links to the outlet, want one in the facts and one in the fields", n)
	}
	if charts := strings.Count(body, `class="chart"`); charts != 2 {
		t.Errorf("the page has %d charts, want one for each of 2 currencies", charts)
	}
}

// testDeletedRecords checks that the page of a deleted record shows when and why it was deleted. It
// also checks a listing with more row versions than a page shows, L3, and an article of L4 that was
// published before its order was paid.
func testDeletedRecords(t *testing.T, s *site) {
	body := s.record(t, "/listings/L2")
	wantTexts(t, body, "Gone slot", "Deleted. Snapshots from 2026-11-03 02:00 UTC on do not contain this record: absent from a proven walk.",
		"70.00 USD deleted 2026-11-03 02:00", "PO-17")
	wantTexts(t, s.record(t, "/outlets/O1"), "Former listings", "Gone slot Newsletter 2026-11-03 02:00")
	wantTexts(t, s.record(t, "/listings/L3"), "In snapshots since 2020-07-19 02:00 or earlier", "Only the newest 1,000 versions are shown",
		"Name Restless 2020-07-19 02:00 or earlier", "Domain ranking 1,199 2023-04-14 02:00 999 earlier",
		"2023-04-12 02:00 to 2023-04-13 02:00",
		"201 2020-07-20 02:00 to 2020-07-21 02:00 200 2020-07-19 02:00 or earlier to 2020-07-20 02:00")
	if early := textOf(s.record(t, "/listings/L4")); !strings.Contains(early, "Early bird") || strings.Contains(early, "−8.0") {
		t.Errorf("want the article \"Early bird\", which was published before its order was paid, without the negative time -8.0:\n%s", early)
	}
	beforeDeletion := s.get(t, "/listings/L2?as_of=2026-11-02", http.StatusOK)
	if strings.Contains(textOf(beforeDeletion), "Deleted") {
		t.Error("the listing is shown as deleted before its deletion")
	}
	wantTexts(t, s.get(t, "/listings/none", http.StatusNotFound), `This snapshot has no listing with the id "none"`)
	for _, id := range []string{"it%27s", "a%00b", "%ff"} { // texts that need care in SQL
		wantTexts(t, s.get(t, "/listings/"+id, http.StatusNotFound), "This snapshot has no listing with the id")
	}
}

// testLinksBetweenRecords checks that the pages of related records link to each other.
func testLinksBetweenRecords(t *testing.T, s *site) {
	for _, c := range []struct {
		path  string
		jump  string // the headings of the page
		texts []string
		links []string
	}{
		{"/outlets/O1", "Listings Tags Channels Products Former listings Sold items Open payables Articles Outlet",
			[]string{"Morning News", "Guest post Website Article yes 55 7 80.50 USD 1,234.57 USD", "Sponsored"},
			[]string{"/explore/listings/L1", "/explore/listings/L2", "/explore/orders/R1", "/explore/articles/A1",
				"https://www.morning.example/"}},
		{"/orders/R1", "Line items Sold items and commissions Payables Articles Order Sold item: Guest post",
			[]string{"Order PO-17", "1,300.25", "Sold item: Guest post",
				"Commission status Approved 2026-11-02 02:00 1 earlier Pending", "Commission Guest post 99.50 no"},
			[]string{"/explore/profiles/P1", "/explore/listings/L1", "/explore/listings/L2", "/explore/outlets/O1",
				"/explore/articles/A1", "/explore/campaigns/C1"}},
		{"/campaigns/C1", "Articles by status Articles Campaign Questionnaire",
			[]string{"Autumn", "Published 1", "Questionnaire", "Be read",
				"Budget 5,000.00 Spent 1,200.25 Committed 0.00 Budget left 3,799.75"},
			[]string{"/explore/articles/A1", "/explore/profiles/P1", "/explore/outlets/O1"}},
		{"/articles/A1", "Status history Status changes from webhooks Comments Edited and archived comments from webhooks " +
			"Files Order items Article Row in the campaign",
			[]string{"Ten facts", "Ann Author", "Writing 2026-10-02 10:00 10.0 no",
				"Published 2026-10-12 10:00 21.7 yes <b>at last</b>", "facts.docx", "12,345"},
			[]string{"/explore/campaigns/C1", "/explore/orders/R1", "/explore/outlets/O1", "https://www.morning.example/ten-facts", "https://files.example/facts.docx"}},
		{"/profiles/P1", "Goals Campaigns Orders Articles Profile",
			[]string{"Acme", "Be known since 2026-11-01 02:00", "PO-17 Paid", "Autumn Active"},
			[]string{"/explore/orders/R1", "/explore/campaigns/C1", "/explore/articles/A1", "https://acme.example"}},
	} {
		t.Run(c.path, func(t *testing.T) {
			body := s.record(t, c.path)
			_, jump, _ := strings.Cut(body, `aria-label="On this page">`)
			jump, _, _ = strings.Cut(jump, "</nav>")
			if got := textOf(jump); got != c.jump {
				t.Errorf("the page has the headings %q, want %q", got, c.jump)
			}
			wantTexts(t, body, c.texts...)
			wantLinks(t, body, c.links...)
		})
	}
}

// testReferencedRecords checks the pages of records that are in no list. Other records refer to them.
func testReferencedRecords(t *testing.T, s *site) {
	const hint = "No list contains this record."
	wantTexts(t, s.record(t, "/orders/R9"), "Order R9", hint, "Unlisted 4 1.25 5.00")
	wantTexts(t, s.record(t, "/campaigns/C9"), "Unseen", hint, "A9")
	wantTexts(t, s.record(t, "/profiles/P9"), "Profile P9", hint, "A9")
}

// testRecordsAsOf checks that values and links belong to the snapshot of the address.
func testRecordsAsOf(t *testing.T, s *site) {
	body := s.get(t, "/listings/L1?as_of=20261101T020000Z", http.StatusOK)
	wantTexts(t, body, "Standard 1,100.00 USD 2026-11-01 02:00", "Domain authority 40 2026-11-01 02:00", "newest, 2026-11-03 02:00")
	if text := textOf(body); strings.Contains(text, "1,234.57") || strings.Contains(text, "Spain") {
		t.Errorf("the page of the first snapshot has later values:\n%s", text)
	}
	wantLinks(t, body, "/explore/outlets/O1?as_of=20261101T020000Z", "/explore/orders/R1?as_of=20261101T020000Z")
	wantLinks(t, body, "/explore/catalog", "/explore/report", "/explore/orders?as_of=20261101T020000Z")
	list := s.get(t, "/orders?as_of=20261101T020000Z&q=acme", http.StatusOK)
	wantLinks(t, list, "?q=acme")
	_, form, _ := strings.Cut(list, `class="asof"`)
	if form, _, _ = strings.Cut(form, "</form>"); strings.Count(form, `name="as_of"`) != 1 || !strings.Contains(form, `name="q" value="acme"`) {
		t.Errorf("the form of snapshots must keep the other parameters of the address, and have as_of once:\n%s", form)
	}
	const hidden = `<input type="hidden" name="as_of" value="20261101T020000Z">`
	for _, path := range []string{"/orders", "/questions", "/questions/orders_open"} {
		if body := s.get(t, path+"?as_of=20261101T020000Z", http.StatusOK); !strings.Contains(body, hidden) {
			t.Errorf("%s: the form of the page does not keep the snapshot", path)
		}
	}
	if !strings.Contains(body, `<option value="20261101T020000Z" selected>`) {
		t.Error("the form does not select the snapshot of the page")
	}
}

// testHostileRecords checks that texts of the service are escaped, and that only http and https
// addresses become links.
func testHostileRecords(t *testing.T, s *site) {
	for _, path := range []string{"/listings/" + url.PathEscape("x/../y?#%"), "/listings/L1", "/articles/A1", "/outlets/O1"} {
		body := s.record(t, path)
		wantEscaped(t, body, "<script>alert", "<img src=x", "<u>tag", "<i>draft", "<b>at last", "<b>many", `href="javascript:`, `href="data:`)
	}
	wantTexts(t, s.get(t, "/listings/"+url.PathEscape("x/../y?#%"), http.StatusOK), "<script>alert(1)</script>", "<u>tag</u>")
}

// wantEscaped checks that a page does not contain texts of the service as markup, and that links to other hosts send no
// referrer.
func wantEscaped(t *testing.T, body string, markup ...string) {
	t.Helper()
	for _, bad := range markup {
		if strings.Contains(body, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	for _, link := range regexp.MustCompile(`<a [^>]*href="https?:[^>]*>`).FindAllString(body, -1) {
		if !strings.Contains(link, `rel="noopener noreferrer nofollow"`) {
			t.Errorf("an external link lacks the attribute rel: %s", link)
		}
	}
}

// testUnreadTables checks that a section without rows shows why its tables were not read.
func testUnreadTables(t *testing.T, s *site) {
	text := textOf(s.record(t, "/listings/a"))
	if !strings.Contains(text, "missing scope orders.read") || strings.Contains(text, "No orders.") {
		t.Errorf("orders were not read, but the page shows:\n%s", text)
	}
	wantTexts(t, s.get(t, "/orders/R1", http.StatusNotFound), `This snapshot has no order with the id "R1"`, "missing scope orders.read")
	list := textOf(s.get(t, "/orders", http.StatusOK))
	if !strings.Contains(list, "missing scope orders.read") || strings.Contains(list, "No records found.") {
		t.Errorf("orders were not read, but the list shows:\n%s", list)
	}
	wantTexts(t, s.get(t, "/orders?q=x", http.StatusOK), "missing scope orders.read", "No records found.")
}

// testLists checks that only the list of orders has deleted records. TestStatementsOfRecords compares the searched texts of
// all lists.
func testLists(t *testing.T, s *site) {
	for path, want := range map[string]string{
		"/orders":               "PO-17 Acme Paid no 2026-09-30 09:00 2026-10-01 10:00 1,300.25 2 PO-DELETED Binder – yes",
		"/profiles/P2/articles": "0 rows CSV Excel Parquet No articles.",
		"/campaigns":            "Autumn Acme Active 5,000.00 1,200.25 0.00 3,799.75",
		"/articles":             "Ten facts Published", "/profiles": "Acme acme.example 1 1",
	} {
		wantTexts(t, s.get(t, path, http.StatusOK), want)
	}
	for path, unwanted := range map[string]string{"/profiles/P2": "Winter", "/profiles/P2?as_of=20261103T020000Z": "PO-DELETED", "/listings/L1": "PO-DELETED", "/orders?is.deleted=false": "PO-DELETED"} {
		if strings.Contains(textOf(s.get(t, path, http.StatusOK)), unwanted) {
			t.Errorf("%s shows the deleted record %q", path, unwanted)
		}
	}
	if strings.Contains(textOf(s.record(t, "/orders/R9")), "Items without an article") {
		t.Error("the page of the unpaid order R9 has the section of paid items without an article")
	}
}

// wantLinks checks that a page links to addresses.
func wantLinks(t testing.TB, body string, addresses ...string) {
	t.Helper()
	for _, address := range addresses {
		if !strings.Contains(body, `href="`+address+`"`) {
			t.Errorf("the page has no link to %s", address)
		}
	}
}

// testChecks checks that the snapshot page has the results of the checks and the rows of the failed check.
func testChecks(t *testing.T, s *site) {
	body := s.get(t, "/snapshot", http.StatusOK)
	wantTexts(t, body, "prices_not_positive warn failed 2", "prices_scaled hold passed 0", "First rows of prices_not_positive Listing ID Amount L1 -1.50 <i>L2</i> –")
	for _, outcome := range []string{`<span class="tag bad">failed</span>`, `<span class="tag good">passed</span>`} {
		if !strings.Contains(body, outcome) {
			t.Errorf("the page lacks the outcome in its color: %s", outcome)
		}
	}
	if strings.Contains(body, "<i>L2") {
		t.Error("a value of a check is not escaped")
	}
}

// testFlags checks that members of JSON have their own history, that files have names, and that late items are
// flagged.
func testFlags(t *testing.T, s *site) {
	campaign := s.record(t, "/campaigns/C1")
	wantTexts(t, campaign, "Extra: legacy 1, <b>x</b>", "dry dry end") // a long text is shown in full
	if _, questionnaire, _ := strings.Cut(campaign, "Questionnaire</h2>"); strings.Contains(questionnaire, "<summary>All fields") {
		t.Error("the fields of the questionnaire are folded")
	}
	wantTexts(t, s.record(t, "/campaigns/C9"), "Deleted: snapshots from 2026-11-03 02:00 UTC on do not contain this row.")
	wantTexts(t, s.record(t, "/listings/L4"), "Listing L4")
	if profile := s.record(t, "/profiles/P1"); strings.Contains(profile, "/explore/profiles/P1/orders") {
		t.Error("a table with one row links to a page where it can be sorted")
	}
	listing := s.record(t, "/listings/L1")
	wantTexts(t, listing, "Extra: in: y 1 2026-11-01 02:00", "Extra: list 2 items", "Extra: rating yes 2026-11-03 02:00 1 earlier 4.50 2026-11-01 02:00 to 2026-11-03 02:00")
	if text := textOf(listing); strings.Contains(text, `{"`) {
		t.Errorf("the page of the listing shows JSON:\n%s", text)
	}
	article := s.record(t, "/articles/A1")
	wantTexts(t, article, "facts.docx", "brief.pdf",
		"Ann 2026-10-03 10:00 First <i>draft</i> Bob 2026-10-05 10:00 A reply to the first "+
			"Bob 2026-10-04 10:00, edited 2026-10-06 10:00 Another Edited")
	if _, reply, _ := strings.Cut(article, `<li class="reply">`); !strings.HasPrefix(textOf(reply), "Bob 2026-10-05") ||
		strings.Contains(reply, `<li class="reply">`) {
		t.Errorf("want one comment as a reply, the first of Bob:\n%s", textOf(reply))
	}
	if !strings.Contains(campaign, `class="share"`) || !strings.Contains(article, `class="share"`) {
		t.Error("the numbers of articles by status, or the days in a status, have no bars")
	}
	wantTexts(t, s.record(t, "/orders/R1"), "2026-10-08 10:00 published late")
	wantTexts(t, s.record(t, "/orders/R4"), "2026-10-17 10:00 past its promise")
	wantTexts(t, s.get(t, "/articles?is.past_promise=true&is.past_expected=true", http.StatusOK), "1 row ", "Slow piece")
	wantTexts(t, s.record(t, "/articles/A5"), "Promised 2026-10-17 10:00 Past promise yes Expected 2026-10-30 10:00 Past expected yes")
}
