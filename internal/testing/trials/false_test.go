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
	// later means that the first night cannot detect the falsification, because there is no
	// earlier list to compare with.
	later bool
}

func withBody(name, body string) falsification {
	return falsification{name: name, falsify: func(stream.Stream, []byte, []byte) (int, []byte, bool) {
		return http.StatusOK, []byte(body), true
	}}
}

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

// listMembers returns the names of the members that contain the records, for all envelopes.
func listMembers() []string { return []string{"records", "countries", "states", "cities", "statuses"} }

func answerNull(_ stream.Stream, body, _ []byte) (int, []byte, bool) {
	envelope, ok := decode(string(body)).(map[string]any)
	if !ok {
		return http.StatusOK, []byte("null"), true
	}
	for _, name := range listMembers() {
		if _, ok := envelope[name]; ok {
			envelope[name] = nil
			return http.StatusOK, []byte(canonical(envelope)), true
		}
	}
	return http.StatusOK, []byte("null"), true
}

// answerForAnotherID returns the response to a request for another id. It does not apply to
// responses that do not contain the requested id.
func answerForAnotherID(s stream.Stream, _, other []byte) (int, []byte, bool) {
	withoutID := slices.Contains([]string{"campaign_status_counts", "article_comments", "outlet_products"}, s.Name)
	return http.StatusOK, other, other != nil && !withoutID
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
		for _, name := range listMembers() {
			list, ok := v[name].([]any)
			if !ok {
				continue
			}
			v[name] = part(list)
			if _, ok := v["total_records"]; ok {
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
	bodies  map[string][]byte // responses of the stream by path
	changed int
}

var parameter = regexp.MustCompile(`\{[^}]*\}`)

func (l *falsifier) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	recorder := httptest.NewRecorder()
	l.service.ServeHTTP(recorder, r)
	status, body := recorder.Code, recorder.Body.Bytes()
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

// other returns the response to another request of the stream, or nil.
func (l *falsifier) other(path string, body []byte) []byte {
	l.bodies[path] = slices.Clone(body)
	for p, b := range l.bodies {
		if p != path {
			return b
		}
	}
	return nil
}

// set starts falsifying a stream. A nil change stops it.
func (l *falsifier) set(s stream.Stream, change *falsification) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stream, l.change, l.bodies, l.changed = s, change, map[string][]byte{}, 0
}

// falseTrial is a harness with a falsified service and a constant world: every change in the
// warehouse is an error.
type falseTrial struct {
	*harness
	ref       *reference
	falsifier *falsifier
	// outcomes counts the outcomes of falsified nights.
	outcomes map[string]int
}

func newFalseTrial(t *testing.T, streams ...string) *falseTrial {
	t.Helper()
	world := smallWorld()
	world.Outlets, world.Listings, world.Orders, world.Campaigns, world.Files = 8, 24, 24, 6, 14
	f := &falseTrial{harness: newHarness(t, world, streams...), outcomes: map[string]int{}}
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
	before := f.latestRun()
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
		if f.latestRun() != before {
			t.Errorf("version %s was published although the night failed: %v", f.latestRun(), err)
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
	current := f.ref.currentRows()
	for _, e := range f.ref.distinctTables() {
		if !slices.ContainsFunc(stream.FilledBy(f.cfg.Streams, e.table), func(name string) bool { return !proven[name] }) {
			compareRows(t, e, current, readTable(t, e, f.catalog(), "main."+e.table), e.table)
		}
	}
	return true
}

// requireUnharmed runs a normal night, after which the warehouse must have the values of the
// service. If history is set, no row may ever have been closed or deleted.
func (f *falseTrial) requireUnharmed(t *testing.T, history bool) {
	t.Helper()
	f.t = t
	f.sameDayNight()
	f.requireValues(f.ref)
	if !history {
		return
	}
	for _, table := range f.cfg.Warehouse.Tables {
		if n := f.count("past."+table.Name, "TRUE"); n != 0 {
			t.Errorf("%d rows of %s were closed, though no record changed", n, table.Name)
		}
	}
	if n := f.count("meta.deletions", "TRUE"); n != 0 {
		t.Errorf("%d deletions, though the service deleted no record", n)
	}
}

// falsifyLaterNights runs a first normal night, and then one night per stream in which the
// stream is falsified. If apart is set, each falsified night is followed by a normal night.
// Otherwise one normal night follows all falsified nights. It still detects wrongly closed rows,
// because the history keeps them.
func falsifyLaterNights(t *testing.T, change falsification, apart bool, names ...string) (nights int, outcomes map[string]int) {
	f := newFalseTrial(t, names...)
	f.sameDayNight()
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

// falsifyFirstNights falsifies each of the streams in the first night of a new warehouse.
func falsifyFirstNights(t *testing.T, change falsification, streams []stream.Stream, names ...string) (nights int, outcomes map[string]int) {
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

// TestTrialFalseAnswers is the short form of TestTortureFalseAnswers: every falsification of a
// list, a single record, a list of a parent, and status counts.
func TestTrialFalseAnswers(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	for _, change := range falsifications() {
		t.Run(change.name, func(t *testing.T) {
			t.Parallel()
			names := []string{"cities", "campaigns", "campaign_details", "campaign_articles", "campaign_status_counts"}
			falsifyLaterNights(t, change, false, names...)
			counts, _ := stream.Find(stream.All(), "campaign_status_counts")
			falsifyFirstNights(t, change, []stream.Stream{counts}, names...)
		})
	}
}

// TestTortureFalseAnswers falsifies every endpoint in every way, in the first night and in a
// later one. Rows may be lost or changed only in tables with a lower grade. After a normal
// night the warehouse must have the values of the service.
func TestTortureFalseAnswers(t *testing.T) {
	requireTorture(t)
	for _, change := range falsifications() {
		t.Run(change.name, func(t *testing.T) {
			var nights [2]int
			var outcomes [2]map[string]int
			defer recordTrial(t, time.Now(), func() torture.Trial {
				return torture.Trial{Name: "False answers: " + change.name, Runs: nights[0] + nights[1],
					Fault: fmt.Sprintf("each endpoint that can send this answer, for a whole night: %d first and %d later nights, each followed by a normal night", nights[0], nights[1]),
					Outcome: "later nights: " + formatOutcomes(outcomes[1]) + "; 0 rows lost or changed without a lower grade, 0 tables wrongly graded exact; first nights: " +
						formatOutcomes(outcomes[0])}
			})
			nights[1], outcomes[1] = falsifyLaterNights(t, change, true)
			nights[0], outcomes[0] = falsifyFirstNights(t, change, stream.All())
		})
	}
}

func formatOutcomes(outcomes map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(outcomes)) {
		parts = append(parts, fmt.Sprintf("%d %s", outcomes[name], name))
	}
	return strings.Join(parts, ", ")
}
