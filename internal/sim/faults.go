package sim

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// FaultKind is what a fault does to an answer.
type FaultKind int

const (
	// FaultStatus answers Status, 500 if unset, with Retry-After if set.
	FaultStatus FaultKind = iota
	// FaultReset resets the connection before the first byte.
	FaultReset
	// FaultResetBody resets the connection in the middle of the body.
	FaultResetBody
	// FaultTruncate promises the whole body in Content-Length and sends half.
	FaultTruncate
	// FaultHTML answers 200 with an HTML page, as a captive portal does.
	FaultHTML
	// FaultBrokenJSON answers 200 with the first two thirds of the JSON.
	FaultBrokenJSON
	// FaultEmpty answers 200 without a body.
	FaultEmpty
	// FaultSlow sends the body in eight parts, Delay before each.
	FaultSlow
	// FaultRedirect answers 302 to Location.
	FaultRedirect
	// FaultEndlessPages never answers null as next_page; pages beyond the end have
	// no records.
	FaultEndlessPages
	// FaultSamePage answers every page with the records of page 1, and next_page
	// never ends.
	FaultSamePage
	// FaultTotals adds Delta to total_records.
	FaultTotals
	// FaultRewrite sends the result of Rewrite instead of the body.
	FaultRewrite
)

// Fault is a rule: which requests it affects, and how. Choices by probability
// depend on the seed and on the count of matching requests, not on time.
type Fault struct {
	// Path is the prefix of the affected paths, without the base path. Empty: all.
	Path string
	// Route is the affected pattern, as in Service.Routes, which separates a list
	// from its details. Empty: all, and unknown paths.
	Route string
	// Skip is how many matching requests are answered normally first. 0: none.
	Skip int
	// Times is how many are affected at most. 0: all that follow.
	Times int
	// Probability is the share of them that is affected, from 0 to 1. 0: all.
	Probability float64
	// Kind is what happens to them.
	Kind FaultKind
	// Status is for FaultStatus. 0: 500.
	Status int
	// RetryAfter is the text of the header, in any form. Empty: no header.
	RetryAfter string
	// Delay is for FaultSlow, before each part. 0: none.
	Delay time.Duration
	// Location is for FaultRedirect. Empty: a host that does not exist.
	Location string
	// Delta is for FaultTotals, in records.
	Delta int
	// Rewrite is for FaultRewrite; it may change the bytes. Nil: the body stays.
	Rewrite func(body []byte) []byte
}

// faults chooses the fault of each request.
type faults struct {
	seed    seed
	program func(r *http.Request, n int) *Fault

	mu      sync.Mutex // guards the rest
	rules   []Fault    // never changed in place: answers refer to them
	matched []int      // requests that each rule matched
	spoilt  []int      // requests that each rule affected
	seen    int        // all requests
}

// setRules replaces the rules; counts start anew.
func (f *faults) setRules(rules []Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = slices.Clone(rules)
	f.matched, f.spoilt = make([]int, len(rules)), make([]int, len(rules))
}

// chooseFault is the fault for a request, or nil. The first rule that applies wins;
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
		rule := &f.rules[i]
		if !strings.HasPrefix(path, rule.Path) || rule.Route != "" && (rt == nil || rt.pattern != rule.Route) {
			continue
		}
		f.matched[i]++
		if f.matched[i] <= rule.Skip || rule.Times > 0 && f.spoilt[i] >= rule.Times {
			continue
		}
		draw := f.seed.roll(kindRoute, uint32(f.matched[i]), 100+uint64(i))
		if rule.Probability > 0 && float64(draw) >= rule.Probability*math.MaxUint64 {
			continue
		}
		f.spoilt[i]++
		return rule
	}
	return nil
}

// replaceAnswer is the reply of a fault that answers instead of the service, which then
// does not check the token; false for other faults.
func (f *Fault) replaceAnswer() (reply, bool) {
	switch f.Kind {
	case FaultReset:
		return reply{cut: cutBefore}, true
	case FaultHTML:
		return reply{status: http.StatusOK, mime: "text/html; charset=utf-8", body: []byte(gatePage)}, true
	case FaultEmpty:
		return reply{status: http.StatusOK, mime: jsonMime}, true
	case FaultRedirect:
		return reply{status: http.StatusFound, location: cmp.Or(f.Location, "http://elsewhere.invalid/")}, true
	case FaultStatus:
		out := errorReply(cmp.Or(f.Status, http.StatusInternalServerError), "an injected fault")
		out.retryAfter = f.RetryAfter
		return out, true
	}
	return reply{}, false
}

// spoilReply applies the fault to a reply of the service.
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

// gatePage is the answer of a captive portal.
const gatePage = "<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body><h1>Network sign-in</h1></body></html>\n"
