package sim

import (
	"errors"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
)

// list is the state of a list endpoint. It refers to records by number.
type list struct {
	// numbers are the numbers of the listed records, in reverse. A list that is sorted newest first has
	// the newest record as the last element, so that new records can be appended.
	numbers []uint32
	// newestAt is the latest created_at in the list. New records get a later one.
	newestAt int64
	// rng chooses the positions of new records. Nil means that they are appended.
	rng *rand.Rand

	removed map[uint32]bool // deleted records
	// Counts for churn: requests of the list, inserted records and deleted records.
	requests, inserted, deleted int
}

// nextCreatedAt returns the created_at of the next record: earliest, or the second after the newest
// record if that is later.
func (l *list) nextCreatedAt(earliest int64) int64 {
	l.newestAt = max(earliest, l.newestAt+1)
	return l.newestAt
}

func (l *list) add(n uint32) {
	if l.rng == nil {
		l.numbers = append(l.numbers, n)
		return
	}
	l.numbers = slices.Insert(l.numbers, l.rng.IntN(len(l.numbers)+1), n)
}

func (l *list) remove(n uint32) {
	l.numbers = slices.DeleteFunc(l.numbers, func(m uint32) bool { return m == n })
	if l.removed == nil {
		l.removed = map[uint32]bool{}
	}
	l.removed[n] = true
}

// viewOf returns the records with the numbers from 0 to count-1 for which keep returns true, without deleted
// records.
func (l *list) viewOf(count int, keep func(n uint32) bool, render func(e *enc, n uint32)) view {
	numbers := slices.DeleteFunc(countTo(count), func(n uint32) bool { return l.removed[n] || !keep(n) })
	return view{numbers: numbers, reversed: true, render: render}
}

func countTo(count int) []uint32 {
	numbers := make([]uint32, count)
	for i := range numbers {
		numbers[i] = uint32(i)
	}
	return numbers
}

// view is the content of a list at the time of a request.
type view struct {
	numbers  []uint32 // numbers of the records
	reversed bool     // the last element of numbers is listed first
	render   func(e *enc, n uint32)
}

func (v view) at(i int) uint32 {
	if v.reversed {
		return v.numbers[len(v.numbers)-1-i]
	}
	return v.numbers[i]
}

// sortNewestFirst relies on the numbers of records, which follow the order of creation.
func (v *view) sortNewestFirst() {
	v.numbers, v.reversed = slices.Sorted(slices.Values(v.numbers)), true
}

func parsePositive(text string, fallback int) (int, error) {
	if text == "" {
		return fallback, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, errors.New("limit and page must be whole numbers from 1")
	}
	return n, nil
}

// pageCap is the maximum page size.
const pageCap = 100

// writeList writes the response to a list request. A limit above the cap becomes the cap.
func (rt *route) writeList(e *enc, v view, query url.Values, fault *Fault, sorts bool) error {
	limit, err := parsePositive(query.Get("limit"), 25) // spec 4.1
	if err != nil {
		return err
	}
	limit = min(limit, pageCap)
	page, err := parsePositive(query.Get("page"), 1)
	if err != nil {
		return err
	}
	if sorts && query.Get("sort_by") == "created_at" && query.Get("order_by") == "desc" {
		v.sortNewestFirst()
	}
	envelope := rt.envelope
	if rt.anyEnvelope && e.realistic {
		envelope = envelopePaginated
	}
	from, to := 0, len(v.numbers)
	if envelope == envelopePaginated {
		servedPage := page
		if fault.Kind == FaultSamePage {
			servedPage = 1
		}
		pagesBefore := min(servedPage-1, len(v.numbers)) // a huge page number must not overflow
		from = min(pagesBefore*limit, len(v.numbers))
		to = min(from+limit, len(v.numbers))
	}
	// Worlds with odd seeds have the totals before the records, because the spec does not define
	// the order of fields.
	totalsFirst := e.seed%2 == 1
	if envelope == envelopeArray {
		e.b = append(e.b, '[')
	} else {
		e.b = append(e.b, '{')
		if envelope == envelopePaginated && totalsFirst {
			writeTotals(e, len(v.numbers), limit, page, fault)
		}
		e.arr("records")
	}
	for i := from; i < to; i++ {
		v.render(e, v.at(i))
	}
	e.close(']')
	if envelope == envelopePaginated && !totalsFirst {
		writeTotals(e, len(v.numbers), limit, page, fault)
	}
	if envelope != envelopeArray {
		e.end()
	}
	return nil
}

func writeTotals(e *enc, total, limit, page int, fault *Fault) {
	pages := (total + limit - 1) / limit
	e.num("total_records", int64(total))
	e.num("total_pages", int64(pages))
	e.num("current_page", int64(page))
	if page < pages || fault.Kind == FaultEndlessPages || fault.Kind == FaultSamePage {
		e.num("next_page", int64(page)+1)
	} else {
		e.null("next_page")
	}
	if page > 1 {
		e.num("previous_page", int64(page)-1)
	} else {
		e.null("previous_page")
	}
}
