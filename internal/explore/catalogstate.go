package explore

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// facet is a property of listings. The page counts its values and filters by them.
type facet struct {
	key, label string
	// column is a column of product_listings. It is empty if another table contains the property.
	// A listing can then have several values.
	column string
}

func facets() []facet {
	return []facet{
		{"country", "Country", "country"}, {"state", "State", "state"}, {"channel", "Channel type", "channel_type"},
		{"placement", "Placement type", "placement_type"}, {"tag", "Tag", ""}, {"dofollow", "Do-follow", "is_do_follow"},
		{"disclaimer", "Disclaimer", "disclaimer"}, {"tier", "Pricing tier", ""}, {"currency", "Currency", ""},
	}
}

type rangeFilter struct {
	key, label string
	column     string // of product_listings; empty for the price, which is in another table
}

func rangeFilters() []rangeFilter {
	return []rangeFilter{
		{"price", "Price", ""}, {"authority", "Domain authority", "domain_authority"},
		{"ranking", "Domain ranking", "domain_ranking"}, {"days", "Maximum delivery days", "max_delivery_days"},
	}
}

const columnKey = "col" // the parameter with a column of the table

type catalogColumn struct {
	key, label  string
	columnNames []string // columns of main.product_listings; empty for prices and tags, which are in other tables
	sortColumn  string   // empty means that the header does not sort
	isDefault   bool     // shown if the address chooses no columns
}

func catalogColumns() []catalogColumn {
	return []catalogColumn{
		{"name", "Listing", []string{"id", "name"}, "name", true},
		{"price", "Price from", nil, "price", true},
		{"tier", "Tier", nil, "", true},
		{"outlet", "Outlet", []string{"outlet_id", "outlet_name"}, "outlet_name", true},
		{"authority", "Authority", []string{"domain_authority"}, "domain_authority", true},
		{"ranking", "Ranking", []string{"domain_ranking"}, "domain_ranking", false},
		{"dofollow", "Do-follow", []string{"is_do_follow"}, "", true},
		{"disclaimer", "Disclaimer", []string{"disclaimer"}, "", false},
		{"days", "Delivery days", []string{"min_delivery_days", "max_delivery_days"}, "max_delivery_days", true},
		{"country", "Country", []string{"country"}, "", true},
		{"state", "State", []string{"state"}, "", false},
		{"city", "City", []string{"city"}, "", false},
		{"channel", "Channel type", []string{"channel_type"}, "", true},
		{"placement", "Placement type", []string{"placement_type"}, "", true},
		{"website", "Website", []string{"website_url"}, "", true},
		{"tags", "Tags", nil, "", false},
		{"created", "Created", []string{"created_at"}, "created_at", false},
	}
}

func findColumn(key string) (catalogColumn, bool) {
	i := slices.IndexFunc(catalogColumns(), func(c catalogColumn) bool { return c.key == key })
	if i < 0 {
		return catalogColumn{}, false
	}
	return catalogColumns()[i], true
}

type choice struct {
	Text string
	Null bool
}

// In an address, notStated means NULL, and emptyText means an empty text: an empty parameter would be
// ignored. A text that begins with a parenthesis gets a second parenthesis in front, so that it differs
// from notStated and emptyText.
const (
	notStated = "(none)"
	emptyText = "(empty)"
)

func (c choice) encode() string {
	switch {
	case c.Null:
		return notStated
	case c.Text == "":
		return emptyText
	case strings.HasPrefix(c.Text, "("):
		return "(" + c.Text
	}
	return c.Text
}

func decodeChoice(text string) choice {
	switch {
	case text == notStated:
		return choice{Null: true}
	case text == emptyText:
		return choice{}
	case strings.HasPrefix(text, "(("):
		text = text[1:]
	}
	return choice{Text: text}
}

type catalogState struct {
	Search     string
	Chosen     map[string][]choice // by facet.key
	Limits     map[string]string   // decimal texts by parameter, such as price_min
	Sort       string              // the key of a catalogColumn
	Descending bool
	Page       int
	Columns    []string

	CurrencyAssumed bool // by assumeCurrency
}

func (s *catalogState) comparesPrices() bool {
	return s.Limits["price_min"] != "" || s.Limits["price_max"] != "" || s.Sort == "price"
}

// assumeCurrency chooses the most frequent currency if the address compares prices and chooses none.
func (s *catalogState) assumeCurrency(v *visit) error {
	if len(s.Chosen["currency"]) > 0 || !s.comparesPrices() {
		return nil
	}
	mostFrequent, err := v.runStatement(catalogSQL.Render("most_frequent_currency", nil))
	if err != nil || len(mostFrequent.Rows) == 0 {
		return err
	}
	s.Chosen["currency"] = []choice{{Text: mostFrequent.Rows[0].Get("currency").Text}}
	s.CurrencyAssumed = true
	return nil
}

