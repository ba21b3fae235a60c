package explore

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"placementsync/internal/query"
)

// Parameters of an address that search, sort, page and filter a table. The key of a filter is a prefix
// such as minPrefix, followed by the name of a column, as in min.paid=2026-10-01.
const (
	searchKey   = "q"
	sortKey     = "sort"
	pageKey     = "page"
	equalPrefix = "is."
	minPrefix   = "min."
	maxPrefix   = "max."
)

func tableKeys(others ...string) []string {
	return append(others, searchKey, sortKey, pageKey, equalPrefix, minPrefix, maxPrefix)
}

type tableState struct {
	Search     string
	Sort       string // a column; empty means the order of the result
	Descending bool
	Page       int
	Filters    []columnFilter
}

// columnFilter compares a column with a value. prefix is equalPrefix, minPrefix or maxPrefix.
type columnFilter struct {
	prefix string
	column query.Column
	text   string
}

// Limits of an address, so that its statement is not too large.
const (
	maxWords   = 12
	maxChoices = 200
	maxText    = 500 // bytes
	maxPage    = 1_000_000
)

// readTableState ignores empty parameters, which the form sends for empty fields. Unknown columns and invalid
// values are errors.
func readTableState(params url.Values, columns []query.Column) (tableState, error) {
	s := tableState{Search: strings.TrimSpace(params.Get(searchKey)), Page: 1}
	var err error
	if text := params.Get(pageKey); text != "" {
		if s.Page, err = parsePage(text); err != nil {
			return s, err
		}
	}
	if len(strings.Fields(s.Search)) > maxWords {
		return s, usageErr(fmt.Sprintf("the address has more than %d words in the search", maxWords), "Choose fewer.")
	}
	for _, key := range slices.Sorted(maps.Keys(params)) {
		text := strings.TrimSpace(params.Get(key))
		prefix, name, hasDot := strings.Cut(key, ".")
		prefix += "."
		isFilter := hasDot && slices.Contains([]string{equalPrefix, minPrefix, maxPrefix}, prefix)
		isOfTable := isFilter || key == sortKey || key == searchKey
		if text == "" || !isOfTable {
			continue
		}
		if err := checkText(key, text); err != nil {
			return s, err
		}
		switch {
		case key == sortKey:
			s.Sort, s.Descending = strings.CutPrefix(text, "-")
			if _, err := columnNamed(columns, key, s.Sort); err != nil {
				return s, err
			}
		case isFilter:
			column, err := columnNamed(columns, key, name)
			if err != nil {
				return s, err
			}
			f := columnFilter{prefix, column, text}
			if err := f.check(); err != nil {
				return s, err
			}
			s.Filters = append(s.Filters, f)
		}
	}
	return s, nil
}

// columnNamed returns a column that the parameter key names.
func columnNamed(columns []query.Column, key, name string) (query.Column, error) {
	index := slices.IndexFunc(columns, func(c query.Column) bool { return c.Name == name })
	if index < 0 {
		return query.Column{}, usageErr(fmt.Sprintf("%s: the table has no column %q", key, name), "Click the header of a column, or use the filters of the page.")
	}
	return columns[index], nil
}

// checkText rejects texts that are too long, and texts that cannot be part of a statement.
func checkText(key, text string) error {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) || len(text) > maxText {
		return usageErr(fmt.Sprintf("the parameter %q is not a text of up to %d bytes", key, maxText), "Change the address.")
	}
	return nil
}

func parsePage(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxPage {
		return 1, usageErr(fmt.Sprintf("page %q is not a number from 1 to %d", text, maxPage), "Change the page number in the address.")
	}
	return n, nil
}

func isTime(c query.Column) bool { return c.Type == "DATE" || strings.HasPrefix(c.Type, "TIMESTAMP") }

func (f columnFilter) check() error {
	if f.prefix == equalPrefix {
		return nil
	}
	advice := "Change it in the form or the address."
	switch {
	case isTime(f.column):
		if _, err := time.Parse(time.DateOnly, f.text); err != nil {
			return usageErr(fmt.Sprintf("%s%s %q is not a date such as 2026-11-01", f.prefix, f.column.Name, f.text), advice)
		}
	case !f.column.Numeric:
		return usageErr(fmt.Sprintf("%s%s: only dates and numbers have ranges", f.prefix, f.column.Name), "Remove it from the address.")
	case !numberPattern.MatchString(f.text):
		return usageErr(fmt.Sprintf("%s%s %q is not a number such as 12.50", f.prefix, f.column.Name, f.text), advice)
	}
	return nil
}
