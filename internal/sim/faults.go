package sim

import (
	"bytes"
	"cmp"
	"encoding/json"
	"hash/fnv"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"
)

// FaultKind is the effect of a fault on a response.
type FaultKind int

const (
	// FaultStatus responds with Status and RetryAfter.
	FaultStatus FaultKind = iota
	// FaultReset resets the connection before the first byte.
	FaultReset
	// FaultResetBody resets the connection in the middle of the body.
	FaultResetBody
	// FaultTruncate sends half of the body, with the Content-Length of the whole body.
	FaultTruncate
	// FaultHTML responds with 200 and an HTML page, like a captive portal.
	FaultHTML
	// FaultBrokenJSON sends the first two thirds of the body as if they were the whole body.
	FaultBrokenJSON
	// FaultEmpty responds with 200 and no body.
	FaultEmpty
	// FaultSlow sends the body in eight parts, with Delay before each.
	FaultSlow
	// FaultRedirect responds with 302, a redirect to a host that does not exist.
	FaultRedirect
	// FaultEndlessPages never sends null as next_page. Pages beyond the end have no
	// records.
	FaultEndlessPages
	// FaultSamePage sends the records of page 1 for every page, and never null as
	// next_page.
	FaultSamePage
	// FaultRewrite sends the result of Rewrite instead of the body.
	FaultRewrite
)

// Fault selects requests and breaks their responses. Path and Route define which requests match. Skip
// and Times select some of these.
type Fault struct {
	// Path is a prefix of the paths of matching requests. Empty means all.
	Path string
	// Route is the route of matching requests, as in Request.Route. Unlike a Path, it can
	// select a list without its details. Empty means all, including unknown paths.
	Route string
	// Skip is the number of matching requests that are answered normally before the first fault.
	Skip int
	// Times is the maximum number of affected requests. 0 means no maximum.
	Times int
	Kind  FaultKind
	// Status is the status for FaultStatus. 0 means 500.
	Status int
	// RetryAfter is the Retry-After header for FaultStatus. Empty means no header.
	RetryAfter string
	// Delay is the delay for FaultSlow, before each part.
	Delay time.Duration
	// Rewrite is the function for FaultRewrite. It may modify the body in place.
	Rewrite func(body []byte) []byte
}

type faults struct {
	mu      sync.Mutex // guards the fields below
	all     []Fault    // no Fault is modified, because requests in progress use pointers to it
	matched []int      // number of requests that each fault matched
}

// chooseFault returns the first fault that applies to a request, or nil. Later faults do not count the
// request as matching.
func (f *faults) chooseFault(faultFunc func(*http.Request) *Fault, r *http.Request, rt *route) *Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if faultFunc != nil {
		if fault := faultFunc(r); fault != nil {
			return fault
		}
	}
	for i := range f.all {
		fault := &f.all[i]
		if !fault.matches(r.URL.Path, rt) {
			continue
		}
		f.matched[i]++
		affected := f.matched[i] - fault.Skip
		isOver := fault.Times > 0 && affected > fault.Times
		if affected > 0 && !isOver {
			return fault
		}
	}
	return nil
}

func (f *Fault) matches(path string, rt *route) bool {
	if !strings.HasPrefix(path, f.Path) {
		return false
	}
	if f.Route == "" {
		return true
	}
	return rt != nil && rt.pattern == f.Route
}

// replacement returns the reply that the fault sends in place of the reply of the service, without a check
// of the token. It returns false if the fault only changes the reply of the service; see applyTo.
func (f *Fault) replacement() (reply, bool) {
	switch f.Kind {
	case FaultReset:
		return reply{fault: *f}, true
	case FaultHTML:
		const page = "<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body><h1>Network sign-in</h1></body></html>\n"
		return newReply(http.StatusOK, "text/html; charset=utf-8", []byte(page)), true
	case FaultEmpty:
		return newReply(http.StatusOK, jsonMime, nil), true
	case FaultRedirect:
		return reply{status: http.StatusFound, header: http.Header{"Location": {"http://elsewhere.invalid/"}}}, true
	case FaultStatus:
		out := errorReply(cmp.Or(f.Status, http.StatusInternalServerError), "an injected fault")
		if f.RetryAfter != "" {
			out.header.Set("Retry-After", f.RetryAfter)
		}
		return out, true
	}
	return reply{}, false
}

// applyTo applies the fault to a reply of the service and returns the changed reply.
func (f *Fault) applyTo(out reply) reply {
	out.fault = *f
	switch f.Kind {
	case FaultBrokenJSON:
		out.body = out.body[:len(out.body)*2/3]
	case FaultRewrite:
		out.body = f.Rewrite(out.body)
	}
	return out
}

// ValueFault makes the service send wrong values in well-formed responses, on one simulated day. The world
// itself does not change: on other days the responses are as without the fault.
type ValueFault struct {
	Day int
	// Share is the share of affected records, from 0 to 1, selected by id. 0 means all.
	Share float64
	// Change is called for each affected record and for each object in it. within is the name of the field
	// that contains the object, or empty for the record. Numbers are of type json.Number.
	Change func(within string, object map[string]any)
}

// applyValueFaults returns a document with the changes of today's value faults.
func (w *world) applyValueFaults(document []byte, rt *route) []byte {
	var today []ValueFault
	for _, f := range w.valueFaults {
		if f.Day == w.day {
			today = append(today, f)
		}
	}
	if len(today) == 0 || rt.binary {
		return document
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()        // keeps all digits of amounts
	_ = decoder.Decode(&value) // this service wrote the document
	records, _ := value.([]any)
	if object, ok := value.(map[string]any); ok {
		var isList bool
		if records, isList = object["records"].([]any); !isList {
			records = []any{object}
		}
	}
	for _, record := range records {
		for _, f := range today {
			if object, ok := record.(map[string]any); ok && f.affects(object) {
				f.changeObject("", object)
			}
		}
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

func (f ValueFault) affects(record map[string]any) bool {
	if f.Share <= 0 {
		return true
	}
	id, _ := record["id"].(string)
	if id == "" {
		return false // the share is selected by id
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(id))
	return float64(mix(sum.Sum64())) < f.Share*math.MaxUint64
}

func (f ValueFault) changeObject(within string, object map[string]any) {
	f.Change(within, object)
	for key, value := range object {
		inner, isList := value.([]any)
		if !isList {
			inner = []any{value}
		}
		for _, element := range inner {
			if nested, ok := element.(map[string]any); ok {
				f.changeObject(key, nested)
			}
		}
	}
}
