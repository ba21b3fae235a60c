package explore

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// facet is a trait of listings that has counts and can be chosen.
type facet struct {
	// key is its parameter in the address.
	key, label string
	// column is that of product_listings; "": the trait is in a table beside it.
	column string
}

// facets are those of the catalog, in the order of the page. tag, tier and currency are
// those that a listing can have several values of.
func facets() []facet {
	return []facet{
		{"country", "Country", "country"}, {"state", "State", "state"}, {"channel", "Channel type", "channel_type"},
		{"placement", "Placement type", "placement_type"}, {"tag", "Tag", ""}, {"dofollow", "Do-follow", "is_do_follow"},
		{"disclaimer", "Disclaimer", "disclaimer"}, {"tier", "Pricing tier", ""}, {"currency", "Currency", ""},
	}
}

// span is a quantity with a range.
type span struct {
	key, label, column string
}

func spans() []span {
	return []span{
		{"price", "Price", ""}, {"authority", "Domain authority", "domain_authority"},
		{"ranking", "Domain ranking", "domain_ranking"}, {"days", "Delivery days at most", "max_delivery_days"},
	}
}

// column is one that the table can show. plain are the columns of the answer; name and
// id are always there.
type column struct {
	key, label string
	// sort is the expression that the head sorts by; "": it does not.
	plain []string
	sort  string
	// usual columns are shown unless the address chooses.
	usual bool
}

func columns() []column {
	return []column{
		{"name", "Listing", []string{"id", "name"}, "name", true},
		{"price", "Price from", []string{"price"}, "price", true},
		{"outlet", "Outlet", []string{"outlet_id", "outlet_name"}, "outlet_name", true},
		{"authority", "Authority", []string{"domain_authority"}, "domain_authority", true},
		{"ranking", "Ranking", []string{"domain_ranking"}, "domain_ranking", true},
		{"dofollow", "Do-follow", []string{"is_do_follow"}, "", true},
		{"disclaimer", "Disclaimer", []string{"disclaimer"}, "", false},
		{"days", "Delivery days", []string{"min_delivery_days", "max_delivery_days"}, "max_delivery_days", true},
		{"country", "Country", []string{"country"}, "", true},
		{"state", "State", []string{"state"}, "", false},
		{"city", "City", []string{"city"}, "", false},
		{"channel", "Channel type", []string{"channel_type"}, "", true},
		{"placement", "Placement type", []string{"placement_type"}, "", true},
		{"website", "Website", []string{"website_url"}, "", true},
		{"tags", "Tags", []string{"tags"}, "", false},
		{"created", "Created", []string{"created_at"}, "created_at", false},
	}
}

func columnOf(key string) (column, bool) {
	i := slices.IndexFunc(columns(), func(c column) bool { return c.key == key })
	if i < 0 {
		return column{}, false
	}
	return columns()[i], true
}

// choice is a value of a facet: a text, or what is not stated.
type choice struct {
	Text string
	Null bool
}

// notStated is the choice of NULL in an address and emptyText that of an empty text, which
// a form cannot send. A text that begins with a bracket gets another one, so that every
// text has an address of its own.
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

// limits are the bounds of a range, as digits; "": none.
type limits struct{ Min, Max string }

// state is what the address of the catalog asks for.
type state struct {
	Search  string
	Chosen  map[string][]choice
	Ranges  map[string]limits
	Sort    string // a key of columns
	Down    bool
	Page    int
	Columns []string
}

const (
	usualSort = "-authority"
	pageRows  = 50
	// mostWords and mostChoices bound the statement that an address makes.
	mostWords   = 12
	mostChoices = 200
	longestText = 500
)

// readState reads an address. What it cannot ask for is an error, and never left out:
// the answer would be that of another question. The state has all the rest then, since the
// form that shows the error is made of it.
func readState(values url.Values) (state, error) {
	s := state{Chosen: map[string][]choice{}, Ranges: map[string]limits{}, Page: 1, Sort: strings.TrimPrefix(usualSort, "-"), Down: true}
	var problem error // the first
	for _, key := range slices.Sorted(maps.Keys(values)) {
		for _, text := range values[key] {
			if err := s.apply(key, text); err != nil && problem == nil {
				problem = err
			}
		}
	}
	if problem == nil {
		problem = s.check()
	}
	return s, problem
}

