package sim

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// defaultLimit is the page size of a request that names none (spec 4.1).
const defaultLimit = 25

// errBadQuery gets the answer 400.
var errBadQuery = errors.New("limit and page must be whole numbers from 1")

// page is the part of a list that a request asks for.
type page struct {
	limit, number int
}

// parsePage reads limit and page; a limit beyond the cap becomes the cap.
func parsePage(query url.Values, limitCap int) (page, error) {
	limit, err := parsePositive(query.Get("limit"), defaultLimit)
	if err != nil {
		return page{}, err
	}
	number, err := parsePositive(query.Get("page"), 1)
	return page{limit: min(limit, limitCap), number: number}, err
}

// parsePositive reads a whole number from 1; an empty text is the default.
func parsePositive(text string, otherwise int) (int, error) {
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, errBadQuery
	}
	return n, nil
}

// bounds is the half-open range of the page within so many records.
func (p page) bounds(total int) (from, to int) {
	if p.number > total/p.limit+1 {
		return total, total
	}
	from = min((p.number-1)*p.limit, total)
	return from, min(from+p.limit, total)
}

// listKeys are the filters that have a list of values in the spec.
func listKeys() []string {
	return []string{"disclaimer_ids", "placement_types", "channel_types", "tags", "product_ids"}
}

// parseFilters reads filters[key]=v and filters[key][0]=v. The form with bare
// brackets is ignored without an error, as is a list-valued key without an
// index.
func parseFilters(query url.Values) map[string][]string {
	filters := map[string][]string{}
	for name, values := range query {
		rest, ok := strings.CutPrefix(name, "filters[")
		if !ok {
			continue
		}
		key, index, ok := strings.Cut(rest, "]")
		scalar := index == ""
		if !ok || scalar && slices.Contains(listKeys(), key) || !scalar && !isIndex(index) {
			continue
		}
		filters[key] = append(filters[key], values...)
	}
	return filters
}

// isIndex reports whether a bracket holds a number.
func isIndex(bracket string) bool {
	inner, ok := strings.CutPrefix(bracket, "[")
	if !ok {
		return false
	}
	inner, ok = strings.CutSuffix(inner, "]")
	_, err := strconv.ParseUint(inner, 10, 31)
	return ok && err == nil
}

// filterAndSort applies the filters and the order that a request asks for.
func (v view) filterAndSort(query url.Values, s seed) view {
	if filters := parseFilters(query); len(filters) > 0 && v.match != nil {
		v = v.with(slices.DeleteFunc(v.numbers(), func(n uint32) bool {
			for key, values := range filters {
				if !v.match(n, key, values) {
					return true
				}
			}
			return false
		}))
	}
	return v.sortBy(query.Get("sort_by"), query.Get("order_by") == "asc", s)
}

// sortBy orders a view by a field, ties by id. Without a known field the default order
// stays; asc reverses it.
func (v view) sortBy(field string, ascending bool, s seed) view {
	byID := func(a, b uint32) int { return cmp.Compare(s.id(v.kind, a), s.id(v.kind, b)) }
	var compare func(a, b uint32) int
	switch {
	case field == "id":
		compare = byID
	case field != "" && v.sortKey != nil:
		compare = v.sortKey(field)
	}
	if compare == nil {
		if ascending {
			v.toHead = !v.toHead
		}
		return v
	}
	order := v.numbers()
	slices.SortFunc(order, func(a, b uint32) int {
		by := compare(a, b)
		if !ascending {
			by = -by
		}
		return cmp.Or(by, byID(a, b))
	})
	return v.with(order)
}

// twist is what a fault does to a page.
type twist struct {
	totals  int  // added to total_records
	endless bool // next_page never ends
	same    bool // every page is the first one
}

// writeList writes what a list request answers.
func (rt *route) writeList(e *enc, v view, query url.Values, t twist, opts *Options) error {
	p, err := parsePage(query, opts.PageCap)
	if err != nil {
		return err
	}
	v = v.filterAndSort(query, e.s)
	shape := rt.shape
	if rt.open && opts.Envelope != EnvelopeMixed {
		shape = opts.Envelope
	}
	from, to := p.bounds(v.len())
	if t.same {
		from, to = page{p.limit, 1}.bounds(v.len())
	}
	switch {
	case shape == EnvelopePaginated:
		writePage(e, v, p, from, to, t)
	case rt.open && opts.PageUntotalled:
		writeBare(e, shape, v, from, to)
	default:
		writeBare(e, shape, v, 0, v.len())
	}
	return nil
}

// writeRecords writes the elements of an array, without its brackets.
func writeRecords(e *enc, v view, from, to int) {
	for i := from; i < to; i++ {
		v.render(e, v.at(i))
	}
}

// writeBare writes an array, alone or as the only field of an object.
func writeBare(e *enc, shape Envelope, v view, from, to int) {
	if shape == EnvelopeArray {
		e.b = append(e.b, '[')
		writeRecords(e, v, from, to)
		e.close(']')
		return
	}
	e.b = append(e.b, '{')
	e.arr("records")
	writeRecords(e, v, from, to)
	e.close(']')
	e.end()
}

// writePage writes the envelope of spec 4.1. Worlds of odd seeds have the
// numbers before the records; nobody promised an order of fields.
func writePage(e *enc, v view, p page, from, to int, t twist) {
	e.b = append(e.b, '{')
	numbersFirst := e.s%2 == 1
	if numbersFirst {
		writeNumbers(e, v.len(), p, t)
	}
	e.arr("records")
	writeRecords(e, v, from, to)
	e.close(']')
	if !numbersFirst {
		writeNumbers(e, v.len(), p, t)
	}
	e.end()
}

// writeNumbers writes the totals and the neighbours of a page.
func writeNumbers(e *enc, records int, p page, t twist) {
	total := max(0, records+t.totals)
	pages := (total + p.limit - 1) / p.limit
	e.num("total_records", int64(total))
	e.num("total_pages", int64(pages))
	e.num("current_page", int64(p.number))
	if p.number < pages || t.endless || t.same {
		e.num("next_page", int64(p.number)+1)
	} else {
		e.null("next_page")
	}
	if p.number > 1 {
		e.num("previous_page", int64(p.number)-1)
	} else {
		e.null("previous_page")
	}
}