const pageRows = 50

// readCatalogState parses an address. Invalid values are errors and are never ignored. If it returns
// an error, the state contains the valid parameters, so that the form can show them.
func readCatalogState(values url.Values) (catalogState, error) {
	s := catalogState{Chosen: map[string][]choice{}, Limits: map[string]string{}, Page: 1, Sort: "authority", Descending: true}
	var firstErr error
	for _, key := range slices.Sorted(maps.Keys(values)) {
		for _, text := range values[key] {
			if err := s.apply(key, text); err != nil && firstErr == nil {
				firstErr = err
			}
		}
	}
	if firstErr == nil {
		firstErr = s.check()
	}
	return s, firstErr
}

// apply ignores empty parameters, which the form sends for empty fields. An empty column is an error, because the form
// has check boxes for columns and never sends an empty one.
func (s *catalogState) apply(key, text string) error {
	isFacet := slices.ContainsFunc(facets(), func(f facet) bool { return f.key == key })
	isLimit := slices.ContainsFunc(rangeFilters(), func(r rangeFilter) bool { return key == r.key+"_min" || key == r.key+"_max" })
	if err := checkText(key, text); err != nil {
		return err
	}
	if text == "" && key != columnKey {
		return nil
	}
	switch {
	case key == searchKey:
		s.Search = strings.TrimSpace(text)
	case isFacet:
		if c := decodeChoice(text); !slices.Contains(s.Chosen[key], c) {
			s.Chosen[key] = append(s.Chosen[key], c)
		}
	case isLimit:
		text = strings.TrimSpace(text)
		if !numberPattern.MatchString(text) {
			return usageErr(fmt.Sprintf("%s %q is not a number such as 12.50", key, text), "Change it in the form or the address.")
		}
		s.Limits[key] = text
	case key == sortKey:
		column, down := strings.CutPrefix(text, "-")
		if c, ok := findColumn(column); !ok || c.sortColumn == "" {
			return usageErr(fmt.Sprintf("the catalog cannot be sorted by %q", text), "Click the header of a column.")
		}
		s.Sort, s.Descending = column, down
	case key == pageKey:
		n, err := parsePage(text)
		s.Page = n
		return err
	case key == columnKey:
		if _, ok := findColumn(text); !ok {
			var keys []string
			for _, c := range catalogColumns() {
				keys = append(keys, c.key)
			}
			return usageErr(fmt.Sprintf("unknown column %q", text), "The columns are "+strings.Join(keys, ", ")+".")
		}
		s.Columns = append(s.Columns, text)
	}
	return nil
}

// catalogKeys lists the parameters of an address of the catalog.
func catalogKeys() []string {
	keys := []string{searchKey, sortKey, pageKey, columnKey}
	for _, f := range facets() {
		keys = append(keys, f.key)
	}
	for _, r := range rangeFilters() {
		keys = append(keys, r.key+"_min", r.key+"_max")
	}
	return keys
}

var numberPattern = regexp.MustCompile(`^-?\d{1,12}(\.\d{1,6})?$`)

func (s *catalogState) check() error {
	choices := 0
	for _, chosen := range s.Chosen {
		choices += len(chosen)
	}
	currencies := len(s.Chosen["currency"])
	switch {
	case len(strings.Fields(s.Search)) > maxWords || choices > maxChoices:
		return usageErr(fmt.Sprintf("the address has more than %d words in the search, or more than %d choices", maxWords, maxChoices), "Choose fewer.")
	case s.comparesPrices() && currencies > 1:
		return usageErr("prices of different currencies cannot be compared", "Choose one currency, then sort by price or choose a range.")
	}
	return nil
}

// shows reports whether the table has a column. It always has the first column.
func (s *catalogState) shows(c catalogColumn) bool {
	if len(s.Columns) == 0 {
		return c.isDefault
	}
	return c.key == "name" || slices.Contains(s.Columns, c.key)
}

func (s *catalogState) shownColumns() []catalogColumn {
	return slices.DeleteFunc(catalogColumns(), func(c catalogColumn) bool { return !s.shows(c) })
}

// currency returns the chosen currency. If not exactly one is chosen, ok is false.
func (s *catalogState) currency() (c choice, ok bool) {
	if chosen := s.Chosen["currency"]; len(chosen) == 1 {
		return chosen[0], true
	}
	return choice{}, false
}
