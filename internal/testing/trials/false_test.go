package trials_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"placementsync/internal/fetch"
	"placementsync/internal/load"
	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
	"placementsync/internal/testing/torture"
)

// falsification is a well-formed but false response. It derives a status and a body from a true
// response. ok is false if it does not apply to the endpoint.
type falsification struct {
	name    string
	falsify func(s stream.Stream, body, other []byte) (status int, falseBody []byte, ok bool)
	// later means that a first night cannot detect it, because there is no earlier list to
	// compare with.
	later bool
}

// withBody returns a falsification with a constant body.
func withBody(name, body string) falsification {
	return falsification{name: name, falsify: func(stream.Stream, []byte, []byte) (int, []byte, bool) {
		return http.StatusOK, []byte(body), true
	}}
}

// withStatus returns a falsification with the true body and another status.
func withStatus(status int) falsification {
	return falsification{name: fmt.Sprint(status), falsify: func(_ stream.Stream, body, _ []byte) (int, []byte, bool) {
		return status, body, true
	}}
}

func falsifications() []falsification {
	return []falsification{
		withBody("an empty object", `{}`),
		withBody("an error object", `{"error":"temporary failure","code":500}`),
		{name: "null for the list", falsify: answerNull},
		{name: "another record", falsify: answerForAnotherID},
		withStatus(http.StatusAccepted), withStatus(http.StatusPartialContent),
		{name: "half the list with a matching total", falsify: func(s stream.Stream, body, _ []byte) (int, []byte, bool) {
			return answerPart(s, body, func(list []any) []any { return list[:(len(list)+1)/2] })
		}, later: true},
		{name: "no records with total 0", falsify: func(s stream.Stream, body, _ []byte) (int, []byte, bool) {
			return answerPart(s, body, func([]any) []any { return []any{} })
		}, later: true},
	}
}

// lists returns the names of members with the records of a response, in all envelopes.
func lists() []string { return []string{"records", "countries", "states", "cities", "statuses"} }

func answerNull(_ stream.Stream, body, _ []byte) (int, []byte, bool) {
	envelope, ok := decode(string(body)).(map[string]any)
	if !ok {
		return http.StatusOK, []byte("null"), true
	}
	for _, name := range lists() {
		if _, listed := envelope[name]; listed {
			envelope[name] = nil
			return http.StatusOK, []byte(canonical(envelope)), true
		}
	}
	return http.StatusOK, []byte("null"), true
}

// answerForAnotherID returns a response for another id. Status counts and comments do not contain
// their id, so it would be undetectable there.
func answerForAnotherID(s stream.Stream, _, other []byte) (int, []byte, bool) {
	silent := slices.Contains([]string{"campaign_status_counts", "article_comments", "outlet_products"}, s.Name)
	return http.StatusOK, other, other != nil && !silent
}

// answerPart keeps a part of the list and adjusts the total.
func answerPart(s stream.Stream, body []byte, part func([]any) []any) (int, []byte, bool) {
	if s.Envelope == stream.Object || s.Envelope == stream.Raw {
		return 0, nil, false
	}
	switch v := decode(string(body)).(type) {
	case []any:
		return http.StatusOK, []byte(canonical(part(v))), true
	case map[string]any:
		for _, name := range lists() {
			list, listed := v[name].([]any)
			if !listed {
				continue
			}
			v[name] = part(list)
			if _, totalled := v["total_records"]; totalled {
				v["total_records"] = len(v[name].([]any))
			}
			return http.StatusOK, []byte(canonical(v)), true
		}
	}
	return 0, nil, false
}

// falsifier is a handler in front of a service that falsifies the responses of one stream.
type falsifier struct {
	service *sim.Service

	mu      sync.Mutex
	stream  stream.Stream
	change  *falsification
	bodies  map[string][]byte // by path, of the stream
	changed int
}

var parameter = regexp.MustCompile(`\{[^}]*\}`)

