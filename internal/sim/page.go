package sim

import (
	"errors"
	"net/url"
	"strconv"
)

// defaultLimit is the page size of requests without a limit (spec 4.1).
const defaultLimit = 25

// errBadQuery causes a response with status 400.
var errBadQuery = errors.New("limit and page must be whole numbers from 1")

// page is the requested part of a list.
type page struct {
	limit, number int
}

// parsePage parses limit and page. A limit above the cap becomes the cap.
func parsePage(query url.Values, limitCap int) (page, error) {
	limit, err := parsePositive(query.Get("limit"), defaultLimit)
	if err != nil {
		return page{}, err
	}
	number, err := parsePositive(query.Get("page"), 1)
	return page{limit: min(limit, limitCap), number: number}, err
}

// parsePositive parses a positive integer. An empty text means the default.
func parsePositive(text string, fallback int) (int, error) {
	if text == "" {
		return fallback, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, errBadQuery
	}
	return n, nil
}

// bounds returns the half-open range of the page within total records.
func (p page) bounds(total int) (from, to int) {
	if p.number > total/p.limit+1 {
		return total, total
	}
	from = min((p.number-1)*p.limit, total)
	return from, min(from+p.limit, total)
}

// writeList writes the response to a list request.
func (rt *route) writeList(e *enc, v view, query url.Values, fault *Fault, opts *Options) error {
	p, err := parsePage(query, opts.PageCap)
	if err != nil {
		return err
	}
	shape := rt.shape
	if rt.unspecified && opts.Envelope != EnvelopeMixed {
		shape = opts.Envelope
	}
	from, to := p.bounds(v.len())
	switch {
	case shape != EnvelopePaginated && !(rt.unspecified && opts.PageUntotalled):
		from, to = 0, v.len()
	case fault.Kind == FaultSamePage:
		from, to = page{p.limit, 1}.bounds(v.len())
	}
	// Worlds with odd seeds have the totals before the records, because the spec does not define
	// the order of fields.
	numbersFirst := e.s%2 == 1
	if shape == EnvelopeArray {
		e.b = append(e.b, '[')
	} else {
		e.b = append(e.b, '{')
		if shape == EnvelopePaginated && numbersFirst {
			writeNumbers(e, v.len(), p, fault)
		}
		e.arr("records")
	}
	for i := from; i < to; i++ {
		v.render(e, v.at(i))
	}
	e.close(']')
	if shape == EnvelopePaginated && !numbersFirst {
		writeNumbers(e, v.len(), p, fault)
	}
	if shape != EnvelopeArray {
		e.end()
	}
	return nil
}

// writeNumbers writes the totals and page numbers.
func writeNumbers(e *enc, records int, p page, fault *Fault) {
	total := records
	if fault.Kind == FaultTotals {
		total = max(0, records+fault.Delta)
	}
	pages := (total + p.limit - 1) / p.limit
	e.num("total_records", int64(total))
	e.num("total_pages", int64(pages))
	e.num("current_page", int64(p.number))
	if p.number < pages || fault.Kind == FaultEndlessPages || fault.Kind == FaultSamePage {
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
