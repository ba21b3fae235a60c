package sim

import (
	"errors"
	"net/url"
	"strconv"
)

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

// writeList writes the response to a list request. A limit above the cap becomes the cap.
func (rt *route) writeList(e *enc, v view, query url.Values, fault *Fault, opts *Options) error {
	limit, err := parsePositive(query.Get("limit"), 25) // spec 4.1
	if err != nil {
		return err
	}
	limit = min(limit, opts.PageCap)
	page, err := parsePositive(query.Get("page"), 1)
	if err != nil {
		return err
	}
	if opts.Sorts && query.Get("sort_by") == "created_at" && query.Get("order_by") == "desc" {
		v.sortNewestFirst()
	}
	envelope := rt.envelope
	if rt.anyEnvelope && opts.Envelope != EnvelopeMixed {
		envelope = opts.Envelope
	}
	from, to := 0, len(v.numbers)
	if envelope == EnvelopePaginated || rt.anyEnvelope && opts.PagesWithoutTotals {
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
	if envelope == EnvelopeArray {
		e.b = append(e.b, '[')
	} else {
		e.b = append(e.b, '{')
		if envelope == EnvelopePaginated && totalsFirst {
			writeTotals(e, len(v.numbers), limit, page, fault)
		}
		e.arr("records")
	}
	for i := from; i < to; i++ {
		v.render(e, v.at(i))
	}
	e.close(']')
	if envelope == EnvelopePaginated && !totalsFirst {
		writeTotals(e, len(v.numbers), limit, page, fault)
	}
	if envelope != EnvelopeArray {
		e.end()
	}
	return nil
}

func writeTotals(e *enc, total, limit, page int, fault *Fault) {
	if fault.Kind == FaultTotals {
		total = max(0, total+fault.Delta)
	}
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