func (l *falsifier) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	answer := httptest.NewRecorder()
	l.service.ServeHTTP(answer, r)
	status, body := answer.Code, answer.Body.Bytes()
	l.mu.Lock()
	if matches, _ := path.Match(parameter.ReplaceAllString(l.stream.Path, "*"), r.URL.Path); matches && l.change != nil && status == http.StatusOK {
		if code, falseBody, ok := l.change.falsify(l.stream, body, l.other(r.URL.Path, body)); ok {
			status, body = code, falseBody
			l.changed++
		}
	}
	l.mu.Unlock()
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	_, _ = rw.Write(body) // the client may disconnect
}

// other returns a response of the same stream to another request.
func (l *falsifier) other(path string, body []byte) []byte {
	l.bodies[path] = slices.Clone(body)
	for p, b := range l.bodies {
		if p != path {
			return b
		}
	}
	return nil
}

// set starts falsifying a stream; nil stops it.
func (l *falsifier) set(s stream.Stream, change *falsification) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stream, l.change, l.bodies, l.changed = s, change, map[string][]byte{}, 0
}

// falseTrial is a house with a falsified service and a constant world: every change in the
// warehouse is wrong.
type falseTrial struct {
	*house
	ref       *reference
	falsifier *falsifier
	// outcomes counts the outcomes of falsified nights.
	outcomes map[string]int
}

func newFalseTrial(t *testing.T, streams ...string) *falseTrial {
	t.Helper()
	world := smallWorld()
	world.Outlets, world.Listings, world.Orders, world.Campaigns, world.Files = 8, 24, 24, 6, 14
	f := &falseTrial{house: newHouse(t, world, streams...), outcomes: map[string]int{}}
	f.ref = newReference(t, f.service, f.cfg.Streams)
	f.falsifier = &falsifier{service: f.service}
	server := httptest.NewServer(f.falsifier)
	t.Cleanup(server.Close)
	f.cfg.Fetch.BaseURL, f.cfg.Fetch.PageSize = server.URL, 100
	f.cfg.Limits = load.Limits{Share: 0.2, Rows: 0}
	f.cfg.Warehouse.KeepVersions = 2
	f.service.Advance(1)
	f.at = f.service.Now()
	return f
}

// runFalsified runs a night with a falsified stream, and compares the published tables with their
// grades. It reports whether any response was falsified.
func (f *falseTrial) runFalsified(t *testing.T, s stream.Stream, change falsification) bool {
	t.Helper()
	before := f.latest()
	f.falsifier.set(s, &change)
	f.at = f.at.Add(time.Hour)
	res, err := pipeline.Run(t.Context(), f.cfg)
	changed := f.falsifier.changed
	f.falsifier.set(s, nil)
	if changed == 0 {
		return false
	}
	if err != nil {
		f.outcomes["stopped"]++
		if f.latest() != before {
			t.Errorf("version %s was published with an error: %v", f.latest(), err)
		}
		return true
	}
	reported := false
	proven := map[string]bool{}
	for _, read := range res.Run.Streams {
		proven[read.Stream] = read.Grade == string(fetch.Exact) || read.Grade == string(fetch.Repaired)
		reported = reported || !proven[read.Stream]
	}
	switch {
	case change.later && before == "":
		f.outcomes["accepted without an earlier list to compare with"]++
		return true
	case reported:
		f.outcomes["reported"]++
	default:
		f.outcomes["unharmed"]++
	}
	held := f.ref.now()
	for _, e := range f.ref.once() {
		if !slices.ContainsFunc(stream.FilledBy(f.cfg.Streams, e.table), func(name string) bool { return !proven[name] }) {
			compare(t, e, held, read(t, e, f.catalog(), "main."+e.table), e.table)
		}
	}
	return true
}