// apply reads one parameter. An empty one is a field of the form that nobody filled.
func (s *state) apply(key, text string) error {
	isFacet := slices.ContainsFunc(facets(), func(f facet) bool { return f.key == key })
	stem, end, _ := strings.Cut(key, "_")
	isSpan := slices.ContainsFunc(spans(), func(r span) bool { return r.key == stem }) && (end == "min" || end == "max")
	switch {
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0) || len(text) > longestText:
		return usageErr(fmt.Sprintf("refuse the parameter %q: it is not text of up to %d bytes", key, longestText), "Change the address.")
	case text == "" && (isFacet || isSpan || key == "q" || key == "sort" || key == "page"):
	case key == "q":
		s.Search = strings.TrimSpace(text)
	case isFacet:
		if c := decodeChoice(text); !slices.Contains(s.Chosen[key], c) {
			s.Chosen[key] = append(s.Chosen[key], c)
		}
	case isSpan:
		return s.applyLimit(stem, end, text)
	case key == "sort":
		return s.applySort(text)
	case key == "page":
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 1_000_000 {
			return usageErr(fmt.Sprintf("refuse page %q: it is not a number from 1 on", text), "Change page in the address.")
		}
		s.Page = n
	case key == "col":
		if _, ok := columnOf(text); !ok {
			return usageErr(fmt.Sprintf("find no column %q", text), "Columns are "+columnKeys()+".")
		}
		s.Columns = append(s.Columns, text)
	default:
		return usageErr(fmt.Sprintf("refuse the parameter %q: the catalog does not know it", key), "Remove it from the address.")
	}
	return nil
}

func columnKeys() string {
	var keys []string
	for _, c := range columns() {
		keys = append(keys, c.key)
	}
	return strings.Join(keys, ", ")
}

// number is what the amounts of the catalog can be compared with.
var number = regexp.MustCompile(`^-?\d{1,12}(\.\d{1,6})?$`)

func (s *state) applyLimit(stem, end, text string) error {
	text = strings.TrimSpace(text)
	if !number.MatchString(text) {
		return usageErr(fmt.Sprintf("refuse %s_%s %q: it is not a number such as 12.50", stem, end, text), "Change it in the form or the address.")
	}
	l := s.Ranges[stem]
	if end == "min" {
		l.Min = text
	} else {
		l.Max = text
	}
	s.Ranges[stem] = l
	return nil
}

func (s *state) applySort(text string) error {
	key, down := strings.CutPrefix(text, "-")
	if c, ok := columnOf(key); !ok || c.sort == "" {
		return usageErr(fmt.Sprintf("refuse to sort by %q: the catalog cannot", text), "Choose the head of a column.")
	}
	s.Sort, s.Down = key, down
	return nil
}

// check refuses what no single parameter is wrong in.
func (s *state) check() error {
	chosen := 0
	for _, all := range s.Chosen {
		chosen += len(all)
	}
	_, priced := s.Ranges["price"]
	currencies := len(s.Chosen["currency"])
	switch {
	case len(s.words()) > mostWords || chosen > mostChoices:
		return usageErr(fmt.Sprintf("refuse more than %d words or %d choices", mostWords, mostChoices), "Choose fewer.")
	case priced && currencies != 1:
		return usageErr("refuse to compare prices of different currencies", "Choose one currency, then a range of prices.")
	case s.Sort == "price" && currencies != 1:
		return usageErr("refuse to sort prices of different currencies", "Choose one currency, then sort by price.")
	}
	return nil
}

func (s *state) words() []string { return strings.Fields(s.Search) }

// encode is the address again, in one order. Parts at their usual value are left out.
func (s *state) encode() string {
	v := s.filters()
	if order := s.order(); order != "" {
		v.Set("sort", order)
	}
	if s.Page > 1 {
		v.Set("page", strconv.Itoa(s.Page))
	}
	if len(s.Columns) > 0 {
		v["col"] = s.Columns
	}
	return v.Encode()
}

// order is the parameter sort; "": the usual one.
func (s *state) order() string {
	text := s.Sort
	if s.Down {
		text = "-" + text
	}
	if text == usualSort {
		return ""
	}
	return text
}

// filters are the parameters that choose rows: equal ones have equal counts.
func (s *state) filters() url.Values {
	v := url.Values{}
	if s.Search != "" {
		v.Set("q", s.Search)
	}
	for key, all := range s.Chosen {
		for _, c := range all {
			v.Add(key, c.encode())
		}
	}
	for key, l := range s.Ranges {
		if l.Min != "" {
			v.Set(key+"_min", l.Min)
		}
		if l.Max != "" {
			v.Set(key+"_max", l.Max)
		}
	}
	return v
}

// shownColumns are those that the address chooses, in the order of the page.
func (s *state) shownColumns() []column {
	var shown []column
	for _, c := range columns() {
		if c.key == "name" || slices.Contains(s.Columns, c.key) || len(s.Columns) == 0 && c.usual {
			shown = append(shown, c)
		}
	}
	return shown
}

// currency is the one that prices are shown in; ok is false unless one is chosen.
func (s *state) currency() (c choice, ok bool) {
	if len(s.Chosen["currency"]) != 1 {
		return c, false
	}
	return s.Chosen["currency"][0], true
}
