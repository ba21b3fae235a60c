package sim

import (
	"math"
	"net/http"
	"strings"
	"sync"
	"time"
)

// FaultKind is the way in which an answer is spoilt.
type FaultKind int

const (
	// FaultStatus answers Status, 500 when unset, with Retry-After if given.
	FaultStatus FaultKind = iota
	// FaultReset resets the connection before the first byte.
	FaultReset
	// FaultResetBody resets the connection in the middle of the body.
	FaultResetBody
	// FaultTruncate promises the whole body in Content-Length and sends half.
	FaultTruncate
	// FaultHTML answers 200 with a page of HTML, as a captive proxy does.
	FaultHTML
	// FaultBrokenJSON answers 200 with the first two thirds of the JSON.
	FaultBrokenJSON
	// FaultEmpty answers 200 without a body.
	FaultEmpty
	// FaultSlow sends the body in eight parts, Delay before each.
	FaultSlow
	// FaultRedirect answers 302 to Location.
	FaultRedirect
	// FaultEndlessPages never lets next_page be null; pages beyond the end
	// have no records.
	FaultEndlessPages
	// FaultSamePage answers the records of page 1 whatever page is asked for,
	// and next_page never ends.
	FaultSamePage
	// FaultTotals adds Delta to total_records.
	FaultTotals
	// FaultRewrite sends what Rewrite makes of the body.
	FaultRewrite
)

// Fault is a rule: which requests it spoils, and how. Choices by probability
// depend on the seed and the count of matching requests, not on time.
type Fault struct {
	// Path is the prefix of the paths it is for, without the base path.
	// Empty: all.
	Path string
	// Route is the pattern it is for, as Service.Routes lists them, which tells
	// a list from its details. Empty: all, and paths that are no route's.
	Route string
	// Skip is how many matching requests pass unharmed first. 0: none.
	Skip int
	// Times is how many are spoilt at most. 0: all that follow.
	Times int
	// Probability is the share of them that is spoilt, from 0 to 1. 0: all.
	Probability float64
	// Kind says how.
	Kind FaultKind
	// Status is that of FaultStatus. 0: 500.
	Status int
	// RetryAfter is the header's text, of whatever form. Empty: no header.
	RetryAfter string
	// Delay is that of FaultSlow, before each part. 0: none.
	Delay time.Duration
	// Location is that of FaultRedirect. Empty: a host that does not exist.
	Location string
	// Delta is that of FaultTotals. Records.
	Delta int
	// Rewrite is that of FaultRewrite. Nil leaves the body as it is; the
	// bytes are its own to change.
	Rewrite func(body []byte) []byte
}

// faults decide which fault a request meets.
type faults struct {
	seed    seed
	program func(r *http.Request, n int) *Fault

	mu      sync.Mutex // guards the rest
	rules   []Fault    // never changed in place: answers hold on to them
	matched []int      // requests that each rule matched
	spoilt  []int      // requests that each rule spoilt
	seen    int        // all requests
}

// setRules replaces the rules; counts start anew.
func (f *faults) setRules(rules []Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = append([]Fault(nil), rules...)
	f.matched, f.spoilt = make([]int, len(rules)), make([]int, len(rules))
}

// matchesRequest tells whether a rule is about a request at all.
func (f *Fault) matchesRequest(path string, rt *route) bool {
	if f.Route != "" && (rt == nil || rt.pattern != f.Route) {
		return false
	}
	return strings.HasPrefix(path, f.Path)
}

// chooseFault is the fault for a request, or nil. The first rule that strikes wins;
// the rules after it do not count the request.
func (f *faults) chooseFault(r *http.Request, path string, rt *route) *Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen++
	if f.program != nil {
		if fault := f.program(r, f.seen); fault != nil {
			return fault
		}
	}
	for i := range f.rules {
		if f.rules[i].matchesRequest(path, rt) && f.strikesRequest(i) {
			return &f.rules[i]
		}
	}
	return nil
}

// strikesRequest counts a matching request and tells whether the rule spoils it.
func (f *faults) strikesRequest(i int) bool {
	rule := f.rules[i]
	f.matched[i]++
	if f.matched[i] <= rule.Skip || rule.Times > 0 && f.spoilt[i] >= rule.Times {
		return false
	}
	draw := f.seed.roll(kindRoute, uint32(f.matched[i]), 100+uint64(i))
	if rule.Probability > 0 && float64(draw) >= rule.Probability*math.MaxUint64 {
		return false
	}
	f.spoilt[i]++
	return true
}

// pageTwist is what the fault does to a page; nothing for most.
func (f *Fault) pageTwist() twist {
	if f == nil {
		return twist{}
	}
	switch f.Kind {
	case FaultEndlessPages:
		return twist{endless: true}
	case FaultSamePage:
		return twist{same: true}
	case FaultTotals:
		return twist{totals: f.Delta}
	}
	return twist{}
}

// replacesAnswer tells whether the fault answers instead of the service, which then
// does not even look at the token.
func (f *Fault) replacesAnswer() bool {
	switch f.Kind {
	case FaultStatus, FaultReset, FaultHTML, FaultEmpty, FaultRedirect:
		return true
	}
	return false
}

// makeReply is the reply of a fault that replaces the service's.
func (f *Fault) makeReply() reply {
	switch f.Kind {
	case FaultReset:
		return reply{cut: cutBefore}
	case FaultHTML:
		return reply{status: http.StatusOK, mime: "text/html; charset=utf-8", body: []byte(gatePage)}
	case FaultEmpty:
		return reply{status: http.StatusOK, mime: jsonMime}
	case FaultRedirect:
		location := f.Location
		if location == "" {
			location = "http://elsewhere.invalid/"
		}
		return reply{status: http.StatusFound, location: location}
	}
	status := f.Status
	if status == 0 {
		status = http.StatusInternalServerError
	}
	out := errorReply(status, "the service is told to fail")
	out.retryAfter = f.RetryAfter
	return out
}

// spoilReply changes a reply that the service made.
func (f *Fault) spoilReply(out reply) reply {
	switch f.Kind {
	case FaultResetBody:
		out.cut = cutReset
	case FaultTruncate:
		out.cut = cutShort
	case FaultBrokenJSON:
		out.body = out.body[:len(out.body)*2/3]
	case FaultSlow:
		out.delay, out.slow = f.Delay, true
	case FaultRewrite:
		if f.Rewrite != nil {
			out.body = f.Rewrite(out.body)
		}
	}
	return out
}

// gatePage is what a sign-in page in between answers.
const gatePage = "<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body><h1>Network sign-in</h1></body></html>\n"