// requireUnharmed runs a normal night, after which the warehouse must equal one without
// falsified nights: no row was ever closed or changed.
func (f *falseTrial) requireUnharmed(t *testing.T, history bool) {
	t.Helper()
	f.t = t
	f.sameDay()
	f.requireValues(f.ref)
	if !history {
		return
	}
	for _, table := range f.cfg.Warehouse.Tables {
		if n := f.count("past."+table.Name, "TRUE"); n != 0 {
			t.Errorf("%d rows of %s were closed, though nothing changed", n, table.Name)
		}
	}
	if n := f.count("meta.deletions", "TRUE"); n != 0 {
		t.Errorf("%d deletions, though nothing was deleted", n)
	}
}

// falseOnLaterNights falsifies one stream each night. If apart, a normal night follows each
// of them. Otherwise one normal night follows all of them, which also shows wrongly closed
// rows, because the history keeps them.
func falseOnLaterNights(t *testing.T, change falsification, apart bool, names ...string) (nights int, outcomes map[string]int) {
	f := newFalseTrial(t, names...)
	f.sameDay()
	for _, s := range f.cfg.Streams {
		t.Run("later night/"+s.Name, func(t *testing.T) {
			f.t = t
			if !f.runFalsified(t, s, change) {
				return
			}
			if nights++; apart {
				f.requireUnharmed(t, true)
			}
		})
	}
	if !apart {
		t.Run("the night after", func(t *testing.T) { f.requireUnharmed(t, true) })
	}
	return nights, f.outcomes
}

// falseOnFirstNights falsifies one stream after the other, each in a new warehouse.
func falseOnFirstNights(t *testing.T, change falsification, streams []stream.Stream, names ...string) (nights int, outcomes map[string]int) {
	outcomes = map[string]int{}
	for _, s := range streams {
		t.Run("first night/"+s.Name, func(t *testing.T) {
			f := newFalseTrial(t, names...)
			if f.runFalsified(t, s, change) {
				nights++
				f.requireUnharmed(t, false)
			}
			for outcome, n := range f.outcomes {
				outcomes[outcome] += n
			}
		})
	}
	return nights, outcomes
}

// TestTrialFalseAnswers is the short form of TestTortureFalseAnswers: every falsification about
// a list, a single record, a list under a parent, and status counts.
func TestTrialFalseAnswers(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	for _, change := range falsifications() {
		t.Run(change.name, func(t *testing.T) {
			t.Parallel()
			names := []string{"cities", "campaigns", "campaign_details", "campaign_articles", "campaign_status_counts"}
			falseOnLaterNights(t, change, false, names...)
			counts, _ := stream.Find(stream.All(), "campaign_status_counts")
			falseOnFirstNights(t, change, []stream.Stream{counts}, names...)
		})
	}
}

// TestTortureFalseAnswers falsifies every endpoint in every way, in a first and in a later
// night. No row may be lost or changed without a grade that shows it, no exact table may be
// wrong, and after a normal night the warehouse must equal one without falsified nights.
func TestTortureFalseAnswers(t *testing.T) {
	requireTorture(t)
	for _, change := range falsifications() {
		t.Run(change.name, func(t *testing.T) {
			var nights [2]int
			var outcomes [2]map[string]int
			defer keep(t, time.Now(), func() torture.Trial {
				return torture.Trial{Name: "False answers: " + change.name, Runs: nights[0] + nights[1],
					Fault: fmt.Sprintf("each endpoint that can send this answer, for a whole night: %d first and %d later nights, each followed by a normal night", nights[0], nights[1]),
					Outcome: "later nights: " + describe(outcomes[1]) + "; 0 rows lost or changed without a lower grade, 0 tables wrongly graded exact; first nights: " +
						describe(outcomes[0])}
			})
			nights[1], outcomes[1] = falseOnLaterNights(t, change, true)
			nights[0], outcomes[0] = falseOnFirstNights(t, change, stream.All())
		})
	}
}

func describe(outcomes map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(outcomes)) {
		parts = append(parts, fmt.Sprintf("%d %s", outcomes[name], name))
	}
	return strings.Join(parts, ", ")
}
